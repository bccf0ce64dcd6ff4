//! The two passes of the kernel in x86-64 vector instructions.
//!
//! Invariant: places ascend, each is below the end of its chunk, and a place stands for the end of
//! a number; the second pass relies on the first for that, and on nothing about the text. Tested by
//! `marks_are_all_separators_and_line_ends`.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_loadl_epi64, _mm_set_epi64x,
    _mm_unpacklo_epi64, _mm256_cmpeq_epi8, _mm256_cmpeq_epi32, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_max_epu32, _mm256_min_epu8,
    _mm256_movemask_epi8, _mm256_packus_epi32, _mm256_set_m128i, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_slli_epi64, _mm256_sllv_epi64, _mm256_storeu_si256, _mm256_sub_epi8, _mm256_sub_epi32,
    _mm256_sub_epi64, _mm256_subs_epu8, _mm256_unpackhi_epi32, _mm256_unpacklo_epi32,
    _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpeq_epi8_mask, _mm512_cmple_epu8_mask,
    _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
    _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_storeu_si512,
    _mm512_sub_epi8,
};

use welter_model::edges::Pair;

use super::steps::{CHUNK_BYTES, ROWS, SLACK_BYTES, Seek};

/// First pass: writes the places that a [`Seek`] asks for in `chunks` chunks of text and returns
/// how many there are; of pairs, up to the first chunk in which something else than plain rows
/// stands, or a number with a zero in front.
pub(super) type Scan = unsafe fn(u8, &[u8], usize, &mut [u32]) -> usize;

/// The first passes that this machine can run, the best one first.
pub(super) fn scanners(seek: Seek) -> &'static [Scan] {
    if !is_x86_feature_detected!("avx2")
        || !is_x86_feature_detected!("pclmulqdq")
        || !is_x86_feature_detected!("bmi1")
        || !is_x86_feature_detected!("popcnt")
    {
        return &[];
    }
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi2");
    let all: &[Scan; 2] = match seek {
        Seek::Pairs => &[scan_avx512::<PAIRS>, scan_avx2::<PAIRS>],
        Seek::PairsCrlf => &[scan_avx512::<PAIRS_CRLF>, scan_avx2::<PAIRS_CRLF>],
        Seek::Marks => &[scan_avx512::<MARKS>, scan_avx2::<MARKS>],
    };
    if wide { all } else { &all[1..] }
}

/// [`Seek`] as a constant that code is compiled for.
const PAIRS: u8 = Seek::Pairs as u8;
const PAIRS_CRLF: u8 = Seek::PairsCrlf as u8;
const MARKS: u8 = Seek::Marks as u8;

/// One bit a byte of a chunk.
struct Masks {
    digit: u64,
    /// `0`; looked at where numbers are.
    zero: u64,
    separator: u64,
    newline: u64,
    /// `\r`; looked at with CRLF only.
    carriage: u64,
}

/// State that is carried from chunk to chunk.
#[derive(Default)]
struct Turns {
    /// All ones if a line end comes next, zero if a separator does.
    line_end_next: u64,
    /// 1 if the last byte was a `\r`.
    carriage_before: u64,
    /// 1 if a number continues from the last byte.
    inside_before: u64,
    /// 1 if the last byte was a zero that begins a number.
    zero_before: u64,
}

impl Turns {
    /// The ends of numbers in a chunk, if it holds nothing but plain rows; or all marks.
    #[target_feature(enable = "pclmulqdq,popcnt")]
    #[inline]
    fn ends<const SEEK: u8>(&mut self, masks: &Masks) -> Option<u64> {
        let Masks { digit, zero, separator, newline, carriage } = *masks;
        if SEEK == MARKS {
            return Some(separator | newline);
        }
        let crlf = SEEK == PAIRS_CRLF;
        let end = if crlf { carriage } else { newline };
        let ends = separator | end;
        let mut plain = if crlf {
            let after = carriage << 1 | self.carriage_before;
            self.carriage_before = carriage >> 63;
            newline == after && ends | newline == !digit
        } else {
            ends == !digit
        };
        // Bit i of the parity says whether an odd number of ends stand at or before byte i: the
        // first, third ... must be separators, or line ends if the chunk before ended inside a row.
        plain &= separator == ends & (parity(ends) ^ self.line_end_next);
        // A zero in front of other digits is left to others: such an id may be a name.
        let first = zero & !(digit << 1 | self.inside_before);
        plain &= (first << 1 | self.zero_before) & digit == 0;
        (self.inside_before, self.zero_before) = (digit >> 63, first >> 63);
        if ends.count_ones() % 2 == 1 {
            self.line_end_next = !self.line_end_next;
        }
        plain.then_some(ends)
    }
}

