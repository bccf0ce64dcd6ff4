//! Buckets: updates from the edges of a part of the input, by ranges of slots.
//!
//! A batch of edges is counted by the ranges of their targets first, so each bucket is a run of one
//! column and nothing is moved twice. Which edges make an update is as good as random, so all write
//! their place and the next one overwrites it where they made none: no branch depends on it.

use std::ops::Range;

use bytemuck::{Pod, Zeroable, bytes_of};
use welter_model::edges::{Batch, Reading};
use welter_model::input_scan::InputScan;

use crate::kernels::kernel::fetch;
use crate::kernels::seam::elements_mut;
use crate::machine::dispatch::dispatched;

/// Ranges that slots are cut into, at most: their buckets are written side by side.
const RANGES: usize = 256;

/// Edges whose updates are put into buckets together: what they write stays in the second-level
/// cache.
const TOGETHER: usize = 1 << 15;

/// Updates between the prefetch of a slot and its update.
const AHEAD: usize = 16;

/// Ranges of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRanges {
    /// Log2 of the slots of a range.
    bits: u32,
    ranges: usize,
}

impl SlotRanges {
    pub(crate) fn of(slots: u64) -> Self {
        let bits = slots.div_ceil(RANGES as u64).max(1).next_power_of_two().ilog2();
        Self { bits, ranges: slots.div_ceil(1 << bits) as usize }
    }

    /// Slots of a range.
    pub(crate) fn width(self) -> usize {
        1 << self.bits
    }
}

/// Updates that the edges of a part made so far, by range of slots.
pub(crate) trait UpdateBuckets: Send + Sync {
    /// Makes room for the updates of `edges` edges, where there are none.
    fn reserve(&mut self, edges: usize);

    /// Puts in the updates of the edges of a batch.
    fn put(&mut self, reading: Reading, batch: &Batch<'_>);

    /// Delivers what is in the bucket of a range to its slots, in the order in which it was put
    /// there.
    fn deliver(&self, range: usize, accums: &mut [u8]);

    /// Empties all buckets, and adds to `totals` what their edges add to the totals.
    fn empty(&mut self, totals: &mut Vec<u8>);
}

/// Buckets of an input scan.
pub(crate) struct Buckets<'p, P: InputScan> {
    program: &'p P,
    cut: SlotRanges,
    /// Targets and their updates; as long as they ever were.
    targets: Vec<u32>,
    updates: Vec<P::Update>,
    /// Where the bucket of each range is, batch by batch.
    places: Vec<Range<u32>>,
    /// Places of the columns that are taken.
    taken: usize,
    sums: P::Sums,
}

impl<'p, P: InputScan> Buckets<'p, P> {
    pub(crate) fn new(program: &'p P, cut: SlotRanges) -> Self {
        let (targets, updates, places) = (Vec::new(), Vec::new(), Vec::new());
        Self { program, cut, targets, updates, places, taken: 0, sums: P::Sums::default() }
    }

    fn grow(&mut self, edges: usize) {
        self.targets.resize(edges, 0);
        self.updates.resize(edges, P::Update::zeroed());
    }

