//! Edges of a machine: those whose sources it owns, as chunks of the engine, in memory as far as
//! there is room, and beyond that in a file, from which each iteration reads them.
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

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{self, Column, EdgeWriter, Form, Pulled};
use welter_model::stream::Edge;
use welter_protocol::partitions::Partitions;
use welter_store::StoreError;
use welter_store::header::{CellId, Encoding};
use welter_store::io::{read_exact, write_all};

use super::calls::{CallUnderWay, WatchedDirectory};
use super::error::Stop;

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
    /// Number of edges that it has.
    pub(super) edges: u64,
    place: Bytes,
}

/// Place of the bytes of a chunk.
enum Bytes {
    Memory(Column),
    /// Offset and length in the file.
    Stored(u64, usize),
}

/// Edges of a sub-range of sources.
#[derive(Default)]
pub(super) struct Edges {
    /// In the order of their destinations.
    pub(super) chunks: Vec<EdgeChunk>,
    /// Edges that leave each source.
    pub(super) degrees: Vec<u32>,
    /// Number of edges.
    pub(super) count: u64,
    /// Chunks that memory has no room for.
    store: Option<Store>,
    /// Reads of these, and their bytes.
    reads: Cell<[u64; 2]>,
}

/// A file without a name, which goes with the run.
struct Store {
    file: File,
    /// Call that closes the file: fields are dropped in their order.
    closing: Option<CallUnderWay>,
    /// Name that the file had.
    path: PathBuf,
    directory: WatchedDirectory,
    chunks: u64,
    bytes: u64,
}

