//! The fast path for plain rows: two integers, one separator, and perhaps a plain weight.
//!
//! Invariant: a row is taken here only if the careful reader of [`super::dialect`] would read the
//! same from it; anything unusual (a quote, a second space, twenty digits, a comment) is left to
//! it. Columns after the last one that is needed are skipped unread by both. Tested by
//! `fast_reads_what_careful_reads_nasty` and its neighbours.
//!
//! Three ways lead through a file, each faster and pickier than the one before: this one, row by
//! row; [`super::uniform_lines`], any fixed number of columns; [`super::simd`], two short integers.

use super::digits::{POWERS, value_of};
use super::fields::parse_weight;
use super::rows::{RowIds, Rows};
use super::simd;
use super::uniform_lines::UniformLines;
use crate::columns::Columns;
use crate::layout::{Layout, Separator};

pub(super) use super::simd::Positions;

/// Form of the plain rows of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    /// The separator that the first row uses.
    separator: u8,
    /// Another byte that separates as well; equal to `separator` where there is none.
    other: u8,
    /// The shape that the first row has.
    regular: UniformLines,
    /// Whether the first line ends with `\r\n`.
    crlf: bool,
    /// Whether nothing but spaces may follow the last column that is needed.
    exact: bool,
    /// The most columns that a row may have, where that is known.
    columns_max: Option<usize>,
    /// Byte before the first number of each row, with a space after it.
    tag: Option<u8>,
    /// Quote that fields may have: none may stand behind the columns that are needed.
    quote: u8,
}

/// A plain row.
struct Row {
    source: u64,
    target: u64,
    /// Looked at where the dialect has weights.
    weight: f64,
}

/// 10^0 to 10^15.
const INTEGER_POWERS: [u64; 16] = {
    let mut powers = [1; 16];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = 10 * powers[exponent - 1];
        exponent += 1;
    }
    powers
};

/// Digits that fit a `u64` whatever they are, in two steps of eight.
const DIGITS_MAX: usize = 16;

impl Plain {
    /// The fast path for files of integers, if these columns have one. `first` is a typical row.
    pub(super) fn new(layout: Layout, columns: Columns, first: &[u8], crlf: bool) -> Option<Self> {
        if columns.source != 0 || columns.target != 1 || columns.weight.is_some_and(|at| at != 2) {
            return None;
        }
        let end = first.iter().position(|byte| !byte.is_ascii_digit())?;
        let (separator, other) = match layout.separator.byte() {
            Some(byte) if byte.is_ascii_digit() => return None,
            Some(byte) => (byte, byte),
            None if layout.separator != Separator::Spaces => return None,
            None if first[end] == b'\t' => (b'\t', b' '),
            None => (b' ', b'\t'),
        };
        let columns_found = 1 + memchr::memchr_iter(separator, first).count();
        // A line end where nothing quotes: it is never found behind a column.
        let quote = layout.quote.unwrap_or(b'\n');
        let regular = UniformLines {
            separator,
            columns: columns_found.max(2),
            blank: 0,
            weighted: columns.weight.is_some(),
            quote,
            crlf,
        };
        let (exact, columns_max, tag) = (false, None, None);
        Some(Self { separator, other, regular, crlf, exact, columns_max, tag, quote })
    }

    /// Rows of at most `columns` columns, or with blank ones behind them.
    pub(super) fn at_most(self, columns: usize) -> Self {
        let blank = self.regular.columns.saturating_sub(columns);
        let regular = UniformLines { blank, ..self.regular };
        Self { columns_max: Some(columns), regular, ..self }
    }

    /// The form for files that have no more columns than are needed.
    pub(super) fn exact(self) -> Self {
        let columns = if self.regular.weighted { 3 } else { 2 };
        Self { exact: true, regular: UniformLines { columns, blank: 0, ..self.regular }, ..self }
    }

    /// Rows such as `a 1 2 7`: a letter, source, target, and the weight if there is one.
    pub(crate) fn tagged(tag: u8, weighted: bool) -> Self {
        let (separator, other) = (b' ', b'\t');
        let quote = b'\n';
        let regular =
            UniformLines { separator, columns: 2, blank: 0, weighted, quote, crlf: false };
        let (crlf, exact, columns_max) = (false, true, None);
        Self { separator, other, regular, crlf, exact, columns_max, tag: Some(tag), quote }
    }

