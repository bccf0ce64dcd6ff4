//! A target that was measured.

use std::path::PathBuf;
use std::time::Duration;

use welter_objects::Location;
use welter_store::orphans::OrphanedObjects;
use welter_store::probe::{Latency, Probe};

use crate::failure::printable;
use crate::number_format::counted;

/// A target, and what was found out about it.
pub(super) struct Measured {
    pub(super) directories: Vec<PathBuf>,
    pub(super) probe: Probe,
    pub(super) latency: Latency,
    pub(super) took: Duration,
    /// Whether a kept graph keeps it.
    pub(super) kept: bool,
    /// Objects that other probes have left there.
    pub(super) left: OrphanedObjects,
}

impl Measured {
    /// Whether it is a folder of a bucket.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.directories.iter().any(|directory| Location::of(directory).is_some())
    }

    /// Way in which the device was read and written, for people.
    pub(super) fn cache(&self) -> &'static str {
        match self.probe.direct {
            _ if self.is_elsewhere() => "by requests for objects",
            true => "past the page cache",
            false => "through the page cache",
        }
    }

    /// Notes on what other probes have left there.
    pub(super) fn notes(&self) -> Vec<String> {
        let OrphanedObjects { removed, young } = self.left;
        let of = |count| format!("{} below {}", counted(count, "object", "objects"), self.name());
        let removed = (removed > 0)
            .then(|| format!("removed {}, which a probe left that did not end", of(removed)));
        let young = (young > 0).then(|| {
            format!(
                "{} (welter-probe-*) are of a probe that is at work, or that did not end; a probe \
                 removes them when they are a day old",
                of(young)
            )
        });
        removed.into_iter().chain(young).collect()
    }

    /// The target, for people.
    pub(super) fn name(&self) -> String {
        let names: Vec<String> =
            self.directories.iter().map(|path| path.display().to_string()).collect();
        printable(&names.join(", "))
    }
}
