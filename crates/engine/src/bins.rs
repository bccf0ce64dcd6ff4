//! The partition of edges into bins, one for each group of sources and stripe of destinations.
//!
//! Edges are appended to one cache line a bin, and lines go to memory when they are full, so that
//! thousands of bins are written at the speed of memory and not of its latency. A bin is a list of
//! segments in slabs that hold edges of one group of sources only: when the group is written into
//! chunks, its slabs are free, and the next chunks go there.
//!
//! Invariant: within a bin, edges keep the order of the input (parts are dealt to workers in
//! consecutive runs, and a bin is the concatenation of what the workers put there).

use bytemuck::{Pod, Zeroable, cast_slice};
use welter_model::edges::{Batch, EdgeStream, Reading};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::arena::{Arena, SLAB_BYTES, Slab};
use crate::cuts::Cuts;
use crate::stream::{LINE_BYTES, copy_line, fence};
use crate::workers::Workers;

/// Bytes of a segment of a bin.
const SEGMENT_BYTES: usize = 16 << 10;

/// An edge on its way into a tile: source and destination in one ordered key, and its weight.
pub(crate) trait Record: Pod + Send + Sync {
    /// Whether records carry weights.
    const WEIGHTED: bool;
    /// A record. `weight` is dropped by records without.
    fn new(key: u64, weight: f64) -> Self;
    /// Source in the high bits, destination in the low ones.
    fn key(&self) -> u64;
    /// The weight, 1 without.
    fn weight(&self) -> f64;
}

impl Record for u64 {
    const WEIGHTED: bool = false;

    #[inline(always)]
    fn new(key: u64, _: f64) -> Self {
        key
    }

    #[inline(always)]
    fn key(&self) -> u64 {
        *self
    }

    #[inline(always)]
    fn weight(&self) -> f64 {
        1.0
    }
}

/// An edge with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Weighted {
    key: u64,
    weight: f64,
}

impl Record for Weighted {
    const WEIGHTED: bool = true;

    #[inline(always)]
    fn new(key: u64, weight: f64) -> Self {
        Self { key, weight }
    }

    #[inline(always)]
    fn key(&self) -> u64 {
        self.key
    }

    #[inline(always)]
    fn weight(&self) -> f64 {
        self.weight
    }
}

/// Where the edges go: the cuts of both axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid<'a> {
    pub(crate) groups: &'a Cuts,
    pub(crate) stripes: &'a Cuts,
}

/// All edges from one group of sources, by stripe, in memory that is free when this is dropped.
pub(crate) struct GroupBins {
    /// What each worker put here, in the order of the input.
    parts: Vec<Part>,
}

#[derive(Default)]
struct Part {
    slabs: Vec<Slab>,
    /// By stripe.
    bins: Vec<Vec<Segment>>,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    slab: u32,
    offset: u32,
    bytes: u32,
}

impl GroupBins {
    /// The edges to one stripe, in the order of the input.
    pub(crate) fn cell<R: Record>(&self, stripe: usize) -> impl Iterator<Item = &[R]> {
        self.parts.iter().flat_map(move |part| {
            part.bins[stripe].iter().map(|segment| {
                let start = segment.offset as usize;
                let bytes = part.slabs[segment.slab as usize].bytes();
                cast_slice(&bytes[start..start + segment.bytes as usize])
            })
        })
    }
}

