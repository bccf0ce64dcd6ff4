//! Files beside the chunks: manifests, columns of numbers, bitmaps. One flipped bit is noticed.
//!
//! ```text
//! 0      8      10         16       24       32           40            60    64
//! magic  version  zero     kind     graph    generation   payload       zero  CRC-32C
//!                                            (u32, zero)  bytes               of 0..60
//! 64 + i * (2^20 + 4)      block i of the payload: 2^20 bytes, the last one what is left of it
//!                          CRC-32C of (bytes 0..60 of the header, i as u64, the block)
//! ```
//! The file ends with the last checksum. Since a block's checksum covers the header, a block of
//! another file, graph, generation or place is noticed like a damaged one. Blocks are small enough
//! to read a column in pieces, and to reach into its middle.
//!
//! Invariants: nothing is handed out before its checksum was seen to be right · nothing is
//! allocated by a length that was not held against the size of the file.

mod reader;
mod writer;

use bytemuck::{Pod, Zeroable};

pub use reader::SealedReader;
pub use writer::SealedWriter;

use std::path::Path;
use std::sync::Arc;

use crate::StoreError;
use crate::checksum;
use crate::io::Faults;

/// First bytes of every such file.
pub const MAGIC: [u8; 8] = *b"WELTERSF";
/// Bytes of the payload that one checksum covers.
pub const BLOCK_BYTES: usize = 1 << 20;
const CHECKSUM_BYTES: usize = 4;
const HEADER_BYTES: usize = size_of::<Header>();

/// The offset in a sealed file of a byte of its payload.
pub fn offset_in_file(payload: u64) -> u64 {
    let checksums = payload / BLOCK_BYTES as u64 * CHECKSUM_BYTES as u64;
    HEADER_BYTES as u64 + payload + checksums
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// What it holds: eight ASCII characters, such as `MANIFEST`.
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
struct Header {
    magic: [u8; 8],
    version: u16,
    zero: [u8; 6],
    kind: [u8; 8],
    graph: u64,
    generation: u32,
    zero_too: u32,
    payload_bytes: u64,
    zero_at_last: [u8; 12],
    checksum: u32,
}

impl Header {
    fn new(identity: &Identity, payload_bytes: u64) -> Self {
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

    fn sum(&self) -> u32 {
        checksum::of(&bytemuck::bytes_of(self)[..HEADER_BYTES - CHECKSUM_BYTES])
    }

    fn identity(&self) -> Identity {
        let Self { kind, version, graph, generation, .. } = *self;
        Identity { kind, version, graph, generation }
    }

    /// Checksum of a block of the file that begins so.
    fn sum_of_block(&self, number: u64, block: &[u8]) -> u32 {
        // Not of the header with its checksum: that is the same number for every header.
        let sum = checksum::append(self.checksum, &number.to_le_bytes());
        checksum::append(sum, block)
    }

    fn blocks(&self) -> u64 {
        self.payload_bytes.div_ceil(BLOCK_BYTES as u64)
    }

    /// Bytes of a block without its checksum.
    fn block_bytes(&self, number: u64) -> usize {
        let begin = number.saturating_mul(BLOCK_BYTES as u64);
        self.payload_bytes.saturating_sub(begin).min(BLOCK_BYTES as u64) as usize
    }

    /// Bytes of the whole file; `None` if no file is so large.
    fn file_bytes(&self) -> Option<u64> {
        let checksums = self.blocks().checked_mul(CHECKSUM_BYTES as u64)?;
        self.payload_bytes.checked_add(checksums)?.checked_add(HEADER_BYTES as u64)
    }
}

/// Where a block begins in the file.
fn block_offset(number: u64) -> u64 {
    HEADER_BYTES as u64 + number * (BLOCK_BYTES + CHECKSUM_BYTES) as u64
}

/// Writes a whole file, durably, in place of what had its name before.
///
/// # Errors
/// As those of [`SealedWriter`].
pub fn seal(
    path: &Path,
    identity: &Identity,
    payload: &[u8],
    faults: Option<&Arc<Faults>>,
) -> Result<(), StoreError> {
    let mut writer = SealedWriter::create(path, identity, payload.len() as u64, faults)?;
    writer.append(payload)?;
    writer.commit()
}

/// Reads a whole file of up to `bytes_max` bytes of payload.
///
/// # Errors
/// As those of [`SealedReader`]; also when it is larger.
pub fn unseal(
    path: &Path,
    kind: [u8; 8],
    bytes_max: u64,
    faults: Option<&Arc<Faults>>,
) -> Result<(Identity, Vec<u8>), StoreError> {
    let mut reader = SealedReader::open(path, kind, faults)?;
    let payload = reader.read_rest(bytes_max)?;
    Ok((reader.identity(), payload))
}
