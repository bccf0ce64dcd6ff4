//! Updates that are about to be written: destinations, and a record for each.

use bytemuck::{Pod, bytes_of};

/// Records of one width.
#[derive(Debug)]
pub(crate) struct Records {
    targets: Vec<u32>,
    bytes: Vec<u8>,
    /// Bytes of a record.
    width: usize,
    /// Number of records that fill a chunk.
    most: usize,
}

impl Records {
    /// Room for records of `width` bytes: for `most`, which fill a chunk, and `beyond`.
    pub(crate) fn new(width: usize, most: usize, beyond: usize) -> Self {
        let room = most + beyond;
        let (targets, bytes) = (Vec::with_capacity(room), Vec::with_capacity(room * width));
        Self { targets, bytes, width, most }
    }

    /// Bytes of a record.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Appends a record.
    #[inline(always)]
    pub(crate) fn push<R: Pod>(&mut self, target: u32, record: &R) {
        debug_assert_eq!(size_of::<R>(), self.width);
        self.targets.push(target);
        self.bytes.extend_from_slice(bytes_of(record));
    }

    /// Appends the bytes of a record.
    #[inline(always)]
    pub(crate) fn push_bytes(&mut self, target: u32, record: &[u8]) {
        debug_assert_eq!(record.len(), self.width);
        self.targets.push(target);
        self.bytes.extend_from_slice(record);
    }

    /// The record at a place, and its destination.
    #[inline(always)]
    pub(crate) fn get(&self, place: usize) -> Option<(u32, &[u8])> {
        let target = *self.targets.get(place)?;
        Some((target, &self.bytes[place * self.width..][..self.width]))
    }

    /// Records from a place on, as many as `most`.
    pub(crate) fn part(&self, first: usize, most: usize) -> (&[u32], &[u8]) {
        let end = self.len().min(first + most);
        (&self.targets[first..end], &self.bytes[first * self.width..end * self.width])
    }

    /// Holds those of a chunk instead.
    pub(crate) fn hold(&mut self, (targets, bytes): (&[u32], &[u8])) {
        self.clear();
        self.targets.extend_from_slice(targets);
        self.bytes.extend_from_slice(bytes);
    }

    /// Holds none any more.
    pub(crate) fn clear(&mut self) {
        self.targets.clear();
        self.bytes.clear();
    }

    /// Whether they fill a chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.most
    }
}
