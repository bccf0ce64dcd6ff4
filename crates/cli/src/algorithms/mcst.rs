//! Minimum-cost spanning forests on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::Mcst;
use welter_algorithms::mcst::{Branch, Cost};
use welter_engine::plan::Layout;
use welter_engine::{Passed, Values};
use welter_input::{ReadOptions, WeightChoice};
use welter_model::edges::Reading;

use super::{Answer, Chosen, Entry};
use crate::args::WeightArgs;
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::text::counted;
use crate::top::Top;

pub(super) const ENTRY: Entry = Entry {
    name: "mcst",
    about: "Edges that join what hangs together and weigh least: a minimum-cost spanning forest",
    formula: &[
        "best(C) = the least edge between C and another component    for each component C",
        "forest += best(C), and what they join is one component      until there is no such edge",
        "least by weight, then by the smaller id, then by the larger one",
    ],
    kind: "stream; each pass over the edges at least halves the components that still grow",
    weights: "the cost, which may be negative; 1 where edges have none",
    columns: "source, target, weight (f64): an edge a row, the smaller id first",
    source: "Chaos, Table 1; Borůvka (1926)",
    examples: "\
Examples:
  welter run mcst roads.csv                           the 20 heaviest edges, and the total weight
  welter run mcst roads.csv -o forest.csv             all of them, which are a graph to read again
  welter run mcst pairs.csv --cost maximum --weight similarity -o strongest.parquet",
    python: r#">>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0], undirected=True)
>>> welter.mcst(graph).to_numpy()["weight"].tolist()
[1.0, 1.5]"#,
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Spanning forest")]
pub(crate) struct Options {
    /// Whether the forest weighs as little or as much as it can
    #[arg(long, value_name = "COST", default_value = "minimum")]
    cost: CostArg,
    #[command(flatten)]
    weights: WeightArgs,
}

/// Which edges are wanted.
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

/// The weight of all edges.
fn total(values: &Values<Branch>) -> Result<f64, Failure> {
    let mut sum = 0.0;
    values.read(0..values.len(), |branches| {
        sum = branches.iter().fold(sum, |sum, branch| sum + branch.weight());
    })?;
    Ok(sum)
}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        Layout::of_stream::<Mcst>()
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn read(&self, options: &mut ReadOptions, _: &mut Reading) {
        // An edge is looked at from both its ends, so one arc for each will do.
        options.undirected = Some(false);
    }

    fn parameters(&self) -> Value {
        json!({ "cost": self.cost.name() })
    }

    fn run(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let program = Mcst::new(self.cost.cost());
        let Passed { values, passes, .. } = session.pass_resumable(ready, &program)?;
        let total = total(&values)?;
        let edges = values.len() as u64;
        let trees = ready.graph.all_vertices() - edges;
        let weights = if ready.graph.plan().shape.weighted {
            ""
        } else {
            "; edges have no weights: each counts 1"
        };
        let note = format!(
            "{} of total weight {total} in {}{weights}",
            counted(edges, "edge", "edges"),
            counted(trees, "tree", "trees"),
        );
        Ok(Answer {
            columns: Box::new(values),
            iterations: passes,
            note: Some(note),
            found: Some(json!({ "weight": total, "edges": edges, "trees": trees })),
            levels: None,
            top: self.cost.top(),
        })
    }
}
