//! Result tables: one row a vertex, the column `vertex` first; or lists, without that column.
//!
//! One file of this module is one format; what they share is the checked [`View`] of a table, of
//! which they ask for the rows of a block at a time: the whole need not be in memory. A column of
//! vertices (parents, components) holds ids of the same type as the column `vertex`; no vertex is
//! an empty field in text, a null in JSON, Parquet and Arrow, and see [`npy`] for numpy. Vertices
//! that share a row in memory ([`Spread`]) have one each in files.

mod columns;
mod lines;
mod npy;
mod text;

pub use self::columns::TableBatches;

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use welter_model::non_compact::Spread;
use welter_model::table::{Column, ColumnData, Columns, Table, VertexColumn};
use welter_model::two_kinds::Side;
use welter_progress::{Progress, Unit};

use crate::columnar;
use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::names;
use crate::ordered::Job;
use crate::target::Target;
use crate::thread_count;

/// Format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFormat {
    /// Comma-separated text with a header; gzip or zstd where the name ends so.
    Csv,
    /// Tab-separated text with a header; gzip or zstd where the name ends so.
    Tsv,
    /// A JSON object a line; gzip or zstd where the name ends so.
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
    /// A numpy array of records, as `numpy.load` reads it.
    Npy,
    /// An output of LDBC Graphalytics: a line `vertex value` for each vertex.
    Ldbc,
}

/// Name of each format, which is also its extension. The first name of a format is the one shown.
const FORMATS: &[(&str, TableFormat)] = &[
    ("csv", TableFormat::Csv),
    ("tsv", TableFormat::Tsv),
    ("txt", TableFormat::Tsv),
    ("jsonl", TableFormat::JsonLines),
    ("ndjson", TableFormat::JsonLines),
    ("parquet", TableFormat::Parquet),
    ("pq", TableFormat::Parquet),
    ("arrow", TableFormat::Arrow),
    ("feather", TableFormat::Arrow),
    ("ipc", TableFormat::Arrow),
    ("npy", TableFormat::Npy),
    ("ldbc", TableFormat::Ldbc),
];

impl FromStr for TableFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        names::find(FORMATS, text)
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(names::name(FORMATS, self))
    }
}

impl TableFormat {
    /// Format and compression of a file called `path`, where `format` is what was asked for, if
    /// anything was.
    ///
    /// # Errors
    /// [`OutputError::Format`] when the name does not tell, or the two do not go together.
    pub fn of(
        path: &Path,
        format: Option<Self>,
    ) -> Result<(Compression, TableFormat), OutputError> {
        let (compression, format) = compression::resolve(path, format)?;
        let text = matches!(format, Self::Csv | Self::Tsv | Self::JsonLines | Self::Ldbc);
        compression::check(compression, text, format, path)?;
        Ok((compression, format))
    }
}

/// Writes a table to a file, with `threads` threads (0: one a core). Where no format is given, the
/// extension of the name tells it.
///
/// # Errors
/// See [`OutputError`]. What was at `path` before is untouched then.
pub fn write_table(
    table: &Table<dyn Columns + '_>,
    path: &Path,
    format: Option<TableFormat>,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    if let Some(all) = Spread::of(table) {
        return write_table(&all, path, format, threads, progress);
    }
    let name = path.display().to_string();
    let (compression, format) = TableFormat::of(path, format)?;
    let view = View::of(table, &name)?;
    check(&view, format)?;
    let mut target = Target::create(path)?;
    write(&view, &mut target, format, compression, &name, threads, progress)?;
    target.commit()
}

/// Writes a table to anything, such as standard output; `name` is what errors call it.
///
/// # Errors
/// See [`OutputError`]. What was written before an error stays.
pub fn write_table_to(
    table: &Table<dyn Columns + '_>,
    sink: &mut (dyn Write + Send),
    name: &str,
    format: TableFormat,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    if let Some(all) = Spread::of(table) {
        return write_table_to(&all, sink, name, format, threads, progress);
    }
    let view = View::of(table, name)?;
    check(&view, format)?;
    write(&view, sink, format, Compression::None, name, threads, progress)
}

/// Refuses what a format has no place for.
fn check(view: &View<'_>, format: TableFormat) -> Result<(), OutputError> {
    match format {
        TableFormat::Npy => npy::check(view),
        TableFormat::Ldbc => text::check_ldbc(view),
        TableFormat::Csv
        | TableFormat::Tsv
        | TableFormat::JsonLines
        | TableFormat::Parquet
        | TableFormat::Arrow => Ok(()),
    }
}

