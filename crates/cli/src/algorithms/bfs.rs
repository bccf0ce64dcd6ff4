//! Breadth-first search on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Levels;
use welter_algorithms::bfs::{Bfs, BfsTree, Reach};
use welter_engine::plan::{FrontierMode, IndexMode, InputScanCost, Layout};
use welter_engine::{Outcome, StreamOutcome};
use welter_input::ReadOptions;
use welter_model::edges::Reading;
use welter_model::table::{ColumnData, Columns};
use welter_programs::CompiledFold;

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{ClusterGraph, ClusterProgram, Ended};
use super::sources::SourceArgs;
use super::tables::KnownVertices;
use super::traversal::{Direction, FrontierArgs};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::{counted, grouped};
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "bfs",
    about: "Breadth-first search: the number of edges from the nearest source to each vertex",
    formula: &[
        "depth(s) = 0                                           for each source s",
        "depth(v) = 1 + (least of depth(u) over edges u -> v)   for all others",
    ],
    kind: "fold with a frontier, or scans of the input out of core; reads the edges of vertices \
           that were just reached",
    weights: "not looked at",
    columns: "vertex, depth (i64; -1 where no path leads); with --parents also parent (an id)",
    source: "Chaos, Table 1; LDBC Graphalytics (BFS)",
    examples: "\
Examples:
  welter run bfs links.tsv --source 42                 the farthest 20, and how many were reached
  welter run bfs depends.tsv --source libc6 --direction in -o users.csv
                                                       who needs libc6, through how many others
  welter run bfs links.tsv --source 42 --parents -o tree.parquet
  welter run bfs roads.csv --direction both --sources-from stations.txt -o nearest.csv",
    python: "\
>>> graph = welter.from_numpy([0, 1, 1], [1, 2, 3])
>>> welter.bfs(graph, source=0, parents=True).top(2)
   vertex  depth  parent
1       2      2       1
2       3      2       1",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Breadth-first search")]
pub(crate) struct Options {
    #[command(flatten)]
    sources: SourceArgs,
    /// Direction in which edges are followed
    #[arg(long, value_name = "WAY", default_value = "out")]
    direction: Direction,
    /// Also find the vertex before each on a shortest path: the one with the smallest id, of a
    /// source itself
    #[arg(long)]
    parents: bool,
    #[command(flatten)]
    frontier: FrontierArgs,
}

impl Options {
    fn run_as<P: CompiledFold<Total = Reach>>(
        program: &P,
        sources: usize,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure> {
        let Outcome { values, iterations, levels, .. } = session.iterate(ready, program)?;
        let note = Some(note(&values, (values.len(), ready.graph.all_vertices()), sources)?);
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

impl Options {
    /// Searches the input, unless that takes too many passes.
    fn over(&self, ready: &LoadedGraph, session: &Session) -> Result<Option<Answer>, Failure> {
        let sources = self.sources.slots(&KnownVertices::of(ready, session))?;
        let (count, program) = (sources.len(), Levels::new(sources));
        let Some(StreamOutcome { values, passes, .. }) = session.pass_over(ready, &program)? else {
            return Ok(None);
        };
        let note = Some(note(&values, (values.len(), ready.graph.all_vertices()), count)?);
        let (columns, top) = (Box::new(values), Top::Farthest);
        Ok(Some(Answer { columns, iterations: passes, note, found: None, levels: None, top }))
    }
}

/// Vertices that were reached, and their distances.
fn note(
    columns: &dyn Columns,
    (rows, vertices): (usize, u64),
    sources: usize,
) -> Result<String, Failure> {
    let (mut reached, mut deepest) = (0, 0);
    for_parts(columns, rows, |_, part| {
        if let Some(ColumnData::I64(depths)) = part.first().map(|column| &column.data) {
            reached += depths.iter().filter(|depth| **depth >= 0).count() as u64;
            deepest = depths.iter().copied().fold(deepest, i64::max);
        }
    })?;
    Ok(format!(
        "reached {} of {} from {}; the farthest is {} away",
        grouped(reached),
        counted(vertices, "vertex", "vertices"),
        counted(sources as u64, "source", "sources"),
        counted(deepest as u64, "edge", "edges"),
    ))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        if self.parents {
            return Layout::of::<BfsTree>();
        }
        Layout { input_scan: Some(InputScanCost::of_stream::<Levels>()), ..Layout::of::<Bfs>() }
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        self.sources.check(ENTRY.name, inputs)
    }

    fn ways(&self) -> Directions {
        self.direction.ways()
    }

    fn read(&self, options: &mut ReadOptions, reading: &mut Reading) {
        self.direction.put(reading);
        options.named = self.sources.integers();
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
        let sources = self.sources.find(&graph.known())?;
        let count = sources.len();
        let reached = move |ended: &Ended<'_, Reach>| {
            let note = note(ended.columns, (ended.rows, ended.vertices), count)?;
            Ok(ended.found(Some(note), None))
        };
        Ok(if self.parents {
            ClusterProgram::fold(BfsTree::new(sources), Top::Farthest, reached)
        } else {
            ClusterProgram::fold(Bfs::new(sources), Top::Farthest, reached)
        })
    }

    fn parameters(&self) -> Value {
        json!({
            "sources": self.sources.described(),
            "direction": self.direction.name(),
            "parents": self.parents,
            "frontier": self.frontier.name(), "index": self.frontier.index_name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        if ready.graph.plan().scans_input()
            && let Some(answer) = self.over(ready, session)?
        {
            return Ok(answer);
        }
        let sources = self.sources.find(&KnownVertices::of(ready, session))?;
        let count = sources.len();
        if self.parents {
            Self::run_as(&BfsTree::new(sources), count, ready, session)
        } else {
            Self::run_as(&Bfs::new(sources), count, ready, session)
        }
    }
}
