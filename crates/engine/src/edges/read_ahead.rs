//! The chunks of one stripe after the other, of which those on storage are read ahead.
//!
//! A worker says which stripe it is at and can be asked which it will take then. While it folds
//! what it has, a few slabs of what comes are being read, across the ends of as many stripes as
//! these slabs are of, so that either the processor or the device always has something to do.
//! Stripes are asked for no sooner than there are slabs for them: what one worker reads ahead no
//! other worker can take. What is not wanted is not read: of a slab the pages from the first to the
//! last chunk of a run without long gaps.
//!
//! Invariants: a worker holds at most as many slabs that are read or waiting as the plan says,
//! which is [`DEPTH`](crate::machine::storage::DEPTH) unless the device was measured, and one more
//! that it looks at · tasks are shown in the order in which they were announced. Asserted in
//! `ReadAhead::issue`. Tested by `slabs_are_read_across_the_ends_of_stripes` and
//! `a_task_that_comes_before_its_turn_is_an_error`.

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
    /// Number of these that are being read or have been.
    issued: usize,
    /// Tasks after the current one that were announced, in their order.
    announced: VecDeque<usize>,
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

/// Reason why a chunk was not shown to its end.
enum VisitError {
    /// The chunk is not what was written.
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

/// Number of the task that is at a place behind a worker's next one, counted from 0; `None` where
/// the worker has none there yet.
pub(crate) type UpcomingTasks<'t> = dyn FnMut(usize) -> Option<usize> + 't;

/// Upcoming tasks of a worker that does the current one `again` times more before the next one. How
/// often the worker does that one is not known yet, so none is behind it.
pub(crate) fn repeated(
    (task, again): (usize, usize),
    upcoming: &mut UpcomingTasks<'_>,
) -> impl FnMut(usize) -> Option<usize> {
    move |place| match place.checked_sub(again) {
        Some(0) => upcoming(0),
        Some(_) => None,
        None => Some(task),
    }
}

/// Tasks that come after the current one, and what each of them wants.
struct Announcer<'t, 'w> {
    upcoming: &'t mut UpcomingTasks<'t>,
    /// The stripe of a task, and its chunks.
    wants: &'t dyn Fn(usize) -> (usize, ChunkNumbers<'w>),
}

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
            announced: VecDeque::new(),
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
    /// gives their numbers. `at`: the stripe, and those that will be asked for after it. What is
    /// wanted must not change in between.
    pub(crate) fn stripe<'w, W: Iterator<Item = usize> + 'w>(
        &mut self,
        at: (usize, &mut UpcomingTasks<'_>),
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
        at: (usize, &mut UpcomingTasks<'_>),
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
        (task, upcoming): (usize, &mut UpcomingTasks<'_>),
        wants: &dyn Fn(usize) -> (usize, ChunkNumbers<'w>),
        visit: &mut Visit<'_>,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let source = self.stored.as_ref().map(|(stored, _)| *stored);
        match self.announced.pop_front() {
            Some(announced) if announced == task => {}
            Some(_) => return Err(EngineError::internal("a task came before its turn")),
            None => self.announce(wants(task)),
        }
        let mut after = Announcer { upcoming, wants };
        self.issue(&mut after)?;
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
                    self.take(&place.extent, &mut after)?
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

    /// Announces tasks until as many runs are wanted as there are slabs for.
    fn look_ahead(&mut self, after: &mut Announcer<'_, '_>) {
        while self.wanted.len() < self.window {
            let Some(task) = (after.upcoming)(self.announced.len()) else { return };
            self.announced.push_back(task);
            self.announce((after.wants)(task));
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
    fn take(
        &mut self,
        extent: &'g Arc<SlabLocation>,
        after: &mut Announcer<'_, '_>,
    ) -> Result<ReadSlab<'g>, EngineError> {
        self.issue(after)?;
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
        self.issue(after)?;
        Ok(ReadSlab { extent, range, start, slab })
    }

    /// Begins to read what is wanted next, as far as there may be slabs for it.
    fn issue(&mut self, after: &mut Announcer<'_, '_>) -> Result<(), EngineError> {
        if self.stored.is_some() {
            self.look_ahead(after);
        }
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

#[cfg(test)]
mod tests {
    use tempfile::TempDir;
    use welter_model::edges::{EdgeList, EdgeStream, Reading};
    use welter_model::ids::IdMap;
    use welter_progress::Progress;
    use welter_store::io::{IoOptions, Requests};

    use super::*;
    use crate::machine::figures::Machine;
    use crate::machine::storage::Storage;
    use crate::machine::workers::Workers;
    use crate::plan::{
        CompressionMode, FoldLayout, Layout, Plan, ProgramKind, Settings, Shape, StorageMode,
    };

    const SLOTS: u32 = 1 << 16;
    /// A number of edges by which no stripe fills a slab.
    const EDGES: u32 = 400_000;

    /// A graph of small stripes whose chunks are all on storage, which is asked for requests of an
    /// eighth of a slab.
    fn stored(in_flight: u32, directory: &TempDir) -> (Graph, Workers) {
        let end = |edge: u32, factor: u32| edge.wrapping_mul(factor) >> 9 & (SLOTS - 1);
        let pair = |edge| [end(edge, 0x9e37_79b1), end(edge, 0x85eb_ca77)];
        let mut list = EdgeList::new(Some(SLOTS.into()), false);
        list.push((0..EDGES).map(pair).collect(), Vec::new());
        let shape = Shape {
            slots: SLOTS.into(),
            edges: list.edges(),
            weighted: false,
            estimated: false,
            input_bytes: 0,
        };
        let (read_bytes, in_flight) = (Some(64 << 10), Some(in_flight));
        let settings = Settings {
            threads: Some(1),
            memory_bytes: Some(1 << 30),
            stripe_bits: Some(12),
            compression: CompressionMode::Stated(Compression::None),
            storage: StorageMode::Always { cache_bytes: 0, values: false },
            requests: Requests { read_bytes, in_flight, ..Requests::default() },
            ..Settings::default()
        };
        let fold = FoldLayout { signal: 4, accum: 4, ..FoldLayout::default() };
        let layout = Layout { value: 4, kind: ProgramKind::Fold(fold), ..Layout::kept() };
        let plan = Plan::new(shape, layout, &settings, &Machine::detect()).unwrap();
        let directories = vec![directory.path().to_owned()];
        let storage = Storage { directories, io: plan.io(&IoOptions::default()) };
        let workers = Workers::new(1).unwrap().with_storage(storage);
        let (ids, reading, progress) = (IdMap::Declared, Reading::default(), Progress::new());
        let graph = Graph::ingest(Box::new(list), &ids, reading, &plan, &workers, &progress);
        (graph.unwrap(), workers)
    }

    #[test]
    fn slabs_are_read_across_the_ends_of_stripes() {
        for (in_flight, window) in [(8, 1), (24, 3), (64, 8)] {
            let directory = TempDir::new().unwrap();
            let (graph, _workers) = stored(in_flight, &directory);
            let stripes = graph.stripes.len();
            assert!(stripes > 12, "{stripes} stripes");
            // Iterations want all stripes, or a third of them.
            for step in [1, 3] {
                let wants = |stripe: usize| {
                    let is_wanted = stripe.is_multiple_of(step);
                    0..graph.stripes[stripe].chunks.len() * usize::from(is_wanted)
                };
                let mut reader = ReadAhead::new(&graph).unwrap();
                assert_eq!(reader.window, window);
                let mut edges = 0;
                for stripe in 0..stripes {
                    let mut upcoming =
                        |place: usize| Some(stripe + 1 + place).filter(|next| *next < stripes);
                    reader
                        .stripe((stripe, &mut upcoming), wants, |_, chunk| {
                            edges += chunk.edges();
                            Ok(())
                        })
                        .unwrap();
                    // Chunks of a stripe lie in one slab or more.
                    let left = (stripe + 1..stripes).filter(|next| next.is_multiple_of(step));
                    let least = window.min(left.count());
                    assert!((least..=window).contains(&reader.issued), "{stripe} of {in_flight}");
                    // No stripe is taken before there are slabs for it.
                    assert!(reader.announced.len() <= window * step, "{stripe} of {in_flight}");
                }
                assert_eq!((reader.issued, reader.wanted.len()), (0, 0));
                let wanted = graph.stripes.iter().step_by(step).map(|stripe| stripe.edges);
                assert_eq!(edges, wanted.sum::<u64>());
            }
        }
    }

    #[test]
    fn a_task_that_comes_before_its_turn_is_an_error() {
        let directory = TempDir::new().unwrap();
        let (graph, _workers) = stored(24, &directory);
        let mut reader = ReadAhead::new(&graph).unwrap();
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        reader.stripe((0, &mut |place| Some(place + 1)), all, |_, _| Ok(())).unwrap();
        let found = reader.stripe((2, &mut |_| None), all, |_, _| Ok(()));
        assert!(matches!(found, Err(EngineError::Internal(_))));
    }

    #[test]
    fn what_comes_again_comes_before_the_next_one() {
        let mut others = |place: usize| [7_usize, 8].get(place).copied();
        let found: Vec<_> = (0..5).map(repeated((3, 2), &mut others)).collect();
        // Task 7 may come again before 8.
        assert_eq!(found, [Some(3), Some(3), Some(7), None, None]);
    }
}
