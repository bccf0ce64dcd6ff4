//! The words of GML: keys, numbers, texts and brackets, each with its line.
//!
//! A line that begins with `#` is a comment; elsewhere `#` is part of a word. A text may hold line
//! ends, and of `&...;` the few names that all writers use and numbers of characters; other uses of
//! `&` stay as they are.

use crate::documents::bytes::Bytes;
use crate::error::InputError;
use crate::words::show;

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name; see [`Tokens::text`].
    Key,
    /// A word that begins like a number; see [`Tokens::text`].
    Number,
    /// Text between quotes; see [`Tokens::text`].
    Text,
    /// Any other word, such as a colour without quotes.
    Other,
    Open,
    Close,
    End,
}

/// The words of a file, one after the other.
pub(super) struct Tokens<'a> {
    file: &'a str,
    bytes: Bytes<'a>,
    text: Vec<u8>,
    /// Line in which the last word begins.
    line: u64,
    /// Line in which the last word ends; 0 before the first.
    ended: u64,
    bytes_max: usize,
}

impl<'a> Tokens<'a> {
    /// The words of bytes; none may be longer than `bytes_max`.
    pub(super) fn new(bytes: Bytes<'a>, bytes_max: usize) -> Self {
        Self { file: bytes.file(), bytes, text: Vec::new(), line: 1, ended: 0, bytes_max }
    }

    /// The text of the last key, number or text.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// Whether the last word, a key, is this one, in any case.
    pub(super) fn is(&self, key: &str) -> bool {
        self.text.eq_ignore_ascii_case(key.as_bytes())
    }

    /// The line in which the last word begins.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// The error for the last word.
    pub(super) fn wrong(&self, what: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.to_owned(), line: self.line, what: what.into() }
    }

    /// The error for a word that should be another.
    pub(super) fn unexpected(&self, expected: &str, token: Token) -> InputError {
        let found = match token {
            Token::Open => "the beginning of a list".to_owned(),
            Token::Close => "the end of a list".to_owned(),
            Token::End => "the end of the file, which may be cut off".to_owned(),
            Token::Key | Token::Number | Token::Text | Token::Other => show(&self.text),
        };
        self.wrong(format!("expected {expected}, found {found}"))
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Result<Token, InputError> {
        let token = self.read()?;
        self.ended = self.bytes.line();
        Ok(token)
    }

    fn read(&mut self) -> Result<Token, InputError> {
        self.text.clear();
        loop {
            let byte = self.bytes.peek()?;
            self.line = self.bytes.line();
            let Some(byte) = byte else { return Ok(Token::End) };
            match byte {
                b'[' => return Ok(self.bracket(Token::Open)),
                b']' => return Ok(self.bracket(Token::Close)),
                b'"' => return self.quoted(),
                b'#' if self.line != self.ended => self.comment()?,
                byte if byte.is_ascii_whitespace() => self.bytes.pass(),
                byte if byte.is_ascii_alphabetic() || byte == b'_' => return self.word(Token::Key),
                b'+' | b'-' | b'.' | b'0'..=b'9' => return self.word(Token::Number),
                _ => return self.word(Token::Other),
            }
        }
    }

    fn bracket(&mut self, token: Token) -> Token {
        self.bytes.pass();
        token
    }

    fn comment(&mut self) -> Result<(), InputError> {
        while let Some(byte) = self.bytes.peek()? {
            self.bytes.pass();
            if byte == b'\n' {
                break;
            }
        }
        Ok(())
    }

    /// A word, which ends before white space, a bracket or a quote.
    fn word(&mut self, token: Token) -> Result<Token, InputError> {
        while let Some(byte) = self.bytes.peek()? {
            if byte.is_ascii_whitespace() || matches!(byte, b'[' | b']' | b'"') {
                break;
            }
            self.keep(byte)?;
        }
        Ok(token)
    }

    fn quoted(&mut self) -> Result<Token, InputError> {
        self.bytes.pass();
        loop {
            match self.bytes.peek()? {
                None => return Err(self.wrong("expected a closing quote before the end")),
                Some(b'"') => {
                    self.bytes.pass();
                    unescape(&mut self.text);
                    return Ok(Token::Text);
                }
                Some(byte) => self.keep(byte)?,
            }
        }
    }

    fn keep(&mut self, byte: u8) -> Result<(), InputError> {
        if self.text.len() >= self.bytes_max {
            let what = format!("expected a word of at most {} bytes", self.bytes_max);
            return Err(self.wrong(what));
        }
        self.text.push(byte);
        self.bytes.pass();
        Ok(())
    }
}

/// Puts characters in the place of their names.
fn unescape(text: &mut Vec<u8>) {
    const NAMES: [(&str, char); 5] =
        [("quot", '"'), ("amp", '&'), ("lt", '<'), ("gt", '>'), ("apos", '\'')];
    if !text.contains(&b'&') {
        return;
    }
    let character = |name: &[u8]| {
        let name = std::str::from_utf8(name).ok()?;
        let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        known.or_else(|| char::from_u32(name.strip_prefix('#')?.parse().ok()?))
    };
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = &text[..];
    while let Some(start) = memchr::memchr(b'&', rest) {
        plain.extend_from_slice(&rest[..start]);
        rest = &rest[start..];
        // The longest name is that of a character by its number.
        let end = memchr::memchr(b';', &rest[..rest.len().min(12)]);
        let known = end.and_then(|end| Some((end + 1, character(&rest[1..end])?)));
        let (passed, value) = known.unwrap_or((1, '&'));
        plain.extend_from_slice(value.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &rest[passed..];
    }
    plain.extend_from_slice(rest);
    *text = plain;
}

/// Lists inside each other. What is deeper is not passed over but refused.
pub(super) const DEPTH_MAX: usize = 100;

/// Whether a file that begins so is surely of this format: comments and keys with values, then
/// the list of a graph.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut tokens = Tokens::new(Bytes::of_slice("", head), head.len());
    loop {
        match tokens.next() {
            Ok(Token::Key) if tokens.is("graph") => {
                return matches!(tokens.next(), Ok(Token::Open));
            }
            Ok(Token::Key) => match tokens.next() {
                Ok(Token::Number | Token::Text) => {}
                Ok(Token::Open) if pass_list(&mut tokens, 1).is_ok() => {}
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// Passes over the rest of a list.
pub(super) fn pass_list(tokens: &mut Tokens<'_>, outside: usize) -> Result<(), InputError> {
    let mut depth = outside;
    loop {
        match tokens.next()? {
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            Token::End => return Err(tokens.unexpected("the end of a list", Token::End)),
            Token::Key | Token::Number | Token::Text | Token::Other => {}
        }
        if depth > DEPTH_MAX {
            let what = format!("expected at most {DEPTH_MAX} lists inside each other");
            return Err(tokens.wrong(what));
        }
        if depth < outside {
            return Ok(());
        }
    }
}
