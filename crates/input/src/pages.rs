//! Asking the system for huge pages under large buffers, before they are first touched.
//!
//! The first touch of a buffer costs about as much as parsing into it when it comes in pages of
//! 4 KiB. It is a request: where the system has no such pages, nothing changes.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "madvise takes a raw range of memory")
)]

use std::mem::MaybeUninit;

/// Buffers below this size are not worth a call.
#[cfg(target_os = "linux")]
const HUGE_BYTES: usize = 2 << 20;

/// Asks for huge pages under the part of a buffer that whole pages of 2 MiB cover.
#[cfg(target_os = "linux")]
pub(crate) fn advise_huge<T>(buffer: &mut [MaybeUninit<T>]) {
    use rustix::mm::{Advice, madvise};

    let range = buffer.as_mut_ptr_range();
    let start = (range.start as usize).next_multiple_of(HUGE_BYTES);
    let end = range.end as usize / HUGE_BYTES * HUGE_BYTES;
    if end <= start {
        return;
    }
    let skipped = start - range.start as usize;
    let first = range.start.cast::<u8>().wrapping_add(skipped);
    // A system without huge pages refuses, which is as good.
    // SAFETY: the range lies inside `buffer`, which is borrowed; this advice changes which pages
    // back it and never what it holds.
    let _ = unsafe { madvise(first.cast(), end - start, Advice::LinuxHugepage) };
}

/// Does nothing: there is no such request on this system.
#[cfg(not(target_os = "linux"))]
pub(crate) fn advise_huge<T>(_buffer: &mut [MaybeUninit<T>]) {}
