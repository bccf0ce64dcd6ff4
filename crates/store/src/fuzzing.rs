//! Body of the fuzz target for chunks and frames, so that tests can replay its seeds; no part of
//! the interface.

use bytemuck::{cast_slice, cast_slice_mut, try_from_bytes};

use crate::builder::table_checksum;
use crate::chunk::Chunk;
use crate::codec::{Decoder, SimdLevel};
use crate::frame::{self, Decompressor, Frame};
use crate::header::{Encoding, HEADER_BYTES, Header, KEY_BITS, Label};

/// Decoded at a time, as in a kernel.
const BUFFER: usize = 1024;
/// Words of the chunk in a frame, at most.
const ROOM: usize = 1 << 13;

/// Opens bytes as a chunk, or as a frame of one, as they are and with the checksum of the head put
/// right, and reads all that opens. Nothing may panic, and what is handed out must lie where it
/// may.
pub fn chunk(data: &[u8]) {
    // Chunks are read in place and want 8 bytes of alignment.
    let mut words = vec![0_u64; data.len().div_ceil(8)];
    let bytes = &mut cast_slice_mut::<u64, u8>(&mut words)[..data.len()];
    bytes.copy_from_slice(data);
    if Frame::is_at(bytes) {
        open(bytes);
        if frame::forge(bytes).is_some() {
            open(bytes);
        }
        return;
    }
    read(bytes);
    if forge(bytes).is_some() {
        read(bytes);
    }
}

/// Reads the chunk of a frame, as it is and with its own checksum put right.
fn open(bytes: &[u8]) {
    let Ok(frame) = Frame::open(bytes) else { return };
    assert!(frame.bytes() <= bytes.len());
    let mut room = vec![0_u64; ROOM];
    let room: &mut [u8] = cast_slice_mut(&mut room);
    if Decompressor::new().open(&frame, room).is_ok() {
        let plain = &mut room[..frame.plain_bytes()];
        read(plain);
        if forge(plain).is_some() {
            read(plain);
        }
    }
}

/// Makes the checksum of the head fit, where the tables that it covers are there.
fn forge(bytes: &mut [u8]) -> Option<()> {
    let header: &Header = try_from_bytes(bytes.get(..HEADER_BYTES)?).ok()?;
    let directory = HEADER_BYTES + (header.tiles as usize).checked_mul(16)?;
    let groups = directory + (header.groups as usize).checked_mul(12)?;
    let directory = cast_slice(bytes.get(HEADER_BYTES..directory)?);
    let groups = cast_slice(bytes.get(HEADER_BYTES + size_of_val(directory)..groups)?);
    let sum = table_checksum(header, directory, groups);
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    Some(())
}

fn read(bytes: &[u8]) {
    let Ok(chunk) = Chunk::open(bytes) else { return };
    // Damage that only the checksums of the sections show is no reason to panic later.
    let _ = chunk.verify();
    assert!(chunk.bytes() <= bytes.len());
    let label = *chunk.label();
    let width = label.weights.bytes();
    let (mut edges, mut weights) = (0, Vec::new());
    for tile in chunk.tiles() {
        assert!(tile.source >= label.source_base);
        assert!(tile.source + chunk.block_width() <= chunk.sources_end());
        assert_eq!(tile.weights.len(), tile.edges * width);
        // A key is an edge's, and takes a byte at least: this bounds what is decoded.
        assert!(tile.edges <= bytes.len());
        edges += tile.edges as u64;
        weights.resize(tile.edges, f64::NAN);
        label.weights.decode(tile.weights, &mut weights);
        for key in keys(&label, &tile) {
            assert!(u64::from(key) >> label.target_bits < chunk.block_width());
        }
    }
    assert_eq!(edges, chunk.edges());
    assert!(label.target_bits < KEY_BITS);
}

/// The keys of a tile, by every decoder that this processor has: all must agree.
fn keys(label: &Label, tile: &crate::chunk::Tile<'_>) -> Vec<u32> {
    let Label { encoding, target_bits, .. } = *label;
    if encoding == Encoding::Packed {
        return tile.packed().to_vec();
    }
    let decoder = |level| Decoder::new(encoding, target_bits, tile.keys, tile.edges, level);
    let mut decoded = SimdLevel::available().into_iter().filter_map(decoder).map(|mut decoder| {
        let (mut keys, mut buffer) = (Vec::new(), [0; BUFFER]);
        loop {
            let count = decoder.fill(&mut buffer);
            if count == 0 {
                return keys;
            }
            keys.extend_from_slice(&buffer[..count]);
        }
    });
    let first = decoded.next().unwrap_or_default();
    assert!(decoded.all(|others| others == first), "decoders differ");
    assert_eq!(first.len(), tile.edges);
    first
}
