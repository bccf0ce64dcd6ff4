//! Failures of the command: one line, a hint where there is one, and a code.
//!
//! Invariant: nothing but [`Failure::report`], the hook for panics and, where there is no memory to
//! say more, the allocator writes an error. Tested by `a_panic_is_one_error_with_its_own_code` and
//! `memory_that_the_system_refuses_is_an_error`.

use std::any::Any;
use std::io::{self, ErrorKind};

use welter_engine::EngineError;
use welter_input::InputError;
use welter_input::generate::GenerateError;
use welter_model::edges::StreamError;
use welter_output::OutputError;
use welter_progress::FailureKind;
use welter_store::StoreError;

use crate::{exit_code, say};

/// Reason why the command did not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// Kind; none where the reader of standard output is gone, which is no error.
    kind: Option<FailureKind>,
    message: String,
    hint: Option<String>,
    wrong_guess: bool,
    need: Option<u64>,
    ids: Option<(u64, u64)>,
}

impl Failure {
    /// A failure of this kind; with a hint where it is a bug, wherever that was found.
    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind: Some(kind),
            message: message.into(),
            hint: (kind == FailureKind::Internal).then(|| REPORT.to_owned()),
            wrong_guess: false,
            need: None,
            ids: None,
        }
    }

    /// A failure of this one's kind, with another message and no hint.
    pub(crate) fn saying(&self, message: impl Into<String>) -> Self {
        Self { kind: self.kind, ..Self::output(message) }
    }

    /// An input with wrong content.
    pub fn content(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Input, message)
    }

    /// The caller wants no more of it.
    pub fn interrupted() -> Self {
        Self::new(FailureKind::Cancelled, "interrupted")
    }

    /// An invariant that does not hold.
    pub fn bug(what: impl std::fmt::Display) -> Self {
        Self::new(FailureKind::Internal, format!("broken invariant: {what}"))
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Usage, message)
    }

    /// An output that cannot be made.
    pub(crate) fn output(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Output, message)
    }

    /// Adds what to do about it.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds one more thing to do about it.
    pub(crate) fn and_hint(mut self, hint: &str) -> Self {
        self.hint = Some(self.hint.map_or(hint.to_owned(), |first| format!("{first}; {hint}")));
        self
    }

    /// The error itself, without hints.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exit code, as in the help of the command.
    pub fn code(&self) -> u8 {
        self.kind.map_or(0, exit_code::of)
    }

    /// Kind of the failure; none where it is no error.
    pub fn kind(&self) -> Option<FailureKind> {
        self.kind
    }

    /// Advice about it, where there is any.
    pub fn hinted(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The smallest budget of memory that would do, where it is too small.
    pub(crate) fn need(&self) -> Option<u64> {
        self.need
    }

    /// Number of distinct ids, and what they take, where that is too much.
    pub(crate) fn ids(&self) -> Option<(u64, u64)> {
        self.ids
    }

    /// Whether slots were guessed from a sample, and there are more.
    pub(crate) fn is_wrong_guess(&self) -> bool {
        self.wrong_guess
    }

    /// Standard output has no reader any more, as in `welter ... | head`: no error.
    fn closed() -> Self {
        Self { kind: None, ..Self::new(FailureKind::Output, "") }
    }

    /// Writing to standard output failed.
    pub(crate) fn stdout(error: &io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::closed();
        }
        Self::new(FailureKind::Storage, format!("standard output: cannot write: {error}"))
    }

    /// Writing a table or edges to standard output failed.
    pub(crate) fn stream(error: OutputError) -> Self {
        match error {
            OutputError::Write { source, .. } => Self::stdout(&source),
            other => other.into(),
        }
    }

    /// Edges or results that are to be written could not be read.
    pub(crate) fn read(error: StreamError) -> Self {
        let error = match error.downcast::<InputError>() {
            Ok(error) => return (*error).into(),
            Err(error) => error,
        };
        match error.downcast::<EngineError>() {
            Ok(error) => (*error).into(),
            Err(error) => Self::new(FailureKind::Storage, error.to_string()),
        }
    }

    /// Reports to the user, and returns the exit code.
    pub(crate) fn report(&self) -> u8 {
        if !self.message.is_empty() {
            say::line(format_args!("error: {}", printable(&self.message)));
        }
        if let Some(hint) = &self.hint {
            say::line(format_args!("hint: {}", printable(hint)));
        }
        self.code()
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&printable(&self.message))
    }
}

