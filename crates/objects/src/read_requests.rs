//! Requests for inputs as a user states them.

/// Bytes that a connection may hold of an answer.
pub(crate) const CONNECTION_BYTES: u64 = 512 << 10;
/// Bytes of a request whose size is not stated, at least.
const BYTES_MIN: u64 = 64 << 10;

/// Bytes of a request for a file, and requests in flight of each reader: with what is looked at
/// they fill a huge page.
const FILE_BYTES: u64 = 512 << 10;
const FILE_IN_FLIGHT: u64 = 3;
/// Bytes of a page, of which requests for files are made.
const PAGE_BYTES: u64 = 4 << 10;
/// Bytes of a file that a reader has at a time: no request is longer, and no more are in flight.
pub const FILE_PART_BYTES: u64 = 16 << 20;

/// Blocks of an object that are kept at least.
pub(crate) const BLOCKS_MIN: u64 = 4;
/// Blocks that a reader may have in its hands beside, with what its connection holds.
const BLOCKS_HELD: u64 = 2;
/// Blocks that a reader asks for at a time, where their size is stated and no number.
const BLOCKS_AT_ONCE: u64 = 4;

/// Size and number of requests that a user states, or a probe found. Of objects the rest follows
/// from the memory, of files it is usual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadRequests {
    /// Bytes of a request at most.
    pub bytes: Option<u64>,
    /// Requests that each reader has in flight.
    pub in_flight: Option<u64>,
}

impl ReadRequests {
    /// Bytes of memory that a reader takes whose requests have this size and number: these, the one
    /// that is looked at, and what connections hold of answers.
    pub(crate) fn memory_bytes(range: u64, ranges: u64) -> u64 {
        let connection = range.min(CONNECTION_BYTES);
        range.saturating_mul(ranges + 1).saturating_add(ranges.saturating_mul(connection))
    }

    /// Bytes of memory that this many readers of files take: requests of each, and the one that is
    /// looked at.
    pub fn file_bytes(self, readers: u64) -> u64 {
        // Records that begin within a page want one more.
        let buffer = self.bytes_of_file().max(2 * PAGE_BYTES);
        readers.saturating_mul(buffer * (self.in_flight_of_file() + 1))
    }

    /// Bytes of a request for a file: pages, of one part at most.
    pub fn bytes_of_file(self) -> u64 {
        let bytes = self.bytes.unwrap_or(FILE_BYTES) / PAGE_BYTES * PAGE_BYTES;
        bytes.clamp(PAGE_BYTES, FILE_PART_BYTES)
    }

    /// Requests for a file that a reader has in flight: of one part at most.
    pub fn in_flight_of_file(self) -> u64 {
        let of_part = FILE_PART_BYTES.div_ceil(self.bytes_of_file());
        self.in_flight.unwrap_or(FILE_IN_FLIGHT).clamp(1, of_part)
    }

    /// Bytes of memory that this many readers of one object take at least, however they read.
    pub fn memory_bytes_min(self, readers: u64) -> u64 {
        let bytes = self.bytes.unwrap_or(BYTES_MIN);
        let each = Self::memory_bytes(bytes, self.in_flight.unwrap_or(1));
        let blocks = (self.blocks_held(readers) + BLOCKS_MIN).saturating_mul(bytes);
        readers.saturating_mul(each).max(blocks)
    }

    /// Blocks that a reader that wants several asks for at a time. Those of usual size are as large
    /// as what is wanted at once.
    pub(crate) fn blocks_at_once(self) -> u64 {
        let usual = if self.bytes.is_some() { BLOCKS_AT_ONCE } else { 1 };
        self.in_flight.unwrap_or(usual).max(1)
    }

    /// Blocks that readers may have in their hands.
    pub(crate) fn blocks_held(self, readers: u64) -> u64 {
        readers.saturating_mul(self.blocks_at_once().max(BLOCKS_HELD))
    }
}
