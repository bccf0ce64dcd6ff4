//! Comparing what two columns hold for many keys at once.
//!
//! AVX2 loads eight states by one instruction. Of R-MAT 22 a pass over edges that are no candidates
//! takes 0.66 ns an edge and core so, and 0.89 when states are loaded one by one. AVX-512 loads
//! sixteen and took 0.74.
//!
//! States may be written by other threads meanwhile, which vector intrinsics leave undefined. So
//! the loads are written as assembly: there each of the eight is a load of an aligned word, which
//! the processor does as a whole.
#![expect(unsafe_code, reason = "loads states by a vector instruction, at places that keys bound")]

use crate::kernels::kernel::{Ahead, BUFFER, LINE};
use crate::kernels::keys::Keys;

/// States of a stream program for the sources and targets of a tile: from the tile's first source
/// on, and from the stripe's first target on.
pub(crate) struct Endpoints<'a, C> {
    pub(crate) sources: &'a [C],
    pub(crate) targets: &'a [C],
    pub(crate) look: VisitOrder,
}

/// Order in which the edges of a tile are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisitOrder {
    /// A run at a time.
    Runs,
    /// Likewise, and they are candidates exactly where states are unequal.
    Unequal,
    /// One after the other, by rising sources.
    Up,
    /// One after the other, by falling sources.
    Down,
}

