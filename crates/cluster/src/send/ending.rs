//! Flags by which threads are told to end: those of a machine, or of an epoch of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
