//! Reason why a cluster did not come to its end.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;
use welter_progress::FailureKind;
use welter_protocol::Rank;
use welter_protocol::failure::{Exit, Failure};
use welter_store::StoreError;

/// Reason why a cluster did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// A file cannot be used; the store says which and why.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A directory belongs to another process.
    #[error("{}: another process uses it; each machine has a directory of its own", .0.display())]
    InUse(PathBuf),
    /// Machines prove nothing to each other, so none may be reached from elsewhere.
    #[error("{0}: without credentials machines are on this computer alone (127.0.0.1, ::1)")]
    Address(SocketAddr),
    /// A file of credentials cannot be used.
    #[error("{}: {what}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// Kind of the failure.
        kind: FailureKind,
        /// The reason.
        what: String,
    },
    /// A machine of another computer did not come.
    #[error("machine {rank} has not come within {seconds} s")]
    Absent {
        /// Rank of the machine.
        rank: Rank,
        /// Time that was waited.
        seconds: u64,
    },
    /// A machine of another computer cannot take part.
    #[error("machine {rank}: {what}")]
    Declined {
        /// Rank of the machine.
        rank: Rank,
        /// Kind of its failure.
        kind: FailureKind,
        /// The reason.
        what: String,
    },
    /// Rank 0 cannot be reached.
    #[error("machine 0 ({first}) is out of reach for {seconds} s: {source}")]
    OutOfReach {
        /// Address at which it should be.
        first: String,
        /// Time that was waited.
        seconds: u64,
        /// The system's answer.
        source: io::Error,
    },
    /// A socket cannot be had.
    #[error("cannot {what}: {source}")]
    Socket {
        /// Call that was tried.
        what: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// The system starts no thread or process.
    #[error("the system starts no machine: {0}")]
    Start(io::Error),
    /// All machines ended with this verdict.
    #[error("machine {}: {}", .0.rank, .0.what)]
    Failed(Failure),
    /// A machine ended more often than it is started again while a run comes no further.
    #[error("machine {rank} has ended {times} times in a row{}", reason(last.as_ref()))]
    Restarts {
        /// Rank of the machine.
        rank: Rank,
        /// Number of times that it has ended.
        times: u32,
        /// Reason that it gave.
        last: Option<Failure>,
    },
    /// Machines that read an input together have lost each other.
    #[error("machines that read the input together have lost each other: {0}")]
    Parted(String),
    /// The user has had enough.
    #[error("interrupted")]
    Cancelled,
    /// A process does not answer.
    #[error("machine {rank}: its process does not say what it was asked for")]
    Silent {
        /// Rank of the machine.
        rank: Rank,
    },
    /// The result was committed, and a disk does not have it any more.
    #[error("machine {rank}: a chunk of the result cannot be read: {what}")]
    Result {
        /// Rank of the machine.
        rank: Rank,
        /// The reason.
        what: String,
    },
}

impl ClusterError {
    /// Kind of the failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::InUse(_) => FailureKind::Output,
            Self::Address(_) => FailureKind::Usage,
            Self::Start(_) => FailureKind::Budget,
            Self::Socket { .. } => FailureKind::Storage,
            Self::Failed(failure) => kind(failure.why),
            // One that gives no reason was killed.
            Self::Restarts { last, .. } => {
                last.as_ref().map_or(FailureKind::Resumable, |last| kind(last.why))
            }
            Self::Cancelled => FailureKind::Cancelled,
            Self::Credentials { kind, .. } | Self::Declined { kind, .. } => *kind,
            Self::Silent { .. }
            | Self::Absent { .. }
            | Self::OutOfReach { .. }
            | Self::Parted(_) => FailureKind::Resumable,
            Self::Result { .. } => FailureKind::Damaged,
        }
    }
}

/// A failure as the end of a sentence.
fn reason(failure: Option<&Failure>) -> String {
    failure.map_or(String::new(), |failure| format!(", the last time because {}", failure.what))
}

/// Kind of a reason of the protocol.
fn kind(why: Exit) -> FailureKind {
    match why {
        Exit::Storage | Exit::Full => FailureKind::Storage,
        Exit::Fenced | Exit::Absent | Exit::Cut | Exit::Stalled => FailureKind::Resumable,
        Exit::BadInput => FailureKind::Input,
        Exit::Budget => FailureKind::Budget,
        Exit::Reshaped | Exit::Usage => FailureKind::Usage,
        Exit::Cancelled => FailureKind::Cancelled,
        Exit::Broken => FailureKind::Internal,
        Exit::Lost | Exit::Damaged => FailureKind::Damaged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::exit;

    #[test]
    fn other_machines_learn_the_kind_of_a_failure() {
        for expected in [
            FailureKind::Usage,
            FailureKind::Input,
            FailureKind::Damaged,
            FailureKind::Internal,
            FailureKind::Storage,
            FailureKind::Budget,
            FailureKind::Cancelled,
        ] {
            assert_eq!(kind(exit(expected)), expected);
        }
    }
}
