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
//! allocated by a length that was not checked against the size of the file. Tested by
//! `every_flipped_bit_is_noticed` and `a_forged_head_is_held_against_the_file`.
//!
//! ```
//! use welter_store::sealed::{Identity, seal, unseal};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("degrees");
//! let identity = Identity { kind: *b"DEGREES ", version: 1, graph: 7, generation: 0 };
//! seal(&path, &identity, &[1, 2, 3], None)?;
//! assert_eq!(unseal(&path, *b"DEGREES ", 1 << 10, None)?, (identity, vec![1, 2, 3]));
//!
//! // A file of another kind is refused, and so is one that is larger than was foreseen.
//! assert!(unseal(&path, *b"MANIFEST", 1 << 10, None).is_err());
//! assert!(unseal(&path, *b"DEGREES ", 2, None).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod header;
mod reader;
mod writer;

pub use header::{BLOCK_BYTES, Identity, MAGIC, offset_in_file, part_bytes};
pub use reader::SealedReader;
pub use writer::SealedWriter;

use std::path::Path;
use std::sync::Arc;

use crate::StoreError;
use crate::io::{Faults, Remote};

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

/// As [`seal`], of a file that lies elsewhere.
///
/// # Errors
/// As those of [`Remote::create`].
pub fn seal_elsewhere(
    remote: &dyn Remote,
    path: &Path,
    identity: &Identity,
    payload: &[u8],
) -> Result<(), StoreError> {
    let mut writer = SealedWriter::create_elsewhere(remote, path, identity, payload.len() as u64)?;
    writer.append(payload)?;
    writer.commit()
}

/// The bytes of a whole file, for who writes it elsewhere.
///
/// # Errors
/// None that a correct caller meets.
pub fn sealed_bytes(identity: &Identity, payload: &[u8]) -> Result<Vec<u8>, StoreError> {
    SealedWriter::whole(identity, payload)
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
