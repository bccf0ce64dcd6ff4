//! One line of text: its fields, and what a field says.
//!
//! Invariant: what is read here is the meaning of a line. Faster paths exist for common lines, and
//! each must agree with this one on every line that it takes.

use std::borrow::Cow;

use crate::options::Separator;
use crate::reading::PassedOver;

/// The fields of a line, in order. Quotes around a field are taken off, doubled ones inside it
/// stand for one; spaces around a field are no part of it.
pub(crate) struct Fields<'a> {
    /// What is left; `None` after the last field.
    rest: Option<&'a [u8]>,
    /// `None` stands for runs of spaces and tabs.
    separator: Option<u8>,
}

impl<'a> Fields<'a> {
    /// The fields of `line`, which comes without its line end.
    pub(super) fn new(line: &'a [u8], separator: Separator) -> Self {
        Self { rest: Some(line), separator: separator.byte() }
    }

    fn field(&mut self, rest: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
        let start = rest.iter().position(|byte| !self.is_padding(*byte)).unwrap_or(rest.len());
        let rest = &rest[start..];
        if rest.first() == Some(&b'"') {
            return self.quoted(&rest[1..]);
        }
        let end = rest.iter().position(|byte| self.ends_field(*byte)).unwrap_or(rest.len());
        self.rest = self.after(&rest[end..]);
        let field = &rest[..end];
        let kept =
            field.iter().rposition(|byte| !self.is_padding(*byte)).map_or(0, |last| last + 1);
        Ok(Cow::Borrowed(&field[..kept]))
    }

    /// The field that begins after an opening quote.
    fn quoted(&mut self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, String> {
        let mut unquoted = Vec::new();
        let mut rest = text;
        loop {
            let Some(quote) = memchr::memchr(b'"', rest) else {
                return Err("expected a closing quote before the end of the line".to_owned());
            };
            let (part, after) = (&rest[..quote], &rest[quote + 1..]);
            if after.first() == Some(&b'"') {
                unquoted.extend_from_slice(part);
                unquoted.push(b'"');
                rest = &after[1..];
                continue;
            }
            let gap = after.iter().position(|byte| !self.is_padding(*byte)).unwrap_or(after.len());
            let runs = self.separator.is_none() && gap > 0;
            if gap < after.len() && !runs && !self.ends_field(after[gap]) {
                return Err(format!(
                    "expected a separator after the closing quote, found {}",
                    show(&after[gap..])
                ));
            }
            self.rest = self.after(if runs { after } else { &after[gap..] });
            if unquoted.is_empty() {
                return Ok(Cow::Borrowed(part));
            }
            unquoted.extend_from_slice(part);
            return Ok(Cow::Owned(unquoted));
        }
    }

    /// What follows a field, given the line from the end of that field.
    fn after(&self, tail: &'a [u8]) -> Option<&'a [u8]> {
        if self.separator.is_some() {
            return tail.get(1..);
        }
        let next = tail.iter().position(|byte| !self.is_padding(*byte))?;
        Some(&tail[next..])
    }

    fn ends_field(&self, byte: u8) -> bool {
        match self.separator {
            Some(separator) => byte == separator,
            None => byte == b' ' || byte == b'\t',
        }
    }

    fn is_padding(&self, byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && self.separator != Some(b'\t'))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        Some(self.field(rest))
    }
}

impl Separator {
    /// The byte that separates; `None` for runs of spaces and tabs.
    pub(super) fn byte(self) -> Option<u8> {
        match self {
            Self::Tab => Some(b'\t'),
            Self::Comma => Some(b','),
            Self::Semicolon => Some(b';'),
            Self::Pipe => Some(b'|'),
            Self::Spaces => None,
        }
    }

    /// For messages.
    pub(crate) fn noun(self) -> &'static str {
        match self {
            Self::Tab => "tabs",
            Self::Comma => "commas",
            Self::Semicolon => "semicolons",
            Self::Pipe => "pipes",
            Self::Spaces => "spaces",
        }
    }
}

/// Whether a line holds no row: nothing but white space, or a comment.
pub(crate) fn is_no_row(line: &[u8]) -> bool {
    no_row(line).is_some()
}

/// What a line is that holds no row.
pub(crate) fn no_row(line: &[u8]) -> Option<PassedOver> {
    let none = PassedOver::default();
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Some(PassedOver { blank: 1, ..none }),
        Some(b'#' | b'%') => Some(PassedOver { comments: 1, ..none }),
        Some(_) => None,
    }
}

/// What a field looks like as an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looks {
    /// Digits.
    Integer,
    /// A number that is no id: negative, fractional, too large.
    Number,
    /// Anything else.
    Name,
}

/// Guesses what a field is meant to be.
pub(crate) fn looks(field: &[u8]) -> Looks {
    if parse_id(field).is_ok() {
        return Looks::Integer;
    }
    let number = std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok());
    if number && field.iter().any(u8::is_ascii_digit) { Looks::Number } else { Looks::Name }
}

/// Digits that fit 64 bits whatever they are.
const SAFE_DIGITS: usize = 19;

