//! Text in other encodings, as UTF-8, and lines that end in carriage returns alone.
//!
//! The encoding of text is decided from its first bytes: a mark of UTF-8 or UTF-16, or XML in words
//! of 16 bits. Files in UTF-8 without a mark do not come by here; what an XML declaration names is
//! for the reader of XML.

use std::io::{self, BufRead, Read};

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_16BE, UTF_16LE};

use super::bytes::{Counted, Fault};

/// Bytes of text that are held decoded.
const BUFFER_BYTES: usize = 64 << 10;

/// Text as UTF-8, without a mark. Bytes that are no text in its encoding are an error.
pub(super) struct Decoded {
    inner: Counted,
    decoder: Decoder,
    text: Vec<u8>,
    /// Place in the text before which all was given.
    at: usize,
    end: usize,
    ended: bool,
}

impl Decoded {
    pub(super) fn new(inner: Counted, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_with_bom_removal();
        Self { inner, decoder, text: vec![0; BUFFER_BYTES], at: 0, end: 0, ended: false }
    }

    /// Decodes some more.
    fn fill(&mut self) -> io::Result<()> {
        let bytes = self.inner.fill_buf()?;
        let last = bytes.is_empty();
        let (result, read, written) =
            self.decoder.decode_to_utf8_without_replacement(bytes, &mut self.text, last);
        self.inner.consume(read);
        (self.at, self.end) = (0, written);
        match result {
            DecoderResult::Malformed(..) => {
                let name = self.decoder.encoding().name();
                Err(Fault::error(format!("expected text in {name}, found bytes that are none")))
            }
            DecoderResult::InputEmpty => {
                self.ended = last;
                Ok(())
            }
            DecoderResult::OutputFull => Ok(()),
        }
    }
}

impl Read for Decoded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.end {
            if self.ended || buffer.is_empty() {
                return Ok(0);
            }
            self.fill()?;
        }
        let count = buffer.len().min(self.end - self.at);
        buffer[..count].copy_from_slice(&self.text[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Text whose line ends become newlines: each carriage return that no newline follows.
pub(super) struct Returns(Counted);

impl Returns {
    pub(super) fn new(inner: Counted) -> Self {
        Self(inner)
    }
}

impl Read for Returns {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        let Some(last) = count.checked_sub(1) else { return Ok(0) };
        let next = self.0.fill_buf()?.first().copied();
        for at in 0..count {
            let follows = if at == last { next } else { Some(buffer[at + 1]) };
            if buffer[at] == b'\r' && follows != Some(b'\n') {
                buffer[at] = b'\n';
            }
        }
        Ok(count)
    }
}

/// The encoding of text that begins with these bytes, where it is not UTF-8 without a mark.
pub(crate) fn of(head: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return Some(encoding);
    }
    match head {
        [b'<', 0, b'?', 0, ..] => Some(UTF_16LE),
        [0, b'<', 0, b'?', ..] => Some(UTF_16BE),
        _ => None,
    }
}

/// Whether lines of this text end in carriage returns alone, as far as it shows.
pub(crate) fn has_returns(head: &[u8]) -> bool {
    memchr::memchr(b'\n', head).is_none()
        && memchr::memchr(b'\r', head).is_some_and(|at| at + 1 < head.len())
}

/// The encoding that text without a mark may be in, which has a zero in every other byte.
pub(crate) fn unmarked(head: &[u8]) -> Option<&'static str> {
    let zeros = |skip: usize| head.iter().skip(skip).step_by(2).filter(|byte| **byte == 0).count();
    let (even, odd, half) = (zeros(0), zeros(1), head.len() / 2);
    match (even * 10 > half * 9, odd * 10 > half * 9) {
        (false, true) if even == 0 => Some("UTF-16LE"),
        (true, false) if odd == 0 => Some("UTF-16BE"),
        _ => None,
    }
}
