//! The answer of an algorithm, for a caller in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use welter_model::table::{Columns, Table};
use welter_output::{TableBatches, TableFormat, WriteRequests, write_table};
use welter_progress::{FailureKind, Progress};

use super::panics::{caught, wanted};
use crate::algorithms::algorithm::Algorithm;
use crate::cluster::ClusterOutcome;
use crate::cluster_report;
use crate::failure::{Failure, printable};
use crate::preview::{self, Top};
use crate::promise::Outputs;
use crate::report::page::page;
use crate::report::write_made;
use crate::run::{self, RunResult};
use crate::session::Session;

/// A table of results, which may lie in temporary files, and how it came about.
#[derive(Debug)]
pub struct Answer {
    table: TableBatches<Box<dyn Columns>>,
    top: Top,
    report: Option<String>,
    printed: Vec<String>,
    note: Option<String>,
    /// Whether a vertex may have no value: none was found on the way from the sources. Files say -1
    /// or inf there, as other programs do; a program that computes with a column must not take that
    /// for a depth or a distance, so here it is null.
    misses: bool,
    /// Files that were read for it, which it must not replace.
    files: Vec<PathBuf>,
}

impl Answer {
    /// The answer of a run; `files`: those that it read.
    pub(super) fn of(
        found: RunResult,
        session: &Session,
        files: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let report =
            serde_json::to_string_pretty(&found.report.with_phases(session)).map_err(|error| {
                Failure::new(FailureKind::Storage, format!("the report cannot be made: {error}"))
            })?;
        let lines = run::lines(&found, session, false);
        let RunResult { table, top, note, .. } = found;
        let mut printed = session.notes();
        printed.extend(lines);
        let misses = top == Top::Farthest;
        let report = Some(report);
        Ok(Self { table: TableBatches::new(table)?, top, report, printed, note, misses, files })
    }

    /// The answer of a run on a cluster; `files`: those that its host knows of.
    pub(super) fn of_cluster(
        found: ClusterOutcome,
        algorithm: &dyn Algorithm,
        session: &Session,
        files: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let ClusterOutcome { table, finding, edges, machines, notes, top, .. } = found;
        let vertices = table.vertices.vertices();
        let figures = (vertices, edges, session.started.elapsed().as_secs_f64());
        let report = cluster_report::Report::of(algorithm, &machines, &finding, figures);
        let report = serde_json::to_string_pretty(&report).map_err(Failure::bug)?;
        let mut printed = session.notes();
        printed.extend(notes.iter().map(|note| format!("note: {note}")));
        printed.extend(cluster_report::lines(&machines));
        let (misses, report) = (top == Top::Farthest, Some(report));
        let (table, note) = (TableBatches::new(table)?, finding.note);
        Ok(Self { table, top, report, printed, note, misses, files })
    }

    /// A table that no algorithm made.
    pub(super) fn plain(
        table: Table<Box<dyn Columns>>,
        note: Option<String>,
        files: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let (top, printed) = (Top::Highest, Vec::new());
        let table = TableBatches::new(table)?;
        Ok(Self { table, top, report: None, printed, note, misses: false, files })
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        if self.misses { nullable(&self.table.schema()) } else { self.table.schema() }
    }

    /// Names of the columns that hold ids of vertices.
    pub fn id_columns(&self) -> Vec<String> {
        let schema = self.table.schema();
        let ids = schema.fields().iter().enumerate().filter(|(place, field)| {
            // None but columns of vertices, and of their sides, may lack values in files.
            field.is_nullable() && !field.name().ends_with("side")
                || *place == 0 && field.name() == "vertex"
        });
        ids.map(|(_, field)| field.name().clone()).collect()
    }

    /// Rows of a batch, with nulls where nothing was reached.
    fn shown(&self, batch: RecordBatch) -> Result<RecordBatch, Failure> {
        if self.misses { without_misses(&batch) } else { Ok(batch) }
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
        caught(|| self.shown(self.table.batch(number)?))
    }

    /// The rows at the top, as `welter run` shows them, the first one first.
    ///
    /// # Errors
    /// When results cannot be read from where they are.
    pub fn top(&self, count: usize) -> Result<RecordBatch, Failure> {
        caught(|| {
            let (rows, columns) = preview::best(self.table.table(), self.top, count)?;
            self.shown(self.table.picked(rows.as_deref(), columns)?)
        })
    }

    /// The top rows as text.
    ///
    /// # Errors
    /// When results cannot be read from where they are.
    pub fn text(&self, count: usize) -> Result<String, Failure> {
        caught(|| preview::render(self.table.table(), self.top, count))
    }

    /// Writes all rows to a file, in the format of its name unless `format` states one. The file is
    /// whole and on the device when that is done, or as it was.
    ///
    /// # Errors
    /// As of `welter run -o`: also where the file is one that was read, or lies in a kept graph.
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
            Outputs::beside(self.files.clone()).checked(path)?;
            let usual = WriteRequests::default();
            Ok(write_table(self.table.table(), path, format, usual, threads, progress)?)
        })
    }

    /// The report of the run, if there was one, as JSON: the plan, and time and bytes of every
    /// phase.
    pub fn report(&self) -> Option<&str> {
        self.report.as_deref()
    }

    /// The report of the run, if there was one, as a page of HTML with charts.
    pub fn page(&self) -> Option<String> {
        Some(page(&serde_json::from_str(self.report()?).ok()?))
    }

    /// Writes the report of the run to a file or an object, whole or not at all: as a page where
    /// the name ends in `.html`, else as the JSON that `--report` writes.
    ///
    /// # Errors
    /// As of `welter run --report`: also where the file is one that was read, or lies in a kept
    /// graph.
    pub fn write_report(&self, path: &Path, progress: &Progress) -> Result<(), Failure> {
        wanted(progress, || {
            let Some(report) = self.report() else {
                return Err(Failure::usage("no run made this table, so it has no report"));
            };
            Outputs::beside(self.files.clone()).checked(path)?;
            write_made(path, report)
        })
    }

    /// Lines that the command prints about such a run on standard error.
    pub fn printed(&self) -> impl Iterator<Item = String> {
        self.printed.iter().map(|line| printable(line))
    }

    /// Note for a person about the result, such as that it is not settled.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

/// The columns of depths and distances may lack values.
fn nullable(schema: &Schema) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        let measures = field.data_type() == &DataType::Int64 || field.data_type().is_floating();
        let nullable = field.is_nullable() || measures;
        Arc::new(field.as_ref().clone().with_nullable(nullable))
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Nulls in the place of negative depths and infinite distances.
fn without_misses(batch: &RecordBatch) -> Result<RecordBatch, Failure> {
    let known = |column: &ArrayRef| match column.data_type() {
        DataType::Int64 => known::<Int64Type>(column, |depth| depth >= 0),
        DataType::Float32 => known::<Float32Type>(column, f32::is_finite),
        DataType::Float64 => known::<Float64Type>(column, f64::is_finite),
        _ => Arc::clone(column),
    };
    let columns = batch.columns().iter().map(known).collect();
    RecordBatch::try_new(nullable(&batch.schema()), columns).map_err(Failure::bug)
}

/// A column without the values that are none.
fn known<T: ArrowPrimitiveType>(
    column: &ArrayRef,
    is_known: impl Fn(T::Native) -> bool,
) -> ArrayRef {
    let values = column.as_primitive::<T>().values();
    if values.iter().all(|value| is_known(*value)) {
        return Arc::clone(column);
    }
    let known = values.iter().map(|&value| is_known(value).then_some(value));
    Arc::new(known.collect::<PrimitiveArray<T>>())
}
