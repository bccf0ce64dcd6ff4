//! Columns of numpy, to and from Arrow arrays.
#![expect(unsafe_code, reason = "lends the memory of arrays of numpy to Arrow")]

use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::builder::LargeStringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Schema};
use numpy::{Element, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyList;

/// A column of numbers, in one piece.
pub(crate) struct Column<'py>(Bound<'py, PyAny>);

impl<'py> FromPyObject<'_, 'py> for Column<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.to_owned()))
    }
}

/// An array that lives as long as its memory is read.
struct Lent {
    /// Array that is not looked at, but not freed either.
    _array: AssertUnwindSafe<Py<PyAny>>,
}

/// A batch of edges whose columns are those arrays, without a copy.
pub(crate) fn batch(
    (source, target): (Column<'_>, Column<'_>),
    weight: Option<Column<'_>>,
) -> PyResult<RecordBatch> {
    let mut columns = vec![("source", lent(&source.0)?), ("target", lent(&target.0)?)];
    if let Some(weight) = weight {
        columns.push(("weight", lent(&weight.0)?));
    }
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), array.null_count() > 0))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// An array of numpy, without a copy, or a list of strings, copied.
pub(crate) fn lent(array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    if let Ok(strings) = array.cast::<PyList>() {
        return named(strings);
    }
    let lenders = [
        lent_as::<UInt32Type>,
        lent_as::<Int64Type>,
        lent_as::<UInt64Type>,
        lent_as::<Int32Type>,
        lent_as::<Float64Type>,
        lent_as::<Float32Type>,
        lent_as::<UInt16Type>,
        lent_as::<Int16Type>,
        lent_as::<UInt8Type>,
        lent_as::<Int8Type>,
    ];
    lenders.iter().find_map(|lender| lender(array)).unwrap_or_else(|| {
        let what = "expected an array of one dimension, of integers of 8 to 64 bits or of floats";
        Err(PyTypeError::new_err(what))
    })
}

/// Strings, and nulls where there is none.
fn named(strings: &Bound<'_, PyList>) -> PyResult<ArrayRef> {
    let mut names = LargeStringBuilder::with_capacity(strings.len(), 8 * strings.len());
    for (row, string) in strings.iter().enumerate() {
        let name = string.extract::<Option<PyBackedStr>>().map_err(|_| {
            let kind = string.get_type();
            let what = format!("row {}: expected a string, found {kind}", row + 1);
            PyTypeError::new_err(what)
        })?;
        names.append_option(name.as_deref());
    }
    Ok(Arc::new(names.finish()))
}

/// The array, if it has elements of that type.
fn lent_as<T>(array: &Bound<'_, PyAny>) -> Option<PyResult<ArrayRef>>
where
    T: ArrowPrimitiveType,
    T::Native: Element + ArrowNativeType,
{
    let array = array.cast::<PyArray1<T::Native>>().ok()?;
    if !array.is_c_contiguous() || !array.data().is_aligned() {
        return Some(Err(PyValueError::new_err("expected an array in one piece, and aligned")));
    }
    let owner = Arc::new(Lent { _array: AssertUnwindSafe(array.clone().into_any().unbind()) });
    let values = match NonNull::new(array.data().cast::<u8>()) {
        None => ScalarBuffer::<T::Native>::default(),
        Some(pointer) => {
            let bytes = array.len() * size_of::<T::Native>();
            // SAFETY: the array is in one piece of `bytes` bytes, is aligned, and `owner` keeps it
            // from being freed; the package says that it must not be written to meanwhile, as all
            // do that lend arrays.
            let buffer = unsafe { Buffer::from_custom_allocation(pointer, bytes, owner) };
            ScalarBuffer::from(buffer)
        }
    };
    Some(Ok(Arc::new(PrimitiveArray::<T>::new(values, None))))
}

/// The values of a column, strings as a list, and where there are none.
type Values<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyArray1<bool>>>);

/// A column of batches for numpy.
pub(crate) fn column<'py>(
    py: Python<'py>,
    arrays: &[ArrayRef],
    kind: &DataType,
) -> PyResult<Values<'py>> {
    let nulls: usize = arrays.iter().map(Array::null_count).sum();
    let mask = (nulls > 0).then(|| {
        let absent = |array: &ArrayRef| (0..array.len()).map(|row| array.is_null(row)).collect();
        let absent: Vec<bool> = arrays.iter().flat_map::<Vec<bool>, _>(absent).collect();
        PyArray1::from_vec(py, absent)
    });
    let values = match kind {
        DataType::UInt32 => numbers::<UInt32Type>(py, arrays),
        DataType::UInt64 => numbers::<UInt64Type>(py, arrays),
        DataType::Int64 => numbers::<Int64Type>(py, arrays),
        DataType::Float32 => numbers::<Float32Type>(py, arrays),
        DataType::Float64 => numbers::<Float64Type>(py, arrays),
        DataType::LargeUtf8 => {
            let names = arrays.iter().flat_map(AsArray::as_string::<i64>);
            PyList::new(py, names.collect::<Vec<Option<&str>>>())?.into_any()
        }
        other => return Err(PyTypeError::new_err(format!("a column of {other}"))),
    };
    Ok((values, mask))
}

fn numbers<'py, T>(py: Python<'py>, arrays: &[ArrayRef]) -> Bound<'py, PyAny>
where
    T: ArrowPrimitiveType,
    T::Native: Element,
{
    let mut values = Vec::with_capacity(arrays.iter().map(Array::len).sum());
    for array in arrays {
        values.extend_from_slice(array.as_primitive::<T>().values());
    }
    PyArray1::from_vec(py, values).into_any()
}
