//! Buffers of updates, by the partition of their destinations: combined or one by one.
//!
//! Combining merges the updates for one destination that meet in one buffer. It happens when the
//! buffer is full: where the record of a destination lies is written into a list by destinations,
//! which a record that lies there confirms, so the list is never cleared. What is left fills up
//! again, or becomes a chunk once it is half of a buffer.
//!
//! A hash table that each update was looked up in took 46 % of the samples of route `spill`
//! (docs/notebook, 27 November 2026, routes), and the list a third, since places, destinations and
//! records were reached at random in 14 MB. So records are put in the order of stripes first,
//! ranges of `2^b` destinations: places, destinations and records of one stripe fit a cache. Chunks
//! keep that order, by which accumulators are met stripe by stripe too.

use welter_engine::chunks::{
    Column, FoldKernel, UpdateKey, updates_bytes, write_updates, write_updates_to,
};
use welter_protocol::work::Filled;

use crate::resources::Resources;

/// Updates that are merged into records in one call of the kernel, at most: few enough for the
/// cache.
const MERGED_MAX: usize = 1024;

/// Records for which a buffer has room at first.
const ROOM_LEAST: usize = 64;

/// Lists that all buffers of a worker share while one of them is combined.
#[derive(Debug, Default)]
pub(crate) struct Combiner {
    /// Place of the record of each destination of a partition, or of another.
    places: Vec<u32>,
    /// Updates that are to be merged into the records at these places.
    merged: (Vec<u32>, Column),
    /// Records in the order of stripes: destinations, and room for more, and as many records.
    ordered: (Vec<u32>, Column),
    /// Where the next record of each stripe goes.
    next: Vec<u32>,
}

impl Combiner {
    /// Puts records of `width` bytes for these destinations, of a partition of `vertices` vertices,
    /// in the order of stripes of `2^bits` destinations: those of a stripe stay in theirs.
    pub(crate) fn order(
        &mut self,
        (width, bits): (usize, u32),
        (targets, records): (&[u32], &[u8]),
        vertices: usize,
    ) -> (&[u32], &[u8]) {
        let stripe = |target: u32| (u64::from(target) >> bits) as usize;
        let Self { ordered: (places, bytes), next, .. } = self;
        if places.len() < targets.len() {
            places.resize(targets.len(), 0);
            bytes.set_length(targets.len() * width);
        }
        next.clear();
        next.resize(stripe(vertices.saturating_sub(1) as u32) + 1, 0);
        for &target in targets {
            next[stripe(target)] += 1;
        }
        let mut before = 0;
        for next in next.iter_mut() {
            before += *next;
            *next = before - *next;
        }
        for (&target, record) in targets.iter().zip(records.chunks_exact(width)) {
            let next = &mut next[stripe(target)];
            let at = *next as usize;
            places[at] = target;
            copy(record, &mut bytes[at * width..]);
            *next += 1;
        }
        (&places[..targets.len()], &bytes[..targets.len() * width])
    }
}

/// Updates for a partition that wait for their chunk to be full.
#[derive(Debug)]
pub(crate) struct Bin {
    /// Bytes of a record.
    width: usize,
    count: usize,
    /// Destinations, relative to the partition, and room for more.
    targets: Vec<u32>,
    /// As many records.
    records: Column,
    /// Number of updates that the records stand for.
    updates: u64,
}

impl Bin {
    /// An empty bin for records of `width` bytes.
    pub(crate) fn new(width: usize) -> Self {
        Self { width, count: 0, targets: Vec::new(), records: Column::default(), updates: 0 }
    }

    pub(crate) fn clear(&mut self) {
        (self.count, self.updates) = (0, 0);
    }

    /// Number of records in the buffer.
    pub(crate) fn waiting(&self) -> u32 {
        self.count as u32
    }

    /// Number of records in the buffer, and bytes of one with its target.
    pub(crate) fn held(&self) -> (u64, u64) {
        (self.count as u64, (size_of::<u32>() + self.width) as u64)
    }

    /// Whether there are `records` records, or as many updates as can be counted.
    pub(crate) fn is_full(&self, records: u32) -> bool {
        self.waiting() >= records || self.updates >= u32::MAX.into()
    }

    /// Destinations, and the records for them.
    pub(crate) fn records(&self) -> (&[u32], &[u8]) {
        (&self.targets[..self.count], &self.records[..self.count * self.width])
    }

    /// Has room for `records` records at least, and for more where it has to grow.
    fn grow(&mut self, records: usize) {
        self.reserve(records.max(2 * self.targets.len()).max(ROOM_LEAST));
    }

    /// Has room for `records` records at least.
    pub(crate) fn reserve(&mut self, records: usize) {
        if records > self.targets.len() {
            self.targets.resize(records, 0);
            self.records.resize(records * self.width);
        }
    }

