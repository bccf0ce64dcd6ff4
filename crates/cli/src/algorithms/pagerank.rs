//! `PageRank` on the command line.
//!
//! Without `--iterations` it runs until the ranks settle; with it alone, exactly so often; with
//! `--tolerance` too, until the first of both.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::pagerank::{Dangling, PageRank};
use welter_algorithms::{Float, pagerank};
use welter_engine::plan::Layout;

use super::{Answer, Chosen, Entry, Precision};
use crate::args::{not_negative, share};
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::top::Top;

pub(super) const ENTRY: Entry = Entry {
    name: "pagerank",
    about: "The share of time that a random walk along the edges spends at each vertex",
    formula: &[
        "rank(v) = (1 - d) / V  +  d * (sum over edges u -> v of rank(u) / out-degree(u))",
        "                       +  d * (sum over sinks s of rank(s)) / V",
    ],
    kind: "fold; reads all edges once an iteration",
    weights: "not looked at",
    columns: "vertex, rank (f64 or f32)",
    source: "Chaos, Table 1; BlitzG; LDBC Graphalytics (PR); Page and others (1999)",
    examples: "\
Examples:
  welter run pagerank links.tsv                       until the ranks settle; the top 20
  welter run pagerank links.tsv -o ranks.csv          the ranks of all vertices
  welter run pagerank links.tsv --iterations 10       exactly ten iterations
  welter run pagerank links.tsv --dangling networkx   the same numbers as NetworkX
  welter run pagerank friends.csv --undirected --source-column 3 --target-column 4",
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "PageRank")]
pub(crate) struct Options {
    /// d, the probability that the walk follows an edge and does not jump anywhere
    #[arg(long, value_name = "D", default_value_t = 0.85, allow_negative_numbers = true)]
    #[arg(value_parser = share)]
    damping: f64,
    /// Stop after so many iterations [default: when the ranks settle, or after 200; networkx: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Stop when an iteration changes all ranks together by less than this share of them
    /// [default: 1e-9, with f32 or networkx 1e-6; none where iterations are given]
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = not_negative)]
    tolerance: Option<f64>,
    /// What becomes of the rank of sinks, which have no edge to carry it on
    #[arg(long, value_name = "MODE", default_value = "spread")]
    dangling: Mode,
    /// Width of the ranks
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    precision: Precision,
}

/// What becomes of the rank of sinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// It is spread over all vertices, as in LDBC Graphalytics; ranks sum to 1
    Spread,
    /// The same, with the stopping rule of NetworkX: the tolerance is for each vertex
    Networkx,
    /// It is lost
    Drop,
    /// As in the papers of X-Stream and Chaos: rank = 1 - d + d * sum, not normalised; it is lost
    Papers,
}

/// Iterations after which unsettled ranks are given up.
const ITERATIONS_MAX: u64 = 200;
/// The same in `NetworkX`.
const ITERATIONS_MAX_NETWORKX: u64 = 100;

impl Options {
    fn dangling(&self) -> Dangling {
        match self.dangling {
            Mode::Spread => Dangling::Spread,
            Mode::Networkx => Dangling::NetworkX,
            Mode::Drop => Dangling::Drop,
            Mode::Papers => Dangling::Papers,
        }
    }

    fn iterations(&self) -> u64 {
        let networkx = self.dangling == Mode::Networkx;
        let most = if networkx { ITERATIONS_MAX_NETWORKX } else { ITERATIONS_MAX };
        self.iterations.unwrap_or(most)
    }

    fn tolerance(&self) -> f64 {
        match (self.tolerance, self.iterations) {
            (Some(tolerance), _) => tolerance,
            (None, Some(_)) => 0.0,
            // Rounding alone moves f32 ranks by about 1e-7 of their sum.
            (None, None) if self.precision == Precision::F32 => 1e-6,
            (None, None) if self.dangling == Mode::Networkx => 1e-6,
            (None, None) => 1e-9,
        }
    }

    fn run_as<F: Float>(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let vertices = ready.graph.all_vertices();
        // The papers' ranks sum to about the number of vertices.
        let sum = if self.dangling == Mode::Papers { vertices as f64 } else { 1.0 };
        let tolerance = self.tolerance() * sum;
        let program = PageRank::<F>::new(
            vertices,
            self.damping,
            self.iterations(),
            tolerance,
            self.dangling(),
        );
        let outcome = session.iterate(ready, &program)?;
        let each = if self.dangling == Mode::Networkx { vertices as f64 } else { 1.0 };
        Ok(Answer {
            columns: Box::new(outcome.values),
            iterations: outcome.iterations,
            note: self.unsettled(outcome.total, tolerance * each, sum),
            found: None,
            levels: None,
            top: Top::Highest,
        })
    }

    /// Says so where iterations ended before the ranks had settled.
    fn unsettled(&self, total: pagerank::RankTotal, change_max: f64, sum: f64) -> Option<String> {
        let settled = self.tolerance() <= 0.0 || total.change < change_max;
        (!settled).then(|| {
            format!(
                "the ranks have not settled after {} iterations: the last one changed them by \
                 {:.1e}, and {:.1e} was asked for; give more --iterations or a larger --tolerance",
                self.iterations(),
                total.change / sum,
                change_max / sum,
            )
        })
    }
}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        match self.precision {
            Precision::F64 => Layout::of::<PageRank<f64>>(),
            Precision::F32 => Layout::of::<PageRank<f32>>(),
        }
    }

    fn parameters(&self) -> Value {
        let mode = self.dangling.to_possible_value();
        json!({
            "damping": self.damping,
            "iterations_max": self.iterations(),
            "tolerance": self.tolerance(),
            "dangling": mode.map(|mode| mode.get_name().to_owned()),
            "precision": self.precision.name(),
        })
    }

    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        match self.precision {
            Precision::F64 => self.run_as::<f64>(ready, session),
            Precision::F32 => self.run_as::<f32>(ready, session),
        }
    }
}
