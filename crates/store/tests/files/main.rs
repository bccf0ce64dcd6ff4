//! Volumes and queues on real files: every way of doing requests, with and without the page cache.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod edge_cache;
mod errors;
mod faults;
mod known;
mod probe;
mod remote;
mod requests;
mod round_trip;
mod scratch;

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Once};

use welter_store::io::{self, Faults, IoMode, IoOptions, Memory, Pages, Place, Volume};

/// Ways of doing requests that this machine allows.
///
/// # Panics
/// When `io_uring` is refused and the environment variable `WELTER_REQUIRE` names it.
fn modes() -> Vec<IoMode> {
    static SAID: Once = Once::new();
    let mut modes = vec![IoMode::Auto, IoMode::Threads, IoMode::Blocking];
    match io::ring_allowed() {
        Ok(()) => modes.push(IoMode::Ring),
        Err(error) => {
            let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
            assert!(required.split(',').all(|what| what != "io_uring"), "{error}");
            // Not `eprintln!`: of a test that passes, that would be swallowed.
            SAID.call_once(|| {
                let _ = writeln!(std::io::stderr(), "SKIPPED: tests of io_uring: {error}");
            });
        }
    }
    modes
}

/// Every way of doing requests, with and without the page cache.
fn all_options() -> Vec<IoOptions> {
    let with =
        |mode| [true, false].map(|direct| IoOptions { mode, direct, ..IoOptions::default() });
    modes().into_iter().flat_map(with).collect()
}

/// Options with calls that fail.
fn with_faults(options: &IoOptions, faults: &Arc<Faults>) -> IoOptions {
    IoOptions { faults: Some(Arc::clone(faults)), ..options.clone() }
}

/// Bytes that differ from those of any other number.
fn content(number: u64, bytes: usize) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut content: Vec<u8> =
        std::iter::repeat_with(next).take(bytes.div_ceil(8)).flatten().collect();
    content.truncate(bytes);
    content
}

/// Memory for a place, with its content.
fn filled(place: Place, number: u64) -> Pages {
    let mut pages = Pages::zeroed(place.rounded_bytes()).unwrap();
    let bytes = place.bytes as usize;
    pages.bytes_mut()[..bytes].copy_from_slice(&content(number, bytes));
    pages
}

/// Memory for a place that holds something else than it should.
fn dirty(place: Place) -> Pages {
    let mut pages = Pages::zeroed(place.rounded_bytes()).unwrap();
    pages.bytes_mut().fill(0xA5);
    pages
}

/// Names of what is in a folder.
fn entries(folder: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A scratch volume in one folder.
fn scratch_in(folder: &std::path::Path, options: &IoOptions) -> Arc<Volume> {
    Arc::new(Volume::scratch(&[folder.to_owned()], options).unwrap())
}
