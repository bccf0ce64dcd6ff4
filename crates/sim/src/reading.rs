//! The input of a job, and how a machine reads its share of it (Chaos, section 3): edges into
//! chunks of their cells, degrees for who makes first values.
//!
//! ```text
//! edge      source u32, target u32, weight f64, then zeros where the program keeps state
//! degrees   u32 for each vertex of a partition
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_protocol::config::Route;
use welter_protocol::names::Cell;
use welter_protocol::{Outcome, Payload};
use welter_testing::graph::Graph;

use crate::bins::Bin;
use crate::job::Cut;

/// Bytes of an edge without state.
pub(crate) const EDGE_BYTES: usize = 16;

/// Source, target, weight.
pub(crate) type Arrow = (u32, u32, f64);

/// What all machines read.
pub(crate) struct Input {
    arcs: Vec<Arrow>,
    pub(crate) vertices: u64,
}

impl Input {
    /// Of a graph whose slots are all vertices.
    pub(crate) fn of(graph: &Graph, weighted: bool) -> Arc<Self> {
        let weight = |edge| if weighted { graph.weight(edge) } else { 1.0 };
        let arcs = graph.pairs.iter().enumerate();
        let arcs = arcs.map(|(edge, &[from, to])| (from, to, weight(edge))).collect();
        Arc::new(Self { arcs, vertices: graph.slots() as u64 })
    }
}

/// How far a machine has read.
pub(crate) struct Reading {
    input: Arc<Input>,
    cut: Cut,
    rank: usize,
    state_bytes: Option<usize>,
    /// The next edge of this machine's share.
    at: usize,
    degrees: Vec<u32>,
    bins: BTreeMap<Cell, Bin>,
}

impl Reading {
    /// `state_bytes`: what an edge holds, where the program rewrites edges.
    pub(crate) fn new(
        input: Arc<Input>,
        cut: Cut,
        rank: usize,
        state_bytes: Option<usize>,
    ) -> Self {
        let (degrees, bins) = (Vec::new(), BTreeMap::new());
        Self { input, cut, rank, state_bytes, at: 0, degrees, bins }
    }

    /// Reads the next piece, or the first one, and counts the edges in it.
    pub(crate) fn piece(&mut self, first: bool, looked_at: &mut u64) -> Outcome {
        let Self { input, cut, rank, .. } = self;
        let share = |rank: usize| input.arcs.len() * rank / cut.partitions.machines();
        let share_end = share(*rank + 1);
        if first {
            self.at = share(*rank);
            self.degrees = vec![0; input.vertices as usize];
            self.bins.clear();
        }
        let end = (self.at + cut.piece_edges).min(share_end);
        let mut filled = Vec::new();
        for &arc in &input.arcs[self.at..end] {
            let (source, target, _) = arc;
            self.degrees[source as usize] += 1;
            let [from, to] = [source, target].map(|end| cut.partitions.of(end.into()));
            let by_cells = cut.route == Route::Fold || self.state_bytes.is_some();
            let both = Cell { partition: to, source: Some(from) };
            let cell = if by_cells { both } else { Cell::all(from) };
            let bin = self.bins.entry(cell).or_default();
            bin.edge(arc, cut.range_of(source.into()), self.state_bytes.unwrap_or(0));
            if bin.waiting() == cut.chunk_records {
                filled.extend(bin.take(cell));
            }
        }
        *looked_at = (end - self.at) as u64;
        self.at = end;
        let degrees = (end == share_end).then(|| {
            filled.extend(self.bins.iter_mut().filter_map(|(cell, bin)| bin.take(*cell)));
            let of = |partition| {
                let range = self.cut.partitions.range(partition);
                let counts = &self.degrees[range.start as usize..range.end as usize];
                Payload::from(cast_slice::<u32, u8>(counts))
            };
            (0..self.cut.partitions.count()).map(of).collect()
        });
        Outcome::Ingested { read: *looked_at, filled, degrees }
    }
}

/// The degrees of the vertices of a partition, from what each machine has counted.
pub(crate) fn degrees(counts: &[Payload]) -> Vec<u32> {
    let counts = counts.iter().map(|counts| numbers(counts));
    let sum = |left: Vec<u32>, right: Vec<u32>| {
        left.iter().zip(right).map(|(one, other)| one + other).collect()
    };
    counts.reduce(sum).unwrap_or_default()
}

/// Numbers of 32 bits.
pub(crate) fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(pod_read_unaligned).collect()
}

/// The edge that these bytes begin with.
pub(crate) fn edge(bytes: &[u8]) -> Arrow {
    let [source, target] = [0, 4].map(|at| pod_read_unaligned::<u32>(&bytes[at..at + 4]));
    (source, target, pod_read_unaligned(&bytes[8..EDGE_BYTES]))
}
