//! A target that was measured.

use std::path::PathBuf;
use std::time::Duration;

use welter_objects::Location;
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
    /// Whether it is a folder of a bucket.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.directories.iter().any(|directory| Location::of(directory).is_some())
    }

    /// How it was read and written, for people.
    pub(super) fn cache(&self) -> &'static str {
        match self.probe.direct {
            _ if self.is_elsewhere() => "by requests for objects",
            true => "past the page cache",
            false => "through the page cache",
        }
    }

    /// The target, for people.
    pub(super) fn name(&self) -> String {
        let names: Vec<String> =
            self.directories.iter().map(|path| path.display().to_string()).collect();
        printable(&names.join(", "))
    }
}