    /// Reads plain rows from `at` on, which is the beginning of a line, and returns the beginning
    /// of the first line that is not plain, or the end of `bytes`. A last line without newline is
    /// never plain.
    pub(super) fn run(self, bytes: &[u8], mut at: usize, rows: &mut Rows) -> usize {
        let mut stretch = 1;
        loop {
            let next = self.scalar(bytes, at, stretch, rows);
            if next == at || next == bytes.len() {
                return next;
            }
            at = self.vectors(bytes, next, rows);
            // Where the vectors get nowhere they are asked more and more seldom.
            stretch = if at - next < 64 { (stretch * 2).min(4096) } else { 1 };
        }
    }

    /// Reads rows as fast as the machine and the shape of the rows allow.
    fn vectors(self, bytes: &[u8], at: usize, rows: &mut Rows) -> usize {
        let mut from = at;
        if self.tag.is_some() {
            return at;
        }
        if self.regular.columns == 2
            && let Rows { ids: RowIds::Narrow { pairs, max }, positions, .. } = rows
        {
            let line = simd::Line { separator: self.separator, crlf: self.crlf };
            from = simd::run(line, bytes, at, positions, pairs, max);
        }
        // One window only: what stopped the other kernel may be behind it.
        if from - at < 64 { self.regular.window(bytes, from, rows) } else { from }
    }

    /// Reads at most `lines` plain rows.
    ///
    /// Line ends are looked for apart from the fields, so that the processor can begin a row before
    /// it knows where the fields of the row before end.
    fn scalar(self, bytes: &[u8], start: usize, lines: usize, rows: &mut Rows) -> usize {
        let mut at = start;
        for newline in memchr::memchr_iter(b'\n', &bytes[start..]).take(lines) {
            let next = start + newline + 1;
            let first = match self.tag {
                None => at,
                Some(tag) if bytes[at..next].starts_with(&[tag, b' ']) => at + 2,
                Some(_) => break,
            };
            let Some(Row { source, target, weight }) = self.row(bytes, first, next) else { break };
            if let Some(weights) = &mut rows.weights {
                weights.push(weight);
            }
            rows.ids.push(source, target);
            at = next;
        }
        at
    }

    /// Reads the row that fills `bytes[at..next]`, if it is plain.
    #[inline]
    fn row(self, bytes: &[u8], at: usize, next: usize) -> Option<Row> {
        let (source, end) = id(bytes, at)?;
        if !self.separates(*bytes.get(end)?) {
            return None;
        }
        let (target, end) = id(bytes, end + 1)?;
        if !self.regular.weighted {
            return self.ends(bytes, end, next).then_some(Row { source, target, weight: 0.0 });
        }
        if !self.separates(*bytes.get(end)?) {
            return None;
        }
        let (weight, end) = number(bytes, end + 1)
            .filter(|(_, end)| self.ends(bytes, *end, next))
            .or_else(|| self.any_number(bytes, end + 1, next))?;
        self.ends(bytes, end, next).then_some(Row { source, target, weight })
    }

    /// The field at `at` of a line up to `next`, as the careful reader takes it.
    #[cold]
    fn any_number(self, bytes: &[u8], at: usize, next: usize) -> Option<(f64, usize)> {
        let line = bytes.get(at..next)?;
        let length = line.iter().position(|&byte| self.separates(byte) || byte == b'\n')?;
        let field = &line[..length];
        let field = field.strip_suffix(b"\r").unwrap_or(field);
        Some((parse_weight(field).ok()?, at + field.len()))
    }

    /// Whether the last field that is needed, of a line up to `next`, ends plainly at `end`.
    #[inline]
    fn ends(self, bytes: &[u8], end: usize, next: usize) -> bool {
        match bytes[end] {
            b'\n' => true,
            b'\r' => end + 2 == next,
            byte if self.exact => {
                self.separates(byte) && bytes[end..next].iter().all(u8::is_ascii_whitespace)
            }
            byte => {
                let rest = &bytes[end..next];
                self.separates(byte) && self.is_bare(rest) && self.is_within(rest)
            }
        }
    }

    /// Whether the rest of a line, behind the columns that are needed, has no more columns than
    /// there may be.
    #[inline]
    fn is_within(self, rest: &[u8]) -> bool {
        let Some(most) = self.columns_max else { return true };
        let needed = 2 + usize::from(self.regular.weighted);
        let separators = memchr::memchr2_iter(self.separator, self.other, rest.trim_ascii_end());
        needed + separators.count() <= most
    }

