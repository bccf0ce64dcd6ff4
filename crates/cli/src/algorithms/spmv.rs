//! `SpMV` on the command line.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use welter_algorithms::Float;
use welter_algorithms::spmv::{Element, Product, Spmv, Vector};
use welter_engine::Outcome;
use welter_engine::plan::{InputScanCost, Layout};
use welter_input::attributes::AttributeOptions;
use welter_input::{ColumnRef, ReadOptions, WeightChoice};
use welter_model::edges::Reading;
use welter_programs::{CompiledFold, CompiledScan};

use super::algorithm::{Algorithm, Answer, Entry, Precision, StatedIterations};
use super::on_cluster::{ClusterGraph, ClusterProgram};
use super::tables::{self, KnownVertices};
use crate::args::{WeightArgs, finite, parsed};
use crate::failure::Failure;
use crate::preview::Top;
use crate::session::{LoadedGraph, Session};

pub(super) const ENTRY: Entry = Entry {
    name: "spmv",
    about: "Sparse matrix-vector product: the graph's matrix times a vector",
    formula: &["value(v) = sum over edges u -> v of weight(u, v) * x(u)"],
    kind: "scan of the input, or fold with more iterations and on kept graphs; reads all edges \
           once an iteration",
    weights: "multiplied; 1 where edges have none",
    columns: "vertex, value (f64 or f32)",
    source: "Chaos, Table 1",
    examples: "\
Examples:
  welter run spmv edges.csv                 weighted in-degrees
  welter run spmv edges.csv --no-weights    in-degrees
  welter run spmv edges.csv --vector random --seed 7 -o y.npy
  welter run spmv links.csv --vector-from people.csv --vector-column age --vector-default 0",
    python: r#">>> graph = welter.from_numpy([0, 1, 0], [1, 2, 2], [1.0, 1.5, 4.0])
>>> welter.spmv(graph, vector="ones").to_dict()
{0: 0.0, 1: 1.0, 2: 5.5}"#,
    options: Options::augment_args,
};

