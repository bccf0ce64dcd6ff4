//! The layout of edges in chunks: widths of stripes and blocks, and how keys are encoded.
//!
//! It is decided once, when edges are sorted, and from then on a fact of the chunks: whatever runs
//! on a graph later reads it there, and no plan can change it.

use welter_store::frame::Compression;
use welter_store::header::{Encoding, KEY_BITS};

/// Bytes of the largest signal of which a window has as many as a key can name.
const SIGNAL_PADDED: u64 = 8;

/// Layout of edges in chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeLayout {
    /// Log2 of the largest width of a stripe; keys keep this number of bits for the destination.
    pub stripe_bits: u32,
    /// Log2 of the largest width of a block of sources.
    pub block_bits: u32,
    /// Encoding of the keys.
    pub encoding: Encoding,
    /// Compression of chunks while they are on storage; in memory there is none.
    pub compression: Compression,
    /// Size at which a chunk is closed, bytes.
    pub chunk_bytes: usize,
    /// Whether tiles with few edges continue into the next blocks of sources, as they do where no
    /// program looks for those of few sources, and in kept graphs.
    pub wide_tiles: bool,
}

impl EdgeLayout {
    /// Sources that a key can name.
    pub(crate) fn key_sources(&self) -> u64 {
        1 << (KEY_BITS - self.stripe_bits)
    }

    /// Signals that a window has beyond the sources whose tiles begin in it: as many as a key can
    /// name, so that no key leads outside. Where that would take much, because stripes are narrow
    /// and signals large, and tiles are of one block, those of a block do, and keys are looked at.
    pub(crate) fn window_margin(&self, signal_bytes: u64) -> u64 {
        let few = !self.wide_tiles && signal_bytes > SIGNAL_PADDED;
        if few { 1 << self.block_bits } else { self.key_sources() }
    }
}
