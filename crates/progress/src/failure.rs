//! Kinds of reasons for which a run ends before its time.
//!
//! Every crate says of its errors which kind they are; what a process makes of a kind (its exit
//! code, an exception) is known to its command alone.

/// Kind of a failure: who can mend it, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// Options or settings that contradict themselves, or that a program has not.
    Usage,
    /// Input whose content is not what its format or the run expects.
    Input,
    /// Input, graph or checkpoint that is not there.
    Missing,
    /// Kept or temporary data that is not what was written.
    Damaged,
    /// Invariant that does not hold, whatever was read: a bug.
    Internal,
    /// Output that cannot be made.
    Output,
    /// Files that cannot be read or written, disks that are full.
    Storage,
    /// Run that was interrupted, and can be resumed.
    Resumable,
    /// Place where only another user may write.
    Permission,
    /// Memory, threads or other means of the machine that do not suffice.
    Budget,
    /// Run that was asked to end.
    Cancelled,
}

impl FailureKind {
    /// All kinds. Machines of a cluster tell each other places in this list.
    pub const ALL: [Self; 11] = [
        Self::Usage,
        Self::Input,
        Self::Missing,
        Self::Damaged,
        Self::Internal,
        Self::Output,
        Self::Storage,
        Self::Resumable,
        Self::Permission,
        Self::Budget,
        Self::Cancelled,
    ];
}
