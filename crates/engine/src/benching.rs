//! Update chunks for benchmarks, which time how they are written and opened; no part of the
//! interface.

use welter_store::header::Encoding;

use crate::kernels::update_chunk::{self, EncodedTargets, UpdateKey};

/// The chunk of these updates, whose accumulators are the bytes of as many as there are
/// destinations.
pub fn update_chunk(encoding: Encoding, targets: &[u32], accums: &[u8]) -> Vec<u8> {
    let width = accums.len().checked_div(targets.len()).unwrap_or_default();
    let (mut room, key) = (Vec::new(), UpdateKey::new(0, 0, 0));
    let encoded = EncodedTargets::new(encoding, targets, &mut room);
    let mut bytes = vec![0; encoded.chunk_bytes(width)];
    update_chunk::write(width, &mut bytes, (0, key), (encoded, accums), targets.len() as u64);
    bytes
}

/// Number of the updates of a chunk, whose accumulators have `width` bytes, once its destinations
/// are decoded into `room`; none if it is damaged.
pub fn opened(width: usize, bytes: &[u8], room: &mut Vec<u32>) -> Option<usize> {
    Some(update_chunk::open(width, bytes, room)?.targets.len())
}
