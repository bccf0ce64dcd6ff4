//! Bins of edges, one for each stripe of destinations and group of sources, as they wait to be
//! sorted.
//!
//! A bin is a list of pages in slabs. Consecutive bins make a *bin group* and share slabs with
//! no other bin group: when a bin group is written into chunks, its slabs are free, and the next
//! chunks go there.
//!
//! Invariant: within a bin, edges keep the order of the input (parts are dealt to workers in
//! consecutive runs, and a bin is the concatenation of what the workers put there). Tested by
//! `the_first_of_many_wins_wherever_it_lies` and `each_bin_has_its_pages_in_their_order`.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::cast_slice;

use crate::EngineError;
use crate::edges::bin_pages::{BinPage, BinPages};
use crate::edges::skewed_bins::SkewedBins;
use crate::edges::slab_location::{Source, SpilledSlabs};
use crate::kernels::cuts::{BinGroups, Cuts};
use crate::kernels::record::{Line, Record, Waiting};
use crate::kernels::vertices::Vertices;
use crate::machine::arena::Slab;
use crate::machine::nontemporal::LINE_BYTES;

/// Where the edges go: the cuts of both axes, and which bins share slabs.
#[derive(Debug)]
pub(crate) struct Grid {
    /// Slots that there are at most.
    pub(crate) slots: u64,
    pub(crate) groups: Cuts,
    pub(crate) stripes: Cuts,
    pub(crate) bin_groups: BinGroups,
}

impl Grid {
    pub(crate) fn bins(&self) -> usize {
        self.groups.len() * self.stripes.len()
    }

    /// Where the slots of a bin begin, and where the key of its records is divided.
    pub(crate) fn origin(&self, bin: usize) -> Origin {
        let (stripe, group) = (bin / self.groups.len(), bin % self.groups.len());
        let targets = self.stripes.slots(stripe, self.slots);
        Origin {
            source: self.groups.slots(group, self.slots).start as u32,
            target: targets.start as u32,
            target_bits: u64::BITS
                - (targets.end - targets.start).saturating_sub(1).leading_zeros(),
        }
    }

    /// Whether lines of this kind have bits for the slots of every group and stripe.
    pub(crate) fn fits<W: Waiting>(&self) -> bool {
        let narrow = |slots: Range<u64>| slots.end - slots.start <= 1 << W::SLOT_BITS;
        (0..self.groups.len()).all(|run| narrow(self.groups.slots(run, self.slots)))
            && (0..self.stripes.len()).all(|run| narrow(self.stripes.slots(run, self.slots)))
    }

    /// Whether no stripe has more of these vertices than there are keys.
    pub(crate) fn is_narrow(&self, vertices: &Vertices, width_bits: u32) -> bool {
        let before = |slot: u64| vertices.index(slot.min(vertices.slots()));
        let narrow = |slots: Range<u64>| before(slots.end) - before(slots.start) <= 1 << width_bits;
        (0..self.stripes.len()).all(|run| narrow(self.stripes.slots(run, self.slots)))
    }

    /// Leaves out what is beyond the last vertex; nothing of it is in any bin. Bins keep their
    /// numbers.
    pub(crate) fn end_at(&mut self, vertices: &Vertices) {
        self.slots = vertices.slots();
        self.stripes.truncate(vertices.segments());
    }
}

/// All edges to one stripe of destinations, by group of sources. Memory is free when the bins of a
/// bin group have been dropped.
pub(crate) type StripeBins = Vec<Bin>;

/// All edges from one group of sources to one stripe of destinations.
pub(crate) struct Bin {
    /// Runs that each worker put here, in the order of the input.
    runs: Vec<BinRun>,
}

pub(crate) struct BinRun {
    /// The slabs of the worker's bin group.
    pub(crate) slabs: Arc<SpilledSlabs>,
    pub(crate) pages: BinPages,
}

impl Bin {
    /// A bin of what the workers put there, in their order.
    pub(crate) fn new(parts: Vec<BinRun>) -> Self {
        Self { runs: parts }
    }

    /// Number of edges.
    pub(crate) fn edges(&self) -> usize {
        let pages = self.runs.iter().flat_map(|part| &*part.pages);
        pages.map(|page| page.edges as usize).sum()
    }

