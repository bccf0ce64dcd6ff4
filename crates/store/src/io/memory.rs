//! Memory that requests read into and write from.
//!
//! It matters how memory lies: the kernel hands the device a list of what is contiguous in RAM.
//! With 4 KiB pages that is a long list, requests are split, and a fast device reached 1.5 to 2
//! GB/s at 30 to 70 us of processor time a MiB; with huge pages it reached 3.3 GB/s at 7 to 15 us.
#![expect(unsafe_code, reason = "maps memory, and promises that it stays where it is")]

use std::ptr::NonNull;
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use super::place::ALIGN;
use crate::StoreError;

/// Memory that requests read into and write from.
///
/// # Safety
/// For as long as a value lives:
/// - [`bytes`](Self::bytes) and [`bytes_mut`](Self::bytes_mut) give the same address and the same
///   length, each time, also after the value moved;
/// - all of these bytes are initialised, and only the owner of the value reaches them;
/// - the address is a multiple of [`ALIGN`].
pub unsafe trait Memory: Send + 'static {
    /// The bytes.
    fn bytes(&self) -> &[u8];
    /// The bytes, to be written.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Size and alignment of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size on memory gets huge pages, even if that wastes half of one.
const HUGE_FROM_BYTES: usize = HUGE_PAGE_BYTES / 2;

/// Anonymous memory, zeroed, unmapped on drop.
struct Region {
    /// A multiple of a huge page.
    begin: NonNull<u8>,
    /// Range that was mapped: it is larger, so that `begin` can be aligned.
    whole: (*mut std::ffi::c_void, usize),
}

// SAFETY: a region is plain memory, and is reached only through the parts of it, which belong to
// one owner each; nothing ties it to a thread.
unsafe impl Send for Region {}
// SAFETY: a shared region is only kept, not reached.
unsafe impl Sync for Region {}

impl Region {
    fn new(bytes: usize) -> Result<Self, StoreError> {
        let refused = || StoreError::Memory(bytes as u64);
        let huge = bytes >= HUGE_FROM_BYTES;
        let rounded = bytes.max(1).checked_next_multiple_of(if huge { HUGE_PAGE_BYTES } else { 1 });
        let whole_bytes = rounded.and_then(|bytes| bytes.checked_add(HUGE_PAGE_BYTES));
        let (rounded, whole_bytes) = rounded.zip(whole_bytes).ok_or_else(refused)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches nothing
        // that exists.
        let whole = unsafe { mmap_anonymous(std::ptr::null_mut(), whole_bytes, protection, flags) }
            .map_err(|_| refused())?;
        let offset = whole.cast::<u8>().align_offset(HUGE_PAGE_BYTES);
        // SAFETY: the offset is less than a huge page, so `rounded` bytes behind it are mapped.
        let begin = unsafe { whole.cast::<u8>().add(offset) };
        if huge {
            // Advice: where huge pages are not to be had, small ones serve.
            // SAFETY: the range lies inside the mapping made above.
            let _ = unsafe { madvise(begin.cast(), rounded, Advice::LinuxHugepage) };
        }
        let begin = NonNull::new(begin).ok_or_else(refused)?;
        Ok(Self { begin, whole: (whole, whole_bytes) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let (address, bytes) = self.whole;
        // SAFETY: exactly what was mapped, and all parts of it are gone.
        let _ = unsafe { munmap(address, bytes) };
    }
}

/// Plain aligned memory, where there is no pool of buffers.
pub struct Pages {
    begin: NonNull<u8>,
    bytes: usize,
    /// Keeps it mapped.
    _region: Arc<Region>,
}

// SAFETY: the part of the region belongs to its owner alone; nothing ties it to a thread.
unsafe impl Send for Pages {}
// SAFETY: shared access only reads plain memory.
unsafe impl Sync for Pages {}

impl Pages {
    /// Zeroed memory of at least `bytes` bytes.
    ///
    /// # Errors
    /// When the system has no more.
    pub fn zeroed(bytes: usize) -> Result<Self, StoreError> {
        Self::several(1, bytes)?.pop().ok_or(StoreError::Memory(bytes as u64))
    }

    /// Zeroed memory of at least `bytes` bytes, `count` times, side by side, so that small ones
    /// share huge pages. The system gets it back when the last one is dropped.
    ///
    /// # Errors
    /// When the system has no more.
    pub fn several(count: usize, bytes: usize) -> Result<Vec<Self>, StoreError> {
        let refused = || StoreError::Memory((bytes as u64).saturating_mul(count as u64));
        let each = bytes.checked_next_multiple_of(ALIGN).ok_or_else(refused)?;
        let region = Arc::new(Region::new(each.checked_mul(count).ok_or_else(refused)?)?);
        let part = |number: usize| Self {
            // SAFETY: `number < count`, so the part lies in the region.
            begin: unsafe { region.begin.add(number * each) },
            bytes: each,
            _region: Arc::clone(&region),
        };
        Ok((0..count).map(part).collect())
    }
}

// SAFETY: the region stays mapped where it is for as long as one of its parts lives; parts do not
// overlap, are zeroed by the kernel, and begin at multiples of `ALIGN`, as their sizes are ones.
unsafe impl Memory for Pages {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as above; `&self` keeps it from being written.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.begin.as_ptr(), self.bytes) }
    }
}

impl std::fmt::Debug for Pages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pages({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_zeroed_and_stay_where_they_are() {
        for bytes in [0, 1, 4096, 4097, HUGE_FROM_BYTES, 5 << 20] {
            let mut pages = Pages::zeroed(bytes).unwrap();
            assert_eq!(pages.bytes().len(), bytes.next_multiple_of(ALIGN));
            assert!(pages.bytes().iter().all(|byte| *byte == 0));
            pages.bytes_mut().fill(1);
            let address = pages.bytes_mut().as_ptr();
            let moved = Box::new(pages);
            assert_eq!(moved.bytes().as_ptr(), address);
            assert!(address.addr().is_multiple_of(ALIGN));
        }
    }

    #[test]
    fn several_do_not_overlap_and_outlive_each_other() {
        for bytes in [100, 300_000, 3 << 20] {
            let mut several = Pages::several(5, bytes).unwrap();
            for (number, pages) in several.iter_mut().enumerate() {
                pages.bytes_mut().fill(number as u8 + 1);
            }
            let last = several.pop().unwrap();
            assert!(several.iter().enumerate().all(|(number, pages)| {
                pages.bytes().iter().all(|byte| *byte == number as u8 + 1)
            }));
            drop(several);
            assert!(last.bytes().iter().all(|byte| *byte == 5));
        }
        assert!(Pages::several(0, 4096).unwrap().is_empty());
    }

    #[test]
    fn what_no_machine_has_is_refused() {
        assert!(Pages::zeroed(usize::MAX).is_err());
        assert!(Pages::zeroed(1 << 62).is_err());
        assert!(Pages::several(1 << 40, 1 << 40).is_err());
    }
}
