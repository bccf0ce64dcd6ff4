//! Time and bytes of iterations.
//!
//! Searches of roads have hundreds of thousands of iterations, so a record has a bounded number of
//! entries: once it is full two neighbours become one, and later entries are of as many iterations.
//! Invariant: an entry is lost to none; sums are those of all iterations. Tested by
//! `full_records_lose_nothing`.

use std::time::{Duration, Instant};

/// Entries of a record, at most.
const ENTRIES_MAX: usize = 1024;

/// Consecutive iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Iterations {
    /// Number of iterations.
    pub count: u64,
    /// Bytes that these moved.
    pub bytes: u64,
    /// Wall-clock time that these took.
    pub elapsed: Duration,
}

impl Iterations {
    fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            bytes: self.bytes + other.bytes,
            elapsed: self.elapsed + other.elapsed,
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            count: self.count.saturating_sub(earlier.count),
            bytes: self.bytes.saturating_sub(earlier.bytes),
            elapsed: self.elapsed.saturating_sub(earlier.elapsed),
        }
    }
}

/// The iterations of a run, in few entries.
#[derive(Debug, Default)]
pub(crate) struct Record {
    entries: Vec<Iterations>,
    /// Log2 of the iterations of a whole entry.
    each_bits: u32,
    /// Start of the phase that is recorded, and its sums until now.
    phase: Option<(Instant, Iterations)>,
}

impl Record {
    /// Adds what a phase has done since it was recorded last; `now`: its sums.
    pub(crate) fn add(&mut self, started: Instant, now: Iterations) {
        let before = self.phase.filter(|(phase, _)| *phase == started);
        let step = now.since(before.map_or(Iterations::default(), |(_, sums)| sums));
        self.phase = Some((started, now));
        match self.entries.last_mut() {
            Some(last) if last.count < 1 << self.each_bits => *last = last.plus(step),
            _ => self.entries.push(step),
        }
        if self.entries.len() == ENTRIES_MAX {
            let pair =
                |pair: &[Iterations]| pair.iter().fold(Iterations::default(), |a, b| a.plus(*b));
            self.entries = self.entries.chunks(2).map(pair).collect();
            self.each_bits += 1;
        }
    }

    pub(crate) fn entries(&self) -> Vec<Iterations> {
        self.entries.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(count: u64) -> Iterations {
        Iterations { count, bytes: 3 * count, elapsed: Duration::from_micros(5 * count) }
    }

    #[test]
    fn an_iteration_has_an_entry_in_each_phase() {
        let (mut record, first) = (Record::default(), Instant::now());
        let second = first + Duration::from_secs(1);
        for (phase, count) in [(first, 1), (first, 2), (second, 1), (second, 4)] {
            record.add(phase, sums(count));
        }
        assert_eq!(record.entries(), [1, 1, 1, 3].map(sums));
    }

    #[test]
    fn full_records_lose_nothing() {
        let (mut record, phase) = (Record::default(), Instant::now());
        for count in 1..=5000 {
            record.add(phase, sums(count));
        }
        let entries = record.entries();
        assert!(entries.len() < ENTRIES_MAX, "{}", entries.len());
        assert!(entries.iter().rev().skip(1).all(|entry| entry.count == 8));
        let all = entries.into_iter().fold(Iterations::default(), Iterations::plus);
        assert_eq!(all, sums(5000));
    }
}
