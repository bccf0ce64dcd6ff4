//! The partition of edges into bins, one for each group of sources and stripe of destinations.
//!
//! Edges are appended to one cache line a bin, and lines go to memory when they are full, so that
//! thousands of bins are written at the speed of memory and not of its latency. A bin is a list of
//! segments in slabs. Consecutive groups of sources make a *lot* and share slabs with no other lot:
//! when a lot is written into chunks, its slabs are free, and the next chunks go there.
//!
//! Invariant: within a bin, edges keep the order of the input (parts are dealt to workers in
//! consecutive runs, and a bin is the concatenation of what the workers put there).

use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;
use welter_model::edges::{Batch, EdgeStream, Reading};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::arena::{Arena, Buffer, SLAB_BYTES, Slab};
use crate::cuts::Cuts;
use crate::nontemporal::{LINE_BYTES, copy_line, fence};
use crate::record::{Line, Record, Waiting};
use crate::survey::first_beyond;
use crate::workers::Workers;

/// Lines of a segment of a bin: 4 KiB. The last segment of each bin is half empty.
const SEGMENT_LINES: usize = 64;
pub(crate) const SEGMENT_BYTES: usize = SEGMENT_LINES * LINE_BYTES;

/// Where the edges go: the cuts of both axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) groups: &'a Cuts,
    pub(crate) stripes: &'a Cuts,
    /// Number of lots that the groups are dealt to, at least 1.
    pub(crate) lots: usize,
}

impl Grid<'_> {
    fn bins(&self) -> usize {
        self.groups.len() * self.stripes.len()
    }

    /// The lot of each group.
    fn lot_of_groups(&self) -> Vec<u16> {
        let groups = self.groups.len().max(1);
        let lots = self.lots.min(groups);
        (0..groups).map(|group| (group * lots / groups) as u16).collect()
    }
}

/// All edges from one group of sources, by stripe, in memory that is free when this is dropped.
pub(crate) struct GroupBins {
    /// What each worker put here, in the order of the input.
    parts: Vec<Part>,
}

struct Part {
    /// Those of the lot.
    slabs: Arc<Vec<Slab>>,
    /// By stripe.
    bins: Vec<Vec<Segment>>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    slab: u32,
    /// First byte in the slab.
    offset: u32,
    /// Number of edges.
    edges: u32,
}

impl GroupBins {
    /// Number of edges to one stripe.
    pub(crate) fn edges(&self, stripe: usize) -> usize {
        let segments = self.parts.iter().flat_map(|part| &part.bins[stripe]);
        segments.map(|segment| segment.edges as usize).sum()
    }

    /// Writes the edges to one stripe to `records`, as many as [`Self::edges`] says, in the order
    /// of the input, with keys made of the places of both ends in their group and stripe.
    pub(crate) fn cell<W: Waiting>(
        &self,
        stripe: usize,
        origin: Origin,
        mut records: &mut [W::Record],
    ) {
        self.lines::<W>(stripe, |line, edges| {
            let (front, rest) = std::mem::take(&mut records).split_at_mut(edges);
            for (place, record) in front.iter_mut().enumerate() {
                *record = origin.record::<W>(line, place);
            }
            records = rest;
        });
    }

    /// Hands all edges to one stripe to `visit`, as [`Self::cell`] writes them.
    pub(crate) fn each<W: Waiting>(
        &self,
        stripe: usize,
        origin: Origin,
        mut visit: impl FnMut(W::Record),
    ) {
        self.lines::<W>(stripe, |line, edges| {
            for place in 0..edges {
                visit(origin.record::<W>(line, place));
            }
        });
    }

