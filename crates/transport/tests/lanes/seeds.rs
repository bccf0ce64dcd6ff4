//! The seeds of the fuzz target, and a few thousand changes of each, through the same function.
//! Where `WELTER_CORPUS` is set, instead the seeds and what fuzzing has kept, as they are: that is
//! how `cargo xtask fuzz --coverage` counts lines.

use std::path::Path;

use welter_transport::fuzzing;

#[test]
fn seeds_and_their_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let only_inputs = std::env::var_os("WELTER_CORPUS").is_some();
    let files = |folder| std::fs::read_dir(root.join(folder)).into_iter().flatten();
    let mut paths: Vec<_> =
        files("../../fuzz/seeds/bucket").map(|entry| entry.unwrap().path()).collect();
    assert!(!paths.is_empty());
    if only_inputs {
        paths.extend(files("../../fuzz/corpus/bucket").map(|entry| entry.unwrap().path()));
    }
    paths.sort();
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below.max(1)
    };
    for path in paths {
        let seed = std::fs::read(&path).unwrap();
        fuzzing::bucket(&seed);
        for _ in 0..if only_inputs { 0 } else { 2000 } {
            let mut data = seed.clone();
            for _ in 0..=random(3) {
                let at = random(data.len());
                match random(3) {
                    0 => data[at] = random(256) as u8,
                    1 => data[at] ^= 1 << random(8),
                    _ => data.truncate(data.len() - random(20).min(data.len() - 1)),
                }
            }
            fuzzing::bucket(&data);
        }
    }
}
