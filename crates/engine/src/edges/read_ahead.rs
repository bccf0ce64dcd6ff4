//! The chunks of one stripe after the other, of which those on storage are read ahead.
//!
//! A worker says which stripe it is at and which it will take next. While it folds what it has, a
//! few slabs of what comes are being read, across the end of the stripe, so that either the
//! processor or the device always has something to do. What is not wanted is not read: of a slab
//! the pages from the first to the last chunk of a run without long gaps.
//!
//! Invariant: a worker holds at most as many slabs that are read or waiting as the plan says, which
//! is [`DEPTH`](crate::machine::storage::DEPTH) unless the device was measured, and one more that
//! it looks at. Asserted in `ReadAhead::issue`.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::chunk::Chunk;
use welter_store::frame::Compression;
use welter_store::io::{ALIGN, Place, Queue};

use crate::EngineError;
use crate::edges::frames::Frames;
use crate::edges::graph::{Graph, Stored, Stripe};
use crate::edges::slab_location::ChunkPlace;
use crate::edges::slab_location::SlabLocation;
use crate::machine::arena::Slab;
use crate::machine::nontemporal;

/// One worker's way to chunks.
pub(crate) struct ReadAhead<'g> {
    graph: &'g Graph,
    stored: Option<(&'g Stored, Queue<Slab>)>,
    frames: Frames,
    /// Slabs that may be read or waiting.
    window: usize,
    /// Extents that will be asked for, in that order. The first ones are being read.
    wanted: VecDeque<ChunkRun>,
    /// Number of the first of these.
    first: u64,
    /// How many of these are being read or have been.
    issued: usize,
    /// The task that was announced last.
    announced: Option<usize>,
    /// Slabs that are put back to memory yet, as a worker waits for storage: [`BEHIND`].
    behind: u32,
    /// Bytes that were shown, with what had to be read beside them.
    bytes: u64,
}

/// A run of chunks that are read at once.
struct ChunkRun {
    /// Place of their slab on storage.
    stored: Place,
    /// Bytes of the slab that are theirs.
    range: Range<usize>,
    slab: Option<Slab>,
}

impl ChunkRun {
    /// Where they are read from, and where in their slab that begins.
    fn place(&self) -> (Place, usize) {
        let start = self.range.start / ALIGN * ALIGN;
        let (offset, bytes) = (self.stored.offset + start as u64, (self.range.end - start) as u32);
        (Place { offset, bytes, ..self.stored }, start)
    }
}

/// Whether a chunk is among those of a run.
fn within(chunk: &Range<usize>, run: &Range<usize>) -> bool {
    run.start <= chunk.start && chunk.end <= run.end
}

/// Bytes between two chunks that are sooner read than left out.
const GAP: usize = 64 << 10;

/// Slabs that are put back to memory after they were shown, since a worker had to wait for one.
///
/// Where a program is the device, as on many virtual machines, it copies what it read to where a
/// core has just looked, and lines that are in the cache of another core are slow to get. A core
/// that waits has the time to take them out of its own. R-MAT 24 with all edges on storage,
/// compressed, 2 threads, ten iterations, 25 runs in turns: 2.6 to 4.4 s without (mean 3.4), 2.8 to
/// 3.4 so (3.1), 2.8 to 4.1 if all slabs are put back (3.1). Requests alone, with as much work
/// between them as a fold, got 1.4 to 2.5 GB/s where that read what had come, and 2.2 to 2.4 (once
/// 1.8) where it also put it back.
const BEHIND: u32 = 16;

/// Why a chunk was not shown to its end.
enum VisitError {
    /// It is not what was written.
    Damaged(EngineError),
    /// Error of the function that looked at it.
    Failed(EngineError),
}

impl VisitError {
    fn error(self) -> EngineError {
        match self {
            Self::Damaged(error) | Self::Failed(error) => error,
        }
    }
}

/// Numbers of chunks of a stripe that are wanted, in the order in which they are shown.
type ChunkNumbers<'w> = Box<dyn Iterator<Item = usize> + 'w>;

/// A function that is shown chunks with their places, and whether they were read just now.
type Visit<'v> = dyn FnMut(&Stripe, &ChunkPlace, Chunk<'_>, bool) -> Result<(), VisitError> + 'v;

/// A run that was read.
struct ReadSlab<'g> {
    extent: &'g Arc<SlabLocation>,
    range: Range<usize>,
    /// Where in the extent the slab begins.
    start: usize,
    slab: Slab,
}

