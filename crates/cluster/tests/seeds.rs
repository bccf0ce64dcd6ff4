//! The seeds of the fuzz target for frames, and a few thousand changes of each, through the same
//! function.

use welter_cluster::fuzzing;
use welter_testing::seeds::{Random, Seeds};

#[test]
fn seeds_and_their_changes() {
    Seeds { name: "frame", more: None, target: fuzzing::frame, change }.replay(|_| 1000);
}

/// Changes a byte or a bit, puts a small number, cuts, or repeats the end.
fn change(data: &mut Vec<u8>, random: Random<'_>) {
    let at = random(data.len());
    match random(5) {
        0 => data[at] = random(256) as u8,
        1 => data[at] ^= 1 << random(8),
        2 => data[at] = random(5) as u8,
        3 => data.truncate(data.len() - random(20).min(data.len() - 1)),
        _ => data.extend_from_within(at.max(1).min(data.len())..),
    }
}
