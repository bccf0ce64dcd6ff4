//! An account of memory: what buffers take, added up.
//!
//! The room `footprints` states that for each room of the engine. A plan enters it here, once for a
//! run or once for each of its workers, and the sum is what the run is planned to take.

/// Bytes of a run that are entered one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryAccount {
    workers: u64,
    bytes: u64,
}

impl MemoryAccount {
    /// An account of a run with `workers` workers, in which nothing was entered.
    pub(super) fn new(workers: usize) -> Self {
        Self { workers: workers as u64, bytes: 0 }
    }

    /// Enters bytes that a run takes once.
    #[must_use]
    pub(super) fn shared(self, bytes: u64) -> Self {
        Self { bytes: self.bytes + bytes, ..self }
    }

    /// Enters bytes that each worker takes.
    #[must_use]
    pub(super) fn each_worker(self, bytes: u64) -> Self {
        self.shared(self.workers * bytes)
    }

    /// Bytes that were entered.
    pub(super) fn bytes(self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_take_counts_once_for_each() {
        let account = MemoryAccount::new(3).shared(5).each_worker(7).shared(11);
        assert_eq!(account.bytes(), 5 + 3 * 7 + 11);
    }
}
