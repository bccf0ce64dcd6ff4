//! Bytes that an ingest takes, for plans.
//!
//! Nothing here depends on another file of the room, so that a plan can be made of it.

use crate::edges::footprint::BIN_PAGE_BYTES;
use crate::kernels::vertices::SEGMENT_BITS;

/// Bytes of a worker's buffers that do not grow with the graph: building a chunk, decoding, cuts.
pub(crate) const WORKER_BYTES: u64 = 2 << 20;
/// Bytes of a bin: its line, counters, and the list of its pages.
pub(crate) const BIN_BYTES: u64 = 192;
/// Bytes of a bin that has a page in memory.
pub(crate) const OPEN_BIN_BYTES: u64 = BIN_BYTES + BIN_PAGE_BYTES as u64;

/// Bytes of a mark on each slot of `segments` segments.
pub(crate) fn marks(segments: u64) -> u64 {
    segments * (1 << SEGMENT_BITS) / 8
}

/// Bytes of degrees, and of which slots of `segments` segments are vertices.
pub(crate) fn degrees(vertices: u64, segments: u64) -> u64 {
    vertices * 4 + vertex_slots(segments)
}

/// Bytes of which slots of `segments` segments are vertices: a bit each, and the number of those
/// before each 64.
pub(crate) fn vertex_slots(segments: u64) -> u64 {
    segments * (1 << SEGMENT_BITS) / 64 * 12
}

/// Bytes of edges while they wait in bins.
pub(crate) fn waiting(edges: u64, weighted: bool, slots: u64) -> u64 {
    // Three times the bytes of one: lines hold 4, 8 or 12 of them.
    let thrice = match (weighted, slots <= 1 << 20) {
        (true, _) => 48,
        (false, false) => 24,
        (false, true) => 16,
    };
    edges * thrice / 3
}

/// Bytes that sorting takes for `edges` edges: two records each.
pub(crate) fn sort(edges: u64, weighted: bool) -> u64 {
    edges * if weighted { 32 } else { 16 }
}

/// Bytes of `bins` bins of a worker whose edges stay in memory, of which the last pages are half
/// empty, and few have as many as that where there are few edges.
pub(crate) fn bins(bins: u64, edges: u64) -> u64 {
    bins * BIN_BYTES + (bins * BIN_PAGE_BYTES as u64).min(edges * 64)
}
