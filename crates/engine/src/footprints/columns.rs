//! Bytes that columns take beside their values.

use welter_store::io::Requests;

use crate::footprints::edges::TILE_EDGES_MAX;
use crate::kernels::update_chunk::{HEADER_BYTES, SECTION, coded_bytes};
use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{DEPTH, slabs_written};

/// Bytes of a worker's way to columns that have `width` bytes a vertex together, of a stripe with
/// 2^`stripe_bits` vertices.
pub(crate) fn column_io(width: u64, stripe_bits: u32) -> u64 {
    (COLUMNS as u64 * width) << stripe_bits
}

/// Bytes of a reader that reads columns with `width` bytes a vertex piece by piece.
pub(crate) fn piece_reader(width: u64, requests: &Requests) -> u64 {
    (pieces(requests) * PIECE) as u64 * width
}

/// Pieces that such a reader has in memory, of any width.
pub(crate) fn pieces(requests: &Requests) -> usize {
    requests.places(PIECE, false).unwrap_or(DEPTH)
}

/// Bytes of all windows of `sources` sources, of `width` bytes each.
pub(crate) fn windows(sources: u64, width: u64) -> u64 {
    WINDOWS as u64 * sources * width
}

/// Bytes of the slabs of a writer that are filled or on their way to storage.
pub(crate) fn slab_writer(requests: &Requests) -> u64 {
    (slabs_written(requests) as u64 + 1) * SLAB_BYTES as u64
}

/// Bytes of a worker's records that are no update chunk yet, `width` each with their destinations:
/// those that fill one, and those of a tile.
pub(crate) fn records(width: u64) -> u64 {
    SLAB_BYTES as u64 / 2 + TILE_EDGES_MAX as u64 * width
}

/// Bytes of the rooms in which a worker encodes the destinations of an update chunk, and decodes
/// those of another.
pub(crate) fn encoded_targets(width: u64) -> u64 {
    let records = SLAB_BYTES / 2 / (4 + width as usize);
    (coded_bytes(records) + 4 * records) as u64
}

/// Bytes of the places of `chunks` update chunks, in lists that may have twice the room.
pub(crate) fn chunk_lists(chunks: u64) -> u64 {
    2 * chunks * CHUNK_ENTRY_BYTES
}

/// Bytes of a worker's accumulators, of `width` bytes each, of a stripe with 2^`stripe_bits`
/// vertices.
pub(crate) fn accumulators(width: u64, stripe_bits: u32) -> u64 {
    width << stripe_bits
}

/// Bytes of the flags of active vertices, of `width` bytes each, before and after an iteration.
pub(crate) fn flags(slots: u64, width: u64) -> u64 {
    2 * slots * width
}

/// Columns of values that a worker has in memory: one is looked at, one is being written.
pub(crate) const COLUMNS: usize = 2;
/// Vertices of a stripe whose values can be read and verified without the others.
pub(crate) const PIECE: usize = 1 << 14;
/// Windows that are in memory at a time: one is looked at, one is being read.
pub(crate) const WINDOWS: usize = 2;
/// Pieces of edge states that a worker reads ahead, and pieces that it writes, at a time.
pub(crate) const STATES_IN_FLIGHT: usize = 2;
/// Slabs of edge states that a worker needs: those in flight, and the one that is changed.
pub(crate) const STATE_SLABS: usize = 2 * STATES_IN_FLIGHT + 1;
/// Bytes of a chunk of updates beside its records, at most.
pub(crate) const CHUNK_FRAME_BYTES: u64 = (HEADER_BYTES + 2 * SECTION) as u64;
/// The part of a slab of updates that may be left: one with less is full.
pub(crate) const SLAB_REST: u64 = 32;
/// Bytes of the place of a chunk of updates.
pub(crate) const CHUNK_ENTRY_BYTES: u64 = 48;
