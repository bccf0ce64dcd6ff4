//! Updates that meet in the buffer of a chunk, as bins of workers combine them: sizes alone.
//!
//! Targets of an R-MAT graph are drawn bit by bit, so those of a partition whose ids have `b` bits
//! of their own are drawn so too. Of `u` updates for it as many records are left as they have
//! targets:
//!
//! ```text
//! records(u) = sum over j of C(b, j) (1 - exp(-u low^(b - j) (1 - low)^j))
//! ```
//!
//! A buffer of `n` records is combined when it is full. What is left fills up again, or becomes a
//! chunk once it is more than half of a buffer: so a chunk stands for the first `u` of `u(1) = n`,
//! `u(i + 1) = u(i) + n - records(u(i))` with `2 records(u) > n`.
//!
//! **Invariant:** `0 < records(u) <= u` for `u > 0`, and it grows with `u`. Tested by
//! `records_are_those_of_hubs_first`.

/// Rounds in which a buffer fills up again, at most: of a partition that has fewer targets than
/// half a buffer, it would do so for ever.
const ROUNDS_MAX: u32 = 64;

/// Combining of the updates for one partition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Combining {
    /// Share of all ends in the lower half of the ids, and so on in each half.
    pub low: f64,
    /// Bits of an id within its partition.
    pub bits: u32,
    /// Updates that one record of the model stands for.
    pub grain: u64,
}

impl Combining {
    /// Records that are left of updates for one partition; both are counted by the grain.
    pub fn records(&self, updates: u64) -> u64 {
        let Self { low, bits, grain } = *self;
        let drawn = (updates * grain) as f64;
        let (mut ids, mut sum) = (1.0, 0.0);
        for ones in 0..=bits {
            let [ones, zeros] = [ones, bits - ones].map(f64::from);
            let expected = drawn * low.powf(zeros) * (1.0 - low).powf(ones);
            sum -= ids * (-expected).exp_m1();
            ids *= zeros / (ones + 1.0);
        }
        ((sum / grain as f64).ceil() as u64).clamp(u64::from(updates > 0), updates)
    }

    /// Updates that the chunk of a buffer of `records` records stands for.
    pub fn of_chunk(&self, records: u64) -> u64 {
        let mut updates = records;
        for _ in 0..ROUNDS_MAX {
            let left = self.records(updates);
            if 2 * left > records {
                break;
            }
            updates += records - left;
        }
        updates
    }
}

#[cfg(test)]
mod tests {
    use welter_protocol::random::Random;

    use super::*;

    #[test]
    fn records_are_those_of_hubs_first() {
        let combining = Combining { low: 0.76, bits: 10, grain: 1 };
        let random = &mut Random::new(1);
        let mut target = || (0..10).fold(0, |id, _| 2 * id + u64::from(random.below(100) >= 76));
        for updates in [1, 10, 1000, 100_000] {
            let mean = (0..20).map(|_| {
                let all: std::collections::BTreeSet<u64> = (0..updates).map(|_| target()).collect();
                all.len() as f64 / 20.0
            });
            let (found, drawn) = (combining.records(updates) as f64, mean.sum::<f64>());
            assert!((found - drawn).abs() <= 1.0 + 0.05 * drawn, "{updates}: {found}, not {drawn}");
        }
        let all: Vec<u64> = (0..100).map(|updates| combining.records(updates)).collect();
        assert!(all.is_sorted() && all[..2] == [0, 1], "{all:?}");
        let coarse = Combining { grain: 16, ..combining };
        assert!(coarse.records(10).abs_diff(combining.records(160) / 16) <= 1);
    }

    #[test]
    fn buffers_fill_up_again_until_half_of_them_is_left() {
        // Evenly over a million ids nothing meets; over sixteen ids sixteen records are left.
        let spread = Combining { low: 0.5, bits: 20, grain: 1 };
        assert_eq!(spread.of_chunk(100), 100);
        let few = Combining { low: 0.5, bits: 4, grain: 1 };
        assert_eq!(few.of_chunk(20), 20, "more than half of a buffer are left");
        let chunk = few.of_chunk(40);
        assert_eq!((few.records(chunk), chunk > 40 * 24), (16, true), "half is never left");
        let hubs = Combining { low: 0.9, bits: 10, grain: 1 };
        let updates = hubs.of_chunk(100);
        assert!(updates > 100 && 2 * hubs.records(updates) > 100, "{updates}");
    }
}
