//! The words of DOT: names, brackets and operators, each with its line.
//!
//! A name is a word of letters, digits and `_`, a number, a text between `"`, or HTML between `<`
//! and `>`. Texts that `+` joins are one. Comments are `//`, `/* */`, and lines that begin
//! with `#`.

use crate::documents::bytes::Bytes;
use crate::error::InputError;
use crate::words::show;

/// A word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name that may be a keyword; see [`Tokens::text`].
    Word,
    /// A name between quotes, or of HTML; see [`Tokens::text`].
    Quoted,
    /// One of `{ } [ ] = ; , : +`.
    Sign(u8),
    /// `->` or `--`.
    Edge {
        /// Whether the edge is directed: `->`.
        directed: bool,
    },
    End,
}

/// Whether a file that begins so is surely of this format: comments, then the head of a graph.
pub(crate) fn begins(head: &[u8]) -> bool {
    let mut tokens = Tokens::new(Bytes::of_slice("", head), head.len());
    let next = |tokens: &mut Tokens<'_>| tokens.next().ok();
    let mut token = next(&mut tokens);
    if token == Some(Token::Word) && tokens.is("strict") {
        token = next(&mut tokens);
    }
    let graph = token == Some(Token::Word) && (tokens.is("graph") || tokens.is("digraph"));
    token = next(&mut tokens);
    if matches!(token, Some(Token::Word | Token::Quoted)) {
        token = next(&mut tokens);
    }
    graph && token == Some(Token::Sign(b'{'))
}

/// The words of a file, one after the other.
pub(super) struct Tokens<'a> {
    file: &'a str,
    bytes: Bytes<'a>,
    text: Vec<u8>,
    /// Line in which the last word begins.
    line: u64,
    /// Line in which the word before it ends; 0 before the first.
    ended: u64,
    bytes_max: usize,
    /// The next word, where it was looked at already, with its text and line.
    ahead: Option<(Token, Vec<u8>, u64)>,
}

impl<'a> Tokens<'a> {
    /// The words of bytes; none may be longer than `bytes_max`.
    pub(super) fn new(bytes: Bytes<'a>, bytes_max: usize) -> Self {
        let file = bytes.file();
        Self { file, bytes, text: Vec::new(), line: 1, ended: 0, bytes_max, ahead: None }
    }

    /// The text of the last name.
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    /// The line in which the last word begins.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Number of bytes that were read.
    pub(super) fn passed(&self) -> u64 {
        self.bytes.passed()
    }

    /// Whether the last word, which was no text between quotes, is this one, in any case.
    pub(super) fn is(&self, keyword: &str) -> bool {
        self.text.eq_ignore_ascii_case(keyword.as_bytes())
    }

