//! Table in which a worker counts while it meets the updates of a vertex.
//!
//! ```
//! use welter_model::frequency::FrequencyTable;
//!
//! let mut table = FrequencyTable::default();
//! assert_eq!(table.most_frequent(&[7, 3, 9, 3, 7]), Some((3, 2)));
//! ```

/// Places that are counted in, of 8 bytes each: what fits in half of a second-level cache.
const SLOTS: usize = 1 << 16;

/// Counters, and a table of numbers that were counted. Nothing is remembered between uses.
#[derive(Debug, Default)]
pub struct FrequencyTable {
    slots: Vec<[u32; 2]>,
}

impl FrequencyTable {
    /// Bytes that it takes, once it was used.
    pub const BYTES: usize = SLOTS * size_of::<[u32; 2]>();

    /// `count` counters, all 0; none where these are too many to be near.
    pub fn counters(&mut self, count: usize) -> Option<&mut [u32]> {
        let slots = self.slots(count.div_ceil(2))?;
        slots.as_flattened_mut().get_mut(..count)
    }

    /// The most frequent of some numbers, the smallest of these, and how often it is there. None
    /// where they are too many to be counted, or none.
    ///
    /// Numbers are looked up in a table with open addressing, at most half full.
    #[inline(always)]
    pub fn most_frequent(&mut self, numbers: &[u32]) -> Option<(u32, u32)> {
        let bits = usize::BITS - numbers.len().leading_zeros() + 1;
        let slots = self.slots(1 << bits)?;
        let (mask, shift) = (slots.len() - 1, u32::BITS - bits);
        let (mut best, mut most) = (0, 0);
        for &number in numbers {
            // Knuth's multiplicative hash: near numbers go far from each other.
            let mut place = (number.wrapping_mul(0x9E37_79B1) >> shift) as usize;
            let count = loop {
                let [found, count] = &mut slots[place & mask];
                if *count == 0 || *found == number {
                    *found = number;
                    *count += 1;
                    break *count;
                }
                place += 1;
            };
            if count > most || count == most && number < best {
                (best, most) = (number, count);
            }
        }
        (most > 0).then_some((best, most))
    }

    /// `count` slots of zeros.
    fn slots(&mut self, count: usize) -> Option<&mut [[u32; 2]]> {
        if count > SLOTS {
            return None;
        }
        if self.slots.is_empty() {
            self.slots = vec![[0; 2]; SLOTS];
        }
        let slots = &mut self.slots[..count];
        slots.fill([0; 2]);
        Some(slots)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_most_frequent_number(
            numbers in prop::collection::vec(prop_oneof![0_u32..9, any::<u32>()], 0..300),
        ) {
            let mut counts = BTreeMap::new();
            for number in &numbers {
                *counts.entry(*number).or_insert(0_u32) += 1;
            }
            let most = counts.values().max();
            let expected = counts.iter().find(|(_, count)| Some(*count) == most);
            let mut table = FrequencyTable::default();
            table.counters(5).unwrap().fill(7);
            let found = table.most_frequent(&numbers);
            prop_assert_eq!(found, expected.map(|(number, count)| (*number, *count)));
        }
    }

    #[test]
    fn too_many_are_not_counted() {
        let mut table = FrequencyTable::default();
        assert_eq!(table.most_frequent(&vec![3; SLOTS / 4]), Some((3, SLOTS as u32 / 4)));
        assert_eq!(table.most_frequent(&vec![3; SLOTS / 2]), None);
        assert_eq!(table.counters(2 * SLOTS).map(|counters| counters.len()), Some(2 * SLOTS));
        assert_eq!(table.counters(2 * SLOTS + 1), None);
        assert_eq!(table.counters(3), Some(&mut [0; 3][..]));
    }
}
