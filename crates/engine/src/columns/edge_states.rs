//! State of edges, beside the chunks that they lie in.
//!
//! States lie in *lanes*: the edges of a stripe, or where signals are on storage those of all
//! stripes that a worker has in a range. The states of a lane lie one after the other, in the order
//! in which its edges are shown, the same in each iteration. The first ones of each lane are in
//! memory, as many as the plan has room for, and the others on storage, in pieces of a slab: a
//! worker reads them ahead of the edges, changes them in place and writes them back (Chaos,
//! footnote 2). So storage is busy along each lane, and whatever is read or written is read or
//! written in order.
//!
//! Invariants: what is read is what was written last: the checksums of all pieces are in memory ·
//! all states are zeros before they were written · a worker has at most `STATE_SLABS` slabs.
//! Checked in `Stored::verified`; asserted in `Rewriter::issue`. Tested by
//! `states_move_once_there_and_once_back`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use welter_store::checksum;
use welter_store::io::{IoOptions, Place, Queue, Volume};

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::values::{Fill, Visit};
use crate::footprints::columns::{STATE_SLABS, STATES_IN_FLIGHT};
use crate::machine::arena::{Arena, Buffer, SLAB_BYTES, Slab};
use crate::machine::slices::Slices;
use crate::machine::workers::Workers;

/// The states of all edges, as bytes.
pub(crate) struct EdgeStates {
    resident: Buffer<u8>,
    /// Of each lane, how many of its states are in memory.
    counts: Vec<usize>,
    stored: Stored,
}

/// States on storage.
pub(crate) struct Stored {
    /// Bytes of a state.
    width: usize,
    /// Where they are, if there are any.
    volume: Option<(Arc<Volume>, IoOptions)>,
    /// Of each lane, in order.
    pieces: Vec<Vec<Piece>>,
    arena: Arena,
}

/// States that are read and written at once.
struct Piece {
    place: Place,
    checksum: AtomicU32,
}

impl EdgeStates {
    /// All zeros, of `width` bytes each, of lanes with these numbers of edges. As many as the plan
    /// says are in memory, an equal share of each lane.
    pub(crate) fn new(
        graph: &Graph,
        width: usize,
        lanes: &[u64],
        workers: &Workers,
    ) -> Result<Self, EngineError> {
        let edges = graph.edges();
        let room = (graph.plan.edge_states_resident() / width.max(1) as u64).min(edges);
        let share =
            |all: u64| (u128::from(all) * u128::from(room) / u128::from(edges.max(1))) as u64;
        let counts: Vec<usize> = lanes.iter().map(|edges| share(*edges) as usize).collect();
        let resident = Buffer::zeroed(counts.iter().sum::<usize>() * width)?;
        let left = lanes.iter().zip(&counts);
        let left: Vec<u64> = left.map(|(edges, count)| edges - *count as u64).collect();
        let bytes = left.iter().sum::<u64>() * width as u64;
        let volume = match workers.storage().filter(|_| bytes > 0) {
            Some(storage) => Some((storage.scratch(bytes)?, storage.io.clone())),
            None if bytes > 0 => {
                let what = "the plan keeps states of edges on storage, and the workers were given \
                            none";
                return Err(EngineError::internal(what));
            }
            None => None,
        };
        let pieces = |left: u64| {
            let Some((volume, _)) = &volume else { return Vec::new() };
            let most = (SLAB_BYTES / width) as u64;
            let piece = |start: u64| Piece {
                place: volume.reserve((left - start).min(most) as u32 * width as u32),
                checksum: AtomicU32::new(0),
            };
            (0..left).step_by(most as usize).map(piece).collect()
        };
        let pieces = left.into_iter().map(pieces).collect();
        let stored = Stored { width, volume, pieces, arena: graph.arena.clone() };
        Ok(Self { resident, counts, stored })
    }

    /// The states of each lane that are in memory, and where the others are.
    pub(crate) fn parts(&mut self) -> (Vec<&mut [u8]>, &Stored) {
        let mut column = Slices(&mut self.resident[..]);
        let parts =
            self.counts.iter().map(|count| column.take(*count * self.stored.width)).collect();
        (parts, &self.stored)
    }

