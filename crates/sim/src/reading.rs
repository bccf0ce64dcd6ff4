//! The input of a job, and how a machine reads its share of it (Chaos, section 3): edges into
//! chunks of their cells, degrees for who makes first values.
//!
//! ```text
//! chunk     of the store's format; then zeros for the states of edges, where the program keeps any
//! degrees   u32 for each vertex of a partition
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{EdgeWriter, Form, with_states};
use welter_model::stream::Edge;
use welter_protocol::config::Route;
use welter_protocol::names::Cell;
use welter_protocol::payload::checksum;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Payload};
use welter_testing::graph::Graph;

use crate::job::Cut;

/// Sources of a block, as a power of two, and edges of a tile at least: few, so that small chunks
/// have several tiles, and some that go on beyond their block.
const BLOCK_BITS: u32 = 4;
const TILE_EDGES_LEAST: usize = 3;

/// Edges that all machines read.
pub(crate) struct Input {
    edges: Vec<Edge>,
    weighted: bool,
    pub(crate) vertices: u64,
    /// Number of the graph.
    pub(crate) graph: u64,
}

impl Input {
    /// Of a graph whose slots are all vertices.
    pub(crate) fn of(graph: &Graph, weighted: bool) -> Arc<Self> {
        let weight = |edge| if weighted { graph.weight(edge) } else { 1.0 };
        let edges = graph.pairs.iter().enumerate();
        let edges =
            edges.map(|(edge, &[source, target])| Edge { source, target, weight: weight(edge) });
        let graph_number = checksum(cast_slice(&graph.pairs));
        let vertices = graph.slots() as u64;
        Arc::new(Self { edges: edges.collect(), weighted, vertices, graph: graph_number })
    }
}

/// Edges of a cell that wait for their chunk to be full.
#[derive(Default)]
struct Bin {
    edges: Vec<Edge>,
    /// Which ranges of the sources are there.
    sources: u64,
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
    writer: EdgeWriter,
    /// Chunks that were written.
    chunks: u32,
}

impl Reading {
    /// `state_bytes`: what an edge holds, where the program rewrites edges.
    pub(crate) fn new(
        input: Arc<Input>,
        cut: Cut,
        rank: usize,
        state_bytes: Option<usize>,
    ) -> Self {
        let form = Form {
            encoding: cut.encoding,
            block_bits: BLOCK_BITS,
            tile_edges_least: TILE_EDGES_LEAST,
        };
        let writer = EdgeWriter::new(form, input.weighted);
        let (degrees, bins) = (Vec::new(), BTreeMap::new());
        Self { input, cut, rank, state_bytes, at: 0, degrees, bins, writer, chunks: 0 }
    }

    /// Reads the next piece, or the first one, and counts the edges in it.
    pub(crate) fn piece(
        &mut self,
        first: bool,
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let (input, cut) = (self.input.clone(), self.cut);
        let share = |rank: usize| input.edges.len() * rank / cut.partitions.machines();
        let share_end = share(self.rank + 1);
        if first {
            self.at = share(self.rank);
            self.degrees = vec![0; input.vertices as usize];
            self.bins.clear();
        }
        let end = (self.at + cut.piece_edges).min(share_end);
        let mut filled = Vec::new();
        for &edge in &input.edges[self.at..end] {
            self.degrees[edge.source as usize] += 1;
            let [from, to] = [edge.source, edge.target].map(|end| cut.partitions.of(end.into()));
            let by_cells = cut.route == Route::Fold || self.state_bytes.is_some();
            let both = Cell { partition: to, source: Some(from) };
            let cell = if by_cells { both } else { Cell::all(from) };
            let bin = self.bins.entry(cell).or_default();
            bin.edges.push(edge);
            bin.sources |= cut.range_of(edge.source.into());
            if bin.edges.len() == cut.chunk_records as usize {
                let full = std::mem::take(bin);
                filled.push(self.chunk(cell, &full)?);
            }
        }
        *looked_at = (end - self.at) as u64;
        self.at = end;
        let mut degrees = None;
        if end == share_end {
            let left = std::mem::take(&mut self.bins).into_iter();
            for (cell, bin) in left.filter(|(_, bin)| !bin.edges.is_empty()) {
                filled.push(self.chunk(cell, &bin)?);
            }
            let of = |partition| {
                let range = cut.partitions.range(partition);
                let counts = &self.degrees[range.start as usize..range.end as usize];
                Payload::from(cast_slice::<u32, u8>(counts))
            };
            degrees = Some((0..cut.partitions.count()).map(of).collect());
        }
        Ok(Outcome::Ingested { read: *looked_at, filled, degrees })
    }

    fn chunk(&mut self, cell: Cell, bin: &Bin) -> Result<Filled, EngineError> {
        self.chunks += 1;
        let place = self.cut.chunk_cell(self.input.graph, cell);
        let chunk = self.writer.write(&place, self.chunks, &bin.edges)?;
        let payload = match self.state_bytes {
            Some(bytes) => with_states(chunk, &vec![0_u8; bin.edges.len() * bytes]).into(),
            None => chunk.into(),
        };
        let Cell { partition, source } = cell;
        let (records, sources) = (bin.edges.len() as u32, bin.sources);
        Ok(Filled { partition, source, records, combined: 0, sources, payload })
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
