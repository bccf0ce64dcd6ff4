//! Outputs of LDBC Graphalytics: a line `vertex value` for each vertex, in any order.
//!
//! Invariant: memory is one buffer, however long the file and its lines are. Tested by
//! `lines_are_read_whatever_the_buffer`.

use std::path::Path;

use crate::error::InputError;
use crate::format::Format;
use crate::options::Limits;
use crate::source::Source;
use crate::text::fields::parse_id;
use crate::unpack::Unpacked;
use crate::words::{show, words};

/// Bytes of the buffer, and so of the longest line: an id and a value take about 40.
const BUFFER_BYTES: usize = 256 << 10;

/// An output that is being read.
pub struct Outputs {
    file: String,
    unpacked: Unpacked,
    buffer: Vec<u8>,
    /// Place in the buffer before which all was looked at.
    at: usize,
    end: usize,
    is_whole: bool,
    line: u64,
}

impl Outputs {
    /// Opens an output, compressed or not.
    ///
    /// # Errors
    /// When it is not there, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        Self::new(&Source::open(path, Some(Format::Text))?, BUFFER_BYTES)
    }

    pub(crate) fn new(source: &Source, buffer_bytes: usize) -> Result<Self, InputError> {
        Ok(Self {
            file: source.name().to_owned(),
            unpacked: source.unpack(&Limits::default())?,
            buffer: vec![0; buffer_bytes],
            at: 0,
            end: 0,
            is_whole: false,
            line: 0,
        })
    }

    /// The next vertex and its value; `None` at the end. Empty lines are passed over.
    ///
    /// # Errors
    /// When a line is no vertex and a value, with its place, or the file cannot be read.
    pub fn next_row(&mut self) -> Result<Option<(u64, &str)>, InputError> {
        let (start, end) = loop {
            let Some((start, end)) = self.next_line()? else { return Ok(None) };
            if !self.buffer[start..end].trim_ascii().is_empty() {
                break (start, end);
            }
        };
        let line = &self.buffer[start..end];
        let error = |what| InputError::Line { file: self.file.clone(), line: self.line, what };
        let mut words = words(line);
        let (Some(vertex), Some(value), None) = (words.next(), words.next(), words.next()) else {
            let what = format!("expected a vertex and its value, found {}", show(line));
            return Err(error(what));
        };
        let id = parse_id(vertex)
            .map_err(|_| error(format!("expected the id of a vertex, found {}", show(vertex))))?;
        let value = std::str::from_utf8(value)
            .map_err(|_| error(format!("expected a value, found {}", show(value))))?;
        Ok(Some((id, value)))
    }

    /// Says what is wrong with the line that came last.
    pub fn error(&self, what: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.clone(), line: self.line, what: what.into() }
    }

    /// Where the next line lies in the buffer, without its end.
    fn next_line(&mut self) -> Result<Option<(usize, usize)>, InputError> {
        loop {
            let rest = &self.buffer[self.at..self.end];
            let (length, past) = match memchr::memchr(b'\n', rest) {
                Some(length) => (length, 1),
                None if !self.is_whole => {
                    self.fill()?;
                    continue;
                }
                None if rest.is_empty() => return Ok(None),
                None => (rest.len(), 0),
            };
            let start = self.at;
            self.at += length + past;
            self.line += 1;
            return Ok(Some((start, start + length)));
        }
    }

    /// Moves the line that is cut to the front and reads on behind it.
    fn fill(&mut self) -> Result<(), InputError> {
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        if self.end == self.buffer.len() {
            self.line += 1;
            let longest = self.buffer.len();
            return Err(self.error(format!("expected a line of less than {longest} bytes")));
        }
        let read = self.unpacked.read(&mut self.buffer[self.end..])?;
        self.is_whole = read == 0;
        self.end += read;
        Ok(())
    }
}

/// Reads an output that is no file, with a buffer that many lines do not fit in.
pub(crate) fn read_for_fuzzing(bytes: &[u8]) {
    let source = Source::held("fuzz", bytes, Format::Text);
    let Ok(mut outputs) = source.and_then(|source| Outputs::new(&source, 64)) else { return };
    while let Ok(Some((_, value))) = outputs.next_row() {
        assert!(!value.is_empty() && !value.contains(|c: char| c.is_ascii_whitespace()));
        assert!(outputs.at <= outputs.end && outputs.end <= outputs.buffer.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, buffer_bytes: usize) -> Result<Vec<(u64, String)>, String> {
        let source = Source::held("o", text.as_bytes(), Format::Text).unwrap();
        let mut outputs = Outputs::new(&source, buffer_bytes).unwrap();
        let mut all = Vec::new();
        while let Some((id, value)) = outputs.next_row().map_err(|error| error.to_string())? {
            all.push((id, value.to_owned()));
        }
        Ok(all)
    }

    #[test]
    fn lines_are_read_whatever_the_buffer() {
        let text = "7 0\n\n 8\t1.5e+00 \r\n18446744073709551615 Infinity";
        let expected = [(7, "0"), (8, "1.5e+00"), (u64::MAX, "Infinity")];
        for buffer_bytes in [30, 31, 45, 64, 1000] {
            let found = read(text, buffer_bytes).unwrap();
            assert!(found.iter().map(|(id, value)| (*id, &**value)).eq(expected), "{found:?}");
        }
        assert_eq!(read("", 64), Ok(Vec::new()));
        assert_eq!(read("\n\n", 64), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_vertex_and_value_is_told_with_its_line() {
        for (text, message) in [
            ("1 2\n3\n", "o:2: expected a vertex and its value, found \"3\""),
            ("1 2 3", "o:1: expected a vertex and its value, found \"1 2 3\""),
            ("1 2\n\nx 2\n", "o:3: expected the id of a vertex, found \"x\""),
            ("-1 2\n", "o:1: expected the id of a vertex, found \"-1\""),
            (
                "18446744073709551616 2\n",
                "o:1: expected the id of a vertex, found \"18446744073709551616\"",
            ),
            (&format!("1 2\n1 {}\n", "9".repeat(80)), "o:2: expected a line of less than 64"),
        ] {
            let error = read(text, 64).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
        let source = Source::held("o", b"1 2\n1 \xff\n", Format::Text).unwrap();
        let mut outputs = Outputs::new(&source, 64).unwrap();
        assert_eq!(outputs.next_row().unwrap(), Some((1, "2")));
        assert!(outputs.next_row().unwrap_err().to_string().starts_with("o:2: expected a value"));
    }
}
