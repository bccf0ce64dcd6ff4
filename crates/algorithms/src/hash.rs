//! Numbers that look random and depend on a seed and the number of a vertex alone, so that the same
//! vertex has the same one on every thread, route and run.

/// The finaliser of splitmix64: every bit of the input reaches every bit of the result.
#[inline(always)]
pub(crate) fn hash(seed: u64, index: u64) -> u64 {
    let mut z = (index ^ seed.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
