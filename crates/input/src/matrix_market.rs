//! Matrix Market coordinates: the entries of a matrix are the edges of a graph.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric     banner, in any case, with one % or two
//! %%GraphBLAS type int8_t                             perhaps: what the values fit
//! % comments
//! 3 3 2                                               rows, columns, entries
//! 2 1 0.5                                             row, column, value: an edge from 2 to 1
//! 3 1 7
//! ```
//!
//! The vertices are 1 to the number of rows. Only one triangle of a symmetric matrix is written
//! down, so its edges are undirected. A skew-symmetric one becomes both arcs, the second with the
//! opposite weight. Values are always read, because the banner says what they are; a pattern has
//! none. An entry that comes twice is two parallel edges.
//!
//! Some files have no banner; they begin with the size, and are general matrices, of which the
//! first entry shows whether they have values.
//!
//! Refused: dense (`array`), complex and Hermitian matrices, which are no graphs with one weight an
//! edge; counts that are not what is found; values that the stated type cannot hold.
//!
//! Rows and columns of a matrix that is not square are two kinds of vertices, each numbered from 1.

pub(crate) mod banner;
#[cfg(test)]
mod tests;

use welter_model::two_kinds::Side;

use self::banner::{Field, Symmetry, begins, parse_banner, type_values};
use crate::collect::{Collector, DeclaredVertices, EdgeRun, Ids};
use crate::columns;
use crate::error::InputError;
use crate::head::{BoundedCount, Head, plausible, sample};
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::text::allowed_ids::{AllowedIds, Values};
use crate::text::dialect::Dialect;
use crate::text::fields::parse_id;
use crate::text::lines::Lines;
use crate::text::parse::Fault;
use crate::text::rows::Rows;
use crate::text::workers;
use crate::words::{show, words};

/// Bytes of the shortest entry: two digits, the space between them, the line end.
const ENTRY_BYTES_MIN: u64 = 4;

/// The reader of Matrix Market files.
pub(crate) struct MatrixMarket;

/// Statements of the lines before the first entry.
struct Header {
    /// Whether there is no banner.
    bare: bool,
    field: Field,
    symmetry: Symmetry,
    values: Values,
    /// Numbers of rows and of columns.
    sizes: [u64; 2],
    entries: u64,
    /// Dialect of the entries.
    dialect: Dialect,
}

impl Reader for MatrixMarket {
    fn read(
        &self,
        source: &Source,
        context: &Context<'_>,
        collector: &Collector,
    ) -> Result<(), InputError> {
        let header = header(source, context.options)?;
        let weighted = weighted(source, header.field, context.options)?;
        let mirrored = header.symmetry == Symmetry::Skew && header.entries > 0;
        if weighted && context.options.non_negative && mirrored {
            let what = "expected weights that are not negative, found a skew-symmetric matrix, \
                        whose mirrored entries are";
            return Err(InputError::content(source.name(), what));
        }
        state(&header, source.name(), collector)?;
        collector.state_undirected(header.symmetry == Symmetry::Symmetric);
        if header.bare {
            collector.note("there is no banner, so it is read as a general matrix");
        }
        let entries = header.entries;
        let file = source.name();
        let matrix = Matrix { header, weighted, tally: BoundedCount::new(entries), file };
        workers::read(source, &matrix, context, collector)?;
        let found = matrix.tally.found();
        if found != entries {
            let what = format!("expected {entries} entries, as the size line says, found {found}");
            return Err(InputError::content(source.name(), what));
        }
        Ok(())
    }

    fn estimate(&self, source: &Source, options: &ReadOptions) -> Result<Estimate, InputError> {
        let header = header(source, options)?;
        let arcs = if header.symmetry == Symmetry::Skew { 2 } else { 1 };
        Ok(Estimate {
            bytes: source.bytes(),
            edges: Some(header.entries.saturating_mul(arcs)),
            exact: true,
            // Of two kinds, each number may be a vertex twice.
            slots: Some(header.sizes[0]).filter(|size| *size == header.sizes[1]),
            slots_seen: None,
            ids: IdKind::Integers,
            weighted: weighted(source, header.field, options)?,
            undirected: Some(header.symmetry == Symmetry::Symmetric),
        })
    }
}