/// Reads an integer id.
pub(crate) fn parse_id(field: &[u8]) -> Result<u64, String> {
    if field.is_empty() {
        return Err("expected a vertex id, found an empty field".to_owned());
    }
    if field.len() <= SAFE_DIGITS {
        let mut id = 0;
        for byte in field {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return Err(not_an_id(field));
            }
            id = id * 10 + u64::from(digit);
        }
        return Ok(id);
    }
    let mut id: Option<u64> = Some(0);
    for byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(not_an_id(field));
        }
        id = id.and_then(|id| id.checked_mul(10)?.checked_add(u64::from(digit)));
    }
    id.ok_or_else(|| format!("expected a vertex id of at most {}, found {}", u64::MAX, show(field)))
}

fn not_an_id(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let found = show(field);
    if field[0] == b'-' && text[1..].bytes().all(|byte| byte.is_ascii_digit()) && field.len() > 1 {
        return format!("expected a vertex id, found the negative number {found}");
    }
    if text.parse::<f64>().is_ok() && text.bytes().any(|byte| byte.is_ascii_digit()) {
        return format!("expected an integer as vertex id, found {found}");
    }
    format!("expected an integer as vertex id, found {found} (for ids that are names: --ids names)")
}

/// Whether this is meant as a number, be it one that cannot be a weight.
pub(crate) fn is_number(field: &[u8]) -> bool {
    std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok())
}

/// Reads a weight: any number but NaN.
pub(crate) fn parse_weight(field: &[u8]) -> Result<f64, String> {
    let text = std::str::from_utf8(field).unwrap_or("");
    match text.parse::<f64>() {
        Ok(weight) if weight.is_nan() => {
            Err(format!("expected a weight, found {} (not a number)", show(field)))
        }
        // The standard parser rounds a number that is too large to infinity.
        Ok(weight) if weight.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) => {
            Err(format!("expected a weight that fits a 64-bit float, found {}", show(field)))
        }
        Ok(weight) => Ok(weight),
        Err(_) if field.is_empty() => Err("expected a weight, found an empty field".to_owned()),
        Err(_) => Err(format!("expected a number as weight, found {}", show(field))),
    }
}

/// Text from an input as a message shows it: quoted, escaped and cut.
pub(crate) fn show(text: &[u8]) -> String {
    const SHOWN_MAX: usize = 40;
    let lossy = String::from_utf8_lossy(&text[..text.len().min(4 * SHOWN_MAX)]).into_owned();
    let mut shown: String = lossy.chars().take(SHOWN_MAX).collect();
    if shown.len() < text.len() && lossy.chars().count() > SHOWN_MAX {
        shown.push('…');
    }
    format!("{shown:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, separator: Separator) -> Vec<String> {
        let text = |field: Result<Cow<'_, [u8]>, String>| {
            field.map_or_else(|error| format!("!{error}"), |f| String::from_utf8_lossy(&f).into())
        };
        Fields::new(line.as_bytes(), separator).map(text).collect()
    }

    #[test]
    fn fields_are_split_trimmed_and_unquoted() {
        assert_eq!(fields("1\t 2 \t", Separator::Tab), ["1", "2", ""]);
        assert_eq!(fields("a b\tc", Separator::Tab), ["a b", "c"]);
        assert_eq!(fields("  1 \t 2  ", Separator::Spaces), ["1", "2"]);
        assert_eq!(
            fields("\"a, b\" ,\"say \"\"hi\"\"\",", Separator::Comma),
            ["a, b", "say \"hi\"", ""]
        );
        assert_eq!(fields("\"New York\" Rome", Separator::Spaces), ["New York", "Rome"]);
        assert_eq!(fields("\"\",x", Separator::Comma), ["", "x"]);
        assert!(fields("\"a,b", Separator::Comma)[0].starts_with("!expected a closing quote"));
        assert!(fields("\"a\"b,c", Separator::Comma)[0].starts_with("!expected a separator"));
    }

    #[test]
    fn ids_are_digits_that_fit() {
        assert_eq!(parse_id(b"0007"), Ok(7));
        assert_eq!(parse_id(b"18446744073709551615"), Ok(u64::MAX));
        for (field, expected) in [
            ("18446744073709551616", "expected a vertex id of at most 18446744073709551615"),
            ("-5", "expected a vertex id, found the negative number \"-5\""),
            ("1.5", "expected an integer as vertex id, found \"1.5\""),
            ("abc", "(for ids that are names: --ids names)"),
            ("", "found an empty field"),
            ("-", "(for ids that are names: --ids names)"),
            ("-\u{e9}", "(for ids that are names: --ids names)"),
            ("+1", "expected an integer"),
        ] {
            let error = parse_id(field.as_bytes()).unwrap_err();
            assert!(error.contains(expected), "{field}: {error}");
        }
        assert!(parse_id(b"\xff\xfe").is_err());
    }

    #[test]
    fn weights_are_numbers_but_not_nan() {
        assert_eq!(parse_weight(b"-1.5e3"), Ok(-1500.0));
        assert_eq!(parse_weight(b"Infinity"), Ok(f64::INFINITY));
        for field in ["nan", "NaN", "", "x", "1e999", "1,5"] {
            assert!(parse_weight(field.as_bytes()).is_err(), "{field}");
        }
    }

    #[test]
    fn what_is_shown_is_short_and_escaped() {
        assert_eq!(show(b"a\"\r\xff"), "\"a\\\"\\r\u{fffd}\"");
        assert!(show(&[b'x'; 5000]).chars().count() < 50);
    }
}