    /// Bytes of its room.
    pub(crate) fn room_bytes(&self) -> usize {
        size_of_val(&self.targets[..]) + self.records.len()
    }

    /// Adds a record that stands for one update.
    #[inline]
    pub(crate) fn put(&mut self, target: u32, record: &[u8]) {
        if self.count == self.targets.len() {
            self.grow(self.count + 1);
        }
        self.targets[self.count] = target;
        copy(record, &mut self.records[self.count * self.width..]);
        self.count += 1;
        self.updates += 1;
    }

    /// Adds records that stand for one update each.
    pub(crate) fn extend(&mut self, targets: &[u32], records: &[u8]) {
        let end = self.count + targets.len();
        if end > self.targets.len() {
            self.grow(end);
        }
        self.targets[self.count..end].copy_from_slice(targets);
        self.records[self.count * self.width..end * self.width].copy_from_slice(records);
        self.count = end;
        self.updates += targets.len() as u64;
    }

    /// Whether there would be more than `records` records together with those of another bin, or
    /// more updates than can be counted.
    pub(crate) fn is_beyond(&self, other: &Self, records: u32) -> bool {
        let updates = self.updates.saturating_add(other.updates);
        self.count + other.count > records as usize || updates > u32::MAX.into()
    }

    /// Adds all records of another bin, which is empty afterwards.
    pub(crate) fn append(&mut self, other: &mut Self) {
        let updates = self.updates + other.updates;
        let (targets, records) = other.records();
        self.extend(targets, records);
        self.updates = updates;
        other.clear();
    }

    /// Puts the records in the order of stripes of `2^bits` destinations.
    fn order(&mut self, combiner: &mut Combiner, bits: u32, vertices: usize) {
        if (vertices.saturating_sub(1) as u64) >> bits == 0 {
            return;
        }
        combiner.order((self.width, bits), self.records(), vertices);
        let (targets, records) = &mut combiner.ordered;
        if targets.len() < self.targets.len() {
            targets.resize(self.targets.len(), 0);
            records.set_length(self.targets.len() * self.width);
        }
        std::mem::swap(&mut self.targets, targets);
        std::mem::swap(&mut self.records, records);
    }

    /// Merges records for one destination, of a partition of `vertices` vertices, into the first of
    /// them, in their order, which is that of stripes of `2^bits` vertices.
    pub(crate) fn combine(
        &mut self,
        kernel: &FoldKernel,
        combiner: &mut Combiner,
        (bits, vertices): (u32, usize),
    ) {
        self.order(combiner, bits, vertices);
        let Combiner { places, merged, .. } = combiner;
        if places.len() < vertices {
            places.resize(vertices, 0);
        }
        let (mut kept, width) = (0, self.width);
        for record in 0..self.count {
            let target = self.targets[record];
            let at = record * width..(record + 1) * width;
            let place = places[target as usize];
            if (place as usize) < kept && self.targets[place as usize] == target {
                merged.0.push(place);
                merged.1.extend(&self.records[at]);
                if merged.0.len() >= MERGED_MAX {
                    merge(kernel, merged, &mut self.records[..kept * width]);
                }
                continue;
            }
            places[target as usize] = kept as u32;
            if kept < record {
                self.targets[kept] = target;
                let (front, back) = self.records.split_at_mut(at.start);
                copy(&back[..width], &mut front[kept * width..]);
            }
            kept += 1;
        }
        merge(kernel, merged, &mut self.records[..kept * width]);
        self.count = kept;
    }

    /// The buffer as a chunk of updates that were not combined.
    pub(crate) fn chunk(&self, at: (u64, UpdateKey)) -> Vec<u8> {
        write_updates(self.width, at, self.records(), self.updates)
    }

    /// The buffer as a chunk for its partition, if it holds anything; it is empty afterwards.
    pub(crate) fn take(
        &mut self,
        at: (u64, UpdateKey),
        resources: &dyn Resources,
    ) -> Option<Filled> {
        let filled = (self.updates > 0).then(|| {
            let mut buffer = resources.buffer(updates_bytes(self.width, self.count));
            write_updates_to(&mut buffer, self.width, at, self.records(), self.updates);
            Filled {
                partition: at.1.stripe,
                source: None,
                records: self.updates as u32,
                combined: self.updates as u32 - self.waiting(),
                sources: u64::MAX,
                payload: buffer.seal(),
            }
        });
        self.clear();
        filled
    }
}

/// Merges updates into the records at their places, and forgets them.
fn merge(kernel: &FoldKernel, (places, updates): &mut (Vec<u32>, Column), records: &mut [u8]) {
    if !places.is_empty() {
        let are_merged = kernel.merge((places, updates), records);
        assert!(are_merged, "places are those of records");
        places.clear();
        updates.clear();
    }
}