    /// The error for the last word.
    pub(super) fn wrong(&self, what: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.to_owned(), line: self.line, what: what.into() }
    }

    /// The error for a word that should be another.
    pub(super) fn unexpected(&self, expected: &str, token: Token) -> InputError {
        let found = match token {
            Token::Word | Token::Quoted => show(&self.text),
            Token::Sign(sign) => show(&[sign]),
            Token::Edge { directed: true } => show(b"->"),
            Token::Edge { directed: false } => show(b"--"),
            Token::End => "the end of the file, which may be cut off".to_owned(),
        };
        self.wrong(format!("expected {expected}, found {found}"))
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Result<Token, InputError> {
        if let Some((token, text, line)) = self.ahead.take() {
            (self.text, self.line) = (text, line);
            return Ok(token);
        }
        let token = self.read()?;
        if token != Token::Quoted {
            return Ok(token);
        }
        // A text may continue after a plus.
        loop {
            let (text, line) = (std::mem::take(&mut self.text), self.line);
            let after = self.read()?;
            if after != Token::Sign(b'+') {
                let ahead = std::mem::replace(&mut self.text, text);
                self.ahead = Some((after, ahead, self.line));
                self.line = line;
                return Ok(Token::Quoted);
            }
            let more = self.read()?;
            if more != Token::Quoted || text.len() + self.text.len() > self.bytes_max {
                return Err(self.unexpected("a text between quotes after +", more));
            }
            self.text.splice(0..0, text);
            self.line = line;
        }
    }

    fn read(&mut self) -> Result<Token, InputError> {
        self.text.clear();
        let token = loop {
            let byte = self.bytes.peek()?;
            self.line = self.bytes.line();
            let Some(byte) = byte else { break Token::End };
            match byte {
                byte if byte.is_ascii_whitespace() => self.bytes.pass(),
                b'#' if self.line != self.ended => self.pass_line()?,
                b'/' => self.comment()?,
                b'{' | b'}' | b'[' | b']' | b'=' | b';' | b',' | b':' | b'+' => {
                    self.bytes.pass();
                    break Token::Sign(byte);
                }
                b'"' => break self.quoted()?,
                b'<' => break self.html()?,
                b'-' => break self.dash()?,
                byte if is_letter(byte) => break self.word(is_letter_or_digit)?,
                b'0'..=b'9' | b'.' => break self.number()?,
                _ => {
                    let what = format!("expected a name or a bracket, found {}", show(&[byte]));
                    return Err(self.wrong(what));
                }
            }
        };
        self.ended = self.bytes.line();
        Ok(token)
    }

    fn word(&mut self, goes_on: fn(u8) -> bool) -> Result<Token, InputError> {
        while let Some(byte) = self.bytes.peek()?.filter(|byte| goes_on(*byte)) {
            self.keep(byte)?;
        }
        Ok(Token::Word)
    }

    /// A number, which letters may not follow.
    fn number(&mut self) -> Result<Token, InputError> {
        self.word(|byte| byte.is_ascii_digit() || byte == b'.')?;
        if let Some(byte) = self.bytes.peek()?.filter(|byte| is_letter(*byte)) {
            self.text.push(byte);
            let what = format!(
                "expected a name, found {} (names that begin with a digit stand \
                                between quotes)",
                show(&self.text)
            );
            return Err(self.wrong(what));
        }
        Ok(Token::Word)
    }

    /// A token that begins with a minus: an operator or a number.
    fn dash(&mut self) -> Result<Token, InputError> {
        self.keep(b'-')?;
        match self.bytes.peek()? {
            Some(sign @ (b'-' | b'>')) => {
                self.bytes.pass();
                Ok(Token::Edge { directed: sign == b'>' })
            }
            Some(b'0'..=b'9' | b'.') => self.number(),
            _ => Err(self.wrong("expected -> or --, found \"-\"")),
        }
    }

    fn quoted(&mut self) -> Result<Token, InputError> {
        self.bytes.pass();
        loop {
            match self.bytes.peek()? {
                None => return Err(self.wrong("expected a closing quote before the end")),
                Some(b'"') => {
                    self.bytes.pass();
                    return Ok(Token::Quoted);
                }
                Some(b'\\') => self.escaped()?,
                Some(byte) => self.keep(byte)?,
            }
        }
    }

    /// A backslash hides a quote or a line end, and stands for itself before anything else.
    fn escaped(&mut self) -> Result<(), InputError> {
        self.bytes.pass();
        match self.bytes.peek()? {
            Some(b'"') => self.keep(b'"'),
            Some(b'\n') => {
                self.bytes.pass();
                Ok(())
            }
            Some(b'\\') => {
                self.text.push(b'\\');
                self.keep(b'\\')
            }
            _ => {
                self.text.push(b'\\');
                Ok(())
            }
        }
    }

    fn html(&mut self) -> Result<Token, InputError> {
        let mut depth = 0_u64;
        loop {
            let Some(byte) = self.bytes.peek()? else {
                return Err(self.wrong("expected a closing > before the end"));
            };
            self.keep(byte)?;
            match byte {
                b'<' => depth += 1,
                b'>' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(Token::Quoted);
            }
        }
    }

    fn comment(&mut self) -> Result<(), InputError> {
        self.bytes.pass();
        match self.bytes.peek()? {
            Some(b'/') => self.pass_line(),
            Some(b'*') => {
                self.bytes.pass();
                let mut star = false;
                while let Some(byte) = self.bytes.peek()? {
                    self.bytes.pass();
                    if star && byte == b'/' {
                        return Ok(());
                    }
                    star = byte == b'*';
                }
                Err(self.wrong("expected the end of a comment before the end of the file"))
            }
            _ => Err(self.wrong("expected a name or a bracket, found \"/\"")),
        }
    }

    fn pass_line(&mut self) -> Result<(), InputError> {
        while let Some(byte) = self.bytes.peek()? {
            self.bytes.pass();
            if byte == b'\n' {
                break;
            }
        }
        Ok(())
    }

    fn keep(&mut self, byte: u8) -> Result<(), InputError> {
        if self.text.len() >= self.bytes_max {
            let what = format!("expected a name of at most {} bytes", self.bytes_max);
            return Err(self.wrong(what));
        }
        self.text.push(byte);
        self.bytes.pass();
        Ok(())
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_letter_or_digit(byte: u8) -> bool {
    is_letter(byte) || byte.is_ascii_digit()
}
