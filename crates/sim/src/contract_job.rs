//! Contracting programs as jobs: a worker as real machines have it, and an oracle.

use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_model::contract::Contract;
use welter_protocol::planted::Bug;
use welter_protocol::weights::Weights;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Work, config};
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_contract;
use welter_worker::ContractWorker;

use crate::input::Edges;
use crate::job::{Job, Partitioning, Worker};
use crate::kernel_job::rows;

/// A program on a graph whose slots are all vertices.
pub struct ContractJob<C: Contract> {
    program: Arc<C>,
    edges: Arc<Edges>,
    name: &'static str,
    /// The rows of the result, and the iterations after which it is there.
    expected: Vec<Vec<f64>>,
    iterations: u64,
}

impl<C: Contract + Send + 'static> ContractJob<C> {
    /// A program on a graph as it is to be read, whose result must have these rows. The interpreter
    /// says in how many iterations.
    pub fn new(name: &'static str, graph: &Graph, program: C, expected: Vec<Vec<f64>>) -> Self {
        let iterations = interpret_contract(graph, &program).iterations;
        let edges = Edges::of(graph, C::WEIGHTED);
        Self { program: Arc::new(program), edges, name, expected, iterations }
    }
}

impl<C: Contract + Send + 'static> Job for ContractJob<C> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.edges.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        size_of::<C::Value>() as u64
    }

    fn edges(&self) -> config::Edges {
        config::Edges::Contracted
    }

    fn accumulator_bytes(&self) -> Option<u64> {
        Some(size_of::<C::Update>() as u64)
    }

    fn looks_at_degrees(&self) -> bool {
        C::DEGREES
    }

    fn weights(&self, machines: usize, by_cells: bool) -> Weights {
        self.edges.weights(machines, by_cells)
    }

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let share = self.edges.share(&cut, rank);
        let inner = match ContractWorker::new(self.program.clone(), cut, self.edges.graph, share) {
            Ok(inner) => inner,
            Err(error) => unreachable!("numbers of vertices fit: {error}"),
        };
        if bug == Some(Bug::EdgesNotMoved) {
            return Box::new(Unmoved { inner, cell: (0, 0) });
        }
        Box::new(inner)
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        if u64::from(iterations) != self.iterations {
            return Err(format!("{iterations} iterations, not {}", self.iterations));
        }
        let values = vertices.chunks_exact(size_of::<C::Value>()).map(pod_read_unaligned);
        let found = rows(&values.collect::<Vec<C::Value>>());
        let expected = &self.expected;
        if &found == expected { Ok(()) } else { Err(format!("{found:?} are not {expected:?}")) }
    }
}

/// A worker with a planted bug: some edges that were renamed stay in the cell where they were
/// streamed.
struct Unmoved<C: Contract> {
    inner: ContractWorker<C>,
    cell: (u32, u32),
}

impl<C: Contract> Unmoved<C> {
    fn keep(&self, filled: &mut [Filled]) {
        for filled in filled.iter_mut().filter(|filled| filled.records % 4 == 1) {
            (filled.partition, filled.source) = (self.cell.0, Some(self.cell.1));
        }
    }
}

impl<C: Contract + Send> Worker for Unmoved<C> {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        match work {
            Work::Open { partition, .. } => self.cell = (*partition, *partition),
            Work::Turn { source, .. } => self.cell.1 = *source,
            _ => {}
        }
        let mut outcome = self.inner.work(work)?;
        match &mut outcome {
            Outcome::Streamed { rewritten: Rewritten::Moved { filled, .. }, .. }
            | Outcome::Flushed { rewritten: filled, .. } => self.keep(filled),
            _ => {}
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }
}