/// Reads a stream and puts its edges into bins. Returns them by group.
pub(crate) fn partition<R: Record>(
    stream: &dyn EdgeStream,
    reading: Reading,
    grid: Grid<'_>,
    arena: &Arena,
    workers: &Workers,
    progress: &Progress,
) -> Result<Vec<GroupBins>, EngineError> {
    let phase = progress.phase("partition", Unit::Edges, Some(stream.edges()));
    let (parts, threads) = (stream.parts(), workers.threads());
    let mut made = workers.each(|worker| {
        let mut writer = Writer::<R>::new(grid, arena);
        for part in parts * worker / threads..parts * (worker + 1) / threads {
            let mut failed = None;
            stream.read(part, &mut |batch| {
                let done = writer.add(&batch, reading);
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
            parts: made.iter_mut().map(|parts| std::mem::take(&mut parts[group])).collect(),
        })
        .collect())
}

/// One worker's lines and segments. What is touched at every edge lies close together.
struct Writer<'a, R> {
    grid: Grid<'a>,
    arena: &'a Arena,
    /// One line a bin, by group and then stripe.
    lines: Vec<R>,
    /// Bytes in the open segment of each bin, its open line included.
    filled: Vec<u32>,
    bins: Vec<Bin>,
    groups: Vec<Group>,
}

/// The segments of a bin.
#[derive(Clone, Default)]
struct Bin {
    /// The open segment.
    slab: u32,
    offset: u32,
    closed: Vec<Segment>,
}

#[derive(Default)]
struct Group {
    slabs: Vec<Slab>,
    /// Where the next segment begins in the last slab.
    offset: usize,
}

impl Group {
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

impl<'a, R: Record> Writer<'a, R> {
    const PER_LINE: usize = LINE_BYTES / size_of::<R>();

    fn new(grid: Grid<'a>, arena: &'a Arena) -> Self {
        let bins = grid.groups.len() * grid.stripes.len();
        let mut groups = Vec::new();
        groups.resize_with(grid.groups.len(), Group::default);
        Self {
            grid,
            arena,
            lines: vec![R::zeroed(); bins * Self::PER_LINE],
            filled: vec![0; bins],
            bins: vec![Bin::default(); bins],
            groups,
        }
    }

    fn add(&mut self, batch: &Batch<'_>, reading: Reading) -> Result<(), EngineError> {
        if R::WEIGHTED || reading.undirected || reading.drop_self_loops {
            return self.add_carefully(batch, reading);
        }
        for &[source, target] in batch.pairs {
            self.push(source, target, 1.0)?;
        }
        Ok(())
    }

    fn add_carefully(&mut self, batch: &Batch<'_>, reading: Reading) -> Result<(), EngineError> {
        for (edge, &[source, target]) in batch.pairs.iter().enumerate() {
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
        let filled = &mut self.filled[bin];
        let place = *filled as usize % LINE_BYTES / size_of::<R>();
        let record = R::new(u64::from(source) << 32 | u64::from(target), weight);
        self.lines[bin * Self::PER_LINE + place] = record;
        *filled += size_of::<R>() as u32;
        if place + 1 == Self::PER_LINE { self.flush(group, bin) } else { Ok(()) }
    }

    /// Writes out the full line of a bin.
    #[inline(never)]
    fn flush(&mut self, group: usize, index: usize) -> Result<(), EngineError> {
        let filled = self.filled[index];
        let start = filled as usize - LINE_BYTES;
        let bin = &mut self.bins[index];
        let group = &mut self.groups[group];
        if start == 0 {
            (bin.slab, bin.offset) = group.segment(self.arena)?;
        }
        let line = &self.lines[index * Self::PER_LINE..(index + 1) * Self::PER_LINE];
        let slab = group.slabs[bin.slab as usize].bytes_mut();
        let (to, _) = slab[bin.offset as usize + start..].as_chunks_mut::<LINE_BYTES>();
        let (from, _) = cast_slice::<R, u8>(line).as_chunks::<LINE_BYTES>();
        copy_line(&mut to[0], &from[0]);
        if filled as usize == SEGMENT_BYTES {
            bin.closed.push(Segment { slab: bin.slab, offset: bin.offset, bytes: filled });
            self.filled[index] = 0;
        }
        Ok(())
    }

    /// Writes out the open lines and hands over the bins by group.
    fn finish(mut self) -> Result<Vec<Part>, EngineError> {
        let stripes = self.grid.stripes.len();
        for (index, bin) in self.bins.iter_mut().enumerate() {
            let filled = self.filled[index] as usize;
            let open = filled % LINE_BYTES;
            let start = filled - open;
            let group = &mut self.groups[index / stripes];
            if open > 0 {
                if start == 0 {
                    (bin.slab, bin.offset) = group.segment(self.arena)?;
                }
                let line = &self.lines[index * Self::PER_LINE..(index + 1) * Self::PER_LINE];
                let offset = bin.offset as usize + start;
                let slab = group.slabs[bin.slab as usize].bytes_mut();
                slab[offset..offset + open].copy_from_slice(&cast_slice(line)[..open]);
            }
            if filled > 0 {
                let bytes = filled as u32;
                bin.closed.push(Segment { slab: bin.slab, offset: bin.offset, bytes });
            }
        }
        fence();
        let mut bins = self.bins.into_iter().map(|bin| bin.closed);
        Ok(self
            .groups
            .into_iter()
            .map(|group| Part { slabs: group.slabs, bins: bins.by_ref().take(stripes).collect() })
            .collect())
    }
}
