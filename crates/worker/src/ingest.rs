//! How a machine reads its share of the input (Chaos, section 3): edges into chunks of their cells,
//! degrees for who makes first values.
//!
//! ```text
//! chunk     of the store's format; then zeros for the states of edges, where the program keeps any
//! rough     edges of a partition of destinations: source u32, its place in a zone, target u32,
//!           the low bits of its number, and a weight f64 where there are any; before them the
//!           number of the zone u32, where there are several
//! ```
//!
//! **Invariant:** no end of an edge is cut short: numbers of 64 bits become places that the
//! partition or zone has. Checked in `Ingest::ends`. Tested by
//! `ends_beyond_32_bits_come_back_from_chunks`.
//!
//! **Invariant:** bins are open for the cells of one partition, or for one cell a partition, where
//! there are more cells than bins may be open. Where more may, cells have several, by the part of
//! their partition that sources are in. Checked in `Bins::work`.

use std::collections::BTreeMap;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{EdgeWriter, Form, with_states};
use welter_model::stream::Edge;
use welter_protocol::config::Route;
use welter_protocol::ids::{Cell, Phase};
use welter_protocol::work::{Filled, Rewritten};
use welter_protocol::{Outcome, Work};

use crate::degrees::Counts;
use crate::input::{Input, InputEdge};
use crate::other;
use crate::partitioning::{Partitioning, in_zone};

/// Sources of a block, as a power of two, and edges of a tile at least: few, so that small chunks
/// have several tiles, and some that continue beyond their block.
const BLOCK_BITS: u32 = 4;
const TILE_EDGES_LEAST: usize = 3;

/// Chunks of this number of edges are cut as the engine cuts its own.
const CHUNK_EDGES: u32 = 1 << 16;

/// The error of an edge one of whose ends is no vertex of `vertices`.
pub(crate) fn no_vertex(edge: &InputEdge, vertices: u64) -> EngineError {
    let InputEdge { source, target, .. } = edge;
    other(format!("an edge from {source} to {target} in a graph of {vertices} vertices"))
}

/// The chunk that an edge belongs to: its cell, the zone of an end that is not in the partition
/// of the cell, and the part of the source partition.
type Bound = (Cell, u32, u64);

/// Edges of a cell that wait for their chunk to be full.
#[derive(Default)]
struct Bin {
    /// Their ends are places.
    edges: Vec<Edge>,
    /// Which ranges of the sources are there.
    sources: u64,
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
    bins: BTreeMap<Bound, Bin>,
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
        let (counts, bins) = (Counts::of_vertices(), BTreeMap::new());
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
        Self { counts: Counts::of_partitions(), ..self }
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

    /// The partitions of the ends of an edge, and their places there.
    ///
    /// # Errors
    /// When one is no vertex.
    fn ends(&self, edge: &InputEdge) -> Result<[(u32, u64); 2], EngineError> {
        let partitions = &self.cut.partitions;
        let place = |end: u64| {
            let partition = partitions.find(end)?;
            Some((partition, end - partitions.range(partition).start))
        };
        let ends = place(edge.source).zip(place(edge.target));
        let (source, target) = ends.ok_or_else(|| no_vertex(edge, partitions.vertices()))?;
        Ok([source, target])
    }

    /// The chunk of an edge between these places, in the first pass over it or the last, and its
    /// ends as they are written there.
    fn bound(&self, edge: &InputEdge, ends: [(u32, u64); 2], is_first: bool) -> (Bound, Edge) {
        let [(from, source), (to, target)] = ends;
        // No partition has more vertices: see `Partitioning::numbers_fit`.
        let [source, target] = [source as u32, target as u32];
        let part = self.cut.part_of(ends[0], self.by_cells);
        let edge_of = |source, target| Edge { source, target, weight: edge.weight };
        match (self.by_cells, is_first && self.cut.splits(self.by_cells)) {
            (false, _) => {
                let (zone, target) = in_zone(edge.target);
                ((Cell::all(from), zone, part), edge_of(source, target))
            }
            // A rough chunk is not asked for by its sources.
            (true, true) => {
                let (zone, source) = in_zone(edge.source);
                ((Cell::all(to), zone, 0), edge_of(source, edge.target as u32))
            }
            (true, false) => {
                ((Cell { partition: to, source: Some(from) }, 0, part), edge_of(source, target))
            }
        }
    }

