//! What an algorithm found, for a caller in this process.

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use welter_model::table::Columns;
use welter_output::{TableBatches, TableFormat, write_table};
use welter_progress::Progress;

use super::panics::caught;
use crate::failure::{Failure, printable};
use crate::run::{self, Found};
use crate::session::Session;
use crate::top::{self, Top};

/// A table of results, which may lie in temporary files, and how it came about.
#[derive(Debug)]
pub struct Answer {
    table: TableBatches<Box<dyn Columns>>,
    top: Top,
    report: String,
    said: Vec<String>,
    note: Option<String>,
}

impl Answer {
    pub(super) fn of(found: Found, session: Session) -> Result<Self, Failure> {
        let report = serde_json::to_string(&found.report.with_phases(&session))
            .map_err(|error| Failure::new(74, format!("the report cannot be made: {error}")))?;
        let lines = run::lines(&found, &session, false);
        let Found { table, top, note, .. } = found;
        let mut said = session.said();
        said.extend(lines);
        Ok(Self { table: TableBatches::new(table)?, top, report, said, note })
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.table.rows()
    }

    /// Number of batches.
    pub fn batches(&self) -> usize {
        self.table.batches()
    }

    /// A batch, by its number.
    ///
    /// # Errors
    /// When results cannot be read from where they are.
    pub fn batch(&self, number: usize) -> Result<RecordBatch, Failure> {
        caught(|| Ok(self.table.batch(number)?))
    }

    /// The rows at the top, as `welter run` shows them, the first one first.
    ///
    /// # Errors
    /// When results cannot be read from where they are.
    pub fn top(&self, count: usize) -> Result<RecordBatch, Failure> {
        caught(|| {
            let (rows, columns) = top::best(self.table.table(), self.top, count)?;
            Ok(self.table.picked(rows.as_deref(), columns)?)
        })
    }

    /// The same as text.
    ///
    /// # Errors
    /// When results cannot be read from where they are.
    pub fn text(&self, count: usize) -> Result<String, Failure> {
        caught(|| top::render(self.table.table(), self.top, count))
    }

    /// Writes all rows to a file, in a format that its name tells unless `format` does.
    ///
    /// # Errors
    /// As of `welter run -o`.
    pub fn write(
        &self,
        path: &Path,
        format: Option<&str>,
        threads: usize,
        progress: &Progress,
    ) -> Result<(), Failure> {
        caught(|| {
            let format: Option<TableFormat> =
                format.map(str::parse).transpose().map_err(Failure::usage)?;
            Ok(write_table(self.table.table(), path, format, threads, progress)?)
        })
    }

    /// The report of the run, as JSON: the plan, and time and bytes of every phase.
    pub fn report(&self) -> &str {
        &self.report
    }

    /// What the command says of such a run on standard error, a line each.
    pub fn said(&self) -> impl Iterator<Item = String> {
        self.said.iter().map(|line| printable(line))
    }

    /// What a person should know of the result, such as that it is not settled.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}