/// Bit i is the exclusive or of bits 0 to i.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn parity(bits: u64) -> u64 {
    let product =
        _mm_clmulepi64_si128::<0>(_mm_set_epi64x(0, bits.cast_signed()), _mm_set_epi64x(0, -1));
    _mm_cvtsi128_si64(product).cast_unsigned()
}

/// A `\r` at the very end has not been seen to be followed by its `\n`, so it ends nothing.
fn settled(turns: &Turns, count: usize) -> usize {
    count - (turns.carriage_before as usize).min(count)
}

fn check(text: &[u8], chunks: usize, positions: &[u32]) {
    assert!(text.len() >= chunks * CHUNK_BYTES);
    assert!(positions.len() > (chunks + 2) * CHUNK_BYTES);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,avx2,pclmulqdq,popcnt,bmi1")]
fn scan_avx512<const SEEK: u8>(
    separator: u8,
    text: &[u8],
    chunks: usize,
    positions: &mut [u32],
) -> usize {
    check(text, chunks, positions);
    let bytes_of = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let places: [u8; CHUNK_BYTES] = std::array::from_fn(|place| place as u8);
    // SAFETY: 64 bytes are read from an array of 64.
    let places = unsafe { _mm512_loadu_si512(places.as_ptr().cast()) };
    let mut turns = Turns::default();
    let mut count = 0;
    for chunk in 0..chunks {
        let base = chunk * CHUNK_BYTES;
        // SAFETY: `base + 64 <= text.len()`, as was checked.
        let bytes = unsafe { _mm512_loadu_si512(text.as_ptr().add(base).cast()) };
        let values = _mm512_sub_epi8(bytes, bytes_of(b'0'));
        let masks = Masks {
            digit: _mm512_cmple_epu8_mask(values, bytes_of(9)),
            zero: if SEEK == MARKS { 0 } else { _mm512_cmpeq_epi8_mask(bytes, bytes_of(b'0')) },
            separator: _mm512_cmpeq_epi8_mask(bytes, bytes_of(separator)),
            newline: _mm512_cmpeq_epi8_mask(bytes, bytes_of(b'\n')),
            carriage: if SEEK == PAIRS_CRLF {
                _mm512_cmpeq_epi8_mask(bytes, bytes_of(b'\r'))
            } else {
                0
            },
        };
        let Some(ends) = turns.ends::<SEEK>(&masks) else {
            return count - usize::from(SEEK == PAIRS_CRLF && text[..base].ends_with(b"\r"));
        };
        let found = ends.count_ones() as usize;
        let packed = _mm512_maskz_compress_epi8(ends, places);
        let base = _mm512_set1_epi32(base as i32);
        // SAFETY: `count <= base`, so 64 places from `1 + count` on are in bounds, as was checked.
        let out = unsafe { positions.as_mut_ptr().add(1 + count) };
        let write = |quarter: __m128i, number: usize| {
            let absolute = _mm512_add_epi32(_mm512_cvtepu8_epi32(quarter), base);
            // SAFETY: the `number`th 16 of those 64 places.
            unsafe { _mm512_storeu_si512(out.add(16 * number).cast(), absolute) };
        };
        write(_mm512_castsi512_si128(packed), 0);
        if found > 16 {
            write(_mm512_extracti32x4_epi32::<1>(packed), 1);
            write(_mm512_extracti32x4_epi32::<2>(packed), 2);
            write(_mm512_extracti32x4_epi32::<3>(packed), 3);
        }
        count += found;
    }
    settled(&turns, count)
}

#[target_feature(enable = "avx2,pclmulqdq,popcnt,bmi1")]
fn scan_avx2<const SEEK: u8>(
    separator: u8,
    text: &[u8],
    chunks: usize,
    positions: &mut [u32],
) -> usize {
    /// Places written at once, even where fewer are needed.
    const STEP: usize = 12;

    check(text, chunks, positions);
    let mut turns = Turns::default();
    let mut count = 0;
    for chunk in 0..chunks {
        let base = chunk * CHUNK_BYTES;
        // SAFETY: `base + 64 <= text.len()`, as was checked.
        let halves = unsafe {
            let start = text.as_ptr().add(base);
            [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast())]
        };
        let equal = |byte: u8| {
            let wanted = _mm256_set1_epi8(byte.cast_signed());
            mask(halves.map(|half| _mm256_cmpeq_epi8(half, wanted)))
        };
        let masks = Masks {
            digit: mask(halves.map(|half| {
                let values = _mm256_sub_epi8(half, _mm256_set1_epi8(b'0'.cast_signed()));
                _mm256_cmpeq_epi8(_mm256_min_epu8(values, _mm256_set1_epi8(9)), values)
            })),
            zero: if SEEK == MARKS { 0 } else { equal(b'0') },
            separator: equal(separator),
            newline: equal(b'\n'),
            carriage: if SEEK == PAIRS_CRLF { equal(b'\r') } else { 0 },
        };
        let Some(ends) = turns.ends::<SEEK>(&masks) else {
            return count - usize::from(SEEK == PAIRS_CRLF && text[..base].ends_with(b"\r"));
        };
        let found = ends.count_ones() as usize;
        let mut left = ends;
        let mut done = 0;
        loop {
            for step in 0..STEP {
                let place = base as u32 + left.trailing_zeros();
                // SAFETY: `count <= base` and `done + step < 64 + STEP`, so this place is in
                // bounds, as was checked.
                unsafe { *positions.as_mut_ptr().add(1 + count + done + step) = place };
                left &= left.wrapping_sub(1);
            }
            done += STEP;
            if done >= found {
                break;
            }
        }
        count += found;
    }
    settled(&turns, count)
}