    /// Shows the bytes of all states, lane by lane in the order of the edges.
    pub(crate) fn each(&self, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        let mut first = 0;
        for (count, pieces) in self.counts.iter().zip(&self.stored.pieces) {
            let end = first + count * self.stored.width;
            visit(&self.resident[first..end])?;
            first = end;
            for piece in pieces {
                let mut slab = self.stored.arena.take()?;
                self.stored.volume()?.read_at_once(piece.place, &mut slab)?;
                visit(self.stored.verified(piece, &slab)?)?;
            }
        }
        Ok(())
    }

    /// Sets all states, in the same order.
    pub(crate) fn fill(&mut self, fill: &mut Fill<'_>) -> Result<(), EngineError> {
        let mut resident = Slices(&mut self.resident[..]);
        for (count, pieces) in self.counts.iter().zip(&self.stored.pieces) {
            fill(resident.take(*count * self.stored.width))?;
            for piece in pieces {
                let mut slab = self.stored.arena.take()?;
                fill(&mut slab.bytes_mut()[..piece.place.bytes as usize])?;
                piece.seal(&mut slab);
                self.stored.volume()?.write_at_once(piece.place, &mut slab)?;
            }
        }
        Ok(())
    }
}

impl Stored {
    /// Where the states are, of which there are some.
    fn volume(&self) -> Result<&Volume, EngineError> {
        Ok(&self.volume.as_ref().ok_or_else(other_edges)?.0)
    }

    /// The states of a piece that was read.
    fn verified<'s>(&self, piece: &Piece, slab: &'s Slab) -> Result<&'s [u8], EngineError> {
        let bytes = &slab.bytes()[..piece.place.bytes as usize];
        if checksum::of(bytes) != piece.checksum.load(Ordering::Relaxed) {
            let what = "states of edges are not what was written";
            return Err(self.volume()?.damaged(piece.place, what).into());
        }
        Ok(bytes)
    }
}

impl Piece {
    /// Notes what the states are that are about to be written.
    fn seal(&self, slab: &mut Slab) {
        let bytes = self.place.bytes as usize;
        slab.bytes_mut()[bytes..self.place.rounded_bytes()].fill(0);
        self.checksum.store(checksum::of(&slab.bytes()[..bytes]), Ordering::Relaxed);
    }
}

/// One worker's way along the states of lanes in an iteration.
pub(crate) struct Rewriter<'s> {
    stored: &'s Stored,
    queue: Option<(&'s Arc<Volume>, Queue<Slab>)>,
    /// Whether nothing was written yet, so that there is nothing to read.
    fresh: bool,
    /// Pieces that will be wanted, in that order. The first ones are being read.
    wanted: VecDeque<PendingPiece<'s>>,
    /// Number of the first of these.
    first: u64,
    /// Number of these that are being read or have been.
    issued: usize,
    writing: usize,
    /// The lane that was announced last.
    announced: Option<usize>,
    /// Bytes of states of the lane that are in memory and have been shown.
    shown: usize,
    /// Pieces of the stripe that have not.
    left: usize,
    /// The piece that is being changed.
    open: Option<Open<'s>>,
}

/// A piece that will be wanted, once it has been read.
struct PendingPiece<'s> {
    piece: &'s Piece,
    slab: Option<Slab>,
}

/// A piece in memory.
struct Open<'s> {
    piece: &'s Piece,
    slab: Slab,
    /// Bytes of states that have been shown.
    shown: usize,
}

impl<'s> Rewriter<'s> {
    /// Begins an iteration; `fresh`: the first one.
    pub(crate) fn new(stored: &'s Stored, fresh: bool) -> Result<Self, EngineError> {
        let queue = match &stored.volume {
            Some((volume, io)) => Some((volume, Queue::new(io, 2 * STATES_IN_FLIGHT)?)),
            None => None,
        };
        Ok(Self {
            stored,
            queue,
            fresh,
            wanted: VecDeque::new(),
            first: 0,
            issued: 0,
            writing: 0,
            announced: None,
            shown: 0,
            left: 0,
            open: None,
        })
    }

    /// Begins a lane. `next`: the one that the worker will begin then.
    pub(crate) fn begin(&mut self, lane: usize, next: Option<usize>) -> Result<(), EngineError> {
        if self.announced != Some(lane) {
            self.announce(lane);
        }
        if let Some(next) = next {
            self.announce(next);
        }
        (self.announced, self.shown) = (next, 0);
        self.left = self.stored.pieces[lane].len();
        self.issue()
    }

