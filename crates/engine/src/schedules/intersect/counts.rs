//! Counts of each rank: 4 bytes, and a place of its own for the few that need more.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::EngineError;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;

/// Counters at the corners of triangles.
pub(super) trait CornerSink {
    /// Adds `more` edges on the far side of a rank.
    fn add_closed(&mut self, rank: usize, more: u64);
}

impl CornerSink for &Counts {
    #[inline(always)]
    fn add_closed(&mut self, rank: usize, more: u64) {
        self.add(rank, more);
    }
}

/// Counts of 64 bits.
pub(super) struct Counts {
    low: Buffer<AtomicU32>,
    /// Multiples of 2^32 beyond the low halves, of those that have any: each took as many
    /// triangles.
    high: Mutex<BTreeMap<usize, u64>>,
}

impl Counts {
    /// Counts of zero.
    pub(super) fn new(ranks: usize) -> Result<Self, EngineError> {
        Ok(Self { low: Buffer::zeroed(ranks)?, high: Mutex::default() })
    }

    #[inline(always)]
    pub(super) fn add(&self, rank: usize, more: u64) {
        let low = more as u32;
        let (_, wraps) = self.low[rank].fetch_add(low, Relaxed).overflowing_add(low);
        let high = (more >> 32) + u64::from(wraps);
        if high > 0 {
            self.add_high(rank, high);
        }
    }

    #[cold]
    fn add_high(&self, rank: usize, high: u64) {
        *lock(&self.high).entry(rank).or_default() += high;
    }

    /// Sum of what was added for a rank.
    pub(super) fn of(&self, rank: usize) -> u64 {
        let high = lock(&self.high).get(&rank).copied().unwrap_or(0);
        (high << 32) + u64::from(self.low[rank].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_outgrow_four_bytes() {
        let counts = Counts::new(3).unwrap();
        let amounts = [u64::from(u32::MAX), 1, 7, 5 << 32, u64::from(u32::MAX), (3 << 32) + 9];
        for amount in amounts {
            counts.add(1, amount);
            counts.add(2, 1);
        }
        let found = [0, 1, 2].map(|rank| counts.of(rank));
        assert_eq!(found, [0, amounts.iter().sum(), 6]);
    }
}
