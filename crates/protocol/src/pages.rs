//! Pages of buffers, which a pool may have them back from.
//!
//! A machine that streams takes a buffer of megabytes for each chunk and drops it soon after. An
//! allocator that gives such memory back to the system lets it be touched page by page again. So
//! pages return to a [`Home`], if they have one, as soon as nothing uses them any more; a pool of a
//! driver is one, which this crate has no locks for.

use std::sync::Weak;

use bytemuck::{Pod, Zeroable, cast_slice, cast_slice_mut, zeroed_vec};

/// Bytes of a page: what addresses and lengths of direct requests are multiples of.
pub const PAGE_BYTES: usize = 4096;

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(4096))]
struct Page([u8; PAGE_BYTES]);

/// Consecutive pages, whatever is in them.
#[derive(Default)]
pub struct Run(Vec<Page>);

impl Run {
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
pub trait Home: Send + Sync {
    /// Keeps a run, or drops it.
    fn keep(&self, run: Run);
}

/// Pages that no other buffer has. They return home when they are dropped, if that is still there.
pub(crate) struct Pages {
    run: Run,
    home: Option<Weak<dyn Home>>,
}

impl Pages {
    /// Pages for `bytes` bytes, all of them zeros, without a home.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        Self { run: Run::zeroed(bytes.div_ceil(PAGE_BYTES)), home: None }
    }

    /// The pages of a run, which returns to this home.
    pub(crate) fn with_home(run: Run, home: Weak<dyn Home>) -> Self {
        Self { run, home: Some(home) }
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
        if let Some(home) = self.home.take().and_then(|home| home.upgrade()) {
            home.keep(std::mem::take(&mut self.run));
        }
    }
}
