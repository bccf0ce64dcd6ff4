//! Memory of a place that several requests fill, each a part of its own.
//!
//! Invariant: parts of one memory do not overlap, and it lives for as long as any of them. Checked
//! in `RequestBuffer::cut`. Tested by `parts_of_a_place_are_moved_side_by_side`.
#![expect(unsafe_code, reason = "lends parts of one memory to several requests")]

use std::ptr::NonNull;
use std::sync::Arc;

use super::memory::Memory;
use super::place::ALIGN;

/// Memory that is reached only through its parts.
pub(super) struct Lent<M>(M);

// SAFETY: a shared `Lent` gives no one access to what it holds.
unsafe impl<M: Send> Sync for Lent<M> {}

impl<M> Lent<M> {
    /// The memory, if there are no parts of it any more.
    pub(super) fn back(lent: Arc<Self>) -> Option<M> {
        Arc::into_inner(lent).map(|lent| lent.0)
    }
}

/// Memory of a request: all of what its caller gave, or a part.
pub(super) enum RequestBuffer<M> {
    Whole(M),
    Cut {
        begin: NonNull<u8>,
        bytes: usize,
        /// Keeps it where it is.
        _lent: Arc<Lent<M>>,
    },
}

// SAFETY: a part is memory that belongs to its owner alone; the rest of it is `Send` as well.
unsafe impl<M: Send> Send for RequestBuffer<M> {}

impl<M: Memory> RequestBuffer<M> {
    /// Cuts memory into parts of `most` bytes, a multiple of [`ALIGN`], for `bytes` bytes of it.
    pub(super) fn cut(
        mut memory: M,
        bytes: usize,
        most: usize,
    ) -> (Arc<Lent<M>>, impl Iterator<Item = Self>) {
        assert!(bytes <= memory.bytes().len(), "parts lie in the memory");
        assert!(most > 0 && most.is_multiple_of(ALIGN), "parts begin at multiples");
        // Memory gives the same address each time, also after it moved.
        let all = NonNull::from(memory.bytes_mut()).cast::<u8>();
        let lent = Arc::new(Lent(memory));
        let keeper = Arc::clone(&lent);
        let parts = (0..bytes).step_by(most).map(move |start| Self::Cut {
            // SAFETY: `start < bytes`, which lie in the memory.
            begin: unsafe { all.add(start) },
            bytes: (bytes - start).min(most),
            _lent: Arc::clone(&keeper),
        });
        (lent, parts)
    }
}

// SAFETY: the memory that parts are of keeps its address and is initialised, as its own promise
// says; it lives for as long as `_lent`, and parts do not overlap and begin at multiples of `ALIGN`
// from its begin, which is one.
unsafe impl<M: Memory> Memory for RequestBuffer<M> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Whole(memory) => memory.bytes(),
            // SAFETY: as above; `&self` keeps it from being written.
            Self::Cut { begin, bytes, .. } => unsafe {
                std::slice::from_raw_parts(begin.as_ptr(), *bytes)
            },
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Whole(memory) => memory.bytes_mut(),
            // SAFETY: as above; `&mut self` makes the access unique.
            Self::Cut { begin, bytes, .. } => unsafe {
                std::slice::from_raw_parts_mut(begin.as_ptr(), *bytes)
            },
        }
    }
}
