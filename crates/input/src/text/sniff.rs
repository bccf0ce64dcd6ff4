//! The dialect of a text file, guessed from its first bytes.
//!
//! One sample is read once. Candidates of separators and quotes are scored over its rows
//! ([`super::separator`]), then columns are looked at ([`super::kinds`]), then the first row
//! ([`super::header`]), then columns are chosen ([`crate::columns`]) and how ids are read. What the
//! user says is never guessed. Each step ends in a choice that is certain, in one that is said in a
//! note, or in an error that names the options that decide.
//!
//! - **Comments** before the first row are left out, unless ids below begin with such a mark and
//!   the line has as many fields as rows have.
//! - **Ids** are integers or names ([`super::ids`]).

use std::borrow::Cow;

use super::allowed_ids::AllowedIds;
use super::comments::{self, Comments, Shape};
use super::dialect::{Dialect, Weights};
use super::dictionary;
use super::directions;
use super::doubts;
use super::fast_path::Plain;
use super::fields::{Fields, Row, no_row};
use super::header::{self, Header};
use super::ids;
use super::kinds::{Column, Kind};
use super::konect::{self, Konect};
use super::matrix;
use super::records::{RecordEnd, without_end};
use super::sample::{BYTE_ORDER_MARK, Sample};
use super::separator::{self, Candidate};
use super::with_counts::Counted;
use crate::columns::{self, ColumnChoice, Columns, Holds};
use crate::direction::Direction;
use crate::error::InputError;
use crate::layout::Quote;
use crate::options::{IdKind, ReadOptions, WeightChoice};
use crate::reading::PassedOver;
use crate::words::show;

/// Guesses the dialect of a file from its first bytes, whose lines end with newlines.
pub(super) fn guess(
    file: &str,
    sample: &[u8],
    whole: bool,
    ends: RecordEnd,
    options: &ReadOptions,
) -> Result<Dialect, InputError> {
    let wrong = |what: String| InputError::content(file, what);
    let mark = if sample.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let comments = Comments::of(options.comment.as_ref());
    let sample = Sample { text: &sample[mark..], mark, whole, comments };
    let (candidate, note) = best_rows(&sample, options).map_err(wrong)?;
    let konect = Konect::of(sample.text);
    let mut notes = Vec::new();
    notes.extend(note);
    let header = header_of(file, &candidate, options, &mut notes)?;
    let counted =
        if header.is_some() { Counted::No } else { Counted::of(&candidate, sample.whole, options) };
    let skipped = usize::from(header.is_some() || counted != Counted::No);
    let header = header.or_else(|| commented_header(&sample, &candidate, options));
    let body = candidate.rows.get(skipped..).unwrap_or_default();
    let unweighted = konect.unweighted && options.weight == WeightChoice::IfPresent;
    let weight = if unweighted { WeightChoice::Ignore } else { options.weight.clone() };
    let chosen = choose(file, body, header.as_deref(), &ReadOptions { weight, ..options.clone() })?;
    let ColumnChoice { mut columns, notes: more } = chosen;
    notes.extend(more);
    let (ids, spelling) = ids::decide(body, columns, options, &mut notes);
    let weights = weights_of(&candidate, body, &mut columns, options, &mut notes);
    let heading = heading(header.as_deref(), body, columns, &mut notes);
    notes.extend(doubts::notes(body, columns, header.as_deref(), ids, options));
    let direction = directions::of(header.as_deref(), body, columns, options).map_err(wrong)?;
    notes.extend(direction.as_ref().map(Direction::note));
    let kind = konect.kind;
    let decided = options.undirected.is_some() || options.two_kinds.is_some();
    notes.extend(konect.note.filter(|_| !decided));
    if !decided && kind.is_none() && direction.is_none() {
        notes.extend(comments::undirected(sample.text, &sample.comments));
    }
    let layout = candidate.layout;
    let over_lines = candidate.over_lines || matches!(options.quote, Some(Quote::Mark(_)));
    let cut =
        if over_lines && ends == RecordEnd::Lines { RecordEnd::Records(layout) } else { ends };
    let (start, first) = first_line(&candidate, skipped, &sample);
    let crlf = first.ends_with(b"\r\n");
    let columns_max = columns_max(&candidate, body, header.as_deref(), (columns, options));
    let quick = ids == IdKind::Integers && weights == Weights::Numbers && direction.is_none();
    let plain = if !quick || cut != ends || has_digit(&sample.comments) {
        None
    } else {
        let plain = Plain::new(layout, columns, without_end(first), crlf);
        plain.map(|plain| columns_max.map_or(plain, |columns| plain.at_most(columns)))
    };
    let fields = candidate.is_exact().then_some(candidate.fields).filter(|fields| *fields > 1);
    let shape = Shape { layout, columns, spelling, fields };
    let mut dialect = Dialect {
        shape,
        comments: sample.comments.clone(),
        cut,
        crlf,
        ids,
        weights,
        start,
        plain,
        known: allowed_ids(counted, options),
        exact: false,
        columns_max,
        counted,
        before: PassedOver::default(),
        heading,
        header,
        undirected: undirected(kind, direction.as_ref()),
        direction,
        two_kinds: kind == Some(konect::Kind::Bipartite),
        notes,
    };
    dialect.before = passed(&sample, &dialect);
    Ok(dialect)
}

