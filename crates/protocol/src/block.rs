//! A block on storage: a header that says what it is, and its payload.
//!
//! ```text
//! 0  magic "wltr"   4  kind, role, 2 zeros   8  epoch: coordinator, count   16  iteration
//! 20 partition      24 number                32 records   36 payload bytes   40 sources
//! 48 checksum of the payload                 56 source partition or ff ff ff ff    60 zeros
//! 64 checksum of bytes 0 to 63
//! ```
//!
//! Where the two lie is up to the driver, which may want payloads at whole pages: it writes the
//! [`seal`] and the pages of the payload, and reads them into a [`Buffer`], without a copy.
//!
//! **Invariant:** `open(seal(b), p, b.name) = p`, and `open` of anything else is an error: a block
//! that is damaged, torn, stale or lies in another one's place is never taken for the one asked
//! for. Asserted in `block::seal`; checked in `block::open`. Tested by
//! `another_block_is_not_taken_for_the_one_asked_for`.

use crate::ids::{Block, BlockName, Epoch, Kind, Role};
use crate::payload::{Buffer, Payload, checksum};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 72;

const NO_SOURCE: u32 = u32::MAX;

const MAGIC: u32 = u32::from_le_bytes(*b"wltr");
const KINDS: [Kind; 5] =
    [Kind::Edges, Kind::Updates, Kind::Vertices, Kind::Accumulators, Kind::Rough];
const ROLES: [Role; 2] = [Role::Primary, Role::Mirror];

/// Reason why a block cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// No block has this name.
    Missing,
    /// Bytes are missing, or not those that were written.
    Torn,
    /// Another block lies at its place.
    Misplaced,
}

/// The header of a block.
pub fn seal(block: &Block) -> [u8; HEADER_BYTES] {
    let name = &block.name;
    let mut bytes = [0; HEADER_BYTES];
    let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
    put(0, &MAGIC.to_le_bytes());
    put(4, &[name.kind as u8, name.role as u8]);
    let words = [name.epoch.coordinator, name.epoch.count, name.iteration, name.partition];
    for (place, word) in words.into_iter().enumerate() {
        put(8 + 4 * place, &word.to_le_bytes());
    }
    put(24, &name.number.to_le_bytes());
    put(32, &block.records.to_le_bytes());
    put(36, &block.bytes.to_le_bytes());
    put(40, &block.sources.to_le_bytes());
    put(48, &block.hash.to_le_bytes());
    put(56, &name.source.unwrap_or(NO_SOURCE).to_le_bytes());
    let sum = checksum(&bytes[..64]);
    bytes[64..].copy_from_slice(&sum.to_le_bytes());
    debug_assert_eq!(header(&bytes), Some(*block), "a header says what its block is");
    bytes
}

/// Name and sums that the header of a block states, if it is whole.
pub fn header(bytes: &[u8]) -> Option<Block> {
    let header = bytes.first_chunk::<HEADER_BYTES>()?;
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]));
    if short(0) != MAGIC || long(64) != checksum(&header[..64]) {
        return None;
    }
    let name = BlockName {
        kind: *KINDS.get(usize::from(header[4]))?,
        role: *ROLES.get(usize::from(header[5]))?,
        epoch: Epoch { coordinator: short(8), count: short(12) },
        iteration: short(16),
        partition: short(20),
        source: Some(short(56)).filter(|source| *source != NO_SOURCE),
        number: long(24),
    };
    Some(Block { name, records: short(32), bytes: short(36), sources: long(40), hash: long(48) })
}

/// The block of this name and its payload, as both were read.
///
/// # Errors
/// When the bytes are not those of that block.
pub fn open(head: &[u8], payload: Buffer, name: BlockName) -> Result<(Block, Payload), Damage> {
    let block = header(head).ok_or(Damage::Torn)?;
    if block.name != name {
        return Err(Damage::Misplaced);
    }
    if payload.len() != block.bytes as usize {
        return Err(Damage::Torn);
    }
    let payload = payload.open(block.hash).ok_or(Damage::Torn)?;
    Ok((block, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Block, Payload) {
        let name = BlockName {
            kind: Kind::Vertices,
            role: Role::Mirror,
            epoch: Epoch { coordinator: 3, count: 9 },
            iteration: 4,
            partition: 5,
            source: Some(0),
            number: 1 << 33,
        };
        let payload = Payload::from((0..37).collect::<Vec<u8>>());
        (Block::of(name, 6, 0b101, &payload), payload)
    }

    /// The outcome for these bytes, a header and a payload, taken for a block of this name.
    fn opened(bytes: &[u8], name: BlockName) -> Result<(Block, Payload), Damage> {
        let (head, payload) = bytes.split_at(HEADER_BYTES.min(bytes.len()));
        open(head, payload.into(), name)
    }

    #[test]
    fn what_is_sealed_can_be_opened() {
        let (block, payload) = sample();
        let head = seal(&block);
        assert_eq!(header(&head), Some(block));
        assert_eq!(open(&head, payload[..].into(), block.name), Ok((block, payload)));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_seen() {
        let (block, payload) = sample();
        let bytes = [&seal(&block)[..], &payload].concat();
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(opened(&flipped, block.name).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(opened(&bytes[..length], block.name), Err(Damage::Torn), "{length} bytes");
        }
    }

    #[test]
    fn another_block_is_not_taken_for_the_one_asked_for() {
        let (block, payload) = sample();
        let name = block.name;
        let older = Epoch { count: name.epoch.count - 1, ..name.epoch };
        for other in [
            BlockName { kind: Kind::Edges, ..name },
            BlockName { epoch: older, ..name },
            BlockName { iteration: name.iteration - 1, ..name },
            BlockName { partition: 0, ..name },
            BlockName { source: None, ..name },
            BlockName { source: Some(5), ..name },
            BlockName { number: 0, ..name },
            name.as_role(Role::Primary),
        ] {
            let found = open(&seal(&block), payload[..].into(), other);
            assert_eq!(found, Err(Damage::Misplaced));
        }
    }
}
