//! Shortest paths on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::{Sssp, SsspTree};
use welter_engine::Outcome;
use welter_engine::plan::{FrontierMode, IndexMode, Layout};
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_model::table::{ColumnData, Columns};
use welter_programs::CompiledFold;

use super::algorithm::{Algorithm, Answer, Entry, Precision};
use super::on_cluster::{ClusterGraph, ClusterProgram, refused};
use super::sources::SourceArgs;
use super::tables::KnownVertices;
use super::traversal::{Direction, FrontierArgs};
use crate::args::WeightArgs;
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::{counted, grouped};
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "sssp",
    about: "Single-source shortest paths: the length from the nearest source to each vertex",
    formula: &[
        "distance(s) = 0                                                       for each source s",
        "distance(v) = least of distance(u) + weight(u, v) over edges u -> v   for all others",
    ],
    kind: "fold with a frontier; reads the edges of vertices that came nearer, the nearest first",
    weights: "added up, a negative one is an error; 1 where edges have none",
    columns: "vertex, distance (f64 or f32; inf where no path leads); with --parents also parent \
              (an id)",
    source: "Chaos, Table 1; BlitzG; LDBC Graphalytics (SSSP); Meyer and Sanders (2003)",
    examples: "\
Examples:
  welter run sssp roads.csv --source 42    the farthest 20, and how many were reached
  welter run sssp roads.csv --source 42 --direction both -o distances.parquet
  welter run sssp roads.csv --sources-from hospitals.txt --direction in -o nearest.csv
  welter run sssp roads.csv --source 42 --parents -o tree.parquet
  welter run sssp roads.csv --source 42 --weight minutes --precision f32",
    python: "\
>>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0])
>>> welter.sssp(graph, source=0).to_dict()
{0: 0.0, 1: 1.0, 2: 2.5}",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Shortest paths")]
pub(crate) struct Options {
    #[command(flatten)]
    sources: SourceArgs,
    /// Direction in which edges are followed
    #[arg(long, value_name = "WAY", default_value = "out")]
    direction: Direction,
    /// Also find the vertex before each on a shortest path: of several paths on the one with the
    /// fewest edges, then the one with the smallest id; of a source itself; f64 only
    #[arg(long)]
    parents: bool,
    /// Width of the distances
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    precision: Precision,
    /// Distances are settled by steps of this width; the result is the same. auto is the mean
    /// weight of a sample of the edges, inf is one step
    #[arg(long, value_name = "WIDTH", default_value = "auto", help_heading = "Advanced")]
    #[arg(hide_short_help = true, value_parser = delta, allow_negative_numbers = true)]
    delta: Delta,
    #[command(flatten)]
    frontier: FrontierArgs,
    #[command(flatten)]
    weights: WeightArgs,
}

/// Width of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Delta {
    Auto,
    Width(f64),
}

fn delta(text: &str) -> Result<Delta, String> {
    if text == "auto" {
        return Ok(Delta::Auto);
    }
    match text.parse::<f64>() {
        Ok(width) if width > 0.0 => Ok(Delta::Width(width)),
        _ => Err("expected auto, or a number above 0".to_owned()),
    }
}

impl Options {
    /// Width of a step.
    fn step(&self, ready: &LoadedGraph) -> Result<f64, Failure> {
        if let Delta::Width(width) = self.delta {
            return Ok(width);
        }
        let mean = ready.graph.mean_weight()?;
        Ok(if mean > 0.0 { mean } else { f64::INFINITY })
    }

