//! Updates that wait on storage, in update chunks (X-Stream, section 3; Chaos, section 5).
//!
//! Chunks ([`crate::kernels::update_chunk`]) lie in slabs beside those of other stripes, and slabs
//! in blocks, one each unless a request may be larger. A block is used again when all of its chunks
//! were gathered. Where the settings say so each chunk lies in a frame: then less is written and
//! read, and a block takes the room that it takes without them.
//!
//! Invariant: a chunk is handed out only if its checksum, graph, iteration, stripe, window and
//! kind are those that were written: a place that was used before holds others. Checked in
//! `Incoming::next`. Tested by `a_bit_that_is_another_one_is_found`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use bytemuck::{Pod, cast_slice};
use welter_store::header::Encoding;
use welter_store::io::{ALIGN, IoOptions, Place, Queue, Volume};

use crate::EngineError;
use crate::edges::frames::{Framer, Frames};
use crate::edges::framing::Framing;
use crate::edges::graph::Graph;
use crate::footprints::columns::{CHUNK_ENTRY_BYTES, CHUNK_FRAME_BYTES, SLAB_REST};
use crate::kernels::records::Records;
use crate::kernels::sink::{Room, Sink};
use crate::kernels::update_chunk::{
    self, EncodedTargets, Records as ChunkRecords, SECTION, UpdateKey,
};
use crate::machine::arena::{Arena, SLAB_BYTES, Slab};
use crate::machine::storage::{Storage, slabs_joined, slabs_read, slabs_written};
use crate::machine::sync::lock;

const _: () = assert!(size_of::<UpdateChunk>() as u64 == CHUNK_ENTRY_BYTES);

/// Blocks for slabs of updates, or for shorter pieces, used again and again.
pub(crate) struct Pool {
    volume: Arc<Volume>,
    io: IoOptions,
    graph: u64,
    framing: Framing,
    /// Encoding of destinations, where it suits them.
    encoding: Encoding,
    piece_bytes: usize,
    /// Pieces of a block.
    joined: usize,
    free: Mutex<Vec<Place>>,
}

impl Pool {
    /// A pool of updates, whose destinations are encoded as the edges of the graph are.
    pub(crate) fn new(storage: &Storage, graph: &Graph) -> Result<Arc<Self>, EngineError> {
        Self::with(storage, graph, (SLAB_BYTES, graph.layout.encoding))
    }

    /// A pool with places of `piece_bytes` bytes, a slab's at most, none of which a chunk may
    /// exceed. Where chunks are gathered in another order than they were written in, whole slabs
    /// would wait for the last of theirs.
    pub(crate) fn in_pieces(
        storage: &Storage,
        graph: &Graph,
        piece_bytes: usize,
    ) -> Result<Arc<Self>, EngineError> {
        Self::with(storage, graph, (piece_bytes, Encoding::Packed))
    }

    fn with(
        storage: &Storage,
        graph: &Graph,
        (piece_bytes, encoding): (usize, Encoding),
    ) -> Result<Arc<Self>, EngineError> {
        let need = graph.plan.storage().map_or(0, |storage| storage.room.updates);
        let framing = Framing::of_updates(&graph.plan);
        let (volume, graph) = (storage.scratch(need)?, graph.id.0);
        let (io, free) = (storage.io.clone(), Mutex::default());
        // Pieces are there so that places come free soon.
        let joined = if piece_bytes < SLAB_BYTES { 1 } else { slabs_joined(&io.requests, true) };
        Ok(Arc::new(Self { volume, io, graph, framing, encoding, piece_bytes, joined, free }))
    }

    fn take(self: &Arc<Self>) -> Block {
        let free = lock(&self.free).pop();
        let bytes = (self.joined * self.piece_bytes) as u32;
        let place = free.unwrap_or_else(|| self.volume.reserve(bytes));
        Block { place, pool: Arc::clone(self) }
    }
}

/// Room for slabs, given back when it is dropped.
struct Block {
    place: Place,
    pool: Arc<Pool>,
}

impl Drop for Block {
    fn drop(&mut self) {
        lock(&self.pool.free).push(self.place);
    }
}

/// A slab's place. It is chosen when the slab is full, so that neighbours leave no gap.
#[derive(Default)]
struct Spot(OnceLock<(Place, Arc<Block>)>);

impl Spot {
    fn place(&self) -> Result<Place, EngineError> {
        let none = || EngineError::internal("updates were looked for before they were written");
        self.0.get().map(|(place, _)| *place).ok_or_else(none)
    }
}

/// A chunk that waits.
pub(crate) struct UpdateChunk {
    spot: Arc<Spot>,
    /// Bytes of the slab, of which there are fewer than 2^32.
    range: Range<u32>,
    pub(crate) key: UpdateKey,
    /// Number of updates that its records stand for.
    pub(crate) updates: u64,
}

