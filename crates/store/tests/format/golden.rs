//! The bytes of the format, kept in files. They change with the version in the header only.
//!
//! `WELTER_BLESS=1 cargo test -p welter-store` writes the files anew, here and (the small ones)
//! among the seeds of the fuzz target.

use std::fs;
use std::path::PathBuf;

use crate::round_trip::check;
use crate::samples::{Sample, groups, small};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn all() -> Vec<(String, Sample)> {
    let mut all = small();
    all.push(("groups".to_owned(), groups()));
    all
}

#[test]
fn the_builder_writes_the_same_bytes_as_ever() {
    let bless = std::env::var_os("WELTER_BLESS").is_some();
    for (name, sample) in all() {
        let path = root().join(format!("tests/golden/{name}.chunk"));
        let built = sample.build();
        if bless {
            fs::write(&path, built.bytes()).unwrap();
        }
        if bless && name != "groups" {
            let seed = format!("../../fuzz/seeds/chunk/{name}");
            fs::write(root().join(seed), built.bytes()).unwrap();
        }
        let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let differs = golden.iter().zip(built.bytes()).position(|(old, new)| old != new);
        assert_eq!((differs, golden.len()), (None, built.bytes().len()), "{name}");
    }
}

#[test]
fn both_readers_read_the_bytes_of_ever() {
    for (name, sample) in all() {
        let golden = fs::read(root().join(format!("tests/golden/{name}.chunk"))).unwrap();
        check(&sample, &golden);
    }
}

#[test]
fn every_golden_file_is_looked_at() {
    let files = fs::read_dir(root().join("tests/golden")).unwrap();
    assert_eq!(files.count(), all().len());
}
