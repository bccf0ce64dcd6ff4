//! Random numbers by index: number `i` of a sequence is computed from `i` alone.
//!
//! The generator is a Weyl sequence (`key + i * GAMMA`, all 2^64 states) whose states pass through
//! an invertible mixer of two multiply-xorshift rounds, as in `SplitMix64` (Steele, Lea and Flood,
//! 2014). One number takes about a nanosecond and none waits for another, so processors overlap
//! them. Sequences of one seed for different purposes start at unrelated places of the cycle.

/// 2^64 divided by the golden ratio, made odd: successive states differ in many bits.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A bijection on 64 bits in which every output bit depends on every input bit.
pub(super) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// A sequence of 64-bit random numbers that is read at any place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Random {
    key: u64,
}

impl Random {
    /// The sequence that `seed` gives for `purpose`.
    pub(super) fn new(seed: u64, purpose: &str) -> Self {
        let absorb = |key: u64, byte| mix(key ^ u64::from(byte)).wrapping_add(GAMMA);
        Self { key: purpose.bytes().fold(mix(seed), absorb) }
    }

    /// Number `index` of the sequence.
    pub(super) fn at(self, index: u64) -> u64 {
        mix(self.key.wrapping_add(index.wrapping_mul(GAMMA)))
    }
}

/// A bijection on the numbers below 2^bits, drawn by a seed: vertex ids without their order.
///
/// Each round adds a key, multiplies by an odd number and folds the high half into the low half;
/// each of these steps can be undone modulo 2^bits, hence so can all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shuffle {
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); 3],
}

impl Shuffle {
    /// A bijection on `0..2^bits`, for 1 to 64 bits. Up to 32 one word is enough for a round.
    pub(super) fn new(bits: u32, random: Random) -> Self {
        let rounds = [0, 1, 2].map(|round| {
            let word = random.at(round);
            let (plus, times) = if bits > 32 {
                (random.at(round + 3), word)
            } else {
                (word >> 32, u64::from(word as u32))
            };
            (plus, times | 1)
        });
        Self { mask: u64::MAX >> (64 - bits), shift: bits.div_ceil(2), rounds }
    }

    /// Where `number` goes; below 2^bits when `number` is.
    pub(super) fn apply(&self, number: u64) -> u64 {
        self.rounds.iter().fold(number, |number, (plus, times)| {
            let word = number.wrapping_add(*plus).wrapping_mul(*times) & self.mask;
            word ^ (word >> self.shift)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_bijection_that_moves_numbers() {
        for bits in [1, 2, 3, 7, 10, 16] {
            let count = 1_usize << bits;
            let shuffle = Shuffle::new(bits, Random::new(9, "shuffle"));
            let mut hit = vec![false; count];
            let mut fixed = 0;
            for number in 0..count {
                let image = shuffle.apply(number as u64) as usize;
                assert!(!std::mem::replace(&mut hit[image], true));
                fixed += usize::from(image == number);
            }
            assert!(bits < 7 || fixed < 10, "{bits} bits: {fixed} numbers stayed");
        }
    }

    #[test]
    fn a_shuffle_separates_neighbours() {
        let shuffle = Shuffle::new(20, Random::new(1, "shuffle"));
        let near = (0..1_u64 << 20)
            .filter(|&x| shuffle.apply(x).abs_diff(shuffle.apply(x ^ 1)) < 1 << 10)
            .count();
        // Of random pairs, about one in 512 is so near.
        assert!(near < 1 << 14, "{near}");
    }

    /// An inverse is made of the inverses of the steps.
    #[test]
    fn a_shuffle_of_more_than_32_bits_can_be_undone() {
        for bits in [33, 40, 63, 64] {
            let shuffle = Shuffle::new(bits, Random::new(3, "shuffle"));
            let undo = |number: u64| {
                shuffle.rounds.iter().rev().fold(number, |number, (plus, times)| {
                    // Newton's iteration doubles the bits that are right, of which 3 are at first.
                    let inverse = (0..5).fold(*times, |inverse: u64, _| {
                        inverse.wrapping_mul(2_u64.wrapping_sub(times.wrapping_mul(inverse)))
                    });
                    let word = number ^ number >> shuffle.shift;
                    word.wrapping_mul(inverse).wrapping_sub(*plus) & shuffle.mask
                })
            };
            let last = u64::MAX >> (64 - bits);
            for number in [0, 1, u64::from(u32::MAX), 1 << 32, last / 3, last] {
                let image = shuffle.apply(number);
                assert!(image <= last && image != number, "{number} of {bits} bits");
                assert_eq!(undo(image), number, "{bits} bits");
            }
        }
    }

    #[test]
    fn every_bit_of_a_sequence_is_balanced() {
        let random = Random::new(0, "test");
        let mut ones = [0_u32; 64];
        for index in 0..4_096 {
            let word = random.at(index);
            ones.iter_mut().enumerate().for_each(|(bit, ones)| *ones += (word >> bit & 1) as u32);
        }
        // Six standard deviations of a fair coin thrown 4,096 times.
        assert!(ones.iter().all(|&ones| ones.abs_diff(2_048) < 192), "{ones:?}");
    }

    #[test]
    fn sequences_are_fixed_for_ever_and_differ_by_purpose() {
        assert_eq!(mix(GAMMA), 0xE220_A839_7B1D_CDAF, "the first number of SplitMix64 of seed 0");
        assert_ne!(Random::new(0, "a").at(0), Random::new(0, "b").at(0));
        assert_ne!(Random::new(0, "a").at(0), Random::new(1, "a").at(0));
    }
}
