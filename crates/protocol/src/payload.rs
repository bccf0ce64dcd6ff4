//! Bytes that machines store and send, in buffers that devices can use as they are.
//!
//! ```text
//! Buffer    whole pages at an address that a page divides; filled by who makes or reads it
//! Payload   the first bytes of a buffer that is not changed any more, with their checksum
//! ```
//!
//! A driver reads a block from a disk, or the payload of a frame from a socket, into a [`Buffer`],
//! also past the page cache, and writes and sends from the [`Payload`] that becomes of it. Between
//! the two, and from one message to another, no byte is copied.
//!
//! **Invariant:** there is one checksum, made once, by who makes the bytes ([`Buffer::seal`], on
//! the thread of a worker). Headers of blocks and heads of frames carry it; where bytes come from a
//! device they are compared with it ([`Buffer::open`]), and nowhere else are they summed:
//!
//! ```text
//! payload p      =>   p.hash() = checksum(p)
//! buffer b       =>   address(b) = 0 and |b.room()| = 0, both modulo PAGE_BYTES, |b| <= |b.room()|
//! ```
//!
//! Checked in `Buffer::open`. Tested by `buffers_are_whole_pages_where_devices_want_them`,
//! `bytes_that_were_read_are_compared_with_the_sum_that_was_made` and
//! `checksums_are_those_that_the_program_made`.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

use twox_hash::XxHash3_64;

use crate::pages::Pages;
pub use crate::pages::{PAGE_BYTES, PagePool, PageRun};

/// Bytes that are being made, or read from a device.
pub struct Buffer {
    pages: Pages,
    length: usize,
}

impl Buffer {
    /// A buffer of `length` zeros.
    pub fn zeroed(length: usize) -> Self {
        Self { pages: Pages::zeroed(length), length }
    }

    /// A buffer of `length` bytes, whatever they are, in a run of pages that returns to its pool:
    /// for callers that fill it.
    ///
    /// # Panics
    /// When the run is shorter, which is a bug of the caller.
    pub fn pooled(run: PageRun, length: usize, pool: Weak<dyn PagePool>) -> Self {
        assert!(length <= run.pages() * PAGE_BYTES, "a buffer lies in its pages");
        Self { pages: Pages::pooled(run, pool), length }
    }

    /// All of its pages, for a device that transfers only such; bytes behind the length are not
    /// part of it.
    pub fn room(&mut self) -> &mut [u8] {
        self.pages.of_mut(self.length)
    }

    /// The payload that it becomes, with the sum of its bytes: for who has made them.
    pub fn seal(self) -> Payload {
        let hash = checksum(&self);
        self.with(hash)
    }

    /// The payload that it becomes if its bytes have this sum: for who has read them.
    pub fn open(self, hash: u64) -> Option<Payload> {
        (checksum(&self) == hash).then(|| self.with(hash))
    }

    /// The payload that it becomes, taken to have this sum.
    pub(crate) fn with(self, hash: u64) -> Payload {
        Payload { pages: Arc::new(self.pages), length: self.length, hash }
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.pages.of(self.length)[..self.length]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let length = self.length;
        &mut self.room()[..length]
    }
}

impl<T: AsRef<[u8]>> From<T> for Buffer {
    fn from(bytes: T) -> Self {
        let bytes = bytes.as_ref();
        let mut buffer = Self::zeroed(bytes.len());
        buffer.copy_from_slice(bytes);
        buffer
    }
}

/// Bytes that the protocol hands on and does not look into, with their checksum. A clone shares
/// them.
///
/// ```
/// use welter_protocol::payload::{Buffer, PAGE_BYTES, checksum};
///
/// let mut buffer = Buffer::zeroed(5000);
/// assert_eq!(buffer.room().len(), 2 * PAGE_BYTES);
/// buffer[..5].copy_from_slice(b"edges");
/// let payload = buffer.seal();
/// assert_eq!(payload.len(), 5000);
/// assert_eq!(payload.hash(), checksum(&payload));
/// assert_eq!(payload.as_ptr().addr() % PAGE_BYTES, 0);
/// ```
#[derive(Clone)]
pub struct Payload {
    pages: Arc<Pages>,
    length: usize,
    hash: u64,
}

impl Payload {
    /// The sum of its bytes, which is not made anew.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// All of its pages: zeros, or what a device left there, are behind its bytes.
    pub fn room(&self) -> &[u8] {
        self.pages.of(self.length)
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room()[..self.length]
    }
}

impl Default for Payload {
    fn default() -> Self {
        Buffer::zeroed(0).seal()
    }
}

impl<T: AsRef<[u8]>> From<T> for Payload {
    fn from(bytes: T) -> Self {
        Buffer::from(bytes).seal()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {:x}", self.length, self.hash)
    }
}

/// A checksum of bytes: XXH3. A sum that multiplied 8 bytes at a time was a twelfth of the samples
/// of route `fold`; this one is a fortieth.
pub fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_whole_pages_where_devices_want_them() {
        for (length, pages) in [(0, 0), (1, 1), (4096, 1), (4097, 2), (4 << 20, 1024)] {
            let mut buffer = Buffer::zeroed(length);
            assert_eq!((buffer.len(), buffer.room().len()), (length, pages * PAGE_BYTES));
            assert_eq!(buffer.as_ptr().addr() % PAGE_BYTES, 0, "{length} bytes");
            let at = buffer.as_ptr();
            let payload = buffer.seal();
            assert_eq!((payload.len(), payload.room().len()), (length, pages * PAGE_BYTES));
            assert_eq!(payload.as_ptr(), at, "nothing was copied");
            assert_eq!(payload.clone().as_ptr(), at, "a clone shares the bytes");
        }
    }

    #[test]
    fn bytes_that_were_read_are_compared_with_the_sum_that_was_made() {
        let made = Payload::from(b"updates");
        assert_eq!(made.hash(), checksum(b"updates"));
        assert_eq!(Buffer::from(b"updates").open(made.hash()), Some(made.clone()));
        assert_eq!(Buffer::from(b"updateS").open(made.hash()), None);
        assert_eq!(Buffer::from(b"update").open(made.hash()), None);
    }

    #[test]
    fn a_bit_that_is_another_one_changes_the_sum_wherever_it_is() {
        let bytes: Vec<u8> = (0..300_u32).map(|byte| (byte * 7) as u8).collect();
        for length in [0, 1, 7, 8, 63, 64, 65, 129, 300] {
            let (sum, mut changed) = (checksum(&bytes[..length]), bytes[..length].to_vec());
            for bit in 0..8 * length {
                changed[bit / 8] ^= 1 << (bit % 8);
                assert_ne!(checksum(&changed), sum, "bit {bit} of {length} bytes");
                changed[bit / 8] ^= 1 << (bit % 8);
            }
            changed.push(0);
            assert_ne!(checksum(&changed), sum, "a zero more than {length} bytes");
        }
        // Words that change places.
        for other in [8, 64, 128] {
            let mut changed = bytes.clone();
            for byte in 0..8 {
                changed.swap(byte, other + byte);
            }
            assert_ne!(checksum(&changed), checksum(&bytes), "{other}");
        }
    }

    #[test]
    fn what_lies_behind_the_bytes_is_no_part_of_them() {
        let mut buffer = Buffer::from(b"abc");
        buffer.room()[3..].fill(0xff);
        let payload = buffer.seal();
        assert_eq!(payload, Payload::from(b"abc"));
        assert_eq!(payload.hash(), checksum(b"abc"));
    }
}
