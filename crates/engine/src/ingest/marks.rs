//! Slots that are vertices, noted by each worker while it bins edges.
//!
//! Marks are made a slab of a bin group at a time, when it is full, or a bin at a time where all of
//! them stay in memory: the edges begin in few groups of sources and end in one stripe, mostly, so
//! the marks of both are in the cache. Those of edges as they come would be anywhere. Of one page
//! of a bin (4 KiB, 768 edges) too few end at the same line: closing each of them took 16 ns an
//! edge and core on R-MAT scrambled 24 with 1 GiB, three quarters of it at the marks. Marking takes
//! 8 now with all in memory, and took 12 in a noisier minute with 1 GiB. Each worker has marks of
//! its own, so that no worker takes a line of them from another: with shared ones a profile of the
//! same graph had a third of the partition here.

use bytemuck::cast_slice;

use crate::EngineError;
use crate::edges::bin_pages::BinPage;
use crate::edges::bins::Grid;
use crate::kernels::record::{Line, Waiting};
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::nontemporal::LINE_BYTES;

/// A bit a slot, in whole segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// No marks on `slots` slots.
    pub(crate) fn new(slots: u64) -> Result<Self, EngineError> {
        let count = slots.next_multiple_of(1 << SEGMENT_BITS) as usize / 64;
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| EngineError::out_of(count * 8))?;
        words.resize(count, 0);
        Ok(Self { words })
    }

    /// Marks a slot. A mark that is there is only looked at, so that its line stays clean.
    #[inline(always)]
    pub(crate) fn set(&mut self, slot: u32) {
        let (word, bit) = (&mut self.words[(slot / 64) as usize], 1 << (slot % 64));
        if *word & bit == 0 {
            *word |= bit;
        }
    }

    /// Adds the marks of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Whether there are none, of no slots.
    pub(crate) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The bits.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }
}

/// Marks the ends of edges in bins.
pub(crate) struct Marker<'a> {
    pub(crate) marks: Marks,
    grid: &'a Grid,
    /// Whether each edge comes both ways, so that all vertices are sources.
    both_ways: bool,
}

impl<'a> Marker<'a> {
    pub(crate) fn new(grid: &'a Grid, both_ways: bool) -> Result<Self, EngineError> {
        Ok(Self { marks: Marks::new(grid.slots)?, grid, both_ways })
    }

    /// Marks the ends of the edges in a page of a bin. `slab`: where that is.
    pub(crate) fn mark<W: Waiting>(&mut self, bin: usize, page: &BinPage, slab: &[u8]) {
        let (origin, edges) = (self.grid.origin(bin), page.edges as usize);
        let bytes = edges.div_ceil(W::PER_LINE) * LINE_BYTES;
        let lines: &[Line] = cast_slice(&slab[page.offset as usize..][..bytes]);
        let mut each = |line: &Line, place: usize| {
            let [source, target] = origin.slots::<W>(line, place);
            self.marks.set(source);
            if !self.both_ways {
                self.marks.set(target);
            }
        };
        let (full, rest) = lines.split_at(edges / W::PER_LINE);
        for line in full {
            (0..W::PER_LINE).for_each(|place| each(line, place));
        }
        for line in rest {
            (0..edges % W::PER_LINE).for_each(|place| each(line, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_all_workers_are_there() {
        let of = |worker| {
            let mut marks = Marks::new(5000).unwrap();
            (worker..5000).step_by(3).for_each(|slot| marks.set(slot));
            marks
        };
        let mut marks = of(0);
        marks.merge(&of(1));
        marks.merge(&of(2));
        let words = marks.into_words();
        assert_eq!(words.len(), 2 << SEGMENT_BITS >> 6);
        assert_eq!(words.iter().map(|word| word.count_ones()).sum::<u32>(), 5000);
    }
}
