//! Progress of a run: named phases with counts, the flag that ends it early, and the kinds of
//! failures with which it ends.
//!
//! Every long loop of welter holds a [`Phase`], adds to it once per batch (never per edge) and asks
//! [`Progress::cancelled`] at the same grain. Drawing bars, writing reports and catching Ctrl-C is
//! the business of the creator of the [`Progress`].
//!
//! Invariant: counting blocks no worker; `add` is one relaxed atomic addition. Bytes of iterations
//! are counted by the thread that runs these, which records their times. Tested by
//! `counting_waits_for_no_lock`.
//!
//! ```
//! use welter_progress::{Progress, Unit};
//!
//! let progress = Progress::new();
//! let phase = progress.phase("read", Unit::Edges, Some(1000));
//! for _batch in 0..4 {
//!     if progress.cancelled() {
//!         break;
//!     }
//!     phase.add(250);
//! }
//! let running = progress.current().map(|phase| (phase.name, phase.done, phase.total));
//! assert_eq!(running, Some(("read", 1000, Some(1000))));
//! drop(phase);
//! assert_eq!((progress.current(), progress.finished().len()), (None, 1));
//! ```

mod failure;
mod iterations;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub use failure::FailureKind;
pub use iterations::Iterations;

use iterations::Record;

/// Unit that a phase counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of input or output.
    Bytes,
    /// Edges.
    Edges,
    /// Vertices or rows.
    Vertices,
    /// Iterations of a program.
    Iterations,
}

impl Unit {
    /// Plural noun for people.
    pub fn noun(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Edges => "edges",
            Self::Vertices => "vertices",
            Self::Iterations => "iterations",
        }
    }
}

/// A finished or running phase, as a report shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseReport {
    /// Name, such as `read` or `iterate`.
    pub name: &'static str,
    /// Unit of `done` and `total`.
    pub unit: Unit,
    /// Units that are done.
    pub done: u64,
    /// Units in total, where they are known.
    pub total: Option<u64>,
    /// Bytes moved from or to storage, or read from memory by the kernel.
    pub bytes: u64,
    /// Wall-clock time of the phase.
    pub elapsed: Duration,
}

/// Shared handle on the progress of one run. Cloning shares.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    shared: Arc<Shared>,
}

/// Listener to a phase.
type Watch = Box<dyn Fn(&PhaseReport) + Send + Sync>;

#[derive(Default)]
struct Shared {
    cancelled: AtomicBool,
    watch: OnceLock<Watch>,
    note: Mutex<Option<String>>,
    running: Mutex<Vec<Arc<Counters>>>,
    finished: Mutex<Vec<PhaseReport>>,
    iterations: Mutex<Record>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("cancelled", &self.cancelled).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Counters {
    name: &'static str,
    unit: Unit,
    started: Instant,
    done: AtomicU64,
    /// `u64::MAX` stands for unknown.
    total: AtomicU64,
    bytes: AtomicU64,
}

const UNKNOWN: u64 = u64::MAX;

impl Counters {
    fn report(&self) -> PhaseReport {
        let total = self.total.load(Ordering::Relaxed);
        PhaseReport {
            name: self.name,
            unit: self.unit,
            done: self.done.load(Ordering::Relaxed),
            total: (total != UNKNOWN).then_some(total),
            bytes: self.bytes.load(Ordering::Relaxed),
            elapsed: self.started.elapsed(),
        }
    }
}

impl Progress {
    /// A fresh handle with no phase.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a phase; it ends, and is kept for the report, when the returned value is dropped.
    pub fn phase(&self, name: &'static str, unit: Unit, total: Option<u64>) -> Phase {
        let counters = Arc::new(Counters {
            name,
            unit,
            started: Instant::now(),
            done: AtomicU64::new(0),
            total: AtomicU64::new(total.unwrap_or(UNKNOWN)),
            bytes: AtomicU64::new(0),
        });
        lock(&self.shared.running).push(Arc::clone(&counters));
        Phase { counters, shared: Arc::clone(&self.shared) }
    }

    /// The innermost phase that is running now.
    pub fn current(&self) -> Option<PhaseReport> {
        lock(&self.shared.running).last().map(|counters| counters.report())
    }

    /// The phases that ended, in the order in which they ended.
    pub fn finished(&self) -> Vec<PhaseReport> {
        lock(&self.shared.finished).clone()
    }

    /// Time and bytes of the iterations that were done, in about a thousand entries at most.
    pub fn iterations(&self) -> Vec<Iterations> {
        lock(&self.shared.iterations).entries()
    }

    /// Calls `watch` with each iteration that was done, once what it moved is known; of those of
    /// the first `watch` only.
    pub fn watch(&self, watch: impl Fn(&PhaseReport) + Send + Sync + 'static) {
        // A second one is not called.
        let _ = self.shared.watch.set(Box::new(watch));
    }

    /// Says something beside the running phase, or nothing more.
    pub fn note(&self, note: Option<String>) {
        *lock(&self.shared.note) = note;
    }

