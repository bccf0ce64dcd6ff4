//! Memory of a bucket: bytes on the heap, a slot of a region that two processes map, or a packet.
//!
//! A bucket moves from a worker to a sender and back, and its bytes stay where they are. All kinds
//! are a start and a length, so that a message is written without asking which one it is.
//!
//! **Invariant:** bytes are aligned to a cache line, and one `Memory` alone reaches them. Asserted
//! in `Memory::slot`. Tested by `bytes_are_aligned_zero_and_kept`.
#![expect(unsafe_code, reason = "one kind of bytes for the heap and for shared regions")]

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::region::Region;

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// A cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE_BYTES]);

/// Owner of the bytes.
enum Owner {
    Heap,
    /// The region stays mapped while a slot of it is in use.
    Slot {
        _region: Arc<Region>,
    },
    #[cfg(feature = "dpdk")]
    Packet(crate::dpdk::Packet),
}

/// Bytes of a bucket, with headers and all.
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    owner: Owner,
}

// SAFETY: a `Memory` is the only way to its bytes, as a `Box` is; regions are for any thread.
unsafe impl Send for Memory {}

impl Memory {
    /// `bytes` zeros, rounded up to whole lines.
    pub(crate) fn on_heap(bytes: usize) -> Self {
        let lines: Box<[Line]> = bytemuck::zeroed_slice_box(bytes.div_ceil(LINE_BYTES).max(1));
        let bytes = lines.len() * LINE_BYTES;
        let start = NonNull::from(Box::leak(lines)).cast();
        Self { start, bytes, owner: Owner::Heap }
    }

    /// A slot of a region, which no other owner may reach until this is dropped.
    ///
    /// # Safety
    /// No other `Memory`, of this process or the other one, is on any byte of the slot.
    pub(crate) unsafe fn slot(region: &Arc<Region>, offset: usize, bytes: usize) -> Self {
        assert!(offset.is_multiple_of(LINE_BYTES) && offset + bytes <= region.bytes());
        // SAFETY: the assertion keeps the offset inside the region.
        let start = unsafe { region.start().add(offset) };
        Self { start, bytes, owner: Owner::Slot { _region: region.clone() } }
    }

    /// Whether a device still sends what is in it.
    pub(crate) fn is_held(&self) -> bool {
        match &self.owner {
            Owner::Heap | Owner::Slot { .. } => false,
            #[cfg(feature = "dpdk")]
            Owner::Packet(packet) => packet.is_held(),
        }
    }
}

#[cfg(feature = "dpdk")]
impl Memory {
    /// All bytes of a packet.
    pub(crate) fn packet(packet: crate::dpdk::Packet) -> Self {
        let (start, bytes) = packet.room();
        Self { start, bytes, owner: Owner::Packet(packet) }
    }

    /// The packet, where it is one.
    pub(crate) fn as_packet(&mut self) -> Option<&mut crate::dpdk::Packet> {
        match &mut self.owner {
            Owner::Packet(packet) => Some(packet),
            Owner::Heap | Owner::Slot { .. } => None,
        }
    }
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: `start` has `bytes` initialised bytes, which live as long as the owner.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and no other `Memory` reaches these bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Heap) {
            let lines = self.bytes / LINE_BYTES;
            let slice = NonNull::slice_from_raw_parts(self.start.cast::<Line>(), lines);
            // SAFETY: `on_heap` leaked a box of as many lines at this address.
            drop(unsafe { Box::from_raw(slice.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_zero_and_kept() {
        let mut memory = Memory::on_heap(100);
        assert_eq!((memory.len(), memory.as_ptr() as usize % LINE_BYTES), (128, 0));
        assert!(memory.iter().all(|&byte| byte == 0));
        memory[127] = 7;
        let moved = std::thread::spawn(move || memory).join().unwrap();
        assert_eq!(moved[127], 7);
    }
}
