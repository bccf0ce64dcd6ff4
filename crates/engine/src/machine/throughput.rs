//! Throughput of this machine, from a short look.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Throughput of a core and of the storage.
///
/// Where the storage is a program on the same cores, as on many virtual machines, neither is as
/// fast as alone while both are busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throughput {
    /// Picoseconds that a core takes for a step of a fixed loop.
    pub core_picos: u64,
    /// Bytes that storage gives in a second.
    pub read: u64,
    /// Bytes that it takes in a second.
    pub write: u64,
    /// Speed of cores beside storage that is busy, in thousandths of their speed alone.
    pub cores_beside: u64,
    /// Speed of storage beside cores that are busy, in thousandths of its speed alone.
    pub read_beside: u64,
}

/// Sources of the loop: their signals stay in the first level of caches.
const SIGNALS: usize = 1 << 12;
/// Destinations: their accumulators stay in the second.
const ACCUMS: usize = 1 << 16;
/// Steps that are timed at once.
const KEYS: usize = 1 << 16;
/// Time that the loop is looked at; the fastest time counts.
const LOOK: Duration = Duration::from_millis(5);

impl Throughput {
    /// The throughput of a core, for what touches no storage.
    pub fn of_core() -> Self {
        let core_picos = core_picos();
        let (read, write) = (u64::MAX, u64::MAX);
        Self { core_picos, read, write, cores_beside: 1000, read_beside: 1000 }
    }

    /// The throughput of what is written here and then sent elsewhere, from where it is read: bytes
    /// a second of both.
    pub(crate) fn sent(self, read: u64, write: u64) -> Self {
        let of_both = 1.0 / (1.0 / self.write as f64 + 1.0 / write as f64);
        Self { read, write: (of_both as u64).max(1), ..self }
    }

    /// The throughput of `cores` cores and storage together, where `read` reads for a while and
    /// says how fast.
    pub(crate) fn together<E>(
        self,
        cores: usize,
        read: impl FnOnce() -> Result<u64, E>,
    ) -> Result<Self, E> {
        let (done, steps) = (AtomicBool::new(false), AtomicU64::new(0));
        let started = Instant::now();
        let rate = std::thread::scope(|scope| {
            for _ in 0..cores {
                // Cores that the system gives no thread are not there.
                let _ = std::thread::Builder::new().spawn_scoped(scope, || {
                    let mut work = Work::new();
                    while !done.load(Ordering::Relaxed) {
                        work.step();
                        steps.fetch_add(KEYS as u64, Ordering::Relaxed);
                    }
                });
            }
            let rate = read();
            done.store(true, Ordering::Relaxed);
            rate
        })?;
        let alone = started.elapsed().as_nanos() as u64 * 1000 / self.core_picos.max(1);
        let share = |found: u64, of: u64| (found.saturating_mul(1000) / of.max(1)).clamp(1, 1000);
        Ok(Self {
            cores_beside: share(steps.into_inner(), alone * cores as u64),
            read_beside: share(rate, self.read),
            ..self
        })
    }
}

/// The work that a fold does for an edge, but for its decoding: adds the signal of a source to the
/// accumulator of a destination, at random places.
struct Work {
    keys: Vec<[u32; 2]>,
    signals: Vec<f32>,
    accums: Vec<f32>,
}

impl Work {
    fn new() -> Self {
        let mut state = 1_u64;
        let mut key = || {
            // Knuth's multiplier; the upper bits are good enough for places.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (source, target) = (state >> 40, state >> 44);
            [(source as usize % SIGNALS) as u32, (target as usize % ACCUMS) as u32]
        };
        let keys = (0..KEYS).map(|_| key()).collect();
        Self { keys, signals: vec![1.0; SIGNALS], accums: vec![0.0; ACCUMS] }
    }

    fn step(&mut self) {
        for [source, target] in black_box(&self.keys) {
            self.accums[*target as usize % ACCUMS] += self.signals[*source as usize % SIGNALS];
        }
        black_box(&mut self.accums);
    }
}

fn core_picos() -> u64 {
    let mut work = Work::new();
    let started = Instant::now();
    let mut best = Duration::MAX;
    while started.elapsed() < LOOK {
        let began = Instant::now();
        work.step();
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
        assert!((100..1_000_000).contains(&Throughput::of_core().core_picos));
    }

    #[test]
    fn what_is_sent_is_written_twice() {
        let here = Throughput { read: 9, write: 300, ..Throughput::of_core() };
        let Throughput { read, write, .. } = here.sent(50, 600);
        assert_eq!((read, write), (50, 200));
        assert_eq!(Throughput::of_core().sent(50, 600).write, 600);
        assert_eq!(here.sent(1, 0).write, 1);
    }

    #[test]
    fn shares_are_of_what_each_does_alone() {
        let throughput = Throughput { read: 1000, ..Throughput::of_core() };
        let read = || {
            std::thread::sleep(Duration::from_millis(20));
            Ok::<_, ()>(400)
        };
        let both = throughput.together(2, read).unwrap();
        assert_eq!((both.read, both.read_beside), (1000, 400));
        assert!((1..=1000).contains(&both.cores_beside));
        assert_eq!(throughput.together(1, || Ok::<_, ()>(5000)).unwrap().read_beside, 1000);
        assert_eq!(throughput.together(1, || Err(7)), Err(7));
    }
}
