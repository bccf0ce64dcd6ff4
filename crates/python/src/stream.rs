//! Tables to and from other libraries, by the C stream interface of Arrow.
#![expect(unsafe_code, reason = "takes a stream that another library hands over by a pointer")]

use std::ffi::CStr;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use welter_cli::library::Failure;
use welter_progress::{Progress, Unit};

/// Name of a capsule with such a stream.
const NAME: &CStr = c"arrow_array_stream";

/// Takes the stream of an object.
pub(crate) fn taken(table: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let capsule = table.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err("__arrow_c_stream__ did not return a capsule"))?;
    let pointer = capsule.pointer_checked(Some(NAME))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name points to a stream that no other reader takes from while it
    // lives, and what was taken is marked as released there.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.as_ptr()) };
    reader.map_err(|error| PyValueError::new_err(error.to_string()))
}

/// All batches of a stream.
pub(crate) fn batches(
    name: &str,
    mut reader: RecordBatchStreamReader,
    progress: &Progress,
) -> Result<(SchemaRef, Vec<RecordBatch>), Failure> {
    let schema = reader.schema();
    let phase = progress.phase("take", Unit::Edges, None);
    let mut batches = Vec::new();
    let failed = |error: &dyn Display| Failure::content(format!("{name}: {error}"));
    loop {
        if progress.cancelled() {
            return Err(Failure::interrupted());
        }
        // The batches of a stream are taken at its word, which may end in a panic.
        let next = catch_unwind(AssertUnwindSafe(|| reader.next()));
        let next = next.map_err(|_| failed(&"the stream of Arrow data is not valid"))?;
        let Some(batch) = next else { break };
        let batch = batch.map_err(|error| failed(&error))?;
        check(&batch).map_err(|error| failed(&error))?;
        phase.add(batch.num_rows() as u64);
        batches.push(batch);
    }
    Ok((schema, batches))
}

/// Refuses what no array of its type can be: offsets that lie outside, strings that are not UTF-8,
/// keys of a dictionary that it has not. How long buffers are, a stream does not say.
fn check(batch: &RecordBatch) -> Result<(), String> {
    for (column, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
        column.to_data().validate_full().map_err(|error| {
            let name = field.name();
            format!(
                "the column \"{name}\" is not valid Arrow data, as another library gave it: {error}"
            )
        })?;
    }
    Ok(())
}

/// A stream of batches as a capsule.
pub(crate) fn given(
    py: Python<'_>,
    batches: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(batches), NAME)
}
