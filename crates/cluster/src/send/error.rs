//! Why a thread of route `send` ends before its time.

use std::io::{self, ErrorKind};

use welter_engine::EngineError;
use welter_protocol::failure::Exit;
use welter_store::StoreError;
use welter_transport::LaneError;

use crate::error::ClusterError;
use crate::program::exit;

/// Reason of a thread to end.
#[derive(Debug)]
pub(super) enum Stop {
    /// The run cannot continue anywhere, for this reason.
    Failed { why: Exit, what: String },
    /// A machine is out of reach: the run may begin anew.
    Gone(String),
    /// Another thread has ended this one, and knows why.
    Over,
}

impl Stop {
    /// A broken invariant.
    pub(super) fn broken(what: impl Into<String>) -> Self {
        Self::Failed { why: Exit::Broken, what: what.into() }
    }

    /// A machine that does not come.
    pub(super) fn absent(what: impl Into<String>) -> Self {
        Self::Failed { why: Exit::Absent, what: what.into() }
    }

    /// The more telling of two reasons.
    pub(super) fn or(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Over, _) | (Self::Gone(_), Self::Failed { .. }) => other,
            _ => self,
        }
    }
}

impl From<EngineError> for Stop {
    fn from(error: EngineError) -> Self {
        let is_full = matches!(&error, EngineError::Store(error) if is_full(error));
        let why = if is_full { Exit::Full } else { exit(error.kind()) };
        Self::Failed { why, what: error.to_string() }
    }
}

/// Whether a disk is full, on which another process would have no more room.
fn is_full(error: &StoreError) -> bool {
    let says = |error: &io::Error| {
        matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    };
    match error {
        StoreError::Full { .. } => true,
        StoreError::Io { source, .. } | StoreError::Transfer { source, .. } => says(source),
        _ => false,
    }
}

impl From<LaneError> for Stop {
    fn from(error: LaneError) -> Self {
        Self::Gone(error.to_string())
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Gone(error.to_string())
    }
}

impl From<ClusterError> for Stop {
    fn from(error: ClusterError) -> Self {
        let is_full = matches!(&error, ClusterError::Store(error) if is_full(error));
        let why = if is_full { Exit::Full } else { exit(error.kind()) };
        Self::Failed { why, what: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_a_run_and_another_failure_of_it_does_not() {
        let failed = |kind: ErrorKind| StoreError::Io {
            what: "write",
            file: "edges".into(),
            source: kind.into(),
        };
        for (kind, expected) in [
            (ErrorKind::StorageFull, Exit::Full),
            (ErrorKind::QuotaExceeded, Exit::Full),
            (ErrorKind::TimedOut, Exit::Storage),
        ] {
            for stop in
                [EngineError::from(failed(kind)).into(), ClusterError::from(failed(kind)).into()]
            {
                assert!(matches!(stop, Stop::Failed { why, .. } if why == expected), "{stop:?}");
            }
        }
    }
}
