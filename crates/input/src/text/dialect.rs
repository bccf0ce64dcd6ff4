//! The dialect of a text file: separator, header, columns, and what ids are; guessed from a sample.
//!
//! Rules, each overridden by what the user says:
//! - separator: the one of tab, comma, semicolon, pipe, or else runs of spaces, that most rows
//!   have;
//! - header: the first row, if its ids are no integers while all later ones are, or if its names
//!   tell source from target, or weight from the rest, or if a stated column of weights holds
//!   numbers but in this row;
//! - ids: names, if most of a column are neither integers nor numbers; so one bad line in a file of
//!   integers is an error and does not turn a graph of integers into one of names.
//!
//! A first row of numbers may count vertices and edges, see [`super::counted`].

use std::borrow::Cow;

use super::counted::Counted;
use super::fields::{Fields, Looks, is_no_row, is_number, looks, no_row};
use super::known::Known;
use super::lines::Lines;
use super::parse::{self, Fault};
use super::plain::Plain;
use super::rows::Rows;
use crate::columns::{self, Columns};
use crate::error::InputError;
use crate::options::{ColumnRef, IdKind, ReadOptions, Separator, WeightChoice};
use crate::reading::{FileSummary, PassedOver, RowsOfText};

/// Rows of a sample that are looked at.
const ROWS_MAX: usize = 2000;

/// How to read the rows of one file.
#[derive(Clone, Debug)]
pub(crate) struct Dialect {
    pub(super) separator: Separator,
    pub(super) columns: Columns,
    /// Integers or names.
    pub(super) ids: IdKind,
    /// Byte at which rows begin: after a byte order mark, and after the header if there is one.
    pub(super) start: usize,
    /// The fast path for this dialect, if it has one.
    pub(super) plain: Option<Plain>,
    /// Which ids may come.
    pub(crate) known: Known,
    /// Whether more columns than are needed are an error.
    pub(super) exact: bool,
    /// What the row before `start` counts.
    pub(super) counted: Counted,
    /// Lines before `start` that were passed over.
    pub(super) before: PassedOver,
    /// Names of the columns, where the first row has them.
    pub(super) header: Option<Vec<String>>,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) type Row<'a> = Vec<Cow<'a, [u8]>>;

impl Dialect {
    /// Guesses the dialect of a file from its first bytes.
    pub(super) fn guess(
        file: &str,
        sample: &[u8],
        whole: bool,
        options: &ReadOptions,
    ) -> Result<Self, InputError> {
        let mark = if sample.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let lines = rows_of(sample, mark, whole);
        let separator = options.separator.unwrap_or_else(|| guess_separator(&lines));
        let rows: Vec<Row<'_>> = lines.iter().map(|line| split(line.text, separator)).collect();
        let header = match options.header {
            Some(true) if rows.is_empty() => {
                return Err(InputError::content(file, "expected a header row, found no row"));
            }
            Some(header) => header,
            None => guess_header(&rows, options),
        };
        let counted = if header { Counted::No } else { Counted::of(&rows, options) };
        let before = usize::from(header || counted != Counted::No);
        let data = rows.get(before..).unwrap_or_default();
        let columns = choose_columns(file, if header { &rows } else { data }, header, options)?;
        let ids = match options.ids {
            IdKind::Auto => guess_ids(data, columns),
            stated => stated,
        };
        let start = if before > 0 { lines[0].next } else { mark };
        let crlf = lines.iter().take(1).any(|line| sample[..line.next].ends_with(b"\r\n"));
        let plain = if ids == IdKind::Names {
            None
        } else {
            let first = lines.get(before).or(lines.first()).map(|line| line.text);
            Plain::new(separator, columns, first.unwrap_or_default(), crlf)
        };
        let known = match (counted, options.vertices) {
            (Counted::Graph { vertices, .. }, _) => Known::Range(1..vertices.saturating_add(1)),
            (_, Some(vertices)) => Known::Range(0..vertices),
            (_, None) => Known::Any,
        };
        let names = |row: &Row<'_>| texts(row).into_iter().map(Cow::into_owned).collect();
        let header = rows.first().filter(|_| header).map(names);
        let mut before = PassedOver::default();
        let lines = sample[mark..start].split_inclusive(|byte| *byte == b'\n');
        lines.filter_map(no_row).for_each(|kind| before.add(kind));
        Ok(Self {
            separator,
            columns,
            ids,
            start,
            plain,
            known,
            exact: false,
            counted,
            before,
            header,
        })
    }

