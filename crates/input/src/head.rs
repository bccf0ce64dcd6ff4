//! Headers of text formats: lines one by one from a sample, errors with their numbers, and whether
//! what a header states can be true.
//!
//! Invariant: a count that a header states is checked against the size of the file before a reader
//! relies on it. Checked in `plausible`. Tested by `stated_counts_take_no_memory`.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::InputError;
use crate::options::Limits;
use crate::source::{Sample, Source};

/// Decompressed bytes in which a header must end.
const SAMPLE_BYTES: usize = 256 << 10;

/// The beginning of a file in which its header lies.
pub(crate) fn sample(source: &Source, limits: &Limits) -> Result<Sample, InputError> {
    source.sample(SAMPLE_BYTES, limits)
}

/// The lines of a header.
pub(crate) struct Head<'a> {
    file: &'a str,
    text: &'a [u8],
    whole: bool,
    at: usize,
    line: u64,
}

impl<'a> Head<'a> {
    /// Before the first line, and after a byte order mark.
    pub(crate) fn new(file: &'a str, sample: &'a Sample) -> Self {
        let at = if sample.bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { file, text: &sample.bytes, whole: sample.whole, at, line: 0 }
    }

    /// The next line without its end; `None` where the sample ends.
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let (line, length) = match memchr::memchr(b'\n', rest) {
            Some(length) => (&rest[..length], length + 1),
            None if self.whole => (rest, rest.len()),
            None => return None,
        };
        self.at += length;
        self.line += 1;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// Byte at which the next line begins.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The number of the line that came last, counted from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// An error in the line that came last.
    pub(crate) fn error(&self, what: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.to_owned(), line: self.line.max(1), what: what.into() }
    }

    /// The header does not come to its end.
    pub(crate) fn missing(&self, what: &str) -> InputError {
        let found = if self.whole { "the end of the file" } else { "only other lines at first" };
        self.error(format!("expected {what}, found {found}"))
    }
}

/// Refuses a stated number of things, each of which takes at least a number of bytes of text, where
/// the file is too small to hold them.
pub(crate) fn plausible(
    source: &Source,
    limits: &Limits,
    count: u64,
    bytes_each: u64,
    things: &str,
) -> Result<(), String> {
    let Some(stored) = source.bytes() else { return Ok(()) };
    let bytes = if source.is_plain() {
        stored
    } else {
        stored.saturating_mul(limits.ratio_max).max(limits.ratio_free_bytes)
    };
    let most = bytes / bytes_each + 1;
    if count <= most {
        return Ok(());
    }
    Err(format!(
        "expected a number of {things} that a file of this size can hold (at most {most}), \
         found {count}"
    ))
}

/// Things that a header counts and a file holds.
///
/// Invariant: no more of them are kept than were stated, up to a part a thread, so that a small
/// file that stands for a large one takes no more memory than its header may claim. Checked in
/// `add`.
pub(crate) struct BoundedCount {
    most: u64,
    found: AtomicU64,
}

impl BoundedCount {
    /// A count of nothing so far, with at most `most` to come.
    pub(crate) fn new(most: u64) -> Self {
        Self { most, found: AtomicU64::new(0) }
    }

    /// Counts more of them; an error once they are too many.
    pub(crate) fn add(&self, more: usize) -> Result<(), String> {
        let more = more as u64;
        let found = self.found.fetch_add(more, Ordering::Relaxed).saturating_add(more);
        if found <= self.most {
            return Ok(());
        }
        Err(format!("found more than the {} that the header states", self.most))
    }

    /// Number of things found so far.
    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_with_their_numbers() {
        let sample = Sample { bytes: b"a b\r\n\nc".to_vec(), whole: true, stored: 0 };
        let mut head = Head::new("f", &sample);
        assert_eq!(head.next(), Some(&b"a b"[..]));
        assert_eq!((head.next(), head.at()), (Some(&b""[..]), 6));
        assert_eq!(head.error("no").to_string(), "f:2: no");
        assert_eq!((head.next(), head.next()), (Some(&b"c"[..]), None));
        let cut = Sample { whole: false, ..sample };
        let mut head = Head::new("f", &cut);
        assert_eq!(std::iter::from_fn(|| head.next()).count(), 2);
    }
}