/// Notes the places of keys whose states are unequal, and says how many they are and how many keys
/// were looked at: all but the last few, or none where the processor has no such instruction.
pub(crate) fn unequal<C>(
    keys: Keys<'_>,
    ahead: Ahead,
    endpoints: &Endpoints<'_, C>,
    found: &mut [u32; BUFFER],
) -> (usize, usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("popcnt")
        && size_of::<C>() == 4
        && align_of::<C>() == 4
    {
        // SAFETY: AVX2 and POPCNT were detected just now.
        return unsafe { avx2::unequal(keys, ahead, endpoints, found) };
    }
    let _ = (keys, ahead, endpoints, found);
    (0, 0)
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm_loadl_epi64, _mm256_add_epi32, _mm256_and_si256,
        _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_loadu_si256,
        _mm256_movemask_ps, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_srl_epi32,
        _mm256_storeu_si256,
    };

    use super::{Ahead, BUFFER, Endpoints, Keys, LINE};
    use welter_store::header::KEY_BITS;

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn unequal<C>(
        keys: Keys<'_>,
        ahead: Ahead,
        endpoints: &Endpoints<'_, C>,
        found: &mut [u32; BUFFER],
    ) -> (usize, usize) {
        const { assert!(LINE == 8) };
        let target_bits = keys.target_bits();
        assert!(keys.keys().len() <= BUFFER, "no more places than can be noted");
        // Places are signed to the instruction, so they have at most 31 bits.
        assert!((1..KEY_BITS).contains(&target_bits), "a key has source and target bits");
        let sources = &endpoints.sources[..keys.sources()];
        let targets = &endpoints.targets[..keys.targets()];
        let mask = _mm256_set1_epi32(keys.mask() as i32);
        let shift = _mm_cvtsi32_si128(target_bits as i32);
        let (lines, _) = keys.keys().as_chunks::<LINE>();
        let mut first = _mm256_setzero_si256();
        let mut count = 0;
        for (number, line) in lines.iter().enumerate() {
            ahead.fetch(line);
            // SAFETY: a line is 32 bytes of keys.
            let keys = unsafe { _mm256_loadu_si256(line.as_ptr().cast()) };
            // SAFETY: the source of each key is below `keys.sources()`, to which `sources` was cut.
            let source = unsafe { gather(sources.as_ptr().cast(), _mm256_srl_epi32(keys, shift)) };
            // SAFETY: the target of each key is below `keys.targets()`, to which `targets` was cut.
            let target = unsafe { gather(targets.as_ptr().cast(), _mm256_and_si256(keys, mask)) };
            let same = _mm256_castsi256_ps(_mm256_cmpeq_epi32(source, target));
            let others = !_mm256_movemask_ps(same) as u8;
            // All eight lanes are written; those behind the last place are written over.
            debug_assert!(count <= number * LINE, "no more places than keys");
            // SAFETY: an entry of the table is 8 bytes.
            let lanes = unsafe { _mm_loadl_epi64(LANES[usize::from(others)].as_ptr().cast()) };
            let places = _mm256_add_epi32(first, _mm256_cvtepu8_epi32(lanes));
            // SAFETY: there are at most BUFFER / LINE lines, and at most LINE places for each of
            // those before, so that 8 more find room.
            unsafe { _mm256_storeu_si256(found.as_mut_ptr().add(count).cast(), places) };
            count += others.count_ones() as usize;
            first = _mm256_add_epi32(first, _mm256_set1_epi32(LINE as i32));
        }
        (count, lines.len() * LINE)
    }

    /// Bits of a byte that are set, from the lowest on.
    static LANES: [[u8; 8]; 256] = {
        let mut lanes = [[0; 8]; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut bit, mut count) = (0, 0);
            while bit < 8 {
                if byte >> bit & 1 == 1 {
                    lanes[byte][count] = bit;
                    count += 1;
                }
                bit += 1;
            }
            byte += 1;
        }
        lanes
    };

    /// The words at eight places.
    ///
    /// # Safety
    /// `words` must be aligned, and there must be one at every place.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn gather(words: *const u32, places: __m256i) -> __m256i {
        let mut gathered = _mm256_setzero_si256();
        // SAFETY: the caller says that the words are there; nothing is written.
        unsafe {
            asm!(
                "vpcmpeqd {mask}, {mask}, {mask}",
                "vpgatherdd {gathered}, dword ptr [{words} + {places} * 4], {mask}",
                gathered = inout(ymm_reg) gathered,
                mask = out(ymm_reg) _,
                places = in(ymm_reg) places,
                words = in(reg) words,
                options(nostack, preserves_flags, readonly),
            );
        }
        gathered
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::kernels::gather::VisitOrder;
    use crate::kernels::keys::{Reach, Width};

    /// States of which one in `one_in` is unlike the others.
    fn states(length: u32, one_in: u32) -> Vec<AtomicU32> {
        let state = |place| if (place + 1) % one_in == 0 { place } else { u32::MAX };
        (0..length).map(|place| AtomicU32::new(state(place))).collect()
    }

    #[test]
    fn finds_what_a_plain_loop_finds() {
        let target_bits = 20;
        let key = |source: u32, target: u32| source << target_bits | target;
        let mut keys: Vec<u32> =
            (0..1000).map(|n| key(n * 31 % 4096, n * 7919 % (1 << 20))).collect();
        keys.extend([key(1, 1), key(4095, 0), key(0, (1 << 20) - 1), u32::MAX, 0, 5, key(5, 5)]);
        for one_in in [1, 2, 3, 64] {
            let (sources, targets) = (states(1 << 12, one_in), states(1 << 20, one_in));
            let value =
                |states: &[AtomicU32], place| states[place as usize].load(Ordering::Relaxed);
            let differ = |key: &u32| {
                value(&sources, key >> target_bits) != value(&targets, key & ((1 << 20) - 1))
            };
            let endpoints =
                Endpoints { sources: &sources, targets: &targets, look: VisitOrder::Unequal };
            for keys in [&keys[..], &keys[..1000], &keys[..7], &[]] {
                let mut found = [0; BUFFER];
                let (ahead, held) = (Ahead::of(keys), Width.hold(keys, target_bits));
                let (count, looked) = unequal(held, ahead, &endpoints, &mut found);
                assert!(looked == 0 || looked == keys.len() / LINE * LINE);
                let expected = (0..looked as u32).filter(|&place| differ(&keys[place as usize]));
                assert_eq!(found[..count], expected.collect::<Vec<_>>());
            }
        }
    }
}
