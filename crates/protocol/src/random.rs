//! Random numbers from a seed: splitmix64, so that a run can be repeated to the last event.
//!
//! ```
//! use welter_protocol::random::Random;
//!
//! let numbers = |seed| {
//!     let mut random = Random::new(seed);
//!     [random.below(100), random.below(100), random.below(100)]
//! };
//! assert_eq!(numbers(7), numbers(7));
//! assert_ne!(numbers(7), numbers(8));
//! ```

/// A stream of numbers that its seed alone decides.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is above 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product: as even as 64 bits allow, without a division.
        ((u128::from(self.number()) * u128::from(bound)) >> 64) as u64
    }

    /// Whether something happens that does so in `per_mille` of a thousand cases.
    pub fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1000) < per_mille
    }

    /// One of these, which are not none.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// Puts these into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for end in (1..all.len()).rev() {
            all.swap(end, self.below(end as u64 + 1) as usize);
        }
    }
}

/// The finaliser of splitmix64: every bit of the input reaches every bit of the result.
pub fn mix(z: u64) -> u64 {
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_everything_and_numbers_are_even() {
        let stream = |seed| {
            let mut random = Random::new(seed);
            (0..1000).map(|_| random.below(10)).collect::<Vec<_>>()
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
        let threes = stream(7).into_iter().filter(|&number| number == 3).count();
        assert!((70..130).contains(&threes), "{threes}");
    }

    #[test]
    fn a_shuffle_loses_nothing() {
        let mut all: Vec<u32> = (0..50).collect();
        Random::new(1).shuffle(&mut all);
        assert!(!all.is_sorted());
        all.sort_unstable();
        assert_eq!(all, (0..50).collect::<Vec<_>>());
    }
}
