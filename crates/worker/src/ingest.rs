//! How a machine reads its share of the input (Chaos, section 3): edges into chunks of their cells,
//! degrees for who makes first values.
//!
//! ```text
//! chunk     of the store's format; then zeros for the states of edges, where the program keeps any
//! rough     edges of a partition of destinations, as they came: source u32, target u32, and a
//!           weight f64 where there are any
//! degrees   u32 for each vertex of a partition; or one u64, its edges
//! ```
//!
//! **Invariant:** bins are open for the cells of one partition, or for one cell a partition, where
//! there are more cells than bins may be open. Where more may, cells have several, by the part of
//! their partition that sources are in. Checked in `Bins::work`.

use std::collections::BTreeMap;

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{EdgeWriter, Form, with_states};
use welter_model::stream::Edge;
use welter_protocol::config::Route;
use welter_protocol::names::{Cell, Phase};
use welter_protocol::partitions::Partitions;
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Payload, Work};

use crate::other;
use crate::partitioning::Partitioning;

/// Sources of a block, as a power of two, and edges of a tile at least: few, so that small chunks
/// have several tiles, and some that go on beyond their block.
const BLOCK_BITS: u32 = 4;
const TILE_EDGES_LEAST: usize = 3;

/// Chunks of so many edges are cut as the engine cuts its own.
const CHUNK_EDGES: u32 = 1 << 16;

/// The share of the edges that a machine reads.
pub trait Input: Send {
    /// Begins anew.
    fn begin(&mut self);

    /// The next edges, at most so many, and whether these were the last.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn piece(&mut self, edges_max: usize) -> Result<(&[Edge], bool), EngineError>;
}

/// Whether both ends of an edge are among so many vertices.
pub(crate) fn is_there(edge: &Edge, vertices: u64) -> Result<(), EngineError> {
    let Edge { source, target, .. } = edge;
    if [source, target].iter().all(|&&end| u64::from(end) < vertices) {
        return Ok(());
    }
    Err(other(format!("an edge from {source} to {target} in a graph of {vertices} vertices")))
}

/// Edges of a cell that wait for their chunk to be full.
#[derive(Default)]
struct Bin {
    edges: Vec<Edge>,
    /// Which ranges of the sources are there.
    sources: u64,
}

/// Edges that were read, by what they leave.
enum Counts {
    /// Each vertex.
    Vertices(Vec<u32>),
    /// Each partition, which takes no memory for vertices.
    Partitions(Vec<u64>),
}

impl Counts {
    fn begin(&mut self, partitions: &Partitions) {
        match self {
            Self::Vertices(counts) => *counts = vec![0; partitions.vertices() as usize],
            Self::Partitions(counts) => *counts = vec![0; partitions.count() as usize],
        }
    }

    fn count(&mut self, partitions: &Partitions, source: u32) {
        match self {
            Self::Vertices(counts) => counts[source as usize] += 1,
            Self::Partitions(counts) => counts[partitions.of(source.into()) as usize] += 1,
        }
    }

    /// Counts of a partition.
    fn of(&self, partitions: &Partitions, partition: u32) -> Payload {
        match self {
            Self::Vertices(counts) => {
                let range = partitions.range(partition);
                let counts = &counts[range.start as usize..range.end as usize];
                Payload::from(cast_slice::<u32, u8>(counts))
            }
            Self::Partitions(counts) => Payload::from(counts[partition as usize].to_le_bytes()),
        }
    }
}

/// How far a machine has read.
pub(crate) struct Ingest {
    input: Box<dyn Input>,
    cut: Partitioning,
    /// Number of the graph.
    graph: u64,
    weighted: bool,
    by_cells: bool,
    state_bytes: Option<usize>,
    counts: Counts,
    /// Of a cell, and of a part of its sources.
    bins: BTreeMap<(Cell, u64), Bin>,
    /// Partition whose rough chunks are being split.
    split: Option<u32>,
    writer: EdgeWriter,
    /// Chunks that were written.
    chunks: u32,
}