    /// Words beside the running phase, if there are any.
    pub fn noted(&self) -> Option<String> {
        lock(&self.shared.note).clone()
    }

    /// Forgets the phases that ended, and their iterations: what comes next is another run.
    pub fn forget(&self) {
        lock(&self.shared.finished).clear();
        *lock(&self.shared.iterations) = Record::default();
    }

    /// Asks every loop of the run to end at its next batch.
    ///
    /// Handles are clones of one, so the handler of Ctrl-C ends the loops of workers:
    ///
    /// ```
    /// use welter_progress::Progress;
    ///
    /// let progress = Progress::new();
    /// let of_handler = progress.clone();
    /// std::thread::spawn(move || of_handler.cancel()).join().ok();
    /// assert!(progress.cancelled());
    /// ```
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end. Loops ask once per batch.
    pub fn cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::Relaxed)
    }
}

/// A running phase. `Sync`: workers add to it from any thread.
#[derive(Debug)]
pub struct Phase {
    counters: Arc<Counters>,
    shared: Arc<Shared>,
}

impl Phase {
    /// Counts `amount` more units as done.
    pub fn add(&self, amount: u64) {
        self.counters.done.fetch_add(amount, Ordering::Relaxed);
    }

    /// Units that are done.
    pub fn done(&self) -> u64 {
        self.counters.done.load(Ordering::Relaxed)
    }

    /// Counts `amount` more bytes as moved (for a phase whose unit is not bytes).
    pub fn add_bytes(&self, amount: u64) {
        self.counters.bytes.fetch_add(amount, Ordering::Relaxed);
        if self.counters.unit == Unit::Iterations {
            self.iterated();
        }
    }

    /// Records the iterations that were done, of which one thread counts the bytes.
    fn iterated(&self) {
        let report = self.counters.report();
        let now = Iterations { count: report.done, bytes: report.bytes, elapsed: report.elapsed };
        lock(&self.shared.iterations).add(self.counters.started, now);
        if let Some(watch) = self.shared.watch.get() {
            watch(&report);
        }
    }

    /// Corrects the total, once it is known better.
    pub fn set_total(&self, total: u64) {
        self.counters.total.store(total, Ordering::Relaxed);
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        lock(&self.shared.running).retain(|other| !Arc::ptr_eq(other, &self.counters));
        lock(&self.shared.finished).push(self.counters.report());
    }
}

/// A panicking worker elsewhere does not make counts unreadable.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_current_while_it_lives_and_kept_afterwards() {
        let progress = Progress::new();
        assert_eq!(progress.current(), None);
        {
            let phase = progress.phase("read", Unit::Bytes, None);
            phase.add(7);
            phase.set_total(9);
            let now = progress.current().unwrap();
            assert_eq!((now.name, now.done, now.total), ("read", 7, Some(9)));
            let _inner = progress.phase("bin", Unit::Edges, Some(1));
            assert_eq!(progress.current().unwrap().name, "bin");
        }
        assert_eq!(progress.current(), None);
        let names: Vec<_> = progress.finished().iter().map(|phase| phase.name).collect();
        assert_eq!(names, ["bin", "read"]);
        progress.forget();
        assert!(progress.finished().is_empty());
    }

    #[test]
    fn counting_waits_for_no_lock() {
        let progress = Progress::new();
        let phase = progress.phase("read", Unit::Edges, None);
        // One of them taken again would never be had, or panic.
        let running = lock(&phase.shared.running);
        let finished = lock(&phase.shared.finished);
        phase.add(3);
        phase.add_bytes(12);
        assert!(!progress.cancelled());
        drop((running, finished));
        assert_eq!(progress.current().map(|phase| phase.done), Some(3));
    }

    #[test]
    fn iterations_are_heard_of_with_what_they_moved() {
        let (progress, events) = (Progress::new(), Arc::new(Mutex::new(Vec::new())));
        let list = Arc::clone(&events);
        progress.watch(move |phase| lock(&list).push((phase.done, phase.bytes)));
        progress.watch(|_| panic!("the first one hears"));
        for (name, unit) in [("iterate", Unit::Iterations), ("sort", Unit::Edges)] {
            let phase = progress.phase(name, unit, None);
            for bytes in [30, 4] {
                phase.add(1);
                phase.add_bytes(bytes);
            }
        }
        assert_eq!(*lock(&events), [(1, 30), (2, 34)]);
        let moved = progress.iterations().into_iter().map(|entry| (entry.count, entry.bytes));
        assert_eq!(moved.collect::<Vec<_>>(), [(1, 30), (1, 4)]);
        progress.forget();
        assert!(progress.iterations().is_empty());
    }

    #[test]
    fn cancelling_is_seen_by_every_clone() {
        let progress = Progress::new();
        let clone = progress.clone();
        assert!(!clone.cancelled());
        progress.cancel();
        assert!(clone.cancelled());
    }
}
