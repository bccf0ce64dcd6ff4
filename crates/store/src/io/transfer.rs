//! One request on its way: which call is next, and what its answer means.
//!
//! All ways of doing requests share this: [`Transfer::step`] says what to ask the system for,
//! [`Transfer::answer`] takes the answer, until it says that the request is done.

use std::ops::Range;

use rustix::io::Errno;

use super::faults::{Call, Fault};
use super::place::{ALIGN, Place};
use super::volume::{Refusal, Volume};
use crate::StoreError;

/// Answers in a row that may bring nothing forward before a request fails.
const STALLS_MAX: u32 = 1000;

/// A request on its way.
#[derive(Clone, Debug)]
pub(super) struct Transfer {
    pub(super) place: Place,
    pub(super) wrote: bool,
    /// Bytes that were moved; a multiple of [`ALIGN`].
    done: usize,
    stalls: u32,
    /// Of what was read, this bit shall be another one.
    flip: Option<u64>,
}

impl Transfer {
    /// Checks that a request makes sense.
    pub(super) fn new(
        volume: &Volume,
        place: Place,
        wrote: bool,
        memory: &[u8],
    ) -> Result<Self, StoreError> {
        volume.usable(place.file, wrote)?;
        let odd = |what: String| Err(StoreError::Request(format!("{place:?}: {what}")));
        if place.bytes == 0 || !place.offset.is_multiple_of(ALIGN as u64) {
            return odd(format!("no bytes, or not at a multiple of {ALIGN}"));
        }
        let end = place.offset.checked_add(place.rounded_bytes() as u64);
        if end.is_none_or(|end| i64::try_from(end).is_err()) {
            return odd("past the end of any file".to_owned());
        }
        if memory.len() < place.rounded_bytes() || !memory.as_ptr().addr().is_multiple_of(ALIGN) {
            let (bytes, address) = (memory.len(), memory.as_ptr());
            return odd(format!("its memory does not fit: {bytes} bytes at {address:?}"));
        }
        Ok(Self { place, wrote, done: 0, stalls: 0, flip: None })
    }

    /// Takes a place that begins where this one ends, rounded up.
    pub(super) fn extend(&mut self, behind: Place) {
        self.place.bytes = (behind.offset - self.place.offset) as u32 + behind.bytes;
    }

    /// The next call to make: the part of the memory that it moves. An error is the answer to a
    /// call that fails on purpose.
    pub(super) fn step(&mut self, volume: &Volume) -> Result<Range<usize>, Errno> {
        let mut range = self.done..self.place.rounded_bytes();
        let call = if self.wrote { Call::Write } else { Call::Read };
        match volume.faults().and_then(|faults| faults.hit(call)) {
            // A process that is to be killed does not see this; a slow call has had its wait.
            None | Some(Fault::Slow(_) | Fault::Kill) => {}
            Some(Fault::Errno(number)) => return Err(Errno::from_raw_os_error(number)),
            Some(Fault::Short) => {
                range.end = range.start + (range.len() / 2).next_multiple_of(ALIGN);
            }
            Some(Fault::FlipBit(bit)) => self.flip = Some(bit),
        }
        Ok(range)
    }

    /// Where in the file the next call begins.
    pub(super) fn offset(&self) -> u64 {
        self.place.offset + self.done as u64
    }

    /// Takes the answer to a call. Whether the request is done.
    pub(super) fn answer(
        &mut self,
        volume: &Volume,
        answer: Result<usize, Errno>,
    ) -> Result<bool, StoreError> {
        let moved = match answer {
            Ok(moved) => moved,
            Err(Errno::INTR | Errno::AGAIN) if self.stalls < STALLS_MAX => {
                self.stalls += 1;
                return Ok(false);
            }
            Err(error) => return Err(volume.failed(self.refused(error))),
        };
        let reached = self.done + moved;
        // Of a file that ends within the padding, all that was asked for is there.
        let enough =
            if self.wrote { self.place.rounded_bytes() } else { self.place.bytes as usize };
        if reached >= enough {
            volume.counters().moved(self.place.rounded_bytes(), self.wrote);
            return Ok(true);
        }
        // The next call has to begin at a multiple again.
        let aligned = reached / ALIGN * ALIGN;
        if aligned > self.done {
            self.done = aligned;
            self.stalls = 0;
            return Ok(false);
        }
        if !self.wrote {
            return Err(volume.ended(self.place, reached));
        }
        self.stalls += 1;
        if self.stalls < STALLS_MAX {
            Ok(false)
        } else {
            Err(volume.failed(self.refused(Errno::IO)))
        }
    }

    /// The record of a call that the system refused.
    fn refused(&self, error: Errno) -> Refusal {
        Refusal { place: self.place, wrote: self.wrote, offset: self.offset(), error }
    }

    /// Damages what was read, where a plan of faults says so.
    pub(super) fn damage(&self, memory: &mut [u8]) {
        if let Some((byte, mask)) = self.flipped() {
            memory[byte] ^= mask;
        }
    }

    /// The byte that shall be another one than was read, and its bits that are.
    pub(super) fn flipped(&self) -> Option<(usize, u8)> {
        let bit = (self.flip? % (u64::from(self.place.bytes) * 8)) as usize;
        Some((bit / 8, 1 << (bit % 8)))
    }
}
