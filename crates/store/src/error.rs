//! What can be wrong with a chunk.

use thiserror::Error;

/// Why bytes are not the chunk that was asked for. Offsets are in bytes from the chunk's start.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChunkError {
    /// The bytes end before what they promise.
    #[error("the chunk is cut short: {need} bytes needed, {have} there")]
    Short {
        /// Bytes that the header promises.
        need: u64,
        /// Bytes that are there.
        have: u64,
    },
    /// The first bytes are not those of a chunk.
    #[error("not a chunk: the magic bytes are wrong")]
    Magic,
    /// Written by another version of the format.
    #[error("chunk format version {found} is not known (this build reads {known})")]
    Version {
        /// Version in the header.
        found: u16,
        /// Version that this build reads.
        known: u16,
    },
    /// A checksum does not fit the bytes that it covers.
    #[error("checksum mismatch in the {what} at offset {offset}")]
    Checksum {
        /// Which part of the chunk.
        what: &'static str,
        /// Where the part begins.
        offset: u64,
    },
    /// A field holds what no writer writes.
    #[error("the {what} at offset {offset} makes no sense: {value}")]
    Field {
        /// Name of the field.
        what: &'static str,
        /// Where it lies.
        offset: u64,
        /// What it holds.
        value: u64,
    },
}
