//! Flags by which threads are told to end: those of a machine, or of an epoch of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::panicking;

/// Flags of an epoch. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    machine: Arc<AtomicBool>,
    epoch: Arc<AtomicBool>,
}

impl Ending {
    /// Of another epoch of this machine.
    pub(super) fn of_next_epoch(&self) -> Self {
        Self { machine: self.machine.clone(), epoch: Arc::default() }
    }

    /// Signals the end to all threads of the machine.
    pub(super) fn end_machine(&self) {
        self.machine.store(true, Ordering::Release);
    }

    /// Signals the end to the threads of the epoch.
    pub(super) fn end_epoch(&self) {
        self.epoch.store(true, Ordering::Release);
    }

    /// Whether the machine is to end.
    pub(super) fn is_of_machine(&self) -> bool {
        self.machine.load(Ordering::Acquire)
    }

    /// Whether a thread is to end.
    pub(super) fn is_set(&self) -> bool {
        self.epoch.load(Ordering::Relaxed) || self.machine.load(Ordering::Relaxed)
    }
}

/// Ends accumulator threads when it is dropped, and after a panic all threads of the epoch, which
/// are waited for before it goes on.
pub(super) struct Over<'o> {
    pub(super) ending: &'o Ending,
    pub(super) is_over: &'o AtomicBool,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if panicking() {
            self.ending.end_epoch();
        }
        self.is_over.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn threads_end_after_a_panic() {
        for panics in [false, true] {
            let (ending, is_over) = (Ending::default(), AtomicBool::new(false));
            let ended = catch_unwind(AssertUnwindSafe(|| {
                let _over = Over { ending: &ending, is_over: &is_over };
                assert!(!panics, "a planted panic");
            }));
            assert_eq!((ended.is_err(), ending.is_set()), (panics, panics));
            assert!(is_over.load(Ordering::Acquire));
        }
    }
}
