//! Files beside the chunks: durable, or not there; damaged, and noticed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod durable;
mod sealed;

use std::path::{Path, PathBuf};

/// Names of what is in a folder, in order.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}
