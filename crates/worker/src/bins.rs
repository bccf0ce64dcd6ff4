//! Buffers of updates, by the partition of their destinations: combined or one by one.
//!
//! Combining merges the updates for one destination that meet in one buffer, so it needs no memory
//! but where each destination's record is. A buffer is full when it has as many records as a chunk,
//! so combined chunks are as large as others, and there are fewer. What becomes of a full one is an
//! update chunk of the engine. Updates for a destination that has a record wait beside it, until a
//! call of the kernel merges them all.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use welter_engine::chunks::{Column, FoldKernel, UpdateKey, write_updates};
use welter_protocol::work::Filled;

/// Updates that wait beside the records of their destinations, at most: few enough for the cache.
const LATER_MAX: usize = 1024;

/// Updates for a partition that wait for their chunk to be full.
#[derive(Debug)]
pub(crate) struct Bin {
    /// Bytes of a record.
    width: usize,
    /// Destinations, relative to the partition.
    targets: Vec<u32>,
    records: Column,
    /// Number of updates that the records stand for.
    updates: u64,
    /// The record of each destination, where they are combined. It is never walked.
    places: HashMap<u32, u32, FixedState>,
    /// Updates that are to be merged into records at these places.
    later: (Vec<u32>, Column),
}

impl Bin {
    /// An empty bin for records of `width` bytes.
    pub(crate) fn new(width: usize) -> Self {
        let (targets, records, places) = (Vec::new(), Column::default(), HashMap::default());
        Self { width, targets, records, updates: 0, places, later: Default::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.targets.clear();
        self.records.clear();
        self.places.clear();
        self.later.0.clear();
        self.later.1.clear();
        self.updates = 0;
    }

    /// Number of records in the buffer.
    pub(crate) fn waiting(&self) -> u32 {
        self.targets.len() as u32
    }

    /// Whether there are `records` records, or as many updates as can be counted.
    pub(crate) fn is_full(&self, records: u32) -> bool {
        self.waiting() >= records || self.updates >= u32::MAX.into()
    }

    /// Destinations, and the records for them.
    pub(crate) fn records(&self) -> (&[u32], &[u8]) {
        (&self.targets, &self.records)
    }

    /// Adds records that stand for one update each.
    pub(crate) fn extend(&mut self, targets: &[u32], records: &[u8]) {
        self.targets.extend_from_slice(targets);
        self.records.extend(records);
        self.updates += targets.len() as u64;
    }

    /// Adds a record that stands for one update, into that of its destination if there is one.
    pub(crate) fn combine(&mut self, kernel: &FoldKernel, target: u32, record: &[u8]) {
        let next = self.waiting();
        match self.places.entry(target) {
            Entry::Vacant(place) => {
                place.insert(next);
                self.extend(&[target], record);
            }
            Entry::Occupied(place) => {
                self.later.0.push(*place.get());
                self.later.1.extend(record);
                self.updates += 1;
                if self.later.0.len() >= LATER_MAX {
                    self.merge(kernel);
                }
            }
        }
    }

    /// Merges what waits beside the records into them.
    fn merge(&mut self, kernel: &FoldKernel) {
        let (places, records) = &mut self.later;
        if places.is_empty() {
            return;
        }
        let are_merged = kernel.merge((places, records), &mut self.records);
        assert!(are_merged, "places are those of records");
        places.clear();
        records.clear();
    }

    /// The buffer as a chunk of updates that were not combined.
    pub(crate) fn chunk(&self, at: (u64, UpdateKey)) -> Vec<u8> {
        write_updates(self.width, at, self.records(), self.updates)
    }

    /// The buffer as a chunk for its partition, if it holds anything; it is empty afterwards.
    pub(crate) fn take(&mut self, at: (u64, UpdateKey)) -> Option<Filled> {
        let filled = (self.updates > 0).then(|| Filled {
            partition: at.1.stripe,
            source: None,
            records: self.updates as u32,
            combined: self.updates as u32 - self.waiting(),
            sources: u64::MAX,
            payload: self.chunk(at).into(),
        });
        self.clear();
        filled
    }

    /// The buffer of combined updates as a chunk, as [`Self::take`].
    pub(crate) fn take_combined(
        &mut self,
        kernel: &FoldKernel,
        at: (u64, UpdateKey),
    ) -> Option<Filled> {
        self.merge(kernel);
        self.take(at)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use welter_algorithms::Spmv;
    use welter_algorithms::spmv::Vector;
    use welter_engine::chunks::open_updates;

    use super::*;

    const AT: (u64, UpdateKey) = (7, UpdateKey { turn: 0, stripe: 0, source_partition: 0 });

    /// The chunk that a buffer of these updates of a sum becomes.
    fn filled(combines: bool, updates: &[(u32, f64)]) -> (u32, Filled) {
        let kernel = FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)));
        let mut bin = Bin::new(size_of::<f64>());
        for (target, update) in updates {
            let record = update.to_ne_bytes();
            if combines {
                bin.combine(&kernel, *target, &record);
            } else {
                bin.extend(&[*target], &record);
            }
        }
        (bin.waiting(), bin.take_combined(&kernel, AT).unwrap())
    }

    #[test]
    fn chunks_say_how_many_updates_they_stand_for() {
        let updates = [(7, 1.0), (3, 2.0), (7, 4.0), (7, 8.0)];
        for (combines, targets, sums) in
            [(false, &[7, 3, 7, 7][..], &[1.0, 2.0, 4.0, 8.0][..]), (true, &[7, 3], &[13.0, 2.0])]
        {
            let (waiting, chunk) = filled(combines, &updates);
            let merged = 4 - targets.len() as u32;
            assert_eq!((waiting, chunk.records, chunk.combined), (4 - merged, 4, merged));
            let records = open_updates(size_of::<f64>(), AT, &chunk.payload).unwrap();
            assert_eq!((records.targets, records.updates), (targets, 4));
            assert_eq!(bytemuck::cast_slice::<u8, f64>(records.accums), sums);
        }
    }

    #[test]
    fn hubs_have_one_record_however_many_updates_wait_for_it() {
        let updates: Vec<_> = (0..5 * LATER_MAX as u32).map(|place| (place % 2, 1.0)).collect();
        let (waiting, chunk) = filled(true, &updates);
        assert_eq!((waiting, chunk.records), (2, 5 * LATER_MAX as u32));
        let records = open_updates(size_of::<f64>(), AT, &chunk.payload).unwrap();
        let sums = bytemuck::cast_slice::<u8, f64>(records.accums);
        assert_eq!(sums, [2.5 * LATER_MAX as f64; 2]);
    }
}
