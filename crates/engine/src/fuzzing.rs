//! Body of the fuzz target for update chunks, so that tests can replay its seeds; no part of the
//! interface.

use bytemuck::cast_slice_mut;

use crate::kernels::update_chunk;

/// Bytes of an accumulator that are tried.
const WIDTHS: [usize; 4] = [1, 4, 8, 24];

/// Opens bytes as an update chunk, as they are and with the checksum put right, for accumulators of
/// several widths. Nothing may panic, and a chunk that opens has a destination for each of its
/// accumulators.
pub fn updates(data: &[u8]) {
    // Chunks are read in place and want 8 bytes of alignment.
    let mut words = vec![0_u64; data.len().div_ceil(8)];
    let bytes = &mut cast_slice_mut::<u64, u8>(&mut words)[..data.len()];
    bytes.copy_from_slice(data);
    open(bytes);
    if update_chunk::forge(bytes).is_some() {
        open(bytes);
    }
}

fn open(bytes: &[u8]) {
    let mut room = Vec::new();
    for width in WIDTHS {
        let Some(records) = update_chunk::open(width, bytes, &mut room) else { continue };
        assert_eq!(records.targets.len() * width, records.accums.len());
        assert!(records.accums.len() <= bytes.len());
    }
}
