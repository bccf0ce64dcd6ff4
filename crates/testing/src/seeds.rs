//! Seeds of a fuzz target, and changes of each, through the body of the target.
//!
//! Where `WELTER_CORPUS` is set, instead the seeds and what fuzzing has kept, as they are: that is
//! how `cargo xtask fuzz --coverage` counts lines. `WELTER_CHANGES=100` makes a hundred times as
//! many changes, of which `WELTER_CHANGES_FROM=7` makes others.

use std::path::{Path, PathBuf};

/// Numbers below a bound, the same in every run.
pub type Random<'a> = &'a mut dyn FnMut(usize) -> usize;

/// A fuzz target and how its seeds are changed.
pub struct Seeds<'a> {
    /// Name of the target, as its folder of seeds has it.
    pub name: &'a str,
    /// A file that is changed like a seed, but is no input of its own.
    pub more: Option<PathBuf>,
    /// Body of the target.
    pub target: fn(&[u8]),
    /// One change of an input.
    pub change: fn(&mut Vec<u8>, Random<'_>),
}

/// A number that the environment states.
fn stated(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

impl Seeds<'_> {
    /// Runs the target on its seeds, and on copies of each, as many as `changes` says for its
    /// number of bytes, which are changed up to four times.
    ///
    /// # Panics
    /// When a seed cannot be read or there is none, and when the target does.
    pub fn replay(&self, changes: impl Fn(usize) -> usize) {
        let only_inputs = std::env::var_os("WELTER_CORPUS").is_some();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
        let files = |kind: &str| {
            let entries = std::fs::read_dir(folder.join(kind).join(self.name));
            entries.into_iter().flatten().map(|entry| entry.expect("an entry").path())
        };
        let mut paths: Vec<PathBuf> = files("seeds").collect();
        assert!(!paths.is_empty(), "{} has no seeds", self.name);
        if only_inputs {
            paths.extend(files("corpus"));
        } else {
            paths.extend(self.more.clone());
        }
        paths.sort();
        let times = if only_inputs { 0 } else { stated("WELTER_CHANGES").unwrap_or(1) as usize };
        let mut state = stated("WELTER_CHANGES_FROM").unwrap_or(1);
        let mut random = move |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below.max(1)
        };
        for path in paths {
            let seed = std::fs::read(&path).expect("a seed");
            (self.target)(&seed);
            for _ in 0..changes(seed.len()) * times {
                let mut data = seed.clone();
                for _ in 0..=random(4) {
                    (self.change)(&mut data, &mut random);
                }
                (self.target)(&data);
            }
        }
    }
}
