//! Separators and quotes of fields: candidates, scored over a sample.
//!
//! A candidate is a separator with a way of quoting. It is good if nearly all rows have the same
//! number of fields with it, at least two. Of several good ones a tab wins, as other separators are
//! found in texts; then the one that stands alone once those are left out that stand only where
//! numbers have decimal commas or texts have commas and spaces; then the one that makes integers of
//! the first two fields, that the header is written with, or that makes more fields. Runs of spaces
//! are a separator only where nothing else is, or where they alone make integers. A colon is one
//! only where no field looks like a piece of an address, a time or a dictionary. What remains a tie
//! is refused, and so are rows whose brackets open in one field and close in another, as those of
//! tuples do.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::kinds::{Column, Kind};
use super::sample::Sample;
use crate::columns::Holds;
use crate::layout::{Escape, Layout, Quote, Separator, SeparatorString};
use crate::options::ReadOptions;
use crate::words::show;

/// Rows whose kinds are looked at to rank candidates.
const TYPED_ROWS: usize = 100;

/// Rows, each with its fields.
pub(super) type Rows<'a> = Vec<Vec<Cow<'a, [u8]>>>;

/// A way to read the rows of a sample.
pub(super) struct Candidate<'a> {
    pub(super) layout: Layout,
    /// Whether a row goes over lines.
    pub(super) over_lines: bool,
    /// Rows, and where each begins and ends.
    pub(super) rows: Rows<'a>,
    pub(super) spans: Vec<(usize, usize)>,
    /// The number of fields that most rows have.
    pub(super) fields: usize,
    /// Rows that have another number.
    others: usize,
    /// Rows with a field that cannot be read.
    dirty: usize,
}

/// The string, which is known to be short.
const fn string(text: &[u8]) -> Separator {
    match SeparatorString::new(text) {
        Some(string) => Separator::String(string),
        None => Separator::Spaces,
    }
}

/// Separators that stand for themselves, in the order in which they are tried.
const STRONG: [Separator; 6] = [
    Separator::Tab,
    Separator::Comma,
    Separator::Semicolon,
    Separator::Pipe,
    string(b"::"),
    string(b"\x01"),
];

/// The candidate that reads a sample best.
///
/// # Errors
/// Two that are as good, or a best one that cuts through brackets.
pub(super) fn best<'a>(
    sample: &Sample<'a>,
    options: &ReadOptions,
) -> Result<Candidate<'a>, String> {
    if let Some(separator) = options.separator {
        return Ok(quoted(sample, separator, options));
    }
    let best = guessed(sample, options)?;
    match best.cut_brackets() {
        None => Ok(best),
        Some(fields) => Err(format!(
            "expected fields without brackets around several of them, found {fields} separated by \
             {} (write rows without brackets, such as 1,2; --separator says that brackets are \
             parts of names)",
            best.layout.separator.noun()
        )),
    }
}

/// [`best`], where the user says nothing.
fn guessed<'a>(sample: &Sample<'a>, options: &ReadOptions) -> Result<Candidate<'a>, String> {
    let has = |separator: &Separator| match *separator {
        Separator::String(string) => memchr::memmem::find(sample.text, string.bytes()).is_some(),
        separator => memchr::memchr(separator.byte().unwrap_or(b' '), sample.text).is_some(),
    };
    let tried = |separator: Separator| quoted(sample, separator, options);
    let strong: Vec<Candidate<'a>> = STRONG.into_iter().filter(has).map(tried).collect();
    let whole = |candidate: &Candidate<'_>| candidate.cut_brackets().is_none();
    let (mut good, rest): (Vec<_>, Vec<_>) = strong.into_iter().partition(Candidate::is_regular);
    let spaces = tried(Separator::Spaces);
    if good.is_empty() {
        let colon = string(b":");
        let mut rest = rest;
        if spaces.is_regular() {
            return Ok(spaces);
        }
        if has(&colon) {
            let colon = tried(colon);
            if colon.is_regular() && !colon.cuts_addresses() {
                return Ok(colon);
            }
        }
        rest.push(spaces);
        rest.retain(|candidate| candidate.fields > 1);
        let share = |candidate: &Candidate<'_>| candidate.others;
        return Ok(rest.into_iter().min_by_key(share).unwrap_or_else(|| tried(Separator::Spaces)));
    }
    if good.iter().any(whole) || spaces.is_regular() && whole(&spaces) {
        good.retain(whole);
        if good.is_empty() {
            return Ok(spaces);
        }
    }
    // Runs of spaces and tabs, where tabs alone leave rows over or make no integers of fields.
    let better = |other: &Candidate<'_>| match spaces.others.cmp(&other.others) {
        Ordering::Less => true,
        Ordering::Equal => !other.has_integers(),
        Ordering::Greater => false,
    };
    if spaces.is_regular() && spaces.has_integers() && good.iter().all(better) {
        return Ok(spaces);
    }
    only(good, sample.text)
}

