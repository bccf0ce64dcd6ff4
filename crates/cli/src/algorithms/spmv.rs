//! `SpMV` on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::Float;
use welter_algorithms::spmv::{Spmv, Vector};
use welter_engine::plan::Layout;
use welter_engine::run;
use welter_input::WeightChoice;

use super::{Answer, Chosen, Entry, Precision, columns};
use crate::args::WeightArgs;
use crate::failure::Failure;
use crate::session::{Ready, Session};
use crate::top::Top;

pub(super) const ENTRY: Entry = Entry {
    name: "spmv",
    about: "The product of the graph's matrix with a vector",
    formula: &["value(v) = sum over edges u -> v of weight(u, v) * x(u)"],
    kind: "fold; reads all edges once an iteration",
    weights: "multiplied; 1 where edges have none",
    columns: "vertex, value (f64 or f32)",
    examples: "\
Examples:
  welter run spmv edges.csv                                   weighted in-degrees
  welter run spmv edges.csv --no-weights                      in-degrees
  welter run spmv edges.csv --vector random --seed 7 -o y.npy",
    options: Options::augment_args,
};

/// What can be said.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "SpMV")]
pub(crate) struct Options {
    /// x, the vector
    #[arg(long, default_value = "ones")]
    vector: VectorArg,
    /// Picks the random vector
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Multiply so often, each result being the next vector
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    iterations: u64,
    /// Width of the numbers
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    precision: Precision,
    #[command(flatten)]
    weights: WeightArgs,
}

/// The vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum VectorArg {
    /// 1 at every vertex: the result is the weighted in-degree
    Ones,
    /// Numbers from 0 to 1 that depend on the seed and the place of the vertex alone
    Random,
}

impl Options {
    fn run_as<F: Float>(&self, ready: &Ready, session: &Session) -> Result<Answer, Failure> {
        let Ready { graph, workers, .. } = ready;
        let vector = match self.vector {
            VectorArg::Ones => Vector::Ones,
            VectorArg::Random => Vector::Random { seed: self.seed },
        };
        let outcome =
            run(graph, &Spmv::<F>::new(vector, self.iterations), workers, &session.progress)?;
        let (columns, iterations) = (columns(&outcome.values), outcome.iterations);
        Ok(Answer { columns, iterations, note: None, levels: None, top: Top::Highest })
    }
}

impl Chosen for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        match self.precision {
            Precision::F64 => Layout::of::<Spmv<f64>>(),
            Precision::F32 => Layout::of::<Spmv<f32>>(),
        }
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn parameters(&self) -> Value {
        let seed = (self.vector == VectorArg::Random).then_some(self.seed);
        let vector = self.vector.to_possible_value();
        json!({
            "vector": vector.map(|vector| vector.get_name().to_owned()),
            "seed": seed,
            "iterations": self.iterations,
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
