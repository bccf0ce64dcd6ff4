//! Locks that workers share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes a lock that only a worker that panicked can have poisoned; the panic itself is passed on
/// by the pool.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes what is behind such a lock, when no worker needs it any more.
pub(crate) fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}
