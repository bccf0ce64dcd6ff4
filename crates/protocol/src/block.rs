//! The bytes of a block: a header that says what it is, then the payload.
//!
//! ```text
//! 0  magic "wltr"   4  kind, role, 2 zeros   8  epoch: coordinator, count   16  iteration
//! 20 partition      24 number                32 records   36 payload bytes   40 sources
//! 48 checksum of the payload                 56 source partition or ff ff ff ff    60 zeros
//! 64 checksum of bytes 0 to 63               72 payload
//! ```
//!
//! **Invariant:** `open(seal(b, p), b.name) = p`, and `open` of anything else is an error: a block
//! that is damaged, torn, stale or lies in another one's place is never taken for the one asked
//! for.

use crate::names::{Block, BlockName, Epoch, Kind, Payload, Role, checksum};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 72;

const NO_SOURCE: u32 = u32::MAX;

const MAGIC: u32 = u32::from_le_bytes(*b"wltr");
const KINDS: [Kind; 4] = [Kind::Edges, Kind::Updates, Kind::Vertices, Kind::Accumulators];
const ROLES: [Role; 2] = [Role::Primary, Role::Mirror];

/// Why a block cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// There is none of this name.
    Missing,
    /// Bytes are missing, or not those that were written.
    Torn,
    /// It is another block.
    Misplaced,
}

/// The bytes of a block on storage.
pub fn seal(block: &Block, payload: &[u8]) -> Vec<u8> {
    let name = &block.name;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + payload.len());
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend([name.kind as u8, name.role as u8, 0, 0]);
    for word in [name.epoch.coordinator, name.epoch.count, name.iteration, name.partition] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(name.number.to_le_bytes());
    bytes.extend(block.records.to_le_bytes());
    bytes.extend(block.bytes.to_le_bytes());
    bytes.extend(block.sources.to_le_bytes());
    bytes.extend(block.hash.to_le_bytes());
    bytes.extend(name.source.unwrap_or(NO_SOURCE).to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(checksum(&bytes).to_le_bytes());
    bytes.extend_from_slice(payload);
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

/// The block of this name and its payload.
///
/// # Errors
/// When the bytes are not those of that block.
pub fn open(bytes: &[u8], name: BlockName) -> Result<(Block, Payload), Damage> {
    let block = header(bytes).ok_or(Damage::Torn)?;
    if block.name != name {
        return Err(Damage::Misplaced);
    }
    let payload = &bytes[HEADER_BYTES..];
    if payload.len() != block.bytes as usize || checksum(payload) != block.hash {
        return Err(Damage::Torn);
    }
    Ok((block, payload.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> (Block, Vec<u8>) {
        let name = BlockName {
            kind: Kind::Vertices,
            role: Role::Mirror,
            epoch: Epoch { coordinator: 3, count: 9 },
            iteration: 4,
            partition: 5,
            source: Some(0),
            number: 1 << 33,
        };
        let payload: Vec<u8> = (0..37).collect();
        (Block::of(name, 6, 0b101, &payload), payload)
    }

    #[test]
    fn what_is_sealed_can_be_opened() {
        let (block, payload) = sample();
        let bytes = seal(&block, &payload);
        assert_eq!(header(&bytes), Some(block));
        assert_eq!(open(&bytes, block.name), Ok((block, payload.into())));
    }

    #[test]
    fn every_flipped_bit_and_every_missing_byte_is_seen() {
        let (block, payload) = sample();
        let bytes = seal(&block, &payload);
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(open(&flipped, block.name).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(open(&bytes[..length], block.name), Err(Damage::Torn), "{length} bytes");
        }
    }

    #[test]
    fn another_block_is_not_taken_for_the_one_asked_for() {
        let (block, payload) = sample();
        let bytes = seal(&block, &payload);
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
            assert_eq!(open(&bytes, other), Err(Damage::Misplaced));
        }
    }
}
