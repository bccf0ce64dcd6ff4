//! The fast path for rows of any fixed number of columns, of which two are ids and the third may
//! be a weight.
//!
//! A first pass ([`super::simd`]) notes where separators and line ends stand in a few kilobytes of
//! text, so every field of a row is known before the row before it is read. Numbers are then
//! converted without a branch on their length: their characters are shifted to the upper end of a
//! word, whose lower end fills with zeros.
//!
//! Invariant: a row is taken only if it has exactly as many columns as the first row of the file,
//! each separated by one byte, and if the careful reader would read the same from it. Tested by
//! `fast_reads_what_careful_reads_nasty`.

use super::digits::{POWERS, value_of};
use super::fields::parse_weight;
use super::rows::{RowIds, Rows};
use super::simd;

/// `'0'` in every byte.
const ZEROS: u128 = 0x3030_3030_3030_3030_3030_3030_3030_3030;
/// 1 in every byte.
const ONES: u128 = 0x0101_0101_0101_0101_0101_0101_0101_0101;
/// The highest bit of every byte.
const HIGHS: u128 = ONES << 7;
/// Number that `'.'` becomes where digits become their values.
const POINT: u128 = (b'.' ^ b'0') as u128 * ONES;
/// Integers up to this are exact as floats.
const EXACT_MAX: u64 = 1 << 53;

/// Form of regular rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UniformLines {
    /// Stands once between two columns.
    pub(super) separator: u8,
    /// Columns of a row, at least two.
    pub(super) columns: usize,
    /// Number of the last columns that hold nothing.
    pub(super) blank: usize,
    /// Whether the third column is the weight.
    pub(super) weighted: bool,
    /// Quote that fields may have.
    pub(super) quote: u8,
    /// Whether lines end with `\r\n`.
    pub(super) crlf: bool,
}

impl UniformLines {
    /// Reads rows from `at` on, the beginning of a line, as far as one window reaches and they are
    /// regular; returns the beginning of the first row that was not read.
    pub(super) fn window(self, bytes: &[u8], at: usize, rows: &mut Rows) -> usize {
        let Rows { ids, weights, positions, .. } = rows;
        let text = &bytes[at..];
        let marks = simd::marks(self.separator, text, positions);
        let text = if self.columns > 2 + usize::from(self.weighted) {
            self.bare(text, marks)
        } else {
            text
        };
        // Code of its own for the shape that is common: it knows that there are three columns.
        at + match self.columns {
            3 => self.rows(text, marks.chunks_exact(3), ids, weights),
            columns => self.rows(text, marks.chunks_exact(columns), ids, weights),
        }
    }

    /// The text up to a quote, or to a carriage return alone where lines end without: rows behind
    /// that are left, as no column that is skipped may hold it.
    fn bare<'t>(self, text: &'t [u8], marks: &[u32]) -> &'t [u8] {
        let Some(&last) = marks.last() else { return text };
        let within = &text[..last as usize];
        let odd = if self.crlf { self.quote } else { b'\r' };
        let odd = memchr::memchr2(self.quote, odd, within);
        odd.map_or(text, |place| &text[..place])
    }

    /// Reads the rows between marks; returns the end of the last one.
    #[inline(always)]
    fn rows<'a>(
        self,
        text: &[u8],
        rows: impl Iterator<Item = &'a [u32]>,
        ids: &mut RowIds,
        weights: &mut Option<Vec<f64>>,
    ) -> usize {
        let mut start = 0;
        for marks in rows {
            let Some((&end, between)) = marks.split_last() else { break };
            // A mark is a separator or a line end.
            let separates = |&mark: &u32| text[mark as usize] == self.separator;
            if text.get(end as usize) != Some(&b'\n') || !between.iter().all(separates) {
                break;
            }
            if self.blank > 0 && !self.ends_blank(text, between, end as usize) {
                break;
            }
            let Some((source, target)) = ends(text, start, marks) else { break };
            if let Some(weights) = weights {
                let Some(weight) = weight(text, marks) else { break };
                weights.push(weight);
            }
            ids.push(source, target);
            start = end as usize + 1;
        }
        start
    }

    /// Whether the columns that hold nothing do so in the row that ends at `end`.
    #[cold]
    fn ends_blank(self, text: &[u8], between: &[u32], end: usize) -> bool {
        let first = between.len().checked_sub(self.blank).and_then(|place| between.get(place));
        first.is_some_and(|first| *first as usize + self.blank == without_carriage(text, end))
    }
}

