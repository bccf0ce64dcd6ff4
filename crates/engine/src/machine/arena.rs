//! Memory: huge pages, and slabs that are used again.
//!
//! The first touch of fresh memory costs more than most of what is done with it afterwards (with
//! 4 KiB pages about 0.5 ns a byte, with 2 MiB pages about 0.1), so big arrays ask for huge pages,
//! and the slabs that held binned edges are handed on to hold chunks.
//!
//! Invariant: every byte of a [`Buffer`] or [`Slab`] is initialised (the kernel hands out zeroed
//! pages), so plain data can be read from it at any time. Tested by
//! `buffers_are_zeroed_aligned_and_writable`.
#![expect(unsafe_code, reason = "maps and unmaps anonymous memory and views it as plain data")]

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytemuck::{Pod, Zeroable};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use welter_store::io::{ALIGN, Memory};

use crate::EngineError;
use crate::machine::meter;
use crate::machine::sync::lock;

/// Size and alignment of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
/// From this size on memory gets huge pages: small pages of it would not all find their addresses
/// in the first-level TLB, and half a megabyte of accumulators is reached at random.
const HUGE_FROM_BYTES: usize = 128 << 10;
const SMALL_PAGE_BYTES: usize = 4096;
/// Size of a slab. Each worker has an open one for each group of sources, so big ones would take
/// more memory than the edges in them.
pub(crate) const SLAB_BYTES: usize = 512 << 10;
/// Bytes of a region, from which slabs are cut.
const REGION_BYTES: usize = 8 << 20;

/// Order in which the bytes of a mapping are reached.
#[derive(Clone, Copy)]
enum AccessPattern {
    AtRandom,
    /// One after the other, so that small pages serve for what fills no huge one.
    InOrder,
}

/// Anonymous zeroed memory, unmapped on drop.
struct Mapping {
    address: NonNull<u8>,
    bytes: usize,
    /// Range that was mapped: it is larger, so that `address` can be aligned.
    whole: (*mut std::ffi::c_void, usize),
    /// Whether it is on the meter as a whole. Slabs of a region are counted one by one.
    metered: bool,
    /// Pool that takes it when it is dropped, if that is still there: results outlive their graph,
    /// and must not keep the memory of its chunks.
    home: Weak<Pool>,
}

// SAFETY: a mapping is plain memory that belongs to its owner alone; nothing ties it to a thread.
unsafe impl Send for Mapping {}
// SAFETY: shared access to a mapping only reads plain memory.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(bytes: usize, metered: bool, reached: AccessPattern) -> Result<Self, EngineError> {
        let (huge_from, round) = match reached {
            AccessPattern::AtRandom => (HUGE_FROM_BYTES, HUGE_PAGE_BYTES),
            AccessPattern::InOrder => (HUGE_PAGE_BYTES, SMALL_PAGE_BYTES),
        };
        let (align, round) = if bytes >= huge_from {
            (HUGE_PAGE_BYTES, round)
        } else {
            (SMALL_PAGE_BYTES, SMALL_PAGE_BYTES)
        };
        let rounded =
            bytes.max(1).checked_next_multiple_of(round).ok_or(EngineError::out_of(bytes))?;
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
            let huge = rounded / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
            // SAFETY: the range lies inside the mapping made above.
            let _ = unsafe { madvise(address.cast(), huge, Advice::LinuxHugepage) };
        }
        let address = NonNull::new(address).ok_or(EngineError::out_of(bytes))?;
        if metered {
            meter::more(bytes);
        }
        Ok(Self { address, bytes, whole: (whole, whole_bytes), metered, home: Weak::new() })
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapping({} bytes)", self.bytes)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let Self { address, bytes, whole, metered, .. } = *self;
        if let Some(home) = self.home.upgrade() {
            let column = Self { address, bytes, whole, metered, home: Weak::new() };
            return lock(&home.columns).push(column);
        }
        let (address, bytes) = self.whole;
        // SAFETY: exactly what was mapped, and nothing borrows from it any more.
        let _ = unsafe { munmap(address, bytes) };
        if self.metered {
            meter::less(self.bytes);
        }
    }
}

