//! Places in tiles at which the edges of each granule of sources begin, as plain data.

use crate::machine::arena::Buffer;

/// First edge of each granule, and the number of edges, of every tile in the order of stripes,
/// chunks and tiles.
#[derive(Debug)]
pub(crate) struct SourceIndex {
    pub(super) places: Buffer<u16>,
    /// First tile of each stripe, and one past the last tile.
    pub(super) stripes: Vec<usize>,
}