#[target_feature(enable = "avx2")]
#[inline]
fn mask(halves: [__m256i; 2]) -> u64 {
    let [low, high] = halves.map(|half| _mm256_movemask_epi8(half).cast_unsigned());
    u64::from(low) | u64::from(high) << 32
}

/// Numbers that the second pass read.
pub(super) struct ReadCounts {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

/// Second pass: reads up to `rows` rows, whose numbers end at `places[1..]`, as a first pass wrote
/// them; ends before a row with a number of no or more than eight digits.
#[target_feature(enable = "avx2")]
pub(super) fn convert(
    crlf: bool,
    text: &[u8],
    rows: usize,
    places: &mut [u32],
    pairs: &mut Vec<Pair>,
    max: &mut u32,
) -> ReadCounts {
    // A line end takes this many bytes more than a separator.
    let extra = u32::from(crlf);
    places[0] = 0u32.wrapping_sub(1 + extra);
    let gaps = _mm256_set1_epi64x(i64::from(1 + extra) | 1 << 32);
    let last = places[2 * rows] as usize;
    assert!(places.len() > 2 * (rows + ROWS) && pairs.capacity() - pairs.len() >= rows + ROWS);
    assert!(last + SLACK_BYTES <= text.len());
    // Steps may read places behind the last row; they must not lead out of the text.
    places[2 * rows + 1..].fill(last as u32);
    let out = pairs.spare_capacity_mut().as_mut_ptr();
    let mut largest = _mm256_set1_epi32(max.cast_signed());
    let mut read = 0;
    while read < rows {
        // SAFETY: `2 * read + 9 <= places.len()`, as was asserted.
        let (before, ends, starts) = unsafe {
            let first = places.as_ptr().add(2 * read);
            (
                _mm256_loadu_si256(first.cast()),
                _mm256_loadu_si256(first.add(1).cast()),
                &*first.cast::<[u32; 2 * ROWS]>(),
            )
        };
        let lengths = _mm256_sub_epi32(_mm256_sub_epi32(ends, before), gaps);
        let good = lengths_fit(lengths);
        let row = |number: usize| {
            let source = starts[2 * number].wrapping_add(1 + extra) as usize;
            let target = starts[2 * number + 1] as usize + 1;
            // SAFETY: each start is at most `last + 2`, and 16 bytes follow `last`.
            unsafe {
                let source = _mm_loadl_epi64(text.as_ptr().add(source).cast());
                let target = _mm_loadl_epi64(text.as_ptr().add(target).cast());
                _mm_unpacklo_epi64(source, target)
            }
        };
        let even = _mm256_set_m128i(row(2), row(0));
        let odd = _mm256_set_m128i(row(3), row(1));
        let numbers = eight_numbers(even, odd, lengths);
        // SAFETY: room for `rows + 4` pairs was asserted, and `read < rows`.
        unsafe { _mm256_storeu_si256(out.add(read).cast(), numbers) };
        let wanted = ROWS.min(rows - read);
        let taken = good.min(wanted);
        if taken < ROWS {
            // SAFETY: `taken` pairs of this step were written.
            let tail = unsafe { std::slice::from_raw_parts(out.add(read).cast::<Pair>(), taken) };
            *max = tail.iter().flatten().fold(*max, |max, id| max.max(*id));
            read += taken;
            break;
        }
        largest = _mm256_max_epu32(largest, numbers);
        read += ROWS;
    }
    // SAFETY: `read` pairs were written behind the old length.
    unsafe { pairs.set_len(pairs.len() + read) };
    let mut lanes = [0u32; 2 * ROWS];
    // SAFETY: 32 bytes are written to an array of 32.
    unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), largest) };
    *max = lanes.into_iter().fold(*max, u32::max);
    ReadCounts { rows: read, bytes: places[2 * read].wrapping_add(1 + extra) as usize }
}