/// A fixed-size array on huge pages, zeroed. Elements are not dropped.
pub struct Buffer<T> {
    mapping: Mapping,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Zeroable> Buffer<T> {
    /// `len` zeroed elements.
    ///
    /// # Errors
    /// When the system has no such address space.
    pub fn zeroed(len: usize) -> Result<Self, EngineError> {
        Self::reached(len, AccessPattern::AtRandom)
    }

    /// A buffer for elements that are read and written one after the other. One that fills no huge
    /// page takes small ones: workers have a dozen such columns each, of a few hundred KiB, and on
    /// huge pages they took 31 MiB that no plan knew of (factors of R-MAT 24, two workers).
    ///
    /// # Errors
    /// As [`Self::zeroed`].
    pub(crate) fn in_order(len: usize) -> Result<Self, EngineError> {
        Self::reached(len, AccessPattern::InOrder)
    }

    fn reached(len: usize, reached: AccessPattern) -> Result<Self, EngineError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(EngineError::out_of(usize::MAX))?;
        Ok(Self { mapping: Mapping::new(bytes, true, reached)?, len, element: PhantomData })
    }
}

impl Buffer<u8> {
    /// The bytes as elements. A mapping begins where any of these may.
    pub(crate) fn typed<T: Pod>(self) -> Buffer<T> {
        let Self { mapping, len, .. } = self;
        Buffer { mapping, len: len / size_of::<T>().max(1), element: PhantomData }
    }
}

impl<T: Pod> Buffer<T> {
    /// `len` elements in memory that an earlier column left in `arena`, where there is some that
    /// fits: they hold whatever that held. The memory returns to the arena on drop.
    pub(crate) fn used(len: usize, arena: &Arena) -> Result<Self, EngineError> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or(EngineError::out_of(usize::MAX))?;
        let mut mapping = match arena.column(bytes) {
            Some(mapping) => mapping,
            None => Mapping::new(bytes, true, AccessPattern::AtRandom)?,
        };
        mapping.home = Arc::downgrade(&arena.shared);
        Ok(Self { mapping, len, element: PhantomData })
    }
}

impl<T: Zeroable> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `len` elements, page-aligned: zeroed, which is a `T: Zeroable`,
        // or written as `T`, or any bytes, where `T` was `Pod` when the buffer was made.
        unsafe { std::slice::from_raw_parts(self.mapping.address.as_ptr().cast(), self.len) }
    }
}