fn write(
    view: &View<'_>,
    sink: &mut (dyn Write + Send),
    format: TableFormat,
    compression: Compression,
    name: &str,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    let unit = if view.is_list { Unit::Edges } else { Unit::Vertices };
    let phase = progress.phase("write", unit, Some(view.rows as u64));
    let job = Job { name, threads: thread_count(threads), progress, phase };
    match format {
        TableFormat::Csv => text::write(view, sink, compression, text::CSV, &job),
        TableFormat::Tsv => text::write(view, sink, compression, text::TSV, &job),
        TableFormat::JsonLines => lines::write(view, sink, compression, &job),
        TableFormat::Ldbc => text::write(view, sink, compression, text::LDBC, &job),
        TableFormat::Parquet => columnar::write_parquet(&columns::Rows::new(view), sink, &job),
        TableFormat::Arrow => columnar::write_arrow(&columns::Rows::new(view), sink, &job),
        TableFormat::Npy => npy::write(view, sink, &job),
    }
}

/// A table whose columns are known to have types that all formats have, and distinct names.
struct View<'a> {
    /// Name of the output, for errors.
    name: &'a str,
    rows: usize,
    /// Whether the rows are not the vertices, so that there is no column of these.
    is_list: bool,
    vertices: &'a VertexColumn,
    columns: &'a dyn Columns,
    /// The columns without their rows.
    heads: Vec<Column>,
}

/// Values of one column, of a type that all formats know.
enum Cells {
    F32(Vec<f32>),
    F64(Vec<f64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    /// Numbers of vertices, shown as their ids; below their number, or
    /// [`NO_VERTEX`](welter_model::table::NO_VERTEX).
    Vertices(Vec<u64>),
    /// Which end of edges vertices are.
    Sides(Vec<Option<Side>>),
}

impl<'a> View<'a> {
    fn of(table: &'a Table<dyn Columns + '_>, name: &'a str) -> Result<Self, OutputError> {
        let Table { vertices, columns } = table;
        let listed = columns.listed();
        let rows = listed.unwrap_or(vertices.len());
        let heads = columns.part(0..0).map_err(OutputError::Input)?;
        for (number, Column { name: title, .. }) in heads.iter().enumerate() {
            let taken = listed.is_none() && title == VERTEX
                || heads[..number].iter().any(|head| head.name == *title);
            if taken || title.is_empty() {
                return Err(OutputError::unfit(name, format!("two columns are named \"{title}\"")));
            }
        }
        columns.check(rows).map_err(|what| OutputError::unfit(name, what))?;
        let view = Self { name, rows, is_list: listed.is_some(), vertices, columns, heads };
        // No format is asked for a type that it has not.
        view.part(0..0)?;
        Ok(view)
    }

    /// Name of the column of vertices, if there is one.
    fn vertex_title(&self) -> Option<&'static str> {
        (!self.is_list).then_some(VERTEX)
    }

    /// Names of the other columns.
    fn titles(&self) -> impl Iterator<Item = &str> {
        self.heads.iter().map(|head| head.name.as_str())
    }

    /// The columns of some rows. Columns of vertices hold numbers of vertices, and nothing else.
    fn part(&self, rows: Range<usize>) -> Result<Vec<Cells>, OutputError> {
        let count = rows.len();
        let unfit = |what| OutputError::unfit(self.name, what);
        let part = self.columns.part(rows).map_err(OutputError::Input)?;
        let same = |(column, head): (&Column, &Column)| column.data.same_type(&head.data);
        if part.len() != self.heads.len() || !part.iter().zip(&self.heads).all(same) {
            return Err(unfit("some rows have other columns than the first".to_owned()));
        }
        let cells = part.into_iter().map(|column| {
            column.check(count, self.vertices.len()).map_err(unfit)?;
            Cells::of(column).map_err(unfit)
        });
        cells.collect()
    }
}

impl Cells {
    fn of(column: Column) -> Result<Self, String> {
        Ok(match column.data {
            ColumnData::F32(values) => Self::F32(values),
            ColumnData::F64(values) => Self::F64(values),
            ColumnData::U32(values) => Self::U32(values),
            ColumnData::U64(values) => Self::U64(values),
            ColumnData::I64(values) => Self::I64(values),
            ColumnData::Vertices(values) => Self::Vertices(values),
            ColumnData::Sides(values) => Self::Sides(values),
            _ => return Err(format!("column \"{}\" has a type that no format has", column.name)),
        })
    }
}

/// Name of the first column.
const VERTEX: &str = "vertex";

#[cfg(test)]
mod tests;
