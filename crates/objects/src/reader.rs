//! The bytes of an object in order, asked for ahead.
//!
//! ```text
//!            current          in flight
//! object  ···[######·····][··········][··········]························
//!                  ^at                           ^next                    end^
//! ```
//!
//! Ranges follow one another without gaps, and are taken in order. How many bytes are asked for
//! ahead is bounded; a reader that may stop soon asks for no more than it was already read, so that
//! a look at the beginning of a large object does not fetch much of it.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;

use bytes::Bytes;
use tokio::task::JoinHandle;

use crate::RANGE_BYTES;
use crate::error::ObjectError;
use crate::object::Object;
use crate::read_requests::{CONNECTION_BYTES, ReadRequests};
use crate::runtime;
use crate::tiling::RangeSum;

/// Bytes of the first range of a reader that may stop soon.
const FIRST_BYTES: u64 = 1 << 20;
/// Bytes of the smallest range, where none is stated.
const RANGE_BYTES_MIN: u64 = 64 << 10;
/// Ranges that may be in flight, where no number is stated.
const RANGES: u64 = 4;

/// Requests that a reader has made ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead {
    /// Bytes of all ranges in flight.
    bytes: u64,
    /// Requests that a user states.
    stated: ReadRequests,
    /// Whether all of the range that is read is surely wanted.
    sure: bool,
}

impl Ahead {
    /// As far as this memory allows, in bytes; four whole ranges at most.
    pub fn within(memory_bytes: u64) -> Self {
        let (bytes, stated) = (memory_bytes.min(RANGES * RANGE_BYTES), ReadRequests::default());
        Self { bytes, stated, sure: false }
    }

    /// As far as this memory allows, in bytes, for all that a reader has: ranges in flight, the one
    /// that is looked at, and what connections hold of answers. What is stated is kept, whatever
    /// memory it takes ([`ReadRequests::memory_bytes_min`]); else it takes 576 KiB at least.
    pub fn in_memory(memory_bytes: u64, stated: ReadRequests) -> Self {
        let ranges = stated.in_flight.unwrap_or(RANGES);
        let fits = |range, ranges| ReadRequests::memory_bytes(range, ranges) <= memory_bytes;
        let bytes = if let Some(range) = stated.bytes {
            let fewer = || (1..RANGES).rev().find(|ranges| fits(range, *ranges)).unwrap_or(1);
            let is_fixed = stated.in_flight.is_some() || fits(range, ranges);
            range * if is_fixed { ranges } else { fewer() }
        } else {
            let beside = memory_bytes.saturating_sub(ranges * CONNECTION_BYTES) / (ranges + 1);
            // Of small ranges a connection holds no more than one.
            let range = beside.max(memory_bytes / (2 * ranges + 1));
            ranges * range.clamp(RANGE_BYTES_MIN, RANGE_BYTES)
        };
        Self { bytes, stated, sure: false }
    }

    /// No further than this, in bytes, but for what is stated.
    #[must_use]
    pub fn at_most(self, bytes: u64) -> Self {
        Self { bytes: self.bytes.min(bytes), ..self }
    }

    /// Reading ahead of an object of which all is wanted.
    #[must_use]
    pub fn surely(self) -> Self {
        Self { sure: true, ..self }
    }

    /// Bytes of a request at most.
    pub fn range_bytes(self) -> u64 {
        let ranges = self.stated.in_flight.unwrap_or(RANGES);
        let usual = || (self.bytes / ranges).clamp(RANGE_BYTES_MIN, RANGE_BYTES);
        self.stated.bytes.unwrap_or_else(usual)
    }

    /// Requests in flight at most.
    pub fn ranges(self) -> u64 {
        let usual = || (self.bytes / self.range_bytes()).clamp(1, RANGES);
        self.stated.in_flight.unwrap_or_else(usual)
    }
}

/// Reads an object from a place on.
#[derive(Debug)]
pub struct Reader {
    object: Object,
    ahead: Ahead,
    /// Where the next byte that is given lies.
    at: u64,
    /// Rest of the range that has arrived.
    current: Bytes,
    /// Ranges in flight, in order, and the bytes of each.
    flying: VecDeque<(u64, JoinHandle<Result<Bytes, ObjectError>>)>,
    /// Where the next range begins.
    next: u64,
    end: u64,
    /// Bytes given since the reader was last somewhere else.
    given: u64,
    /// Whether what is given from the first byte on is summed,
    is_summed: bool,
    /// and the sum of it.
    sum: Option<RangeSum>,
}