/// Copies a record. Of usual widths that is a load and a store, not a call.
#[inline]
fn copy(record: &[u8], to: &mut [u8]) {
    match (record.as_array::<4>(), record.as_array::<8>()) {
        (Some(record), _) => to[..4].copy_from_slice(record),
        (_, Some(record)) => to[..8].copy_from_slice(record),
        _ => to[..record.len()].copy_from_slice(record),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use bytemuck::pod_read_unaligned;
    use welter_algorithms::Spmv;
    use welter_algorithms::spmv::Vector;
    use welter_engine::chunks::open_updates;
    use welter_protocol::random::Random;

    use super::*;

    use crate::resources::CallerAlone;

    const AT: (u64, UpdateKey) = (7, UpdateKey::new(0, 0, 0));

    /// All destinations are in one stripe.
    const ONE: u32 = 63;

    /// The chunk that a buffer of these updates of a sum becomes.
    fn filled(combines: bool, updates: &[(u32, f64)]) -> (u32, Filled) {
        let kernel = FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)));
        let mut bin = Bin::new(size_of::<f64>());
        for (target, update) in updates {
            bin.put(*target, &update.to_ne_bytes());
        }
        if combines {
            bin.combine(&kernel, &mut Combiner::default(), (ONE, 8));
        }
        (bin.waiting(), bin.take(AT, &CallerAlone).unwrap())
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
        let updates: Vec<_> = (0..5 * MERGED_MAX as u32).map(|place| (place % 2, 1.0)).collect();
        let (waiting, chunk) = filled(true, &updates);
        assert_eq!((waiting, chunk.records), (2, 5 * MERGED_MAX as u32));
        let records = open_updates(size_of::<f64>(), AT, &chunk.payload).unwrap();
        let sums = bytemuck::cast_slice::<u8, f64>(records.accums);
        assert_eq!(sums, [2.5 * MERGED_MAX as f64; 2]);
    }

    #[test]
    fn buffers_that_are_combined_again_and_again_hold_the_sums() {
        let kernel = FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)));
        let (mut combiner, mut random) = (Combiner::default(), Random::new(3));
        let mut bins = [(Bin::new(8), 40), (Bin::new(8), 1000)];
        let mut expected = [BTreeMap::new(), BTreeMap::new()];
        for round in 1..30_usize {
            for ((bin, vertices), expected) in bins.iter_mut().zip(&mut expected) {
                for _ in 0..random.below(90) {
                    let target = random.below(*vertices) as u32;
                    bin.put(target, &(round as f64).to_ne_bytes());
                    *expected.entry(target).or_insert(0.0) += round as f64;
                }
                let bits = [0, 3, ONE][round % 3];
                bin.combine(&kernel, &mut combiner, (bits, *vertices as usize));
                let (targets, records) = bin.records();
                assert!(targets.is_sorted_by_key(|target| u64::from(*target) >> bits));
                let sums = records.chunks_exact(8).map(pod_read_unaligned::<f64>);
                let found: BTreeMap<u32, f64> = targets.iter().copied().zip(sums).collect();
                assert_eq!(targets.len(), found.len(), "one record for each");
                assert_eq!(&found, expected, "round {round}");
            }
        }
    }

    #[test]
    fn records_of_a_stripe_stay_in_their_order() {
        let targets = [9, 2, 8, 1, 9, 2];
        let numbers = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0_f64];
        let mut combiner = Combiner::default();
        let records = (&targets[..], bytemuck::cast_slice(&numbers));
        let (ordered, bytes) = combiner.order((8, 2), records, 10);
        assert_eq!(ordered, [2, 1, 2, 9, 8, 9]);
        assert_eq!(bytemuck::cast_slice::<u8, f64>(bytes), [1.0, 3.0, 5.0, 0.0, 2.0, 4.0]);
    }

    #[test]
    fn bins_that_are_put_together_stand_for_all_updates() {
        let kernel = FoldKernel::of(Arc::new(Spmv::<f64>::new(Vector::Random { seed: 1 }, 1)));
        let (mut combiner, mut bins) = (Combiner::default(), [Bin::new(8), Bin::new(8)]);
        for bin in &mut bins {
            for number in 0..200 {
                bin.put(number % 7, &1.0_f64.to_ne_bytes());
            }
            bin.combine(&kernel, &mut combiner, (1, 7));
            assert_eq!(bin.waiting(), 7);
        }
        let [first, second] = &mut bins;
        first.append(second);
        first.combine(&kernel, &mut combiner, (1, 7));
        assert!(second.take(AT, &CallerAlone).is_none());
        let chunk = first.take(AT, &CallerAlone).unwrap();
        assert_eq!((chunk.records, chunk.combined), (400, 393));
    }
}