impl std::error::Error for Failure {}

/// A text without characters that would steer the terminal: it may quote the input.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let wrong_guess = matches!(error, InputError::Unlikely { .. });
        let ids = match error {
            InputError::Ids { count, needed_bytes, .. } => Some((count, needed_bytes)),
            _ => None,
        };
        let failure = Self { wrong_guess, ids, ..Self::new(error.kind(), error.to_string()) };
        match hint(&error) {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        let kind = error.kind();
        match error {
            EngineError::Input(error) => match error.downcast::<InputError>() {
                Ok(error) => (*error).into(),
                // Also what a kept graph says that was read as an input: the kind is its own.
                Err(error) => Self::new(kind, error.to_string()),
            },
            EngineError::Budget { need, .. } => {
                Self { need: Some(need), ..Self::new(kind, error.to_string()) }
            }
            EngineError::Route { why, take } => {
                Self::new(kind, why).hint(format!("take {take}, or leave --route out"))
            }
            other => Self::new(kind, other.to_string()),
        }
    }
}

impl From<OutputError> for Failure {
    fn from(error: OutputError) -> Self {
        let kind = error.kind();
        match error {
            OutputError::Input(error) => Self::read(error),
            other => Self::new(kind, other.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}

/// Advice about an error in an input, where that is likely to help.
fn hint(error: &InputError) -> Option<&'static str> {
    match error {
        InputError::Budget { .. } | InputError::Ids { .. } => {
            Some("give it more with --memory, where the machine has it")
        }
        InputError::Batch { .. } => Some(
            "write it with fewer rows a batch (such as max_chunksize of pyarrow), or uncompressed \
             and not through a pipe; or give it more with --memory, where the machine has it",
        ),
        InputError::ScratchMade { .. }
        | InputError::ScratchFull { .. }
        | InputError::ScratchShort { .. } => {
            Some("name another directory for temporary files with --scratch, on a disk with space")
        }
        _ => None,
    }
}

/// Advice about an invariant that does not hold.
pub(crate) const REPORT: &str = "this is a bug in welter; please report it, with the command";

/// Reason why a run ends whose threads the system did not all start.
pub(crate) const NO_THREAD: &str = "the system starts no more threads, whose number it limits by \
                                    user and control group; take fewer --threads";

/// Whether a panic is that of a thread which the system did not start: the library has no other way
/// to say so of threads that share what the caller has.
pub(crate) fn is_refused_thread(payload: &(dyn Any + Send)) -> bool {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.is_some_and(|text| text.starts_with("failed to spawn thread"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_input_keep_their_code_through_engine_and_output() {
        let missing = || -> StreamError {
            let what = "no such file".to_owned();
            Box::new(InputError::Missing { file: "a.tsv".to_owned(), what })
        };
        for failure in [
            Failure::from(EngineError::Input(missing())),
            Failure::from(OutputError::Input(missing())),
        ] {
            assert_eq!((failure.code(), failure.message.as_str()), (66, "a.tsv: no such file"));
        }
        // A bug is no budget that is too small, wherever it shows.
        let bug = Failure::from(EngineError::Internal("edges were met twice".to_owned()));
        assert_eq!(
            (bug.code(), bug.message.as_str()),
            (70, "broken invariant: edges were met twice")
        );
        assert_eq!(bug.hint.as_deref(), Some(REPORT));
        let request = EngineError::Store(StoreError::Request("no bytes".to_owned()));
        assert_eq!(Failure::from(request).hint.as_deref(), Some(REPORT));
        let setting = Failure::from(EngineError::Unsupported("no reverse edges".to_owned()));
        assert_eq!((setting.code(), setting.hint), (2, None));
        let refused = || -> StreamError { Box::new(EngineError::Memory(1 << 20)) };
        assert_eq!(Failure::from(OutputError::Input(refused())).code(), 78);
        assert_eq!(Failure::from(OutputError::Input("what".into())).code(), 74);
    }

    #[test]
    fn a_closed_pipe_is_no_error() {
        assert_eq!(Failure::stdout(&ErrorKind::BrokenPipe.into()).code(), 0);
        assert_eq!(Failure::stdout(&ErrorKind::StorageFull.into()).code(), 74);
    }

    #[test]
    fn what_would_steer_the_terminal_is_escaped() {
        assert_eq!(printable("a\u{1b}[31m\nü"), "a\\u{1b}[31m\\nü");
    }
}
