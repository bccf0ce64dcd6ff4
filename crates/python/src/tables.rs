//! Tables of vertices that Python has, for an algorithm that reads them beside its graph.

use arrow_array::{ArrayRef, RecordBatch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use welter_input::Frame;

use crate::arrays::lent;
use crate::stream;
use crate::work::working;

/// The tables, each with its name: what has `__arrow_c_stream__`, or a pair of columns, ids and
/// numbers.
pub(crate) fn frames(
    py: Python<'_>,
    tables: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<Vec<Frame>> {
    tables.into_iter().map(|(name, table)| frame(py, name, &table)).collect()
}

fn frame(py: Python<'_>, name: String, table: &Bound<'_, PyAny>) -> PyResult<Frame> {
    if let Ok((ids, values)) = table.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
        let (ids, values): (ArrayRef, ArrayRef) = (lent(&ids)?, lent(&values)?);
        let batch = RecordBatch::try_from_iter([("vertex", ids), ("value", values)])
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        return Ok(Frame { name, schema: batch.schema(), batches: vec![batch] });
    }
    streamed(py, name, table)
}

/// A table of vertices: what has `__arrow_c_stream__`, or a column of ids.
pub(crate) fn listed(py: Python<'_>, name: String, table: &Bound<'_, PyAny>) -> PyResult<Frame> {
    if table.hasattr("__arrow_c_stream__")? {
        return streamed(py, name, table);
    }
    let batch = RecordBatch::try_from_iter([("vertex", lent(table)?)])
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(Frame { name, schema: batch.schema(), batches: vec![batch] })
}

fn streamed(py: Python<'_>, name: String, table: &Bound<'_, PyAny>) -> PyResult<Frame> {
    let reader = stream::taken(table)?;
    let (schema, batches) = working(py, None, |progress| stream::batches(&name, reader, progress))?;
    Ok(Frame { name, schema, batches })
}