    /// Whether the rest of a line, with its end, holds no quote, nor a carriage return alone where
    /// lines end without.
    #[inline]
    fn is_bare(self, rest: &[u8]) -> bool {
        let line = rest.strip_suffix(b"\n").unwrap_or(rest);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let odd = if self.crlf { self.quote } else { b'\r' };
        memchr::memchr2(self.quote, odd, line).is_none()
    }

    fn separates(self, byte: u8) -> bool {
        byte == self.separator || byte == self.other
    }
}

/// [`digits`] without zeros in front.
#[inline]
fn id(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (value, end) = digits(bytes, at)?;
    (end - at == 1 || bytes[at] != b'0').then_some((value, end))
}

/// One to sixteen digits at `at`: their value and where they end.
#[inline]
pub(super) fn digits(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let (low, count) = eight(bytes, at);
    if count == 0 {
        return None;
    }
    if count < 8 {
        return Some((low, at + count));
    }
    let (more, extra) = eight(bytes, at + 8);
    let value = low * INTEGER_POWERS[extra] + more;
    let end = at + 8 + extra;
    let longer = extra == 8 && bytes.get(end).is_some_and(u8::is_ascii_digit);
    if longer || end - at > DIGITS_MAX { None } else { Some((value, end)) }
}

/// Up to eight digits at `at`: their value and their number.
#[inline]
fn eight(bytes: &[u8], at: usize) -> (u64, usize) {
    const ZEROS: u64 = 0x3030_3030_3030_3030;
    let Some(word) = bytes.get(at..at + 8) else { return few(bytes, at) };
    let word = u64::from_le_bytes(word.try_into().unwrap_or_default()) ^ ZEROS;
    // The high bit of each byte that is above 9, exact up to the first such byte.
    let others = (word.wrapping_add(0x7676_7676_7676_7676) | word) & 0x8080_8080_8080_8080;
    let count = others.trailing_zeros() as usize / 8;
    if count == 0 {
        return (0, 0);
    }
    // The first digit comes lowest; shifting up puts zeros before it.
    let digits = word << (64 - 8 * count);
    (value_of(digits), count)
}

/// [`eight`] near the end of the text.
#[cold]
fn few(bytes: &[u8], at: usize) -> (u64, usize) {
    let rest = bytes.get(at..).unwrap_or_default();
    let count = rest.iter().take(8).position(|byte| !byte.is_ascii_digit());
    let count = count.unwrap_or(rest.len().min(8));
    let value = rest[..count].iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    (value, count)
}

/// A plain number: an optional minus, at most 15 digits, perhaps a point among them. Such a number
/// is a quotient of two exact floats, which the division rounds correctly.
#[inline]
fn number(bytes: &[u8], at: usize) -> Option<(f64, usize)> {
    let negative = *bytes.get(at)? == b'-';
    let start = at + usize::from(negative);
    let (whole, end) = digits(bytes, start)?;
    let places = end - start;
    let (value, end) = if bytes.get(end) == Some(&b'.') {
        let (fraction, last) = digits(bytes, end + 1)?;
        let decimals = last - end - 1;
        if places + decimals > 15 {
            return None;
        }
        let mantissa = whole * INTEGER_POWERS[decimals] + fraction;
        (mantissa as f64 / POWERS[decimals], last)
    } else if places > 15 {
        return None;
    } else {
        (whole as f64, end)
    };
    Some((if negative { -value } else { value }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_every_length_are_read() {
        for length in 1..=16 {
            for tail in ["", "\t", "\t1234567890123456", "\u{fc}zzzzzzzzzzzz"] {
                let text: String = (0..length).map(|digit| char::from(b'1' + digit % 9)).collect();
                let line = format!("x{text}{tail}");
                let expected = text.parse::<u64>().unwrap();
                let found = digits(line.as_bytes(), 1);
                assert_eq!(found, Some((expected, 1 + usize::from(length))), "{line}");
            }
        }
        assert_eq!(digits(b"12345678901234567", 0), None);
        assert_eq!(digits(b"", 0), None);
        assert_eq!(digits(b"\t", 0), None);
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_does() {
        for text in ["0", "-0", "1.5", "0.1", "123456789.012345", "-3.25", "999999999999999"] {
            let (value, end) = number(text.as_bytes(), 0).unwrap();
            assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            assert_eq!(end, text.len());
        }
        for text in ["", "-", ".5", "1.", "1234567890123456", "12345678.12345678", "inf"] {
            assert_eq!(number(text.as_bytes(), 0), None, "{text}");
        }
        assert_eq!(number(b"1e5", 0), Some((1.0, 1)));
    }
}