/// The best way to read the rows of a sample, and a note on their quotes. A header above row names
/// gets an empty cell.
fn best_rows<'a>(
    sample: &Sample<'a>,
    options: &ReadOptions,
) -> Result<(Candidate<'a>, Option<String>), String> {
    refuse_binary(sample.text)?;
    let mut candidate = separator::best(sample, options)?;
    refuse_irregular(&candidate, sample.whole, options)?;
    if options.separator.is_none() {
        doubts::refuse(&candidate.rows)?;
    }
    let note = quote_note(&candidate, options);
    first_rows(sample, &mut candidate);
    refuse_comments(sample, &candidate)?;
    let shifted = has_row_names(&candidate.rows);
    if shifted && options.header != Some(false) {
        candidate.rows[0].insert(0, Cow::Borrowed(b""));
    }
    Ok((candidate, note))
}

/// The begin of rows once `skipped` were skipped, and the first of them with its end.
fn first_line<'a>(
    candidate: &Candidate<'_>,
    skipped: usize,
    sample: &Sample<'a>,
) -> (usize, &'a [u8]) {
    let start = match (candidate.spans.first(), skipped) {
        (Some((_, behind)), 1..) => *behind,
        (Some((start, _)), 0) => *start,
        (None, _) => sample.mark,
    };
    let first = candidate.spans.get(skipped).or(candidate.spans.first());
    let line = |(start, end): &(usize, usize)| &sample.text[start - sample.mark..end - sample.mark];
    (start, first.map_or(&b""[..], line))
}

/// Whether comments begin with a digit, as ids do.
fn has_digit(comments: &Comments) -> bool {
    match comments {
        Comments::Prefix(prefix) => prefix.first().is_some_and(u8::is_ascii_digit),
        _ => false,
    }
}

/// Ids that edges may have, as a line of counts or the user says.
fn allowed_ids(counted: Counted, options: &ReadOptions) -> AllowedIds {
    match (counted, options.vertices) {
        (Counted::Graph { vertices, .. }, _) => AllowedIds::Range(1..vertices.saturating_add(1)),
        (_, Some(vertices)) => AllowedIds::Range(0..vertices),
        (_, None) => AllowedIds::Any,
    }
}

/// Whether edges are undirected, where the file says so: its first line, or else a column.
fn undirected(kind: Option<konect::Kind>, direction: Option<&Direction>) -> Option<bool> {
    match kind {
        Some(konect::Kind::Undirected) => Some(true),
        Some(konect::Kind::Directed) => Some(false),
        Some(konect::Kind::Bipartite) => None,
        None => direction.map(|direction| direction.undirected),
    }
}

/// Refuses lines that are taken for comments and may be rows.
fn refuse_comments(sample: &Sample<'_>, candidate: &Candidate<'_>) -> Result<(), String> {
    if sample.comments != Comments::Usual {
        return Ok(());
    }
    let Some((start, _)) = candidate.spans.first() else {
        return comments::refuse_hidden(sample.text);
    };
    if !candidate.is_exact() || candidate.has_integers() {
        return Ok(());
    }
    let before = &sample.text[..start - sample.mark];
    comments::refuse_doubtful(before, &candidate.rows, candidate.layout, candidate.fields)
}

/// Refuses bytes that no text has.
fn refuse_binary(text: &[u8]) -> Result<(), String> {
    match text.iter().find(|byte| matches!(byte, 0 | 5..=8 | 14..=26)) {
        None => Ok(()),
        Some(byte) => Err(format!(
            "expected rows of text, found binary data, a byte 0x{byte:02x} (--format says what it \
             is)"
        )),
    }
}

