//! `HyperBall` on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::HyperBall;
use welter_algorithms::hyperball::{Neighbourhood, effective_diameter};
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_input::ReadOptions;
use welter_model::edges::Reading;
use welter_programs::CompiledFold;

use super::algorithm::{Algorithm, Answer, Entry, StatedIterations};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use super::traversal::Direction;
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "hyperball",
    about: "Centralities and distances by HyperBall: how near all vertices are to each, estimated",
    formula: &[
        "harmonic(v)  = sum over u of 1 / d(u, v)          u: all that reach v, v not counted",
        "closeness(v) = 1 / (sum over u of d(u, v))        0 where no vertex reaches v",
        "ball(v)      = number of u, v itself counted",
        "N(t)         = number of pairs u, v with d(u, v) <= t, u = v counted",
        "each within 1.04 / sqrt(REGISTERS), most of the time",
    ],
    kind: "fold with a frontier; reads the edges of vertices whose ball grew",
    weights: "not looked at",
    columns: "vertex, harmonic, closeness, ball (f64 each)",
    source: "Boldi and Vigna (2013); X-Stream (HyperANF)",
    examples: "\
Examples:
  welter run hyperball links.tsv                        the 20 most central, the effective diameter
  welter run hyperball links.tsv --direction in         by whom a vertex reaches, not who reaches it
  welter run hyperball friends.csv --direction both --registers 256 -o central.parquet
  welter run hyperball links.tsv --iterations 3         balls of at most 3 edges
  welter run hyperball links.tsv --report report.json   also N(0), N(1) and so on",
    python: "\
>>> welter.hyperball(welter.rmat(8), registers=64).column_names
['vertex', 'harmonic', 'closeness', 'ball']",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "HyperBall")]
pub(crate) struct Options {
    /// Registers of a counter, a byte each: the standard error is 26 %, 13 % or 6.5 %
    #[arg(long, value_name = "REGISTERS", default_value = "64")]
    registers: Registers,
    /// Picks the hashes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Count what is within N edges [default: all that there is]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Direction of edges: out is who reaches a vertex, in is whom it reaches
    #[arg(long, value_name = "WAY", default_value = "out")]
    direction: Direction,
}

/// Registers of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Registers {
    #[value(name = "16")]
    R16,
    #[value(name = "64")]
    R64,
    #[value(name = "256")]
    R256,
}

impl Registers {
    fn count(self) -> u64 {
        match self {
            Self::R16 => 16,
            Self::R64 => 64,
            Self::R256 => 256,
        }
    }
}

/// The share of pairs that are within the effective diameter.
const SHARE: f64 = 0.9;

impl Options {
    fn run_as<const M: usize>(
        &self,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure>
    where
        HyperBall<M>: CompiledFold<Total = Neighbourhood>,
    {
        let program = HyperBall::<M>::new(self.seed, self.iterations);
        let Outcome { values, iterations, total, totals, levels } =
            session.iterate(ready, &program)?;
        let (note, found) = finding(iterations, &totals, &total);
        let (columns, levels) = (Box::new(values), Some(levels));
        Ok(Answer { columns, iterations, note, found, levels, top: Top::Highest })
    }

    fn cluster_program<const M: usize>(&self) -> ClusterProgram
    where
        HyperBall<M>: CompiledFold<Total = Neighbourhood>,
    {
        let program = HyperBall::<M>::new(self.seed, self.iterations);
        ClusterProgram::fold(program, Top::Highest, |ended| {
            let (note, found) = finding(ended.iterations, &ended.totals, &ended.total());
            Ok(ended.found(note, found))
        })
    }
}

/// The note and the finding on balls of this radius: of the totals of each, and of the last.
fn finding(
    radius: u64,
    totals: &[Neighbourhood],
    total: &Neighbourhood,
) -> (Option<String>, Option<Value>) {
    let pairs: Vec<f64> = totals.iter().map(Neighbourhood::pairs).collect();
    let diameter = diameter(&pairs, total.pairs());
    let found = json!({ "neighbourhood": pairs, "effective_diameter": diameter });
    (Some(note(radius, diameter, total)), Some(found))
}

/// The effective diameter, by the numbers of pairs within each of the first radii and that of all;
/// `None` if it lies beyond these radii, of which a run keeps a bounded number.
fn diameter(pairs: &[f64], all: f64) -> Option<f64> {
    let reached = pairs.partition_point(|pairs| *pairs < SHARE * all);
    if reached == pairs.len() {
        return None;
    }
    Some(effective_diameter(&[&pairs[..=reached], &[all]].concat(), SHARE))
}

/// Distances of vertices.
fn note(radius: u64, diameter: Option<f64>, total: &Neighbourhood) -> String {
    let within = if total.is_whole() {
        "are joined by paths".to_owned()
    } else {
        format!("are within {} of each other, and there are more", counted(radius, "edge", "edges"))
    };
    let far = match diameter {
        Some(diameter) => format!("within {diameter:.2} edges, the effective diameter"),
        None => "within more edges than numbers of pairs are kept for".to_owned(),
    };
    format!(
        "about {:.4e} pairs of vertices {within}; {:.0} % of these {far}",
        total.pairs(),
        SHARE * 100.0,
    )
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        match self.registers {
            Registers::R16 => Layout::of::<HyperBall<16>>(),
            Registers::R64 => Layout::of::<HyperBall<64>>(),
            Registers::R256 => Layout::of::<HyperBall<256>>(),
        }
    }

    fn ways(&self) -> Directions {
        self.direction.ways()
    }

    fn read(&self, _: &mut ReadOptions, reading: &mut Reading) {
        self.direction.put(reading);
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        self.iterations.map(|count| StatedIterations { count, exact: false })
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        Ok(match self.registers {
            Registers::R16 => self.cluster_program::<16>(),
            Registers::R64 => self.cluster_program::<64>(),
            Registers::R256 => self.cluster_program::<256>(),
        })
    }

    fn parameters(&self) -> Value {
        json!({
            "registers": self.registers.count(),
            "seed": self.seed,
            "iterations_max": self.iterations,
            "direction": self.direction.name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        match self.registers {
            Registers::R16 => self.run_as::<16>(ready, session),
            Registers::R64 => self.run_as::<64>(ready, session),
            Registers::R256 => self.run_as::<256>(ready, session),
        }
    }
}
