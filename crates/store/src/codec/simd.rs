//! Vector decoders for x86-64. Each decodes whole steps only while a full vector can be read.
#![expect(unsafe_code, reason = "vector intrinsics and vector loads")]
#![expect(clippy::cast_ptr_alignment, reason = "all vector loads and stores are unaligned ones")]

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _MM_HINT_T0, _mm_add_epi32, _mm_alignr_epi8, _mm_loadu_si128,
    _mm_prefetch, _mm_set1_epi32, _mm_setr_epi8, _mm_setzero_si128, _mm_shuffle_epi8,
    _mm_shuffle_epi32, _mm_slli_si128, _mm_storeu_si128, _mm256_broadcastsi128_si256,
    _mm256_or_si256, _mm256_set_m128i, _mm256_set1_epi32, _mm256_shuffle_epi8, _mm256_storeu_si256,
    _mm512_add_epi32, _mm512_alignr_epi32, _mm512_broadcast_i32x4, _mm512_cvtsi512_si32,
    _mm512_loadu_si512, _mm512_maskz_expand_epi8, _mm512_or_si512, _mm512_permutexvar_epi32,
    _mm512_set1_epi32, _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_storeu_si512,
};

use super::level::{avx2_detected, avx512_detected};
use super::runs::Runs;

/// Byte shuffles that spread the data bytes of four values, by control byte.
static SHUFFLES: [[u8; 16]; 256] = shuffles();
/// Data bytes of four values, by control byte.
static LENGTHS: [u8; 256] = lengths();

const fn lengths() -> [u8; 256] {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 256 {
        let codes = (control & 3) + (control >> 2 & 3) + (control >> 4 & 3) + (control >> 6);
        table[control] = codes as u8 + 4;
        control += 1;
    }
    table
}

const fn shuffles() -> [[u8; 16]; 256] {
    // 0x80 makes a zero byte.
    let mut table = [[0x80; 16]; 256];
    let mut control = 0;
    while control < 256 {
        let mut byte = 0;
        let mut value = 0;
        while value < 4 {
            let length = (control >> (2 * value) & 3) + 1;
            let mut place = 0;
            while place < length {
                table[control][4 * value + place] = byte;
                byte += 1;
                place += 1;
            }
            value += 1;
        }
        control += 1;
    }
    table
}

/// Decodes in steps of 4. Returns values written and data bytes used.
pub(super) fn fill_avx2(
    control: &[u8],
    data: &[u8],
    last: &mut u32,
    out: &mut [u32],
) -> (usize, usize) {
    debug_assert!(avx2_detected());
    // SAFETY: the caller dispatches on `SimdLevel`, which is only `Avx2` or better where it was
    // detected.
    unsafe { avx2(control, data, last, out) }
}

#[target_feature(enable = "avx2")]
fn avx2(control: &[u8], data: &[u8], last: &mut u32, out: &mut [u32]) -> (usize, usize) {
    let (out, _) = out.as_chunks_mut::<4>();
    let mut used = 0;
    let mut values = 0;
    let mut carry = _mm_set1_epi32(*last as i32);
    for (out, &control) in out.iter_mut().zip(control) {
        let Some(bytes) = data.get(used..used + 16) else { break };
        // SAFETY: `bytes` and each shuffle are 16 bytes long; the load needs no alignment.
        let (bytes, shuffle) = unsafe {
            (
                _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()),
                _mm_loadu_si128(SHUFFLES[usize::from(control)].as_ptr().cast::<__m128i>()),
            )
        };
        let delta = _mm_shuffle_epi8(bytes, shuffle);
        let pairs = _mm_add_epi32(delta, _mm_slli_si128::<4>(delta));
        let sums = _mm_add_epi32(pairs, _mm_slli_si128::<8>(pairs));
        let keys = _mm_add_epi32(sums, carry);
        carry = _mm_shuffle_epi32::<0xff>(keys);
        // SAFETY: `out` is four `u32`, 16 bytes; the store needs no alignment.
        unsafe { _mm_storeu_si128(out.as_mut_ptr().cast::<__m128i>(), keys) };
        used += usize::from(LENGTHS[usize::from(control)]);
        values += 4;
    }
    let carry = _mm_alignr_epi8::<0>(_mm_setzero_si128(), carry);
    let mut lanes = [0_u32; 4];
    // SAFETY: `lanes` is 16 bytes; the store needs no alignment.
    unsafe { _mm_storeu_si128(lanes.as_mut_ptr().cast::<__m128i>(), carry) };
    *last = lanes[0];
    (values, used)
}

/// Decodes in steps of 16. Returns values written and data bytes used.
pub(super) fn fill_avx512(
    control: &[u8],
    data: &[u8],
    last: &mut u32,
    out: &mut [u32],
) -> (usize, usize) {
    debug_assert!(avx512_detected());
    // SAFETY: the caller dispatches on `SimdLevel`, which is only `Avx512` where it was detected.
    unsafe { avx512(control, data, last, out) }
}