/// Refuses rows whose numbers of fields differ without a pattern, and matrices.
fn refuse_irregular(
    candidate: &Candidate<'_>,
    whole: bool,
    options: &ReadOptions,
) -> Result<(), String> {
    let (least, most) = candidate.range();
    let columns = options.source.is_some() || options.target.is_some();
    if candidate.fields == 1 && candidate.rows.len() > 1 && !columns {
        return Err(format!(
            "expected rows of at least 2 columns, found one column in most of them if {} separate \
             columns (--separator says what does)",
            candidate.layout.separator.noun()
        ));
    }
    if let Some(found) = matrix::found(&candidate.rows, whole).filter(|_| !columns) {
        return Err(format!(
            "expected rows of edges, found {found} (--source-column and --target-column say that \
             rows are edges)"
        ));
    }
    if candidate.is_regular() || most < 2 || candidate.fields < 2 {
        return Ok(());
    }
    // A row of one field is an error in its line.
    let alike = candidate.rows.iter().all(|row| [1, candidate.fields].contains(&row.len()));
    let stated = options.separator.is_some() || columns || alike;
    // Edges with more to say about some than about others.
    let further = || {
        let further = candidate.rows.iter().flat_map(|row| row.iter().skip(2));
        further.clone().all(|cell| Kind::of(cell) != Kind::Integer)
    };
    if stated || candidate.has_integers() && further() {
        return Ok(());
    }
    Err(format!(
        "expected rows with the same number of fields, found {least} to {most} separated by {} \
         (--separator and --quote say how fields are told apart, --format adjacency reads lists of \
         neighbours)",
        candidate.layout.separator.noun()
    ))
}

/// Adds rows that look like comments before the first row, where ids below begin like them.
fn first_rows<'a>(sample: &Sample<'a>, candidate: &mut Candidate<'a>) {
    if sample.comments != Comments::Usual || !candidate.is_exact() {
        return;
    }
    let marked = |cell: &Cow<'_, [u8]>| matches!(cell.first(), Some(b'#' | b'%')) && cell.len() > 1;
    if !candidate.rows.iter().flatten().any(marked) {
        return;
    }
    let columns = Columns { source: 0, target: 1, weight: None };
    let (layout, fields) = (candidate.layout, Some(candidate.fields));
    let shape = Shape { layout, columns, spelling: None, fields };
    let mut at = 0;
    for line in sample.text.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        if !text.is_empty() && !sample.comments.may_be(text) {
            return;
        }
        if !text.is_empty() && shape.is_row(text) {
            let row: Row<'a> = Fields::new(text, layout).map_while(Result::ok).collect();
            candidate.rows.insert(0, row);
            let start = sample.mark + at;
            candidate.spans.insert(0, (start, start + line.len()));
            return;
        }
        at += line.len();
    }
}

/// The note where quotes are characters as others.
fn quote_note(candidate: &Candidate<'_>, options: &ReadOptions) -> Option<String> {
    let guessed = options.quote.is_none() && candidate.layout.quote.is_none();
    let note = "quotes are read as they are, because some do not close, do not end a field or \
                would join rows (--quote double takes them for quotes)";
    guessed.then(|| note.to_owned())
}

/// Names of the columns in the first row, if it has them.
fn header_of(
    file: &str,
    candidate: &Candidate<'_>,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<String>>, InputError> {
    let first = candidate.rows.first();
    match (header::of(&candidate.rows, options), first) {
        (Header::Names, None) => {
            Err(InputError::content(file, "expected a header row, found no row"))
        }
        (Header::Names, Some(row)) => {
            refuse_cut_header(row, &candidate.rows[1..])
                .map_err(|what| InputError::content(file, what))?;
            Ok(Some(texts(row)))
        }
        (Header::Perhaps, Some(row)) => {
            let cell = |place: usize| show(row.get(place).map_or(b"", AsRef::as_ref));
            notes.push(format!(
                "the first row, {} and {}, is read as an edge (--header if it names columns)",
                cell(0),
                cell(1)
            ));
            Ok(None)
        }
        (Header::Perhaps, None) | (Header::Row, _) => Ok(None),
    }
}

/// Refuses a header above rows that all have two fields or more that it does not name: which names
/// belong to which fields cannot be known. Fields of several words that nothing quotes look so.
fn refuse_cut_header(header: &Row<'_>, body: &[Row<'_>]) -> Result<(), String> {
    let filled =
        |row: &Row<'_>| row.iter().rposition(|cell| !cell.is_empty()).map_or(0, |at| at + 1);
    let least = body.iter().map(filled).min().unwrap_or(0);
    if least < header.len() + 2 {
        return Ok(());
    }
    Err(format!(
        "expected as many fields as the header has names ({}), found {least} or more in every row \
         (fields of several words must be quoted, or separated by something else than spaces)",
        header.len()
    ))
}

