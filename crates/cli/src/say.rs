//! Standard error: what a person reads beside the results.
//!
//! Invariant: that it cannot be written (its reader is gone, its disk is full) changes neither what
//! is done nor the exit code. A pipe whose reader does not read is waited for, as by every program.
//! Tested by `standard_error_that_cannot_be_written_changes_nothing`.

use std::fmt::Display;
use std::io::Write;

/// Says a line.
pub(crate) fn line(text: impl Display) {
    // At once, so that lines of several threads do not mix.
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}
