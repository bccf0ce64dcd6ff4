//! Edges of a machine: those whose sources it owns, or whose targets, as chunks of the engine, in
//! memory as far as there is room, and beyond that in a file, from which each iteration reads them.
//!
//! ```text
//! message    the end that is owned, relative to its sub-range (the destination of the message)
//!            record: the other end u32, in a weighted graph followed by the weight f64
//! chunk      edges from a sub-range of sources to a stripe of destinations, sorted by source
//! states     of the edges of a chunk, in their order: where the chunk lies, zeros at first
//! ```
//!
//! A share of the input is read by whom it falls to, and each edge sent to the machine that owns
//! its end, by the lanes by which updates go later. Edges wait by stripes until a chunk is full, so
//! that accumulators that it leads to stay in a cache (`ranges`), and degrees are counted in sorted
//! chunks. A chunk knows which parts of its sub-range
//! have sources in it, so that one without an active source is left out.
//!
//! **Invariant:** states that are read from the disk are those that were written there last.
//! Checked in `Edges::change_states`, by their checksum.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::ops::Range;
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
use super::ranges::{Stripe, Stripes};

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

/// The cell of edges from a sub-range to a stripe of one, or the whole.
fn cell(cut: &Partitions, source: u32, stripe: &Stripe) -> chunks::Cell {
    let id = CellId { source_partition: source, stripe: stripe.sub_range };
    let targets = stripe.vertices.clone();
    chunks::Cell { graph: GRAPH, id, sources: cut.range(source), targets }
}

/// The cell of edges between two sub-ranges.
pub(super) fn whole_cell(cut: &Partitions, source: u32, target: u32) -> chunks::Cell {
    cell(cut, source, &Stripe { sub_range: target, vertices: cut.range(target) })
}

/// Parts of a sub-range, 64 at most, of as many vertices each.
#[derive(Clone, Copy)]
pub(super) struct SourceParts {
    /// Vertices of a part, as a power of two.
    bits: u32,
}

impl SourceParts {
    /// Parts of a sub-range of this number of vertices.
    pub(super) fn of(vertices: usize) -> Self {
        Self { bits: vertices.div_ceil(64).next_power_of_two().trailing_zeros() }
    }

    /// The part that a place is in, as a bit.
    #[inline]
    pub(super) fn part_of(self, place: usize) -> u64 {
        1 << (place >> self.bits)
    }
}

/// A chunk of edges between a sub-range and another one, or itself.
pub(super) struct EdgeChunk {
    /// Sub-range of the ends that are not owned.
    pub(super) other: u32,
    /// Vertices of the sub-range that have edges here, at most.
    pub(super) ends: Range<u64>,
    /// Parts of the sources that have edges in it, where these are owned.
    pub(super) sources: u64,
    /// Number of edges that it has.
    pub(super) edges: u64,
    /// States of the edges, in a program whose edges have some.
    pub(super) states: Option<EdgeStates>,
    place: Bytes,
}

impl EdgeChunk {
    /// Its cell, of a sub-range that owns the sources.
    pub(super) fn cell(&self, cut: &Partitions, own: u32) -> chunks::Cell {
        cell(cut, own, &Stripe { sub_range: self.other, vertices: self.ends.clone() })
    }
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
    /// In the order of their other ends.
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
    /// Stripes of other ends.
    stripes: Stripes,
    /// Edges for each stripe that wait for their chunk to be full. Ends are places in the
    /// sub-range and in the stripe.
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
    /// Vertices that the other ends of a chunk lie among, about.
    pub(super) stripe_vertices: u64,
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
        let stripes = Stripes::new(&cut, room.stripe_vertices);
        let bins = stripes.all.iter().map(|_| Vec::new()).collect();
        let writer = EdgeWriter::new(Form::usual(Encoding::Packed), weighted);
        let edges = Edges { degrees, ..Edges::default() };
        let (held_bytes, failed) = (0, None);
        Self {
            cut,
            partition,
            weighted,
            end,
            writer,
            stripes,
            bins,
            room,
            edges,
            held_bytes,
            failed,
        }
    }

    /// Takes edges of these vertices, relative to the sub-range.
    pub(super) fn take(&mut self, places: &[u32], records: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let taken = if self.weighted {
            self.take_all::<{ record_bytes(true) }>(places, records)
        } else {
            self.take_all::<{ record_bytes(false) }>(places, records)
        };
        self.failed = taken.err();
    }

    /// Takes edges with records of this length.
    fn take_all<const BYTES: usize>(&mut self, places: &[u32], records: &[u8]) -> Result<(), Stop> {
        let vertices = self.edges.degrees.len();
        let (records, _) = records.as_chunks::<BYTES>();
        for (&place, record) in places.iter().zip(records) {
            let (other, weight) = record.split_at(TARGET_BYTES);
            let other: u32 = pod_read_unaligned(other);
            let weight = if weight.is_empty() { 1.0 } else { pod_read_unaligned(weight) };
            let found = self.stripes.find(other.into()).filter(|_| (place as usize) < vertices);
            let Some((stripe, other)) = found else {
                let what = format!("an edge of place {place} and {other}, which there are not");
                return Err(Stop::broken(what));
            };
            let [source, target] = match self.end {
                OwnedEnd::Source => [place, other as u32],
                OwnedEnd::Target => {
                    // Chunks are sorted by their sources, which are not these.
                    let degree = &mut self.edges.degrees[place as usize];
                    *degree = degree.saturating_add(1);
                    [other as u32, place]
                }
            };
            let bin = &mut self.bins[stripe];
            bin.push(Edge { source, target, weight });
            if bin.len() >= self.room.chunk_edges {
                self.close(stripe)?;
            }
        }
        Ok(())
    }

    /// Makes a chunk of what waits for a stripe, whose bin keeps its room.
    fn close(&mut self, stripe: usize) -> Result<(), Stop> {
        let Stripe { sub_range: other, vertices: ends } = self.stripes.all[stripe].clone();
        let bin = &mut self.bins[stripe];
        if bin.is_empty() {
            return Ok(());
        }
        let cell = match self.end {
            OwnedEnd::Source => cell(&self.cut, self.partition, &self.stripes.all[stripe]),
            OwnedEnd::Target => whole_cell(&self.cut, other, self.partition),
        };
        let number = self.edges.chunks.len() as u32;
        let (edges, state_bytes) = (bin.len() as u64, bin.len() * self.room.state_bytes);
        let (degrees, mut sources) = (&mut self.edges.degrees, 0);
        let parts = SourceParts::of(degrees.len());
        let mut count = |place: u32, edges: u32| {
            let degree = &mut degrees[place as usize];
            *degree = degree.saturating_add(edges);
            sources |= parts.part_of(place as usize);
        };
        let bytes = match self.end {
            OwnedEnd::Source => self.writer.write_counting(&cell, number, bin, Some(&mut count))?,
            OwnedEnd::Target => {
                sources = u64::MAX;
                self.writer.write(&cell, number, bin)?
            }
        };
        bin.clear();
        self.edges.count += edges;
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
        self.edges.chunks.push(EdgeChunk { other, ends, sources, edges, states, place });
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
        for stripe in 0..self.bins.len() {
            self.close(stripe)?;
            self.bins[stripe] = Vec::new();
        }
        self.edges.chunks.sort_by_key(|chunk| (chunk.other, chunk.ends.start));
        Ok(self.edges)
    }
}
