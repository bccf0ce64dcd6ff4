//! The sort of one bin, inside the second-level cache.
//!
//! Least significant digit first, which is stable: the edges of one source stay in the order of the
//! input. Only the source's digits are sorted, unless the order of destinations matters too (in
//! compressed tiles, and to find parallel edges). Sorting by all digits of the key took 12 ns an
//! edge on R-MAT 24, by those of the source half of that; that and comparing the edges of each
//! source took up to 35 together (a profile of R-MAT scrambled 24, in a noisy minute), because no
//! processor can guess how comparisons end.

use crate::kernels::record::Record;

/// Digits have at most this number of bits: 2^9 write positions are 32 KiB of lines, which the
/// first-level cache holds.
const DIGIT_BITS_MAX: u32 = 9;
/// Below this many records a comparison sort is faster.
const SMALL: usize = 192;

/// Sorts `records` stably by the bits of the key from `low` up. Keys must be below `2^high`, and
/// `scratch` as long as `records`; its contents do not matter, and `counts` is kept for the next
/// call. Returns the one of the two that holds the result.
pub(crate) fn sort<'a, R: Record>(
    mut records: &'a mut [R],
    mut scratch: &'a mut [R],
    counts: &mut Vec<u32>,
    low: u32,
    high: u32,
) -> &'a mut [R] {
    if records.len() < SMALL {
        records.sort_by_key(|record| record.key() >> low);
        return records;
    }
    // So are those of a file that was sorted.
    if records.is_sorted_by_key(|record| record.key() >> low) {
        return records;
    }
    let bits = high - low;
    let passes = bits.div_ceil(DIGIT_BITS_MAX);
    let digit_bits = if passes == 0 { 0 } else { bits.div_ceil(passes) };
    let buckets = 1_usize << digit_bits;
    counts.clear();
    counts.resize(buckets * passes as usize, 0);
    for (pass, counts) in counts.chunks_exact_mut(buckets).enumerate() {
        let (shift, mask) = (low + pass as u32 * digit_bits, counts.len() - 1);
        for record in records.iter() {
            counts[(record.key() >> shift) as usize & mask] += 1;
        }
    }
    for (pass, counts) in counts.chunks_exact_mut(buckets).enumerate() {
        if counts.iter().any(|&count| count as usize == records.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            (*count, start) = (start, start + *count);
        }
        scatter(records, scratch, counts, low + pass as u32 * digit_bits);
        (records, scratch) = (scratch, records);
    }
    records
}

fn scatter<R: Record>(records: &[R], sorted: &mut [R], starts: &mut [u32], shift: u32) {
    let mask = starts.len() - 1;
    for record in records {
        let start = &mut starts[(record.key() >> shift) as usize & mask];
        sorted[*start as usize] = *record;
        *start += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::record::Weighted;

    proptest! {
        #[test]
        fn equals_a_stable_comparison_sort(
            keys in prop::collection::vec(0_u64..1 << 37, 0..2000),
            narrow in 0_u32..37,
        ) {
            let records: Vec<Weighted> = keys
                .iter()
                .enumerate()
                .map(|(index, key)| Weighted::new(key >> narrow, index as f64))
                .collect();
            let mut expected = records.clone();
            for low in [0, 13, 37] {
                let mut by_source = records.clone();
                expected.sort_by_key(|record| record.weight() as u64);
                expected.sort_by_key(|record| record.key() >> low);
                let mut scratch = by_source.clone();
                let by_source =
                    sort(&mut by_source, &mut scratch, &mut Vec::new(), low, 37);
                prop_assert_eq!(&*by_source, &expected[..]);
                // Sorted records stay as they are.
                let (mut again, mut scratch) = (by_source.to_vec(), by_source.to_vec());
                let again = sort(&mut again, &mut scratch, &mut Vec::new(), low, 37);
                prop_assert_eq!(&*again, &expected[..]);
            }
        }
    }
}