/// One mask bit per byte of 16 `u32`: set where a data byte goes, by the 2-bit codes in `control`.
#[target_feature(enable = "bmi2")]
fn byte_mask(control: u32) -> u64 {
    const LOW: u64 = 0x1111_1111_1111_1111;
    let codes = std::arch::x86_64::_pdep_u64(u64::from(control), 3 * LOW);
    let (low, high) = (codes & LOW, codes >> 1 & LOW);
    // Byte 0 is always there, byte 1 from code 1 on, byte 2 from code 2 on, byte 3 at code 3.
    LOW | (low | high) << 1 | high << 2 | (low & high) << 3
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn avx512(control: &[u8], data: &[u8], last: &mut u32, out: &mut [u32]) -> (usize, usize) {
    let (out, _) = out.as_chunks_mut::<16>();
    let (control, _) = control.as_chunks::<4>();
    let zero = _mm512_setzero_si512();
    let top = _mm512_set1_epi32(15);
    let mut used = 0;
    let mut values = 0;
    let mut carry = _mm512_set1_epi32(*last as i32);
    for (out, control) in out.iter_mut().zip(control) {
        let Some(bytes) = data.get(used..used + 64) else { break };
        _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(AHEAD).cast());
        let mask = byte_mask(u32::from_le_bytes(*control));
        // SAFETY: `bytes` is 64 bytes long; the load needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast::<__m512i>()) };
        let delta = _mm512_maskz_expand_epi8(mask, in_register(bytes));
        // Prefix sum: each step adds the lanes 1, 2, 4 and 8 places below.
        let sum = _mm512_add_epi32(delta, _mm512_alignr_epi32::<15>(delta, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<14>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<12>(sum, zero));
        let sum = _mm512_add_epi32(sum, _mm512_alignr_epi32::<8>(sum, zero));
        let keys = _mm512_add_epi32(sum, carry);
        carry = _mm512_add_epi32(carry, _mm512_permutexvar_epi32(top, sum));
        // SAFETY: `out` is sixteen `u32`, 64 bytes; the store needs no alignment.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast::<__m512i>(), keys) };
        used += mask.count_ones() as usize;
        values += 16;
    }
    *last = _mm512_cvtsi512_si32(carry) as u32;
    (values, used)
}

/// Bytes in a register of their own. Compilers make one instruction of a load and an expansion.
/// With that a processor of the Zen 5 kind decodes in 0.44 ns a key, and in 0.19 where they are two
/// (a bare loop over 16,384 keys). Ten iterations of R-MAT 24 in memory, `f32`, 2 threads, took 2.4
/// to 2.7 s with one and 2.1 to 2.4 with two, and 2.0 to 2.4 with what comes fetched ahead.
#[target_feature(enable = "avx512f")]
fn in_register(mut bytes: __m512i) -> __m512i {
    // SAFETY: no instruction at all.
    unsafe {
        asm!("/* {0} */", inout(zmm_reg) bytes, options(pure, nomem, nostack, preserves_flags));
    };
    bytes
}

/// Bytes between those that are decoded and those that memory is asked for: more than a buffer of
/// keys has, so that they come while what was decoded is looked at.
const AHEAD: usize = 4096;

/// Decodes short keys in steps of 8.
pub(super) fn fill_short_avx2(runs: &mut Runs<'_>, out: &mut [u32]) {
    debug_assert!(avx2_detected());
    // SAFETY: the caller dispatches on `SimdLevel`, which is only `Avx2` or better where it was
    // detected.
    unsafe { short_avx2(runs, out) }
}

/// Decodes short keys in steps of 16.
pub(super) fn fill_short_avx512(runs: &mut Runs<'_>, out: &mut [u32]) {
    debug_assert!(avx512_detected());
    // SAFETY: the caller dispatches on `SimdLevel`, which is only `Avx512` where it was detected.
    unsafe { short_avx512(runs, out) }
}

#[target_feature(enable = "avx2")]
fn short_avx2(runs: &mut Runs<'_>, out: &mut [u32]) {
    runs.fill_by(out, |data, high, out, count| {
        let (out, _) = out.as_chunks_mut::<8>();
        let high = _mm256_set1_epi32(high as i32);
        let apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
        let apart = _mm256_broadcastsi128_si256(apart);
        let mut done = 0;
        for out in out.iter_mut().take(count.div_ceil(8)) {
            let Some(bytes) = data.get(3 * done..3 * done + 28) else { break };
            let (low, next) = (bytes.as_ptr(), bytes[12..].as_ptr());
            _mm_prefetch::<_MM_HINT_T0>(low.wrapping_add(AHEAD).cast());
            // SAFETY: `bytes` has 16 bytes from 0 and from 12 on; the loads need no alignment.
            let (low, next) = unsafe {
                (_mm_loadu_si128(low.cast::<__m128i>()), _mm_loadu_si128(next.cast::<__m128i>()))
            };
            let keys = _mm256_shuffle_epi8(_mm256_set_m128i(next, low), apart);
            let keys = _mm256_or_si256(keys, high);
            // SAFETY: `out` is eight `u32`, 32 bytes; the store needs no alignment.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast::<__m256i>(), keys) };
            done += 8;
        }
        done.min(count)
    });
}

#[target_feature(enable = "avx512f,avx512bw")]
fn short_avx512(runs: &mut Runs<'_>, out: &mut [u32]) {
    runs.fill_by(out, |data, high, out, count| {
        let (out, _) = out.as_chunks_mut::<16>();
        let high = _mm512_set1_epi32(high as i32);
        // Twelve bytes to each lane of sixteen, and then three to each word.
        let lanes = _mm512_setr_epi32(0, 1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9, 10, 11, 0);
        let apart = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
        let apart = _mm512_broadcast_i32x4(apart);
        let mut done = 0;
        for out in out.iter_mut().take(count.div_ceil(16)) {
            let Some(bytes) = data.get(3 * done..3 * done + 64) else { break };
            _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().wrapping_add(AHEAD).cast());
            // SAFETY: `bytes` is 64 bytes long; the load needs no alignment.
            let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast::<__m512i>()) };
            let bytes = _mm512_permutexvar_epi32(lanes, bytes);
            let keys = _mm512_or_si512(_mm512_shuffle_epi8(bytes, apart), high);
            // SAFETY: `out` is sixteen `u32`, 64 bytes; the store needs no alignment.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().cast::<__m512i>(), keys) };
            done += 16;
        }
        done.min(count)
    });
}
