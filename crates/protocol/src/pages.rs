//! Pages of buffers, which a pool may have them back from.
//!
//! A machine that streams takes a buffer of megabytes for each chunk and drops it soon after. An
//! allocator that gives such memory back to the system lets it be touched page by page again. So
//! pages return to their [`PagePool`], if they have one, as soon as nothing uses them any more. The
//! pool is the driver's, since this crate has no locks.

use std::sync::Weak;

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut, zeroed_vec};

/// Bytes of a page: what addresses and lengths of direct requests are multiples of.
pub const PAGE_BYTES: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; PAGE_BYTES]);

/// Consecutive pages, whatever is in them.
#[derive(Default)]
pub struct PageRun(Vec<Page>);

impl PageRun {
    /// A run of `pages` pages of zeros.
    pub fn zeroed(pages: usize) -> Self {
        Self(zeroed_vec(pages))
    }

    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.0.len()
    }
}

/// A place to which runs of pages return that nothing uses any more.
pub trait PagePool: Send + Sync {
    /// Keeps a run, or drops it.
    fn keep(&self, run: PageRun);
}

/// Pages that no other buffer has. They return to their pool when they are dropped, if it is still
/// there.
pub(crate) struct Pages {
    run: PageRun,
    pool: Option<Weak<dyn PagePool>>,
}

impl Pages {
    /// Pages for `bytes` bytes, all of them zeros, without a pool.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { run: PageRun::zeroed(bytes.div_ceil(PAGE_BYTES)), pool: None }
    }

    /// The pages of a run, which returns to this pool.
    pub(crate) fn pooled(run: PageRun, pool: Weak<dyn PagePool>) -> Self {
        Self { run, pool: Some(pool) }
    }

    /// Bytes of the pages that `bytes` bytes need.
    pub(crate) fn of(&self, bytes: usize) -> &[u8] {
        cast_slice(&self.run.0[..bytes.div_ceil(PAGE_BYTES)])
    }

    /// As [`Self::of`], to fill.
    pub(crate) fn of_mut(&mut self, bytes: usize) -> &mut [u8] {
        cast_slice_mut(&mut self.run.0[..bytes.div_ceil(PAGE_BYTES)])
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take().and_then(|pool| pool.upgrade()) {
            pool.keep(std::mem::take(&mut self.run));
        }
    }
}