    /// Puts an edge into the bin of its cell, and hands that out when it is full.
    fn bin(
        &mut self,
        edge: &InputEdge,
        ends: [(u32, u64); 2],
        is_first: bool,
    ) -> Result<Option<Filled>, EngineError> {
        let (bound, placed) = self.bound(edge, ends, is_first);
        let bin = self.bins.entry(bound).or_default();
        bin.edges.push(placed);
        bin.sources |= self.cut.range_at(ends[0]);
        if bin.edges.len() < self.cut.chunk_records as usize {
            return Ok(None);
        }
        let full = std::mem::take(bin);
        self.chunk(bound, &full).map(Some)
    }

    /// Chunks of what is left in bins.
    fn rest(&mut self) -> Result<Vec<Filled>, EngineError> {
        let left = std::mem::take(&mut self.bins).into_iter();
        let left = left.filter(|(_, bin)| !bin.edges.is_empty());
        left.map(|(bound, bin)| self.chunk(bound, &bin)).collect()
    }

    /// Bins the edges of a rough chunk by their sources too.
    fn split(
        &mut self,
        partition: u32,
        payload: &[u8],
        looked_at: &mut u64,
    ) -> Result<Outcome, EngineError> {
        let mut filled = Vec::new();
        let edges = self.smooth(partition, payload);
        *looked_at = edges.len() as u64;
        for edge in &edges {
            let ends = self.ends(edge)?;
            if ends[1].0 != partition {
                let what =
                    format!("an edge to {} in a chunk of partition {partition}", edge.target);
                return Err(other(what));
            }
            filled.extend(self.bin(edge, ends, false)?);
        }
        Ok(Outcome::Streamed { made: *looked_at, gathered: 0, rewritten: Rewritten::Not, filled })
    }

    /// The bytes of a rough chunk.
    fn rough(&self, zone: u32, edges: &[Edge]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.cut.zones() > 1 {
            bytes.extend(zone.to_le_bytes());
        }
        for Edge { source, target, weight } in edges {
            bytes.extend([source, target].into_iter().flat_map(|end| end.to_le_bytes()));
            if self.weighted {
                bytes.extend(weight.to_le_bytes());
            }
        }
        bytes
    }

    /// Edges of a rough chunk, whose ends may still be anything.
    fn smooth(&self, partition: u32, bytes: &[u8]) -> Vec<InputEdge> {
        let head = if self.cut.zones() > 1 { size_of::<u32>() } else { 0 };
        let (zone, bytes) = bytes.split_at(head.min(bytes.len()));
        let zone = if zone.len() == head && head > 0 { pod_read_unaligned(zone) } else { 0 };
        let (zone, first) = (self.cut.zone(zone), self.cut.partitions.range(partition).start);
        let edge = |bytes: &[u8]| {
            let [source, target]: [u32; 2] =
                [0, 4].map(|at| pod_read_unaligned(&bytes[at..at + 4]));
            let weight = bytes.get(8..).filter(|weight| !weight.is_empty());
            InputEdge {
                source: zone.start + u64::from(source),
                // The one number of the partition with these low bits, if it has one.
                target: first + u64::from(target.wrapping_sub(first as u32)),
                weight: weight.map_or(1.0, pod_read_unaligned),
            }
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
        if first {
            self.input.begin();
            self.counts.begin(&partitions);
            self.bins.clear();
        }
        let (edges, is_last) = self.input.piece(edges_max)?;
        let edges = edges.to_vec();
        let mut filled = Vec::new();
        for edge in &edges {
            let ends = self.ends(edge)?;
            self.counts.count(&partitions, ends[0]);
            filled.extend(self.bin(edge, ends, true)?);
        }
        *looked_at = edges.len() as u64;
        let mut degrees = None;
        if is_last {
            filled.extend(self.rest()?);
            degrees = Some(self.counts.payloads());
        }
        Ok(Outcome::Ingested { read: *looked_at, filled, degrees })
    }

    fn chunk(&mut self, (cell, zone, _): Bound, bin: &Bin) -> Result<Filled, EngineError> {
        let Cell { partition, source } = cell;
        let records = bin.edges.len() as u32;
        if source.is_none() && self.by_cells {
            // Rough: all of it is split.
            let (sources, payload) = (u64::MAX, self.rough(zone, &bin.edges).into());
            return Ok(Filled { partition, source, records, combined: 0, sources, payload });
        }
        self.chunks += 1;
        let place = self.cut.chunk_cell(self.graph, cell, zone);
        let chunk = self.writer.write(&place, self.chunks, &bin.edges)?;
        let payload = match self.state_bytes {
            Some(bytes) => with_states(chunk, &vec![0_u8; bin.edges.len() * bytes]).into(),
            None => chunk.into(),
        };
        let sources = bin.sources;
        Ok(Filled { partition, source, records, combined: 0, sources, payload })
    }
}

#[cfg(test)]
mod tests;
