//! The dialect of a text file, and how it reads one row: separator, quotes, comments, header,
//! columns, and what ids are. [`super::sniff`] guesses it from a sample.
//!
//! A first row of numbers may count vertices and edges, see [`super::with_counts`].

use super::allowed_ids::AllowedIds;
use super::comments::{Comments, Shape};
use super::dictionary;
use super::fast_path::Plain;
use super::fields::{BadField, Fields, Spelling};
use super::lines::Lines;
use super::parse::{self, Fault};
use super::records::{RecordEnd, without_end};
use super::rows::Rows;
use super::sample::BYTE_ORDER_MARK;
use super::with_counts::Counted;
use crate::columns::Columns;
use crate::direction::Direction;
use crate::layout::{Layout, Separator};
use crate::options::IdKind;
use crate::reading::{FileSummary, PassedOver, RowsOfText};

/// Dialect of the rows of one file.
pub(crate) struct Dialect {
    /// Shape of rows, and of those that look like comments.
    pub(super) shape: Shape,
    pub(super) comments: Comments,
    /// End of rows.
    pub(super) cut: RecordEnd,
    /// Whether the first line ends with `\r\n`, so that a carriage return alone is a character.
    pub(super) crlf: bool,
    /// Integers or names.
    pub(super) ids: IdKind,
    /// Notation of weights.
    pub(super) weights: Weights,
    /// Byte at which rows begin: after a byte order mark, and after the header if there is one.
    pub(super) start: usize,
    /// The fast path for this dialect, if it has one.
    pub(super) plain: Option<Plain>,
    /// Ids that are allowed.
    pub(crate) known: AllowedIds,
    /// Whether more columns than are needed are an error.
    pub(super) exact: bool,
    /// Columns of the rows of the sample that hold something, where more of them in another row are
    /// an error: a name or a number that was cut in two, or a weight that only some edges have.
    pub(super) columns_max: Option<usize>,
    /// Counts in the row before `start`.
    pub(super) counted: Counted,
    /// Lines before `start` that were passed over.
    pub(super) before: PassedOver,
    /// Names of the columns, where the first row has them.
    pub(super) header: Option<Vec<String>>,
    /// Names of both ends in the header, where no row may repeat them.
    pub(super) heading: Option<[String; 2]>,
    /// Whether edges go both ways, where the first lines say so.
    pub(super) undirected: Option<bool>,
    /// The column that says whether edges are directed, where there is one.
    pub(super) direction: Option<Direction>,
    /// Whether sources and targets are two kinds of vertices, as the first lines say.
    pub(super) two_kinds: bool,
    /// Notes for a person about the guess, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// Notation of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Weights {
    /// Numbers.
    #[default]
    Numbers,
    /// Numbers with a decimal comma.
    DecimalCommas,
    /// Values of a dictionary.
    Dictionaries,
}

impl Dialect {
    /// The dialect of a format that leaves nothing to guess: integers in the first two columns, a
    /// weight in the third if there is one, and nothing else; separated by spaces. Rows begin at
    /// `start` of `sample`.
    pub(crate) fn fixed(sample: &[u8], start: usize, weighted: bool, known: AllowedIds) -> Self {
        let columns = Columns { source: 0, target: 1, weight: weighted.then_some(2) };
        let layout = Layout::usual(Separator::Spaces);
        let rest = sample.get(start..).unwrap_or_default();
        let first = rest
            .split_inclusive(|byte| *byte == b'\n')
            .find(|line| super::fields::no_row(line).is_none())
            .unwrap_or_default();
        let crlf = first.ends_with(b"\r\n");
        let text = without_end(first);
        let plain = Plain::new(layout, columns, text, crlf).map(Plain::exact);
        Self {
            shape: Shape { layout, columns, spelling: Some(Spelling::Digits), fields: None },
            comments: Comments::Usual,
            cut: RecordEnd::Lines,
            crlf,
            ids: IdKind::Integers,
            weights: Weights::Numbers,
            start,
            plain,
            known,
            exact: true,
            columns_max: None,
            counted: Counted::No,
            before: PassedOver::default(),
            header: None,
            heading: None,
            undirected: None,
            direction: None,
            two_kinds: false,
            notes: Vec::new(),
        }
    }

    /// Says how rows are read.
    pub(crate) fn describe(&self, file: &mut FileSummary) {
        let Columns { source, target, weight } = self.shape.columns;
        let names: Vec<&str> = self.header.iter().flatten().map(String::as_str).collect();
        let Layout { separator, quote, backslash } = self.shape.layout;
        file.columns((source, target, weight), &names);
        file.ids = self.ids;
        file.passed.add(self.before);
        file.rows = Some(RowsOfText {
            separator,
            quote: quote.map(char::from),
            backslash,
            header: self.header.is_some(),
        });
    }

    /// No rows yet, of the kind that this dialect makes.
    pub(super) fn rows(&self) -> Rows {
        let spelling = self.shape.spelling.unwrap_or_default();
        Rows::new(self.ids == IdKind::Names, self.weighted(), self.known.clone()).spelt(spelling)
    }

    /// Whether weights are read.
    pub(super) fn weighted(&self) -> bool {
        self.shape.columns.weight.is_some()
    }

    /// Number of the line at which rows begin, counted from 1.
    pub(super) fn start_line(&self, sample: &[u8]) -> u64 {
        parse::newlines(&sample[..self.start.min(sample.len())]) + 1
    }

