//! Which slots are vertices, noted by each worker while it bins edges.
//!
//! Marks are made a segment of a bin at a time, when it is full: its edges begin in one group of
//! sources and end in one stripe, so the marks of both are in the cache, where those of edges as
//! they come would be anywhere. Each worker has marks of its own, so that nobody takes a line of
//! them from another: with shared ones a profile of R-MAT scrambled 24 had a third of the
//! partition here.

use crate::EngineError;
use crate::vertices::SEGMENT_BITS;

/// A bit a slot, in whole segments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// No marks on so many slots.
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

    /// Those of both.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// The bits.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
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
