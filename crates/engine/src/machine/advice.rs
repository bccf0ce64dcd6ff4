//! Huge pages for lists that an allocator has made.
//!
//! Columns of a machine of a cluster grow with what they load, so they are lists and no buffers of
//! [`arena`](super::arena). What is reached at random in 16 MiB misses the TLB on small pages.
#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "advice is given by a function of the C library")
)]

use std::mem::MaybeUninit;

/// Bytes from which on huge pages are asked for: a huge page is 2 MiB.
const HUGE_FROM_BYTES: usize = 4 << 20;

/// Asks for huge pages where memory is not in use yet. Does nothing where the system has none, or
/// where it is short.
pub(crate) fn prefer_huge_pages<T>(unused: &mut [MaybeUninit<T>]) {
    let bytes = size_of_val(unused);
    if bytes < HUGE_FROM_BYTES {
        return;
    }
    #[cfg(target_os = "linux")]
    {
        let start = unused.as_mut_ptr().addr().next_multiple_of(PAGE_BYTES);
        let end = (unused.as_mut_ptr().addr() + bytes) / PAGE_BYTES * PAGE_BYTES;
        let address = unused.as_mut_ptr().cast::<u8>().with_addr(start);
        // Advice: where it is not taken small pages serve. SAFETY: the pages lie inside memory that
        // is borrowed here, and the advice changes no byte of them.
        let _ = unsafe {
            rustix::mm::madvise(address.cast(), end - start, rustix::mm::Advice::LinuxHugepage)
        };
    }
}

#[cfg(target_os = "linux")]
const PAGE_BYTES: usize = 4096;
