//! Memory: huge pages, and slabs that are used again.
//!
//! The first touch of fresh memory costs more than most of what is done with it afterwards (with
//! 4 KiB pages about 0.5 ns a byte, with 2 MiB pages about 0.1), so big arrays ask for huge pages,
//! and the slabs that held binned edges are handed on to hold chunks.
//!
//! Invariant: every byte of a [`Buffer`] or [`Slab`] is initialised (the kernel hands out zeroed
//! pages), so plain data can be read from it at any time.
#![expect(unsafe_code, reason = "maps and unmaps anonymous memory and views it as plain data")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::EngineError;
use crate::workers::lock;

/// Size and alignment of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size on memory gets huge pages: small pages of it would not all find their addresses
/// in the first-level TLB, and half a megabyte of accumulators is reached at random.
const HUGE_FROM_BYTES: usize = 128 << 10;
/// Size of a slab.
pub(crate) const SLAB_BYTES: usize = 4 << 20;

/// Anonymous zeroed memory, unmapped on drop.
struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
    /// What was mapped: it is larger, so that `address` can be aligned.
    whole: (*mut std::ffi::c_void, usize),
}

// SAFETY: a mapping is plain memory that belongs to its owner alone; nothing ties it to a thread.
unsafe impl Send for Mapping {}
// SAFETY: shared access to a mapping only reads plain memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(bytes: usize) -> Result<Self, EngineError> {
        let align = if bytes >= HUGE_FROM_BYTES { HUGE_PAGE_BYTES } else { 4096 };
        let rounded =
            bytes.max(1).checked_next_multiple_of(align).ok_or(EngineError::out_of(bytes))?;
        let whole_bytes = rounded.checked_add(align).ok_or(EngineError::out_of(bytes))?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing
        // that exists.
        let whole = unsafe { mmap_anonymous(std::ptr::null_mut(), whole_bytes, protection, flags) }
            .map_err(|_| EngineError::out_of(bytes))?;
        let offset = whole.cast::<u8>().align_offset(align);
        // SAFETY: `offset < align`, so the aligned address and `rounded` bytes lie in the mapping.
        let address = unsafe { whole.cast::<u8>().add(offset) };
        if align == HUGE_PAGE_BYTES {
            // Advice: where huge pages are not to be had, small ones serve.
            // SAFETY: the range lies inside the mapping made above.
            let _ = unsafe { madvise(address.cast(), rounded, Advice::LinuxHugepage) };
        }
        let address = NonNull::new(address).ok_or(EngineError::out_of(bytes))?;
        Ok(Self { address, bytes, whole: (whole, whole_bytes) })
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let (address, bytes) = self.whole;
        // SAFETY: exactly what was mapped, and nothing borrows from it any more.
        let _ = unsafe { munmap(address, bytes) };
    }
}

/// A fixed-size array of plain data on huge pages, zeroed.
pub struct Buffer<T> {
    mapping: Mapping,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// `len` zeroed elements.
    ///
    /// # Errors
    /// When the system has no such address space.
    pub fn zeroed(len: usize) -> Result<Self, EngineError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(EngineError::out_of(usize::MAX))?;
        Ok(Self { mapping: Mapping::new(bytes)?, len, element: PhantomData })
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` elements, page-aligned, zeroed or written as `T`; any bit
        // pattern is a `T: Pod`.
        unsafe { std::slice::from_raw_parts(self.mapping.address.as_ptr().cast(), self.len) }
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.address.as_ptr().cast(), self.len) }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {} bytes)", self.len, size_of::<T>())
    }
}

/// A pool of slabs. Cloning shares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    shared: Arc<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    free: Mutex<Vec<Mapping>>,
    mapped_bytes: AtomicU64,
}

/// [`SLAB_BYTES`] of memory, given back to its arena on drop. What an earlier user wrote may still
/// be in it.
pub(crate) struct Slab {
    mapping: Option<Mapping>,
    pool: Arc<Pool>,
}

impl Arena {
    /// A slab, used before where there is one.
    pub(crate) fn take(&self) -> Result<Slab, EngineError> {
        let free = lock(&self.shared.free).pop();
        let mapping = if let Some(mapping) = free {
            mapping
        } else {
            self.shared.mapped_bytes.fetch_add(SLAB_BYTES as u64, Ordering::Relaxed);
            Mapping::new(SLAB_BYTES)?
        };
        Ok(Slab { mapping: Some(mapping), pool: Arc::clone(&self.shared) })
    }

    /// Bytes of all slabs of this arena, in use or free.
    pub(crate) fn mapped_bytes(&self) -> u64 {
        self.shared.mapped_bytes.load(Ordering::Relaxed)
    }

    /// Gives free slabs back to the system.
    pub(crate) fn trim(&self) {
        let free = std::mem::take(&mut *lock(&self.shared.free));
        let bytes = (free.len() * SLAB_BYTES) as u64;
        self.shared.mapped_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Slab {
    /// The memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.mapping.as_ref().map_or(&[], |mapping| {
            // SAFETY: the mapping is `bytes` long and initialised; `&self` forbids writers.
            unsafe { std::slice::from_raw_parts(mapping.address.as_ptr(), mapping.bytes) }
        })
    }

    /// The memory, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.mapping.as_mut().map_or(&mut [], |mapping| {
            // SAFETY: as for `bytes`; `&mut self` makes the access unique.
            unsafe { std::slice::from_raw_parts_mut(mapping.address.as_ptr(), mapping.bytes) }
        })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        if let Some(mapping) = self.mapping.take() {
            lock(&self.pool.free).push(mapping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_zeroed_aligned_and_writable() {
        for len in [0_usize, 1, 1000, 3 << 20] {
            let mut buffer = Buffer::<u64>::zeroed(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&element| element == 0));
            if let Some(last) = buffer.last_mut() {
                *last = 7;
                assert_eq!(buffer[len - 1], 7);
            }
        }
        assert!(Buffer::<u64>::zeroed(usize::MAX / 16).is_err());
    }

    #[test]
    fn slabs_are_used_again() {
        let arena = Arena::default();
        let mut slab = arena.take().unwrap();
        slab.bytes_mut()[5] = 1;
        drop(slab);
        let again = arena.take().unwrap();
        assert_eq!(again.bytes()[5], 1);
        assert_eq!(arena.mapped_bytes(), SLAB_BYTES as u64);
        drop(again);
        arena.trim();
        assert_eq!(arena.mapped_bytes(), 0);
    }
}
