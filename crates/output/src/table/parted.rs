//! Tables in parts, each a file of its own: rows of a part in the order of the table, and parts in
//! the order of their numbers.
//!
//! A part is written and durable before it has its name, so that all parts of a table can get
//! theirs when all are there.

use std::path::Path;

use welter_model::table::{Columns, Table, VertexColumn};
use welter_objects::WriteRequests;
use welter_progress::Progress;

use super::view::View;
use super::{TableFormat, check, write};
use crate::compression::Compression;
use crate::error::OutputError;
use crate::target::Target;

/// A part of a table that is on the device, and has no name yet. Nothing of it is left where this
/// is dropped.
#[derive(Debug)]
pub struct TablePart {
    target: Target,
}

impl TablePart {
    /// Gives it its name.
    ///
    /// # Errors
    /// When that fails, which leaves nothing of it.
    pub fn name(self) -> Result<(), OutputError> {
        self.target.end(Ok(()))
    }
}

/// Extension of parts of a format, such as `csv.zst`.
pub fn extension((compression, format): (Compression, TableFormat)) -> String {
    match compression {
        Compression::None => format.to_string(),
        Compression::Gzip => format!("{format}.gz"),
        Compression::Zstd => format!("{format}.zst"),
    }
}

/// Writes some rows of a table to a part, to a bucket by these requests, with `threads` threads (0:
/// one a core). Vertices that its columns name are those of `named`, among which its own are.
///
/// # Errors
/// See [`OutputError`]. Nothing is left then.
pub fn write_table_part(
    rows: &Table<dyn Columns + '_>,
    named: &VertexColumn,
    path: &Path,
    (compression, format): (Compression, TableFormat),
    (requests, threads): (WriteRequests, usize),
    progress: &Progress,
) -> Result<TablePart, OutputError> {
    let name = path.display().to_string();
    let view = View::of_rows(rows, named, &name)?;
    check(&view, format)?;
    let mut target = Target::create(path, requests, progress)?;
    let written = write(&view, &mut target, format, compression, &name, threads, progress);
    match written.and_then(|()| target.sync()) {
        Ok(()) => Ok(TablePart { target }),
        Err(error) => Err(target.give_up(error)),
    }
}
