//! Errors of an output.
//!
//! Invariant: the text of every error is one sentence that names the output;
//! [`OutputError::kind`] is stable and documented. Tested by `what_cannot_be_created_says_so` and
//! `a_full_disk_is_an_error_wherever_it_happens`.

use std::io;

use thiserror::Error;
use welter_model::edges::StreamError;
use welter_objects::{ObjectError, ObjectErrorKind, fault};
use welter_progress::FailureKind;

/// Reason why an output was not written. Nothing is left behind under its name.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The format does not follow from the name, or was asked for and does not exist.
    #[error("{name}: {what}")]
    Format {
        /// Name of the output.
        name: String,
        /// Expectation that was not met.
        what: String,
    },
    /// The file cannot be created.
    #[error("{name}: cannot create it: {source}")]
    Create {
        /// Name of the output.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Data does not fit the format.
    #[error("{name}: {what}")]
    Unfit {
        /// Name of the output.
        name: String,
        /// Sentence: which data does not fit, and what to use instead.
        what: String,
    },
    /// Memory beyond what the run may take would be needed.
    #[error(
        "{name}: sorting edges by vertex, as this format wants them, takes {needed_bytes} bytes \
         of memory, more than the {allowed_bytes} that are left"
    )]
    Budget {
        /// Name of the output.
        name: String,
        /// Bytes that it takes.
        needed_bytes: u64,
        /// Bytes that there are.
        allowed_bytes: u64,
    },
    /// Writing, or giving the file its name, failed; the disk may be full.
    #[error("{name}: cannot write: {source}")]
    Write {
        /// Name of the output.
        name: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Data could not be read. The text is that of the reader, which may know a
    /// better exit code.
    #[error("{0}")]
    Input(StreamError),
    /// Writing failed, and so did removing what was uploaded until then.
    #[error("{error}; {left}")]
    Left {
        /// Reason why it was not written.
        error: Box<OutputError>,
        /// Reason why parts of it may be left.
        left: ObjectError,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Cancelled,
}

impl OutputError {
    /// Kind of this failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Format { .. } => FailureKind::Usage,
            Self::Create { .. } | Self::Unfit { .. } => FailureKind::Output,
            Self::Write { .. } | Self::Input(_) => FailureKind::Storage,
            Self::Budget { .. } => FailureKind::Budget,
            Self::Left { error, .. } => error.kind(),
            Self::Cancelled => FailureKind::Cancelled,
        }
    }

    /// Shorthand for [`OutputError::Unfit`].
    pub(crate) fn unfit(name: &str, what: impl Into<String>) -> Self {
        Self::Unfit { name: name.to_owned(), what: what.into() }
    }

    /// Shorthand for [`OutputError::Write`]. An object has its name once.
    pub(crate) fn write(name: &str, source: io::Error) -> Self {
        let name = name.to_owned();
        match fault(&source) {
            Some(fault) if fault.kind() == ObjectErrorKind::Stopped => Self::Cancelled,
            Some(fault) => Self::Write { name, source: io::Error::other(fault.what().to_owned()) },
            None => Self::Write { name, source },
        }
    }

    /// The error of an object that cannot be written, before anything is.
    pub(crate) fn of_object(error: &ObjectError) -> Self {
        let (name, what) = (error.name().to_owned(), error.what().to_owned());
        match error.kind() {
            ObjectErrorKind::Address | ObjectErrorKind::Unsupported => Self::Format { name, what },
            ObjectErrorKind::Stopped => Self::Cancelled,
            _ => Self::Create { name, source: io::Error::other(what) },
        }
    }

    /// Adds whether what was uploaded until then was removed.
    pub(crate) fn leaving(self, given_up: Result<(), ObjectError>) -> Self {
        match given_up {
            Ok(()) => self,
            Err(left) => Self::Left { error: Box::new(self), left },
        }
    }
}
