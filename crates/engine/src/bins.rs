//! The partition of edges into bins, one for each stripe of destinations and group of sources.
//!
//! Edges are appended to one cache line a bin, and lines go to memory when they are full, so that
//! thousands of bins are written at the speed of memory and not of its latency. A bin is a list of
//! segments in slabs. Consecutive bins make a *lot* and share slabs with no other lot: when a lot
//! is written into chunks, its slabs are free, and the next chunks go there.
//!
//! Where bins may overflow, a segment is filled in a place of its own and then copied to a slab of
//! its lot, so that a slab is full at a time that is known, and can be written to storage.
//!
//! Invariant: within a bin, edges keep the order of the input (parts are dealt to workers in
//! consecutive runs, and a bin is the concatenation of what the workers put there).

use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;
use welter_model::edges::{Batch, EdgeStream, Reading};
use welter_progress::{Progress, Unit};
use welter_store::io::{IoOptions, Volume};

use crate::EngineError;
use crate::apart::Apart;
use crate::arena::{Arena, Buffer, SLAB_BYTES, Slab};
use crate::cuts::{Cuts, Lots};
use crate::extent::{Kept, Shelved, SlabWriter, Source};
use crate::nontemporal::{LINE_BYTES, copy_line, fence};
use crate::record::{Line, Record, Waiting};
use crate::survey::first_beyond;
use crate::workers::Workers;

/// Lines of a segment of a bin: 4 KiB. The last segment of each bin is half empty.
const SEGMENT_LINES: usize = 64;
pub(crate) const SEGMENT_BYTES: usize = SEGMENT_LINES * LINE_BYTES;

/// Where the edges go: the cuts of both axes, and which bins share slabs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) groups: &'a Cuts,
    pub(crate) stripes: &'a Cuts,
    pub(crate) lots: &'a Lots,
}

impl Grid<'_> {
    fn bins(&self) -> usize {
        self.groups.len() * self.stripes.len()
    }
}

/// Where bins go that do not fit in memory.
#[derive(Clone, Copy)]
pub(crate) struct Overflow<'a> {
    pub(crate) volume: &'a Arc<Volume>,
    pub(crate) io: &'a IoOptions,
    /// Bytes of slabs in use from which on full ones are written.
    pub(crate) used_most: u64,
}

/// All edges to one stripe of destinations, by group of sources. Memory is free when the bins of a
/// lot have been dropped.
pub(crate) type StripeBins = Vec<Bin>;

/// All edges from one group of sources to one stripe of destinations.
pub(crate) struct Bin {
    /// What each worker put here, in the order of the input.
    parts: Vec<Part>,
}

struct Part {
    /// The slabs of the worker's lot.
    slabs: Arc<Shelved>,
    segments: Vec<Segment>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) slab: u32,
    /// First byte in the slab.
    pub(crate) offset: u32,
    /// Number of edges.
    edges: u32,
    /// Of its bytes, where slabs may be written; else 0.
    pub(crate) checksum: u32,
}

impl Bin {
    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        let segments = self.parts.iter().flat_map(|part| &part.segments);
        segments.map(|segment| segment.edges as usize).sum()
    }

    /// What it is in, of each worker.
    pub(crate) fn shelves(&self) -> impl Iterator<Item = &Arc<Shelved>> {
        self.parts.iter().map(|part| &part.slabs)
    }

    /// The bin, read where it is stored.
    pub(crate) fn open<'a>(
        &'a self,
        source: Option<Source<'a>>,
    ) -> Result<OpenBin<'a>, EngineError> {
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let slabs = match part.slabs.apart() {
                Some(slabs) => Slabs::Apart(Apart { slabs, source }),
                None => Slabs::Read(part.slabs.slabs(source)?),
            };
            parts.push((slabs, &part.segments[..]));
        }
        Ok(OpenBin { parts })
    }
}

/// A bin in memory, or one that is read while it is looked at.
pub(crate) struct OpenBin<'a> {
    parts: Vec<(Slabs<'a>, &'a [Segment])>,
}

