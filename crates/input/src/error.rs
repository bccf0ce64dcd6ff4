//! Errors in an input, each with its place and what was expected instead.
//!
//! Invariant: the text of every error is one sentence that names the file, so that a person can
//! mend the input without reading anything else; [`InputError::kind`] is stable and
//! documented. Tested by `an_error_reads_like_a_sentence_with_its_place`.

use std::io;

use thiserror::Error;
use welter_objects::{ObjectError, ObjectErrorKind};
use welter_progress::FailureKind;

/// Reason why an input could not be read.
///
/// An error says where it is and what was expected there:
///
/// ```
/// use welter_input::{IdKind, ReadOptions};
/// use welter_progress::Progress;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("edges.txt");
/// std::fs::write(&path, "0 1\n1 two\n")?;
/// let options = ReadOptions { ids: IdKind::Integers, ..ReadOptions::default() };
/// let read = welter_input::read(&[&path], &options, &Progress::new());
/// let error = read.err().ok_or("it was read")?;
/// assert!(error.to_string().starts_with(&format!("{}:2: ", path.display())), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// A line of a text file is malformed.
    #[error("{file}:{line}: {what}")]
    Line {
        /// Name of the file as it was given, or `-` for standard input.
        file: String,
        /// Line, counted from 1 (in the decompressed text).
        line: u64,
        /// Text of what was expected and what was found.
        what: String,
    },
    /// A place of a binary or compressed file is malformed.
    #[error("{file}: byte {offset}: {what}")]
    Byte {
        /// Name of the file as it was given.
        file: String,
        /// Offset in the file as it is stored, counted from 0.
        offset: u64,
        /// Text of what was expected and what was found.
        what: String,
    },
    /// A row of a table is malformed.
    #[error("{file}: row {row}: {what}")]
    Row {
        /// Name of the file as it was given.
        file: String,
        /// Row, counted from 1.
        row: u64,
        /// Text of what was expected and what was found.
        what: String,
    },
    /// A file as a whole cannot be what it should be: wrong types, no such column.
    #[error("{file}: {what}")]
    Content {
        /// Name of the file as it was given.
        file: String,
        /// Text of what was expected and what was found.
        what: String,
    },
    /// A file became another one while it was read.
    #[error("{file}: {what}")]
    Changed {
        /// Name of the file as it was given.
        file: String,
        /// Text of what it was and what it is.
        what: String,
    },
    /// Files that are fine each but do not go together, or that hold no edge at all.
    #[error("{what}")]
    Inputs {
        /// Text of what was expected and what was found.
        what: String,
    },
    /// No such file, or a pattern that matches none.
    #[error("{file}: {what}")]
    Missing {
        /// Name or pattern as it was given.
        file: String,
        /// `no such file` or the like.
        what: String,
    },
    /// Slots were guessed from a sample ([`crate::ReadOptions::sampled`]), and there are more.
    #[error("an id is beyond {slots}, which no id of a sample was near")]
    Unlikely {
        /// The number of slots that was guessed.
        slots: u64,
    },
    /// The system refused to open or read a file.
    #[error("{file}: cannot {action}: {source}")]
    Io {
        /// Name of the file as it was given.
        file: String,
        /// Verb for what was tried, such as `open` or `read at byte 4096`.
        action: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Memory beyond what the run may take would be needed.
    #[error(
        "{file}: reading takes more than the {allowed_bytes} bytes of memory that this run may use"
    )]
    Budget {
        /// Name of the file that was being read.
        file: String,
        /// The budget that was stated.
        allowed_bytes: u64,
    },
    /// A batch of rows that must be in memory as a whole does not fit.
    #[error(
        "{file}: byte {offset}: a batch of {rows} rows takes {needed_bytes} bytes of memory, as it \
         cannot be read in pieces; this run may use {allowed_bytes} for one"
    )]
    Batch {
        /// Name of the file that was being read.
        file: String,
        /// Where the message begins, in decompressed bytes.
        offset: u64,
        /// Number of rows that it has.
        rows: u64,
        /// Bytes of its buffers, packed and unpacked, with dictionaries.
        needed_bytes: u64,
        /// Bytes that are allowed, a share of the budget.
        allowed_bytes: u64,
    },
    /// Ids that are held until results are written need more memory than the run may take.
    #[error(
        "{file}: {count} distinct ids take {needed_bytes} bytes of memory while they are read; \
         this run may use {allowed_bytes}"
    )]
    Ids {
        /// Name of the files that have them.
        file: String,
        /// Number of distinct ids.
        count: u64,
        /// The smallest budget that would do for reading.
        needed_bytes: u64,
        /// The budget that was stated.
        allowed_bytes: u64,
    },
    /// No temporary file can be made in a directory.
    #[error("{directory}: cannot make a temporary file there: {source}")]
    ScratchMade {
        /// The directory.
        directory: String,
        /// The system's answer.
        source: io::Error,
    },
    /// The temporary files that are needed do not fit.
    #[error("{directory}: no space is left there for {bytes} more bytes of temporary files")]
    ScratchFull {
        /// The directories, all of them.
        directory: String,
        /// Bytes that were to be written next.
        bytes: u64,
    },
    /// The temporary files that will be needed do not fit, as far as can be foreseen.
    #[error(
        "{directory}: this run may need {need} bytes more for temporary files there; {free} are \
         free"
    )]
    ScratchShort {
        /// The directories, all of them.
        directory: String,
        /// Bytes that are still to be written, by those that were.
        need: u64,
        /// Bytes that can be.
        free: u64,
    },
    /// The system refused to read or write a temporary file.
    #[error("a temporary file in {directory}: cannot {action}: {source}")]
    TempFiles {
        /// Directory of the file, which itself has no name.
        directory: String,
        /// Verb for what was tried, such as `read at byte 4096`.
        action: String,
        /// The system's answer.
        source: io::Error,
    },
    /// A temporary file does not hold what was written to it.
    #[error("a temporary file in {directory}: byte {offset}: {what}")]
    ScratchDamaged {
        /// Directory of the file, which itself has no name.
        directory: String,
        /// Where the damaged block begins.
        offset: u64,
        /// Text of what was expected and what was found.
        what: String,
    },
    /// Options that contradict each other or themselves.
    #[error("{what}")]
    Options {
        /// Options, and what is wrong with them.
        what: String,
    },
    /// The system starts no more threads.
    #[error("cannot start threads: {what}")]
    Threads {
        /// Text of the whole error.
        what: String,
    },
    /// Another machine that reads a share of the input could not.
    #[error("{what}")]
    Elsewhere {
        /// Kind of its failure.
        kind: FailureKind,
        /// Text of the whole error, as that machine has it.
        what: String,
    },
    /// Another machine that reads a share of the input is out of reach.
    #[error("a machine that reads a share of the input is lost: {what}")]
    Lost {
        /// Sign by which that was noticed.
        what: String,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Cancelled,
}

