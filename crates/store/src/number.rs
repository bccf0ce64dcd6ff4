//! Numbers of graphs and of runs.

use std::hash::{BuildHasher, RandomState};

/// A random number: two graphs or runs have the same one once in 2^64 pairs.
pub fn random_number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