    fn run_as<P: CompiledFold>(
        program: &P,
        count: usize,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure> {
        let Outcome { values, iterations, levels, .. } = session.iterate(ready, program)?;
        let weighted = ready.graph.plan().premises.shape.weighted;
        let note =
            Some(note(&values, (values.len(), ready.graph.all_vertices()), count, weighted)?);
        let columns = Box::new(values);
        Ok(Answer {
            columns,
            iterations,
            note,
            found: None,
            levels: Some(levels),
            top: Top::Farthest,
        })
    }
}

/// Vertices that were reached, their distances, and the meaning of these.
fn note(
    columns: &dyn Columns,
    (rows, vertices): (usize, u64),
    sources: usize,
    weighted: bool,
) -> Result<String, Failure> {
    let (mut count, mut farthest) = (0, 0.0_f64);
    let mut reach = |distance: f64| {
        if distance.is_finite() {
            count += 1;
            farthest = farthest.max(distance);
        }
    };
    for_parts(columns, rows, |_, part| match part.first().map(|column| &column.data) {
        Some(ColumnData::F32(values)) => values.iter().for_each(|&value| reach(value.into())),
        Some(ColumnData::F64(values)) => values.iter().for_each(|&value| reach(value)),
        _ => {}
    })?;
    let weights =
        if weighted { "lengths add up weights" } else { "edges have no weights: each counts 1" };
    Ok(format!(
        "reached {} of {} from {}; the farthest is {farthest} away; {weights}",
        grouped(count),
        counted(vertices, "vertex", "vertices"),
        counted(sources as u64, "source", "sources"),
    ))
}

fn cluster_program<P: CompiledFold>(
    program: P,
    (sources, weighted): (usize, bool),
) -> ClusterProgram {
    ClusterProgram::fold(program, Top::Farthest, move |ended| {
        let rows = (ended.rows, ended.vertices);
        Ok(ended.found(Some(note(ended.columns, rows, sources, weighted)?), None))
    })
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        match self.precision {
            _ if self.parents => Layout::of::<SsspTree>(),
            Precision::F64 => Layout::of::<Sssp<f64>>(),
            Precision::F32 => Layout::of::<Sssp<f32>>(),
        }
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        if self.parents && self.precision == Precision::F32 {
            return Err(Failure::usage("parents on shortest paths are found with f64 only")
                .hint("leave --precision out"));
        }
        self.sources.check(ENTRY.name, inputs)
    }

    fn ways(&self) -> Directions {
        self.direction.ways()
    }

    fn read(&self, options: &mut ReadOptions, reading: &mut Reading) {
        self.direction.put(reading);
        options.named = self.sources.integers();
        options.non_negative = true;
    }

    fn tables(&self) -> Vec<String> {
        self.sources.files().to_vec()
    }

    fn frontier(&self) -> FrontierMode {
        self.frontier.mode()
    }

    fn index(&self) -> IndexMode {
        self.frontier.index()
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        if let Delta::Width(_) = self.delta {
            return Err(refused("--delta", "on machines all who came nearer speak at once"));
        }
        let sources = self.sources.find(&graph.known())?;
        let of = (sources.len(), graph.weighted);
        // All who came nearer speak in each iteration.
        let step = f64::INFINITY;
        Ok(match self.precision {
            _ if self.parents => cluster_program(SsspTree::new(sources, step), of),
            Precision::F64 => cluster_program(Sssp::<f64>::new(sources, step), of),
            Precision::F32 => cluster_program(Sssp::<f32>::new(sources, step), of),
        })
    }

    fn parameters(&self) -> Value {
        let delta = match self.delta {
            Delta::Auto => json!("auto"),
            // JSON has no infinity.
            Delta::Width(width) if width.is_infinite() => json!("inf"),
            Delta::Width(width) => json!(width),
        };
        json!({
            "sources": self.sources.described(),
            "direction": self.direction.name(),
            "parents": self.parents,
            "precision": self.precision.name(),
            "delta": delta,
            "frontier": self.frontier.name(), "index": self.frontier.index_name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let sources = self.sources.find(&KnownVertices::of(ready, session))?;
        let (count, step) = (sources.len(), self.step(ready)?);
        match self.precision {
            _ if self.parents => Self::run_as(&SsspTree::new(sources, step), count, ready, session),
            Precision::F64 => Self::run_as(&Sssp::<f64>::new(sources, step), count, ready, session),
            Precision::F32 => Self::run_as(&Sssp::<f32>::new(sources, step), count, ready, session),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_have_a_width() {
        assert_eq!(delta("auto"), Ok(Delta::Auto));
        assert_eq!(delta("2.5"), Ok(Delta::Width(2.5)));
        assert_eq!(delta("inf"), Ok(Delta::Width(f64::INFINITY)));
        for wrong in ["0", "-1", "NaN", "x", ""] {
            assert!(delta(wrong).is_err(), "{wrong}");
        }
    }
}