    /// The dialect of a format that leaves nothing to guess: integers in the first two columns, a
    /// weight in the third if there is one, and nothing else; separated by spaces. Rows begin at
    /// `start` of `sample`.
    pub(crate) fn fixed(sample: &[u8], start: usize, weighted: bool, known: Known) -> Self {
        let columns = Columns { source: 0, target: 1, weight: weighted.then_some(2) };
        let separator = Separator::Spaces;
        let lines = rows_of(sample, start, true);
        let first = lines.first().map(|line| (line.text, line.next));
        let crlf = first.is_some_and(|(_, next)| sample[..next].ends_with(b"\r\n"));
        let text = first.map_or(&b""[..], |(text, _)| text);
        let plain = Plain::new(separator, columns, text, crlf).map(Plain::exact);
        let (ids, counted) = (IdKind::Integers, Counted::No);
        let (before, header) = (PassedOver::default(), None);
        Self { separator, columns, ids, start, plain, known, exact: true, counted, before, header }
    }

    /// Says how rows are read.
    pub(crate) fn describe(&self, file: &mut FileSummary) {
        let Columns { source, target, weight } = self.columns;
        let names: Vec<&str> = self.header.iter().flatten().map(String::as_str).collect();
        file.columns((source, target, weight), &names);
        file.ids = self.ids;
        file.passed.add(self.before);
        file.rows = Some(RowsOfText {
            separator: self.separator,
            quote: Some('"'),
            backslash: false,
            header: self.header.is_some(),
        });
    }

    /// No rows yet, of the kind that this dialect makes.
    pub(super) fn rows(&self) -> Rows {
        Rows::new(self.ids == IdKind::Names, self.columns.weight.is_some(), self.known.clone())
    }

    /// Number of the line at which rows begin, counted from 1.
    pub(super) fn start_line(&self, sample: &[u8]) -> u64 {
        parse::newlines(&sample[..self.start.min(sample.len())]) + 1
    }

    /// Reads one line, which comes without its newline. `cut`: the file ends here without one.
    pub(super) fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(kind) = no_row(line) {
            rows.passed.add(kind);
            return Ok(());
        }
        let Columns { source, target, weight } = self.columns;
        let count = source.max(target).max(weight.unwrap_or(0)) + 1;
        let (mut from, mut to, mut heavy) = (None, None, None);
        let mut found = 0;
        let taken = count + usize::from(self.exact);
        for (place, field) in Fields::new(line, self.separator).take(taken).enumerate() {
            let field = field?;
            if weight == Some(place) {
                heavy = Some(field.clone());
            }
            if target == place {
                to = Some(field.clone());
            }
            if source == place {
                from = Some(field);
            }
            found = place + 1;
        }
        if found > count {
            return Err(format!("expected {count} columns, found more"));
        }
        match (&from, &to, &heavy) {
            (Some(from), Some(to), heavy) if heavy.is_some() == weight.is_some() => {
                rows.push_fields(from, to, heavy.as_deref())
            }
            _ => Err(self.short_row(count, found, cut)),
        }
    }

    fn short_row(&self, expected: usize, found: usize, cut: bool) -> String {
        let separator = self.separator.noun();
        let cut =
            if cut { "; the file ends here without a newline and may be cut short" } else { "" };
        format!("expected at least {expected} columns separated by {separator}, found {found}{cut}")
    }
}

impl Lines for Dialect {
    fn start(&self) -> usize {
        self.start
    }

    fn rows(&self) -> Rows {
        Self::rows(self)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        Self::line(self, line, cut, rows)
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        parse::lines(text, self.plain, rows, &|line, cut, rows| self.line(line, cut, rows))
    }
}

/// A row of the sample that is no comment, without its line end.
struct Line<'a> {
    text: &'a [u8],
    /// Where the next line begins.
    next: usize,
}

/// The rows of a sample; the last line of a partial sample may be cut and is left out.
fn rows_of(sample: &[u8], mark: usize, whole: bool) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut at = mark;
    while at < sample.len() && lines.len() < ROWS_MAX {
        let (end, next) = match memchr::memchr(b'\n', &sample[at..]) {
            Some(length) => (at + length, at + length + 1),
            None if whole => (sample.len(), sample.len()),
            None => break,
        };
        let text = &sample[at..end];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !is_no_row(text) {
            lines.push(Line { text, next });
        }
        at = next;
    }
    lines
}

