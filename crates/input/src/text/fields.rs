//! One line of text: its fields, and what a field says.
//!
//! Invariant: what is read here is the meaning of a line. Faster paths exist for common lines, and
//! each must agree with this one on every line that it takes. Tested by
//! `fast_reads_what_careful_reads_nasty`.

use std::borrow::Cow;

use super::dictionary;
use crate::layout::{Layout, Separator};
use crate::reading::PassedOver;
use crate::words::show;

/// The fields of a line, in order. Quotes around a field are taken off, doubled or escaped ones
/// inside it stand for one; spaces around a field are no part of it. A dictionary of attributes at
/// the end of a line, as NetworkX writes it (`{'weight': 4}`), is one field.
pub(crate) struct Fields<'a> {
    /// Text that is left; `None` after the last field.
    rest: Option<&'a [u8]>,
    layout: Layout,
}

/// A row of a sample: its fields.
pub(super) type Row<'a> = Vec<Cow<'a, [u8]>>;

/// Reason why a field cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadField {
    /// The line ends within quotes.
    Open,
    /// Something else than a separator comes after the closing quote.
    After(String),
}

impl From<BadField> for String {
    fn from(bad: BadField) -> Self {
        match bad {
            BadField::Open => "expected a closing quote before the end of the line (--quote none \
                               reads quotes as they are, --quote '\"' fields of several lines)"
                .to_owned(),
            BadField::After(found) => format!(
                "expected a separator after the closing quote, found {found} (--quote none reads \
                 quotes as they are)"
            ),
        }
    }
}

impl<'a> Fields<'a> {
    /// The fields of `line`, which comes without its line end.
    pub(super) fn new(line: &'a [u8], layout: Layout) -> Self {
        Self { rest: Some(line), layout }
    }