/// Names of columns in the last comment before the rows.
fn commented_header(
    sample: &Sample<'_>,
    candidate: &Candidate<'_>,
    options: &ReadOptions,
) -> Option<Vec<String>> {
    let start = candidate.spans.first()?.0 - sample.mark;
    let before = sample.text[..start].trim_ascii_end();
    let line = before.rsplit(|byte| *byte == b'\n').next()?;
    let wanted = options.header.is_none() && sample.comments == Comments::Usual;
    if wanted { header::in_comment(line, candidate.layout, candidate.fields) } else { None }
}

/// Whether the first row lacks a name for a first column that names rows, as R writes tables.
fn has_row_names(rows: &[Row<'_>]) -> bool {
    let Some((first, rest)) = rows.split_first() else { return false };
    let words = first.iter().all(|cell| Kind::of(cell) == Kind::Word);
    let longer = rest.iter().all(|row| row.len() == first.len() + 1);
    words && longer && first.len() > 1 && Column::of(rest, 0).counts_rows
}

fn texts(row: &Row<'_>) -> Vec<String> {
    row.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect()
}

/// Names of both ends, which no row may repeat unless the first one does.
fn heading(
    header: Option<&[String]>,
    body: &[Row<'_>],
    columns: Columns,
    notes: &mut Vec<String>,
) -> Option<[String; 2]> {
    let header = header?;
    if body.first().is_some_and(|row| texts(row) == header) {
        let note = "the first row repeats the names of the columns and is read as an edge";
        notes.push(note.to_owned());
        return None;
    }
    Some([header.get(columns.source)?.clone(), header.get(columns.target)?.clone()])
}

/// Chooses the columns.
fn choose(
    file: &str,
    body: &[Row<'_>],
    header: Option<&[String]>,
    options: &ReadOptions,
) -> Result<ColumnChoice, InputError> {
    let width = body.iter().map(Vec::len).max().unwrap_or(0);
    let width = header.map_or(width, <[String]>::len);
    let column = |place: usize| {
        let column = Column::of(body, place);
        let name = header.and_then(|names| Some(names.get(place)?.as_str()));
        // A field that few rows have is no column where nothing names it.
        let rare = name.is_none() && place > 1 && 2 * column.filled() < body.len();
        let holds = if rare { Holds::Nothing } else { column.holds() };
        columns::Column { name, holds, counts_rows: column.counts_rows }
    };
    let all: Vec<columns::Column<'_>> = (0..width).map(column).collect();
    columns::choose(file, &all, options)
}

/// Columns of weights; takes them back where there are none.
fn weights_of(
    candidate: &Candidate<'_>,
    body: &[Row<'_>],
    columns: &mut Columns,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Weights {
    let Some(place) = columns.weight else { return Weights::Numbers };
    if Column::of(body, place).holds() == Holds::Dictionaries {
        let cells = body.iter().filter_map(|row| row.get(place));
        if cells.clone().any(|cell| dictionary::find(cell).is_some()) {
            return Weights::Dictionaries;
        }
        if options.weight == WeightChoice::IfPresent {
            columns.weight = None;
            if cells.clone().any(|cell| cell.len() > 2) {
                notes.push("the attributes of edges hold no weight".to_owned());
            }
        }
        return Weights::Numbers;
    }
    if candidate.has_decimal_commas(place) { Weights::DecimalCommas } else { Weights::Numbers }
}

/// Columns that hold something, have a name or are read, in the rows of a sample: more of them in
/// another row are an error, unless the rows of the sample differ or the user names both ends.
fn columns_max(
    candidate: &Candidate<'_>,
    body: &[Row<'_>],
    header: Option<&[String]>,
    (columns, options): (Columns, &ReadOptions),
) -> Option<usize> {
    let is_stated = options.source.is_some() && options.target.is_some();
    if is_stated || !candidate.is_exact() || candidate.fields < 2 {
        return None;
    }
    let named = header.map_or(0, |names| {
        names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1)
    });
    let filled =
        |place: &usize| body.iter().any(|row| row.get(*place).is_some_and(|cell| !cell.is_empty()));
    let filled = (0..candidate.fields).rev().find(filled).map_or(0, |last| last + 1);
    let read = columns.source.max(columns.target).max(columns.weight.unwrap_or(0)) + 1;
    Some(named.max(filled).max(read))
}

/// Lines that are passed over before rows begin.
fn passed(sample: &Sample<'_>, dialect: &Dialect) -> PassedOver {
    let mut before = PassedOver::default();
    let end = dialect.start.saturating_sub(sample.mark);
    for line in sample.text[..end].split_inclusive(|byte| *byte == b'\n') {
        let line = line.trim_ascii_end();
        if line.is_empty() {
            before.add(no_row(line).unwrap_or_default());
        } else if dialect.comments.may_be(line) {
            before.add(PassedOver { comments: 1, ..PassedOver::default() });
        }
    }
    before
}
