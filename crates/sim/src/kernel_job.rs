//! Programs of kernels as jobs: a worker as real machines have it, and an oracle.

use std::cmp::Ordering;
use std::sync::Arc;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::chunks::{ExtendedKernel, FoldKernel, Kernel};
use welter_model::extended::Extended;
use welter_model::program::{Program, Value};
use welter_protocol::config;
use welter_protocol::planted::Bug;
use welter_protocol::weights::Weights;
use welter_testing::executors::is_float;
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret, interpret_extended};
use welter_worker::{KernelWorker, Worker};

use crate::input::Edges;
use crate::job::{Job, Partitioning};
use crate::tampered::{self, Tampered};

/// Judges the values of all vertices after a number of iterations.
pub type Oracle<V> = Box<dyn Fn(&[V], u32) -> Result<(), String> + Send + Sync>;

/// A program on a graph whose slots are all vertices.
pub struct KernelJob {
    kernel: Kernel,
    edges: Arc<Edges>,
    name: &'static str,
    /// Of the bytes of values.
    judge: Oracle<u8>,
}

impl KernelJob {
    /// A fold program on a graph as it is to be read. The interpreter says what the values are.
    pub fn new<P>(name: &'static str, graph: &Graph, program: P) -> Self
    where
        P: Program + Send + 'static,
    {
        Self::within(1e-9, name, graph, program)
    }

    /// A fold program whose sums in another order make more of a difference: solving for factors
    /// multiplies it by the condition of the sums.
    pub fn within<P>(error_max: f64, name: &'static str, graph: &Graph, program: P) -> Self
    where
        P: Program + Send + 'static,
    {
        let expected = interpret(graph, &program);
        let judge =
            move |values: &[_], iterations| oracle(&expected, error_max, values, iterations);
        Self::judged(name, graph, program, Box::new(judge))
    }

    /// A fold program whose result must have these rows, in any order if it is a list.
    pub fn listed<P>(name: &'static str, graph: &Graph, program: P, expected: Vec<Vec<f64>>) -> Self
    where
        P: Program + Send + 'static,
    {
        let judge = move |values: &[P::Value], _| {
            let found = rows(values);
            if found == expected { Ok(()) } else { Err(format!("{found:?} are not {expected:?}")) }
        };
        Self::judged(name, graph, program, Box::new(judge))
    }

    /// A fold program with a judge of its own.
    pub fn judged<P>(name: &'static str, graph: &Graph, program: P, judge: Oracle<P::Value>) -> Self
    where
        P: Program + Send + 'static,
    {
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
        Self::of(kernel, name, graph, judge)
    }

    /// A fold program on a graph whose vertices have these numbers, ascending, instead of its
    /// slots. The interpreter says what the values are, by `plain`, which is the same program on
    /// slots.
    pub fn renumbered<P>(
        name: &'static str,
        (graph, numbers): (&Graph, &[u64]),
        program: P,
        plain: &P,
    ) -> Self
    where
        P: Program + Send + 'static,
    {
        let expected = interpret(graph, plain);
        let judge = move |values: &[_], iterations| oracle(&expected, 1e-9, values, iterations);
        let kernel = Kernel::Fold(FoldKernel::of(Arc::new(program)));
        let weighted = kernel.shape().capabilities.weighted;
        let edges = Edges::numbered(graph, weighted, |slot| numbers[slot as usize]);
        Self::on(kernel, name, edges, Box::new(judge))
    }

    /// An extended program on a graph as it is to be read. The interpreter says what the values
    /// are, within so much.
    pub fn extended<E>(error_max: f64, name: &'static str, graph: &Graph, program: E) -> Self
    where
        E: Extended + Send + 'static,
    {
        let expected = interpret_extended(graph, &program);
        let judge =
            move |values: &[_], iterations| oracle(&expected, error_max, values, iterations);
        let kernel = Kernel::Extended(ExtendedKernel::of(Arc::new(program)));
        Self::of(kernel, name, graph, Box::new(judge))
    }

    fn of<V: Value>(kernel: Kernel, name: &'static str, graph: &Graph, judge: Oracle<V>) -> Self {
        let edges = Edges::of(graph, kernel.shape().capabilities.weighted);
        Self::on(kernel, name, edges, judge)
    }

    fn on<V: Value>(
        kernel: Kernel,
        name: &'static str,
        edges: Arc<Edges>,
        judge: Oracle<V>,
    ) -> Self {
        let judge = move |values: &[u8], iterations| {
            let values = values.chunks_exact(size_of::<V>()).map(pod_read_unaligned);
            judge(&values.collect::<Vec<V>>(), iterations)
        };
        Self { kernel, edges, name, judge: Box::new(judge) }
    }
}

/// Compares values with those of the interpreter.
fn oracle<V: Value, T>(
    expected: &Answer<V, T>,
    error_max: f64,
    values: &[V],
    iterations: u32,
) -> Result<(), String> {
    if values.len() != expected.values.len() {
        return Err(format!("{} values, not {}", values.len(), expected.values.len()));
    }
    if u64::from(iterations) != expected.iterations {
        return Err(format!("{iterations} iterations, not {}", expected.iterations));
    }
    if cast_slice::<V, u8>(values) == expected.bits() {
        return Ok(());
    }
    if !V::columns(values).iter().any(is_float) {
        return Err("other values than the reference".to_owned());
    }
    let error = welter_testing::relative_error(&expected.numbers(), &numbers(values));
    if error <= error_max { Ok(()) } else { Err(format!("{error:.1e} from the reference")) }
}

/// The columns of values, one after the other.
pub(crate) fn numbers<V: Value>(values: &[V]) -> Vec<f64> {
    let (values, totals) = (values.to_vec(), Vec::new());
    Answer { values, iterations: 0, in_step: true, total: (), totals }.numbers()
}

/// The rows of a result, those of a list in their order.
pub(crate) fn rows<V: Value>(values: &[V]) -> Vec<Vec<f64>> {
    let listed: Vec<V> = values.iter().filter(|value| value.is_listed()).copied().collect();
    let columns = numbers(&listed);
    let row = |row| columns.iter().skip(row).step_by(listed.len()).copied().collect();
    let mut rows: Vec<Vec<f64>> = (0..listed.len()).map(row).collect();
    if V::LISTED {
        rows.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
    }
    rows
}

impl Job for KernelJob {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.edges.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        KernelWorker::vertex_bytes(&self.kernel)
    }

    fn edges(&self) -> config::Edges {
        match self.kernel {
            Kernel::Fold(_) => config::Edges::Fixed,
            Kernel::Extended(_) => config::Edges::Rewritten,
        }
    }

    fn accumulator_bytes(&self) -> Option<u64> {
        let shape = self.kernel.shape();
        let combines = matches!(self.kernel, Kernel::Fold(_)) && shape.capabilities.combines;
        combines.then_some(shape.accum as u64)
    }

    fn updates_of_one_max(&self) -> Option<u64> {
        let combines = self.accumulator_bytes().is_some();
        (!combines).then_some(self.edges.to_one_max)
    }

    fn looks_at_degrees(&self) -> bool {
        self.kernel.shape().capabilities.degrees
    }

    fn weights(&self, machines: usize, by_cells: bool) -> Weights {
        self.edges.weights(machines, by_cells)
    }

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let Self { kernel, edges, .. } = self;
        let share = edges.share(&cut, rank);
        let worker = |share| match KernelWorker::new(kernel.clone(), cut, edges.graph, share) {
            Ok(worker) => worker,
            Err(error) => unreachable!("numbers of vertices fit: {error}"),
        };
        match (bug, kernel) {
            (Some(bug), Kernel::Fold(kernel)) if tampered::has(bug) => {
                let (kernel, graph) = (kernel.clone(), edges.graph);
                Box::new(Tampered::new(worker(share), kernel, graph, bug))
            }
            _ => Box::new(worker(share)),
        }
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let (width, bytes) = (self.kernel.shape().value, self.vertex_bytes() as usize);
        let values = vertices.chunks_exact(bytes).flat_map(|vertex| &vertex[..width]);
        (self.judge)(&values.copied().collect::<Vec<u8>>(), iterations)
    }
}
