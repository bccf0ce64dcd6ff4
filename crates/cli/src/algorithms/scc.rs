//! Strongly connected components on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::{Scc, StrongContraction, StrongLabels};
use welter_engine::plan::Layout;
use welter_engine::{Outcome, StreamOutcome};
use welter_input::ReadOptions;
use welter_model::edges::{Duplicates, Reading};
use welter_model::table::Columns;

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram, Ended, Finding, refused};
use super::wcc;
use crate::choice::{FallbackReason, MethodArgs, MethodUsed, Methods};
use crate::failure::Failure;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};
use welter_model::program::Total;

pub(super) const ENTRY: Entry = Entry {
    name: "scc",
    about: "Strongly connected components: which vertices reach each other along edges",
    formula: &["component(v) = the smallest id of all vertices that v reaches and that reach v"],
    kind: "stream; several passes over the edges that can still tell something (by labels: fold \
           with a frontier, in rounds)",
    weights: "not looked at",
    columns: "vertex, component (the id of its smallest vertex)",
    source: "Chaos, Table 1; Fleischer, Hendrickson and Pınar (2000); Orzan (2004); Tarjan (1972)",
    examples: "\
Examples:
  welter run scc links.tsv                            the 20 largest components, and how many exist
  welter run scc links.tsv -o components.parquet      the component of every vertex
  welter run scc web --memory 2G --report report.json
  welter run scc links.tsv --route spill              by labels, whose updates wait on storage",
    python: "\
>>> graph = welter.from_numpy([0, 1, 2, 2], [1, 2, 0, 3])
>>> welter.scc(graph).top()
   component  vertices
1          0         3
2          3         1",
    options: Options::augment_args,
};

/// Names of one component, and of several.
const CALLED: [&str; 2] = ["strongly connected component", "strongly connected components"];

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Strongly connected components")]
pub(crate) struct Options {
    #[command(flatten)]
    method: MethodArgs<Method>,
}

/// Method by which components are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// By passes where that fits in memory and has the route if one is forced, else by labels
    Auto,
    /// Vertices that a pivot reaches or that reach it, colours, and Tarjan's algorithm for the rest
    Passes,
    /// The smallest id spreads along edges, and who reaches it back is of its component
    #[value(alias = "labels")]
    LabelPropagation,
}

impl Methods for Method {
    const AUTO: Self = Self::Auto;
    const LABELS: Self = Self::LabelPropagation;
    const FIRST: [&'static str; 2] = ["passes", "the method of passes"];
}

/// Components of a run on a cluster.
fn components<T: Total>(ended: &Ended<'_, T>) -> Result<Finding, Failure> {
    let note = wcc::note(ended.columns, ended.rows, (0, CALLED[0], CALLED[1]))?;
    Ok(ended.found(note, None))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        if self.method.by_labels() {
            Layout::of::<StrongLabels>()
        } else {
            Layout::of_stream::<Scc>()
        }
    }

    fn otherwise(&self, why: FallbackReason) -> Option<Box<dyn Algorithm>> {
        let method = self.method.otherwise(why)?;
        Some(Box::new(Self { method }))
    }

    fn taken(&self) -> Option<MethodUsed> {
        Some(self.method.taken())
    }

    /// Weights say the ways that edges go.
    fn weighs(&self) -> bool {
        self.method.by_labels()
    }

    fn read(&self, _: &mut ReadOptions, reading: &mut Reading) {
        if self.method.by_labels() {
            reading.drop_self_loops = true;
            reading.duplicates = Duplicates::Directions;
        }
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, _: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        if !self.method.is_free() && !self.method.by_labels() {
            let why = "machines have no state of all vertices in common";
            return Err(refused("--method passes", why));
        }
        let program = if self.method.by_labels() {
            ClusterProgram::fold(StrongLabels, Top::Groups, components)
        } else {
            ClusterProgram::contracting(StrongContraction, Top::Groups, components)
        };
        Ok(program.with_directions())
    }

    fn parameters(&self) -> Value {
        let MethodUsed { name, why } = self.method.taken();
        json!({ "method": name, "method_why": why })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let (columns, iterations, levels): (Box<dyn Columns>, _, _) = if self.method.by_labels() {
            let Outcome { values, iterations, levels, .. } =
                session.iterate(ready, &StrongLabels)?;
            (Box::new(values), iterations, Some(levels))
        } else {
            let StreamOutcome { values, passes, .. } =
                session.pass_resumable(ready, &Scc::default())?;
            (Box::new(values), passes, None)
        };
        let rows = ready.graph.vertices();
        let alone = ready.graph.all_vertices() - rows;
        let note = wcc::note(&columns, rows as usize, (alone, CALLED[0], CALLED[1]))?;
        Ok(Answer { columns, iterations, note, found: None, levels, top: Top::Groups })
    }
}
