//! Weakly connected components on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::{LabelPropagation, Wcc};
use welter_engine::plan::{FrontierMode, IndexMode, Layout, Straightness};
use welter_engine::{Outcome, Passed};
use welter_input::ReadOptions;
use welter_model::edges::Reading;
use welter_model::table::Columns;

use super::traversal::FrontierArgs;
use super::{Answer, Chosen, Entry};
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::text::counted;
use crate::top::{Top, sizes};

pub(super) const ENTRY: Entry = Entry {
    name: "wcc",
    about: "Which vertices hang together, whatever way the edges point",
    formula: &["component(v) = the smallest id that a path of edges, in any direction, joins to v"],
    kind: "stream; reads all edges once (with --method labels: fold with a frontier)",
    weights: "not looked at",
    columns: "vertex, component (the id of its smallest vertex)",
    source: "Chaos, Table 1; BlitzG (CC); LDBC Graphalytics (WCC)",
    examples: "\
Examples:
  welter run wcc links.tsv                            the 20 largest components, and how many exist
  welter run wcc links.tsv -o components.parquet      the component of every vertex
  welter run wcc links.tsv --method labels --report report.json",
    python: "\
>>> graph = welter.from_numpy([0, 2, 3], [1, 3, 4])
>>> welter.wcc(graph).top()
   component  vertices
1          2         3
2          0         2",
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Weakly connected components")]
pub(crate) struct Options {
    /// How components are found; the result is the same
    #[arg(long, value_name = "METHOD", default_value = "union-find")]
    method: Method,
    #[command(flatten)]
    frontier: FrontierArgs,
}

/// How components are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// One pass over the edges, each of which joins two trees
    UnionFind,
    /// The smallest id spreads along both directions of edges until nothing changes
    Labels,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::UnionFind => "union-find",
            Self::Labels => "labels",
        }
    }
}

/// How many components there are, and how large the largest is. `alone`: vertices that are
/// components and have no row; and what components are called.
pub(super) fn note(
    columns: &dyn Columns,
    rows: usize,
    (alone, one, many): (u64, &str, &str),
) -> Result<Option<String>, Failure> {
    let sizes = sizes(columns, rows)?;
    let count = sizes.iter().filter(|size| **size > 0).count() as u64 + alone;
    let Some(largest) = sizes.into_iter().max() else { return Ok(None) };
    let largest = counted(largest.into(), "vertex", "vertices");
    Ok(Some(format!("{}, the largest with {largest}", counted(count, one, many))))
}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        match self.method {
            Method::UnionFind => {
                let straight = Some(Straightness::of_stream::<Wcc>());
                Layout { straight, ..Layout::of_stream::<Wcc>() }
            }
            Method::Labels => Layout::of::<LabelPropagation>(),
        }
    }

    fn read(&self, options: &mut ReadOptions, _: &mut Reading) {
        // Union-find looks at both ends of an edge, so one arc for each will do.
        options.undirected = Some(self.method == Method::Labels);
    }

    fn has_no_iterations(&self) -> Option<&'static str> {
        (self.method == Method::UnionFind).then_some(
            "components by union-find take one pass over the edges, and no iterations to go on \
             from; --method labels has some",
        )
    }

    fn frontier(&self) -> FrontierMode {
        self.frontier.mode()
    }

    fn index(&self) -> IndexMode {
        self.frontier.index()
    }

    fn parameters(&self) -> Value {
        json!({
            "method": self.method.name(),
            "frontier": self.frontier.name(),
            "index": self.frontier.index_name(),
        })
    }

    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let (columns, iterations, levels): (Box<dyn Columns>, _, _) = match self.method {
            Method::UnionFind => {
                let straight = ready.graph.plan().straight;
                let over = if straight { session.pass_over(ready, &Wcc)? } else { None };
                let Passed { values, passes, .. } =
                    over.map_or_else(|| session.pass(ready, &Wcc), Ok)?;
                (Box::new(values), passes, None)
            }
            Method::Labels => {
                let Outcome { values, iterations, levels, .. } =
                    session.iterate(ready, &LabelPropagation)?;
                (Box::new(values), iterations, Some(levels))
            }
        };
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let note = note(&columns, rows as usize, (alone, "component", "components"))?;
        Ok(Answer { columns, iterations, note, found: None, levels, top: Top::Groups })
    }
}
