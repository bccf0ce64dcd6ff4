//! Bytes in the encoding that an XML declaration names, as UTF-8.
//!
//! Invariant: what the encoding does not know is an error with its line, and no character is made
//! up for it. Checked in `through`.

use encoding_rs::{DecoderResult, Encoding, UTF_8};

use super::bytes::Bytes;
use crate::error::InputError;
use crate::words::show;

/// Bytes in which a declaration must end.
const HEAD_BYTES: usize = 512;

impl Bytes<'_> {
    /// The bytes as UTF-8, if they begin with a declaration that names another encoding. Nothing
    /// was read of them yet.
    pub(crate) fn decoded(mut self) -> Result<Self, InputError> {
        let head = self.head(HEAD_BYTES)?;
        let Some(name) = declared(head).map(<[u8]>::to_vec) else { return Ok(self) };
        let Some(encoding) = Encoding::for_label(&name) else {
            let what = format!(
                "expected an encoding that is known, found {} (convert the file to UTF-8: iconv)",
                show(&name)
            );
            return Err(InputError::Line { file: self.file().to_owned(), line: 1, what });
        };
        // A declaration that could be read in single bytes is not in words of 16 bits, whatever it
        // says of what the file was before.
        Ok(if encoding.is_ascii_compatible() && encoding != UTF_8 {
            self.through(encoding)
        } else {
            self
        })
    }

    /// The bytes through a decoder.
    fn through(mut self, encoding: &'static Encoding) -> Self {
        let file = self.file();
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let mut finished = false;
        let fill = move |buffer: &mut [u8]| {
            while !finished {
                finished = self.peek()?.is_none();
                let (result, read, written) =
                    decoder.decode_to_utf8_without_replacement(self.rest(), buffer, finished);
                self.pass_all(read);
                if let DecoderResult::Malformed(..) = result {
                    let what = format!(
                        "expected text in {}, as the first line says, found other bytes",
                        encoding.name()
                    );
                    return Err(InputError::Line {
                        file: file.to_owned(),
                        line: self.line(),
                        what,
                    });
                }
                if written > 0 {
                    finished &= result == DecoderResult::InputEmpty;
                    return Ok(written);
                }
            }
            Ok(0)
        };
        Self::new(file, Box::new(fill))
    }
}

/// The encoding that a declaration names: `<?xml version="1.0" encoding="ISO-8859-1"?>`.
fn declared(head: &[u8]) -> Option<&[u8]> {
    let head = head.strip_prefix(b"<?xml")?;
    let head = &head[..memchr::memmem::find(head, b"?>")?];
    let at = memchr::memmem::find(head, b"encoding")?;
    let rest = head[at + b"encoding".len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b"=")?.trim_ascii_start();
    let (quote, rest) = rest.split_first().filter(|(quote, _)| matches!(quote, b'"' | b'\''))?;
    rest.split(|byte| byte == quote).next()
}
