//! A region of memory that two threads or processes map: a file without a name.
//!
//! The first page holds counters, the rest slots. The kernel makes the region zero, and removes it
//! when the last process that maps it has ended.
//!
//! **Invariant:** a region has the length that both sides were given. Checked in `Region::open`.
#![expect(unsafe_code, reason = "memory that is mapped from a file, and counters in it")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::{MemfdFlags, fstat, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Bytes before the first slot.
pub(crate) const COUNTERS_BYTES: usize = 4096;

/// Bytes between two counters, so that two cores do not share their lines.
const COUNTER_STRIDE_BYTES: usize = 128;

/// A mapped region.
pub(crate) struct Region {
    start: NonNull<u8>,
    bytes: usize,
    file: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread; counters are atomic, and slots are
// reached through a `Memory` alone.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// A new region of zeros.
    pub(crate) fn create(bytes: usize) -> io::Result<Self> {
        let file = memfd_create("welter-lane", MemfdFlags::CLOEXEC)?;
        ftruncate(&file, bytes as u64)?;
        Self::open(file, bytes)
    }

    /// Maps the region of this file, which must have `bytes` bytes.
    pub(crate) fn open(file: OwnedFd, bytes: usize) -> io::Result<Self> {
        let has = fstat(&file)?.st_size;
        if bytes < COUNTERS_BYTES || has != bytes as i64 {
            let text = format!("a region of {has} bytes, where {bytes} were expected");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let (flags, rights) = (MapFlags::SHARED, ProtFlags::READ | ProtFlags::WRITE);
        // SAFETY: the kernel chooses an address that nothing else is at.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, rights, flags, &file, 0) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes, file })
    }

    /// The file, for the process at the other end.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// One of the counters at the beginning.
    pub(crate) fn counter(&self, index: usize) -> &AtomicU64 {
        assert!(index < COUNTERS_BYTES / COUNTER_STRIDE_BYTES);
        // SAFETY: the first page holds counters alone, aligned, and all accesses are atomic.
        unsafe { self.start.add(index * COUNTER_STRIDE_BYTES).cast::<AtomicU64>().as_ref() }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: slots hold the region, so no `Memory` is left; the mapping is ours.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok());
    }
}
