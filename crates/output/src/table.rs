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
mod parted;
mod text;
mod view;

pub use self::columns::TableBatches;
pub use self::parted::{TablePart, extension, write_table_part};

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use welter_model::spread::Spread;
use welter_model::table::{Columns, Table};
use welter_objects::WriteRequests;
use welter_progress::{Progress, Unit};

use self::view::View;
#[cfg(feature = "columnar")]
use crate::columnar;
use crate::compression::{self, Compression};
use crate::error::OutputError;
use crate::names;
use crate::ordered::Job;
#[cfg(feature = "columnar")]
use crate::parquet::write_parquet;
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
    #[cfg(feature = "columnar")]
    Parquet,
    /// An Arrow IPC file.
    #[cfg(feature = "columnar")]
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
    #[cfg(feature = "columnar")]
    ("parquet", TableFormat::Parquet),
    #[cfg(feature = "columnar")]
    ("pq", TableFormat::Parquet),
    #[cfg(feature = "columnar")]
    ("arrow", TableFormat::Arrow),
    #[cfg(feature = "columnar")]
    ("feather", TableFormat::Arrow),
    #[cfg(feature = "columnar")]
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

/// Writes a table to a file or an object, with `threads` threads (0: one a core). Where no format
/// is given, the extension of the name tells it. An object is sent by `requests`.
///
/// # Errors
/// See [`OutputError`]. What was at `path` before is untouched then.
pub fn write_table(
    table: &Table<dyn Columns + '_>,
    path: &Path,
    format: Option<TableFormat>,
    requests: WriteRequests,
    threads: usize,
    progress: &Progress,
) -> Result<(), OutputError> {
    if let Some(all) = Spread::of(table) {
        return write_table(&all, path, format, requests, threads, progress);
    }
    let name = path.display().to_string();
    let (compression, format) = TableFormat::of(path, format)?;
    let view = View::of(table, &name)?;
    check(&view, format)?;
    let mut target = Target::create(path, requests, progress)?;
    let written = write(&view, &mut target, format, compression, &name, threads, progress);
    target.end(written)
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
        TableFormat::Csv | TableFormat::Tsv | TableFormat::JsonLines => Ok(()),
        #[cfg(feature = "columnar")]
        TableFormat::Parquet | TableFormat::Arrow => Ok(()),
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
        #[cfg(feature = "columnar")]
        TableFormat::Parquet => write_parquet(&columns::Rows::new(view), sink, &job),
        #[cfg(feature = "columnar")]
        TableFormat::Arrow => columnar::write_arrow(&columns::Rows::new(view), sink, &job),
        TableFormat::Npy => npy::write(view, sink, &job),
    }
}

#[cfg(test)]
mod tests;