    /// The lines of one stripe with the number of edges in each, in the order of the input.
    #[inline(always)]
    fn lines<W: Waiting>(&self, stripe: usize, mut visit: impl FnMut(&Line, usize)) {
        for part in &self.parts {
            for segment in &part.bins[stripe] {
                let bytes = &part.slabs[segment.slab as usize].bytes()[segment.offset as usize..];
                let mut left = segment.edges as usize;
                let lines = left.div_ceil(W::PER_LINE);
                for line in cast_slice::<u8, Line>(&bytes[..lines * LINE_BYTES]) {
                    let edges = left.min(W::PER_LINE);
                    visit(line, edges);
                    left -= edges;
                }
            }
        }
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

/// Reads a stream of edges between `slots` slots and puts them into bins. Returns them by group.
pub(crate) fn partition<W: Waiting>(
    stream: &dyn EdgeStream,
    slots: u64,
    reading: Reading,
    grid: Grid<'_>,
    arena: &Arena,
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<GroupBins>, EngineError> {
    let phase = progress.phase("partition", Unit::Edges, Some(stream.edges()));
    let (parts, threads) = (stream.parts(), workers.threads());
    let mut made = workers.each(|worker| {
        let mut writer = Writer::<W>::new(grid, arena)?;
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
    // From worker-major to group-major, the order of the workers kept.
    Ok((0..grid.groups.len())
        .map(|group| GroupBins {
            parts: made.iter_mut().filter_map(|parts| parts[group].take()).collect(),
        })
        .collect())
}

/// One worker's lines and segments. What is touched at every edge lies close together.
struct Writer<'a, W> {
    grid: Grid<'a>,
    arena: &'a Arena,
    /// The open line of each bin, by group and then stripe.
    lines: Buffer<Line>,
    /// Edges in the open line of each bin.
    waiting: Vec<u8>,
    bins: Vec<Bin>,
    lots: Vec<Lot>,
    lot_of_groups: Vec<u16>,
    kind: std::marker::PhantomData<W>,
}

/// The segments of a bin.
#[derive(Clone, Default)]
struct Bin {
    /// The open segment: where it is, and how many lines were written to it.
    slab: u32,
    offset: u32,
    lines: u32,
    closed: Vec<Segment>,
}

/// One worker's slabs for a lot of groups.
#[derive(Default)]
struct Lot {
    slabs: Vec<Slab>,
    /// Where the next segment begins in the last slab.
    offset: usize,
}

impl Lot {
    fn segment(&mut self, arena: &Arena) -> Result<(u32, u32), EngineError> {
        if self.slabs.is_empty() || self.offset == SLAB_BYTES {
            self.slabs.push(arena.take()?);
            self.offset = 0;
        }
        let offset = self.offset;
        self.offset += SEGMENT_BYTES;
        Ok((self.slabs.len() as u32 - 1, offset as u32))
    }
}

impl<'a, W: Waiting> Writer<'a, W> {
    fn new(grid: Grid<'a>, arena: &'a Arena) -> Result<Self, EngineError> {
        let bins = grid.bins();
        let mut lots = Vec::new();
        lots.resize_with(grid.lots, Lot::default);
        Ok(Self {
            grid,
            arena,
            lines: Buffer::zeroed(bins)?,
            waiting: vec![0; bins],
            bins: vec![Bin::default(); bins],
            lots,
            lot_of_groups: grid.lot_of_groups(),
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
        let group = self.grid.groups.run(source);
        let bin = group * self.grid.stripes.len() + self.grid.stripes.run(target);
        let waiting = &mut self.waiting[bin];
        let place = usize::from(*waiting);
        *waiting += 1;
        W::write(&mut self.lines[bin], place, source, target, weight);
        if place + 1 == W::PER_LINE { self.flush(group, bin) } else { Ok(()) }
    }

    /// Writes out the open line of a bin.
    #[inline(never)]
    fn flush(&mut self, group: usize, index: usize) -> Result<(), EngineError> {
        let lot = &mut self.lots[usize::from(self.lot_of_groups[group])];
        let bin = &mut self.bins[index];
        if bin.lines == 0 {
            (bin.slab, bin.offset) = lot.segment(self.arena)?;
        }
        let offset = bin.offset as usize + bin.lines as usize * LINE_BYTES;
        let slab = lot.slabs[bin.slab as usize].bytes_mut();
        let (to, _) = slab[offset..].as_chunks_mut::<LINE_BYTES>();
        copy_line(&mut to[0], &self.lines[index].0);
        let open = usize::from(std::mem::take(&mut self.waiting[index]));
        bin.lines += 1;
        if bin.lines as usize == SEGMENT_LINES || open < W::PER_LINE {
            let edges = (bin.lines as usize - 1) * W::PER_LINE + open;
            let (slab, offset) = (bin.slab, bin.offset);
            bin.closed.push(Segment { slab, offset, edges: edges as u32 });
            bin.lines = 0;
        }
        Ok(())
    }

    /// Writes out the open lines and hands over the bins by group.
    fn finish(mut self) -> Result<Vec<Option<Part>>, EngineError> {
        let stripes = self.grid.stripes.len();
        for index in 0..self.bins.len() {
            if self.waiting[index] > 0 {
                self.flush(index / stripes, index)?;
            }
            let bin = &mut self.bins[index];
            if bin.lines > 0 {
                let edges = bin.lines * W::PER_LINE as u32;
                bin.closed.push(Segment { slab: bin.slab, offset: bin.offset, edges });
            }
        }
        fence();
        let lots: Vec<_> = self.lots.into_iter().map(|lot| Arc::new(lot.slabs)).collect();
        let mut bins = self.bins.into_iter().map(|bin| bin.closed);
        let part = |&lot: &u16| {
            let slabs = Arc::clone(&lots[usize::from(lot)]);
            Some(Part { slabs, bins: bins.by_ref().take(stripes).collect() })
        };
        Ok(self.lot_of_groups.iter().map(part).collect())
    }
}
