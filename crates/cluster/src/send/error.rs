//! Why a thread of route `send` ends before its time.

use std::io;

use welter_engine::EngineError;
use welter_protocol::failure::Exit;
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
        Self::Failed { why: exit(error.kind()), what: error.to_string() }
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
        Self::Failed { why: exit(error.kind()), what: error.to_string() }
    }
}
