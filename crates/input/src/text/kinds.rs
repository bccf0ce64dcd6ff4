//! Kinds of cells and columns of a sample: integers, numbers, dates, identifiers, words.

use std::borrow::Cow;

use super::fields::{is_number, parse_id, scientific};
use crate::columns::Holds;

/// Content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or a word for nothing such as `NA`.
    Missing,
    /// An integer id as it is printed.
    Integer,
    /// An integer that is printed otherwise or too large: `007`, `+7`, `-7`, 21 digits.
    Other,
    /// A number with a fraction of zeros.
    Whole,
    /// Any other number; with a decimal comma, too.
    Number,
    /// A date or a time.
    Date,
    /// A UUID.
    Uuid,
    /// A dictionary of attributes, as NetworkX writes it.
    Dictionary,
    /// Anything else.
    Word,
}

const KINDS: usize = 9;

/// Words for a value that is not there.
const MISSING: &[&[u8]] =
    &[b"", b"na", b"n/a", b"nan", b"null", b"none", b"\\n", b"-", b"?", b".", b"nil"];

impl Kind {
    /// The kind of a cell.
    pub(super) fn of(cell: &[u8]) -> Self {
        let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        let unsigned = cell.strip_prefix(b"-").or_else(|| cell.strip_prefix(b"+")).unwrap_or(cell);
        if digits(cell) {
            let printed = cell == b"0" || cell[0] != b'0';
            return if printed && parse_id(cell).is_ok() { Self::Integer } else { Self::Other };
        }
        if digits(unsigned) {
            return Self::Other;
        }
        if MISSING.iter().any(|word| word.eq_ignore_ascii_case(cell)) {
            return Self::Missing;
        }
        if is_number(cell) && (cell.iter().any(u8::is_ascii_digit) || is_infinite(cell)) {
            let whole = is_whole(cell) || scientific(cell).is_some();
            return if whole { Self::Whole } else { Self::Number };
        }
        match cell {
            _ if is_uuid(cell) => Self::Uuid,
            _ if is_date(cell) => Self::Date,
            _ if has_decimal_comma(cell) => Self::Number,
            [b'{', .., b'}'] => Self::Dictionary,
            _ => Self::Word,
        }
    }
}

fn is_infinite(cell: &[u8]) -> bool {
    let unsigned = cell.strip_prefix(b"-").or_else(|| cell.strip_prefix(b"+")).unwrap_or(cell);
    [&b"inf"[..], b"infinity"].iter().any(|word| word.eq_ignore_ascii_case(unsigned))
}

/// `7.0` and the like, without a sign.
fn is_whole(cell: &[u8]) -> bool {
    let Some(point) = memchr::memchr(b'.', cell) else { return false };
    let (whole, zeros) = (&cell[..point], &cell[point + 1..]);
    let printed = whole == b"0" || whole.first().is_some_and(|first| *first != b'0');
    printed && parse_id(whole).is_ok() && zeros.iter().all(|byte| *byte == b'0')
}

/// A number whose fraction comes after a comma, and is none of three digits, which may be
/// thousands.
pub(super) fn has_decimal_comma(cell: &[u8]) -> bool {
    let unsigned = cell.strip_prefix(b"-").unwrap_or(cell);
    let Some(comma) = memchr::memchr(b',', unsigned) else { return false };
    let (whole, fraction) = (&unsigned[..comma], &unsigned[comma + 1..]);
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits(whole) && digits(fraction) && (fraction.len() != 3 || whole == b"0")
}

fn is_uuid(cell: &[u8]) -> bool {
    let dash = |place: usize| matches!(place, 8 | 13 | 18 | 23);
    let good = |(place, byte): (usize, &u8)| {
        if dash(place) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
    };
    cell.len() == 36 && cell.iter().enumerate().all(good)
}

/// `2024-01-31`, `31/01/2024`, `31.1.2024`, with a time behind it or not; `10:00:00`.
fn is_date(cell: &[u8]) -> bool {
    let head = cell.split(|byte| matches!(byte, b' ' | b'T')).next().unwrap_or_default();
    let parts = |mark: u8| -> Option<[usize; 3]> {
        let mut parts = head.split(|byte| *byte == mark).map(|part| {
            let good = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            good.then_some(part.len())
        });
        let three = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(three)
    };
    let date = |[first, second, third]: [usize; 3]| {
        second <= 2 && (first == 4 && third <= 2 || first <= 2 && matches!(third, 2 | 4))
    };
    let marks = [b'-', b'/', b'.'];
    marks.into_iter().filter_map(parts).any(date)
        || parts(b':').is_some_and(|lengths| lengths.iter().all(|length| *length <= 2))
}