fn weighted(source: &Source, field: Field, options: &ReadOptions) -> Result<bool, InputError> {
    columns::fixed(source.name(), field != Field::Pattern, options)
}

/// States rows and columns as vertices: of one kind where the matrix is square, unless the user
/// says otherwise, else of two.
fn state(header: &Header, file: &str, collector: &Collector) -> Result<(), InputError> {
    let [rows, columns] = header.sizes;
    let all = |count| DeclaredVertices::Range { first: 1, count };
    let square = rows == columns;
    let two_kinds = if square { collector.has_two_kinds() } else { collector.state_two_kinds() };
    if two_kinds {
        if header.symmetry != Symmetry::General {
            let what = "a symmetric matrix has rows and columns of one kind; leave --bipartite out";
            return Err(InputError::Options { what: format!("{file}: {what}") });
        }
        if !square {
            collector.note(&format!(
                "{rows} rows and {columns} columns are two kinds of vertices, as with --bipartite"
            ));
        }
        collector.state_side(Side::Source, all(rows))?;
        return collector.state_side(Side::Target, all(columns));
    }
    if square {
        return collector.state(all(rows));
    }
    let what = format!(
        "expected a square matrix, whose rows and columns are vertices of one kind, found {rows} \
         rows and {columns} columns (leave --no-bipartite out)"
    );
    Err(InputError::content(file, what))
}

/// Reads what comes before the entries.
fn header(source: &Source, options: &ReadOptions) -> Result<Header, InputError> {
    let sample = sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let mut first = head.next().unwrap_or_default();
    while first.trim_ascii().is_empty() {
        let Some(next) = head.next() else { break };
        first = next;
    }
    let first = first.trim_ascii();
    let banner = if begins(first) {
        Some(parse_banner(first).map_err(|what| head.error(what))?)
    } else {
        None
    };
    let mut line = if banner.is_some() { head.next() } else { Some(first) };
    let symmetry = banner.map_or(Symmetry::General, |(_, symmetry)| symmetry);
    let mut stated = None;
    let size = loop {
        let text = line.ok_or_else(|| head.missing("a line with the size"))?;
        if text.starts_with(b"%") {
            stated = type_values(text, symmetry).map_err(|what| head.error(what))?.or(stated);
        } else if words(text).next().is_some() {
            break text;
        }
        line = head.next();
    };
    let sizes = sizes(size, banner.is_some()).map_err(|what| head.error(what))?;
    let (sizes, entries) = sizes;
    let fits = plausible(source, &options.limits, entries, ENTRY_BYTES_MIN, "entries");
    fits.map_err(|what| head.error(what))?;
    if sizes[0] != sizes[1] && symmetry != Symmetry::General {
        return Err(head.error("expected a square matrix, as the banner says that it is symmetric"));
    }
    let start = head.at();
    let field = banner.map_or_else(|| field_of(&mut head), |(field, _)| field);
    let values = stated.unwrap_or(match field {
        Field::Integer => Values::Integers(i64::MIN as f64, u64::MAX as f64),
        Field::Unsigned => Values::Integers(0.0, u64::MAX as f64),
        Field::Real | Field::Pattern => Values::Any,
    });
    let [rows, columns] = sizes;
    // Of two kinds, numbers beyond the smaller one are looked at when all are read.
    let known = AllowedIds::Range(1..rows.max(columns).saturating_add(1));
    let dialect = Dialect::fixed(&sample.bytes, start, field != Field::Pattern, known);
    let bare = banner.is_none();
    Ok(Header { bare, field, symmetry, values, sizes, entries, dialect })
}

