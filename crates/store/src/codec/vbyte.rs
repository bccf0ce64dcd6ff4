//! Stream-vbyte on the differences of ascending keys.
//!
//! Keys `k_0 <= k_1 <= ...` become `k_0, k_1 - k_0, ...`, each in 1 to 4 bytes. Two bits a value
//! say how many; they come first, four values to a byte, then the data bytes. (D. Lemire, N. Kurz,
//! C. Rupp, "Stream `VByte`: faster byte-oriented integer compression", IPL 130, 2018.)
//!
//! AVX-512 VBMI2 decodes 16 values a step, AVX2 and the portable loop 4 and 1.

use super::SimdLevel;
#[cfg(target_arch = "x86_64")]
use super::simd;

/// Appends ascending `keys` to `bytes`.
pub(super) fn encode(keys: &[u32], bytes: &mut Vec<u8>) {
    let controls = keys.len().div_ceil(4);
    let start = bytes.len();
    // At most 4 data bytes a key; cut back to what was used.
    bytes.resize(start + controls + 4 * keys.len(), 0);
    let (control, data) = bytes[start..].split_at_mut(controls);
    let mut used = 0;
    let mut last = 0;
    for (index, &key) in keys.iter().enumerate() {
        let delta = key.wrapping_sub(last);
        last = key;
        let length = (4 - (delta | 1).leading_zeros() / 8) as usize;
        control[index / 4] |= ((length - 1) as u8) << (2 * (index % 4));
        data[used..used + 4].copy_from_slice(&delta.to_le_bytes());
        used += length;
    }
    bytes.truncate(start + controls + used);
}

/// Decodes one tile, a buffer at a time.
#[derive(Debug)]
pub struct Decoder<'a> {
    control: &'a [u8],
    data: &'a [u8],
    /// Values that are still to come.
    left: usize,
    last: u32,
    level: SimdLevel,
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys, whose control bytes are the first of `bytes`.
    pub(super) fn new(bytes: &'a [u8], count: usize, level: SimdLevel) -> Self {
        let (control, data) = bytes.split_at(count.div_ceil(4).min(bytes.len()));
        Self { control, data, left: count, last: 0, level }
    }

    /// Fills the front of `out`, a multiple of 16 keys long, and says how many there were.
    #[inline]
    pub(super) fn fill(&mut self, out: &mut [u32]) -> usize {
        let count = self.left.min(out.len());
        let out = &mut out[..count];
        let done = match self.level {
            SimdLevel::Scalar => (0, 0),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx2 => simd::fill_avx2(self.control, self.data, &mut self.last, out),
            #[cfg(target_arch = "x86_64")]
            SimdLevel::Avx512 => simd::fill_avx512(self.control, self.data, &mut self.last, out),
            #[cfg(not(target_arch = "x86_64"))]
            _ => (0, 0),
        };
        let (values, used) = done;
        self.control = &self.control[values / 4..];
        self.data = &self.data[used..];
        let rest = &mut out[values..];
        let used = plain(self.control, self.data, &mut self.last, rest);
        self.control = &self.control[rest.len().div_ceil(4).min(self.control.len())..];
        self.data = &self.data[used..];
        self.left -= count;
        count
    }
}

/// The portable decoder, and the tail of the others: fills `out` and returns the number of data
/// bytes used. What is missing reads as zero.
fn plain(control: &[u8], data: &[u8], last: &mut u32, out: &mut [u32]) -> usize {
    let mut used = 0;
    for (index, out) in out.iter_mut().enumerate() {
        let control = control.get(index / 4).copied().unwrap_or(0);
        let length = usize::from(control >> (2 * (index % 4)) & 3) + 1;
        let mut delta = [0; 4];
        if let Some(bytes) = data.get(used..used + length) {
            delta[..length].copy_from_slice(bytes);
        }
        used = data.len().min(used + length);
        *last = last.wrapping_add(u32::from_le_bytes(delta));
        *out = *last;
    }
    used
}
