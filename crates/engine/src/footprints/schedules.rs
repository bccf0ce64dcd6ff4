//! Bytes that schedules take beside columns and edges.

use welter_store::io::Requests;

use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::{slabs_read, slabs_written};

/// Bytes of every edge in rows, where each slot has one, and of what workers make them with.
pub(crate) fn rows(slots: u64, edges: u64, weighted: bool) -> u64 {
    edges * if weighted { 12 } else { 4 } + (slots + 1) * 4
}

/// Bytes of a worker's cursors into rows.
pub(crate) fn cursors(slots: u64) -> u64 {
    slots * 4
}

/// Bytes of the updates and vertices that wait while they are pushed along `edges` edges.
pub(crate) fn pushed(edges: u64) -> u64 {
    edges.min(PUSH_WAITING as u64) * 32 + edges / PUSH_BELOW * 8
}

/// Bytes of lists of vertices of group programs: who receives something new, or who is left and who
/// leaves.
pub(crate) fn lists(slots: u64) -> u64 {
    8 * slots
}

/// Bytes of the masks of active granules, two of eight bytes for a block of 2^`block_bits` slots.
pub(crate) fn masks(vertices: u64, block_bits: u32) -> u64 {
    (vertices >> block_bits) * 16
}

/// Bytes of the groups of a worker, of `updates` updates of `width` bytes for a stripe of
/// 2^`stripe_bits` vertices.
pub(crate) fn groups(updates: u64, width: u64, stripe_bits: u32) -> u64 {
    updates * width + (4 << stripe_bits)
}

/// Bytes of a worker's marks of a row, in a program over triangles: two bits for each vertex and a
/// number for 64 of them, and what is counted of those near which the row has entries. It has no
/// more than the square root of the arcs.
pub(crate) fn marks(vertices: u64, edges: u64) -> u64 {
    let words = vertices.div_ceil(64);
    let places = words.min(edges.isqrt() + 1);
    words * 20 + places.next_power_of_two() * 256 + MARKS_BYTES
}

/// Bytes of a worker's marks that are as many for any graph, and of a row of its own.
const MARKS_BYTES: u64 = 1 << 20;

/// Bytes of a part of `width` vertices that is relaxed, with `words` of adjacency and values of
/// `value` bytes.
pub(crate) fn part(words: u64, width: u64, value: u64) -> u64 {
    4 * words + width * (value + LISTED_BYTES)
}

/// Words of four bytes that the rows of `vertices` vertices with `edges` edges take, of a part that
/// is relaxed.
pub(crate) fn adjacency_words(vertices: u64, edges: u64, weighted: bool) -> u64 {
    vertices + 1 + edges * edge_words(weighted)
}

/// Words of an edge in these rows: its target, and its weight where there are weights.
#[inline]
pub(crate) fn edge_words(weighted: bool) -> u64 {
    if weighted { 3 } else { 1 }
}

/// Bytes of a vertex of a stripe in the two lists of those whose edges are to be relaxed.
pub(crate) const LISTED_BYTES: u64 = 8;

/// Iterations look vertices up by rows when these have fewer than one in `PUSH_BELOW` of all edges.
pub(crate) const PUSH_BELOW: u64 = 16;
/// Updates that wait in buckets at a time, about: 8 MiB of them.
pub(crate) const PUSH_WAITING: usize = 1 << 20;
/// Bytes of a worker's buffers while edges are contracted: slabs that are filled or being written,
/// the edges of a chunk, and the least that a table takes.
pub(crate) fn contract(requests: &Requests) -> u64 {
    ((slabs(requests) + 2) * SLAB_BYTES + (3 << 20)) as u64
}

/// Bytes of a worker's buffers while edges that are left are written anew: slabs that are filled or
/// being written, a chunk, and edges.
pub(crate) fn left(requests: &Requests) -> u64 {
    ((slabs(requests) + 2) * SLAB_BYTES + (1 << 20)) as u64
}

/// Slabs that a worker reads or writes at a time, whichever are more.
fn slabs(requests: &Requests) -> usize {
    slabs_read(requests).max(slabs_written(requests))
}

/// Bytes that an edge takes while all that are left are handed over: its ends in lists that grow
/// and are joined, and what a program makes of them.
pub(crate) const REST_BYTES: u64 = 64;
/// Words of a row that travels before its entries: its rank, what was counted of that on the way,
/// and how many entries there are.
pub(crate) const ROW_HEAD: usize = 3;
/// Bytes of memory that a rank takes beside the entries of its row: where that lies, where its next
/// entry goes, what is counted of it, and the row's length.
pub(crate) const RANK_BYTES: u64 = 16;
/// Bytes of an entry of a row.
pub(crate) const ENTRY_BYTES: u64 = 4;
/// Boxes of counts that may wait for a bin whatever its width.
pub(crate) const SLACK: u64 = 2;
/// Bytes of the count that one rank or vertex receives in all.
pub(crate) const TOLD_BYTES: u64 = 8;