/// The field of entries where no banner says it: as much as the first of them has.
fn field_of(head: &mut Head<'_>) -> Field {
    let mut rows = std::iter::from_fn(|| head.next()).filter(|line| !line.starts_with(b"%"));
    match rows.find_map(|line| Some(words(line).count()).filter(|count| *count > 0)) {
        Some(2) => Field::Pattern,
        _ => Field::Real,
    }
}

/// Reads the size line: rows, columns, entries.
fn sizes(line: &[u8], banner: bool) -> Result<([u64; 2], u64), String> {
    let numbers: Option<Vec<u64>> = words(line).map(|word| parse_id(word).ok()).collect();
    let Some(&[rows, columns, entries]) = numbers.as_deref() else {
        let banner = if banner { "" } else { "the banner %%MatrixMarket, or " };
        let found = show(line);
        return Err(format!(
            "expected {banner}the numbers of rows, columns and entries, found {found}"
        ));
    };
    Ok(([rows, columns], entries))
}

/// The entries of a matrix.
struct Matrix<'a> {
    header: Header,
    /// Whether values are kept as weights.
    weighted: bool,
    /// Entries found so far.
    tally: BoundedCount,
    file: &'a str,
}

impl Lines for Matrix<'_> {
    fn start(&self) -> usize {
        self.header.dialect.start()
    }

    fn rows(&self) -> Rows {
        self.header.dialect.rows().with_values(self.header.values)
    }

    fn line(&self, line: &[u8], cut: bool, rows: &mut Rows) -> Result<(), String> {
        self.header.dialect.line(line, cut, rows)
    }

    fn parse(&self, text: &[u8], rows: &mut Rows) -> Result<(), Fault> {
        self.header.dialect.parse(text, rows)
    }

    fn keep(&self, number: u64, rows: Rows, collector: &Collector) -> Result<(), InputError> {
        let many = |what| InputError::content(self.file, format!("expected entries, {what}"));
        self.tally.add(rows.len()).map_err(many)?;
        let mut part = rows.into_part();
        check_sides(&part.ids, self.header.sizes).map_err(many)?;
        if !self.weighted {
            part.weights = None;
        }
        if self.header.symmetry == Symmetry::Skew {
            part = both_arcs(part);
        }
        collector.push(number, part)
    }
}

/// Refuses entries beyond a matrix that is not square; those of a square one were looked at before.
fn check_sides(ids: &Ids, [rows, columns]: [u64; 2]) -> Result<(), String> {
    let beyond = |row: u64, column: u64| row > rows || column > columns;
    let found = match ids {
        _ if rows == columns => None,
        Ids::Narrow { pairs, .. } => {
            let mut pairs = pairs.iter().map(|pair| pair.map(u64::from));
            pairs.find(|[row, column]| beyond(*row, *column))
        }
        Ids::Wide { pairs, .. } => {
            pairs.iter().copied().find(|[row, column]| beyond(*row, *column))
        }
        Ids::Names { .. } => None,
    };
    match found {
        Some([row, column]) => Err(format!(
            "in row {rows} and column {columns} at most: found one in row {row} and column {column}"
        )),
        None => Ok(()),
    }
}

/// Each entry and its mirror, with the opposite weight.
fn both_arcs(part: EdgeRun) -> EdgeRun {
    let ids = match part.ids {
        Ids::Narrow { pairs, max } => Ids::Narrow { pairs: mirrored(&pairs), max },
        Ids::Wide { pairs, max } => Ids::Wide { pairs: mirrored(&pairs), max },
        names @ Ids::Names { .. } => names,
    };
    let weights = part
        .weights
        .map(|weights| weights.into_iter().flat_map(|weight| [weight, -weight]).collect());
    EdgeRun { ids, weights }
}

fn mirrored<I: Copy>(pairs: &[[I; 2]]) -> Vec<[I; 2]> {
    pairs.iter().flat_map(|[row, column]| [[*row, *column], [*column, *row]]).collect()
}