impl UpdateChunk {
    fn new(spot: Arc<Spot>, bytes: &Range<usize>, key: UpdateKey, updates: u64) -> Self {
        Self { spot, range: narrow(bytes), key, updates }
    }

    /// Bytes of the slab in which it lies.
    fn bytes(&self) -> Range<usize> {
        self.range.start as usize..self.range.end as usize
    }
}

fn narrow(bytes: &Range<usize>) -> Range<u32> {
    bytes.start as u32..bytes.end as u32
}

/// One worker's open slab of updates.
pub(crate) struct Writer {
    pool: Arc<Pool>,
    arena: Arena,
    queue: Queue<Slab>,
    framer: Framer,
    /// Destinations of a chunk, encoded.
    targets: Vec<u8>,
    open: Option<(Slab, Arc<Spot>)>,
    filled: usize,
    /// The block of the next slab, and bytes of it that are taken.
    block: Option<(Arc<Block>, usize)>,
    /// Chunks that were put since they were taken last.
    chunks: Vec<UpdateChunk>,
}

impl Writer {
    pub(crate) fn new(pool: &Arc<Pool>, arena: &Arena) -> Result<Self, EngineError> {
        let queue = Queue::new(&pool.io, slabs_written(&pool.io.requests))?;
        let (pool, arena, framer) = (Arc::clone(pool), arena.clone(), Framer::default());
        let (targets, open, block, chunks) = (Vec::new(), None, None, Vec::new());
        Ok(Self { pool, arena, queue, framer, targets, open, filled: 0, block, chunks })
    }

    /// Records of a chunk, at most.
    pub(crate) fn records_max(width: usize) -> usize {
        (SLAB_BYTES / 2 - 3 * SECTION) / (4 + width)
    }

    /// Records of `width` bytes that the next chunk may have.
    fn records_left(&self, width: usize) -> usize {
        let left = SLAB_BYTES - self.filled;
        if left < SLAB_BYTES / SLAB_REST as usize {
            return Self::records_max(width);
        }
        let room = (left - CHUNK_FRAME_BYTES as usize) / (4 + width);
        room.min(Self::records_max(width))
    }

    /// Writes all records, and says how many updates they stand for: for `updates` together, or for
    /// one each.
    fn put_all(
        &mut self,
        cell: UpdateKey,
        records: &mut Records,
        updates: Option<u64>,
    ) -> Result<u64, EngineError> {
        let (mut first, mut written) = (0, 0);
        while first < records.len() {
            let chunk = records.part(first, self.records_left(records.width()));
            let here = match updates {
                Some(updates) if first == 0 => updates,
                Some(_) => 0,
                None => chunk.0.len() as u64,
            };
            first += chunk.0.len();
            self.put_of(records.width(), cell, chunk, here)?;
            written += here;
        }
        records.clear();
        Ok(written)
    }

    /// Writes records of a cell that stand for `updates` updates, at most as many as there is room
    /// for.
    pub(crate) fn put<A: Pod>(
        &mut self,
        cell: UpdateKey,
        (targets, accums): (&[u32], &[A]),
        updates: u64,
    ) -> Result<(), EngineError> {
        self.put_of(size_of::<A>(), cell, (targets, cast_slice(accums)), updates)
    }

    fn put_of(
        &mut self,
        width: usize,
        cell: UpdateKey,
        records: (&[u32], &[u8]),
        updates: u64,
    ) -> Result<(), EngineError> {
        let mut room = std::mem::take(&mut self.targets);
        let targets = EncodedTargets::new(self.pool.encoding, records.0, &mut room);
        let end = targets.chunk_bytes(width);
        if self.filled + end > self.pool.piece_bytes {
            self.close()?;
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => (self.arena.take()?, Arc::default()),
        };
        let range = self.filled..self.filled + end;
        let bytes = &mut open.0.bytes_mut()[range.clone()];
        update_chunk::write(width, bytes, (self.pool.graph, cell), (targets, records.1), updates);
        self.targets = room;
        let spot = Arc::clone(&open.1);
        self.chunks.push(UpdateChunk::new(spot, &range, cell, updates));
        (self.open, self.filled) = (Some(open), range.end);
        Ok(())
    }

