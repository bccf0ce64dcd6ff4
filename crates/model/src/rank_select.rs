//! A set of slots, as a bit each.
//!
//! Counting the marks before a slot, and finding the slot of a mark by its number, take a few steps
//! wherever they are: numbers of marks are kept for every word, and words for every few marks.
//!
//! Invariant: `slot(number(s)) == s` for each slot `s` that is marked. Tested by
//! `marks_are_found_by_their_numbers`.

use std::ops::Range;

/// Log2 of the number of marks from one that is known the word of to the next.
const SAMPLE_BITS: u32 = 9;

/// A set of slots, in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSelectBitmap {
    words: Vec<u64>,
    /// Number of marks before each word.
    before: Vec<u32>,
    /// The word of every 2^[`SAMPLE_BITS`]th mark.
    samples: Vec<u32>,
    count: u64,
}

impl RankSelectBitmap {
    /// The slots whose bits are set, the lowest bit of the first word being slot 0. There are fewer
    /// than 2^32 of them.
    pub fn new(words: Vec<u64>) -> Self {
        let (mut before, mut samples) = (Vec::with_capacity(words.len()), Vec::new());
        let mut count = 0_u64;
        for (index, word) in words.iter().enumerate() {
            before.push(count as u32);
            count += u64::from(word.count_ones());
            while (samples.len() as u64) << SAMPLE_BITS < count {
                samples.push(index as u32);
            }
        }
        Self { words, before, samples, count }
    }

    /// Number of slots in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The bits.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Number of marks before each word.
    pub fn before(&self) -> &[u32] {
        &self.before
    }

    /// The slot of a mark by its number, counted from 0.
    ///
    /// # Panics
    /// When `number` is out of range.
    pub fn slot(&self, number: u64) -> u64 {
        assert!(number < self.count, "mark {number} of {}", self.count);
        let (word, skipped) = self.find(number);
        let bits = (0..skipped).fold(self.words[word], |bits, _| bits & bits.wrapping_sub(1));
        word as u64 * 64 + u64::from(bits.trailing_zeros())
    }

    /// The number of the mark of a slot, if it has one.
    #[inline(always)]
    pub fn number(&self, slot: u64) -> Option<u64> {
        let index = usize::try_from(slot / 64).ok()?;
        let (word, before) = (self.words.get(index)?, self.before[index]);
        let lower = (1_u64 << (slot % 64)) - 1;
        let is_marked = word >> (slot % 64) & 1 == 1;
        is_marked.then(|| u64::from(before) + u64::from((word & lower).count_ones()))
    }

    /// Appends the slots of some marks by their numbers.
    pub fn extend_slots(&self, numbers: Range<u64>, slots: &mut Vec<u64>) {
        let end = numbers.end.min(self.count);
        if numbers.start >= end {
            return;
        }
        let (first, skipped) = self.find(numbers.start);
        let mut left = (end - numbers.start) as usize;
        slots.reserve(left);
        let mut bits = (0..skipped).fold(self.words[first], |bits, _| bits & bits.wrapping_sub(1));
        for (index, word) in self.words.iter().enumerate().skip(first) {
            if index > first {
                bits = *word;
            }
            while bits != 0 && left > 0 {
                slots.push(index as u64 * 64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
                left -= 1;
            }
            if left == 0 {
                return;
            }
        }
    }

    /// The word that a mark lies in, and the number of marks before it there.
    fn find(&self, number: u64) -> (usize, u32) {
        let sample = (number >> SAMPLE_BITS) as usize;
        let first = self.samples[sample] as usize;
        let last = self.samples.get(sample + 1).map_or(self.words.len() - 1, |&word| word as usize);
        let number = number as u32;
        let later = self.before[first..=last].partition_point(|&before| before <= number);
        let word = first + later - 1;
        (word, number - self.before[word])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: Vec<u64>) {
        let slots: Vec<u64> = (0..words.len() as u64 * 64)
            .filter(|slot| words[(slot / 64) as usize] >> (slot % 64) & 1 == 1)
            .collect();
        let marked = RankSelectBitmap::new(words);
        assert_eq!(marked.count(), slots.len() as u64);
        for (number, slot) in slots.iter().enumerate() {
            assert_eq!(marked.slot(number as u64), *slot);
        }
        for slot in (0..marked.words().len() as u64 * 64 + 3).chain([u64::MAX]) {
            let expected = slots.binary_search(&slot).ok();
            assert_eq!(marked.number(slot), expected.map(|number| number as u64));
        }
        for (start, end) in [(0, slots.len()), (3, 700), (513, 513), (500, usize::MAX), (1, 2)] {
            let mut found = vec![7];
            marked.extend_slots(start as u64..end as u64, &mut found);
            let (start, end) = (start.min(slots.len()), end.min(slots.len()));
            assert_eq!(found[1..], slots[start..end.max(start)]);
        }
    }

    #[test]
    fn marks_are_found_by_their_numbers() {
        check(Vec::new());
        check(vec![0, 0]);
        check(vec![u64::MAX; 40]);
        check(vec![1 << 63, 0, 0, 1]);
        let random = |index: u64| (index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        check((0..300).map(|index| random(index) & random(index + 7)).collect());
        check((0..900).map(|index| if index % 50 == 7 { random(index) } else { 0 }).collect());
        check((0..300).map(|index| if index / 100 == 1 { 0 } else { u64::MAX }).collect());
    }
}
