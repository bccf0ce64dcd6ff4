//! One edge, as a pair of slots.

/// Source and destination slot of one edge, in the compact format (fewer than 2^32 slots).
pub type Pair = [u32; 2];
