//! Bytes that columns take beside their values, for plans.
//!
//! Nothing here depends on another file of the room, so that a plan can be made of it.

use crate::kernels::update_chunk::{HEADER_BYTES, SECTION};

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
/// Bytes that tell where a chunk of updates lies.
pub(crate) const CHUNK_ENTRY_BYTES: u64 = 48;