    /// Writes the open slab, some time.
    fn close(&mut self) -> Result<(), EngineError> {
        self.filled = 0;
        let Some((mut slab, spot)) = self.open.take() else { return Ok(()) };
        // The chunks of this slab were put last.
        let is_elsewhere = |chunk: &UpdateChunk| !Arc::ptr_eq(&chunk.spot, &spot);
        let first = self.chunks.iter().rposition(is_elsewhere).map_or(0, |last| last + 1);
        let chunks = &mut self.chunks[first..];
        let mut ranges: Vec<_> = chunks.iter().map(UpdateChunk::bytes).collect();
        let framing = &self.pool.framing;
        let filled = self.framer.frame(framing, &mut slab, ranges.iter_mut().collect());
        for (chunk, bytes) in chunks.iter_mut().zip(&ranges) {
            chunk.range = narrow(bytes);
        }
        let depth = slabs_written(&self.pool.io.requests);
        while self.queue.in_flight() >= depth {
            self.queue.wait()?;
        }
        let (block, begin) = self.room(filled);
        let offset = block.place.offset + begin as u64;
        let place = Place { offset, bytes: filled as u32, ..block.place };
        slab.bytes_mut()[filled..place.rounded_bytes()].fill(0);
        // It is set once, here.
        let _ = spot.0.set((place, block));
        Ok(self.queue.write(&self.pool.volume, place, slab, 0)?)
    }

    /// Room for the first bytes of a slab: its block, and where that begins in it.
    fn room(&mut self, bytes: usize) -> (Arc<Block>, usize) {
        let rounded = bytes.next_multiple_of(ALIGN);
        let has_room = |(block, taken): &mut (Arc<Block>, usize)| {
            *taken + rounded <= block.place.bytes as usize
        };
        let last = self.block.take_if(has_room);
        let (block, begin) = last.unwrap_or_else(|| (Arc::new(self.pool.take()), 0));
        // A block of one slab holds no other, and comes free with it.
        if self.pool.joined > 1 {
            self.block = Some((Arc::clone(&block), begin + rounded));
        }
        (block, begin)
    }

    /// Waits until all is written, and hands over the chunks.
    pub(crate) fn finish(&mut self) -> Result<Vec<UpdateChunk>, EngineError> {
        self.close()?;
        self.block = None;
        while self.queue.wait()?.is_some() {}
        Ok(std::mem::take(&mut self.chunks))
    }
}

/// Update chunks of a cell as a place where updates wait.
pub(crate) struct ChunkSink<'w> {
    writer: &'w mut Writer,
    /// Records that are no chunk yet.
    records: &'w mut Records,
    cell: UpdateKey,
    /// Updates that what is written next stands for; `None` for one each.
    updates: Option<u64>,
    /// Updates that all chunks stand for.
    written: u64,
}

impl<'w> ChunkSink<'w> {
    /// A sink whose records stand for one update each.
    pub(crate) fn new(
        (writer, records): (&'w mut Writer, &'w mut Records),
        cell: UpdateKey,
    ) -> Self {
        records.clear();
        Self { writer, records, cell, updates: None, written: 0 }
    }

    /// Lets the records that come stand for `updates` updates together.
    pub(crate) fn stand_for(&mut self, updates: u64) {
        self.updates = Some(updates);
    }

    fn write(&mut self) -> Result<(), EngineError> {
        let written = self.writer.put_all(self.cell, self.records, self.updates)?;
        // All updates are said of what is written first.
        self.updates = self.updates.map(|updates| updates - written);
        self.written += written;
        Ok(())
    }

    /// Writes the records that are left, and says how many updates all stand for.
    pub(crate) fn finish(mut self) -> Result<u64, EngineError> {
        self.write()?;
        Ok(self.written)
    }
}

impl Sink for ChunkSink<'_> {
    fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError> {
        Ok(Room::Run(self.records.room(most)))
    }

    fn keep(&mut self, count: usize) -> Result<(), EngineError> {
        self.records.keep(count);
        if self.records.is_full() { self.write() } else { Ok(()) }
    }
}

/// One worker's way to update chunks.
pub(crate) struct Reader {
    pool: Arc<Pool>,
    arena: Arena,
    queue: Queue<Slab>,
    frames: Frames,
    /// Destinations of a chunk, decoded.
    targets: Vec<u32>,
}

impl Reader {
    pub(crate) fn new(pool: &Arc<Pool>, arena: &Arena) -> Result<Self, EngineError> {
        let queue = Queue::reading(&pool.io, slabs_read(&pool.io.requests))?;
        let frames = Frames::new(pool.framing.is_framed(), arena)?;
        let (pool, arena, targets) = (Arc::clone(pool), arena.clone(), Vec::new());
        Ok(Self { pool, arena, queue, frames, targets })
    }

    /// Shows the records of chunks to `visit`, in their order, and says how many updates they stand
    /// for.
    pub(crate) fn read<A: Pod>(
        &mut self,
        chunks: &[UpdateChunk],
        mut visit: impl FnMut(&[u32], &[A]) -> bool,
    ) -> Result<u64, EngineError> {
        // Sections of chunks begin at multiples of 64 bytes, and slabs at pages.
        let visit = |targets: &[u32], accums: &[u8]| visit(targets, cast_slice(accums));
        self.read_of(size_of::<A>(), chunks, visit)
    }

