//! Minimum-cost spanning forests on the command line.

use std::ops::Add;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::forest_labels::Member;
use welter_algorithms::mcst::{Branch, Cost};
use welter_algorithms::{ForestContraction, ForestLabels, Mcst};
use welter_engine::plan::Layout;
use welter_engine::{Outcome, StreamOutcome, Values};
use welter_input::WeightChoice;
use welter_model::program::{self, Total};
use welter_model::table::{ColumnData, Columns};

use super::algorithm::{Algorithm, Answer, Entry};
use super::on_cluster::{Beforehand, ClusterGraph, ClusterProgram, Ended, Finding, refused};
use crate::args::WeightArgs;
use crate::choice::{FallbackReason, MethodArgs, MethodUsed, Methods};
use crate::directions::Directions;
use crate::failure::Failure;
use crate::number_format::counted;
use crate::parts::for_parts;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "mcst",
    about: "Minimum spanning forest: the edges that connect each component and weigh least",
    formula: &[
        "best(C) = the least edge between C and another component    for each component C",
        "forest += best(C), and what they join is one component      until there is no such edge",
        "least by weight, then by the smaller id, then by the larger one",
    ],
    kind: "stream; each pass over the edges at least halves the components that still grow (by \
           labels: fold with a frontier, in rounds)",
    weights: "the cost, which may be negative; 1 where edges have none",
    columns: "source, target, weight (f64): an edge a row, the smaller id first",
    source: "Chaos, Table 1; Borůvka (1926)",
    examples: "\
Examples:
  welter run mcst roads.csv                           the 20 heaviest edges, and the total weight
  welter run mcst roads.csv -o forest.csv             all of them, which are a graph to read again
  welter run mcst pairs.csv --cost maximum --weight similarity -o strongest.parquet
  welter run mcst roads.csv --route spill             by labels, whose updates wait on storage",
    python: r#">>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0], undirected=True)
>>> welter.mcst(graph).to_numpy()["weight"].tolist()
[1.0, 1.5]"#,
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Spanning forest")]
pub(crate) struct Options {
    /// Whether the forest weighs as little or as much as it can
    #[arg(long, value_name = "COST", default_value = "minimum")]
    cost: CostArg,
    #[command(flatten)]
    method: MethodArgs<Method>,
    #[command(flatten)]
    weights: WeightArgs,
}

/// Methods by which the forest is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// By passes where that fits in memory and has the route if one is forced, else by labels
    Auto,
    /// Edges offer themselves to the components at their ends, which are found in memory
    Passes,
    /// Vertices send their neighbours what they know of their component, edge by edge
    #[value(alias = "labels")]
    LabelPropagation,
}

impl Methods for Method {
    const AUTO: Self = Self::Auto;
    const LABELS: Self = Self::LabelPropagation;
    const FIRST: [&'static str; 2] = ["passes", "the method of passes"];
}

/// Edges that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CostArg {
    /// The lightest edges
    Minimum,
    /// The heaviest edges
    Maximum,
}

impl CostArg {
    fn cost(self) -> Cost {
        match self {
            Self::Minimum => Cost::Minimum,
            Self::Maximum => Cost::Maximum,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::Maximum => "maximum",
        }
    }

    /// The edges that stand out are those that cost most.
    fn top(self) -> Top {
        match self {
            Self::Minimum => Top::Heaviest,
            Self::Maximum => Top::Lightest,
        }
    }
}

/// Number of edges, and the weight of all.
fn sum<V: program::Value>(
    values: &Values<V>,
    weight: impl Fn(&V) -> f64,
) -> Result<(u64, f64), Failure> {
    let mut sum = 0.0;
    values.read(0..values.len(), |values| sum = values.iter().map(&weight).fold(sum, f64::add))?;
    Ok((values.len() as u64, sum))
}

/// The note and the finding on a forest with this number of edges and this weight, among `vertices`
/// vertices.
fn finding(
    (edges, total): (u64, f64),
    vertices: u64,
    weighted: bool,
) -> (Option<String>, Option<Value>) {
    let trees = vertices - edges;
    let weights = if weighted { "" } else { "; edges have no weights: each counts 1" };
    let note = format!(
        "{} of total weight {total} in {}{weights}",
        counted(edges, "edge", "edges"),
        counted(trees, "tree", "trees"),
    );
    (Some(note), Some(json!({ "weight": total, "edges": edges, "trees": trees })))
}

/// The forest of a run on a cluster.
fn forest<T: Total>(ended: &Ended<'_, T>, weighted: bool) -> Result<Finding, Failure> {
    let mut total = 0.0;
    for_parts(ended.columns, ended.rows, |_, part| {
        if let Some(ColumnData::F64(weights)) = part.last().map(|column| &column.data) {
            total = weights.iter().copied().fold(total, f64::add);
        }
    })?;
    let (note, found) = finding((ended.rows as u64, total), ended.vertices, weighted);
    Ok(ended.found(note, found))
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        if self.method.by_labels() {
            Layout::of::<ForestLabels>()
        } else {
            Layout::of_stream::<Mcst>()
        }
    }

    fn otherwise(&self, why: FallbackReason) -> Option<Box<dyn Algorithm>> {
        let method = self.method.otherwise(why)?;
        Some(Box::new(Self { method, ..self.clone() }))
    }

    fn taken(&self) -> Option<MethodUsed> {
        Some(self.method.taken())
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn ways(&self) -> Directions {
        // Passes look at an edge from both its ends, so one arc for each will do.
        if self.method.by_labels() { Directions::Both } else { Directions::Either }
    }

    fn beforehand(&self) -> Beforehand {
        Beforehand::Sizes
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        let (cost, top, weighted) = (self.cost.cost(), self.cost.top(), graph.weighted);
        if self.method.by_labels() {
            let program = ForestLabels::new(cost);
            return Ok(ClusterProgram::fold(program, top, move |ended| forest(ended, weighted)));
        }
        if !self.method.is_free() {
            let why = "machines have no forest of all vertices in common";
            return Err(refused("--method passes", why));
        }
        let program = ForestContraction::new(cost);
        Ok(ClusterProgram::contracting(program, top, move |ended| forest(ended, weighted)))
    }

    fn parameters(&self) -> Value {
        let MethodUsed { name, why } = self.method.taken();
        json!({ "cost": self.cost.name(), "method": name, "method_why": why })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        let cost = self.cost.cost();
        let (columns, iterations, levels, edges, total): (Box<dyn Columns>, _, _, _, _);
        if self.method.by_labels() {
            let Outcome { values, iterations: made, levels: all, .. } =
                session.iterate(ready, &ForestLabels::new(cost))?;
            (edges, total) = sum(&values, |member: &Member| member.branch().weight())?;
            (columns, iterations, levels) = (Box::new(values), made, Some(all));
        } else {
            let StreamOutcome { values, passes, .. } =
                session.pass_resumable(ready, &Mcst::new(cost))?;
            (edges, total) = sum(&values, Branch::weight)?;
            (columns, iterations, levels) = (Box::new(values), passes, None);
        }
        let weighted = ready.graph.plan().premises.shape.weighted;
        let (note, found) = finding((edges, total), ready.graph.all_vertices(), weighted);
        Ok(Answer { columns, iterations, note, found, levels, top: self.cost.top() })
    }
}