    /// Whether a line is no row, and what it is then.
    pub(super) fn passes_over(&self, line: &[u8]) -> Option<PassedOver> {
        let none = PassedOver::default();
        if line.iter().all(u8::is_ascii_whitespace) {
            return Some(PassedOver { blank: 1, ..none });
        }
        let comment = self.comments.may_be(line) && self.comments.is(line, &self.shape);
        comment.then_some(PassedOver { comments: 1, ..none })
    }

    /// Reads one line, which comes without its newline. `cut`: the file ends here without one.
    pub(super) fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(kind) = self.passes_over(line) {
            rows.passed.add(kind);
            return Ok(());
        }
        let Columns { source, target, weight } = self.shape.columns;
        let direction = self.direction.as_ref();
        let further = direction.map_or(0, |direction| direction.column);
        let count = source.max(target).max(weight.unwrap_or(0)).max(further) + 1;
        let (mut from, mut to, mut heavy) = (None, None, None);
        let mut found = 0;
        let mut fields = Fields::new(line, self.shape.layout);
        for (place, field) in fields.by_ref().take(count).enumerate() {
            let field = field?;
            if let Some(direction) = direction.filter(|direction| direction.column == place) {
                direction.check(&field)?;
            }
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
        let (Some(from), Some(to), true) = (&from, &to, heavy.is_some() == weight.is_some()) else {
            return Err(self.short_row(count, found, cut));
        };
        self.rest(line, fields, found)?;
        if self.ids == IdKind::Names {
            self.refuse_joined(line, from, to)?;
        }
        let heavy = heavy.as_deref().map(|field| self.weight(field)).transpose()?;
        rows.push_fields(from, to, heavy.as_deref())
    }

    /// Refuses what is found in the middle of files that were put behind each other, and would be
    /// taken for names.
    fn refuse_joined(&self, line: &[u8], source: &[u8], target: &[u8]) -> Result<(), String> {
        let found = if line.starts_with(BYTE_ORDER_MARK) {
            "a byte order mark"
        } else {
            let [first, second] =
                self.heading.as_ref().map_or([""; 2], |names| names.each_ref().map(String::as_str));
            if first.is_empty() || first.as_bytes() != source || second.as_bytes() != target {
                return Ok(());
            }
            "the names of the columns again"
        };
        Err(format!(
            "expected a row, found {found}, as where files are put behind each other (give each of \
             them by its name, or take that out)"
        ))
    }

    /// Looks at what comes behind the columns that are needed: it may not continue in the next
    /// line, nor hold another row.
    fn rest(&self, line: &[u8], mut fields: Fields<'_>, found: usize) -> Result<(), String> {
        if self.cut == RecordEnd::Lines && !self.crlf && memchr::memchr(b'\r', line).is_some() {
            return Err(
                "expected \\n or \\r\\n at the end of each line, found a \\r alone".to_owned()
            );
        }
        let quotes = self.shape.layout.quote.and_then(|quote| memchr::memchr(quote, fields.rest()));
        if quotes.is_none() && self.columns_max.is_none() && !self.exact {
            return Ok(());
        }
        let (mut count, mut last) = (found, found);
        for field in fields.by_ref() {
            if field == Err(BadField::Open) {
                return Err(BadField::Open.into());
            }
            count += 1;
            if field.is_ok_and(|field| !field.is_empty()) {
                last = count;
            }
        }
        if self.exact && count > found {
            return Err(format!("expected {found} columns, found more"));
        }
        match self.columns_max.filter(|expected| last > *expected) {
            None => Ok(()),
            Some(expected) => Err(format!(
                "expected {expected} columns separated by {}, as in the first rows, found {last} \
                 (quotes go around a field that holds a separator; --source-column and \
                 --target-column by number let other columns be)",
                self.shape.layout.separator.noun(),
            )),
        }
    }

    /// A weight as a number is written.
    fn weight<'a>(&self, field: &'a [u8]) -> Result<std::borrow::Cow<'a, [u8]>, String> {
        match self.weights {
            Weights::Numbers => Ok(field.into()),
            Weights::DecimalCommas => {
                let point = |byte: &u8| if *byte == b',' { b'.' } else { *byte };
                Ok(field.iter().map(point).collect::<Vec<u8>>().into())
            }
            Weights::Dictionaries => dictionary::weight(field).map(Into::into),
        }
    }

    fn short_row(&self, expected: usize, found: usize, cut: bool) -> String {
        let separator = self.shape.layout.separator.noun();
        let cut =
            if cut { "; the file ends here without a newline and may be cut short" } else { "" };
        format!("expected at least {expected} columns separated by {separator}, found {found}{cut}")
    }
}

impl Lines for Dialect {
    fn start(&self) -> usize {
        self.start
    }

    fn cut(&self) -> RecordEnd {
        self.cut
    }

    fn rows(&self) -> Rows {
        Self::rows(self)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        Self::line(self, line, cut, rows)
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        let line = |line: &[u8], cut: bool, rows: &mut Rows| self.line(line, cut, rows);
        match self.cut {
            RecordEnd::Records(_) => parse::each(text, self.cut, rows, &line),
            RecordEnd::Lines | RecordEnd::Returns => parse::lines(text, self.plain, rows, &line),
        }
    }
}