    /// Shows the records of chunks, whose accumulators have `width` bytes.
    pub(crate) fn read_of(
        &mut self,
        width: usize,
        chunks: &[UpdateChunk],
        mut visit: impl FnMut(&[u32], &[u8]) -> bool,
    ) -> Result<u64, EngineError> {
        let mut incoming = self.follow(chunks);
        let mut updates = 0;
        while let Some(records) = incoming.next(width)? {
            if !visit(records.targets, records.accums) {
                return Err(incoming.damaged());
            }
            updates += records.updates;
        }
        Ok(updates)
    }

    /// A reader for one chunk after the other, each when it is asked for.
    pub(crate) fn follow<'r>(&'r mut self, chunks: &'r [UpdateChunk]) -> Incoming<'r> {
        let runs = chunks.chunk_by(|one, next| Arc::ptr_eq(&one.spot, &next.spot)).collect();
        let arrived = VecDeque::new();
        Incoming { reader: self, runs, arrived, issued: 0, number: 0, held: None, shown: 0 }
    }
}

/// Chunks that are read ahead, in their order. Neighbours in a slab are read at once, in a run.
pub(crate) struct Incoming<'r> {
    reader: &'r mut Reader,
    runs: Vec<&'r [UpdateChunk]>,
    /// Slabs of the runs that are being read or have been, but for the one that is looked at.
    arrived: VecDeque<Option<Slab>>,
    /// Number of runs that were asked for.
    issued: usize,
    /// The run that is looked at.
    number: usize,
    /// Slab of that run, and where the slab begins.
    held: Option<(Slab, usize)>,
    /// Chunks of it that were shown.
    shown: usize,
}

impl Incoming<'_> {
    /// The records of the next chunk, whose accumulators have `width` bytes.
    pub(crate) fn next(&mut self, width: usize) -> Result<Option<ChunkRecords<'_>>, EngineError> {
        if self.held.is_some() && self.shown == self.runs[self.number].len() {
            // Its memory is free before more is asked for.
            self.held = None;
            self.number += 1;
            self.shown = 0;
        }
        if self.number == self.runs.len() {
            return Ok(None);
        }
        if self.held.is_none() {
            self.take()?;
        }
        let run = self.runs[self.number];
        let chunk = &run[self.shown];
        self.shown += 1;
        let Reader { pool, frames, targets, .. } = &mut *self.reader;
        let at = (pool.graph, chunk.key);
        let records = self.held.as_ref().and_then(|(slab, start)| {
            let Range { start: first, end } = chunk.bytes();
            let stored = &slab.bytes()[first - start..end - start];
            update_chunk::open(width, frames.chunk(stored).ok()?, targets)
        });
        let records = records.filter(|records| (records.graph, records.key) == at);
        records.map(Some).ok_or_else(|| damaged(pool, run))
    }

    /// Waits for the slab of the run that comes next, and begins to read others.
    fn take(&mut self) -> Result<(), EngineError> {
        let Reader { pool, arena, queue, .. } = &mut *self.reader;
        let depth = slabs_read(&pool.io.requests);
        while self.issued < self.runs.len().min(self.number + depth) {
            let place = pages(self.runs[self.issued])?.1;
            queue.read(&pool.volume, place, arena.take()?, self.issued as u64)?;
            self.arrived.push_back(None);
            self.issued += 1;
        }
        while self.arrived.front().is_some_and(Option::is_none) {
            let Some(done) = queue.wait()? else { break };
            self.arrived[done.tag as usize - self.number] = Some(done.memory);
        }
        let Some(slab) = self.arrived.pop_front().flatten() else {
            let what = "updates were asked for and never fetched";
            return Err(EngineError::internal(what));
        };
        self.held = Some((slab, pages(self.runs[self.number])?.0));
        Ok(())
    }

    /// The error of a run that is not what was written.
    pub(crate) fn damaged(&self) -> EngineError {
        damaged(&self.reader.pool, self.runs[self.number])
    }
}

/// The error of a run that is not what was written.
fn damaged(pool: &Pool, run: &[UpdateChunk]) -> EngineError {
    match pages(run) {
        Ok((_, place)) => pool.volume.damaged(place, "updates are not what was written").into(),
        Err(error) => error,
    }
}

/// The pages of a slab that some of its chunks lie in, and where they begin in it.
fn pages(run: &[UpdateChunk]) -> Result<(usize, Place), EngineError> {
    let start = run.iter().map(|chunk| chunk.bytes().start).min().unwrap_or(0) / ALIGN * ALIGN;
    let end = run.iter().map(|chunk| chunk.bytes().end).max().unwrap_or(start);
    let slab = run[0].spot.place()?;
    let place = Place { offset: slab.offset + start as u64, bytes: (end - start) as u32, ..slab };
    Ok((start, place))
}
