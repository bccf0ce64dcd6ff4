//! Edges of a machine in memory: those whose sources it owns, as chunks of the engine.
//!
//! ```text
//! message    source, relative to its sub-range (the destination of the message)
//!            record: target u32, in a weighted graph followed by the weight f64
//! chunk      edges from a sub-range of sources to a sub-range of destinations, sorted by source
//! ```
//!
//! A share of the input is read by whom it falls to, and each edge sent to the machine that owns
//! its source, by the lanes by which updates go later. A chunk knows which 64ths of its sub-range
//! have sources in it, so that one without an active source is left out.

use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{self, Column, EdgeWriter, Form};
use welter_model::stream::Edge;
use welter_protocol::partitions::Partitions;
use welter_store::header::{CellId, Encoding};

/// Number of the graph in its chunks: a run has one.
const GRAPH: u64 = 1;

const TARGET_BYTES: usize = size_of::<u32>();

/// Bytes of the record of an edge.
pub(super) const fn record_bytes(weighted: bool) -> usize {
    if weighted { TARGET_BYTES + size_of::<f64>() } else { TARGET_BYTES }
}

/// The record of an edge.
pub(super) fn record(target: u32, weight: f64) -> [u8; record_bytes(true)] {
    let mut record = [0; record_bytes(true)];
    record[..TARGET_BYTES].copy_from_slice(&target.to_ne_bytes());
    record[TARGET_BYTES..].copy_from_slice(&weight.to_ne_bytes());
    record
}

/// The cell of edges between two sub-ranges.
pub(super) fn cell(cut: &Partitions, source: u32, target: u32) -> chunks::Cell {
    let id = CellId { source_partition: source, stripe: target };
    chunks::Cell { graph: GRAPH, id, sources: cut.range(source), targets: cut.range(target) }
}

/// The 64th of a sub-range of `vertices` vertices that a place is in, as a bit.
pub(super) fn part_of(place: usize, vertices: usize) -> u64 {
    1 << (place * 64 / vertices.max(1))
}

/// A chunk of edges to a sub-range of destinations.
pub(super) struct EdgeChunk {
    /// The sub-range.
    pub(super) target: u32,
    /// Parts of the sources that have edges in it.
    pub(super) sources: u64,
    /// Its bytes.
    pub(super) bytes: Column,
}

/// Edges of a sub-range of sources.
#[derive(Default)]
pub(super) struct Edges {
    /// In the order of their destinations.
    pub(super) chunks: Vec<EdgeChunk>,
    /// Edges that leave each source.
    pub(super) degrees: Vec<u32>,
    /// How many there are.
    pub(super) count: u64,
}

/// Gathers the edges of a sub-range of sources as they come.
pub(super) struct Gathering {
    cut: Arc<Partitions>,
    partition: u32,
    weighted: bool,
    writer: EdgeWriter,
    /// Edges of each sub-range of destinations that wait for their chunk to be full. Ends are
    /// places in the sub-ranges.
    bins: Vec<Vec<Edge>>,
    chunk_edges: usize,
    edges: Edges,
    failed: Option<EngineError>,
}

impl Gathering {
    /// Chunks of at most `chunk_edges` of the edges that leave a sub-range.
    pub(super) fn new(
        cut: Arc<Partitions>,
        partition: u32,
        (weighted, chunk_edges): (bool, usize),
    ) -> Self {
        let range = cut.range(partition);
        let degrees = vec![0; (range.end - range.start) as usize];
        let bins = (0..cut.count()).map(|_| Vec::new()).collect();
        let writer = EdgeWriter::new(Form::usual(Encoding::Packed), weighted);
        let edges = Edges { degrees, ..Edges::default() };
        Self { cut, partition, weighted, writer, bins, chunk_edges, edges, failed: None }
    }

    /// Takes edges from these sources, relative to the sub-range.
    pub(super) fn take(&mut self, sources: &[u32], records: &[u8]) {
        for (&place, record) in sources.iter().zip(records.chunks_exact(self.record_bytes())) {
            if self.failed.is_none()
                && let Err(error) = self.add(place, record)
            {
                self.failed = Some(error);
            }
        }
    }

    fn record_bytes(&self) -> usize {
        record_bytes(self.weighted)
    }

    fn add(&mut self, place: u32, record: &[u8]) -> Result<(), EngineError> {
        let (target, weight) = record.split_at(TARGET_BYTES);
        let target: u32 = pod_read_unaligned(target);
        let weight = if weight.is_empty() { 1.0 } else { pod_read_unaligned(weight) };
        let degree = self.edges.degrees.get_mut(place as usize);
        let (Some(degree), true) = (degree, u64::from(target) < self.cut.vertices()) else {
            let what = format!("an edge from place {place} to {target}, which there are not");
            return Err(EngineError::Internal(what));
        };
        *degree = degree.saturating_add(1);
        self.edges.count += 1;
        let (to, target) = self.cut.place(target.into());
        let bin = &mut self.bins[to as usize];
        bin.push(Edge { source: place, target: target as u32, weight });
        if bin.len() >= self.chunk_edges {
            self.close(to)?;
        }
        Ok(())
    }

    /// Makes a chunk of what waits for a sub-range.
    fn close(&mut self, target: u32) -> Result<(), EngineError> {
        let bin = std::mem::take(&mut self.bins[target as usize]);
        if bin.is_empty() {
            return Ok(());
        }
        let cell = cell(&self.cut, self.partition, target);
        let number = self.edges.chunks.len() as u32;
        let mut bytes = Column::default();
        bytes.extend(self.writer.write(&cell, number, &bin)?);
        cell.open(&bytes)?;
        let vertices = self.edges.degrees.len();
        let places = bin.iter().map(|edge| edge.source as usize);
        let sources = places.fold(0, |parts, place| parts | part_of(place, vertices));
        self.edges.chunks.push(EdgeChunk { target, sources, bytes });
        Ok(())
    }

    /// All edges, once the last has come.
    ///
    /// # Errors
    /// When one was of a vertex that there is not.
    pub(super) fn whole(mut self) -> Result<Edges, EngineError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        (0..self.cut.count()).try_for_each(|target| self.close(target))?;
        self.edges.chunks.sort_by_key(|chunk| chunk.target);
        Ok(self.edges)
    }
}
