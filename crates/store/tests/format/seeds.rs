//! The seeds of the fuzz target, and a few thousand changes of each, through the same function.

use std::path::Path;

use welter_store::fuzzing;
use welter_testing::seeds::{Random, Seeds};

#[test]
fn seeds_and_their_changes() {
    // Too large to be a good seed, but the only one with several groups of checksums.
    let more = Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/groups.chunk"));
    let seeds = Seeds { name: "chunk", more, target: fuzzing::chunk, change };
    seeds.replay(|bytes| (4_000_000 / bytes.max(1)).min(4000));
}

/// Changes a byte or a number, mostly in the head and the tables, or cuts.
fn change(data: &mut Vec<u8>, random: Random<'_>) {
    const TELLING: [u32; 8] = [0, 1, 31, 64, 255, 65_535, 0x7fff_ffff, u32::MAX];
    let reach = if random(4) == 0 { data.len() } else { data.len().min(400) };
    let at = random(reach);
    match random(4) {
        0 if at < data.len() => data[at] = random(256) as u8,
        1 if at < data.len() => data[at] ^= 1 << random(8),
        2 if at + 4 <= data.len() => {
            let at = at / 4 * 4;
            data[at..at + 4].copy_from_slice(&TELLING[random(TELLING.len())].to_le_bytes());
        }
        _ => data.truncate(data.len() - random(20).min(data.len())),
    }
}
