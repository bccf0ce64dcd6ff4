//! Edges of a machine: those whose sources it owns, or whose targets, as chunks of the engine, in
//! memory as far as there is room, and beyond that in a file, from which each iteration reads them.
//!
//! ```text
//! message    the end that is owned, relative to its sub-range (the destination of the message)
//!            record: the other end u32, in a weighted graph followed by the weight f64
//! chunk      edges from a sub-range of sources to a sub-range of destinations, sorted by source
//! states     of the edges of a chunk, in their order: where the chunk lies, zeros at first
//! ```
//!
//! A share of the input is read by whom it falls to, and each edge sent to the machine that owns
//! its end, by the lanes by which updates go later. A chunk knows which 64ths of its sub-range
//! have sources in it, so that one without an active source is left out.
//!
//! **Invariant:** states that are read from the disk are those that were written there last.
//! Checked in `Edges::change_states`, by their checksum.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Arc;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{self, Column, EdgeWriter, Form, Pulled};
use welter_model::stream::Edge;
use welter_protocol::failure::Exit;
use welter_protocol::partitions::Partitions;
use welter_protocol::payload::checksum;
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

/// End of an edge whose owner has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnedEnd {
    /// The vertex that it leaves, which sends along it.
    Source,
    /// The vertex that it leads to, which hears of the other one.
    Target,
}

