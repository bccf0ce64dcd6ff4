//! Cuts of a graph for a cluster: partitions, chunks and bins.
//!
//! An end of an edge is written in 32 bits, relative to where its partition begins, or, where
//! edges were binned by their other end alone, to where its *zone* does:
//!
//! ```text
//! zone w = numbers [w 2^31, (w + 1) 2^31)    as many as the low bits of a key can tell
//! ```
//!
//! A graph of up to 2^31 numbers has one zone, which begins at 0.

use std::ops::Range;

use welter_engine::{EngineError, chunks};
use welter_protocol::Payload;
use welter_protocol::config::Route;
use welter_protocol::ids::Cell;
use welter_protocol::partitions::Partitions;
use welter_store::header::{CellId, Encoding, KEY_BITS};

use crate::other;

/// Numbers of a zone, as a power of two.
const ZONE_BITS: u32 = KEY_BITS - 1;

/// Numbers of vertices are below this.
const NUMBERS_MOST: u64 = 1 << 62;

/// The zone of a number, and its place there.
pub(crate) fn in_zone(number: u64) -> (u32, u32) {
    ((number >> ZONE_BITS) as u32, (number & ((1 << ZONE_BITS) - 1)) as u32)
}

/// Cuts of a job for a cluster.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// Streaming partitions.
    pub partitions: Partitions,
    /// Place where updates wait.
    pub route: Route,
    /// Encoding in which edges are written.
    pub encoding: Encoding,
    /// Records in a chunk of edges or updates.
    pub chunk_records: u32,
    /// Vertices in a chunk of a vertex set.
    pub chunk_vertices: u64,
    /// Chunks of edges that a bin holds, where edges are put in the order of stripes before they
    /// are written: as many times more edges to one stripe are side by side then. At least one.
    pub bin_chunks: u32,
    /// Edges in a piece of the input, at most.
    pub piece_edges: usize,
    /// Bins of edges that a machine has open at a time, as [`welter_protocol::Config`] says.
    pub bins_open_max: u64,
    /// Parts of a source partition that have bins of their own, as far as bins suffice: a power of
    /// two up to 64. What no active source needs is left out by chunks, so these should have few
    /// sources.
    pub source_parts: u64,
    /// Vertices of a stripe, as a power of two below 64: accumulators of a partition are met by
    /// stripes, each by a thread at a time, and chunks are cut by them ([`crate::Streamer`]).
    pub stripe_bits: u32,
    /// Whether updates for one destination are merged in the buffer of a chunk, where the program
    /// can.
    pub combines: bool,
}

impl Partitioning {
    /// Whether edges that are binned by both their ends are binned by one after the other.
    pub(crate) fn splits(&self, by_cells: bool) -> bool {
        by_cells && self.partitions.cells() > self.bins_open_max
    }

    /// Parts of a source partition that have bins of their own in the last pass over the input.
    pub(crate) fn parts(&self, by_cells: bool) -> u64 {
        let partitions: u64 = self.partitions.count().into();
        let at_once = by_cells && !self.splits(by_cells);
        let zones = if by_cells { 1 } else { self.zones().into() };
        let cells = if at_once { self.partitions.cells() } else { partitions * zones };
        let most = (self.bins_open_max / cells).clamp(1, self.source_parts);
        // Whole ranges, so that no chunk has some of one and some of the next.
        1 << most.ilog2()
    }

    /// The bit of a vertex among the 64 ranges of its partition.
    pub(crate) fn range_of(&self, vertex: u64) -> u64 {
        self.range_at(self.partitions.place(vertex))
    }

    /// As [`Self::range_of`], of the vertex at a place of a partition.
    pub(crate) fn range_at(&self, (partition, place): (u32, u64)) -> u64 {
        1 << (place * 64 / self.vertices(partition) as u64)
    }

    /// The ranges of a partition in which a flag is set, of as many flags as it has vertices.
    pub(crate) fn ranges_of(&self, partition: u32, flags: &[u8]) -> u64 {
        let vertices = self.vertices(partition);
        if flags.len() != vertices {
            assert!(flags.is_empty(), "each vertex has a flag, or none");
            return 0;
        }
        // Places p with p * 64 / vertices = range begin where that quotient does.
        let start = |range: usize| (range * vertices).div_ceil(64);
        let is_set = |range: usize| flags[start(range)..start(range + 1)].contains(&1);
        (0..64).filter(|range| is_set(*range)).fold(0, |ranges, range| ranges | 1 << range)
    }

    /// Zones that all numbers of vertices are cut into.
    pub(crate) fn zones(&self) -> u32 {
        self.partitions.end().div_ceil(1 << ZONE_BITS).max(1) as u32
    }

    /// Numbers of a zone.
    pub(crate) fn zone(&self, zone: u32) -> Range<u64> {
        let first = u64::from(zone) << ZONE_BITS;
        first..self.partitions.end().min(first + (1 << ZONE_BITS))
    }

