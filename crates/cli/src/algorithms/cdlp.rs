//! Community detection on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Cdlp;
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_model::group::Grouped;
use welter_model::table::Columns;

use super::algorithm::{Algorithm, Answer, Entry, StatedIterations};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::preview::{Top, sizes};
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "cdlp",
    about: "Community detection by label propagation, as LDBC Graphalytics defines it",
    formula: &[
        "label(v, 0)     = v",
        "label(v, i + 1) = the most frequent of label(u, i), u -> v or v -> u an edge;",
        "                  the smallest of the most frequent ones",
    ],
    kind: "group; reads all edges in each iteration, by rows only where a neighbour changed",
    weights: "not looked at",
    columns: "vertex, community (the id of a vertex)",
    source: "LDBC Graphalytics (CDLP); BlitzG (CD); Raghavan, Albert and Kumara (2007)",
    examples: "\
Examples:
  welter run cdlp friends.csv                       the 20 largest communities, and how many exist
  welter run cdlp links.tsv --iterations 30 -o communities.parquet
  welter run cdlp links.tsv --drop-duplicates       neighbours count once, however many edges",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2, 3, 4, 5], [1, 2, 0, 3, 4, 5, 3], undirected=True)
>>> welter.cdlp(graph).top()
   community  vertices
1          0         3
2          2         3",
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Communities")]
pub(crate) struct Options {
    /// Iterations; fewer are done where one changes nothing
    #[arg(long, value_name = "N", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    iterations: u64,
}

/// Number of communities, and how large the largest is. `alone`: vertices that are one and
/// have no row; `changed`: labels that the last iteration changed.
fn finding(
    columns: &dyn Columns,
    rows: usize,
    (alone, changed): (u64, u64),
) -> Result<(String, Value), Failure> {
    let sizes = sizes(columns, rows)?;
    let count = sizes.iter().filter(|size| **size > 0).count() as u64 + alone;
    let largest = u64::from(sizes.into_iter().max().unwrap_or(0));
    let note = format!(
        "{}, the largest with {}; the last iteration changed {}",
        counted(count, "community", "communities"),
        counted(largest, "vertex", "vertices"),
        counted(changed, "label", "labels"),
    );
    Ok((note, json!({ "communities": count, "largest": largest, "changed": changed })))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of::<Grouped<Cdlp>>()
    }

    fn ways(&self) -> Directions {
        Directions::Both
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        Some(StatedIterations { count: self.iterations, exact: false })
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        let program = Grouped(Cdlp::new(self.iterations));
        Ok(ClusterProgram::fold(program, Top::Groups, |ended| {
            let (note, found) = finding(ended.columns, ended.rows, (0, ended.total().0))?;
            Ok(ended.found(Some(note), Some(found)))
        }))
    }

    fn parameters(&self) -> Value {
        json!({ "iterations_max": self.iterations })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let program = Grouped(Cdlp::new(self.iterations));
        let Outcome { values, iterations, total, .. } = session.iterate(ready, &program)?;
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let (note, found) = finding(&values, rows as usize, (alone, total.0))?;
        let (columns, note, found) = (Box::new(values), Some(note), Some(found));
        Ok(Answer { columns, iterations, note, found, levels: None, top: Top::Groups })
    }
}
