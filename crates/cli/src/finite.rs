//! The last look at numbers before they are a result: what is no number is never written.
//!
//! Weights are finite where they are added up, but their sums, products and inverses may leave the
//! range of floats. Such a result is refused, and the vertex is named.

use std::fmt::Display;

use welter_model::table::{ColumnData, Columns, Id, VertexColumn};
use welter_progress::FailureKind;

use crate::failure::{Failure, printable};
use crate::parts::for_parts;
use crate::preview::Top;

/// Refuses results that are no numbers, or are beyond those that floats hold. Infinity is a result
/// only where it stands for what was not reached.
pub(crate) fn check(
    columns: &dyn Columns,
    vertices: &VertexColumn,
    top: Top,
) -> Result<(), Failure> {
    let heads = columns.part(0..0).map_err(Failure::read)?;
    let is_float = |data: &ColumnData| matches!(data, ColumnData::F32(_) | ColumnData::F64(_));
    if !heads.iter().any(|column| is_float(&column.data)) {
        return Ok(());
    }
    let is_list = columns.listed().is_some();
    let rows = columns.listed().unwrap_or(vertices.len());
    let mut wrong = None;
    for_parts(columns, rows, |first, part| {
        for column in part {
            let found = match &column.data {
                ColumnData::F32(values) => {
                    find(values.iter().map(|value| (f64::from(*value), f64::from(f32::MAX))), top)
                }
                ColumnData::F64(values) => find(values.iter().map(|value| (*value, f64::MAX)), top),
                _ => None,
            };
            let found = found.map(|(row, value)| (first + row, value, column.name));
            wrong = wrong.take().or(found);
        }
    })?;
    let Some((row, value, name)) = wrong else { return Ok(()) };
    let place = if is_list {
        format!("row {}", row + 1)
    } else {
        format!("vertex {}", named(vertices, row))
    };
    let found =
        if value.is_finite() { "a number beyond these".to_owned() } else { value.to_string() };
    let what = format!("the {name} of {place}: expected a number that floats hold, found {found}");
    let hint = "weights, or their sums, are too large or too small; divide them all by the same \
                number";
    Err(Failure::new(FailureKind::Input, what).hint(hint))
}

/// The place of the first value that is no result, with what it is. The largest float stands for
/// sums that went beyond.
fn find(values: impl Iterator<Item = (f64, f64)>, top: Top) -> Option<(usize, f64)> {
    let far = top == Top::Farthest;
    let is_wrong = |(value, most): (f64, f64)| {
        value.is_nan()
            || (value.is_infinite() && !far)
            || (far && value >= most && value.is_finite())
    };
    values.enumerate().find(|(_, value)| is_wrong(*value)).map(|(row, (value, _))| (row, value))
}

/// The id of a row, for people.
pub(crate) fn named(vertices: &VertexColumn, row: usize) -> impl Display + use<> {
    match vertices.get(row) {
        Id::Integer(id) => id.to_string(),
        Id::Name(name) => printable(name),
        Id::Others(_) => "without edges".to_owned(),
    }
}
