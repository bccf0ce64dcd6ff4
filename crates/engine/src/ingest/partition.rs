//! The partition of edges into bins.
//!
//! Edges are appended to one cache line a bin, and lines go to memory when they are full, so that
//! thousands of bins are written at the speed of memory and not of its latency. Where bins may
//! overflow, a page is filled in a place of its own and then copied to a slab of its bin group,
//! so that a slab is full at a time that is known, and can be written to storage. Then the ends of
//! its edges are marked ([`crate::ingest::marks`]).

use std::sync::Arc;

use bytemuck::cast_slice;
use welter_model::edges::{Batch, EdgeStream, Pair, Reading};
use welter_progress::{Progress, Unit};
use welter_store::checksum;
use welter_store::io::{IoOptions, Volume};

use crate::EngineError;
use crate::edges::bin_pages::{BinPage, BinPageList, BinPages};
use crate::edges::bins::{Bin, BinRun, Grid, StripeBins};
use crate::edges::slab_location::{SpilledSlab, SpilledSlabs};
use crate::footprints::edges::{BIN_PAGE_BYTES, BIN_PAGE_LINES};
use crate::ingest::marks::{Marker, Marks};
use crate::ingest::survey::first_beyond;
use crate::kernels::record::{Line, Record, Waiting};
use crate::machine::arena::{Arena, Buffer, SLAB_BYTES, Slab};
use crate::machine::nontemporal::{LINE_BYTES, copy_line, fence};
use crate::machine::storage::SlabWriter;
use crate::machine::workers::Workers;

/// Where bins go that do not fit in memory.
#[derive(Clone, Copy)]
pub(crate) struct Overflow<'a> {
    pub(crate) volume: &'a Arc<Volume>,
    pub(crate) io: &'a IoOptions,
    /// Bytes of slabs in use from which on full ones are written.
    pub(crate) used_most: u64,
    /// Bytes of slabs in use from which on slabs are written at the end, when those that are not
    /// full are closed.
    pub(crate) used_at_end: u64,
}

/// Edges that are to be put into bins.
pub(crate) struct Partition<'a> {
    pub(crate) stream: &'a dyn EdgeStream,
    pub(crate) reading: Reading,
    pub(crate) grid: &'a Grid,
    /// Whether vertices are not known yet, and are to be marked.
    pub(crate) to_mark: bool,
    pub(crate) arena: &'a Arena,
    pub(crate) overflow: Option<Overflow<'a>>,
}

