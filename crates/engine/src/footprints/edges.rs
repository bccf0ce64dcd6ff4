//! Bytes that edges take beside their chunks.

use welter_store::frame::Compression;
use welter_store::header::Encoding;
use welter_store::io::Requests;

use crate::machine::arena::SLAB_BYTES;
use crate::machine::nontemporal::LINE_BYTES;
use crate::machine::storage::slabs_read;

/// Lines of a page of a bin: 4 KiB. The last page of each bin is half empty.
pub(crate) const BIN_PAGE_LINES: usize = 64;
/// Bytes of a page of a bin.
pub(crate) const BIN_PAGE_BYTES: usize = BIN_PAGE_LINES * LINE_BYTES;
/// Bytes of the place of a page of a bin.
pub(crate) const PAGE_PLACE_BYTES: u64 = 16;
/// Bytes of an entry in a list of the pages of all bins.
pub(crate) const PAGE_ENTRY_BYTES: u64 = PAGE_PLACE_BYTES + size_of::<u32>() as u64;
/// Entries of a block of such a list: few enough that it gets no huge page.
pub(crate) const PAGE_LIST_BLOCK: u64 = (120 << 10) / PAGE_ENTRY_BYTES;

/// Bytes of the places of `pages` pages of bins, when those of a bin lie together.
pub(crate) fn sorted_pages(pages: u64) -> u64 {
    pages * PAGE_PLACE_BYTES
}

/// Bytes that the lists of `workers` workers with `pages` pages take beyond these until then.
pub(crate) fn listed_pages(pages: u64, workers: u64) -> u64 {
    pages * (PAGE_ENTRY_BYTES - PAGE_PLACE_BYTES) + workers * PAGE_LIST_BLOCK * PAGE_ENTRY_BYTES
}

/// Edges of a tile at most, so that one never outgrows a chunk.
pub(crate) const TILE_EDGES_MAX: usize = 1 << 15;
/// Edges of a tile of this encoding at most: pairs with weights take 16 bytes each, of which fewer
/// fit a slab.
pub(crate) fn tile_edges_max(encoding: Encoding) -> usize {
    if encoding == Encoding::Pairs { TILE_EDGES_MAX / 2 } else { TILE_EDGES_MAX }
}

/// Granules of a block, as many as bits in a mask of them.
pub(crate) const GRANULES: usize = 64;
/// Places in a tile that an entry of the index holds.
pub(crate) const PLACES: usize = GRANULES + 1;
/// Bytes of the index for each tile.
pub(crate) const INDEX_ENTRY_BYTES: usize = PLACES * size_of::<u16>();
/// Bytes of a chunk at most, so that it fits a slab whatever its last tile holds.
pub(crate) const CHUNK_BYTES_MAX: usize = SLAB_BYTES - (1 << 16);

/// Bytes that the index of sources takes for `tiles` tiles: their entries, and their places in the
/// list of tiles.
pub(crate) fn tile_index(tiles: u64) -> u64 {
    tiles * (INDEX_ENTRY_BYTES as u64 + 96)
}

/// Bytes of the places of `chunks` chunks and of what is in them, and of the places of the
/// `extents` extents that are read at once.
pub(crate) fn places(chunks: u64, extents: u64) -> u64 {
    chunks * 160 + extents * 64
}

/// Bytes of slabs that a worker reads ahead at most, where the device was not measured.
pub(crate) fn read_ahead(requests: &Requests) -> u64 {
    // With the one that is looked at.
    slabs_in_flight(slabs_read(requests) + 1)
}

/// Bytes of `count` slabs that a worker has in flight.
pub(crate) fn slabs_in_flight(count: usize) -> u64 {
    (count * SLAB_BYTES) as u64
}

/// Bytes of slabs that a worker packs chunks into: one.
pub(crate) const PACKED_SLAB: u64 = SLAB_BYTES as u64;

/// Bytes of a worker by which chunks are put into frames when they are written, and taken out when
/// they are read.
pub(crate) fn frames(compression: Compression) -> u64 {
    let room = if compression == Compression::None { 0 } else { SLAB_BYTES };
    (compression.compressor_bytes(SLAB_BYTES) + compression.decompressor_bytes() + room) as u64
}
