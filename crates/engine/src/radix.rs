//! The sort of one bin by source and destination, inside the second-level cache.
//!
//! Least significant digit first, which is stable: parallel edges stay in the order of the input,
//! so that "the first weight wins" holds and sums of weights are reproducible.

use crate::bins::Record;

/// Digits of so many bits: 2^11 counters and as many write positions stay in the first-level cache.
const DIGIT_BITS_MAX: u32 = 11;
/// Below this many records a comparison sort is faster.
const SMALL: usize = 192;

/// Sorts `records` by key, stably. Keys must be below `2^key_bits`. `scratch` is as long as
/// `records`, `counts` is kept between calls.
pub(crate) fn sort<R: Record>(
    records: &mut Vec<R>,
    scratch: &mut Vec<R>,
    counts: &mut Vec<u32>,
    key_bits: u32,
) {
    if records.len() < SMALL {
        records.sort_by_key(Record::key);
        return;
    }
    let passes = key_bits.div_ceil(DIGIT_BITS_MAX).max(1);
    let digit_bits = key_bits.div_ceil(passes).max(1);
    let buckets = 1_usize << digit_bits;
    counts.clear();
    counts.resize(buckets * passes as usize, 0);
    for record in records.iter() {
        let mut key = record.key();
        for counts in counts.chunks_exact_mut(buckets) {
            counts[key as usize & (buckets - 1)] += 1;
            key >>= digit_bits;
        }
    }
    scratch.resize(records.len(), R::zeroed());
    for (pass, counts) in counts.chunks_exact_mut(buckets).enumerate() {
        if counts.iter().any(|&count| count as usize == records.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            (*count, start) = (start, start + *count);
        }
        scatter(records, scratch, counts, pass as u32 * digit_bits);
        std::mem::swap(records, scratch);
    }
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
    use crate::bins::Weighted;

    proptest! {
        #[test]
        fn equals_a_stable_comparison_sort(
            keys in prop::collection::vec(0_u64..1 << 37, 0..2000),
            narrow in 0_u32..37,
        ) {
            let mut records: Vec<Weighted> = keys
                .iter()
                .enumerate()
                .map(|(index, key)| Weighted::new(key >> narrow, index as f64))
                .collect();
            let mut expected = records.clone();
            expected.sort_by_key(Record::key);
            sort(&mut records, &mut Vec::new(), &mut Vec::new(), 37);
            prop_assert_eq!(records, expected);
        }
    }
}
