//! A target that was measured.

use std::path::PathBuf;
use std::time::Duration;

use welter_store::probe::{Latency, Probe};

use crate::failure::printable;

/// A target, and what was found out about it.
pub(super) struct Measured {
    pub(super) directories: Vec<PathBuf>,
    pub(super) probe: Probe,
    pub(super) latency: Latency,
    pub(super) took: Duration,
    /// Whether a kept graph keeps it.
    pub(super) kept: bool,
}

impl Measured {
    /// The target, for people.
    pub(super) fn name(&self) -> String {
        let names: Vec<String> =
            self.directories.iter().map(|path| path.display().to_string()).collect();
        printable(&names.join(", "))
    }
}
