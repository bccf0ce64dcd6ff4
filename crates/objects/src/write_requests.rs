//! Requests by which an object is written in parts, and the memory that these take.
//!
//! ```text
//! part     0 ...  999   as large as is stated, else 8 MiB
//!       1000 ... 1999   16 MiB, or as is stated where that is more
//!       2000 ... 2999   32 MiB likewise, and so on: twice as much for each thousand
//! ```
//!
//! Invariants: 10,000 parts, the most that a store takes, are more than the largest object ·
//! memory is that of objects up to 50 GiB. Tested by
//! `ten_thousand_parts_are_more_than_the_largest_object`.

/// Bytes of a part where none are stated.
const PART_BYTES: u64 = 8 << 20;
/// Bytes of a part that stores take at least, but for the last one of an object.
const PART_BYTES_MIN: u64 = 5 << 20;
/// Bytes of a part at most, as of other requests: each is held in memory whole.
const PART_BYTES_MAX: u64 = 64 << 20;
/// Parts on their way at most.
const IN_FLIGHT_MAX: u64 = 256;
/// Bytes of parts on their way where no number is stated.
const FLYING_BYTES: u64 = 32 << 20;
/// Parts of one size.
const PARTS_OF_A_SIZE: usize = 1000;
/// Times that the size of parts is doubled at most.
const DOUBLED_MAX: usize = 9;
/// Times that it is doubled in objects up to 50 GiB.
const DOUBLED_COUNTED: usize = 2;

/// Size and number of the parts of an object that are on their way, as a user states them or a
/// probe found them; usual ones by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteRequests {
    part_bytes: u64,
    in_flight: u64,
}

impl Default for WriteRequests {
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl WriteRequests {
    /// Parts of this size, `in_flight` at a time, or what is next to it that stores take: 5 to
    /// 64 MiB, and 1 to 256. Where no number is stated, it is what 32 MiB hold.
    pub fn new(part_bytes: Option<u64>, in_flight: Option<u64>) -> Self {
        let part_bytes = part_bytes.unwrap_or(PART_BYTES).clamp(PART_BYTES_MIN, PART_BYTES_MAX);
        let in_flight = in_flight.unwrap_or(FLYING_BYTES / part_bytes).clamp(1, IN_FLIGHT_MAX);
        Self { part_bytes, in_flight }
    }

    /// Bytes of a part, as long as there are few: an object up to this size is put whole.
    pub fn part_bytes(self) -> u64 {
        self.part_bytes
    }

    /// Parts on their way at most, while the next one is filled.
    pub fn in_flight(self) -> u64 {
        self.in_flight
    }

    /// Whether stores take parts of this size as they are.
    pub fn takes(part_bytes: u64) -> bool {
        (PART_BYTES_MIN..=PART_BYTES_MAX).contains(&part_bytes)
    }

    /// Bytes of memory that parts of an object up to 50 GiB take at most.
    pub fn memory_bytes(self) -> u64 {
        (0..=DOUBLED_COUNTED).map(|doubled| self.held_bytes(doubled)).fold(0, u64::max)
    }

    /// Bytes of a part, by its number.
    pub(crate) fn bytes_of(self, number: usize) -> usize {
        self.sized((number / PARTS_OF_A_SIZE).min(DOUBLED_MAX)) as usize
    }

    /// Bytes of parts on their way at most; a part that is larger goes alone.
    pub(crate) fn flying_bytes(self) -> usize {
        (self.part_bytes * self.in_flight) as usize
    }

    /// Bytes of a part once the size was doubled so often.
    fn sized(self, doubled: usize) -> u64 {
        if doubled == 0 { self.part_bytes } else { self.part_bytes.max(PART_BYTES << doubled) }
    }

    /// Bytes of the part that is filled then, and of those on their way.
    fn held_bytes(self, doubled: usize) -> u64 {
        let part = self.sized(doubled);
        part + part.max(self.part_bytes * self.in_flight / part * part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn sizes_and_numbers_are_those_that_stores_take() {
        for (stated, expected, memory) in [
            ((None, None), (8 * MIB, 4), 64 * MIB),
            ((Some(4 << 10), None), (5 * MIB, 6), 64 * MIB),
            ((Some(4 << 10), Some(2)), (5 * MIB, 2), 64 * MIB),
            ((Some(16 * MIB), None), (16 * MIB, 2), 64 * MIB),
            ((Some(64 * MIB), None), (64 * MIB, 1), 128 * MIB),
            ((Some(64 * MIB), Some(4)), (64 * MIB, 4), 320 * MIB),
            ((Some(u64::MAX), Some(0)), (64 * MIB, 1), 128 * MIB),
            ((None, Some(1)), (8 * MIB, 1), 64 * MIB),
            ((None, Some(16)), (8 * MIB, 16), 160 * MIB),
            ((None, Some(u64::MAX)), (8 * MIB, 256), 2080 * MIB),
        ] {
            let requests = WriteRequests::new(stated.0, stated.1);
            let found = (requests.part_bytes(), requests.in_flight());
            assert_eq!((found, requests.memory_bytes()), (expected, memory), "{stated:?}");
            assert!(WriteRequests::takes(found.0), "{stated:?}");
        }
        assert!(!WriteRequests::takes(4 * MIB) && !WriteRequests::takes(128 * MIB));
    }

    #[test]
    fn ten_thousand_parts_are_more_than_the_largest_object() {
        for (bytes, in_flight) in [(8, 4), (5, 1), (5, 256), (16, 3), (64, 1), (64, 256)] {
            let requests = WriteRequests::new(Some(bytes * MIB), Some(in_flight));
            let sizes: Vec<u64> =
                (0..10_000).map(|number| requests.bytes_of(number) as u64).collect();
            assert!(sizes.iter().sum::<u64>() > 5 << 40);
            assert!(sizes.iter().all(|bytes| (5 << 20..5 << 30).contains(bytes)));
            assert!(sizes.is_sorted());
            // Objects up to 50 GiB are held in the memory that is said.
            let flying = requests.flying_bytes() as u64;
            let mut begins = 0_u64;
            for (number, part) in sizes.iter().enumerate() {
                let held = part + (*part).max(flying / part * part);
                assert!(begins >= 50 << 30 || held <= requests.memory_bytes(), "{number}");
                begins += part;
            }
        }
    }
}
