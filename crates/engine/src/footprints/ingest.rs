//! Bytes that an ingest takes.

use welter_store::io::{ALIGN, Requests};

use crate::footprints::edges::BIN_PAGE_BYTES;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;
use crate::machine::nontemporal::LINE_BYTES;
use crate::machine::storage::slabs_written;

/// Bytes of a worker's buffers that do not grow with the graph: building a chunk, decoding, cuts.
pub(crate) const WORKER_BYTES: u64 = 2 << 20;
/// Bytes of a bin: its line, counters, and the list of its pages.
pub(crate) const BIN_BYTES: u64 = 192;
/// Bytes of a bin that has a page in memory.
const OPEN_BIN_BYTES: u64 = BIN_BYTES + BIN_PAGE_BYTES as u64;

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

/// Bytes of `waiting` bytes of edges in bins that stay in memory, with what pages leave free.
pub(crate) fn in_pages(waiting: u64) -> u64 {
    waiting + waiting / 64
}

/// Bytes of `bins` bins of a worker, each of which has a page in memory until it is full.
pub(crate) fn open_bins(bins: u64) -> u64 {
    bins * OPEN_BIN_BYTES
}

/// Pages of bins with `waiting` bytes of edges, of which `open` bytes are of open bins.
pub(crate) fn pages(waiting: u64, open: u64) -> u64 {
    waiting / BIN_PAGE_BYTES as u64 + open / OPEN_BIN_BYTES
}

/// Bytes on storage of `waiting` bytes of edges in bins, where each of `workers` workers has `bins`
/// bins in `groups` groups: a slab ends where the next page does not fit, a bin has a line that is
/// not full, and a group a slab.
pub(crate) fn stored_bins(waiting: u64, workers: u64, bins: u64, groups: u64) -> u64 {
    waiting + waiting / 128 + workers * (bins * LINE_BYTES as u64 + groups * ALIGN as u64)
}

/// Bytes of the slabs of a worker that are filled from `groups` groups of bins.
pub(crate) fn group_slabs(groups: u64) -> u64 {
    groups * SLAB_BYTES as u64
}

/// Bytes of a worker's slabs of bins on their way to storage, and of those that come next.
pub(crate) fn bins_in_flight(requests: &Requests) -> u64 {
    (slabs_written(requests) as u64 + 2) * SLAB_BYTES as u64
}

/// Bytes of bins that `workers` workers have in memory while they sort groups of which all have
/// `waiting` bytes together, times the number of groups. Each worker is at a group, a part of every
/// worker's, and one is read ahead; where there are several workers, groups that two of them share
/// wait for the later one. A group may be a quarter fuller than others, else it is read in pieces.
pub(crate) fn read_back(waiting: u64, workers: u64) -> u64 {
    let at_a_time = if workers == 1 { 2 } else { 2 * workers + 1 };
    at_a_time * (waiting / 4 * 5)
}

/// Bytes of the slabs of these groups that are not full: a worker's part of a group ends in one.
pub(crate) fn group_ends(workers: u64) -> u64 {
    3 * workers * workers * SLAB_BYTES as u64
}
