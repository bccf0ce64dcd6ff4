//! Files that rules look at, and what they find.

use std::fmt;
use std::path::Path;

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(super) path: String,
    /// Counted from 1; 0 when the whole file is meant.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(source: &Source, line: usize, message: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// A text file of the repository.
pub(super) struct Source {
    /// Relative to the root, with `/` between folders.
    pub(super) path: String,
    pub(super) text: String,
}

impl Source {
    pub(super) fn is(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// The lines with their numbers, counted from 1.
    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split_terminator('\n').enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// A file with this text, for the tests of the rules.
#[cfg(test)]
pub(super) fn source(path: &str, text: &str) -> Source {
    Source { path: path.to_owned(), text: text.to_owned() }
}