    /// A cell of a graph as chunks have it. Where edges are binned by their sources alone, a stripe
    /// is a zone.
    pub(crate) fn chunk_cell(&self, graph: u64, cell: Cell, zone: u32) -> chunks::Cell {
        let partitions = &self.partitions;
        let source_partition = cell.sources();
        let (stripe, targets) = match cell.source {
            Some(_) => (cell.partition, partitions.range(cell.partition)),
            None => (zone, self.zone(zone)),
        };
        let sources = partitions.range(source_partition);
        chunks::Cell { graph, id: CellId { source_partition, stripe }, sources, targets }
    }

    /// The part of a cell that leads to the places of a stripe of its partition.
    pub(crate) fn striped_cell(&self, graph: u64, cell: Cell, stripe: u64) -> chunks::Cell {
        let whole = self.chunk_cell(graph, cell, 0);
        let Range { start, end } = whole.targets;
        let begin = |stripe: u64| end.min(start + (stripe << self.stripe_bits));
        chunks::Cell { targets: begin(stripe)..begin(stripe + 1), ..whole }
    }

    /// The chunks of a payload that was pulled for a cell, one a stripe that has edges, and the
    /// numbers of these.
    ///
    /// # Errors
    /// When the bytes are no such chunks.
    pub(crate) fn striped_chunks<'b>(
        &self,
        graph: u64,
        cell: Cell,
        mut payload: &'b [u8],
    ) -> Result<Vec<(usize, &'b [u8])>, EngineError> {
        let whole = self.chunk_cell(graph, cell, 0);
        let mut found = Vec::new();
        while found.is_empty() || !payload.is_empty() {
            let (first, chunk) = whole.front_of(payload)?;
            if !whole.targets.contains(&first) {
                return Err(other(format!("a chunk of targets from {first} on, of {cell}")));
            }
            found.push((((first - whole.targets.start) >> self.stripe_bits) as usize, chunk));
            payload = &payload[chunk.len()..];
        }
        Ok(found)
    }

    /// The cell of a chunk that was pulled for one.
    pub(crate) fn pulled_cell(
        &self,
        graph: u64,
        cell: Cell,
        payload: &[u8],
    ) -> Result<chunks::Cell, EngineError> {
        let first = self.chunk_cell(graph, cell, 0);
        if cell.source.is_some() || self.zones() == 1 {
            return Ok(first);
        }
        let zone = first.stripe_of(payload)?;
        if zone < self.zones() {
            return Ok(self.chunk_cell(graph, cell, zone));
        }
        Err(other(format!("a chunk of zone {zone} of {}", self.zones())))
    }

    /// Refuses a program that holds numbers of vertices in fewer bits than these have.
    ///
    /// # Errors
    /// Says which program it is.
    pub(crate) fn numbers_fit(&self, program: &str, is_wide: bool) -> Result<(), EngineError> {
        let (end, width) = (self.partitions.end(), self.partitions.width());
        // The largest number of 32 bits says "none" in some programs.
        let what = if !is_wide && end > u32::MAX.into() {
            format!("{program} holds vertices in 32 bits, and their numbers go on to {end} here")
        } else if end > NUMBERS_MOST || width > 1 << ZONE_BITS {
            let most = "vertices have numbers of 62 bits, and partitions 2^31 of them, at most";
            format!("{most}, not {end} and {width}")
        } else {
            return Ok(());
        };
        Err(EngineError::Unsupported(what))
    }

    /// A vertex set, of vertices of `vertex_bytes` bytes, as chunks: at least one.
    pub fn vertex_chunks(&self, set: &[u8], vertex_bytes: usize) -> Vec<Payload> {
        if set.is_empty() {
            return vec![Payload::default()];
        }
        let chunk_bytes = self.chunk_vertices as usize * vertex_bytes;
        set.chunks(chunk_bytes).map(Payload::from).collect()
    }

    /// Number of vertices of a partition.
    pub(crate) fn vertices(&self, partition: u32) -> usize {
        let range = self.partitions.range(partition);
        (range.end - range.start) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_flags_are_those_of_their_vertices() {
        for vertices in [1_u64, 2, 63, 64, 65, 100, 1000] {
            let cut = Partitioning {
                partitions: Partitions::fitting(1, vertices, 1, vertices).unwrap(),
                route: Route::Fold,
                encoding: Encoding::Packed,
                chunk_records: 3,
                bin_chunks: 1,
                chunk_vertices: 4,
                piece_edges: 9,
                bins_open_max: 1,
                source_parts: 1,
                stripe_bits: 63,
                combines: false,
            };
            let mut flags = vec![0; vertices as usize];
            assert_eq!([cut.ranges_of(0, &flags), cut.ranges_of(0, &[])], [0, 0]);
            for vertex in 0..vertices {
                flags[vertex as usize] = 1;
                assert_eq!(cut.ranges_of(0, &flags), cut.range_of(vertex), "{vertex}");
                flags[vertex as usize] = 0;
            }
            flags.fill(1);
            let all = (0..vertices).fold(0, |ranges, vertex| ranges | cut.range_of(vertex));
            assert_eq!(cut.ranges_of(0, &flags), all, "{vertices}");
        }
    }
}