enum Slabs<'a> {
    Read(&'a [Slab]),
    Apart(Apart<'a>),
}

impl OpenBin<'_> {
    /// Writes the edges to `records`, as many as [`Bin::edges`] says, in the order of the input,
    /// with keys made of the places of both ends in their group and stripe.
    pub(crate) fn write<W: Waiting>(
        &self,
        origin: Origin,
        mut records: &mut [W::Record],
    ) -> Result<(), EngineError> {
        self.lines::<W>(|line, edges| {
            let (front, rest) = std::mem::take(&mut records).split_at_mut(edges);
            for (place, record) in front.iter_mut().enumerate() {
                *record = origin.record::<W>(line, place);
            }
            records = rest;
        })
    }

    /// Hands all edges to `visit`, as [`Self::write`] writes them.
    pub(crate) fn each<W: Waiting>(
        &self,
        origin: Origin,
        mut visit: impl FnMut(W::Record),
    ) -> Result<(), EngineError> {
        self.lines::<W>(|line, edges| {
            for place in 0..edges {
                visit(origin.record::<W>(line, place));
            }
        })
    }

    /// The lines with the number of edges in each, in the order of the input.
    #[inline(always)]
    fn lines<W: Waiting>(&self, mut visit: impl FnMut(&Line, usize)) -> Result<(), EngineError> {
        let bytes = |it: &Segment| (it.edges as usize).div_ceil(W::PER_LINE) * LINE_BYTES;
        let mut segment = |segment: &Segment, bytes: &[u8]| {
            let mut left = segment.edges as usize;
            for line in cast_slice::<u8, Line>(bytes) {
                let edges = left.min(W::PER_LINE);
                visit(line, edges);
                left -= edges;
            }
        };
        for (slabs, segments) in &self.parts {
            match slabs {
                Slabs::Read(slabs) => segments.iter().for_each(|it| {
                    let slab = slabs[it.slab as usize].bytes();
                    segment(it, &slab[it.offset as usize..][..bytes(it)]);
                }),
                Slabs::Apart(apart) => apart.each(segments, bytes, &mut segment)?,
            }
        }
        Ok(())
    }
}

/// Where the slots of a cell begin, and where the key of a record is divided.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) source: u32,
    pub(crate) target: u32,
    /// Low bits of the key that hold the destination.
    pub(crate) target_bits: u32,
}

impl Origin {
    #[inline(always)]
    fn record<W: Waiting>(self, line: &Line, place: usize) -> W::Record {
        let (source, target, weight) = W::read(line, place);
        // Bits that the line dropped are those of the origin, or one more: the range is no wider.
        let mask = u32::MAX >> (u32::BITS - W::SLOT_BITS);
        let source = source.wrapping_sub(self.source) & mask;
        let target = target.wrapping_sub(self.target) & mask;
        W::Record::new(u64::from(source) << self.target_bits | u64::from(target), weight)
    }
}

/// Whether lines of this kind can tell the slots of every group and stripe apart.
pub(crate) fn fits<W: Waiting>(grid: Grid<'_>, slots: u64) -> bool {
    let narrow = |slots: Range<u64>| slots.end - slots.start <= 1 << W::SLOT_BITS;
    (0..grid.groups.len()).all(|run| narrow(grid.groups.slots(run, slots)))
        && (0..grid.stripes.len()).all(|run| narrow(grid.stripes.slots(run, slots)))
}