    fn announce(&mut self, lane: usize) {
        let pieces = self.stored.pieces[lane].iter();
        self.wanted.extend(pieces.map(|piece| PendingPiece { piece, slab: None }));
    }

    /// The bytes of the next states of the lane: of at least one, and of no more than `most`.
    /// `resident`: those that are in memory.
    pub(crate) fn next<'r>(
        &'r mut self,
        resident: &'r mut [u8],
        most: usize,
    ) -> Result<&'r mut [u8], EngineError> {
        let most = most * self.stored.width;
        if self.shown < resident.len() {
            let rest = &mut resident[self.shown..];
            let count = rest.len().min(most);
            self.shown += count;
            return Ok(&mut rest[..count]);
        }
        let is_done = |open: &Open<'_>| open.shown == length(open.piece);
        if self.open.as_ref().is_none_or(is_done) {
            self.close()?;
            self.open = Some(self.take()?);
        }
        let Some(Open { piece, slab, shown }) = &mut self.open else { return Err(other_edges()) };
        let from = *shown;
        *shown = length(piece).min(from + most);
        Ok(&mut slab.bytes_mut()[from..*shown])
    }

    /// Ends a lane. All of its states must have been shown, `resident` bytes of which are in
    /// memory: an edge that was left out, or met twice, has another one's state.
    pub(crate) fn end(&mut self, resident: usize) -> Result<(), EngineError> {
        let is_open = |open: &Open<'_>| open.shown < length(open.piece);
        if self.left > 0 || self.shown < resident || self.open.as_ref().is_some_and(is_open) {
            return Err(other_edges());
        }
        self.close()
    }

    /// Waits until all is written.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        while self.writing > 0 {
            self.wait()?;
        }
        Ok(())
    }

    /// The piece that is wanted first.
    fn take(&mut self) -> Result<Open<'s>, EngineError> {
        self.left = self.left.checked_sub(1).ok_or_else(other_edges)?;
        self.issue()?;
        while self.wanted.front().is_some_and(|front| front.slab.is_none()) {
            self.wait()?;
        }
        let front = self.wanted.pop_front().ok_or_else(other_edges)?;
        let PendingPiece { piece, slab: Some(slab) } = front else { return Err(other_edges()) };
        self.first += 1;
        self.issued -= 1;
        if !self.fresh {
            self.stored.verified(piece, &slab)?;
        }
        self.issue()?;
        Ok(Open { piece, slab, shown: 0 })
    }

    /// Begins to read what is wanted next, as far as there may be slabs for it.
    fn issue(&mut self) -> Result<(), EngineError> {
        let Some((volume, queue)) = &mut self.queue else { return Ok(()) };
        while self.issued < STATES_IN_FLIGHT.min(self.wanted.len()) {
            let wanted = &mut self.wanted[self.issued];
            let mut slab = self.stored.arena.take()?;
            if self.fresh {
                slab.bytes_mut().fill(0);
                wanted.slab = Some(slab);
            } else {
                let tag = self.first + self.issued as u64;
                queue.read(volume, wanted.piece.place, slab, tag)?;
            }
            self.issued += 1;
        }
        assert!(self.issued + self.writing < STATE_SLABS, "as many slabs as are planned for");
        Ok(())
    }

    /// Writes the piece that was changed, some time.
    fn close(&mut self) -> Result<(), EngineError> {
        let Some(Open { piece, mut slab, .. }) = self.open.take() else { return Ok(()) };
        while self.writing >= STATES_IN_FLIGHT {
            self.wait()?;
        }
        let Some((volume, queue)) = &mut self.queue else { return Err(other_edges()) };
        piece.seal(&mut slab);
        queue.write(volume, piece.place, slab, 0)?;
        self.writing += 1;
        Ok(())
    }

    fn wait(&mut self) -> Result<(), EngineError> {
        let Some((_, queue)) = &mut self.queue else { return Err(other_edges()) };
        let done = queue.wait()?.ok_or_else(other_edges)?;
        if done.wrote {
            self.writing -= 1;
        } else {
            self.wanted[(done.tag - self.first) as usize].slab = Some(done.memory);
        }
        Ok(())
    }
}

/// Bytes of the states of a piece.
fn length(piece: &Piece) -> usize {
    piece.place.bytes as usize
}

/// Error of asking for more or fewer states than a lane has edges.
fn other_edges() -> EngineError {
    EngineError::Invariant("a stripe has as many edges as were counted")
}