/// The best of candidates that are good.
fn only<'a>(mut good: Vec<Candidate<'a>>, text: &[u8]) -> Result<Candidate<'a>, String> {
    let spaced = memchr::memchr_iter(b',', text).all(|place| text.get(place + 1) == Some(&b' '));
    let mut keep = |wanted: &dyn Fn(&Candidate<'_>) -> bool| {
        if good.len() > 1 && good.iter().any(wanted) {
            good.retain(wanted);
        }
    };
    keep(&|candidate| candidate.layout.separator == Separator::Tab);
    keep(&|candidate| !candidate.cuts_numbers());
    keep(&|candidate| !spaced || candidate.layout.separator != Separator::Comma);
    keep(&|candidate| candidate.has_integers());
    // A header is written with the separator of the rows, and names below it may hold others.
    keep(&|candidate| candidate.fits_first_row());
    let alike = |one: &Candidate<'_>, other: &Candidate<'_>| {
        one.fields == other.fields || !one.has_types() && !other.has_types()
    };
    if let [one, other, ..] = &good[..]
        && alike(one, other)
    {
        return Err(format!(
            "expected one separator, found that {} and {} both give rows of columns (--separator \
             says which it is)",
            one.layout.separator.noun(),
            other.layout.separator.noun()
        ));
    }
    let most = good.into_iter().max_by_key(|candidate| (candidate.has_types(), candidate.fields));
    most.ok_or_else(|| "expected rows, found none".to_owned())
}

/// The best way of quoting with a separator.
fn quoted<'a>(sample: &Sample<'a>, separator: Separator, options: &ReadOptions) -> Candidate<'a> {
    let usual = Layout::usual(separator);
    let mark = match options.quote {
        None => Some(b'"'),
        Some(Quote::None) => None,
        Some(Quote::Mark(quote)) => Some(quote),
    };
    let backslash = options.escape == Some(Escape::Backslash);
    let first = Candidate::of(sample, Layout { quote: mark, backslash, ..usual });
    if options.quote.is_some() && options.escape.is_some() {
        return first;
    }
    let quote = mark.unwrap_or(b'"');
    let escaped = memchr::memmem::find(sample.text, &[b'\\', quote]).is_some();
    if mark.is_some() && options.escape.is_none() && escaped {
        let other = Candidate::of(sample, Layout { quote: mark, backslash: true, ..usual });
        if other.dirty < first.dirty || other.dirty == 0 && other.others <= first.others {
            return other;
        }
    }
    if options.quote.is_some() {
        return first;
    }
    if first.over_lines && first.dirty == 0 {
        // A quote that is a whole field of lines which are rows by themselves is a name.
        let none = Candidate::of(sample, Layout { quote: None, ..usual });
        let alone = none.rows.iter().flatten().all(|cell| !cell.contains(&b'"') || cell.len() == 1);
        if alone && none.fields == first.fields && none.fields > 1 && none.others == 0 {
            return none;
        }
    }
    if first.dirty > 0 {
        let none = Candidate::of(sample, Layout { quote: None, ..usual });
        if none.is_regular() && !none.is_quoted_with(b'"') && !first.has_integers() {
            return none;
        }
    } else if first.begins_with(b'\'') {
        let single = Candidate::of(sample, Layout { quote: Some(b'\''), ..usual });
        if single.dirty == 0 && single.is_regular() {
            return single;
        }
    }
    first
}