/// Puts edges into bins. Returns them by stripe and group, and marks of the vertices where these
/// were wanted.
pub(crate) fn partition<W: Waiting>(
    task: &Partition<'_>,
    workers: &Workers,
    progress: &Progress,
) -> Result<(Vec<StripeBins>, Option<Marks>), EngineError> {
    let Partition { stream, reading, grid, .. } = *task;
    let phase = progress.phase("partition", Unit::Edges, Some(stream.edges()));
    let (parts, threads) = (stream.parts(), workers.threads());
    let made = workers.each(|worker| {
        let mut writer = Writer::<W>::new(task)?;
        for part in parts * worker / threads..parts * (worker + 1) / threads {
            let mut failed = None;
            stream.read(part, &mut |batch| {
                // The survey saw a sample only.
                let done = match first_beyond(&batch, grid.slots) {
                    Some(vertex) => Err(EngineError::Vertex { vertex, slots: grid.slots }),
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
    let (made, marks): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    let marks = marks.into_iter().flatten().reduce(|mut all, marks| {
        all.merge(&marks);
        all
    });
    // From worker-major to stripe-major, the order of the workers kept.
    let mut bins = made.into_iter().map(Vec::into_iter).collect::<Vec<_>>();
    let mut bin = || Bin::new(bins.iter_mut().filter_map(|parts| parts.next()?).collect());
    let stripe = |_| (0..grid.groups.len()).map(|_| bin()).collect();
    Ok(((0..grid.stripes.len()).map(stripe).collect(), marks))
}

/// One worker's lines and pages. What is touched at every edge lies close together.
struct Writer<'a, W> {
    grid: &'a Grid,
    marker: Option<Marker<'a>>,
    arena: &'a Arena,
    /// The open line of each bin, by stripe and then group.
    lines: Buffer<Line>,
    /// Edges in the open line of each bin.
    waiting: Vec<u8>,
    open: Vec<Open>,
    /// The full pages of all bins.
    closed: BinPageList,
    bin_groups: Vec<BinGroup>,
    spill: Option<Spill<'a>>,
    kind: std::marker::PhantomData<W>,
}

/// The open page of a bin: its bin group, where it is, and how many lines were written to it.
/// Each full line asks for another one of these, which no cache may hold, so nothing else is asked.
#[derive(Clone, Copy, Default)]
struct Open {
    bin_group: u32,
    slab: u32,
    offset: u32,
    lines: u32,
}

/// One worker's slabs for a bin group.
#[derive(Default)]
struct BinGroup {
    slabs: Vec<SpilledSlab>,
    /// The slab that pages are put into.
    open: Option<Slab>,
    /// Where the next page begins in the last slab.
    offset: usize,
    /// Segments of the open slab with their bins, where that may be written: they are not marked.
    unmarked: Vec<(u32, BinPage)>,
}

impl BinGroup {
    /// Room for a page in a slab that is in memory.
    fn page(&mut self, arena: &Arena) -> Result<(u32, u32), EngineError> {
        if self.slabs.is_empty() || self.offset == SLAB_BYTES {
            self.slabs.push(SpilledSlab::Memory(arena.take()?));
            self.offset = 0;
        }
        let offset = self.offset;
        self.offset += BIN_PAGE_BYTES;
        Ok((self.slabs.len() as u32 - 1, offset as u32))
    }
}

/// Where one worker's pages are filled, and how their slabs are written.
struct Spill<'a> {
    pages: Buffer<Line>,
    writer: SlabWriter,
    overflow: Overflow<'a>,
}

impl Spill<'_> {
    /// Copies the first lines of a bin's page, which have `edges` edges, to a slab of its bin
    /// group.
    fn close<W: Waiting>(
        &mut self,
        (index, lines, edges): (usize, usize, u32),
        bin_group: &mut BinGroup,
        arena: &Arena,
        marker: Option<&mut Marker<'_>>,
    ) -> Result<BinPage, EngineError> {
        let bytes = lines * LINE_BYTES;
        if let Some(slab) = bin_group.open.take_if(|_| bin_group.offset + bytes > SLAB_BYTES) {
            self.put_away::<W>(slab, bin_group, arena, marker)?;
        }
        if bin_group.open.is_none() {
            (bin_group.open, bin_group.offset) = (Some(arena.take()?), 0);
        }
        let offset = bin_group.offset;
        let from = &self.pages[index * BIN_PAGE_LINES..][..lines];
        let from: &[u8] = cast_slice(from);
        if let Some(slab) = &mut bin_group.open {
            slab.bytes_mut()[offset..offset + bytes].copy_from_slice(from);
        }
        bin_group.offset += bytes;
        let (slab, checksum) = (bin_group.slabs.len() as u32, checksum::of(from));
        let page = BinPage { slab, offset: offset as u32, edges, checksum };
        bin_group.unmarked.push((index as u32, page));
        Ok(page)
    }

    /// Marks the edges of a slab, and keeps or writes it.
    fn put_away<W: Waiting>(
        &mut self,
        slab: Slab,
        bin_group: &mut BinGroup,
        arena: &Arena,
        marker: Option<&mut Marker<'_>>,
    ) -> Result<(), EngineError> {
        if let Some(marker) = marker {
            let pages = bin_group.unmarked.iter();
            pages.for_each(|(bin, it)| marker.mark::<W>(*bin as usize, it, slab.bytes()));
        }
        bin_group.unmarked.clear();
        let kept = if arena.used_bytes() <= self.overflow.used_most {
            SpilledSlab::Memory(slab)
        } else {
            let checksum = checksum::of(&slab.bytes()[..bin_group.offset]);
            SpilledSlab::Stored(self.writer.write(slab, bin_group.offset)?, checksum)
        };
        bin_group.slabs.push(kept);
        Ok(())
    }
}

impl<'a, W: Waiting> Writer<'a, W> {
    fn new(task: &Partition<'a>) -> Result<Self, EngineError> {
        let Partition { grid, arena, overflow, .. } = *task;
        let bins = grid.bins();
        let mut bin_groups = Vec::new();
        bin_groups.resize_with(grid.bin_groups.count(), BinGroup::default);
        let spill = |overflow: Overflow<'a>| {
            Ok::<_, EngineError>(Spill {
                pages: Buffer::zeroed(bins * BIN_PAGE_LINES)?,
                writer: SlabWriter::new(overflow.volume, overflow.io)?,
                overflow,
            })
        };
        Ok(Self {
            grid,
            marker: task
                .to_mark
                .then(|| Marker::new(grid, task.reading.both_ways()))
                .transpose()?,
            arena,
            lines: Buffer::zeroed(bins)?,
            waiting: vec![0; bins],
            open: (0..bins)
                .map(|bin| Open { bin_group: grid.bin_groups.of(bin) as u32, ..Open::default() })
                .collect(),
            closed: BinPageList::default(),
            bin_groups,
            spill: overflow.map(spill).transpose()?,
            kind: std::marker::PhantomData,
        })
    }

    fn add(&mut self, batch: &Batch<'_>, reading: Reading) -> Result<(), EngineError> {
        let plain = !(reading.both_ways() || reading.reversed || reading.drop_self_loops);
        if W::Record::WEIGHTED || !plain {
            return self.add_carefully(batch, reading);
        }
        for &[source, target] in batch.pairs {
            self.push([source, target], 1.0, false)?;
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
                // It is still a vertex.
                self.marker.iter_mut().for_each(|marker| marker.marks.set(source));
                continue;
            }
            let [there, back] = reading.weights(weight, is_loop);
            self.push([source, target], there, false)?;
            if reading.both_ways() && !is_loop {
                self.push([target, source], back, true)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn push(
        &mut self,
        [source, target]: Pair,
        weight: f64,
        is_reverse: bool,
    ) -> Result<(), EngineError> {
        let stripe = self.grid.stripes.run(target);
        let bin = stripe * self.grid.groups.len() + self.grid.groups.run(source);
        let waiting = &mut self.waiting[bin];
        let place = usize::from(*waiting);
        *waiting += 1;
        W::write(&mut self.lines[bin], place, source, target, weight);
        W::write_way(&mut self.lines[bin], place, is_reverse);
        if place + 1 == W::PER_LINE { self.flush(bin) } else { Ok(()) }
    }

    /// Writes out the open line of a bin.
    #[inline(never)]
    fn flush(&mut self, index: usize) -> Result<(), EngineError> {
        let bin = &mut self.open[index];
        let line = bin.lines as usize;
        if let Some(spill) = &mut self.spill {
            // Past the cache too: together the pages are larger than it, and a line that is
            // first read costs more than all else that is done here.
            copy_line(&mut spill.pages[index * BIN_PAGE_LINES + line].0, &self.lines[index].0);
        } else {
            let bin_group = &mut self.bin_groups[bin.bin_group as usize];
            if line == 0 {
                (bin.slab, bin.offset) = bin_group.page(self.arena)?;
            }
            let offset = bin.offset as usize + line * LINE_BYTES;
            if let SpilledSlab::Memory(slab) = &mut bin_group.slabs[bin.slab as usize] {
                let (to, _) = slab.bytes_mut()[offset..].as_chunks_mut::<LINE_BYTES>();
                copy_line(&mut to[0], &self.lines[index].0);
            }
        }
        let open = usize::from(std::mem::take(&mut self.waiting[index]));
        bin.lines += 1;
        if bin.lines as usize == BIN_PAGE_LINES || open < W::PER_LINE {
            self.close(index, open)?;
        }
        Ok(())
    }

    /// Closes the open page of a bin, the last line of which holds `open` edges.
    fn close(&mut self, index: usize, open: usize) -> Result<(), EngineError> {
        let bin = &mut self.open[index];
        let lines = std::mem::take(&mut bin.lines) as usize;
        let edges = ((lines - 1) * W::PER_LINE + open) as u32;
        let page = match &mut self.spill {
            Some(spill) => {
                let bin_group = &mut self.bin_groups[bin.bin_group as usize];
                spill.close::<W>(
                    (index, lines, edges),
                    bin_group,
                    self.arena,
                    self.marker.as_mut(),
                )?
            }
            None => BinPage { slab: bin.slab, offset: bin.offset, edges, checksum: 0 },
        };
        self.closed.push(index, page)
    }

    /// Marks the edges of all bins, where none of them was written.
    fn mark_all(&mut self) {
        let Some(marker) = self.marker.as_mut().filter(|_| self.spill.is_none()) else { return };
        for (index, page) in self.closed.iter() {
            let slabs = &self.bin_groups[self.open[index].bin_group as usize].slabs;
            if let SpilledSlab::Memory(slab) = &slabs[page.slab as usize] {
                marker.mark::<W>(index, page, slab.bytes());
            }
        }
    }

    /// Writes out the open lines and hands over the bins, and the marks.
    fn finish(mut self) -> Result<(Vec<Option<BinRun>>, Option<Marks>), EngineError> {
        for index in 0..self.open.len() {
            if self.waiting[index] > 0 {
                self.flush(index)?;
            }
            if self.open[index].lines > 0 {
                self.close(index, W::PER_LINE)?;
            }
        }
        self.mark_all();
        if let Some(mut spill) = self.spill {
            // Slabs that stay are of the bin groups that are sorted first, so they are free first.
            spill.overflow.used_most = spill.overflow.used_at_end;
            for bin_group in self.bin_groups.iter_mut().rev() {
                if let Some(slab) = bin_group.open.take() {
                    spill.put_away::<W>(slab, bin_group, self.arena, self.marker.as_mut())?;
                }
            }
            spill.writer.finish()?;
        }
        fence();
        let Self { grid, marker, closed, bin_groups, lines, waiting, .. } = self;
        // Memory of bins that are closed is freed before pages are sorted.
        drop((lines, waiting));
        let spill = |bin_group: BinGroup| Arc::new(SpilledSlabs::new(bin_group.slabs));
        let bin_groups: Vec<_> = bin_groups.into_iter().map(spill).collect();
        let part = |(index, pages): (usize, BinPages)| {
            let slabs = Arc::clone(&bin_groups[grid.bin_groups.of(index)]);
            (!pages.is_empty()).then_some(BinRun { slabs, pages })
        };
        let sorted = closed.sorted(grid.bins())?;
        let marks = marker.map(|marker| marker.marks);
        Ok((sorted.into_iter().enumerate().map(part).collect(), marks))
    }
}
