//! Bytes of a source one after the other, with the line that they are on. A byte order mark at the
//! beginning is none of them.
//!
//! Invariant: one buffer is held, whatever the source is. As a [`BufRead`] it gives at most a
//! stated number of bytes between two calls of [`Bytes::allow`], so that a decoder that gathers
//! what belongs together cannot be made to gather without end. Tested by
//! `a_decoder_is_given_as_much_as_it_may_take`.

use std::io::{self, BufRead, Read};

use crate::error::InputError;

/// Fills a buffer from its beginning and says how far; 0 is the end.
pub(crate) type Fill<'a> = Box<dyn FnMut(&mut [u8]) -> Result<usize, InputError> + 'a>;

const BUFFER_BYTES: usize = 64 << 10;

/// The bytes of a source.
pub(crate) struct Bytes<'a> {
    file: &'a str,
    fill: Fill<'a>,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    line: u64,
    allowed: usize,
    /// Reason why [`BufRead`] failed, with more than an `io::Error` can say.
    failure: Option<InputError>,
    /// Whether nothing was read yet.
    fresh: bool,
    /// Bytes that were in the buffer before.
    before: u64,
}

impl<'a> Bytes<'a> {
    /// The bytes that `fill` gives.
    pub(crate) fn new(file: &'a str, fill: Fill<'a>) -> Self {
        let buffer = vec![0; BUFFER_BYTES];
        let (at, filled, allowed) = (0, 0, 0);
        Self {
            file,
            fill,
            buffer,
            at,
            filled,
            line: 1,
            allowed,
            failure: None,
            fresh: true,
            before: 0,
        }
    }

    /// Bytes in memory.
    pub(crate) fn of_slice(file: &'a str, mut slice: &'a [u8]) -> Self {
        let fill = move |buffer: &mut [u8]| {
            let count = slice.len().min(buffer.len());
            buffer[..count].copy_from_slice(&slice[..count]);
            slice = &slice[count..];
            Ok(count)
        };
        Self::new(file, Box::new(fill))
    }

    /// The name that errors use.
    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// The line of the next byte, counted from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The next byte, which stays.
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, InputError> {
        while self.at == self.filled {
            self.before += self.at as u64;
            self.filled = (self.fill)(&mut self.buffer)?;
            self.at = 0;
            if self.filled == 0 {
                break;
            }
            if std::mem::take(&mut self.fresh) {
                self.pass_mark()?;
            }
        }
        Ok(self.buffer[..self.filled].get(self.at).copied())
    }

    /// Passes a byte order mark, however few bytes came at first.
    fn pass_mark(&mut self) -> Result<(), InputError> {
        const MARK: &[u8] = b"\xef\xbb\xbf";
        while self.filled < MARK.len() && MARK.starts_with(&self.buffer[..self.filled]) {
            match (self.fill)(&mut self.buffer[self.filled..])? {
                0 => break,
                count => self.filled += count,
            }
        }
        if self.buffer[..self.filled].starts_with(MARK) {
            self.at = MARK.len();
        }
        Ok(())
    }

    /// Passes the byte that [`Bytes::peek`] gave.
    pub(crate) fn pass(&mut self) {
        self.line += u64::from(self.buffer[self.at] == b'\n');
        self.at += 1;
    }

    /// The bytes that are there without waiting for more.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    /// Passes `count` bytes of [`Bytes::rest`].
    pub(crate) fn pass_all(&mut self, count: usize) {
        self.line += memchr::memchr_iter(b'\n', &self.rest()[..count]).count() as u64;
        self.at += count;
    }

    /// The first bytes, at least `bytes` where the file has them; nothing was passed yet.
    pub(crate) fn head(&mut self, bytes: usize) -> Result<&[u8], InputError> {
        self.peek()?;
        while self.filled - self.at < bytes {
            match (self.fill)(&mut self.buffer[self.filled..])? {
                0 => break,
                count => self.filled += count,
            }
        }
        Ok(self.rest())
    }

    /// Number of bytes that were passed.
    pub(crate) fn passed(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Lets a decoder take `bytes` more bytes.
    pub(crate) fn allow(&mut self, bytes: usize) {
        self.allowed = bytes;
    }

    /// Reason why reading as [`BufRead`] failed, if that is why a decoder failed.
    pub(crate) fn take_failure(&mut self) -> Option<InputError> {
        self.failure.take()
    }
}

impl BufRead for Bytes<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let failure = match self.peek() {
            Ok(Some(_)) if self.allowed == 0 => {
                let what = "expected less text and fewer attributes in one piece".to_owned();
                InputError::Line { file: self.file.to_owned(), line: self.line, what }
            }
            Ok(_) => {
                let end = self.filled.min(self.at.saturating_add(self.allowed));
                return Ok(&self.buffer[self.at..end]);
            }
            Err(failure) => failure,
        };
        self.failure = Some(failure);
        Err(io::Error::other("see the failure"))
    }

    fn consume(&mut self, amount: usize) {
        self.pass_all(amount);
        self.allowed = self.allowed.saturating_sub(amount);
    }
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(buffer.len());
        buffer[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}
