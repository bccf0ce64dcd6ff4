//! Bytes that schedules take beside columns and edges, for plans.
//!
//! Nothing here depends on another file of the room, so that a plan can be made of it.

use crate::machine::arena::SLAB_BYTES;
use crate::machine::storage::DEPTH;

/// Iterations look vertices up by rows when these have fewer than one in so many of all edges.
pub(crate) const PUSH_BELOW: u64 = 16;
/// Updates that wait in boxes at a time, about: 8 MiB of them.
pub(crate) const PUSH_WAITING: usize = 1 << 20;
/// Bytes of a worker's buffers while edges are contracted: slabs that are filled or being written,
/// the edges of a chunk, and the least that a table takes.
pub(crate) const CONTRACT_BYTES: u64 = ((DEPTH + 2) * SLAB_BYTES + (3 << 20)) as u64;
/// Bytes of a worker's buffers while edges that are left are written anew: slabs that are filled or
/// being written, a chunk, and edges.
pub(crate) const LEFT_BYTES: u64 = ((DEPTH + 2) * SLAB_BYTES + (1 << 20)) as u64;
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
/// Bytes of what one rank or vertex was told in all.
pub(crate) const TOLD_BYTES: u64 = 8;
