//! Stream-vbyte on the differences of ascending keys.
//!
//! Keys `k_0 <= k_1 <= ...` become `k_0, k_1 - k_0, ...`, each in 1 to 4 bytes. Two bits a value
//! say how many; they come first, four values to a byte, then the data bytes. (D. Lemire, N. Kurz,
//! C. Rupp, "Stream `VByte`: faster byte-oriented integer compression", IPL 130, 2018.)
//!
//! Decoding is dispatched at run time: AVX-512 VBMI2 (16 values a step), AVX2 (4 a step), scalar.
//! All read any bytes without fault: what a hostile tile decodes to is nonsense, never memory.

mod scalar;
#[cfg(target_arch = "x86_64")]
mod simd;

/// Bytes that a decoder may read past the last data byte.
pub const OVERREAD: usize = 64;

/// Which decoder runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Portable.
    Scalar,
    /// AVX2.
    Avx2,
    /// AVX-512 with VBMI2.
    Avx512,
}

impl Level {
    /// The best that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if simd::avx512_detected() {
                return Self::Avx512;
            }
            if simd::avx2_detected() {
                return Self::Avx2;
            }
        }
        Self::Scalar
    }

    /// All that this processor has, for tests and benchmarks.
    pub fn available() -> Vec<Self> {
        let best = Self::detect();
        [Self::Scalar, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|level| *level as u8 <= best as u8)
            .collect()
    }
}

/// Appends ascending `keys` to `bytes`.
pub fn encode(keys: &[u32], bytes: &mut Vec<u8>) {
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
    level: Level,
}

impl<'a> Decoder<'a> {
    /// A decoder of `count` keys. `bytes` begins with the tile's control bytes and may go on after
    /// its last data byte; where [`OVERREAD`] bytes follow, the fast loop runs to the end.
    pub fn new(bytes: &'a [u8], count: usize, level: Level) -> Self {
        let (control, data) = bytes.split_at(count.div_ceil(4).min(bytes.len()));
        Self { control, data, left: count, last: 0, level }
    }

    /// Fills the front of `out` with the next keys and says how many: `out.len()`, rounded down to
    /// a multiple of 16, until the tile ends. Bytes that are missing read as zero.
    #[inline]
    pub fn fill(&mut self, out: &mut [u32]) -> usize {
        let count = self.left.min(out.len() / 16 * 16);
        let out = &mut out[..count];
        let done = match self.level {
            Level::Scalar => (0, 0),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => simd::fill_avx2(self.control, self.data, &mut self.last, out),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => simd::fill_avx512(self.control, self.data, &mut self.last, out),
            #[cfg(not(target_arch = "x86_64"))]
            _ => (0, 0),
        };
        let (values, used) = done;
        self.control = &self.control[values / 4..];
        self.data = &self.data[used..];
        let rest = &mut out[values..];
        let used = scalar::fill(self.control, self.data, &mut self.last, rest);
        self.control = &self.control[rest.len().div_ceil(4).min(self.control.len())..];
        self.data = &self.data[used..];
        self.left -= count;
        count
    }
}

#[cfg(test)]
mod tests;
