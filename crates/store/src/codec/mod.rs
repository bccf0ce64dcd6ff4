//! Codecs, by which the keys of a tile become bytes and keys again.
//!
//! Packed keys are read as they lie. [`vbyte`] stores the differences of ascending keys in one to
//! four bytes each, [`short`] three bytes of each key, and once for many keys what is above them,
//! [`pairs`] their two halves apart.
//!
//! Decoding is dispatched at run time. All decoders read any bytes without fault: what a hostile
//! tile decodes to is nonsense, the same at every level, and never memory.

mod level;
pub mod pairs;
mod runs;
pub mod short;
#[cfg(target_arch = "x86_64")]
mod simd;
pub mod vbyte;

use bytemuck::cast_slice;

pub use level::SimdLevel;

use crate::encoding::Encoding;

/// Bytes that a decoder may read past the last data byte.
pub const OVERREAD: usize = 64;

/// Appends the keys of a tile to `bytes`. They ascend, those of one source in any order where
/// [`Encoding::needs_targets_sorted`] allows that; their low `target_bits` are the destination's.
pub fn encode(encoding: Encoding, target_bits: u32, keys: &[u32], bytes: &mut Vec<u8>) {
    match encoding {
        Encoding::Packed => bytes.extend_from_slice(cast_slice(keys)),
        Encoding::Compressed => vbyte::encode(keys, bytes),
        Encoding::Short => short::encode(keys, bytes),
        Encoding::Pairs => pairs::encode(keys, target_bits, bytes),
    }
}

/// Decodes one tile, a buffer at a time.
#[derive(Debug)]
pub enum Decoder<'a> {
    /// Keys lead to each other.
    Differences(vbyte::Decoder<'a>),
    /// Each key stands for itself.
    Short(short::Decoder<'a>),
    /// Each key has its halves apart.
    Pairs(pairs::Decoder<'a>),
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys, whose low `target_bits` are the destination's; none of packed
    /// ones. `bytes` begins with the tile and may continue after its last byte; where [`OVERREAD`]
    /// bytes follow, the fast loop runs to the end.
    pub fn new(
        encoding: Encoding,
        target_bits: u32,
        bytes: &'a [u8],
        count: usize,
        level: SimdLevel,
    ) -> Option<Self> {
        match encoding {
            Encoding::Packed => None,
            Encoding::Compressed => {
                Some(Self::Differences(vbyte::Decoder::new(bytes, count, level)))
            }
            Encoding::Short => Some(Self::Short(short::Decoder::new(bytes, count, level))),
            Encoding::Pairs => Some(Self::Pairs(pairs::Decoder::new(bytes, count, target_bits))),
        }
    }

    /// Leaves out up to `keys` keys before any was decoded, where they can be, and says how many.
    pub fn skip(&mut self, keys: usize) -> usize {
        match self {
            Self::Differences(_) => 0,
            Self::Short(decoder) => decoder.skip(keys),
            Self::Pairs(decoder) => decoder.skip(keys),
        }
    }

    /// Fills the front of `out` with the next keys and says how many: `out.len()`, rounded down to
    /// a multiple of 16, until the tile ends. Bytes that are missing read as zero.
    #[inline]
    pub fn fill(&mut self, out: &mut [u32]) -> usize {
        let room = out.len() / 16 * 16;
        match self {
            Self::Differences(decoder) => decoder.fill(&mut out[..room]),
            Self::Short(decoder) => decoder.fill(&mut out[..room]),
            Self::Pairs(decoder) => decoder.fill(&mut out[..room]),
        }
    }
}

#[cfg(test)]
mod tests;
