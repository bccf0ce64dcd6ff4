//! The head of a sealed file, and where its blocks lie.

use bytemuck::{Pod, Zeroable};

use crate::checksum;

/// First bytes of every such file.
pub const MAGIC: [u8; 8] = *b"WELTERSF";
/// Bytes of the payload that one checksum covers.
pub const BLOCK_BYTES: usize = 1 << 20;
pub(super) const CHECKSUM_BYTES: usize = 4;
pub(super) const HEADER_BYTES: usize = size_of::<Header>();

/// The offset in a sealed file of a byte of its payload.
pub fn offset_in_file(payload: u64) -> u64 {
    let checksums = payload / BLOCK_BYTES as u64 * CHECKSUM_BYTES as u64;
    HEADER_BYTES as u64 + payload + checksums
}

/// Bytes of the payload of file `part` of `parts`, where `bytes` bytes are dealt out to them, a
/// block at a time by turns.
pub fn part_bytes(bytes: u64, part: usize, parts: usize) -> u64 {
    let (block, part, parts) = (BLOCK_BYTES as u64, part as u64, parts as u64);
    let (whole, rest) = (bytes / block, bytes % block);
    let turns = whole / parts + u64::from(part < whole % parts);
    let last = if part == whole % parts { rest } else { 0 };
    turns * block + last
}

/// Identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Kind of its payload: eight ASCII characters, such as `MANIFEST`.
    pub kind: [u8; 8],
    /// Version of what the payload holds.
    pub version: u16,
    /// Number of the graph that it belongs to.
    pub graph: u64,
    /// Generation of the edge set that it belongs to.
    pub generation: u32,
}

/// The head of a file, 64 bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: u16,
    pub(super) zero: [u8; 6],
    pub(super) kind: [u8; 8],
    pub(super) graph: u64,
    pub(super) generation: u32,
    pub(super) zero_too: u32,
    pub(super) payload_bytes: u64,
    pub(super) zero_at_last: [u8; 12],
    pub(super) checksum: u32,
}

impl Header {
    pub(super) fn new(identity: &Identity, payload_bytes: u64) -> Self {
        let mut header = Self {
            magic: MAGIC,
            version: identity.version,
            kind: identity.kind,
            graph: identity.graph,
            generation: identity.generation,
            payload_bytes,
            ..Self::zeroed()
        };
        header.checksum = header.sum();
        header
    }

    pub(super) fn sum(&self) -> u32 {
        checksum::of(&bytemuck::bytes_of(self)[..HEADER_BYTES - CHECKSUM_BYTES])
    }

    pub(super) fn identity(&self) -> Identity {
        let Self { kind, version, graph, generation, .. } = *self;
        Identity { kind, version, graph, generation }
    }

    /// Checksum of a block of the file that begins so.
    pub(super) fn sum_of_block(&self, number: u64, block: &[u8]) -> u32 {
        // Not of the header with its checksum: that is the same number for every header.
        let sum = checksum::append(self.checksum, &number.to_le_bytes());
        checksum::append(sum, block)
    }

    pub(super) fn blocks(&self) -> u64 {
        self.payload_bytes.div_ceil(BLOCK_BYTES as u64)
    }

    /// Bytes of a block without its checksum.
    pub(super) fn block_bytes(&self, number: u64) -> usize {
        let begin = number.saturating_mul(BLOCK_BYTES as u64);
        self.payload_bytes.saturating_sub(begin).min(BLOCK_BYTES as u64) as usize
    }

    /// Bytes of the whole file; `None` if no file is so large.
    pub(super) fn file_bytes(&self) -> Option<u64> {
        let checksums = self.blocks().checked_mul(CHECKSUM_BYTES as u64)?;
        self.payload_bytes.checked_add(checksums)?.checked_add(HEADER_BYTES as u64)
    }
}

/// Where a block begins in the file.
pub(super) fn block_offset(number: u64) -> u64 {
    HEADER_BYTES as u64 + number * (BLOCK_BYTES + CHECKSUM_BYTES) as u64
}