impl InputError {
    /// Kind of this failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Line { .. }
            | Self::Byte { .. }
            | Self::Row { .. }
            | Self::Content { .. }
            | Self::Inputs { .. }
            | Self::Unlikely { .. } => FailureKind::Input,
            Self::Missing { .. } => FailureKind::Missing,
            Self::ScratchDamaged { .. } => FailureKind::Damaged,
            Self::ScratchMade { .. } => FailureKind::Output,
            Self::Io { .. }
            | Self::Changed { .. }
            | Self::ScratchFull { .. }
            | Self::ScratchShort { .. }
            | Self::TempFiles { .. } => FailureKind::Storage,
            Self::Budget { .. } | Self::Batch { .. } | Self::Ids { .. } | Self::Threads { .. } => {
                FailureKind::Budget
            }
            Self::Options { .. } => FailureKind::Usage,
            Self::Elsewhere { kind, .. } => *kind,
            Self::Lost { .. } => FailureKind::Resumable,
            Self::Cancelled => FailureKind::Cancelled,
        }
    }

    /// Shorthand for [`InputError::Io`]. What an object says of itself is said once.
    pub(crate) fn io(file: &str, action: impl Into<String>, source: io::Error) -> Self {
        match welter_objects::fault(&source) {
            None => Self::Io { file: file.to_owned(), action: action.into(), source },
            Some(fault) => Self::of_fault(file, action.into(), fault),
        }
    }

    /// The error of an object.
    pub fn of_object(error: &ObjectError) -> Self {
        Self::of_fault(error.name(), "read".to_owned(), error)
    }

    /// The error that the fault of an object is.
    fn of_fault(file: &str, action: String, fault: &ObjectError) -> Self {
        let (file, what) = (file.to_owned(), fault.what().to_owned());
        match fault.kind() {
            ObjectErrorKind::Address => Self::Options { what: fault.to_string() },
            ObjectErrorKind::Missing => Self::Missing { file, what },
            ObjectErrorKind::Stopped => Self::Cancelled,
            ObjectErrorKind::Changed => Self::Changed { file, what },
            ObjectErrorKind::Unsupported => Self::Content { file, what },
            _ => Self::Io { file, action, source: io::Error::other(what) },
        }
    }

    /// Shorthand for [`InputError::Content`].
    pub(crate) fn content(file: &str, what: impl Into<String>) -> Self {
        Self::Content { file: file.to_owned(), what: what.into() }
    }

    /// Shorthand for [`InputError::Byte`].
    pub(crate) fn byte(file: &str, offset: u64, what: impl Into<String>) -> Self {
        Self::Byte { file: file.to_owned(), offset, what: what.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_like_a_sentence_with_its_place() {
        let error = InputError::Line {
            file: "edges.tsv".into(),
            line: 17,
            what: "expected a vertex id, found \"abc\"".into(),
        };
        assert_eq!(error.to_string(), "edges.tsv:17: expected a vertex id, found \"abc\"");
        assert_eq!(error.kind(), FailureKind::Input);
    }
}
