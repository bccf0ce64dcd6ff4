//! Result tables: one row a vertex, the column `vertex` first.
//!
//! One file of this module is one format; what they share is the checked [`View`] of a table. A
//! column of vertices (parents, components) holds ids of the same type as the column `vertex`; no
//! vertex is an empty field in text, a null in Parquet and Arrow, and see [`npy`] for numpy.

mod columns;
mod npy;
mod text;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use welter_model::table::{ColumnData, NO_VERTEX, Table, VertexColumn};
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
    /// Apache Parquet.
    Parquet,
    /// An Arrow IPC file.
    Arrow,
    /// A numpy array of records, as `numpy.load` reads it.
    Npy,
}

/// Name of each format, which is also its extension. The first name of a format is the one shown.
const FORMATS: &[(&str, TableFormat)] = &[
    ("csv", TableFormat::Csv),
    ("tsv", TableFormat::Tsv),
    ("txt", TableFormat::Tsv),
    ("parquet", TableFormat::Parquet),
    ("pq", TableFormat::Parquet),
    ("arrow", TableFormat::Arrow),
    ("feather", TableFormat::Arrow),
    ("ipc", TableFormat::Arrow),
    ("npy", TableFormat::Npy),
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
        let text = matches!(format, Self::Csv | Self::Tsv);
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
    table: &Table,
    path: &Path,
    format: Option<TableFormat>,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    let name = path.display().to_string();
    let (compression, format) = TableFormat::of(path, format)?;
    let view = View::of(table, &name)?;
    if format == TableFormat::Npy {
        npy::check(&view, &name)?;
    }
    let target = Target::create(path)?;
    if let Some(mut file) = target.file() {
        write(&view, &mut file, format, compression, target.name(), threads, progress)?;
    }
    target.commit()
}

/// Writes a table to anything, such as standard output; `name` is what errors call it.
///
/// # Errors
/// See [`OutputError`]. What was written before an error stays.
pub fn write_table_to(
    table: &Table,
    sink: &mut (dyn Write + Send),
    name: &str,
    format: TableFormat,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    let view = View::of(table, name)?;
    if format == TableFormat::Npy {
        npy::check(&view, name)?;
    }
    write(&view, sink, format, Compression::None, name, threads, progress)
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
    let phase = progress.phase("write", Unit::Vertices, Some(view.rows as u64));
    let job = Job { name, threads: thread_count(threads), progress, phase };
    match format {
        TableFormat::Csv => text::write(view, sink, compression, b',', &job),
        TableFormat::Tsv => text::write(view, sink, compression, b'\t', &job),
        TableFormat::Parquet => columnar::write_parquet(&columns::Rows::new(view), sink, &job),
        TableFormat::Arrow => columnar::write_arrow(&columns::Rows::new(view), sink, &job),
        TableFormat::Npy => npy::write(view, sink, &job),
    }
}

/// A table whose columns are known to be equally long and to have distinct names.
struct View<'a> {
    rows: usize,
    vertices: &'a VertexColumn,
    columns: Vec<(&'a str, Cells<'a>)>,
}

/// Values of one column, of a type that all formats know.
#[derive(Clone, Copy)]
enum Cells<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    I64(&'a [i64]),
    /// Rows of the table, shown as their ids; below the number of rows, or [`NO_VERTEX`].
    Vertices(&'a [u32]),
}

impl<'a> View<'a> {
    fn of(table: &'a Table, name: &str) -> Result<Self, OutputError> {
        let rows = table.vertices.len();
        let mut columns: Vec<(&str, Cells<'_>)> = Vec::new();
        for column in &table.columns {
            let title = column.name.as_str();
            let taken = title == VERTEX || columns.iter().any(|(other, _)| *other == title);
            if taken || title.is_empty() {
                return Err(OutputError::unfit(name, format!("two columns are named \"{title}\"")));
            }
            if column.data.len() != rows {
                let found = column.data.len();
                let what = format!("column \"{title}\" has {found} rows, expected {rows}");
                return Err(OutputError::unfit(name, what));
            }
            let cells = match &column.data {
                ColumnData::F32(values) => Cells::F32(values),
                ColumnData::F64(values) => Cells::F64(values),
                ColumnData::U32(values) => Cells::U32(values),
                ColumnData::U64(values) => Cells::U64(values),
                ColumnData::I64(values) => Cells::I64(values),
                ColumnData::Vertices(values) => {
                    let beyond = |vertex: &&u32| **vertex != NO_VERTEX && **vertex as usize >= rows;
                    if let Some(vertex) = values.iter().find(beyond) {
                        let what = format!(
                            "column \"{title}\" names vertex number {vertex} of {rows} vertices"
                        );
                        return Err(OutputError::unfit(name, what));
                    }
                    Cells::Vertices(values)
                }
                _ => {
                    let what = format!("column \"{title}\" has a type that no format has");
                    return Err(OutputError::unfit(name, what));
                }
            };
            columns.push((title, cells));
        }
        Ok(Self { rows, vertices: &table.vertices, columns })
    }
}

/// Name of the first column.
const VERTEX: &str = "vertex";

#[cfg(test)]
mod tests;