/// The ids of the row that begins at `start`.
#[inline]
fn ends(text: &[u8], start: usize, marks: &[u32]) -> Option<(u64, u64)> {
    let (first, second) = (marks[0] as usize, marks[1] as usize);
    let last = if marks.len() == 2 { without_carriage(text, second) } else { second };
    Some((integer(text, start, first)?, integer(text, first + 1, last)?))
}

/// The third column.
#[inline]
fn weight(text: &[u8], marks: &[u32]) -> Option<f64> {
    let &[_, second, third, ..] = marks else { return None };
    let (start, end) = (second as usize + 1, third as usize);
    let end = if marks.len() == 3 { without_carriage(text, end) } else { end };
    decimal(text, start, end).or_else(|| parse_weight(text.get(start..end)?).ok())
}

/// The end of the last field of a line whose newline is at `newline`.
#[inline]
fn without_carriage(text: &[u8], newline: usize) -> usize {
    newline - usize::from(newline > 0 && text[newline - 1] == b'\r')
}

/// The integer that fills `text[start..end]` with one to sixteen digits. A number that is not
/// written as it is printed, with a zero in front, is left to the careful reader.
#[inline(always)]
fn integer(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let length = end.wrapping_sub(start);
    if length.wrapping_sub(1) < 8 {
        let word = u64::from_le_bytes(text.get(start..start + 8)?.try_into().ok()?);
        let digits = (word ^ ZEROS as u64) << (64 - 8 * length);
        let padded = word as u8 == b'0' && length > 1;
        return (are_digits(digits) && !padded).then(|| value_of(digits));
    }
    let digits = characters(text, start, length)?;
    if text[start] == b'0' { None } else { whole(digits) }
}

/// The number that fills `text[start..end]`: an optional minus, then at most sixteen characters,
/// which are digits and perhaps one point. It is a quotient of two exact floats, which the
/// division rounds correctly.
#[inline]
fn decimal(text: &[u8], start: usize, end: usize) -> Option<f64> {
    let negative = *text.get(start)? == b'-';
    let start = start + usize::from(negative);
    let length = end.wrapping_sub(start);
    let value = if length <= 8 { short(text, start, length) } else { long(text, start, length) }?;
    Some(if negative { -value } else { value })
}

/// [`decimal`] without a sign, of at most eight characters.
#[inline]
fn short(text: &[u8], start: usize, length: usize) -> Option<f64> {
    if length == 0 {
        return None;
    }
    let word = text.get(start..start + 8)?.try_into().ok()?;
    let digits = (u64::from_le_bytes(word) ^ ZEROS as u64) << (64 - 8 * length);
    let others = digits ^ POINT as u64;
    // The lowest bit found is exact, and that is the first point.
    let points = others.wrapping_sub(ONES as u64) & !others & HIGHS as u64;
    if points == 0 {
        return are_digits(digits).then(|| value_of(digits) as f64);
    }
    let place = points.trailing_zeros() - 7;
    let before = (1 << place) - 1;
    let digits = digits & !(before << 8 | 0xff) | (digits & before) << 8;
    let good = length > 1 && are_digits(digits);
    good.then(|| value_of(digits) as f64 / POWERS[7 - place as usize / 8])
}

