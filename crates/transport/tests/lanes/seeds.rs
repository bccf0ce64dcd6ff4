//! The seeds of the fuzz target, and a few thousand changes of each, through the same function.

use welter_testing::seeds::{Random, Seeds};
use welter_transport::fuzzing;

#[test]
fn seeds_and_their_changes() {
    Seeds { name: "bucket", more: None, target: fuzzing::bucket, change }.replay(|_| 2000);
}

/// Changes a byte or a bit, or cuts.
fn change(data: &mut Vec<u8>, random: Random<'_>) {
    let at = random(data.len());
    match random(3) {
        0 => data[at] = random(256) as u8,
        1 => data[at] ^= 1 << random(8),
        _ => data.truncate(data.len() - random(20).min(data.len() - 1)),
    }
}
