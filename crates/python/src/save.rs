//! Tables that Python has, as files that an algorithm reads beside its graph.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::arrays::lent;
use crate::stream;
use crate::work::working;

/// Writes the rows of an object that has `__arrow_c_stream__`.
#[pyfunction]
pub(crate) fn save_stream(py: Python<'_>, path: PathBuf, table: &Bound<'_, PyAny>) -> PyResult<()> {
    let reader = stream::taken(table)?;
    let (schema, batches) =
        working(py, None, |progress| stream::batches("table", reader, progress))?;
    write(&path, &schema, &batches)
}

/// Writes ids, strings or integers, and numbers.
#[pyfunction]
pub(crate) fn save_columns(
    path: PathBuf,
    ids: &Bound<'_, PyAny>,
    values: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let ids: ArrayRef = match ids.extract::<Vec<String>>() {
        Ok(names) => Arc::new(StringArray::from(names)),
        Err(_) => lent(ids)?,
    };
    let values: ArrayRef = Arc::new(Float64Array::from(values.as_slice()?.to_vec()));
    let fields = vec![
        Field::new("vertex", ids.data_type().clone(), false),
        Field::new("value", DataType::Float64, false),
    ];
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![ids, values]);
    write(&path, &schema, &[batch.map_err(failed)?])
}

fn write(path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) -> PyResult<()> {
    let mut writer = FileWriter::try_new(File::create(path)?, schema).map_err(failed)?;
    batches.iter().try_for_each(|batch| writer.write(batch)).map_err(failed)?;
    writer.finish().map_err(failed)
}

fn failed(error: ArrowError) -> PyErr {
    PyOSError::new_err(error.to_string())
}
