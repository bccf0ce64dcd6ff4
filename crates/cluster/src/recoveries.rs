//! Recoveries of a run: machines that were lost or silent, and for how long each held the run up.
//!
//! ```text
//! the last iteration ends     the host notices      a later iteration ends, or the run does
//!            |── unnoticed_seconds ──|──────── seconds ────────|
//! ```
//!
//! An iteration that machines do again after they went back is no later one. A machine that is
//! noticed several times until then counts once, from the first time on.
//!
//! **Invariant:** a host keeps a bounded number of entries, however long its run is. Tested by
//! `entries_are_bounded`.

use std::time::Instant;

use welter_protocol::Rank;

/// Entries that a host keeps, at most; numbers of restarts and suspicions count all others too.
const ENTRIES_MAX: usize = 256;

/// A machine that was lost or silent, until the run came further than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// Rank of the machine.
    pub rank: Rank,
    /// Whether it was started again, or another one in its place; else it was silent for a while.
    pub is_restart: bool,
    /// Iterations that were done when the host noticed.
    pub iterations: u32,
    /// Seconds from the end of the last of them, or the beginning of the run, until then.
    pub unnoticed_seconds: f64,
    /// Seconds from then until a later iteration was done, or the run had ended.
    pub seconds: f64,
}

/// Recoveries that a host has seen, and those that are under way.
#[derive(Debug)]
pub(crate) struct Recoveries {
    /// Iterations that are done.
    iterations: u32,
    /// End of the last of them that was later than all before, or the beginning of the run.
    since: Instant,
    /// Recoveries under way, with the time when each was noticed.
    open: Vec<(Instant, Recovery)>,
    ended: Vec<Recovery>,
}

impl Recoveries {
    /// No recovery yet, of a run that began then.
    pub(crate) fn new(began: Instant) -> Self {
        Self { iterations: 0, since: began, open: Vec::new(), ended: Vec::new() }
    }

    /// A machine is lost (`is_restart`), or silent.
    pub(crate) fn notice(&mut self, rank: Rank, is_restart: bool, now: Instant) {
        if let Some((_, recovery)) = self.open.iter_mut().find(|(_, it)| it.rank == rank) {
            recovery.is_restart |= is_restart;
        } else if self.open.len() < ENTRIES_MAX {
            let unnoticed_seconds = now.saturating_duration_since(self.since).as_secs_f64();
            let iterations = self.iterations;
            let recovery =
                Recovery { rank, is_restart, iterations, unnoticed_seconds, seconds: 0.0 };
            self.open.push((now, recovery));
        }
    }

    /// More iterations are done than ever before, or the run has ended after this number.
    pub(crate) fn advance(&mut self, iterations: u32, now: Instant) {
        (self.iterations, self.since) = (iterations, now);
        let ended = self.open.drain(..).map(|(noticed, recovery)| Recovery {
            seconds: now.saturating_duration_since(noticed).as_secs_f64(),
            ..recovery
        });
        self.ended.extend(ended);
        self.ended.truncate(ENTRIES_MAX);
    }

    /// Recoveries that have ended, in their order.
    pub(crate) fn ended(&self) -> &[Recovery] {
        &self.ended
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_recovery_lasts_until_a_later_iteration_is_done() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut recoveries = Recoveries::new(began);
        recoveries.advance(7, at(10));
        recoveries.notice(2, false, at(15));
        recoveries.notice(1, true, at(16));
        // One that was silent is lost.
        recoveries.notice(2, true, at(20));
        assert!(recoveries.ended().is_empty(), "{recoveries:?}");
        recoveries.advance(8, at(22));
        let of = |rank, unnoticed_seconds, seconds| Recovery {
            rank,
            is_restart: true,
            iterations: 7,
            unnoticed_seconds,
            seconds,
        };
        assert_eq!(recoveries.ended(), [of(2, 5.0, 7.0), of(1, 6.0, 6.0)]);
        recoveries.notice(0, false, at(23));
        recoveries.advance(8, at(26));
        let last = recoveries.ended().last().copied();
        let silent = Recovery { is_restart: false, iterations: 8, ..of(0, 1.0, 3.0) };
        assert_eq!(last, Some(silent));
    }

    #[test]
    fn entries_are_bounded() {
        let now = Instant::now();
        let mut recoveries = Recoveries::new(now);
        for number in 0..600 {
            recoveries.notice(number, false, now);
        }
        assert_eq!(recoveries.open.len(), ENTRIES_MAX);
        for iterations in 0..600 {
            recoveries.notice(0, true, now);
            recoveries.advance(iterations, now);
        }
        assert_eq!((recoveries.open.len(), recoveries.ended().len()), (0, ENTRIES_MAX));
    }
}
