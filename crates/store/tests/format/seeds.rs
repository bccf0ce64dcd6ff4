//! The seeds of the fuzz target, and a few thousand changes of each, through the same function.
//! Where `WELTER_CORPUS` is set, instead the seeds and what fuzzing has kept, as they are: that is
//! how `cargo xtask fuzz --coverage` counts lines.

use std::path::Path;

use welter_store::fuzzing;

#[test]
fn seeds_and_their_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let only_inputs = std::env::var_os("WELTER_CORPUS").is_some();
    let files = |folder| std::fs::read_dir(root.join(folder)).into_iter().flatten();
    let mut paths: Vec<_> =
        files("../../fuzz/seeds/chunk").map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty());
    if only_inputs {
        paths.extend(files("../../fuzz/corpus/chunk").map(|entry| entry.unwrap().path()));
    } else {
        // Too large to be a good seed, but the only one with several groups of checksums.
        paths.push(root.join("tests/golden/groups.chunk"));
    }
    paths.sort();
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below.max(1)
    };
    for path in paths {
        let seed = std::fs::read(&path).unwrap();
        fuzzing::chunk(&seed);
        for _ in 0..if only_inputs { 0 } else { (4_000_000 / seed.len().max(1)).min(4000) } {
            let mut data = seed.clone();
            for _ in 0..=random(3) {
                change(&mut data, &mut random);
            }
            fuzzing::chunk(&data);
        }
    }
}

/// Changes a byte or a number, mostly in the head and the tables, or cuts.
fn change(data: &mut Vec<u8>, random: &mut impl FnMut(usize) -> usize) {
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