/// Reads a stream of edges between `slots` slots and puts them into bins. Returns them by stripe
/// and group.
pub(crate) fn partition<W: Waiting>(
    stream: &dyn EdgeStream,
    slots: u64,
    reading: Reading,
    grid: Grid<'_>,
    (arena, overflow): (&Arena, Option<Overflow<'_>>),
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<StripeBins>, EngineError> {
    let phase = progress.phase("partition", Unit::Edges, Some(stream.edges()));
    let (parts, threads) = (stream.parts(), workers.threads());
    let made = workers.each(|worker| {
        let mut writer = Writer::<W>::new(grid, arena, overflow)?;
        for part in parts * worker / threads..parts * (worker + 1) / threads {
            let mut failed = None;
            stream.read(part, &mut |batch| {
                // Looked at again: the survey saw a sample only, or the input changed since.
                let done = match first_beyond(&batch, slots) {
                    Some(vertex) => Err(EngineError::Vertex { vertex, slots }),
                    None => writer.add(&batch, reading),
                };
                phase.add(batch.pairs.len() as u64);
                failed = done.err();
                failed.is_none() && !progress.cancelled()
            })?;
            if progress.cancelled() {
                return Err(EngineError::Cancelled);
            }
            failed.map_or(Ok(()), Err)?;
        }
        writer.finish()
    })?;
    // From worker-major to stripe-major, the order of the workers kept.
    let mut bins = made.into_iter().map(Vec::into_iter).collect::<Vec<_>>();
    let mut bin = || Bin { parts: bins.iter_mut().filter_map(|parts| parts.next()?).collect() };
    let stripe = |_| (0..grid.groups.len()).map(|_| bin()).collect();
    Ok((0..grid.stripes.len()).map(stripe).collect())
}

/// One worker's lines and segments. What is touched at every edge lies close together.
struct Writer<'a, W> {
    grid: Grid<'a>,
    arena: &'a Arena,
    /// The open line of each bin, by stripe and then group.
    lines: Buffer<Line>,
    /// Edges in the open line of each bin.
    waiting: Vec<u8>,
    bins: Vec<OpenSegments>,
    lots: Vec<Lot>,
    spill: Option<Spill<'a>>,
    kind: std::marker::PhantomData<W>,
}

/// The segments of a bin.
#[derive(Clone, Default)]
struct OpenSegments {
    /// The open segment: where it is, and how many lines were written to it.
    slab: u32,
    offset: u32,
    lines: u32,
    closed: Vec<Segment>,
}

/// One worker's slabs for a lot of bins.
#[derive(Default)]
struct Lot {
    slabs: Vec<Kept>,
    /// The slab that segments are put into.
    open: Option<Slab>,
    /// Where the next segment begins in the last slab.
    offset: usize,
}

impl Lot {
    /// Room for a segment in a slab that is in memory.
    fn segment(&mut self, arena: &Arena) -> Result<(u32, u32), EngineError> {
        if self.slabs.is_empty() || self.offset == SLAB_BYTES {
            self.slabs.push(Kept::Memory(arena.take()?));
            self.offset = 0;
        }
        let offset = self.offset;
        self.offset += SEGMENT_BYTES;
        Ok((self.slabs.len() as u32 - 1, offset as u32))
    }
}

/// Where one worker's segments are filled, and how their slabs are written.
struct Spill<'a> {
    segments: Buffer<Line>,
    writer: SlabWriter,
    overflow: Overflow<'a>,
}

impl Spill<'_> {
    /// Copies the first lines of a bin's segment to a slab of its lot, and says where to, and what
    /// their checksum is.
    fn close(
        &mut self,
        index: usize,
        lines: usize,
        lot: &mut Lot,
        arena: &Arena,
    ) -> Result<(u32, u32, u32), EngineError> {
        let bytes = lines * LINE_BYTES;
        if let Some(slab) = lot.open.take_if(|_| lot.offset + bytes > SLAB_BYTES) {
            self.put_away(slab, lot, arena)?;
        }
        if lot.open.is_none() {
            (lot.open, lot.offset) = (Some(arena.take()?), 0);
        }
        let offset = lot.offset;
        let from = &self.segments[index * SEGMENT_LINES..][..lines];
        let from: &[u8] = cast_slice(from);
        if let Some(slab) = &mut lot.open {
            slab.bytes_mut()[offset..offset + bytes].copy_from_slice(from);
        }
        lot.offset += bytes;
        Ok((lot.slabs.len() as u32, offset as u32, crc32c::crc32c(from)))
    }

    /// Keeps a slab or writes it.
    fn put_away(&mut self, slab: Slab, lot: &mut Lot, arena: &Arena) -> Result<(), EngineError> {
        let kept = if arena.used_bytes() <= self.overflow.used_most {
            Kept::Memory(slab)
        } else {
            let checksum = crc32c::crc32c(&slab.bytes()[..lot.offset]);
            Kept::Stored(self.writer.write(slab, lot.offset)?, checksum)
        };
        lot.slabs.push(kept);
        Ok(())
    }
}

