//! Three bytes a key, and once for many keys the byte above them.
//!
//! Keys of a tile are in the order of their sources, so their highest byte seldom changes. A tile
//! begins with the number of *runs* of keys that have the same one; then comes each run, its
//! highest byte and its number of keys less one in two bytes (longer runs are cut); then the low
//! three bytes of every key. Any key is found without those before it, unlike in
//! [`vbyte`](super::vbyte), and none needs the order of destinations to be written.

use super::SimdLevel;
use super::runs::Runs;
#[cfg(target_arch = "x86_64")]
use super::simd;

pub use crate::encoding::{
    SHORT_BYTES as BYTES, SHORT_HEAD_BYTES as HEAD_BYTES, SHORT_LOW_BITS as LOW_BITS,
};

/// Keys of a run.
const RUN_MOST: usize = 1 << 16;

/// Appends `keys` to `bytes`.
pub(super) fn encode(keys: &[u32], bytes: &mut Vec<u8>) {
    let same = |one: &u32, next: &u32| one >> LOW_BITS == next >> LOW_BITS;
    let runs = || keys.chunk_by(same).flat_map(|run| run.chunks(RUN_MOST));
    bytes.extend((runs().count() as u32).to_le_bytes());
    for run in runs() {
        let [low, high, ..] = (run.len() - 1).to_le_bytes();
        bytes.extend([(run[0] >> LOW_BITS) as u8, low, high]);
    }
    let start = bytes.len();
    // Each is written with its highest byte, which the next one overwrites.
    bytes.resize(start + BYTES * keys.len() + 1, 0);
    for (place, key) in keys.iter().enumerate() {
        bytes[start + BYTES * place..][..4].copy_from_slice(&key.to_le_bytes());
    }
    bytes.pop();
}

/// Decodes one tile, a buffer at a time.
#[derive(Debug)]
pub struct Decoder<'a> {
    runs: Runs<'a>,
    level: SimdLevel,
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys, the tile of which is at the front of `bytes`.
    pub(super) fn new(bytes: &'a [u8], count: usize, level: SimdLevel) -> Self {
        Self { runs: Runs::new(bytes, count), level }
    }

    /// Leaves out some keys, and says how many.
    pub(super) fn skip(&mut self, keys: usize) -> usize {
        self.runs.skip(keys)
    }

    /// Fills the front of `out` and says how many there were.
    #[inline]
    pub(super) fn fill(&mut self, out: &mut [u32]) -> usize {
        let out = self.runs.front(out);
        match self.level {
            SimdLevel::Scalar => self.runs.fill_by(out, |_, _, _, _| 0),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => simd::fill_short_avx2(&mut self.runs, out),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => simd::fill_short_avx512(&mut self.runs, out),
            #[cfg(not(target_arch = "x86_64"))]
            _ => self.runs.fill_by(out, |_, _, _, _| 0),
        }
        out.len()
    }
}