impl Store {
    /// A file in this directory.
    fn new(directory: &WatchedDirectory, partition: u32) -> Result<Self, Stop> {
        let path = directory.path().join(format!("edges-{partition}"));
        let _call = directory.call(&path, 0);
        let failed = |what: &'static str| {
            let path = path.clone();
            move |source| Stop::from(EngineError::from(StoreError::Io { what, file: path, source }))
        };
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.map_err(failed("make it"))?;
        std::fs::remove_file(&path).map_err(failed("take its name away"))?;
        let directory = directory.clone();
        Ok(Self { file, closing: None, path, directory, chunks: 0, bytes: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<Bytes, Stop> {
        let (path, offset, faults) = (&self.path, self.bytes, self.directory.faults());
        let _call = self.directory.call(path, bytes.len() as u64);
        write_all(&self.file, path, offset, bytes, faults).map_err(EngineError::from)?;
        self.directory.hold_back(bytes.len() as u64);
        self.chunks += 1;
        self.bytes += bytes.len() as u64;
        Ok(Bytes::Stored(offset, bytes.len()))
    }

    fn read(&self, offset: u64, to: &mut [u8]) -> Result<(), Stop> {
        let (path, faults) = (&self.path, self.directory.faults());
        let _call = self.directory.call(path, to.len() as u64);
        read_exact(&self.file, path, offset, to, faults).map_err(EngineError::from)?;
        Ok(())
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.closing.get_or_insert_with(|| self.directory.call(&self.path, 0));
    }
}

impl Edges {
    /// Chunks that were read from the disk since the last call, and their bytes.
    pub(super) fn take_read(&self) -> [u64; 2] {
        self.reads.take()
    }

    /// Chunks that lie on the disk, and their bytes.
    pub(super) fn stored(&self) -> [u64; 2] {
        self.store.as_ref().map_or([0; 2], |store| [store.chunks, store.bytes])
    }

    /// Opens a chunk of this cell, which lies in memory or is read into `read`.
    ///
    /// # Errors
    /// When it cannot be read, or is not what was written.
    pub(super) fn open<'c, 'b>(
        &'b self,
        chunk: &'b EdgeChunk,
        cell: &'c chunks::Cell,
        read: &'b mut Column,
    ) -> Result<Pulled<'c, 'b>, Stop> {
        match (&chunk.place, &self.store) {
            (Bytes::Memory(bytes), _) => Ok(cell.open_again(bytes)?),
            (Bytes::Stored(offset, length), Some(store)) => {
                read.resize(*length);
                store.read(*offset, read)?;
                let [reads, bytes] = self.reads.get();
                self.reads.set([reads + 1, bytes + *length as u64]);
                Ok(cell.open(read)?)
            }
            (Bytes::Stored(..), None) => Err(Stop::broken("edges that were written are in a file")),
        }
    }
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
    room: Room,
    edges: Edges,
    /// Bytes of chunks in memory.
    held_bytes: u64,
    failed: Option<Stop>,
}

/// Room for the edges of a sub-range.
#[derive(Clone)]
pub(super) struct Room {
    /// Edges of a chunk, at most.
    pub(super) chunk_edges: usize,
    /// Bytes of chunks in memory, at most.
    pub(super) memory_bytes: u64,
    /// Directory for those beyond that.
    pub(super) directory: WatchedDirectory,
}

impl Gathering {
    /// Chunks of the edges that leave a sub-range.
    pub(super) fn new(
        cut: Arc<Partitions>,
        partition: u32,
        (weighted, room): (bool, Room),
    ) -> Self {
        let range = cut.range(partition);
        let degrees = vec![0; (range.end - range.start) as usize];
        let bins = (0..cut.count()).map(|_| Vec::new()).collect();
        let writer = EdgeWriter::new(Form::usual(Encoding::Packed), weighted);
        let edges = Edges { degrees, ..Edges::default() };
        Self { cut, partition, weighted, writer, bins, room, edges, held_bytes: 0, failed: None }
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

    fn add(&mut self, place: u32, record: &[u8]) -> Result<(), Stop> {
        let (target, weight) = record.split_at(TARGET_BYTES);
        let target: u32 = pod_read_unaligned(target);
        let weight = if weight.is_empty() { 1.0 } else { pod_read_unaligned(weight) };
        let degree = self.edges.degrees.get_mut(place as usize);
        let (Some(degree), true) = (degree, u64::from(target) < self.cut.vertices()) else {
            let what = format!("an edge from place {place} to {target}, which there are not");
            return Err(Stop::broken(what));
        };
        *degree = degree.saturating_add(1);
        self.edges.count += 1;
        let (to, target) = self.cut.place(target.into());
        let bin = &mut self.bins[to as usize];
        bin.push(Edge { source: place, target: target as u32, weight });
        if bin.len() >= self.room.chunk_edges {
            self.close(to)?;
        }
        Ok(())
    }

    /// Makes a chunk of what waits for a sub-range.
    fn close(&mut self, target: u32) -> Result<(), Stop> {
        let bin = std::mem::take(&mut self.bins[target as usize]);
        if bin.is_empty() {
            return Ok(());
        }
        let cell = cell(&self.cut, self.partition, target);
        let number = self.edges.chunks.len() as u32;
        let bytes = self.writer.write(&cell, number, &bin)?;
        self.held_bytes += bytes.len() as u64;
        let place = if self.held_bytes > self.room.memory_bytes {
            self.held_bytes -= bytes.len() as u64;
            let store = match &mut self.edges.store {
                Some(store) => store,
                none => none.insert(Store::new(&self.room.directory, self.partition)?),
            };
            store.append(bytes)?
        } else {
            let mut held = Column::default();
            held.extend(bytes);
            cell.open(&held)?;
            Bytes::Memory(held)
        };
        let vertices = self.edges.degrees.len();
        let places = bin.iter().map(|edge| edge.source as usize);
        let sources = places.fold(0, |parts, place| parts | part_of(place, vertices));
        let edges = bin.len() as u64;
        self.edges.chunks.push(EdgeChunk { target, sources, edges, place });
        Ok(())
    }

    /// All edges, once the last has come.
    ///
    /// # Errors
    /// When one was of a vertex that there is not, or could not be written.
    pub(super) fn whole(mut self) -> Result<Edges, Stop> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        (0..self.cut.count()).try_for_each(|target| self.close(target))?;
        self.edges.chunks.sort_by_key(|chunk| chunk.target);
        Ok(self.edges)
    }
}