impl Ingest {
    /// Of a graph of this number, whose chunks hold weights where it is `weighted`. `state_bytes`:
    /// those of the state of an edge, where the program rewrites them in place; `rewrites`: whether
    /// it rewrites edges, here or elsewhere.
    pub(crate) fn new(
        input: Box<dyn Input>,
        cut: Partitioning,
        (graph, weighted): (u64, bool),
        (rewrites, state_bytes): (bool, Option<usize>),
    ) -> Self {
        let by_cells = cut.route == Route::Fold || rewrites;
        let form = if cut.chunk_records >= CHUNK_EDGES {
            Form::usual(cut.encoding)
        } else {
            let (block_bits, tile_edges_least) = (BLOCK_BITS, TILE_EDGES_LEAST);
            Form { encoding: cut.encoding, block_bits, tile_edges_least }
        };
        let writer = EdgeWriter::new(form, weighted);
        let (counts, bins) = (Counts::Vertices(Vec::new()), BTreeMap::new());
        let (split, chunks) = (None, 0);
        Self {
            input,
            cut,
            graph,
            weighted,
            by_cells,
            state_bytes,
            counts,
            bins,
            split,
            writer,
            chunks,
        }
    }

    /// An ingest that counts the edges that leave partitions, not vertices.
    pub(crate) fn of_partitions(self) -> Self {
        Self { counts: Counts::Partitions(Vec::new()), ..self }
    }

    /// Does what is asked, if edges are to be split.
    ///
    /// # Errors
    /// When a chunk has other edges than those that were binned into it.
    pub(crate) fn splits(
        &mut self,
        work: &Work,
        looked_at: &mut u64,
    ) -> Result<Option<Outcome>, EngineError> {
        let outcome = match (work, self.split) {
            (Work::Open { step, partition, .. }, _) => {
                self.split = (step.phase == Phase::Split).then_some(*partition);
                if self.split.is_none() {
                    return Ok(None);
                }
                self.bins.clear();
                Outcome::Opened
            }
            (Work::Stream { payload, .. }, Some(partition)) => {
                self.split(partition, payload, looked_at)?
            }
            (Work::Flush, Some(_)) => {
                Outcome::Flushed { filled: self.rest()?, rewritten: Vec::new() }
            }
            _ => return Ok(None),
        };
        Ok(Some(outcome))
    }

    /// The cell of an edge, in the first pass over it or the last.
    fn cell(&self, edge: Edge, is_first: bool) -> Cell {
        let [from, to] = [edge.source, edge.target].map(|end| self.cut.partitions.of(end.into()));
        match (self.by_cells, is_first && self.cut.splits(self.by_cells)) {
            (false, _) => Cell::all(from),
            (true, true) => Cell::all(to),
            (true, false) => Cell { partition: to, source: Some(from) },
        }
    }

    /// Puts an edge into the bin of its cell, and hands that out when it is full.
    fn bin(&mut self, edge: Edge, is_first: bool) -> Result<Option<Filled>, EngineError> {
        let cell = self.cell(edge, is_first);
        // A rough chunk is not asked for by its sources.
        let is_rough = cell.source.is_none() && self.by_cells;
        let part = self.cut.part_of(edge.source.into(), self.by_cells);
        let bin = self.bins.entry((cell, if is_rough { 0 } else { part })).or_default();
        bin.edges.push(edge);
        bin.sources |= self.cut.range_of(edge.source.into());
        if bin.edges.len() < self.cut.chunk_records as usize {
            return Ok(None);
        }
        let full = std::mem::take(bin);
        self.chunk(cell, &full).map(Some)
    }

    /// Chunks of what is left in bins.
    fn rest(&mut self) -> Result<Vec<Filled>, EngineError> {
        let left = std::mem::take(&mut self.bins).into_iter();
        let left = left.filter(|(_, bin)| !bin.edges.is_empty());
        left.map(|((cell, _), bin)| self.chunk(cell, &bin)).collect()
    }