impl<'a> Candidate<'a> {
    /// Reads a sample.
    fn of(sample: &Sample<'a>, layout: Layout) -> Self {
        let records = sample.records(layout);
        let counts: Vec<usize> = records.rows.iter().map(Vec::len).collect();
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|one, other| one == other);
        // Of two numbers that as many rows have, the larger one.
        let fields = runs.max_by_key(|run| run.len()).map_or(0, |run| run[0]);
        let others = counts.iter().filter(|count| **count != fields).count();
        let (rows, spans) = (records.rows, records.spans);
        let (over_lines, dirty) = (records.over_lines, records.dirty);
        Self { layout, over_lines, rows, spans, fields, others, dirty }
    }

    /// Whether nearly all rows have the same number of fields, at least two.
    pub(super) fn is_regular(&self) -> bool {
        let few = self.others * 10 <= self.rows.len() || (self.rows.len() >= 3 && self.others <= 1);
        self.fields > 1 && few
    }

    /// Whether all rows but perhaps a header have the same number of fields.
    pub(super) fn is_exact(&self) -> bool {
        self.rows.iter().skip(1).all(|row| row.len() == self.fields)
    }

    /// Whether the first row has as many fields as most.
    fn fits_first_row(&self) -> bool {
        self.rows.first().is_some_and(|row| row.len() == self.fields)
    }

    /// The smallest and the largest number of fields.
    pub(super) fn range(&self) -> (usize, usize) {
        let counts = self.rows.iter().map(Vec::len);
        (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0))
    }

    /// The first rows but for one that may be a header.
    fn body(&self) -> &[Vec<Cow<'a, [u8]>>] {
        let rows = &self.rows[..self.rows.len().min(TYPED_ROWS)];
        &rows[usize::from(rows.len() > 1)..]
    }

    /// Whether the first two fields of rows are integers.
    pub(super) fn has_integers(&self) -> bool {
        let body = self.body();
        (0..2).all(|place| Column::of(body, place).holds() == Holds::Integers)
    }

    /// Whether a column holds numbers, dates and the like.
    fn has_types(&self) -> bool {
        let body = self.body();
        (0..self.fields).any(|place| Column::of(body, place).is_typed())
    }

    /// Whether each comma stands between digits, of which some belong to longer fields: it is that
    /// of a number, and another separator cuts rows.
    fn cuts_numbers(&self) -> bool {
        let digits = |cell: &[u8]| cell.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let within = |pair: &[Cow<'_, [u8]>]| {
            let (before, after) = (&pair[0], &pair[1]);
            let last = before.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
            let first = digits(after);
            last > 0 && first > 0 && (before.len() > last || after.len() > first)
        };
        let body = &self.rows[usize::from(self.rows.len() > 1)..];
        self.layout.separator == Separator::Comma
            && body.iter().all(|row| row.windows(2).all(within))
    }

    /// Fields of a row in which brackets open in one and close in another, if most rows are so.
    fn cut_brackets(&self) -> Option<String> {
        let depth = |cell: &[u8]| {
            let step = |byte: &u8| match byte {
                b'(' | b'[' | b'{' => 1,
                b')' | b']' | b'}' => -1,
                _ => 0,
            };
            cell.iter().map(step).sum::<i64>()
        };
        let cut = |row: &&Vec<Cow<'_, [u8]>>| {
            let depths: Vec<i64> = row.iter().map(|cell| depth(cell)).collect();
            depths.iter().sum::<i64>() == 0 && depths.iter().find(|depth| **depth != 0) > Some(&0)
        };
        if 2 * self.rows.iter().filter(cut).count() <= self.rows.len() {
            return None;
        }
        let row = self.rows.iter().find(cut)?;
        let shown: Vec<String> = row.iter().take(3).map(|cell| show(cell)).collect();
        Some(shown.join(" and "))
    }

    /// Whether a field holds what stands in addresses, times, dictionaries and other texts: colons
    /// between such are none between ends.
    fn cuts_addresses(&self) -> bool {
        let odd = |byte: &u8| b" /\\<>@{}[]()\"'=?&".contains(byte);
        let first = |row: &Vec<Cow<'_, [u8]>>| row.first().map(|cell| cell.to_vec());
        let prefix = self.rows.len() > 1 && !self.has_integers() && {
            let one = self.rows.first().map(first);
            self.rows.iter().all(|row| Some(first(row)) == one)
        };
        prefix || self.rows.iter().flatten().any(|cell| cell.iter().any(odd))
    }

    /// Whether a column is quoted with this mark in every row.
    fn is_quoted_with(&self, quote: u8) -> bool {
        let quoted = |cell: &Cow<'_, [u8]>| {
            cell.len() > 1 && cell.first() == Some(&quote) && cell.last() == Some(&quote)
        };
        let column = |place: usize| self.rows.iter().all(|row| row.get(place).is_some_and(quoted));
        !self.rows.is_empty() && (0..self.fields).any(column)
    }

    /// Whether every row begins with this byte.
    fn begins_with(&self, byte: u8) -> bool {
        let begins =
            |row: &Vec<Cow<'_, [u8]>>| row.first().is_some_and(|cell| cell.first() == Some(&byte));
        // A header may be bare.
        self.rows.len() > 1 && self.rows[1..].iter().all(begins)
    }

    /// Whether a cell is a number with a decimal comma.
    pub(super) fn has_decimal_commas(&self, place: usize) -> bool {
        let cells = self.rows.iter().filter_map(|row| row.get(place));
        let mut commas =
            cells.filter(|cell| Kind::of(cell) == Kind::Number && cell.contains(&b','));
        commas.next().is_some()
    }
}
