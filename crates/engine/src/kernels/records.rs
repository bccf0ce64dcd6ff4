//! Updates that are about to be written: destinations, and a record for each.

use bytemuck::{cast_slice, cast_slice_mut};

use crate::EngineError;
use crate::kernels::sink::{RecordRun, Room, Sink};

/// Bytes to whose multiples records are aligned.
pub(crate) const RECORD_ALIGN: usize = align_of::<u64>();

/// Records of one width, in memory that is made once.
#[derive(Debug)]
pub(crate) struct Records {
    targets: Vec<u32>,
    /// Bytes of the records.
    words: Vec<u64>,
    len: usize,
    /// Bytes of a record.
    width: usize,
    /// Number of records that fill a chunk.
    most: usize,
}

impl Records {
    /// Room for records of `width` bytes: for `most`, which fill a chunk, and `beyond`.
    pub(crate) fn new(width: usize, most: usize, beyond: usize) -> Self {
        let room = most + beyond;
        let words = (room * width).div_ceil(RECORD_ALIGN);
        Self { targets: vec![0; room], words: vec![0; words], len: 0, width, most }
    }

    /// Bytes of a record.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Number of records.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Room for up to `most` more records.
    pub(crate) fn room(&mut self, most: usize) -> RecordRun<'_> {
        let end = self.targets.len().min(self.len + most);
        let bytes = self.len * self.width..end * self.width;
        let records = &mut cast_slice_mut(&mut self.words)[bytes];
        RecordRun { targets: &mut self.targets[self.len..end], records }
    }

    /// Keeps the first `count` records of the room that was handed out last.
    pub(crate) fn keep(&mut self, count: usize) {
        self.len += count;
        assert!(self.len <= self.targets.len(), "records are kept where there was room for them");
    }

    fn bytes(&self) -> &[u8] {
        &cast_slice(&self.words)[..self.len * self.width]
    }

    /// The record at a place, and its destination.
    #[inline(always)]
    pub(crate) fn get(&self, place: usize) -> Option<(u32, &[u8])> {
        let target = *self.targets[..self.len].get(place)?;
        Some((target, &self.bytes()[place * self.width..][..self.width]))
    }

    /// Records from a place on, as many as `most`.
    pub(crate) fn part(&self, first: usize, most: usize) -> (&[u32], &[u8]) {
        let end = self.len.min(first + most);
        (&self.targets[first..end], &self.bytes()[first * self.width..end * self.width])
    }

    /// Holds those of a chunk instead, of which there are no more than fill one.
    pub(crate) fn hold(&mut self, (targets, bytes): (&[u32], &[u8])) {
        self.clear();
        let room = self.room(targets.len());
        room.targets.copy_from_slice(targets);
        room.records.copy_from_slice(bytes);
        self.keep(targets.len());
    }

    /// Adds `by` to the destinations of the records from the place `first` on.
    pub(crate) fn shift(&mut self, first: usize, by: u32) {
        for target in &mut self.targets[first..self.len] {
            *target += by;
        }
    }

    /// Holds none any more.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Whether they fill a chunk.
    pub(crate) fn is_full(&self) -> bool {
        self.len >= self.most
    }
}

/// A sink with room for all that comes, which is asked for them in the end.
impl Sink for Records {
    fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError> {
        Ok(Room::Run(Self::room(self, most)))
    }

    fn keep(&mut self, count: usize) -> Result<(), EngineError> {
        Self::keep(self, count);
        Ok(())
    }
}
