//! The first failure of parallel workers, first in the order of the input and not of time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Keeps the failure with the lowest number and says which work is still worth doing.
pub(super) struct First<E> {
    number: AtomicU64,
    failure: Mutex<Option<(u64, E)>>,
}

impl<E> First<E> {
    pub(super) fn new() -> Self {
        Self { number: AtomicU64::new(u64::MAX), failure: Mutex::new(None) }
    }

    /// Whether a failure before this piece of work makes it useless.
    pub(super) fn precedes(&self, number: u64) -> bool {
        self.number.load(Ordering::Relaxed) < number
    }

    /// Notes that a piece of work failed.
    pub(super) fn note(&self, number: u64, failure: E) {
        self.number.fetch_min(number, Ordering::Relaxed);
        let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| number < *other) {
            *first = Some((number, failure));
        }
    }

    /// The first failure, once all workers have ended.
    pub(super) fn into_inner(self) -> Option<(u64, E)> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_number_wins_whenever_it_comes() {
        let first = First::new();
        first.note(7, "b");
        assert!(first.precedes(8) && !first.precedes(7) && !first.precedes(3));
        first.note(3, "a");
        first.note(5, "c");
        assert_eq!(first.into_inner(), Some((3, "a")));
    }
}
