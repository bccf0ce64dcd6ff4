//! The bytes that an iteration moves from and to storage.

/// Bytes of storage that an iteration moves, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that are read.
    pub read: u64,
    /// Bytes that are written.
    pub written: u64,
}