fn guess_separator(lines: &[Line<'_>]) -> Separator {
    let has = |line: &Line<'_>, separator: Separator| match separator.byte() {
        Some(byte) => memchr::memchr(byte, line.text).is_some(),
        None => Fields::new(line.text, separator).take(2).count() == 2,
    };
    let mut best = (Separator::Spaces, 0);
    for separator in
        [Separator::Tab, Separator::Comma, Separator::Semicolon, Separator::Pipe, Separator::Spaces]
    {
        let count = lines.iter().filter(|line| has(line, separator)).count();
        if count > best.1 {
            best = (separator, count);
        }
    }
    best.0
}

/// The fields of a line, up to one that cannot be read.
fn split(line: &[u8], separator: Separator) -> Row<'_> {
    Fields::new(line, separator).map_while(Result::ok).collect()
}

fn guess_header(rows: &[Row<'_>], options: &ReadOptions) -> bool {
    let Some((first, rest)) = rows.split_first() else { return false };
    let named = |column: &Option<ColumnRef>| matches!(column, Some(ColumnRef::Name(_)));
    let weight_named = matches!(options.weight, WeightChoice::Column(ColumnRef::Name(_)));
    if named(&options.source) || named(&options.target) || weight_named {
        return true;
    }
    let fields = texts(first);
    let fields: Vec<&str> = fields.iter().map(AsRef::as_ref).collect();
    if columns::tells(&fields) {
        return true;
    }
    let place = |column: &Option<ColumnRef>, guess: usize| match column {
        Some(ColumnRef::Number(number)) => number.saturating_sub(1),
        _ => guess,
    };
    let ids = [place(&options.source, 0), place(&options.target, 1)];
    let all = |row: &Row<'_>, wanted: &dyn Fn(Looks) -> bool| {
        ids.iter().all(|place| row.get(*place).is_some_and(|field| wanted(looks(field))))
    };
    let weight = match &options.weight {
        WeightChoice::Column(ColumnRef::Number(number)) => number.checked_sub(1),
        _ => None,
    };
    // A stated weight tells where ids are names: that of a header is no number.
    let heavy = |row: &Row<'_>| Some(is_number(row.get(weight?)?));
    let numbers = rest.iter().filter(|row| heavy(row) == Some(true)).count();
    let light = heavy(first) == Some(false) && 2 * numbers > rest.len();
    !rest.is_empty()
        && all(first, &|looks| looks == Looks::Name)
        && (light || rest.iter().all(|row| all(row, &|looks| looks == Looks::Integer)))
}

fn texts<'a>(row: &'a Row<'_>) -> Vec<Cow<'a, str>> {
    row.iter().map(|field| String::from_utf8_lossy(field)).collect()
}

fn choose_columns(
    file: &str,
    rows: &[Row<'_>],
    header: bool,
    options: &ReadOptions,
) -> Result<Columns, InputError> {
    if header {
        let names = texts(&rows[0]);
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        return columns::by_name(file, &names, options);
    }
    let number = |role: &str, column: &ColumnRef| match column {
        ColumnRef::Number(number) => Ok(number.saturating_sub(1)),
        ColumnRef::Name(name) => {
            let what = format!("expected a {role} column named \"{name}\", found no header");
            Err(InputError::content(file, what))
        }
    };
    let source = options.source.as_ref().map_or(Ok(0), |column| number("source", column))?;
    let target = options.target.as_ref().map_or(Ok(1), |column| number("target", column))?;
    let weight = match &options.weight {
        WeightChoice::IfPresent if source.max(target) == 1 => third_of_numbers(rows),
        WeightChoice::Ignore | WeightChoice::IfPresent => None,
        WeightChoice::Column(column) => Some(number("weight", column)?),
    };
    Ok(Columns { source, target, weight })
}

/// The third column, if most rows of the sample have a number there. A few that do not are errors
/// in the weights rather than a reason to read none.
fn third_of_numbers(rows: &[Row<'_>]) -> Option<usize> {
    let number = |row: &&Row<'_>| row.get(2).is_some_and(|field| is_number(field));
    (2 * rows.iter().filter(number).count() > rows.len()).then_some(2)
}

fn guess_ids(rows: &[Row<'_>], columns: Columns) -> IdKind {
    let names = |place: usize| {
        let name = |row: &&Row<'_>| {
            row.get(place).is_some_and(|field| !field.is_empty() && looks(field) == Looks::Name)
        };
        2 * rows.iter().filter(name).count() > rows.len()
    };
    if names(columns.source) || names(columns.target) { IdKind::Names } else { IdKind::Integers }
}
