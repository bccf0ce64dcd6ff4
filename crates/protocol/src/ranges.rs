//! Ranges of numbers that lie one behind the other, of which some may be empty.
//!
//! ```text
//! table   for every 2^k numbers the range that the first of them is in, so that a number is found
//!         in a step or two, where a search of the bounds took six times as long
//! ```
//!
//! Where many ranges are in one entry, its bounds are searched.
//!
//! **Invariant:** a number is found in the one range that has it. Tested by
//! `numbers_are_found_in_their_ranges`.

use std::fmt;

/// Entries of a table for each range, at most, and of all.
const ENTRIES: (u64, u64) = (64, 1 << 14);

/// Ranges that are stepped over before they are searched.
const STEPS: usize = 4;

/// Ranges of numbers without gaps.
#[derive(Clone, PartialEq, Eq)]
pub struct RangeTable {
    /// The first number of each, and the end of the last.
    bounds: Vec<u64>,
    /// The first number of all.
    first: u64,
    /// Numbers of an entry, as a power of two.
    bits: u32,
    /// The range of the first number of each entry, and the last range.
    entries: Vec<u32>,
}

impl RangeTable {
    /// The ranges with these bounds, ascending, the end of the last among them.
    ///
    /// ```
    /// use welter_protocol::ranges::RangeTable;
    ///
    /// let table = RangeTable::new(vec![10, 20, 20, 1000]);
    /// let found = [9, 10, 20, 999, 1000].map(|number| table.find(number));
    /// assert_eq!(found, [None, Some((0, 0)), Some((2, 0)), Some((2, 979)), None]);
    /// ```
    pub fn new(bounds: Vec<u64>) -> Self {
        let first = bounds.first().copied().unwrap_or(0);
        let numbers = bounds.last().map_or(0, |end| end - first);
        let most = (bounds.len() as u64 * ENTRIES.0).clamp(1, ENTRIES.1);
        let bits = numbers.div_ceil(most).max(1).next_power_of_two().trailing_zeros();
        let last = bounds.len().saturating_sub(2) as u32;
        let found = (0..numbers.div_ceil(1 << bits)).map(|entry| {
            let number = first + (entry << bits);
            // Of empty ranges, which begin there too, the last that does is not.
            bounds.partition_point(|&bound| bound <= number) as u32 - 1
        });
        let entries = found.chain([last]).collect();
        Self { bounds, first, bits, entries }
    }

    /// The first number of each range, and the end of the last.
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The range that has a number, and its place there; none where no range has it.
    #[inline(always)]
    pub fn find(&self, number: u64) -> Option<(usize, u64)> {
        let entry = (number.checked_sub(self.first)? >> self.bits) as usize;
        let mut range = *self.entries.get(entry)? as usize;
        let last = *self.entries.get(entry + 1)? as usize;
        // Few entries have more ranges than one can step over.
        let near = last.min(range + STEPS);
        while range < near && self.bounds[range + 1] <= number {
            range += 1;
        }
        if range == near {
            range += self.bounds[near + 1..=last].partition_point(|&bound| bound <= number);
        }
        (number < self.bounds[range + 1]).then(|| (range, number - self.bounds[range]))
    }
}

/// The bounds, from which all else follows.
impl fmt::Debug for RangeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RangeTable").field(&self.bounds).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_their_ranges() {
        let many: Vec<u64> = (0..3000).chain([1 << 40]).collect();
        for bounds in [
            vec![0, 1],
            vec![0, 0, 5, 5, 5, 9, 9],
            vec![7, 7, 8, 1000, 1000],
            vec![0, 1, 2, 3, 1000, 1_000_000],
            vec![0, 900_000, 900_001, 900_002, 900_003, 1_000_000],
            vec![1 << 32, (1 << 32) + 1, 1 << 40, (1 << 61) + 3, 1 << 62],
            vec![(1 << 63) - 1, 1 << 63, u64::MAX],
            many,
        ] {
            let table = RangeTable::new(bounds.clone());
            assert_eq!(table.bounds(), bounds);
            let near = |bound: u64| bound.saturating_sub(2)..=bound.saturating_add(2);
            for number in bounds.iter().flat_map(|&bound| near(bound)).chain(0..2000) {
                let has = |range: &usize| (bounds[*range]..bounds[range + 1]).contains(&number);
                let expected = (0..bounds.len() - 1).find(has);
                let expected = expected.map(|range| (range, number - bounds[range]));
                assert_eq!(table.find(number), expected, "{number} of {} ranges", bounds.len());
            }
        }
        for none in [vec![], vec![3], vec![3, 3]] {
            let table = RangeTable::new(none);
            assert_eq!([0, 3, 4, u64::MAX].map(|number| table.find(number)), [None; 4]);
        }
    }
}