    /// The rest of the line.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest.unwrap_or_default()
    }

    fn field(&mut self, rest: &'a [u8]) -> Result<Cow<'a, [u8]>, BadField> {
        let start = rest.iter().position(|byte| !self.is_padding(*byte)).unwrap_or(rest.len());
        let rest = &rest[start..];
        match rest.first() {
            Some(first) if Some(*first) == self.layout.quote => return self.quoted(&rest[1..]),
            Some(b'{') if dictionary::is_whole(rest.trim_ascii_end()) => {
                self.rest = None;
                return Ok(Cow::Borrowed(rest.trim_ascii_end()));
            }
            _ => {}
        }
        let end = self.end(rest);
        if self.layout.backslash && rest[..end].contains(&b'\\') {
            return Ok(Cow::Owned(self.escaped(rest)));
        }
        self.rest = self.after(&rest[end..]);
        Ok(Cow::Borrowed(&rest[..self.kept(&rest[..end])]))
    }

    /// Bytes of a field before the spaces that end it.
    fn kept(&self, field: &[u8]) -> usize {
        field.iter().rposition(|byte| !self.is_padding(*byte)).map_or(0, |last| last + 1)
    }

    /// A field without quotes, in which a backslash makes a separator or a quote a plain byte.
    fn escaped(&mut self, text: &'a [u8]) -> Vec<u8> {
        let (mut field, mut rest) = (Vec::new(), text);
        loop {
            let end = self.end(rest);
            match memchr::memchr(b'\\', &rest[..end]) {
                Some(place) if place + 1 < rest.len() => {
                    let plain = place + usize::from(!self.is_escaped(rest[place + 1]));
                    field.extend_from_slice(&rest[..plain]);
                    field.push(rest[place + 1]);
                    rest = &rest[place + 2..];
                }
                _ => {
                    self.rest = self.after(&rest[end..]);
                    field.extend_from_slice(&rest[..self.kept(&rest[..end])]);
                    return field;
                }
            }
        }
    }

    /// The field that begins after an opening quote.
    fn quoted(&mut self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, BadField> {
        let quote = self.layout.quote.unwrap_or(b'"');
        let mut unquoted = Vec::new();
        let mut rest = text;
        loop {
            let found = if self.layout.backslash {
                memchr::memchr2(quote, b'\\', rest)
            } else {
                memchr::memchr(quote, rest)
            };
            let Some(place) = found else { return Err(BadField::Open) };
            let (part, after) = (&rest[..place], &rest[place + 1..]);
            match after.first() {
                Some(byte) if rest[place] != quote || *byte == quote => {
                    unquoted.extend_from_slice(part);
                    if rest[place] != quote && !self.is_escaped(*byte) {
                        unquoted.push(rest[place]);
                    }
                    unquoted.push(*byte);
                    rest = &after[1..];
                    continue;
                }
                None if rest[place] != quote => return Err(BadField::Open),
                _ => {}
            }
            let gap = after.iter().position(|byte| !self.is_padding(*byte)).unwrap_or(after.len());
            let runs = self.layout.separator == Separator::Spaces && gap > 0;
            if gap < after.len() && !runs && self.end(&after[gap..]) > 0 {
                return Err(BadField::After(show(&after[gap..])));
            }
            self.rest = self.after(if runs { after } else { &after[gap..] });
            if unquoted.is_empty() {
                return Ok(Cow::Borrowed(part));
            }
            unquoted.extend_from_slice(part);
            return Ok(Cow::Owned(unquoted));
        }
    }

    /// Whether a backslash before a byte is there to make it a plain one. No program writes one
    /// before other bytes for that: there it stands for itself.
    fn is_escaped(&self, byte: u8) -> bool {
        let separator = match self.layout.separator {
            Separator::Spaces => false,
            Separator::String(string) => string.bytes().first() == Some(&byte),
            separator => separator.byte() == Some(byte),
        };
        let known = matches!(byte, b'\\' | b'\n' | b'\r' | b' ' | b'\t');
        known || separator || self.layout.quote == Some(byte)
    }

    /// Where the field that `text` begins with ends.
    fn end(&self, text: &[u8]) -> usize {
        let found = match self.layout.separator {
            Separator::Spaces => text.iter().position(|byte| matches!(byte, b' ' | b'\t')),
            Separator::String(string) => memchr::memmem::find(text, string.bytes()),
            separator => memchr::memchr(separator.byte().unwrap_or(b'\t'), text),
        };
        found.unwrap_or(text.len())
    }

    /// The text behind a field, given the line from the end of that field.
    fn after(&self, tail: &'a [u8]) -> Option<&'a [u8]> {
        let separator = match self.layout.separator {
            Separator::Spaces => 0,
            Separator::String(string) => string.bytes().len(),
            _ => 1,
        };
        if separator > 0 {
            return tail.get(separator..);
        }
        let next = tail.iter().position(|byte| !self.is_padding(*byte))?;
        Some(&tail[next..])
    }

    fn is_padding(&self, byte: u8) -> bool {
        byte == b' ' || (byte == b'\t' && self.layout.separator != Separator::Tab)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Cow<'a, [u8]>, BadField>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        Some(self.field(rest))
    }
}

/// Whether a line holds no row: nothing but white space, or a comment.
pub(crate) fn is_no_row(line: &[u8]) -> bool {
    no_row(line).is_some()
}

/// The kind of a line that holds no row.
pub(crate) fn no_row(line: &[u8]) -> Option<PassedOver> {
    let none = PassedOver::default();
    match line.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => Some(PassedOver { blank: 1, ..none }),
        Some(b'#' | b'%') => Some(PassedOver { comments: 1, ..none }),
        Some(_) => None,
    }
}

/// Looks of a field as an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKind {
    /// Digits.
    Integer,
    /// A number that is no id: negative, fractional, too large.
    Number,
    /// Anything else.
    Name,
}

/// Guesses what a field is meant to be.
pub(crate) fn looks(field: &[u8]) -> FieldKind {
    if parse_id(field).is_ok() {
        return FieldKind::Integer;
    }
    let number = std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok());
    if number && field.iter().any(u8::is_ascii_digit) { FieldKind::Number } else { FieldKind::Name }
}

