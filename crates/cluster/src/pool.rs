//! The page pool: pages of buffers that are gone, for buffers to come.
//!
//! A chunk is a buffer of 2 MiB, and the command's allocator gives such memory back to the system
//! at once: page faults and zeroed pages were a fifth of the samples of route `fold`.
//!
//! **Invariant:** a pool keeps no more bytes than its bound. Checked in `IdleRuns::keep`. Tested
//! by `a_pool_keeps_what_it_has_room_for_and_hands_it_out_again`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use welter_protocol::payload::{Buffer, PAGE_BYTES, PagePool, PageRun};

/// Pages of the smallest buffer that a pool keeps: an allocator has smaller ones at hand.
const POOLED_PAGES_LEAST: usize = 16;

/// Bytes that a pool keeps of a machine with this window of stores: a chunk that was waited for is
/// gone when the next one comes, and there are about as many of them as fit in a window.
pub(crate) fn pool_bytes(window: u64) -> usize {
    (window / 2) as usize
}

/// A pool of pages. A clone is the same pool.
#[derive(Clone)]
pub(crate) struct Pool(Arc<IdleRuns>);

/// Runs of pages that wait.
struct IdleRuns {
    runs: Mutex<Vec<PageRun>>,
    pages_max: AtomicUsize,
}

impl Pool {
    /// An empty pool that keeps up to `bytes_max` bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        let pages_max = AtomicUsize::new(bytes_max / PAGE_BYTES);
        Self(Arc::new(IdleRuns { runs: Mutex::default(), pages_max }))
    }

    /// Keeps up to `bytes_max` bytes from now on.
    pub(crate) fn keep_up_to(&self, bytes_max: usize) {
        self.0.pages_max.store(bytes_max / PAGE_BYTES, Ordering::Relaxed);
    }

    /// A buffer of `length` bytes, whatever they are, that returns to the pool.
    pub(crate) fn buffer(&self, length: usize) -> Buffer {
        let pages = length.div_ceil(PAGE_BYTES);
        if pages < POOLED_PAGES_LEAST {
            return Buffer::zeroed(length);
        }
        let fresh = || PageRun::zeroed(pages.next_multiple_of(POOLED_PAGES_LEAST));
        let run = self.0.take(pages).unwrap_or_else(fresh);
        let kept: Arc<dyn PagePool> = self.0.clone();
        Buffer::pooled(run, length, Arc::downgrade(&kept))
    }
}

impl IdleRuns {
    /// The shortest run that has `pages` pages, and not more than twice as many.
    fn take(&self, pages: usize) -> Option<PageRun> {
        let mut runs = self.lock();
        let fits = |run: &PageRun| (pages..=2 * pages).contains(&run.pages());
        let fitting = runs.iter().enumerate().filter(|(_, run)| fits(run));
        let (place, _) = fitting.min_by_key(|(_, run)| run.pages())?;
        Some(runs.swap_remove(place))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<PageRun>> {
        // Nothing is done under the lock that may leave it half done.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PagePool for IdleRuns {
    fn keep(&self, run: PageRun) {
        let mut runs = self.lock();
        let kept: usize = runs.iter().map(PageRun::pages).sum();
        if kept + run.pages() <= self.pages_max.load(Ordering::Relaxed) {
            runs.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_keeps_what_it_has_room_for_and_hands_it_out_again() {
        let pool = Pool::new(100 * PAGE_BYTES);
        let kept = || pool.0.lock().iter().map(PageRun::pages).sum::<usize>();
        let [small, large] = [20, 60].map(|pages| pool.buffer(pages * PAGE_BYTES));
        let at = small.as_ptr();
        drop((small, large));
        assert_eq!(kept(), 32 + 64, "whole runs of 16");
        // Of a run that is more than twice as long most would lie idle.
        let again = pool.buffer(17 * PAGE_BYTES);
        assert_eq!((again.as_ptr(), kept()), (at, 64));
        let other = pool.buffer(31 * PAGE_BYTES);
        assert_eq!((other.len(), kept()), (31 * PAGE_BYTES, 64));
        drop((again, other));
        assert_eq!(kept(), 96, "the second of the two had no room");
        drop(pool.buffer(PAGE_BYTES));
        assert_eq!(kept(), 96, "short ones are not kept");
    }

    #[test]
    fn a_buffer_of_a_pool_is_as_any_other_and_outlives_it() {
        let pool = Pool::new(1 << 20);
        for round in 0..3 {
            let mut buffer = pool.buffer(100_000);
            assert_eq!((buffer.len(), buffer.room().len()), (100_000, 25 * PAGE_BYTES));
            buffer.fill(round);
            assert_eq!(buffer.seal()[..], vec![round; 100_000]);
        }
        let mut last = pool.buffer(100_000);
        drop(pool);
        last.fill(9);
        assert_eq!(last.seal()[..], vec![9; 100_000]);
    }
}