/// The record of an edge, with the end that is not owned.
pub(super) fn record(other: u32, weight: f64) -> [u8; record_bytes(true)] {
    let mut record = [0; record_bytes(true)];
    record[..TARGET_BYTES].copy_from_slice(&other.to_ne_bytes());
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

/// A chunk of edges between a sub-range and another one, or itself.
pub(super) struct EdgeChunk {
    /// Sub-range of the ends that are not owned.
    pub(super) other: u32,
    /// Parts of the sources that have edges in it, where these are owned.
    pub(super) sources: u64,
    /// Number of edges that it has.
    pub(super) edges: u64,
    /// States of the edges, in a program whose edges have some.
    pub(super) states: Option<EdgeStates>,
    place: Bytes,
}

/// States of the edges of a chunk.
pub(super) struct EdgeStates {
    place: Bytes,
    /// Checksum of those that are on the disk.
    sum: u64,
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
    /// In the order of the sub-ranges of their other ends.
    pub(super) chunks: Vec<EdgeChunk>,
    /// Edges of each vertex, at the end that is owned.
    pub(super) degrees: Vec<u32>,
    /// Number of edges.
    pub(super) count: u64,
    /// Chunks that memory has no room for.
    store: Option<Store>,
    /// Reads of these, and their bytes.
    reads: Cell<[u64; 2]>,
    /// Writes of states that were changed, and their bytes.
    writes: Cell<[u64; 2]>,
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
        let offset = self.bytes;
        self.write(offset, bytes)?;
        self.directory.hold_back(bytes.len() as u64);
        self.chunks += 1;
        self.bytes += bytes.len() as u64;
        Ok(Bytes::Stored(offset, bytes.len()))
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), Stop> {
        let (path, faults) = (&self.path, self.directory.faults());
        let _call = self.directory.call(path, bytes.len() as u64);
        write_all(&self.file, path, offset, bytes, faults).map_err(EngineError::from)?;
        Ok(())
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

    /// States that were written to the disk again since the last call, and their bytes.
    pub(super) fn take_written(&self) -> [u64; 2] {
        self.writes.take()
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
                self.read(store, (*offset, *length), read)?;
                Ok(cell.open(read)?)
            }
            (Bytes::Stored(..), None) => Err(Stop::broken(NO_FILE)),
        }
    }

    /// Shows the states of the edges of a chunk to `change`, and keeps what that makes of them.
    /// States that lie on the disk pass through `read`.
    ///
    /// # Errors
    /// When `change` fails, or states cannot be read or written or are not what was written.
    pub(super) fn change_states(
        &self,
        states: &mut EdgeStates,
        read: &mut Column,
        change: impl FnOnce(&mut [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        match (&mut states.place, &self.store) {
            (Bytes::Memory(held), _) => change(held),
            (&mut Bytes::Stored(offset, length), Some(store)) => {
                self.read(store, (offset, length), read)?;
                if checksum(read) != states.sum {
                    let what = format!("{}: states of edges are damaged", store.path.display());
                    return Err(Stop::Failed { why: Exit::Damaged, what });
                }
                change(read)?;
                states.sum = checksum(read);
                store.write(offset, read)?;
                let [writes, bytes] = self.writes.get();
                self.writes.set([writes + 1, bytes + length as u64]);
                Ok(())
            }
            (Bytes::Stored(..), None) => Err(Stop::broken(NO_FILE)),
        }
    }

    fn read(
        &self,
        store: &Store,
        (offset, length): (u64, usize),
        to: &mut Column,
    ) -> Result<(), Stop> {
        to.resize(length);
        store.read(offset, to)?;
        let [reads, bytes] = self.reads.get();
        self.reads.set([reads + 1, bytes + length as u64]);
        Ok(())
    }
}

const NO_FILE: &str = "edges that were written are in a file";

/// Gathers the edges of a sub-range as they come.
pub(super) struct Gathering {
    cut: Arc<Partitions>,
    partition: u32,
    weighted: bool,
    end: OwnedEnd,
    writer: EdgeWriter,
    /// Edges for each sub-range of other ends that wait for their chunk to be full. Ends are
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
    /// Bytes of chunks in memory, at most, with the states of their edges.
    pub(super) memory_bytes: u64,
    /// Bytes of the state of an edge; 0 where edges have none.
    pub(super) state_bytes: usize,
    /// Directory for those beyond that.
    pub(super) directory: WatchedDirectory,
}

impl Gathering {
    /// Chunks of the edges of a sub-range that has this end of them.
    pub(super) fn new(
        cut: Arc<Partitions>,
        (partition, end): (u32, OwnedEnd),
        (weighted, room): (bool, Room),
    ) -> Self {
        let range = cut.range(partition);
        let degrees = vec![0; (range.end - range.start) as usize];
        let bins = (0..cut.count()).map(|_| Vec::new()).collect();
        let writer = EdgeWriter::new(Form::usual(Encoding::Packed), weighted);
        let edges = Edges { degrees, ..Edges::default() };
        let (held_bytes, failed) = (0, None);
        Self { cut, partition, weighted, end, writer, bins, room, edges, held_bytes, failed }
    }

    /// Takes edges of these vertices, relative to the sub-range.
    pub(super) fn take(&mut self, places: &[u32], records: &[u8]) {
        for (&place, record) in places.iter().zip(records.chunks_exact(self.record_bytes())) {
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
        let (other, weight) = record.split_at(TARGET_BYTES);
        let other: u32 = pod_read_unaligned(other);
        let weight = if weight.is_empty() { 1.0 } else { pod_read_unaligned(weight) };
        let degree = self.edges.degrees.get_mut(place as usize);
        let (Some(degree), true) = (degree, u64::from(other) < self.cut.vertices()) else {
            let what = format!("an edge of place {place} and {other}, which there are not");
            return Err(Stop::broken(what));
        };
        *degree = degree.saturating_add(1);
        self.edges.count += 1;
        let (to, other) = self.cut.place(other.into());
        let [source, target] = match self.end {
            OwnedEnd::Source => [place, other as u32],
            OwnedEnd::Target => [other as u32, place],
        };
        let bin = &mut self.bins[to as usize];
        bin.push(Edge { source, target, weight });
        if bin.len() >= self.room.chunk_edges {
            self.close(to)?;
        }
        Ok(())
    }

    /// Makes a chunk of what waits for a sub-range.
    fn close(&mut self, other: u32) -> Result<(), Stop> {
        let bin = std::mem::take(&mut self.bins[other as usize]);
        if bin.is_empty() {
            return Ok(());
        }
        let cell = match self.end {
            OwnedEnd::Source => cell(&self.cut, self.partition, other),
            OwnedEnd::Target => cell(&self.cut, other, self.partition),
        };
        let number = self.edges.chunks.len() as u32;
        let state_bytes = bin.len() * self.room.state_bytes;
        let bytes = self.writer.write(&cell, number, &bin)?;
        let with_states = (bytes.len() + state_bytes) as u64;
        let has_room = self.held_bytes + with_states <= self.room.memory_bytes;
        let mut states = None;
        let place = if has_room {
            self.held_bytes += with_states;
            let mut held = Column::default();
            held.extend(bytes);
            cell.open(&held)?;
            if state_bytes > 0 {
                let place = Bytes::Memory(Column::zeroed(state_bytes));
                states = Some(EdgeStates { place, sum: 0 });
            }
            Bytes::Memory(held)
        } else {
            let store = match &mut self.edges.store {
                Some(store) => store,
                none => none.insert(Store::new(&self.room.directory, self.partition)?),
            };
            let place = store.append(bytes)?;
            if state_bytes > 0 {
                let zeros = vec![0; state_bytes];
                let place = store.append(&zeros)?;
                states = Some(EdgeStates { place, sum: checksum(&zeros) });
            }
            place
        };
        let vertices = self.edges.degrees.len();
        let sources = match self.end {
            OwnedEnd::Source => {
                let places = bin.iter().map(|edge| edge.source as usize);
                places.fold(0, |parts, place| parts | part_of(place, vertices))
            }
            OwnedEnd::Target => u64::MAX,
        };
        let edges = bin.len() as u64;
        self.edges.chunks.push(EdgeChunk { other, sources, edges, states, place });
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
        (0..self.cut.count()).try_for_each(|other| self.close(other))?;
        self.edges.chunks.sort_by_key(|chunk| chunk.other);
        Ok(self.edges)
    }
}
