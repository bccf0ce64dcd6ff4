//! The seeds of the fuzz target for update chunks, and a few thousand changes of each, through the
//! same function.

use welter_engine::fuzzing;
use welter_testing::seeds::{Random, Seeds};

#[test]
fn seeds_and_their_changes() {
    Seeds { name: "updates", more: None, target: fuzzing::updates, change }.replay(|_| 4000);
}

/// Changes a byte, a bit or a number of the head, or cuts.
fn change(data: &mut Vec<u8>, random: Random<'_>) {
    const TELLING: [u32; 8] = [0, 1, 3, 64, 255, 65_535, 0x7fff_ffff, u32::MAX];
    let reach = if random(4) == 0 { data.len() } else { data.len().min(100) };
    let at = random(reach);
    match random(4) {
        0 if at < data.len() => data[at] = random(256) as u8,
        1 if at < data.len() => data[at] ^= 1 << random(8),
        2 if at + 4 <= data.len() => {
            let at = at / 4 * 4;
            data[at..at + 4].copy_from_slice(&TELLING[random(TELLING.len())].to_le_bytes());
        }
        _ => data.truncate(data.len() - (64 * random(3)).min(data.len())),
    }
}