impl Object {
    /// A reader from the beginning of a range on, whose end is no end: it is where asking ahead
    /// ends.
    pub fn reader(&self, range: Range<u64>, ahead: Ahead) -> Reader {
        let end = range.end.min(self.bytes());
        Reader {
            object: self.clone(),
            ahead,
            at: range.start,
            current: Bytes::new(),
            flying: VecDeque::new(),
            next: range.start,
            end,
            given: 0,
            is_summed: false,
            sum: None,
        }
    }
}

impl Reader {
    /// This reader, that compares an object with the checksum that its store states
    /// ([`Object::tiling`]), where it gives all bytes from the first to the last. What it gives of
    /// the first ones is compared when all bytes have been given by another.
    #[must_use]
    pub fn summed(mut self) -> Self {
        self.is_summed = true;
        self
    }

    /// Where the next byte lies.
    pub fn position(&self) -> u64 {
        self.at
    }

    /// Goes to another place. What is in flight is used where that is before the place.
    pub fn go_to(&mut self, offset: u64) {
        let here = offset.checked_sub(self.at).filter(|ahead| *ahead <= self.current.len() as u64);
        match here {
            Some(ahead) => {
                self.current = self.current.slice(ahead as usize..);
                self.at = offset;
            }
            None => self.restart(offset),
        }
    }

    /// Takes what comes next as one piece, without a copy; empty at the end of the object.
    ///
    /// # Errors
    /// Of the store, as an [`ObjectError`] within.
    pub fn piece(&mut self, bytes_max: usize) -> io::Result<Bytes> {
        if self.current.is_empty() && self.at < self.object.bytes() {
            self.arrive()?;
        }
        let piece = self.current.slice(..self.current.len().min(bytes_max));
        if self.is_summed && !piece.is_empty() {
            self.sum_up(&piece)?;
        }
        self.current = self.current.slice(piece.len()..);
        self.at += piece.len() as u64;
        self.given += piece.len() as u64;
        Ok(piece)
    }

    /// Adds what comes next to the sum, and notes it at the end of the object.
    fn sum_up(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.at == 0 {
            self.keep_prefix();
            self.sum = self.object.tiling()?.map(|tiling| tiling.anew().range(0));
        }
        let Some(mut sum) = self.sum.take().filter(|sum| sum.end() == self.at) else {
            return Ok(());
        };
        sum.add(piece);
        if sum.end() == self.object.bytes() {
            return sum.note().map_err(io::Error::from);
        }
        self.sum = Some(sum);
        Ok(())
    }

    /// Keeps the sum of a look at the beginning, for who reads all of it.
    fn keep_prefix(&mut self) {
        if let Some(sum) = self.sum.take() {
            sum.note_prefix();
        }
    }

    /// Waits for the next range.
    fn arrive(&mut self) -> io::Result<()> {
        self.ask()?;
        let Some((_, mut range)) = self.flying.pop_front() else { return Ok(()) };
        let arrived = match self.object.wait(&mut range) {
            Ok(Ok(arrived)) => arrived.map_err(io::Error::from),
            Ok(Err(broken)) => Err(io::Error::other(broken)),
            Err(stopped) => {
                range.abort();
                Err(stopped.into())
            }
        };
        match arrived {
            Ok(bytes) => {
                self.current = bytes;
                // The next is on its way while this one is looked at.
                self.ask()
            }
            Err(error) => {
                // Another call asks for the same bytes.
                self.restart(self.at);
                Err(error)
            }
        }
    }

    /// Asks for ranges, as far ahead as is allowed.
    fn ask(&mut self) -> io::Result<()> {
        let wanted =
            if self.ahead.sure { u64::MAX } else { self.given + self.current.len() as u64 };
        let wanted = wanted.max(FIRST_BYTES);
        let range = self.ahead.range_bytes().min(wanted);
        let window = (self.ahead.ranges() * self.ahead.range_bytes()).min(wanted);
        let mut flying: u64 = self.flying.iter().map(|(bytes, _)| bytes).sum();
        if self.at >= self.end {
            self.end = self.object.bytes().min(self.at + range);
        }
        while self.next < self.end && (flying == 0 || flying + range <= window) {
            let bytes = range.min(self.end - self.next);
            let asked = self.object.clone().fetch(self.next..self.next + bytes);
            self.flying.push_back((bytes, runtime::begin(asked)?));
            self.next += bytes;
            flying += bytes;
        }
        Ok(())
    }

    /// Drops what is in flight and begins anew at a place.
    fn restart(&mut self, offset: u64) {
        self.give_up();
        self.current = Bytes::new();
        (self.at, self.next, self.given) = (offset, offset, 0);
    }

    fn give_up(&mut self) {
        self.flying.drain(..).for_each(|(_, range)| range.abort());
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let piece = self.piece(buffer.len())?;
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.keep_prefix();
        self.give_up();
    }
}