impl<T: Zeroable> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `deref`; `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.address.as_ptr().cast(), self.len) }
    }
}

// SAFETY: a mapping has one address for as long as the buffer lives, belongs to it alone, begins at
// a page and is mapped to the end of one; all of it is initialised, and any bytes are a `T: Pod`.
unsafe impl<T: Pod + Send> Memory for Buffer<T> {
    fn bytes(&self) -> &[u8] {
        let bytes = (self.len * size_of::<T>()).next_multiple_of(ALIGN);
        // SAFETY: as for the whole.
        unsafe { std::slice::from_raw_parts(self.mapping.address.as_ptr(), bytes) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = (self.len * size_of::<T>()).next_multiple_of(ALIGN);
        // SAFETY: as for the whole; `&mut self` makes the access unique.
        unsafe { std::slice::from_raw_parts_mut(self.mapping.address.as_ptr(), bytes) }
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} x {} bytes)", self.len, size_of::<T>())
    }
}

/// Slabs that hold bins which were read back count as such for as long as this lives.
#[derive(Debug)]
pub(crate) struct ReadBack {
    pool: Arc<Pool>,
    bytes: u64,
}

impl ReadBack {
    /// A slab for bins.
    pub(crate) fn take(&mut self) -> Result<Slab, EngineError> {
        let slab = Arena { shared: Arc::clone(&self.pool) }.take()?;
        self.bytes += SLAB_BYTES as u64;
        self.pool.read_back.fetch_add(SLAB_BYTES as u64, Ordering::Relaxed);
        Ok(slab)
    }
}

impl Drop for ReadBack {
    fn drop(&mut self) {
        self.pool.read_back.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A pool of slabs. Cloning shares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    shared: Arc<Pool>,
}

#[derive(Debug, Default)]
struct Pool {
    free: Mutex<Free>,
    /// Mappings that columns left.
    columns: Mutex<Vec<Mapping>>,
    /// Bytes of slabs that hold bins which were read back.
    read_back: AtomicU64,
}

/// Slabs that are not in use.
#[derive(Debug, Default)]
struct Free {
    /// Backed by memory, the last one used last.
    warm: Vec<SlabMemory>,
    /// Given back to the system; zeroed when they are touched again.
    cold: Vec<SlabMemory>,
    /// Regions that slabs are cut from; unmapped with the pool.
    regions: Vec<Mapping>,
    /// Slabs in use or warm.
    backed: usize,
}

/// [`SLAB_BYTES`] bytes inside a region.
#[derive(Debug)]
struct SlabMemory(NonNull<u8>);

// SAFETY: it is plain memory that belongs to its one owner; nothing ties it to a thread.
unsafe impl Send for SlabMemory {}
// SAFETY: shared access to it only reads plain memory.
unsafe impl Sync for SlabMemory {}

impl SlabMemory {
    /// Number of its huge page.
    fn page(&self) -> usize {
        self.0.as_ptr().addr() / HUGE_PAGE_BYTES
    }
}

/// Slabs of a huge page.
#[derive(Default)]
struct Page {
    free: Vec<SlabMemory>,
    /// Addresses of those that may be moved.
    movable: Vec<usize>,
}

impl Page {
    /// Whether there are no others.
    fn is_known(&self) -> bool {
        self.free.len() + self.movable.len() == HUGE_PAGE_BYTES / SLAB_BYTES
    }
}

/// [`SLAB_BYTES`] of memory, given back to its arena on drop. What an earlier user wrote may still
/// be in it.
pub(crate) struct Slab {
    place: Option<SlabMemory>,
    /// Keeps the region mapped.
    pool: Arc<Pool>,
}

impl Arena {
    /// A slab, used before where there is one.
    pub(crate) fn take(&self) -> Result<Slab, EngineError> {
        let mut free = lock(&self.shared.free);
        if let Some(place) = free.warm.pop() {
            return Ok(Slab { place: Some(place), pool: Arc::clone(&self.shared) });
        }
        if free.cold.is_empty() {
            let region = Mapping::new(REGION_BYTES, false, AccessPattern::AtRandom)?;
            // From the back, so that slabs are handed out by rising addresses.
            for slab in (0..REGION_BYTES / SLAB_BYTES).rev() {
                // SAFETY: the offset lies inside the region.
                free.cold.push(SlabMemory(unsafe { region.address.add(slab * SLAB_BYTES) }));
            }
            free.regions.push(region);
        }
        let place = free.cold.pop();
        free.backed += 1;
        meter::more(SLAB_BYTES);
        Ok(Slab { place, pool: Arc::clone(&self.shared) })
    }

    /// Memory for a column that an earlier one left, if it fits and is not twice as large.
    fn column(&self, bytes: usize) -> Option<Mapping> {
        let mut columns = lock(&self.shared.columns);
        let fits = |column: &Mapping| (bytes..=bytes.saturating_mul(2)).contains(&column.bytes);
        let place = columns.iter().position(fits)?;
        Some(columns.swap_remove(place))
    }

    /// Gives what columns left, and no other column took, back to the system.
    pub(crate) fn drop_columns(&self) {
        let columns = std::mem::take(&mut *lock(&self.shared.columns));
        drop(columns);
    }

    /// Bytes of all slabs of this arena that are in use or can be used again at once.
    pub(crate) fn backed_bytes(&self) -> u64 {
        (lock(&self.shared.free).backed * SLAB_BYTES) as u64
    }

    /// Bytes of all slabs of this arena that are in use.
    pub(crate) fn used_bytes(&self) -> u64 {
        let free = lock(&self.shared.free);
        ((free.backed - free.warm.len()) * SLAB_BYTES) as u64
    }

    /// Bytes of slabs in use, but for bins that were read back.
    pub(crate) fn used_otherwise(&self) -> u64 {
        let read_back = self.shared.read_back.load(Ordering::Relaxed);
        self.used_bytes().saturating_sub(read_back)
    }

    /// Counts slabs for bins that are read back.
    pub(crate) fn read_back(&self) -> ReadBack {
        ReadBack { pool: Arc::clone(&self.shared), bytes: 0 }
    }

    /// Free slabs for some of those at these addresses, which may be moved: once they are, as many
    /// huge pages as can be are free as a whole.
    pub(crate) fn together(&self, movable: &[usize]) -> Vec<(usize, Slab)> {
        let mut free = lock(&self.shared.free);
        let mut pages = BTreeMap::<usize, Page>::new();
        for place in std::mem::take(&mut free.warm) {
            pages.entry(place.page()).or_default().free.push(place);
        }
        for &address in movable {
            pages.entry(address / HUGE_PAGE_BYTES).or_default().movable.push(address);
        }
        // The first are filled: those with slabs that must stay, then those that are fullest.
        let mut pages: Vec<Page> = pages.into_values().collect();
        pages.sort_by_key(|page| (page.is_known(), page.free.len()));
        let mut room: usize = pages.iter().map(|page| page.free.len()).sum();
        let mut emptied = Vec::new();
        while let Some(last) = pages.pop_if(|last| {
            last.is_known() && emptied.len() + last.movable.len() + last.free.len() <= room
        }) {
            room -= last.free.len();
            emptied.extend(last.movable);
            free.warm.extend(last.free);
        }
        let mut places = pages.into_iter().flat_map(|page| page.free);
        let slab = |place| Slab { place: Some(place), pool: Arc::clone(&self.shared) };
        let moves = emptied.into_iter().zip(places.by_ref().map(slab)).collect();
        free.warm.extend(places);
        moves
    }

    /// Gives free slabs and columns back to the system.
    pub(crate) fn trim(&self) {
        self.drop_columns();
        let mut free = lock(&self.shared.free);
        let mut warm = std::mem::take(&mut free.warm);
        free.backed -= warm.len();
        meter::less(warm.len() * SLAB_BYTES);
        warm.sort_unstable_by_key(|place| place.0);
        let end = |one: &SlabMemory| one.0.as_ptr().wrapping_add(SLAB_BYTES);
        let side_by_side = |one: &SlabMemory, next: &SlabMemory| end(one) == next.0.as_ptr();
        // All of a huge page at once: of one that was given back in parts the kernel keeps the
        // table of its small pages, and fills that when the slabs are used again. Requests into
        // small pages are long lists of them: ten iterations of R-MAT 24 with all edges on storage
        // took 3.2 to 5.3 s so, and 2.5 to 4.0 on huge pages (2 threads, in turns).
        for slabs in warm.chunk_by(side_by_side) {
            let (first, bytes) = (slabs[0].0, slabs.len() * SLAB_BYTES);
            // A refusal leaves the memory where it is, which only the meter does not see. SAFETY:
            // the slabs lie inside regions of the pool, and are not in use.
            let _ = unsafe { madvise(first.as_ptr().cast(), bytes, Advice::LinuxDontNeed) };
        }
        free.cold.append(&mut warm);
        free.tidy();
    }
}

impl Free {
    /// Sees to it that slabs which were given back stay away.
    ///
    /// A huge page comes as a whole when the first of its slabs is touched, and where some are in
    /// use the kernel may make one of them and of those that are not (`khugepaged`). Independent
    /// sets of R-MAT 24 with 256 MiB had 267 MiB of anonymous memory, and 278 beside other work,
    /// where they have 267 now. So slabs beside some that are in use get small pages, and the
    /// others are taken again page by page.
    fn tidy(&mut self) {
        self.cold.sort_unstable_by_key(|place| std::cmp::Reverse(place.0));
        let pages = self.cold.chunk_by(|one, other| one.page() == other.page());
        let is_free: Vec<bool> = pages
            .flat_map(|slabs| {
                let is_free = slabs.len() == HUGE_PAGE_BYTES / SLAB_BYTES;
                std::iter::repeat_n(is_free, slabs.len())
            })
            .collect();
        let mut free = Vec::new();
        let mut beside = Vec::new();
        for (place, is_free) in std::mem::take(&mut self.cold).into_iter().zip(is_free) {
            let advice = if is_free { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
            // Advice: where it is not taken the slab serves as well. SAFETY: the slab lies inside a
            // region of the pool, and is not in use.
            let _ = unsafe { madvise(place.0.as_ptr().cast(), SLAB_BYTES, advice) };
            if is_free { free.push(place) } else { beside.push(place) }
        }
        // The last one is taken first.
        self.cold = beside;
        self.cold.append(&mut free);
    }
}

impl Slab {
    /// The memory.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.place.as_ref().map_or(&[], |place| {
            // SAFETY: a place is `SLAB_BYTES` long and initialised; `&self` forbids writers.
            unsafe { std::slice::from_raw_parts(place.0.as_ptr(), SLAB_BYTES) }
        })
    }

    /// The memory, to write.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.place.as_mut().map_or(&mut [], |place| {
            // SAFETY: as for `bytes`; `&mut self` makes the access unique.
            unsafe { std::slice::from_raw_parts_mut(place.0.as_ptr(), SLAB_BYTES) }
        })
    }
}

// SAFETY: a place has one address and `SLAB_BYTES` bytes for as long as the slab lives, belongs to
// it alone, is initialised, and regions and slabs are multiples of a page.
unsafe impl Memory for Slab {
    fn bytes(&self) -> &[u8] {
        self.bytes()
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        self.bytes_mut()
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        if let Some(place) = self.place.take() {
            lock(&self.pool.free).warm.push(place);
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let free = self.free.get_mut().unwrap_or_else(PoisonError::into_inner);
        meter::less(free.backed * SLAB_BYTES);
    }
}

#[cfg(test)]
mod tests;
