//! Eight bytes a key: its source and its destination apart, as raw edge lists have them.
//!
//! Both are relative, to the tile and to the stripe. This is the layout of X-Stream, to compare
//! with: it says nothing that packed keys do not, in twice the bytes.

use crate::encoding::PAIR_BYTES as BYTES;

/// Appends `keys` to `bytes`, whose low `target_bits` are the destination's.
pub(super) fn encode(keys: &[u32], target_bits: u32, bytes: &mut Vec<u8>) {
    bytes.reserve(BYTES * keys.len());
    for key in keys {
        bytes.extend((key >> target_bits).to_le_bytes());
        bytes.extend((key & mask(target_bits)).to_le_bytes());
    }
}

fn mask(target_bits: u32) -> u32 {
    (1 << target_bits) - 1
}

/// Decodes one tile, a buffer at a time.
#[derive(Debug)]
pub struct Decoder<'a> {
    data: &'a [u8],
    /// Keys that are still to come.
    left: usize,
    target_bits: u32,
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys, the tile of which is at the front of `bytes`.
    pub(super) fn new(bytes: &'a [u8], count: usize, target_bits: u32) -> Self {
        Self { data: bytes, left: count, target_bits }
    }

    /// Leaves out some keys, and says how many.
    pub(super) fn skip(&mut self, keys: usize) -> usize {
        let keys = keys.min(self.left);
        self.data = self.data.get(BYTES * keys..).unwrap_or_default();
        self.left -= keys;
        keys
    }

    /// Fills the front of `out` and says how many there were.
    #[inline]
    pub(super) fn fill(&mut self, out: &mut [u32]) -> usize {
        let count = self.left.min(out.len());
        let (pairs, _) = self.data.as_chunks::<BYTES>();
        let whole = pairs.len().min(count);
        let mask = mask(self.target_bits);
        for (key, pair) in out.iter_mut().zip(&pairs[..whole]) {
            let pair = u64::from_le_bytes(*pair);
            *key = (pair as u32) << self.target_bits | ((pair >> 32) as u32 & mask);
        }
        out[whole..count].fill(0);
        self.skip(count)
    }
}
