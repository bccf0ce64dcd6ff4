//! Three bytes a key, and once for many keys the byte above them.
//!
//! Keys of a tile are in the order of their sources, so their highest byte seldom changes. A tile
//! begins with the number of *runs* of keys that have the same one; then comes each run, its
//! highest byte and its number of keys less one in two bytes (longer runs are cut); then the low
//! three bytes of every key. Any key is found without those before it, unlike in
//! [`vbyte`](super::vbyte), and none needs the order of destinations to be written.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::simd;

/// Bits of a key that are written for each.
pub const LOW_BITS: u32 = 24;
/// Bytes of the low bits of a key, and of a run.
pub const BYTES: usize = 3;
/// Bytes of the number of runs.
pub const HEAD_BYTES: usize = 4;
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
    /// Runs that have not begun.
    runs: &'a [u8],
    /// Low bytes of keys that are still to come.
    data: &'a [u8],
    /// Keys that are still to come, and those of the open run.
    left: usize,
    run: usize,
    /// Highest byte of the open run, in its place.
    high: u32,
    level: Level,
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys, the tile of which is at the front of `bytes`.
    pub(super) fn new(bytes: &'a [u8], count: usize, level: Level) -> Self {
        let (runs, rest) = match bytes.split_first_chunk::<HEAD_BYTES>() {
            Some((head, rest)) => (u32::from_le_bytes(*head) as usize, rest),
            None => (0, &[][..]),
        };
        let (runs, data) = rest.split_at(runs.saturating_mul(BYTES).min(rest.len()));
        Self { runs, data, left: count, run: 0, high: 0, level }
    }

    /// Leaves out some keys, and says how many.
    pub(super) fn skip(&mut self, keys: usize) -> usize {
        let keys = keys.min(self.left);
        let mut before = keys;
        while before > 0 {
            let part = self.open().min(before);
            self.run -= part;
            before -= part;
        }
        self.data = self.data.get(BYTES * keys..).unwrap_or_default();
        self.left -= keys;
        keys
    }

    /// Keys of the open run, or of the next one where that has ended. Those behind the last run, of
    /// which there are none in a tile that was not damaged, have a highest byte of zero.
    #[inline(always)]
    fn open(&mut self) -> usize {
        if self.run == 0 {
            (self.high, self.run) = (0, usize::MAX);
            if let Some(([high, low, more], rest)) = self.runs.split_first_chunk::<BYTES>() {
                self.high = u32::from(*high) << LOW_BITS;
                self.run = usize::from(u16::from_le_bytes([*low, *more])) + 1;
                self.runs = rest;
            }
        }
        self.run
    }

    /// Fills the front of `out` and says how many there were.
    #[inline]
    pub(super) fn fill(&mut self, out: &mut [u32]) -> usize {
        let count = self.left.min(out.len());
        let out = &mut out[..count];
        match self.level {
            Level::Scalar => self.fill_by(out, |_, _, _, _| 0),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => simd::fill_short_avx2(self, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => simd::fill_short_avx512(self, out),
            #[cfg(not(target_arch = "x86_64"))]
            _ => self.fill_by(out, |_, _, _, _| 0),
        }
        self.left -= count;
        count
    }

    /// Fills all of `out`, whose keys are there. `spread` writes some of the first keys of a run,
    /// given the low bytes from the first one on, the byte above, room for more keys than the run
    /// has, and how many it has, and says how many it wrote; the room behind the run is its own.
    #[inline(always)]
    pub(super) fn fill_by(
        &mut self,
        mut out: &mut [u32],
        spread: impl Fn(&[u8], u32, &mut [u32], usize) -> usize,
    ) {
        while !out.is_empty() {
            let run = self.open().min(out.len());
            let done = spread(self.data, self.high, out, run);
            for (place, out) in out.iter_mut().enumerate().take(run).skip(done) {
                *out = self.high | low(self.data, place);
            }
            self.data = self.data.get(BYTES * run..).unwrap_or_default();
            self.run -= run;
            out = &mut out[run..];
        }
    }
}

/// The low bytes of a key; those that are missing are zero.
fn low(data: &[u8], place: usize) -> u32 {
    let byte = |at: usize| data.get(BYTES * place + at).copied().unwrap_or(0);
    u32::from_le_bytes([byte(0), byte(1), byte(2), 0])
}
