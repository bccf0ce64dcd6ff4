//! Community detection on the command line.

use clap::Args;
use serde_json::{Value, json};
use welter_algorithms::Cdlp;
use welter_engine::Outcome;
use welter_engine::plan::Layout;
use welter_model::group::Grouped;

use super::chosen::{Answer, Chosen, Entry};
use crate::failure::Failure;
use crate::session::{LoadedGraph, Session};
use crate::text::counted;
use crate::top::{Top, sizes};
use crate::ways::Ways;

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

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of::<Grouped<Cdlp>>()
    }

    fn ways(&self) -> Ways {
        Ways::Both
    }

    fn parameters(&self) -> Value {
        json!({ "iterations_max": self.iterations })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let program = Grouped(Cdlp::new(self.iterations));
        let Outcome { values, iterations, total, .. } = session.iterate(ready, &program)?;
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let sizes = sizes(&values, rows as usize)?;
        let count = sizes.iter().filter(|size| **size > 0).count() as u64 + alone;
        let largest = u64::from(sizes.into_iter().max().unwrap_or(0));
        let note = format!(
            "{}, the largest with {}; the last iteration changed {}",
            counted(count, "community", "communities"),
            counted(largest, "vertex", "vertices"),
            counted(total.0, "label", "labels"),
        );
        let found = json!({ "communities": count, "largest": largest, "changed": total.0 });
        let (columns, note, found) = (Box::new(values), Some(note), Some(found));
        Ok(Answer { columns, iterations, note, found, levels: None, top: Top::Groups })
    }
}
