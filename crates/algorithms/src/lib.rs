//! One file an algorithm.