impl<'a, W: Waiting> Writer<'a, W> {
    fn new(
        grid: Grid<'a>,
        arena: &'a Arena,
        overflow: Option<Overflow<'a>>,
    ) -> Result<Self, EngineError> {
        let bins = grid.bins();
        let mut lots = Vec::new();
        lots.resize_with(grid.lots.count(), Lot::default);
        let spill = |overflow: Overflow<'a>| {
            Ok::<_, EngineError>(Spill {
                segments: Buffer::zeroed(bins * SEGMENT_LINES)?,
                writer: SlabWriter::new(overflow.volume, overflow.io)?,
                overflow,
            })
        };
        Ok(Self {
            grid,
            arena,
            lines: Buffer::zeroed(bins)?,
            waiting: vec![0; bins],
            bins: vec![OpenSegments::default(); bins],
            lots,
            spill: overflow.map(spill).transpose()?,
            kind: std::marker::PhantomData,
        })
    }

    fn add(&mut self, batch: &Batch<'_>, reading: Reading) -> Result<(), EngineError> {
        let plain = !(reading.undirected || reading.reversed || reading.drop_self_loops);
        if W::Record::WEIGHTED || !plain {
            return self.add_carefully(batch, reading);
        }
        for &[source, target] in batch.pairs {
            self.push(source, target, 1.0)?;
        }
        Ok(())
    }

    fn add_carefully(&mut self, batch: &Batch<'_>, reading: Reading) -> Result<(), EngineError> {
        for (edge, &[source, target]) in batch.pairs.iter().enumerate() {
            let [source, target] =
                if reading.reversed { [target, source] } else { [source, target] };
            let weight = batch.weights.map_or(1.0, |weights| weights[edge]);
            let is_loop = source == target;
            if is_loop && reading.drop_self_loops {
                continue;
            }
            self.push(source, target, weight)?;
            if reading.undirected && !is_loop {
                self.push(target, source, weight)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn push(&mut self, source: u32, target: u32, weight: f64) -> Result<(), EngineError> {
        let stripe = self.grid.stripes.run(target);
        let bin = stripe * self.grid.groups.len() + self.grid.groups.run(source);
        let waiting = &mut self.waiting[bin];
        let place = usize::from(*waiting);
        *waiting += 1;
        W::write(&mut self.lines[bin], place, source, target, weight);
        if place + 1 == W::PER_LINE { self.flush(bin) } else { Ok(()) }
    }

    /// Writes out the open line of a bin.
    #[inline(never)]
    fn flush(&mut self, index: usize) -> Result<(), EngineError> {
        let lot = &mut self.lots[self.grid.lots.of(index)];
        let bin = &mut self.bins[index];
        let line = bin.lines as usize;
        if let Some(spill) = &mut self.spill {
            // Past the cache too: together the segments are larger than it, and a line that is
            // first read costs more than all else that is done here.
            copy_line(&mut spill.segments[index * SEGMENT_LINES + line].0, &self.lines[index].0);
        } else {
            if line == 0 {
                (bin.slab, bin.offset) = lot.segment(self.arena)?;
            }
            let offset = bin.offset as usize + line * LINE_BYTES;
            if let Kept::Memory(slab) = &mut lot.slabs[bin.slab as usize] {
                let (to, _) = slab.bytes_mut()[offset..].as_chunks_mut::<LINE_BYTES>();
                copy_line(&mut to[0], &self.lines[index].0);
            }
        }
        let open = usize::from(std::mem::take(&mut self.waiting[index]));
        bin.lines += 1;
        if bin.lines as usize == SEGMENT_LINES || open < W::PER_LINE {
            self.close(index, open)?;
        }
        Ok(())
    }

    /// Closes the open segment of a bin, the last line of which holds `open` edges.
    fn close(&mut self, index: usize, open: usize) -> Result<(), EngineError> {
        let bin = &mut self.bins[index];
        let lines = std::mem::take(&mut bin.lines) as usize;
        let mut checksum = 0;
        if let Some(spill) = &mut self.spill {
            let lot = &mut self.lots[self.grid.lots.of(index)];
            (bin.slab, bin.offset, checksum) = spill.close(index, lines, lot, self.arena)?;
        }
        let edges = ((lines - 1) * W::PER_LINE + open) as u32;
        bin.closed.push(Segment { slab: bin.slab, offset: bin.offset, edges, checksum });
        Ok(())
    }

    /// Writes out the open lines and hands over the bins.
    fn finish(mut self) -> Result<Vec<Option<Part>>, EngineError> {
        for index in 0..self.bins.len() {
            if self.waiting[index] > 0 {
                self.flush(index)?;
            }
            if self.bins[index].lines > 0 {
                self.close(index, W::PER_LINE)?;
            }
        }
        if let Some(mut spill) = self.spill {
            for lot in &mut self.lots {
                if let Some(slab) = lot.open.take() {
                    spill.put_away(slab, lot, self.arena)?;
                }
            }
            spill.writer.finish()?;
        }
        fence();
        let shelve = |lot: Lot| Arc::new(Shelved::new(lot.slabs));
        let lots: Vec<_> = self.lots.into_iter().map(shelve).collect();
        let part = |(index, bin): (usize, OpenSegments)| {
            let slabs = Arc::clone(&lots[self.grid.lots.of(index)]);
            (!bin.closed.is_empty()).then_some(Part { slabs, segments: bin.closed })
        };
        Ok(self.bins.into_iter().enumerate().map(part).collect())
    }
}