    /// Bins the edges of a rough chunk by their sources too.
    fn split(
        &mut self,
        partition: u32,
        payload: &[u8],
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let mut filled = Vec::new();
        let edges = self.smooth(payload);
        *looked_at = edges.len() as u64;
        for edge in edges {
            let vertices = self.cut.partitions.vertices();
            let outside = [edge.source, edge.target].iter().any(|&end| u64::from(end) >= vertices);
            if outside || self.cut.partitions.of(edge.target.into()) != partition {
                let what =
                    format!("an edge to {} in a chunk of partition {partition}", edge.target);
                return Err(other(what));
            }
            filled.extend(self.bin(edge, false)?);
        }
        Ok(Outcome::Streamed { made: *looked_at, gathered: 0, rewritten: Rewritten::Not, filled })
    }

    /// The bytes of a rough chunk.
    fn rough(&self, edges: &[Edge]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for Edge { source, target, weight } in edges {
            bytes.extend([source, target].into_iter().flat_map(|end| end.to_le_bytes()));
            if self.weighted {
                bytes.extend(weight.to_le_bytes());
            }
        }
        bytes
    }

    /// Edges of a rough chunk.
    fn smooth(&self, bytes: &[u8]) -> Vec<Edge> {
        let edge = |bytes: &[u8]| {
            let [source, target] = [0, 4].map(|at| pod_read_unaligned(&bytes[at..at + 4]));
            let weight = bytes.get(8..).filter(|weight| !weight.is_empty());
            Edge { source, target, weight: weight.map_or(1.0, pod_read_unaligned) }
        };
        bytes.chunks_exact(if self.weighted { 16 } else { 8 }).map(edge).collect()
    }

    /// Reads the next piece, or the first one, and counts the edges in it.
    ///
    /// # Errors
    /// When the input cannot be read, or has an edge of a vertex that there is not.
    pub(crate) fn piece(
        &mut self,
        first: bool,
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let (partitions, edges_max) = (self.cut.partitions.clone(), self.cut.piece_edges);
        let vertices = partitions.vertices();
        if first {
            self.input.begin();
            self.counts.begin(&partitions);
            self.bins.clear();
        }
        let (edges, is_last) = self.input.piece(edges_max)?;
        let edges = edges.to_vec();
        let mut filled = Vec::new();
        for &edge in &edges {
            is_there(&edge, vertices)?;
            self.counts.count(&partitions, edge.source);
            filled.extend(self.bin(edge, true)?);
        }
        *looked_at = edges.len() as u64;
        let mut degrees = None;
        if is_last {
            filled.extend(self.rest()?);
            let of = |partition| self.counts.of(&partitions, partition);
            degrees = Some((0..partitions.count()).map(of).collect());
        }
        Ok(Outcome::Ingested { read: *looked_at, filled, degrees })
    }

    fn chunk(&mut self, cell: Cell, bin: &Bin) -> Result<Filled, EngineError> {
        let Cell { partition, source } = cell;
        let records = bin.edges.len() as u32;
        if source.is_none() && self.by_cells {
            // Rough: all of it is split.
            let (sources, payload) = (u64::MAX, self.rough(&bin.edges).into());
            return Ok(Filled { partition, source, records, combined: 0, sources, payload });
        }
        self.chunks += 1;
        let place = self.cut.chunk_cell(self.graph, cell);
        let chunk = self.writer.write(&place, self.chunks, &bin.edges)?;
        let payload = match self.state_bytes {
            Some(bytes) => with_states(chunk, &vec![0_u8; bin.edges.len() * bytes]).into(),
            None => chunk.into(),
        };
        let sources = bin.sources;
        Ok(Filled { partition, source, records, combined: 0, sources, payload })
    }
}

/// The degrees of so many vertices of a partition, from what each machine has counted.
///
/// # Errors
/// When counts are not those of so many vertices.
pub(crate) fn degrees(counts: &[Payload], vertices: usize) -> Result<Vec<u32>, EngineError> {
    let mut degrees = vec![0_u32; vertices];
    for counts in counts {
        if counts.len() != size_of_val(&degrees[..]) {
            return Err(other(format!("{} bytes of {vertices} degrees", counts.len())));
        }
        for (degree, count) in degrees.iter_mut().zip(numbers(counts)) {
            *degree = degree.saturating_add(count);
        }
    }
    Ok(degrees)
}

/// Numbers of 32 bits.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.chunks_exact(size_of::<u32>()).map(pod_read_unaligned)
}
