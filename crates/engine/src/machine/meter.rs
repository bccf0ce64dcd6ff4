//! Memory that the engines of this process hold, in bytes.
//!
//! Everything that grows with a graph is mapped by [`crate::machine::arena`] and counted here, so
//! that a plan can be checked against what a run took. Small vectors of the workers are not
//! counted; the plan adds a lump for them.

use std::sync::atomic::{AtomicU64, Ordering};

static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

pub(crate) fn more(bytes: usize) {
    let held = HELD.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

pub(crate) fn less(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Bytes that all engines of this process hold now.
pub fn held_bytes() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// The most bytes that they held since the process began or [`restart`] was called.
pub fn peak_bytes() -> u64 {
    PEAK.load(Ordering::Relaxed)
}

/// Forgets the peak.
pub fn restart() {
    PEAK.store(held_bytes(), Ordering::Relaxed);
}