/// Options of the algorithm.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "SpMV")]
pub(crate) struct Options {
    /// x, the vector
    #[arg(long, default_value = "ones")]
    vector: VectorArg,
    /// Picks the random vector
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Tables (text, Parquet, Arrow) with x: ids in the first column, elements in another; `-` is
    /// standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["vector", "seed"])]
    vector_from: Vec<String>,
    /// Column of the elements, by number (from 1) or name [default: the second]
    #[arg(long, value_name = "COLUMN", requires = "vector_from")]
    #[arg(value_parser = parsed::<ColumnRef>)]
    vector_column: Option<ColumnRef>,
    /// Element of vertices without a row [default: an error]
    #[arg(long, value_name = "NUMBER", requires = "vector_from", allow_negative_numbers = true)]
    #[arg(value_parser = finite)]
    vector_default: Option<f64>,
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
    fn run_as<F: Float>(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure>
    where
        Spmv<F>: CompiledFold<Value = Element<F>, Total = ()>,
        Product<F>: CompiledScan<Value = Element<F>, Total = ()>,
    {
        if ready.graph.plan().scans_input() {
            return self.input_scan::<F>(ready, session);
        }
        let program = self.program::<F>(&KnownVertices::of(ready, session))?;
        Ok(answer(session.iterate(ready, &program)?))
    }

    fn program<F: Float>(&self, known: &KnownVertices<'_>) -> Result<Spmv<F>, Failure> {
        Ok(match self.vector {
            _ if !self.vector_from.is_empty() => Spmv::of(self.elements(known)?, self.iterations),
            VectorArg::Ones => Spmv::new(Vector::Ones, self.iterations),
            VectorArg::Random => Spmv::new(Vector::Random { seed: self.seed }, self.iterations),
        })
    }

    fn cluster_program<F: Float>(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure>
    where
        Spmv<F>: CompiledFold<Value = Element<F>, Total = ()>,
    {
        let program = self.program::<F>(&graph.known())?;
        Ok(ClusterProgram::fold(program, Top::Highest, |ended| Ok(ended.found(None, None))))
    }

    fn input_scan<F: Float>(
        &self,
        ready: &LoadedGraph,
        session: &Session,
    ) -> Result<Answer, Failure>
    where
        Product<F>: CompiledScan<Value = Element<F>, Total = ()>,
    {
        let graph = &ready.graph;
        let random = Vector::Random { seed: self.seed };
        let at = |slot| graph.vertex_of_slot(slot).map_or(0.0, |vertex| random.at(vertex));
        let program = match self.vector {
            _ if !self.vector_from.is_empty() => {
                let value = self.vector_column.clone();
                let missing = self.vector_default;
                let elements = tables::slot_values(
                    &self.vector_from,
                    &KnownVertices::of(ready, session),
                    |options| AttributeOptions { value, missing, ..options },
                )?;
                Product::<F>::new(Some(elements.into_iter()))
            }
            VectorArg::Ones => Product::new(None::<std::iter::Empty<f64>>),
            VectorArg::Random => Product::new(Some((0..graph.slots()).map(at))),
        };
        Ok(answer(session.count(ready, &program)?))
    }

    /// The vector that tables say, in the order of the vertices.
    fn elements(&self, known: &KnownVertices<'_>) -> Result<Vec<f64>, Failure> {
        let value = self.vector_column.clone();
        tables::values(&self.vector_from, known, |options| AttributeOptions {
            value,
            missing: self.vector_default,
            ..options
        })
    }
}

/// The answer of a run.
fn answer<F: Float>(outcome: Outcome<Element<F>, ()>) -> Answer {
    let (columns, iterations) = (Box::new(outcome.values), outcome.iterations);
    Answer { columns, iterations, note: None, found: None, levels: None, top: Top::Highest }
}

impl Algorithm for Options {
    fn entry(&self) -> &'static Entry {
        &ENTRY
    }

    fn layout(&self) -> Layout {
        // An element by the slot, as tables are read, and by the vertex.
        let given = if self.vector_from.is_empty() { 0 } else { 16 };
        let own = if self.vector == VectorArg::Random { given + 8 } else { given };
        let (layout, input_scan) = match self.precision {
            Precision::F64 => (Layout::of::<Spmv<f64>>(), InputScanCost::of::<Product<f64>>(own)),
            Precision::F32 => (Layout::of::<Spmv<f32>>(), InputScanCost::of::<Product<f32>>(own)),
        };
        let input_scan = (self.iterations == 1).then_some(input_scan);
        Layout { value: layout.value + given, input_scan, ..layout }
    }

    fn check(&self, inputs: &[String]) -> Result<(), Failure> {
        tables::check(&self.vector_from, "the vector", inputs)
    }

    fn read(&self, options: &mut ReadOptions, _: &mut Reading) {
        options.finite = true;
    }

    fn weighs(&self) -> bool {
        true
    }

    fn weights(&self) -> WeightChoice {
        self.weights.choice()
    }

    fn tables(&self) -> Vec<String> {
        self.vector_from.clone()
    }

    fn stated_iterations(&self) -> Option<StatedIterations> {
        Some(StatedIterations { count: self.iterations, exact: true })
    }

    fn on_cluster(&self, graph: &ClusterGraph<'_>) -> Result<ClusterProgram, Failure> {
        match self.precision {
            Precision::F64 => self.cluster_program::<f64>(graph),
            Precision::F32 => self.cluster_program::<f32>(graph),
        }
    }

    fn parameters(&self) -> Value {
        let seed = (self.vector == VectorArg::Random).then_some(self.seed);
        let vector = self.vector.to_possible_value().filter(|_| self.vector_from.is_empty());
        json!({
            "vector": vector.map(|vector| vector.get_name().to_owned()),
            "vector_from": self.vector_from,
            "vector_column": self.vector_column.as_ref().map(ToString::to_string),
            "vector_default": self.vector_default,
            "seed": seed,
            "iterations": self.iterations,
            "precision": self.precision.name(),
        })
    }

    fn run(&self, ready: &LoadedGraph, session: &Session) -> Result<Answer, Failure> {
        match self.precision {
            Precision::F64 => self.run_as::<f64>(ready, session),
            Precision::F32 => self.run_as::<f32>(ready, session),
        }
    }
}