    #[inline(always)]
    fn put_some(&mut self, reading: Reading, pairs: &[[u32; 2]], weight: impl Fn(usize) -> f64) {
        let Reading { undirected, reversed, drop_self_loops, .. } = reading;
        let (along, against) = (undirected || !reversed, undirected || reversed);
        let (program, bits) = (self.program, self.cut.bits);
        let mut counts = [0_u32; RANGES + 1];
        for [source, target] in pairs {
            counts[(target >> bits) as usize] += u32::from(along);
            counts[(source >> bits) as usize] += u32::from(against);
        }
        let mut cursors = [0_u32; RANGES];
        let mut end = self.taken as u32;
        for (cursor, count) in cursors.iter_mut().zip(&counts) {
            *cursor = end;
            end += count;
        }
        let starts = cursors;
        if self.targets.len() < end as usize {
            self.grow(end as usize);
        }
        // Here and not in the bucket, so that sums stay in registers: edges of R-MAT 22 are counted
        // in 0.49 s instead of 0.71 (conductance, 2 threads, in turns).
        let mut sums = std::mem::take(&mut self.sums);
        let (targets, updates) = (&mut self.targets[..], &mut self.updates[..]);
        let mut filling = Filling { bits, cursors: &mut cursors, targets, updates };
        for (edge, &[source, target]) in pairs.iter().enumerate() {
            let is_loop = source == target;
            if is_loop && drop_self_loops {
                continue;
            }
            let weight = weight(edge);
            if along {
                filling.put(program, [source, target], weight, &mut sums);
            }
            if against && !(undirected && is_loop) {
                filling.put(program, [target, source], weight, &mut sums);
            }
        }
        self.sums = sums;
        self.places.extend(
            starts.iter().zip(&cursors).take(self.cut.ranges).map(|(start, end)| *start..*end),
        );
        self.taken = end as usize;
    }
}

/// Buckets that are being filled.
struct Filling<'a, U> {
    bits: u32,
    cursors: &'a mut [u32; RANGES],
    targets: &'a mut [u32],
    updates: &'a mut [U],
}

impl<U: Pod> Filling<'_, U> {
    /// Puts in the update of an edge, if it makes one. A function that is always inlined, since a
    /// closure that is called in two places need not be: then it is compiled without the
    /// instructions of the loop (`conductance`, 1.12 of the time).
    #[inline(always)]
    fn put<P: InputScan<Update = U>>(
        &mut self,
        program: &P,
        [source, target]: [u32; 2],
        weight: f64,
        sums: &mut P::Sums,
    ) {
        let outcome = program.edge(source, target, weight, sums);
        let cursor = &mut self.cursors[(target >> self.bits) as usize];
        // Edges without an update were counted too, so this place is still in the bucket.
        self.targets[*cursor as usize] = target;
        self.updates[*cursor as usize] = outcome.unwrap_or(U::zeroed());
        *cursor += u32::from(outcome.is_some());
    }
}

impl<P: InputScan> UpdateBuckets for Buckets<'_, P> {
    fn reserve(&mut self, edges: usize) {
        if self.targets.len() < edges {
            // Afresh, since nothing is in there: growing would hold both.
            (self.targets, self.updates) = (Vec::new(), Vec::new());
            self.grow(edges);
        }
    }

    fn put(&mut self, reading: Reading, batch: &Batch<'_>) {
        let weights = batch.weights.filter(|_| P::WEIGHTED);
        let mut done = 0;
        for pairs in batch.pairs.chunks(TOGETHER) {
            let weights = weights.map(|weights| &weights[done..done + pairs.len()]);
            dispatched(
                #[inline(always)]
                || match weights {
                    None => self.put_some(reading, pairs, |_| 1.0),
                    Some(weights) => self.put_some(reading, pairs, |edge| weights[edge]),
                },
            );
            done += pairs.len();
        }
    }

    fn deliver(&self, range: usize, accums: &mut [u8]) {
        let accums = elements_mut::<P::Accum>(accums);
        let first = (range as u32) << self.cut.bits;
        for place in self.places.iter().skip(range).step_by(self.cut.ranges) {
            let place = place.start as usize..place.end as usize;
            let (targets, updates) = (&self.targets[place.clone()], &self.updates[place]);
            for (number, (target, update)) in targets.iter().zip(updates).enumerate() {
                if let Some(later) = targets.get(number + AHEAD) {
                    fetch(accums, (later - first) as usize);
                }
                let accum = &mut accums[(target - first) as usize];
                *accum = self.program.gather(*accum, *update);
            }
        }
    }

    fn empty(&mut self, totals: &mut Vec<u8>) {
        self.places.clear();
        self.taken = 0;
        let total = self.program.total(std::mem::take(&mut self.sums));
        totals.extend_from_slice(bytes_of(&total));
    }
}