impl<'g> ReadAhead<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        let stored = graph.stored.as_ref();
        let window = graph.plan.io_depth();
        let queue = |stored: &'g Stored| Ok((stored, Queue::reading(&stored.io, window)?));
        let framed = stored.is_some() && graph.layout.compression != Compression::None;
        Ok(Self {
            graph,
            stored: stored.map(queue).transpose().map_err(|error: StoreError| error)?,
            frames: Frames::new(framed, &graph.arena)?,
            window,
            wanted: VecDeque::new(),
            first: 0,
            issued: 0,
            announced: None,
            behind: 0,
            bytes: 0,
        })
    }

    /// Bytes of the chunks that were shown since this was asked last: what had to be read for
    /// them, or would have been.
    pub(crate) fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }

    /// Shows some chunks of a stripe to `visit`, with the stripe, in the order in which `wants`
    /// gives their numbers. `next`: the stripe that will be asked for after this one. What is
    /// wanted must not change in between.
    pub(crate) fn stripe<'w, W: Iterator<Item = usize> + 'w>(
        &mut self,
        at: (usize, Option<usize>),
        wants: impl Fn(usize) -> W,
        mut visit: impl FnMut(&Stripe, Chunk<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let wants = |stripe| (stripe, Box::new(wants(stripe)) as ChunkNumbers<'w>);
        self.each(at, &wants, &mut |stripe, place, chunk, is_read| {
            if is_read {
                chunk
                    .verify()
                    .map_err(|error| VisitError::Damaged(Graph::damaged(place, error)))?;
            }
            visit(stripe, chunk).map_err(VisitError::Failed)
        })
    }

    /// Shows chunks to tasks of any kind, of which `wants` also gives the stripe, and a part of a
    /// chunk at a time. A part is shown right after its checksum was looked at, while it is in the
    /// first-level cache, and not twice through the second-level one, past the accumulators. With
    /// faster checksums that took ten iterations of R-MAT 24, with all edges on storage, from 3.7
    /// to 3.5 s by a ring and from 4.4 to 3.9 by threads (medians of six runs, 2 threads).
    pub(crate) fn parts<'w, W: Iterator<Item = usize> + 'w>(
        &mut self,
        at: (usize, Option<usize>),
        wants: impl Fn(usize) -> (usize, W),
        mut visit: impl FnMut(&Stripe, &ChunkPlace, Chunk<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let wants = |task| {
            let (stripe, chunks) = wants(task);
            (stripe, Box::new(chunks) as ChunkNumbers<'w>)
        };
        self.each(at, &wants, &mut |stripe, place, chunk, is_read| {
            if !is_read {
                return visit(stripe, place, chunk).map_err(VisitError::Failed);
            }
            for part in chunk.verified() {
                let part =
                    part.map_err(|error| VisitError::Damaged(Graph::damaged(place, error)))?;
                visit(stripe, place, part).map_err(VisitError::Failed)?;
            }
            Ok(())
        })
    }

    /// Shows chunks with their places, and whether they were read and no worker has looked at their
    /// checksums yet. It is compiled once: what is called for a chunk need not be known for that.
    fn each<'w>(
        &mut self,
        (task, next): (usize, Option<usize>),
        wants: &dyn Fn(usize) -> (usize, ChunkNumbers<'w>),
        visit: &mut Visit<'_>,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let source = self.stored.as_ref().map(|(stored, _)| *stored);
        if self.announced != Some(task) {
            self.announce(wants(task));
        }
        if let Some(next) = next {
            self.announce(wants(next));
        }
        self.announced = next;
        let (number, chunks) = wants(task);
        let stripe = &graph.stripes[number];
        let mut held: Option<ReadSlab<'_>> = None;
        for place in chunks.map(|chunk| &stripe.chunks[chunk]) {
            let SlabLocation::Stored(stored) = &*place.extent else {
                self.bytes += place.range.len() as u64;
                let chunk = graph.open(stripe, place)?;
                visit(stripe, place, chunk, false).map_err(VisitError::error)?;
                continue;
            };
            let has = |held: &ReadSlab<'_>| {
                Arc::ptr_eq(held.extent, &place.extent) && within(&place.range, &held.range)
            };
            let run = match held.take() {
                Some(held) if has(&held) => held,
                other => {
                    // Its memory is free before more is asked for.
                    self.put_back(other);
                    self.take(&place.extent)?
                }
            };
            let bytes = place.range.start - run.start..place.range.end - run.start;
            let bytes = &run.slab.bytes()[bytes];
            let plain = self.frames.chunk(bytes).map_err(|error| Graph::damaged(place, error));
            let opened = plain.and_then(|bytes| graph.open_bytes(stripe, place, bytes));
            let sound = opened.map_err(VisitError::Damaged).and_then(|chunk| {
                graph.verify_edges(stripe, place, &chunk).map_err(VisitError::Damaged)?;
                Ok(chunk)
            });
            let shown = sound.and_then(|chunk| visit(stripe, place, chunk, true));
            shown.map_err(|shown| match shown {
                VisitError::Damaged(error) => name(source, *stored, &error),
                VisitError::Failed(error) => error,
            })?;
            held = Some(run);
        }
        self.put_back(held);
        Ok(())
    }

    /// Frees the slab of a run that was shown.
    fn put_back(&self, held: Option<ReadSlab<'_>>) {
        if let Some(ReadSlab { range, start, slab, .. }) = held
            && self.behind > 0
        {
            nontemporal::put_back(&slab.bytes()[range.start - start..range.end - start]);
        }
    }

    /// Notes the stored chunks of a stripe that will be wanted.
    fn announce(&mut self, (number, wants): (usize, ChunkNumbers<'_>)) {
        let mut last: Option<&Arc<SlabLocation>> = None;
        for place in wants.map(|chunk| &self.graph.stripes[number].chunks[chunk]) {
            let SlabLocation::Stored(stored) = &*place.extent else { continue };
            let goes_on = last.is_some_and(|last| Arc::ptr_eq(last, &place.extent));
            match self.wanted.back_mut().filter(|_| goes_on) {
                Some(ChunkRun { range, .. }) if within(&place.range, range) => {}
                Some(ChunkRun { range, .. })
                    if (range.end..range.end + GAP).contains(&place.range.start) =>
                {
                    range.end = place.range.end;
                }
                _ => {
                    let range = place.range.clone();
                    self.wanted.push_back(ChunkRun { stored: *stored, range, slab: None });
                }
            }
            last = Some(&place.extent);
        }
    }

    /// The run that is wanted first, which is in this extent.
    fn take(&mut self, extent: &'g Arc<SlabLocation>) -> Result<ReadSlab<'g>, EngineError> {
        self.issue()?;
        let Some((_, queue)) = &mut self.stored else { return Err(nothing_stored()) };
        self.behind = self.behind.saturating_sub(1);
        while self.wanted.front().is_some_and(|front| front.slab.is_none()) {
            let done = if let Some(done) = queue.try_wait()? {
                done
            } else {
                self.behind = BEHIND;
                queue.wait()?.ok_or_else(nothing_stored)?
            };
            self.wanted[(done.tag - self.first) as usize].slab = Some(done.memory);
        }
        let Some(front) = self.wanted.pop_front() else { return Err(nothing_stored()) };
        let (place, start) = front.place();
        let ChunkRun { range, slab: Some(slab), .. } = front else { return Err(nothing_stored()) };
        self.bytes += u64::from(place.bytes);
        self.first += 1;
        self.issued -= 1;
        self.issue()?;
        Ok(ReadSlab { extent, range, start, slab })
    }

    /// Begins to read what is wanted next, as far as there may be slabs for it.
    fn issue(&mut self) -> Result<(), EngineError> {
        let Some((stored, queue)) = &mut self.stored else { return Ok(()) };
        while self.issued < self.window.min(self.wanted.len()) {
            let (place, _) = self.wanted[self.issued].place();
            let tag = self.first + self.issued as u64;
            queue.read(&stored.volume, place, self.graph.arena.take()?, tag)?;
            self.issued += 1;
        }
        assert!(self.issued <= self.window, "as many slabs as the plan says");
        Ok(())
    }
}

/// An error with the name of the file that the bytes came from.
fn name(source: Option<&Stored>, place: Place, error: &EngineError) -> EngineError {
    match source {
        Some(stored) => stored.volume.damaged(place, error.to_string()).into(),
        None => nothing_stored(),
    }
}

/// A stored extent was looked for and not announced.
fn nothing_stored() -> EngineError {
    EngineError::internal("a chunk on storage was asked for and never announced")
}
