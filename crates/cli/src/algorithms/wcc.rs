//! Weakly connected components on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::{LabelPropagation, LocalContraction, Wcc};
use welter_engine::plan::{FrontierMode, IndexMode, InputScanCost, Layout};
use welter_engine::{Outcome, StreamOutcome};
use welter_model::program::Total;
use welter_model::table::Columns;

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram, Ended, Finding, refused};
use super::traversal::FrontierArgs;
use crate::choice::{FallbackReason, MethodArgs, MethodUsed, Methods};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::preview::{Top, sizes};
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "wcc",
    about: "Weakly connected components: the vertices that paths join, whichever way edges point",
    formula: &["component(v) = the smallest id that a path of edges, in any direction, joins to v"],
    kind: "stream; reads all edges once (by labels: fold with a frontier)",
    weights: "not looked at",
    columns: "vertex, component (the id of its smallest vertex)",
    source: "Chaos, Table 1; BlitzG (CC); LDBC Graphalytics (WCC)",
    examples: "\
Examples:
  welter run wcc links.tsv                            the 20 largest components, and how many exist
  welter run wcc links.tsv -o components.parquet      the component of every vertex
  welter run wcc links.tsv --method label-propagation --report report.json
  welter run wcc links.tsv --route spill              by labels, whose updates wait on storage",
    python: "\
>>> graph = welter.from_numpy([0, 2, 3], [1, 3, 4])
>>> welter.wcc(graph).top()
   component  vertices
1          2         3
2          0         2",
    options: Options::augment_args,
};

/// Draws the priorities by which a cluster contracts.
const CONTRACTION_SEED: u64 = 1;

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Weakly connected components")]
pub(crate) struct Options {
    #[command(flatten)]
    method: MethodArgs<Method>,
    #[command(flatten)]
    frontier: FrontierArgs,
}

/// Method by which components are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// By union-find where that fits in memory and has the route if one is forced, else by labels
    Auto,
    /// One pass over the edges, each of which joins two trees
    UnionFind,
    /// The smallest id spreads along both directions of edges until nothing changes
    #[value(alias = "labels")]
    LabelPropagation,
}

impl Methods for Method {
    const AUTO: Self = Self::Auto;
    const LABELS: Self = Self::LabelPropagation;
    const FIRST: [&'static str; 2] = ["union-find", "union-find"];
}

/// Number of components, and how large the largest is. `alone`: vertices that are
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

/// Components of a run on a cluster.
fn components<T: Total>(ended: &Ended<'_, T>) -> Result<Finding, Failure> {
    let note = note(ended.columns, ended.rows, (0, "component", "components"))?;
    Ok(ended.found(note, None))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        if self.method.by_labels() {
            return Layout::of::<LabelPropagation>();
        }
        let input_scan = Some(InputScanCost::of_stream::<Wcc>());
        Layout { input_scan, ..Layout::of_stream::<Wcc>() }
    }

    fn otherwise(&self, why: FallbackReason) -> Option<Box<dyn Algorithm>> {
        let method = self.method.otherwise(why)?;
        Some(Box::new(Self { method, ..self.clone() }))
    }

    fn taken(&self) -> Option<MethodUsed> {
        Some(self.method.taken())
    }

    fn ways(&self) -> Directions {
        // Union-find looks at both ends of an edge, so one arc for each will do.
        if self.method.by_labels() { Directions::Both } else { Directions::Either }
    }

    fn has_no_iterations(&self) -> Option<&'static str> {
        (!self.method.by_labels()).then_some(
            "components by union-find take one pass over the edges, and no iterations to resume \
             from; --method label-propagation has some",
        )
    }

    fn frontier(&self) -> FrontierMode {
        self.frontier.mode()
    }

    fn index(&self) -> IndexMode {
        self.frontier.index()
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        if self.method.by_labels() {
            return Ok(ClusterProgram::fold(LabelPropagation, Top::Groups, components));
        }
        if !self.method.is_free() {
            let why = "machines have no forest of all vertices in common";
            return Err(refused("--method union-find", why));
        }
        let program = LocalContraction::new(CONTRACTION_SEED);
        Ok(ClusterProgram::contracting(program, Top::Groups, components).with_members())
    }

    fn parameters(&self) -> Value {
        let MethodUsed { name, why } = self.method.taken();
        json!({
            "method": name,
            "method_why": why,
            "frontier": self.frontier.name(),
            "index": self.frontier.index_name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let (columns, iterations, levels): (Box<dyn Columns>, _, _) = if self.method.by_labels() {
            let Outcome { values, iterations, levels, .. } =
                session.iterate(ready, &LabelPropagation)?;
            (Box::new(values), iterations, Some(levels))
        } else {
            let input_scan = ready.graph.plan().scans_input();
            let over = if input_scan { session.pass_over(ready, &Wcc)? } else { None };
            let StreamOutcome { values, passes, .. } =
                over.map_or_else(|| session.pass(ready, &Wcc), Ok)?;
            (Box::new(values), passes, None)
        };
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let note = note(&columns, rows as usize, (alone, "component", "components"))?;
        Ok(Answer { columns, iterations, note, found: None, levels, top: Top::Groups })
    }
}
