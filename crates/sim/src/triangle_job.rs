//! Programs over triangles as jobs: the worker that real machines have, and a plain loop over pairs
//! of neighbours as its judge. Edges are read as they were given, with loops and parallel ones.

use std::sync::Arc;

use welter_engine::chunks::IntersectKernel;
use welter_model::intersect::Intersect;
use welter_protocol::planted::Bug;
use welter_protocol::weights::Weights;
use welter_testing::graph::Graph;
use welter_testing::plain::closed;
use welter_worker::{TriangleWorker, Worker};

use crate::input::Edges;
use crate::job::{Job, Partitioning};
use crate::planted;
use crate::tampered_rows::TamperedRows;

/// A program over triangles on a graph whose slots are all vertices.
pub(crate) struct TriangleJob {
    kernel: IntersectKernel,
    edges: Arc<Edges>,
    name: &'static str,
    /// Edges at each vertex, without loops.
    degrees: Vec<u32>,
    /// Ranges that partitions are cut into, at most, for want of room.
    ranges_most: u32,
    /// Values of all vertices.
    expected: Vec<u8>,
}

impl TriangleJob {
    /// A program on a graph, with room for the rows of partitions that are cut into at most
    /// `ranges_most` ranges.
    pub(crate) fn new<I>(name: &'static str, graph: &Graph, ranges_most: u32, program: I) -> Self
    where
        I: Intersect + Copy + Send + 'static,
    {
        let of = |(neighbours, edges, pairs): (usize, usize, usize)| {
            let closed = if I::DIRECTED { edges } else { pairs };
            program.value(neighbours as u64, closed as u64)
        };
        let values: Vec<I::Value> = closed(graph).into_iter().map(of).collect();
        let mut degrees = vec![0; graph.slots()];
        for [source, target] in graph.pairs.iter().filter(|[source, target]| source != target) {
            degrees[*source as usize] += 1;
            degrees[*target as usize] += 1;
        }
        Self {
            kernel: IntersectKernel::of(Arc::new(program)),
            edges: Edges::of(graph, false),
            name,
            degrees,
            ranges_most,
            expected: bytemuck::cast_slice(&values).to_vec(),
        }
    }
}

impl Job for TriangleJob {
    fn name(&self) -> &'static str {
        self.name
    }

    fn vertices(&self) -> u64 {
        self.edges.vertices
    }

    fn vertex_bytes(&self) -> u64 {
        TriangleWorker::vertex_bytes(&self.kernel)
    }

    fn carries(&self) -> bool {
        true
    }

    fn rows_bytes(&self, cut: &Partitioning) -> Option<u64> {
        let (degrees, edges) = (&self.degrees[..], self.edges.count());
        let is_directed = self.kernel.is_directed();
        Some(TriangleWorker::rows_bytes(
            &cut.partitions,
            (degrees, edges),
            is_directed,
            self.ranges_most,
        ))
    }

    fn looks_at_degrees(&self) -> bool {
        false
    }

    fn weights(&self, machines: usize, by_cells: bool) -> Weights {
        self.edges.weights(machines, by_cells)
    }

    fn worker(&self, cut: Partitioning, rank: usize, bug: Option<Bug>) -> Box<dyn Worker> {
        let Self { kernel, edges, .. } = self;
        let rows_bytes = planted::rows_bytes(bug, self.rows_bytes(&cut).unwrap_or(0));
        let (of, share) = ((edges.graph, rows_bytes), edges.share(&cut, rank));
        match TriangleWorker::new(kernel.clone(), cut, of, share) {
            Ok(worker) if planted::is_of_rows(bug) => {
                Box::new(TamperedRows::new(worker, bug, edges.graph))
            }
            Ok(worker) => Box::new(worker),
            Err(error) => unreachable!("schedules take route spill: {error}"),
        }
    }

    fn check_answer(&self, vertices: &[u8], iterations: u32) -> Result<(), String> {
        let rounds = [1, 3, 4, 8, 16].map(|ranges| 1 + 4 * ranges * ranges);
        if !rounds.contains(&iterations) {
            return Err(format!("{iterations} iterations"));
        }
        let (width, bytes) = (self.kernel.value_bytes(), self.vertex_bytes() as usize);
        let vertices = vertices.chunks_exact(bytes);
        let found: Vec<u8> =
            vertices.flat_map(|vertex| &vertex[bytes - width..]).copied().collect();
        if found == self.expected { Ok(()) } else { Err("other counts than pairs have".to_owned()) }
    }
}
