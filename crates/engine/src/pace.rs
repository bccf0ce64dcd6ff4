//! How fast this machine is, from a short look.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How fast a core and the storage are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Picoseconds that a core takes for a step of a fixed loop.
    pub core_picos: u64,
    /// Bytes that storage gives in a second.
    pub read: u64,
    /// Bytes that it takes in a second.
    pub write: u64,
}

/// Sources of the loop: their signals stay in the first level of caches.
const SIGNALS: usize = 1 << 12;
/// Destinations: their accumulators stay in the second.
const ACCUMS: usize = 1 << 16;
/// Steps that are timed at once.
const KEYS: usize = 1 << 16;
/// How long the loop is looked at; the fastest time counts.
const LOOK: Duration = Duration::from_millis(5);

impl Pace {
    /// The pace of a core, for what touches no storage.
    pub fn of_core() -> Self {
        Self { core_picos: core_picos(), read: u64::MAX, write: u64::MAX }
    }
}

/// Does what a fold does to an edge, but for its decoding: adds the signal of a source to the
/// accumulator of a destination, at random places.
fn core_picos() -> u64 {
    let mut state = 1_u64;
    let mut key = || {
        // Knuth's multiplier; the upper bits are good enough for places.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (source, target) = (state >> 40, state >> 44);
        [(source as usize % SIGNALS) as u32, (target as usize % ACCUMS) as u32]
    };
    let keys: Vec<[u32; 2]> = (0..KEYS).map(|_| key()).collect();
    let (signals, mut accums) = (vec![1.0_f32; SIGNALS], vec![0.0_f32; ACCUMS]);
    let started = Instant::now();
    let mut best = Duration::MAX;
    while started.elapsed() < LOOK {
        let began = Instant::now();
        for [source, target] in black_box(&keys) {
            accums[*target as usize % ACCUMS] += signals[*source as usize % SIGNALS];
        }
        black_box(&mut accums);
        best = best.min(began.elapsed());
    }
    (best.as_nanos() as u64 * 1000 / KEYS as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_takes_some_time_and_not_much() {
        // From a tenth of a nanosecond to what a busy machine with slow memory takes.
        assert!((100..1_000_000).contains(&Pace::of_core().core_picos));
    }
}