    /// Slabs that the bin lies in, some of each worker.
    pub(crate) fn spilled_slabs(&self) -> impl Iterator<Item = &Arc<SpilledSlabs>> {
        self.runs.iter().map(|part| &part.slabs)
    }

    /// The bin, read where it is stored.
    pub(crate) fn open<'a>(
        &'a self,
        source: Option<Source<'a>>,
    ) -> Result<OpenBin<'a>, EngineError> {
        let mut parts = Vec::with_capacity(self.runs.len());
        for part in &self.runs {
            let slabs = match part.slabs.left_in_place() {
                Some(slabs) => Slabs::SkewedBins(SkewedBins { slabs, source }),
                None => Slabs::Read(part.slabs.slabs(source)?),
            };
            parts.push((slabs, &part.pages[..]));
        }
        Ok(OpenBin { parts })
    }
}

/// Leaves the slabs of bin groups with more bytes than this where they are.
pub(crate) fn leave_large_bin_groups(bins: &[StripeBins], bin_groups: &BinGroups, bytes_most: u64) {
    let mut of_group: Vec<Vec<&Arc<SpilledSlabs>>> = vec![Vec::new(); bin_groups.count()];
    for (number, bin) in bins.iter().flatten().enumerate() {
        let bin_group = &mut of_group[bin_groups.of(number)];
        for slabs in bin.spilled_slabs() {
            if !bin_group.iter().any(|other| Arc::ptr_eq(other, slabs)) {
                bin_group.push(slabs);
            }
        }
    }
    for bin_group in of_group {
        if bin_group.iter().map(|slabs| slabs.bytes()).sum::<u64>() > bytes_most {
            for slabs in bin_group {
                slabs.leave();
            }
        }
    }
}

/// A bin in memory, or one that is read while it is looked at.
pub(crate) struct OpenBin<'a> {
    parts: Vec<(Slabs<'a>, &'a [BinPage])>,
}

enum Slabs<'a> {
    Read(&'a [Slab]),
    SkewedBins(SkewedBins<'a>),
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
        let bytes = |it: &BinPage| (it.edges as usize).div_ceil(W::PER_LINE) * LINE_BYTES;
        let mut page = |page: &BinPage, bytes: &[u8]| {
            let mut left = page.edges as usize;
            for line in cast_slice::<u8, Line>(bytes) {
                let edges = left.min(W::PER_LINE);
                visit(line, edges);
                left -= edges;
            }
        };
        for (slabs, pages) in &self.parts {
            match slabs {
                Slabs::Read(slabs) => pages.iter().for_each(|it| {
                    let slab = slabs[it.slab as usize].bytes();
                    page(it, &slab[it.offset as usize..][..bytes(it)]);
                }),
                Slabs::SkewedBins(apart) => apart.each(pages, bytes, &mut page)?,
            }
        }
        Ok(())
    }
}

/// Lowest bits of a key that say which way of an edge a record is.
pub(crate) fn way_bits<W: Waiting>() -> u32 {
    u32::from(W::SEPARATES_WAYS)
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
    /// The slots of an edge of a line.
    #[inline(always)]
    pub(crate) fn slots<W: Waiting>(self, line: &Line, place: usize) -> [u32; 2] {
        let (source, target, _) = W::read(line, place);
        let mask = u32::MAX >> (u32::BITS - W::SLOT_BITS);
        let of = |first: u32, slot: u32| first + (slot.wrapping_sub(first) & mask);
        [of(self.source, source), of(self.target, target)]
    }

    #[inline(always)]
    fn record<W: Waiting>(self, line: &Line, place: usize) -> W::Record {
        let (source, target, weight) = W::read(line, place);
        // Bits that the line dropped are those of the origin, or one more: the range is no wider.
        let mask = u32::MAX >> (u32::BITS - W::SLOT_BITS);
        let source = source.wrapping_sub(self.source) & mask;
        let target = target.wrapping_sub(self.target) & mask;
        let key = u64::from(source) << self.target_bits | u64::from(target);
        let way = u64::from(W::is_reverse(line, place));
        W::Record::new(key << way_bits::<W>() | way, weight)
    }

    /// Low bits of the key that are below the source.
    pub(crate) fn low_bits<W: Waiting>(self) -> u32 {
        self.target_bits + way_bits::<W>()
    }
}