/// Spellings that integers may have that are ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// As digits, with zeros in front if so.
    #[default]
    Digits,
    /// As they are printed.
    Printed,
    /// As they are printed, perhaps with a fraction of zeros.
    Floats,
    /// With zeros or a plus in front, and with a fraction of zeros.
    Any,
}

impl Spelling {
    /// Reads an integer id.
    pub(crate) fn parse(self, field: &[u8]) -> Result<u64, String> {
        match self {
            Self::Printed if field.len() > 1 && field[0] == b'0' => Err(not_an_id(field)),
            Self::Digits | Self::Printed => parse_id(field),
            Self::Floats if scientific(field).is_some() => Ok(scientific(field).unwrap_or(0)),
            Self::Floats => {
                let whole = without_fraction(field);
                let printed = whole.len() <= 1 || whole[0] != b'0';
                if printed { parse_id(whole) } else { Err(not_an_id(field)) }
            }
            Self::Any => {
                let unsigned = field.strip_prefix(b"+").unwrap_or(field);
                parse_id(without_fraction(unsigned))
                    .map_err(|what| if unsigned.is_empty() { not_an_id(field) } else { what })
            }
        }
    }
}

/// The integer that a float with an exponent is, as NumPy and MATLAB print `1.000e+00`.
pub(super) fn scientific(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let (whole, fraction) = mantissa.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let value = text.parse::<f64>().ok().filter(|value| value.fract() == 0.0)?;
    let plain = whole.len() == 1 && digits(whole) && digits(fraction) && digits(exponent);
    // Above that a float stands for several integers.
    (plain && value < (1_u64 << 53) as f64).then_some(value as u64)
}

/// A number without its fraction, if that is nothing but zeros.
fn without_fraction(field: &[u8]) -> &[u8] {
    match memchr::memchr(b'.', field) {
        Some(point) if point > 0 && field[point + 1..].iter().all(|byte| *byte == b'0') => {
            &field[..point]
        }
        _ => field,
    }
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
    id.ok_or_else(|| {
        let found = show(field);
        format!(
            "expected a vertex id of at most {}, found {found} (for ids that are strings: \
             --ids strings)",
            u64::MAX
        )
    })
}

