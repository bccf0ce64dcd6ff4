//! Settings of requests: how large they are, how many wait for an answer, and whether the page
//! cache stands between.
//!
//! A place of a volume is what a caller reads or writes at once, such as a slab. A request is what
//! the device is asked for. Where nothing is said a place is one request; a smaller size cuts it
//! into several, which are at the device side by side, and a larger one lets neighbours in a file
//! be one, each in memory of its own.
//!
//! Invariant: no request is larger than its volume's settings say. Checked in [`Place::parts`].
//! Tested by `no_request_is_larger_than_the_settings_say`.

use super::place::{ALIGN, Place};

/// The smallest size of a request that can be set, bytes.
pub const REQUEST_BYTES_LEAST: u32 = ALIGN as u32;
/// The largest one.
pub const REQUEST_BYTES_MOST: u32 = 64 << 20;
/// The most requests that a worker may have in flight.
pub const IN_FLIGHT_MOST: u32 = 256;

/// Settings of requests. `None` leaves a choice to who makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Bytes of a read at most; a multiple of [`ALIGN`].
    pub read_bytes: Option<u32>,
    /// Bytes of a write at most; a multiple of [`ALIGN`].
    pub write_bytes: Option<u32>,
    /// Requests that each queue has at the device at a time.
    pub in_flight: Option<u32>,
    /// Whether files are read and written through the page cache.
    pub cached: bool,
}

impl Requests {
    /// Bytes of a request at most.
    pub fn bytes(&self, to_write: bool) -> Option<usize> {
        let bytes = if to_write { self.write_bytes } else { self.read_bytes };
        bytes.map(|bytes| (bytes as usize / ALIGN * ALIGN).max(ALIGN))
    }

    /// Places of `place_bytes` bytes that a request moves together at most, at least one: as many
    /// as it may have bytes, if they are neighbours in their file.
    pub fn joined(&self, place_bytes: usize, to_write: bool) -> usize {
        self.bytes(to_write).map_or(1, |bytes| (bytes / place_bytes.max(1)).max(1))
    }

    /// Places of `place_bytes` bytes that hold the requests in flight, at least one, where the
    /// settings say how many these are.
    pub fn places(&self, place_bytes: usize, to_write: bool) -> Option<usize> {
        let each = self.bytes(to_write).map_or(place_bytes, |bytes| bytes.min(place_bytes));
        let all = self.in_flight? as usize * each;
        Some(all.div_ceil(place_bytes.max(1)).max(1))
    }
}

impl Place {
    /// The requests of at most `most` bytes that move it, each with its begin in the memory. All
    /// but the last are as large as may be.
    pub(super) fn parts(self, most: usize) -> impl Iterator<Item = (Self, usize)> {
        let bytes = self.bytes as usize;
        (0..bytes).step_by(most.max(ALIGN)).map(move |start| {
            let offset = self.offset + start as u64;
            (Self { offset, bytes: (bytes - start).min(most.max(ALIGN)) as u32, ..self }, start)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_hold_the_requests_in_flight() {
        let of = |read_bytes, in_flight| Requests { read_bytes, in_flight, ..Requests::default() };
        let places = |requests: Requests| requests.places(512 << 10, false);
        assert_eq!(places(of(Some(4096), None)), None);
        assert_eq!(places(of(None, Some(7))), Some(7));
        assert_eq!(places(of(Some(4096), Some(1))), Some(1));
        assert_eq!(places(of(Some(64 << 10), Some(8))), Some(1));
        assert_eq!(places(of(Some(64 << 10), Some(9))), Some(2));
        assert_eq!(places(of(Some(1 << 20), Some(3))), Some(3));
    }

    #[test]
    fn parts_are_the_whole_place() {
        for (bytes, most) in [(1, 4096), (4096, 4096), (10_000, 4096), (1 << 19, 1 << 16)] {
            let place = Place { file: 1, offset: 8192, bytes };
            let mut end = place.offset;
            for (part, start) in place.parts(most) {
                assert_eq!((part.file, part.offset), (1, end));
                assert_eq!(part.offset, place.offset + start as u64);
                assert!(part.bytes as usize <= most);
                end += u64::from(part.bytes);
            }
            assert_eq!(end, place.offset + u64::from(bytes));
        }
    }
}
