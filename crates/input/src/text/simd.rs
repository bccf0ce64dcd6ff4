//! The kernel for rows of two integers of one to eight digits, with AVX2 where the machine has it.
//!
//! A window of text is scanned once for the places of all bytes that are no digits. Rows are then
//! read from those places alone, with no branch that depends on the length of a number: the two
//! numbers of a row are moved to the upper ends of two 64-bit lanes, and three multiply-adds turn
//! both into integers at once. Scanning ahead keeps one row from waiting for the end of the other.
//!
//! Invariant: a row is taken only if its bytes are 1-8 digits, the separator, 1-8 digits, the line
//! end. The kernel ends at the first row that is not, and at the last few bytes of the text, where
//! it could read beyond them.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "vector loads from text whose bounds are checked once a window")
)]

use welter_model::edges::Pair;

/// Text scanned in one step.
const CHUNK_BYTES: usize = 64;
/// Steps in the largest window.
const CHUNKS_MAX: usize = 64;
/// Bytes behind a window that loads may touch.
const SLACK_BYTES: usize = 16;
/// Places written at once, whether there are so many or not.
const STEP: usize = 12;

/// Workspace: places of the bytes of a window that are no digits.
pub(super) struct Positions(Vec<u32>);

impl Default for Positions {
    fn default() -> Self {
        Self(vec![0; CHUNK_BYTES * CHUNKS_MAX + CHUNK_BYTES + STEP])
    }
}

/// What ends the numbers of a row.
#[derive(Clone, Copy)]
pub(super) struct Line {
    /// After the first number.
    pub(super) separator: u8,
    /// Whether `\r\n` rather than `\n` comes after the second.
    pub(super) crlf: bool,
}

/// Reads rows from `at` on, the beginning of a line; returns the beginning of the first that was not
/// read. `max` becomes the largest id.
#[cfg(target_arch = "x86_64")]
pub(super) fn run(
    line: Line,
    bytes: &[u8],
    at: usize,
    positions: &mut Positions,
    pairs: &mut Vec<Pair>,
    max: &mut u32,
) -> usize {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return at;
    }
    // SAFETY: the machine has AVX2, as was just asked.
    unsafe {
        if line.crlf {
            avx2::run::<true>(line.separator, bytes, at, &mut positions.0, pairs, max)
        } else {
            avx2::run::<false>(line.separator, bytes, at, &mut positions.0, pairs, max)
        }
    }
}

