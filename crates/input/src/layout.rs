//! Layout of rows of text, as a person says it: what separates fields, what they are quoted with,
//! how a quote is written within quotes, and what begins a comment.

use std::borrow::Cow;
use std::str::FromStr;

/// Bytes that a separator may have.
const SEPARATOR_BYTES_MAX: usize = 15;

/// Separator of the columns of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// Each tab.
    Tab,
    /// Each comma.
    Comma,
    /// Each semicolon.
    Semicolon,
    /// Each `|`.
    Pipe,
    /// Runs of spaces and tabs.
    Spaces,
    /// Each occurrence of another string, such as `::`.
    String(SeparatorString),
}

/// A short string that separates columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeparatorString {
    bytes: [u8; SEPARATOR_BYTES_MAX],
    length: u8,
}

impl SeparatorString {
    /// The string, if it is neither empty nor too long.
    pub(crate) const fn new(text: &[u8]) -> Option<Self> {
        if text.is_empty() || text.len() > SEPARATOR_BYTES_MAX {
            return None;
        }
        let mut bytes = [0; SEPARATOR_BYTES_MAX];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text[at];
            at += 1;
        }
        Some(Self { bytes, length: text.len() as u8 })
    }

    /// The bytes of the string.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl Separator {
    /// The separator that a string is.
    fn of(text: &[u8]) -> Result<Self, String> {
        let known = match text {
            b"\t" => Self::Tab,
            b"," => Self::Comma,
            b";" => Self::Semicolon,
            b"|" => Self::Pipe,
            b" " => Self::Spaces,
            _ => {
                if text.iter().any(|byte| matches!(byte, b'\n' | b'\r' | b'"')) {
                    return Err("a separator holds neither a line end nor a quote".to_owned());
                }
                let string = SeparatorString::new(text);
                let length = || format!("expected a separator of 1 to {SEPARATOR_BYTES_MAX} bytes");
                Self::String(string.ok_or_else(length)?)
            }
        };
        Ok(known)
    }

    /// The byte that separates, where it is one; `None` also for runs of spaces and tabs.
    pub(crate) fn byte(self) -> Option<u8> {
        match self {
            Self::Tab => Some(b'\t'),
            Self::Comma => Some(b','),
            Self::Semicolon => Some(b';'),
            Self::Pipe => Some(b'|'),
            Self::Spaces => None,
            Self::String(string) => match string.bytes() {
                [byte] => Some(*byte),
                _ => None,
            },
        }
    }

    /// For messages.
    pub(crate) fn noun(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Tab => "tabs",
            Self::Comma => "commas",
            Self::Semicolon => "semicolons",
            Self::Pipe => "pipes",
            Self::Spaces => "spaces",
            Self::String(string) => {
                return Cow::Owned(format!("{:?}", String::from_utf8_lossy(string.bytes())));
            }
        })
    }
}

impl FromStr for Separator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tab" => Ok(Self::Tab),
            "comma" => Ok(Self::Comma),
            "semicolon" => Ok(Self::Semicolon),
            "pipe" => Ok(Self::Pipe),
            "spaces" | "space" => Ok(Self::Spaces),
            "colon" => Self::of(b":"),
            _ => Self::of(&unescaped(text)?),
        }
    }
}

/// The bytes of a string in which `\t`, `\\` and `\x01` stand for bytes.
fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let wrong =
        || format!("expected \\t, \\\\ or \\x and two digits after a backslash in {text:?}");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let (byte, taken) = match (first, after) {
            (b'\\', [b't', ..]) => (b'\t', 1),
            (b'\\', [b'\\', ..]) => (b'\\', 1),
            (b'\\', [b'x', high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16).ok_or_else(wrong);
                ((digit(*high)? * 16 + digit(*low)?) as u8, 3)
            }
            (b'\\', _) => return Err(wrong()),
            _ => (*first, 0),
        };
        bytes.push(byte);
        rest = &after[taken..];
    }
    Ok(bytes)
}

/// Quotes around fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quote {
    /// Nothing: quotes are characters as others.
    None,
    /// This ASCII character, around a field.
    Mark(u8),
}

impl FromStr for Quote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.as_bytes()) {
            ("none", _) => Ok(Self::None),
            ("double", _) => Ok(Self::Mark(b'"')),
            ("single", _) => Ok(Self::Mark(b'\'')),
            (_, [byte]) if byte.is_ascii_punctuation() => Ok(Self::Mark(*byte)),
            _ => Err(format!("expected none, \" or ' as quote, found {text:?}")),
        }
    }
}

/// Form of a quote within quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escape {
    /// Twice, as RFC 4180 has it.
    Doubled,
    /// After a backslash.
    Backslash,
}

impl FromStr for Escape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "doubled" => Ok(Self::Doubled),
            "backslash" | "\\" => Ok(Self::Backslash),
            _ => Err(format!("expected doubled or backslash, found {text:?}")),
        }
    }
}

/// Beginning of a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comment {
    /// Nothing: every line that is not blank is a row.
    None,
    /// This string, at the beginning of a line; such a line is never a row.
    Prefix(String),
}

impl FromStr for Comment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("expected none or what begins a comment".to_owned()),
            "none" => Ok(Self::None),
            _ => Ok(Self::Prefix(text.to_owned())),
        }
    }
}

/// Layout of the fields of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Separator of the fields.
    pub(crate) separator: Separator,
    /// Quote that they may have.
    pub(crate) quote: Option<u8>,
    /// Whether a backslash within quotes takes its meaning from the byte behind it.
    pub(crate) backslash: bool,
}

impl Layout {
    /// Fields as most files have them: quoted with `"`, which is doubled within.
    pub(crate) fn usual(separator: Separator) -> Self {
        Self { separator, quote: Some(b'"'), backslash: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_words_bytes_and_strings() {
        let string = |text: &[u8]| Separator::String(SeparatorString::new(text).unwrap());
        for (text, expected) in [
            ("tab", Separator::Tab),
            ("\\t", Separator::Tab),
            (";", Separator::Semicolon),
            ("space", Separator::Spaces),
            ("::", string(b"::")),
            ("colon", string(b":")),
            ("\\x01", string(b"\x01")),
            ("\\x2c", Separator::Comma),
            (" -> ", string(b" -> ")),
        ] {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", "\\q", "\\x0", "\"", "a very long separator", "\n"] {
            assert!(text.parse::<Separator>().is_err(), "{text:?}");
        }
        assert_eq!(string(b"::").noun(), "\"::\"");
        assert_eq!((string(b":").byte(), string(b"::").byte()), (Some(b':'), None));
    }

    #[test]
    fn quotes_escapes_and_comments_are_said_in_a_word() {
        assert_eq!("none".parse(), Ok(Quote::None));
        assert_eq!("'".parse(), Ok(Quote::Mark(b'\'')));
        assert!("ab".parse::<Quote>().is_err() && "a".parse::<Quote>().is_err());
        assert_eq!("backslash".parse(), Ok(Escape::Backslash));
        assert_eq!("//".parse(), Ok(Comment::Prefix("//".into())));
        assert_eq!("none".parse(), Ok(Comment::None));
    }
}
