//! Streams of edges around other ones: counted, marked, checked or renumbered in passing.
//!
//! A wrapper states the stream inside and what it does otherwise; all else is asked of that stream.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
//! use welter_model::edges::{Batch, EdgeList, EdgeStream, StreamError};
//! use welter_model::stream_wrapper::StreamWrapper;
//!
//! struct Counted(EdgeList, AtomicUsize);
//!
//! impl StreamWrapper for Counted {
//!     type Inner = EdgeList;
//!
//!     fn inner(&self) -> &EdgeList {
//!         &self.0
//!     }
//!
//!     fn read_through(
//!         &self,
//!         part: usize,
//!         visit: &mut dyn FnMut(Batch<'_>) -> bool,
//!     ) -> Result<(), StreamError> {
//!         self.0.read(part, &mut |batch| {
//!             self.1.fetch_add(batch.pairs.len(), Relaxed);
//!             visit(batch)
//!         })
//!     }
//! }
//!
//! let counted = Counted(EdgeList::from_pairs(vec![[0, 1], [1, 2]]), AtomicUsize::new(0));
//! counted.read(0, &mut |_| true)?;
//! assert_eq!((counted.parts(), counted.1.into_inner()), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

use std::sync::Arc;

use crate::edge_sample::{EdgeSample, Sample};
use crate::edges::{Batch, EdgeStream, StreamError};

/// A stream around another one, which it asks for all that it does not do itself.
pub trait StreamWrapper: Send + Sync {
    /// Kind of the stream inside.
    type Inner: EdgeStream + ?Sized;

    /// The stream inside.
    fn inner(&self) -> &Self::Inner;

    /// [`EdgeStream::edges`] of the wrapper.
    fn wrapped_edges(&self) -> u64 {
        self.inner().edges()
    }

    /// [`EdgeStream::weighted`] of the wrapper.
    fn wrapped_weighted(&self) -> bool {
        self.inner().weighted()
    }

    /// [`EdgeStream::slots`] of the wrapper.
    fn wrapped_slots(&self) -> Option<u64> {
        self.inner().slots()
    }

    /// [`EdgeStream::known_sample`] of the wrapper.
    fn wrapped_sample(&self) -> Option<&EdgeSample> {
        self.inner().known_sample()
    }

    /// [`EdgeStream::resident_bytes`] of the wrapper.
    fn wrapped_bytes(&self) -> u64 {
        self.inner().resident_bytes()
    }

    /// [`EdgeStream::sample`] of the wrapper.
    ///
    /// # Errors
    /// As of [`EdgeStream::sample`].
    fn sample_through(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.inner().sample(part, of, visit)
    }

    /// [`EdgeStream::read`] of the wrapper.
    ///
    /// # Errors
    /// As of [`EdgeStream::read`].
    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.inner().read(part, visit)
    }
}

impl<W: StreamWrapper> EdgeStream for W {
    fn parts(&self) -> usize {
        self.inner().parts()
    }

    fn edges(&self) -> u64 {
        self.wrapped_edges()
    }

    fn held_edges(&self) -> u64 {
        self.inner().held_edges()
    }

    fn weighted(&self) -> bool {
        self.wrapped_weighted()
    }

    fn slots(&self) -> Option<u64> {
        self.wrapped_slots()
    }

    fn part_edges(&self, part: usize) -> Option<u64> {
        self.inner().part_edges(part)
    }

    fn known_sample(&self) -> Option<&EdgeSample> {
        self.wrapped_sample()
    }

    fn sample(
        &self,
        part: usize,
        of: (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.sample_through(part, of, visit)
    }

    fn resident_bytes(&self) -> u64 {
        self.wrapped_bytes()
    }

    fn spare_memory(&self, bytes: u64) {
        self.inner().spare_memory(bytes);
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.read_through(part, visit)
    }
}

/// Edges shared by several readers. The memory that they take counts where they are owned.
impl<S: EdgeStream + ?Sized> StreamWrapper for Arc<S> {
    type Inner = S;

    fn inner(&self) -> &S {
        self
    }

    fn wrapped_bytes(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use crate::edges::EdgeList;

    use super::*;

    #[test]
    fn what_is_shared_counts_where_it_is_owned() {
        let owned = Arc::new(EdgeList::from_pairs(vec![[0, 1], [2, 3]]));
        assert_eq!(owned.as_ref().resident_bytes(), 16);
        let shared: Box<dyn EdgeStream> = Box::new(Arc::clone(&owned));
        let found = (shared.edges(), shared.parts(), shared.part_edges(0), shared.resident_bytes());
        assert_eq!(found, (2, 1, Some(2), 0));
    }
}
