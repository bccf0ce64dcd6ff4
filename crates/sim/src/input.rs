//! The input of a job: the edges of a graph, of which each machine reads its share.

use std::sync::Arc;

use bytemuck::cast_slice;
use welter_protocol::payload::checksum;
use welter_protocol::weights::Weights;
use welter_testing::graph::Graph;
use welter_worker::{Input, InputEdge, Listed, weigh};

use crate::job::Partitioning;

/// Edges that all machines read.
pub(crate) struct Edges {
    list: Listed,
    count: u64,
    pub(crate) vertices: u64,
    /// Edges that lead to one vertex, at most.
    pub(crate) to_one_max: u64,
    /// Number of the graph.
    pub(crate) graph: u64,
}

impl Edges {
    /// Of a graph whose slots are all vertices.
    pub(crate) fn of(graph: &Graph, weighted: bool) -> Arc<Self> {
        Self::numbered(graph, weighted, u64::from)
    }

    /// As [`Self::of`], with a number for each slot.
    pub(crate) fn numbered(
        graph: &Graph,
        weighted: bool,
        number: impl Fn(u32) -> u64,
    ) -> Arc<Self> {
        let weight = |edge| if weighted { graph.weight(edge) } else { 1.0 };
        let edges = graph.pairs.iter().enumerate();
        let edges = edges.map(|(edge, ends)| {
            let [source, target] = ends.map(&number);
            InputEdge { source, target, weight: weight(edge) }
        });
        let mut to_each = vec![0; graph.slots()];
        graph.pairs.iter().for_each(|[_, target]| to_each[*target as usize] += 1);
        let to_one_max = to_each.into_iter().max().unwrap_or(0);
        let graph_number = checksum(cast_slice(&graph.pairs));
        let vertices = graph.slots() as u64;
        let list: Vec<_> = edges.collect();
        let count = list.len() as u64;
        let list = Listed::new(list);
        Arc::new(Self { list, count, vertices, to_one_max, graph: graph_number })
    }

    /// Number of edges.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The share of a machine.
    pub(crate) fn share(self: &Arc<Self>, cut: &Partitioning, rank: usize) -> Box<dyn Input> {
        Box::new(self.list.share(rank, cut.partitions.machines()))
    }

    /// Weights of the vertices, of which each machine counts its share.
    pub(crate) fn weights(self: &Arc<Self>, machines: usize, by_cells: bool) -> Weights {
        let mut sum = Weights::new(self.vertices);
        for rank in 0..machines {
            let mut one = Weights::new(self.vertices);
            let read = weigh(&mut self.list.share(rank, machines), 64, by_cells, &mut one);
            assert!(read.is_ok(), "all ends of edges are vertices");
            sum.add(&one);
        }
        sum
    }
}