/// Number of four rows, from the first on, that have two lengths of 1 to 8.
#[target_feature(enable = "avx2")]
#[inline]
fn lengths_fit(lengths: __m256i) -> usize {
    let less = _mm256_sub_epi32(lengths, _mm256_set1_epi32(1));
    let seven = _mm256_set1_epi32(7);
    let fits = _mm256_cmpeq_epi32(_mm256_max_epu32(less, seven), seven);
    let misfits = !_mm256_movemask_epi8(fits).cast_unsigned();
    misfits.trailing_zeros() as usize / 8
}

/// The integers of eight numbers in order. `even` holds rows 0 and 2, `odd` rows 1 and 3: for each
/// number the eight bytes from its first digit on.
#[target_feature(enable = "avx2")]
#[inline]
fn eight_numbers(even: __m256i, odd: __m256i, lengths: __m256i) -> __m256i {
    let zero = _mm256_setzero_si256();
    let digits = |text: __m256i, lengths: __m256i| {
        // The last digit comes to the highest byte; zero bytes come before the first.
        let bits = _mm256_sub_epi64(_mm256_set1_epi64x(64), _mm256_slli_epi64::<3>(lengths));
        let shifted = _mm256_sllv_epi64(text, bits);
        // Saturation keeps the zero bytes zero.
        let digits = _mm256_subs_epu8(shifted, _mm256_set1_epi8(b'0'.cast_signed()));
        let tens = _mm256_maddubs_epi16(digits, _mm256_set1_epi16(0x010a));
        _mm256_madd_epi16(tens, _mm256_set1_epi32(0x0001_0064))
    };
    let even = digits(even, _mm256_unpacklo_epi32(lengths, zero));
    let odd = digits(odd, _mm256_unpackhi_epi32(lengths, zero));
    let halves = _mm256_packus_epi32(even, odd);
    _mm256_madd_epi16(halves, _mm256_set1_epi32(0x0001_2710))
}
