//! Why a run ends before its time.

use std::sync::Arc;

use crate::ids::Rank;

/// Why a process ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Another process has taken its rank.
    Fenced,
    /// Its storage failed. Exit code 74; the host may start another.
    Storage,
    /// A machine did not come back in time. Exit code 75.
    Absent,
    /// Two machines received nothing from each other for too long. Exit code 75.
    Cut,
    /// A disk or a program did not answer for too long. Exit code 75.
    Stalled,
    /// The input is malformed. Exit code 65.
    BadInput,
    /// Memory does not suffice. Exit code 78.
    Budget,
    /// A disk is full. Exit code 74; another process would have no more room.
    Full,
    /// The user has had enough. Exit code 130.
    Cancelled,
    /// A broken invariant. Exit code 70.
    Broken,
    /// Blocks are lost, with all copies. Exit code 70.
    Lost,
    /// Storage is that of a cluster of another shape. Exit code 78.
    Reshaped,
}

/// Why a run ends before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the reason, which decides the exit code.
    pub why: Exit,
    /// Machine that failed first.
    pub rank: Rank,
    /// A sentence for a person, with places: file, line, or what was waited for.
    pub what: Arc<str>,
}