/// Reads a number of nine to sixteen characters.
#[inline]
fn long(text: &[u8], start: usize, length: usize) -> Option<f64> {
    let digits = characters(text, start, length)?;
    let others = digits ^ POINT;
    let points = others.wrapping_sub(ONES) & !others & HIGHS;
    if points == 0 {
        return exact(whole(digits)?);
    }
    // The digits before the point move up to where it was.
    let place = points.trailing_zeros() - 7;
    let before = (1 << place) - 1;
    let mantissa = whole(digits & !(before << 8 | 0xff) | (digits & before) << 8)?;
    Some(exact(mantissa)? / POWERS[15 - place as usize / 8])
}

/// One to sixteen characters, the last one highest, each combined with `'0'`; zeros below them.
#[inline]
fn characters(text: &[u8], start: usize, length: usize) -> Option<u128> {
    if length.wrapping_sub(1) >= 16 {
        return None;
    }
    let word = text.get(start..start + 16)?.try_into().ok()?;
    Some((u128::from_le_bytes(word) ^ ZEROS) << (128 - 8 * length))
}

/// The integer of sixteen digits, the first one lowest.
#[inline]
fn whole(digits: u128) -> Option<u64> {
    let (first, last) = (digits as u64, (digits >> 64) as u64);
    let good = are_digits(first) && are_digits(last);
    good.then(|| value_of(first) * 100_000_000 + value_of(last))
}

/// Whether all bytes are below ten.
#[inline]
fn are_digits(bytes: u64) -> bool {
    // A carry can only come from a byte that is none.
    (bytes.wrapping_add(0x7676_7676_7676_7676) | bytes) & HIGHS as u64 == 0
}

#[inline]
fn exact(integer: u64) -> Option<f64> {
    (integer <= EXACT_MAX).then_some(integer as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// With bytes around the field that must not matter.
    fn within<T>(field: &str, read: impl Fn(&[u8], usize, usize) -> Option<T>) -> Option<T> {
        let text = format!("77{field}99999999999999999");
        read(text.as_bytes(), 2, 2 + field.len())
    }

    #[test]
    fn numbers_of_every_form_are_read_or_left() {
        for (field, expected) in [
            ("0", Some(0.0)),
            ("-0", Some(-0.0)),
            ("7.", Some(7.0)),
            (".5", Some(0.5)),
            ("-12.75", Some(-12.75)),
            ("123456789012345.", Some(123_456_789_012_345.0)),
            ("9007199254740992", Some(9_007_199_254_740_992.0)),
            ("9007199254740993", None),
            (".", None),
            ("-", None),
            ("", None),
            ("1.2.3", None),
            ("1e5", None),
            ("--1", None),
            ("0.1234567890123456", None),
        ] {
            let found = within(field, decimal);
            assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits), "{field}");
        }
    }

    proptest! {
        #[test]
        fn integers_are_those_of_the_standard_library(field in "[0-9]{0,18}|[0-9 .:/-]{1,16}") {
            let digits = field.bytes().all(|byte| byte.is_ascii_digit());
            let printed = field.len() == 1 || !field.starts_with('0');
            let expected =
                field.parse::<u64>().ok().filter(|_| digits && printed && field.len() <= 16);
            prop_assert_eq!(within(&field, integer), expected);
        }

        #[test]
        fn decimals_are_those_of_the_standard_library(
            field in "-?[0-9]{0,16}[.]?[0-9]{0,12}|-?[0-9]{1,4}[.][0-9]{1,9}|[-+0-9.ex/:]{0,17}",
        ) {
            if let Some(found) = within(&field, decimal) {
                prop_assert_eq!(found.to_bits(), field.parse::<f64>().unwrap().to_bits());
            } else {
                let body = field.strip_prefix('-').unwrap_or(&field);
                let simple = body.len() <= 15
                    && body.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                prop_assert!(!(simple && field.parse::<f64>().is_ok()), "{}", field);
            }
        }
    }
}
