//! Tables of results.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use welter_cli::library::{Answer, Failure};

use crate::arrays::column;
use crate::stream;
use crate::work::{raised, working};

/// The table that a run found, or some rows of it.
#[pyclass(frozen, module = "welter._native")]
pub(crate) struct Table {
    rows: Rows,
    /// Names of the columns that hold ids of vertices.
    ids: Vec<String>,
}

enum Rows {
    /// All rows, wherever they are.
    All(Arc<Answer>),
    /// Rows in memory.
    Some(RecordBatch),
}

impl Table {
    /// Table of all rows of an answer.
    pub(crate) fn of(answer: Arc<Answer>) -> Self {
        Self { ids: answer.id_columns(), rows: Rows::All(answer) }
    }

    fn schema(&self) -> SchemaRef {
        match &self.rows {
            Rows::All(answer) => answer.schema(),
            Rows::Some(batch) => batch.schema(),
        }
    }

    fn reader(&self) -> Box<dyn RecordBatchReader + Send> {
        let schema = self.schema();
        match &self.rows {
            Rows::All(answer) => {
                let answer = Arc::clone(answer);
                let batch = move |number| {
                    let wrong = |failure: Failure| ArrowError::from_external_error(failure.into());
                    answer.batch(number).map_err(wrong)
                };
                let count = self.batches();
                Box::new(RecordBatchIterator::new((0..count).map(batch), schema))
            }
            Rows::Some(batch) => Box::new(RecordBatchIterator::new([Ok(batch.clone())], schema)),
        }
    }

    fn batches(&self) -> usize {
        if let Rows::All(answer) = &self.rows { answer.batches() } else { 1 }
    }

    fn answer(&self) -> Option<&Answer> {
        if let Rows::All(answer) = &self.rows { Some(answer) } else { None }
    }
}

#[pymethods]
impl Table {
    /// The rows as a stream of Arrow arrays.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish, and not more: types are as they are.
        let _ = requested_schema;
        stream::given(py, self.reader())
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        match &self.rows {
            Rows::All(answer) => answer.rows(),
            Rows::Some(batch) => batch.num_rows(),
        }
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Names of the columns that hold ids of vertices.
    #[getter]
    fn id_columns(&self) -> Vec<String> {
        self.ids.clone()
    }

    /// The columns by name: values, and a mask of those that are missing, if some are.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let batches: Vec<RecordBatch> = match &self.rows {
            Rows::Some(batch) => vec![batch.clone()],
            Rows::All(answer) => working(py, None, |_| {
                (0..answer.batches()).map(|number| answer.batch(number)).collect()
            })?,
        };
        let columns = PyDict::new(py);
        for (place, field) in self.schema().fields().iter().enumerate() {
            let arrays: Vec<_> =
                batches.iter().map(|batch| Arc::clone(batch.column(place))).collect();
            columns.set_item(field.name(), column(py, &arrays, field.data_type())?)?;
        }
        Ok(columns)
    }

    /// The rows at the top, the first one first.
    fn top(&self, py: Python<'_>, count: usize) -> PyResult<Self> {
        let rows = match &self.rows {
            Rows::All(answer) => working(py, None, |_| answer.top(count))?,
            Rows::Some(batch) => batch.slice(0, count.min(batch.num_rows())),
        };
        let schema = rows.schema();
        let is_left = |name: &String| schema.column_with_name(name).is_some();
        let ids = self.ids.iter().filter(|name| is_left(name)).cloned().collect();
        Ok(Self { rows: Rows::Some(rows), ids })
    }

    /// The rows at the top as the command line shows them; nothing of some rows.
    fn text(&self, py: Python<'_>, count: usize) -> PyResult<Option<String>> {
        self.answer().map(|answer| working(py, None, |_| answer.text(count))).transpose()
    }

    /// Writes all rows to a file.
    #[pyo3(signature = (path, format, threads, tick=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<String>,
        threads: usize,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let answer = self.answer().ok_or_else(|| {
            raised(py, &Failure::usage("some rows are not written; write the whole result"))
        })?;
        working(py, tick, |progress| answer.write(&path, format.as_deref(), threads, progress))
    }

    /// Writes the report of the run to a file: a page where its name ends in `.html`, else JSON.
    #[pyo3(signature = (path, tick=None))]
    fn write_report(
        &self,
        py: Python<'_>,
        path: PathBuf,
        tick: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let answer = self.answer().ok_or_else(|| {
            raised(py, &Failure::usage("some rows have no report; ask the whole result"))
        })?;
        working(py, tick, |progress| answer.write_report(&path, progress))
    }

    /// The report of the run, as JSON.
    #[getter]
    fn report(&self) -> Option<&str> {
        self.answer().and_then(Answer::report)
    }

    /// The report of the run, as a page of HTML with charts.
    fn page(&self) -> Option<String> {
        self.answer().and_then(Answer::page)
    }

    /// Lines that the command would have printed about the run.
    #[getter]
    fn said(&self) -> Vec<String> {
        self.answer().map(|answer| answer.printed().collect()).unwrap_or_default()
    }

    /// Note for a person about the result.
    #[getter]
    fn note(&self) -> Option<&str> {
        self.answer().and_then(Answer::note)
    }
}
