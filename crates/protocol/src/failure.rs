//! Reason why a run ends before its time.

use std::sync::Arc;

use crate::ids::Rank;

/// Reason why a process ends before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Another process has taken its rank.
    Fenced,
    /// Storage of the process failed; the host may start another.
    Storage,
    /// A machine did not come back in time.
    Absent,
    /// Two machines received nothing from each other for too long.
    Cut,
    /// A disk or a program did not answer for too long.
    Stalled,
    /// The input is malformed.
    BadInput,
    /// Memory does not suffice.
    Budget,
    /// A disk is full; another process would have no more room.
    Full,
    /// The user has had enough.
    Cancelled,
    /// A broken invariant.
    Broken,
    /// Blocks are lost, with all copies.
    Lost,
    /// Storage is that of a cluster of another shape.
    Reshaped,
    /// Stored or received bytes are not those that were written.
    Damaged,
    /// Settings contradict themselves, or the program does not have them.
    Usage,
}

/// Reason why a run ends before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the reason, which decides the exit code.
    pub why: Exit,
    /// Machine that failed first.
    pub rank: Rank,
    /// A sentence for a person, with places: file, line, or what was waited for.
    pub what: Arc<str>,
}
