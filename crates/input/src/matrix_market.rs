//! Matrix Market coordinates: the entries of a square matrix are the edges of a graph.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real symmetric     banner, in any case
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
//! Refused: dense (`array`), complex and Hermitian matrices, which are no graphs with one weight an
//! edge; rectangular ones, which are no adjacency matrices; files without a banner; counts that are
//! not what is found; values that the stated type cannot hold.

mod banner;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use self::banner::{Field, Symmetry, parse_banner, type_values};
use crate::collect::{Collector, Ids, Part, Stated, count_fits};
use crate::columns;
use crate::error::InputError;
use crate::head::{Head, plausible, sample, words};
use crate::options::{IdKind, ReadOptions};
use crate::reader::{Context, Estimate, Reader};
use crate::source::Source;
use crate::text::dialect::Dialect;
use crate::text::fields::{parse_id, show};
use crate::text::known::{Known, Values};
use crate::text::lines::{self, Lines};
use crate::text::parse::Fault;
use crate::text::rows::Rows;

/// Bytes of the shortest entry: two digits, the space between them, the line end.
const ENTRY_BYTES_MIN: u64 = 4;

/// The reader of Matrix Market files.
pub(crate) struct MatrixMarket;

pub(crate) use self::banner::begins;

/// What the lines before the first entry say.
struct Header {
    field: Field,
    symmetry: Symmetry,
    values: Values,
    size: u64,
    entries: u64,
    /// How entries are read.
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
        collector.state(Stated::Range { first: 1, count: header.size })?;
        collector.state_undirected(header.symmetry == Symmetry::Symmetric);
        let entries = header.entries;
        let matrix = Matrix { header, weighted, count: AtomicU64::new(0) };
        lines::read(source, &matrix, context, collector)?;
        let found = matrix.count.into_inner();
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
            slots: Some(header.size),
            ids: IdKind::Integers,
            weighted: weighted(source, header.field, options)?,
            undirected: Some(header.symmetry == Symmetry::Symmetric),
        })
    }
}

fn weighted(source: &Source, field: Field, options: &ReadOptions) -> Result<bool, InputError> {
    columns::fixed(source.name(), field != Field::Pattern, options)
}

/// Reads what comes before the entries.
fn header(source: &Source, options: &ReadOptions) -> Result<Header, InputError> {
    let sample = sample(source, &options.limits)?;
    let mut head = Head::new(source.name(), &sample);
    let banner = head.next().unwrap_or_default();
    let (field, symmetry) = parse_banner(banner).map_err(|what| head.error(what))?;
    let mut values = if field == Field::Integer {
        Values::Integers(i64::MIN as f64, u64::MAX as f64)
    } else {
        Values::Any
    };
    let line = loop {
        let line = head.next().ok_or_else(|| head.missing("a line with the size"))?;
        if line.starts_with(b"%") {
            let stated = type_values(line, symmetry).map_err(|what| head.error(what))?;
            values = stated.unwrap_or(values);
        } else if words(line).next().is_some() {
            break line;
        }
    };
    let (size, entries) = sizes(line).map_err(|what| head.error(what))?;
    plausible(source, &options.limits, entries, ENTRY_BYTES_MIN, "entries")
        .map_err(|what| head.error(what))?;
    let known = Known::Range(1..size + 1);
    let dialect = Dialect::fixed(&sample.bytes, head.at(), field != Field::Pattern, known);
    Ok(Header { field, symmetry, values, size, entries, dialect })
}

/// Reads the size line: rows, columns, entries.
fn sizes(line: &[u8]) -> Result<(u64, u64), String> {
    let numbers: Option<Vec<u64>> = words(line).map(|word| parse_id(word).ok()).collect();
    let Some(&[rows, columns, entries]) = numbers.as_deref() else {
        return Err(format!(
            "expected the numbers of rows, columns and entries, found {}",
            show(line)
        ));
    };
    if rows != columns {
        return Err(format!(
            "expected a square matrix, whose rows and columns are vertices, \
             found {rows} rows and {columns} columns"
        ));
    }
    count_fits(rows)?;
    Ok((rows, entries))
}

/// The entries of a matrix.
struct Matrix {
    header: Header,
    /// Whether values are kept as weights.
    weighted: bool,
    /// Entries found so far.
    count: AtomicU64,
}

impl Lines for Matrix {
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
        self.count.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let mut part = rows.into_part();
        if !self.weighted {
            part.weights = None;
        }
        if self.header.symmetry == Symmetry::Skew {
            part = both_arcs(part);
        }
        collector.push(number, part)
    }
}

/// Each entry and its mirror, with the opposite weight.
fn both_arcs(part: Part) -> Part {
    let ids = match part.ids {
        Ids::Narrow { pairs, max } => Ids::Narrow { pairs: mirrored(&pairs), max },
        Ids::Wide { pairs, max } => Ids::Wide { pairs: mirrored(&pairs), max },
        names @ Ids::Names { .. } => names,
    };
    let weights = part
        .weights
        .map(|weights| weights.into_iter().flat_map(|weight| [weight, -weight]).collect());
    Part { ids, weights }
}

fn mirrored<I: Copy>(pairs: &[[I; 2]]) -> Vec<[I; 2]> {
    pairs.iter().flat_map(|[row, column]| [[*row, *column], [*column, *row]]).collect()
}
