//! Files of a directory of checkpoints: how often they are written, and how they are named.

use std::num::NonZero;

/// Interval of checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Every {
    /// After each such number of iterations, counted from the begin of the run.
    Iterations(NonZero<u64>),
    /// Checkpoints take a twentieth of the time: after one of them the run continues for
    /// 19 times as long as that took, and for 10 seconds at least. What the first one will take is
    /// guessed from its bytes.
    Share,
}

/// Name of the manifest.
pub(super) const MANIFEST: &str = "checkpoint";
/// Beginning of the names of all other files; the number of iterations follows.
pub(super) const STATE: &str = "state-";
pub(super) const STATE_KIND: [u8; 8] = *b"RUNSTATE";

/// Name of the file of a checkpoint after `iterations` iterations; `writer`: 0 in a directory, else
/// the number of the process that wrote it.
pub(super) fn state_name(iterations: u64, writer: u32) -> String {
    match writer {
        0 => format!("{STATE}{iterations}"),
        _ => format!("{STATE}{iterations}-{writer:08x}"),
    }
}

/// Whether a file is named as one of a checkpoint.
pub(super) fn is_state(name: &str) -> bool {
    name.strip_prefix(STATE).is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Whether a file is one that was being written (see [`Draft`](welter_store::durable::Draft)).
pub(super) fn is_temporary(name: &str) -> bool {
    let parts = name.strip_prefix('.').and_then(|name| name.split_once(".tmp-"));
    parts.is_some_and(|(stem, _)| stem == MANIFEST || is_state(stem))
}