fn not_an_id(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let found = show(field);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if text.strip_prefix('-').is_some_and(digits) {
        return format!(
            "expected a vertex id, found the negative number {found} (for ids that are strings: \
             --ids strings)"
        );
    }
    if digits(text.strip_prefix('+').unwrap_or(&text)) {
        return format!(
            "expected an integer as it is printed, found {found} (--ids strings keeps it so, \
             --ids integers takes its value)"
        );
    }
    format!(
        "expected an integer as vertex id, found {found} (for ids that are strings: --ids strings)"
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, separator: Separator) -> Vec<String> {
        laid_out(line, Layout::usual(separator))
    }

    fn laid_out(line: &str, layout: Layout) -> Vec<String> {
        let text = |field: Result<Cow<'_, [u8]>, BadField>| {
            let bad = |bad| format!("!{}", String::from(bad));
            field.map_or_else(bad, |field| String::from_utf8_lossy(&field).into())
        };
        Fields::new(line.as_bytes(), layout).map(text).collect()
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
        let nested = "1 {'a': {'b': \"}\"}, 'c': 'it\\'s'} ";
        assert_eq!(fields(nested, Separator::Spaces), ["1", nested[2..].trim_end()]);
        assert_eq!(fields("{'w': 3}\t{}", Separator::Tab), ["{'w': 3}", "{}"]);
        assert_eq!(fields("\"\",x", Separator::Comma), ["", "x"]);
        assert!(fields("\"a,b", Separator::Comma)[0].starts_with("!expected a closing quote"));
        assert!(fields("\"a\"b,c", Separator::Comma)[0].starts_with("!expected a separator"));
    }

    #[test]
    fn quotes_and_separators_are_those_of_the_layout() {
        let string = "::".parse().unwrap();
        assert_eq!(fields("1:: 2::\"a::b\"::", string), ["1", "2", "a::b", ""]);
        let backslash = Layout { backslash: true, ..Layout::usual(Separator::Comma) };
        assert_eq!(laid_out("\"say \\\"hi\\\"\",\"c\\\\d\"", backslash), ["say \"hi\"", "c\\d"]);
        // As DuckDB and Spark write it, and as Python does.
        assert_eq!(
            laid_out(r#"c\d,"c\d \"",\N,c\\d,a\,b"#, backslash),
            [r"c\d", r#"c\d ""#, r"\N", r"c\d", "a,b"]
        );
        assert!(laid_out("\"a\\", backslash)[0].starts_with("!expected a closing"));
        let unquoted = "say \\\"hi\\\" ,c\\\\d,a\\,b,\\ ,e\\";
        assert_eq!(laid_out(unquoted, backslash), ["say \"hi\"", "c\\d", "a,b", " ", "e\\"]);
        let usual = Layout::usual(Separator::Comma);
        assert_eq!(laid_out("c:\\d,e", usual), ["c:\\d", "e"]);
        let none = Layout { quote: None, ..Layout::usual(Separator::Tab) };
        assert_eq!(laid_out("\"Weird Al\" Y\tx", none), ["\"Weird Al\" Y", "x"]);
        let single = Layout { quote: Some(b'\''), ..none };
        assert_eq!(laid_out("'a\tb'\t\"c", single), ["a\tb", "\"c"]);
        let dictionary = ["0", "1", "{'weight': 4, 'x': 'a b'}"];
        assert_eq!(fields("0 1 {'weight': 4, 'x': 'a b'}", Separator::Spaces), dictionary);
        assert_eq!(fields("{a} b", Separator::Spaces), ["{a}", "b"]);
    }

    #[test]
    fn integers_are_read_as_they_are_printed_unless_others_may_come() {
        for field in ["007", "+7", "7.0", "00", "7.", "-7"] {
            assert!(Spelling::Printed.parse(field.as_bytes()).is_err(), "{field}");
        }
        assert_eq!(Spelling::Printed.parse(b"0"), Ok(0));
        assert_eq!((Spelling::Floats.parse(b"7.00"), Spelling::Floats.parse(b"7")), (Ok(7), Ok(7)));
        assert_eq!(Spelling::Floats.parse(b"1.2340000e+03"), Ok(1234));
        for field in ["7.5", "07.0", "1e3", ".0", "", "1.5e+00", "1.0e-01", "9.1e+15"] {
            assert!(Spelling::Floats.parse(field.as_bytes()).is_err(), "{field}");
        }
        for field in ["007", "+7", "7.0", "7", "+07.0"] {
            assert_eq!(Spelling::Any.parse(field.as_bytes()), Ok(7), "{field}");
        }
        for field in ["-7", "+", "", "x", "7.5"] {
            assert!(Spelling::Any.parse(field.as_bytes()).is_err(), "{field}");
        }
        let error = Spelling::Printed.parse(b"007").unwrap_err();
        assert!(error.contains("--ids strings") && error.contains("--ids integers"), "{error}");
    }

    #[test]
    fn ids_are_digits_that_fit() {
        assert_eq!(parse_id(b"0007"), Ok(7));
        assert_eq!(parse_id(b"18446744073709551615"), Ok(u64::MAX));
        for (field, expected) in [
            ("18446744073709551616", "expected a vertex id of at most 18446744073709551615"),
            (
                "-5",
                "expected a vertex id, found the negative number \"-5\" (for ids that are strings",
            ),
            ("1.5", "expected an integer as vertex id, found \"1.5\""),
            ("abc", "(for ids that are strings: --ids strings)"),
            ("", "found an empty field"),
            ("-", "(for ids that are strings: --ids strings)"),
            ("-\u{e9}", "(for ids that are strings: --ids strings)"),
            ("+1", "as it is printed"),
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
}