/// Reads nothing: this machine has no such kernel, and the scalar path reads the rows.
#[cfg(not(target_arch = "x86_64"))]
pub(super) fn run(
    _line: Line,
    _bytes: &[u8],
    at: usize,
    _positions: &mut Positions,
    _pairs: &mut Vec<Pair>,
    _max: &mut u32,
) -> usize {
    at
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, _mm_cvtsi32_si128, _mm_cvtsi128_si32, _mm_extract_epi32, _mm_madd_epi16,
        _mm_maddubs_epi16, _mm_max_epu32, _mm_packus_epi32, _mm_set_epi64x, _mm_set1_epi8,
        _mm_set1_epi16, _mm_set1_epi32, _mm_storel_epi64, _mm_subs_epu8, _mm256_cmpeq_epi8,
        _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8,
        _mm256_sub_epi8,
    };

    use super::{CHUNK_BYTES, CHUNKS_MAX, Pair, SLACK_BYTES, STEP};

    #[target_feature(enable = "avx2,bmi1,popcnt")]
    pub(super) fn run<const CRLF: bool>(
        separator: u8,
        bytes: &[u8],
        mut at: usize,
        positions: &mut [u32],
        pairs: &mut Vec<Pair>,
        max: &mut u32,
    ) -> usize {
        let stride = if CRLF { 3 } else { 2 };
        let mut largest = _mm_cvtsi32_si128(max.cast_signed());
        let mut window = 1;
        loop {
            let readable = (bytes.len() - at).saturating_sub(SLACK_BYTES) / CHUNK_BYTES;
            let chunks = readable.min(window);
            let text = &bytes[at..];
            let count = scan(text, chunks, positions);
            let lines = count / stride;
            if lines == 0 {
                break;
            }
            pairs.reserve(lines);
            let ends = &positions[..lines * stride];
            let (read, next, seen) = convert::<CRLF>(separator, text, ends, pairs, largest);
            largest = seen;
            at += next;
            if read < lines {
                break;
            }
            window = (2 * window).min(CHUNKS_MAX);
        }
        // The unused upper lanes only ever saw what the lower ones did.
        *max = (_mm_cvtsi128_si32(largest).cast_unsigned())
            .max(_mm_extract_epi32::<1>(largest).cast_unsigned());
        at
    }

    /// Writes the places of all bytes of `chunks` chunks that are no digits, and returns their number.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn scan(text: &[u8], chunks: usize, positions: &mut [u32]) -> usize {
        assert!(text.len() >= chunks * CHUNK_BYTES);
        assert!(positions.len() >= chunks * CHUNK_BYTES + CHUNK_BYTES + STEP);
        let mut count = 0;
        for chunk in 0..chunks {
            let base = chunk * CHUNK_BYTES;
            // SAFETY: `base + 64 <= text.len()` by the first assertion.
            let mut others = unsafe { !digit_mask(text.as_ptr().add(base)) };
            let found = others.count_ones() as usize;
            let mut done = 0;
            loop {
                // SAFETY: `count + done < chunk * 64 + 64` (a byte has one place at most), so the
                // `STEP` writes end within `positions` by the second assertion.
                let out = unsafe { positions.as_mut_ptr().add(count + done) };
                for step in 0..STEP {
                    // SAFETY: as above; the last of `STEP` writes is in bounds.
                    unsafe { *out.add(step) = base as u32 + others.trailing_zeros() };
                    others &= others.wrapping_sub(1);
                }
                done += STEP;
                if done >= found {
                    break;
                }
            }
            count += found;
        }
        count
    }

    /// One bit for each of 64 bytes: whether it is a digit.
    ///
    /// # Safety
    /// `text` is readable for 64 bytes.
    #[target_feature(enable = "avx2")]
    #[inline]
    unsafe fn digit_mask(text: *const u8) -> u64 {
        let zero = _mm256_set1_epi8(b'0'.cast_signed());
        let nine = _mm256_set1_epi8(9);
        let half = |offset: usize| {
            // SAFETY: 32 bytes from `offset` 0 or 32 are readable, as the caller states.
            let bytes = unsafe { _mm256_loadu_si256(text.add(offset).cast()) };
            let values = _mm256_sub_epi8(bytes, zero);
            let digits = _mm256_cmpeq_epi8(_mm256_min_epu8(values, nine), values);
            u64::from(_mm256_movemask_epi8(digits).cast_unsigned())
        };
        half(0) | half(32) << 32
    }

    /// Reads the rows whose fields end at `ends`: two places a row, three with CRLF. Returns how many
    /// it read, where the next begins, and the largest ids.
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    #[inline]
    fn convert<const CRLF: bool>(
        separator: u8,
        text: &[u8],
        ends: &[u32],
        pairs: &mut Vec<Pair>,
        mut largest: __m128i,
    ) -> (usize, usize, __m128i) {
        let stride = if CRLF { 3 } else { 2 };
        let lines = ends.len() / stride;
        let last = ends[lines * stride - 1] as usize;
        assert!(last + super::SLACK_BYTES <= text.len() && pairs.capacity() - pairs.len() >= lines);
        let out = pairs.spare_capacity_mut().as_mut_ptr();
        let mut start = 0;
        let mut read = 0;
        for row in ends.chunks_exact(stride) {
            let (middle, end) = (row[0] as usize, row[1] as usize);
            let first = middle - start;
            let second = end - middle - 1;
            // Lengths 1 to 8, so that `length - 1` fits three bits.
            let lengths = first.wrapping_sub(1) | second.wrapping_sub(1);
            // SAFETY: places ascend, so `middle` and `end` are at most `last`, a place in `text`.
            let (after_first, after_second) =
                unsafe { (*text.get_unchecked(middle), *text.get_unchecked(end)) };
            let ended = if CRLF {
                let newline = row[2] as usize;
                // SAFETY: as above.
                let byte = unsafe { *text.get_unchecked(newline) };
                after_second == b'\r' && byte == b'\n' && newline == end + 1
            } else {
                after_second == b'\n'
            };
            if lengths > 7 || after_first != separator || !ended {
                break;
            }
            // SAFETY: `start` and `middle + 1` are at most `last`, behind which 16 bytes follow.
            let (source, target) = unsafe {
                let base = text.as_ptr();
                (
                    base.add(start).cast::<u64>().read_unaligned(),
                    base.add(middle + 1).cast::<u64>().read_unaligned(),
                )
            };
            let pair = two_numbers(source << (64 - 8 * first), target << (64 - 8 * second));
            largest = _mm_max_epu32(largest, pair);
            // SAFETY: room for `lines` pairs was asserted, and `read < lines`.
            unsafe { _mm_storel_epi64(out.add(read).cast(), pair) };
            read += 1;
            start = row[stride - 1] as usize + 1;
        }
        // SAFETY: `read` pairs were written behind the old length.
        unsafe { pairs.set_len(pairs.len() + read) };
        (read, start, largest)
    }

    /// The values of two numbers of up to eight digits, in the lower two 32-bit lanes. The digits of
    /// each end at its highest byte; bytes before them are zero.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn two_numbers(source: u64, target: u64) -> __m128i {
        let text = _mm_set_epi64x(target.cast_signed(), source.cast_signed());
        // Saturation keeps the zero bytes zero.
        let digits = _mm_subs_epu8(text, _mm_set1_epi8(b'0'.cast_signed()));
        let tens = _mm_maddubs_epi16(digits, _mm_set1_epi16(0x010a));
        let hundreds = _mm_madd_epi16(tens, _mm_set1_epi32(0x0001_0064));
        let packed = _mm_packus_epi32(hundreds, hundreds);
        _mm_madd_epi16(packed, _mm_set1_epi32(0x0001_2710))
    }
}
