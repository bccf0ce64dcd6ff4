//! The places of integers in an ascending list, found by their first bits and then by halving.
//!
//! Invariant: at most a byte for each integer beside the list. Integers that lie evenly are found
//! in two looks at memory; others in no more than halving takes. Tested by `all_are_found`, which
//! counts the bytes too.

use super::runs::partition_point;

/// Integers of a bucket, where they lie evenly.
const BUCKET_IDS: usize = 4;

/// An ascending list of distinct integers, to be looked up in.
pub(super) struct Lookup<'a> {
    ids: &'a [u64],
    first: u64,
    shift: u32,
    /// Where the integers of each bucket begin, and where the last one ends.
    starts: Vec<u32>,
}

impl<'a> Lookup<'a> {
    /// Of fewer than 2^32 integers.
    pub(super) fn new(ids: &'a [u64]) -> Self {
        let first = ids.first().copied().unwrap_or(0);
        let range = ids.last().map_or(0, |last| last - first);
        let bits = (ids.len() / BUCKET_IDS).max(1).ilog2();
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(bits);
        // A shift by all bits would not be one.
        let (shift, bits) = if shift == u64::BITS { (shift - 1, 1) } else { (shift, bits) };
        let mut starts = Vec::with_capacity((1 << bits) + 1);
        for (place, id) in ids.iter().enumerate() {
            let bucket = ((id - first) >> shift) as usize;
            while starts.len() <= bucket {
                starts.push(place as u32);
            }
        }
        starts.resize(starts.len().max(1) + 1, ids.len() as u32);
        Self { ids, first, shift, starts }
    }

    /// The place of an integer of the list.
    #[inline]
    pub(super) fn of(&self, id: u64) -> u32 {
        let bucket = ((id - self.first) >> self.shift) as usize;
        let (from, to) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        let place = from + partition_point(to - from, |place| self.ids[from + place] < id);
        debug_assert_eq!(self.ids.get(place), Some(&id), "every id is in the list");
        place as u32
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;

    fn all_found(ids: &BTreeSet<u64>) {
        let ids: Vec<u64> = ids.iter().copied().collect();
        let lookup = Lookup::new(&ids);
        assert!(lookup.starts.len() <= ids.len() / BUCKET_IDS + 4);
        assert!(ids.iter().zip(0..).all(|(id, place)| lookup.of(*id) == place), "{ids:?}");
    }

    #[test]
    fn the_ends_of_the_integers_are_found() {
        all_found(&BTreeSet::new());
        all_found(&BTreeSet::from([0]));
        all_found(&BTreeSet::from([u64::MAX]));
        all_found(&BTreeSet::from([0, u64::MAX]));
        all_found(&(0..100).chain([u64::MAX]).collect());
    }

    fn id() -> impl Strategy<Value = u64> {
        prop_oneof![0..99_u64, any::<u64>(), 1_u64 << 40..(1 << 40) + 500]
    }

    proptest! {
        #[test]
        fn all_are_found(ids in btree_set(id(), 1..700)) {
            all_found(&ids);
        }
    }
}