/// Cells of a column, counted by their content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    counts: [usize; KINDS],
    /// Whether the cells are 0, 1, 2 ... or 1, 2, 3 ..., one after the other.
    pub(super) counts_rows: bool,
}

impl Column {
    /// Looks at a column of rows.
    pub(super) fn of(rows: &[Vec<Cow<'_, [u8]>>], place: usize) -> Self {
        let cells = rows.iter().filter_map(|row| row.get(place));
        let mut counts = [0; KINDS];
        for cell in cells.clone() {
            counts[Kind::of(cell) as usize] += 1;
        }
        let first = rows.first().and_then(|row| parse_id(row.get(place)?).ok());
        let counted = |first: u64| {
            let mut numbers = cells.enumerate();
            numbers.all(|(row, cell)| parse_id(cell) == Ok(first + row as u64))
        };
        Self { counts, counts_rows: first.is_some_and(|first| first <= 1 && counted(first)) }
    }

    /// Number of cells of a kind.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.counts[kind as usize]
    }

    /// Cells that hold something.
    pub(super) fn filled(&self) -> usize {
        self.counts.iter().sum::<usize>() - self.count(Kind::Missing)
    }

    /// The content of the column. A few cells that do not fit are errors in their rows rather than
    /// reasons to take it for something else.
    pub(super) fn holds(&self) -> Holds {
        let filled = self.filled();
        let most = |kinds: &[Kind], share: usize| {
            let count: usize = kinds.iter().map(|kind| self.count(*kind)).sum();
            filled > 0 && count * 20 >= filled * share
        };
        let ids = [Kind::Integer, Kind::Other, Kind::Whole];
        match () {
            () if filled == 0 => Holds::Nothing,
            () if most(&ids, 19) => Holds::Integers,
            () if most(&[Kind::Integer, Kind::Other, Kind::Whole, Kind::Number], 11) => {
                if self.count(Kind::Number) > 0 { Holds::Numbers } else { Holds::Mostly }
            }
            () if most(&[Kind::Date], 19) => Holds::Others,
            () if most(&[Kind::Dictionary], 19) => Holds::Dictionaries,
            () if most(&[Kind::Word, Kind::Uuid, Kind::Date], 11) => Holds::Names,
            () => Holds::Mixed,
        }
    }

    /// Whether all cells hold something that no header does: numbers, dates, identifiers.
    pub(super) fn is_typed(&self) -> bool {
        let free = self.count(Kind::Word) + self.count(Kind::Dictionary);
        self.filled() > 0 && free == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_known_by_their_form() {
        for (kind, cells) in [
            (Kind::Missing, &["", "NA", "null", "\\N", "NaN"][..]),
            (Kind::Integer, &["0", "7", "18446744073709551615"]),
            (Kind::Other, &["007", "+7", "-7", "00", "18446744073709551616"]),
            (Kind::Whole, &["7.0", "0.00", "12.", "1.0000000e+00", "1.2E+05"]),
            (Kind::Number, &["7.5", "1e5", "-0.5", "inf", "0,5", "-1,25", "-7.0", "07.0"]),
            (
                Kind::Date,
                &["2024-01-31", "2024-01-31T10:00:00Z", "31/01/2024", "1.2.24", "10:00:00"],
            ),
            (Kind::Uuid, &["123e4567-e89b-12d3-a456-426614174000"]),
            (Kind::Dictionary, &["{}", "{'weight': 4}"]),
            (Kind::Word, &["a", "1,000", "1.2.3.4", "12a", "2024-01", "{", "1-2"]),
        ] {
            for cell in cells {
                assert_eq!(Kind::of(cell.as_bytes()), kind, "{cell}");
            }
        }
    }

    #[test]
    fn columns_are_what_nearly_all_of_their_cells_are() {
        let column = |cells: &[&str]| {
            let row = |cell: &&str| vec![Cow::Owned(cell.as_bytes().to_vec())];
            Column::of(&cells.iter().map(row).collect::<Vec<_>>(), 0)
        };
        assert_eq!(column(&["1", "2", "3"]).holds(), Holds::Integers);
        assert!(column(&["0", "1", "2"]).counts_rows && !column(&["1", "3"]).counts_rows);
        let mut many = vec!["5"; 20];
        many.push("x");
        assert_eq!(column(&many).holds(), Holds::Integers);
        assert_eq!(column(&["a", "2", "3"]).holds(), Holds::Mostly);
        assert_eq!(column(&["a", "b", "3"]).holds(), Holds::Names);
        assert_eq!(column(&["0.5", "1", "NA"]).holds(), Holds::Numbers);
        assert_eq!(column(&["2024-01-31"]).holds(), Holds::Others);
        assert_eq!(column(&["", ""]).holds(), Holds::Nothing);
    }
}
