//! The steps of the two passes: how much each takes at once, and what the first looks for.

/// Text compared in one step.
pub(super) const CHUNK_BYTES: usize = 64;

/// Bytes behind a window that loads may touch.
pub(super) const SLACK_BYTES: usize = 16;

/// Rows converted in one step.
#[cfg(target_arch = "x86_64")]
pub(super) const ROWS: usize = 4;

/// Characters that the first pass looks for.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(super) enum Seek {
    /// Ends of numbers in rows of two, lines ending with `\n`.
    Pairs,
    /// Pairs, of lines that end with `\r\n`.
    PairsCrlf,
    /// Every separator and every `\n`, whatever stands between them.
    Marks,
}
