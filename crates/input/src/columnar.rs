//! From columns of Arrow arrays to parts: what Parquet and Arrow IPC share.
//!
//! Ids are integers of any width, or strings (bytes that are UTF-8 will do), plain or by
//! dictionary. Nulls, negative ids and empty names are errors with their row; no other type is
//! read.

mod gather;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::{DataType, Schema};

use crate::columns::{self, Holds};
use crate::error::InputError;
use crate::options::{IdKind, Limits, ReadOptions, WeightBounds};

pub(crate) use gather::Gather;

/// Rows decoded at once: two columns of 64-bit ids take a MiB.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Rows of a part, 8 MiB of pairs.
pub(crate) const PART_ROWS: usize = 1 << 20;

/// The columns to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Picked {
    /// Places in the schema, counted from 0.
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) weight: Option<usize>,
    /// Whether ids are names.
    pub(crate) names: bool,
    /// Which weights may come.
    pub(crate) bounds: WeightBounds,
}

impl Picked {
    /// The places of all columns that are read, ascending and distinct.
    pub(crate) fn places(&self) -> Vec<usize> {
        let mut places = vec![self.source, self.target];
        places.extend(self.weight);
        places.sort_unstable();
        places.dedup();
        places
    }

    /// The same columns in a table that holds only [`Picked::places`].
    pub(crate) fn projected(&self) -> Self {
        let places = self.places();
        let place = |old: usize| places.partition_point(|other| *other < old);
        Self {
            source: place(self.source),
            target: place(self.target),
            weight: self.weight.map(place),
            ..*self
        }
    }
}

/// Picks the columns of a schema, and refuses those of a wrong type.
pub(crate) fn pick(
    file: &str,
    schema: &Schema,
    options: &ReadOptions,
) -> Result<Picked, InputError> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let holds: Vec<Holds> = schema.fields().iter().map(|field| holds(field.data_type())).collect();
    let columns::Columns { source, target, weight } =
        columns::by_type(file, &names, &holds, options)?;
    let wrong = |place: usize, expected: &str| {
        let field = schema.field(place);
        let what = format!(
            "expected {expected} in the column \"{}\", found the type {}",
            field.name(),
            shortened(field.data_type())
        );
        InputError::content(file, what)
    };
    let mut has_names = options.ids == IdKind::Names;
    for place in [source, target] {
        match IdType::of(schema.field(place).data_type()) {
            Some(IdType::Integer) => {}
            Some(IdType::Name) if options.ids != IdKind::Integers => has_names = true,
            Some(IdType::Name) => return Err(wrong(place, "integers")),
            None => return Err(wrong(place, "integers or strings")),
        }
    }
    if let Some(place) = weight.filter(|place| !is_number(schema.field(*place).data_type())) {
        return Err(wrong(place, "numbers"));
    }
    Ok(Picked { source, target, weight, names: has_names, bounds: options.bounds() })
}

/// What a column of a type holds.
fn holds(kind: &DataType) -> Holds {
    match (IdType::of(kind), is_number(kind)) {
        (Some(IdType::Integer), _) => Holds::Integers,
        (Some(IdType::Name), _) => Holds::Names,
        (None, true) => Holds::Floats,
        (None, false) => Holds::Unknown,
    }
}

/// Bytes that a row takes at least: an id of one byte in each of two columns.
const ROW_BYTES_MIN: u64 = 2;

/// Refuses a stated number of rows that a file of so many bytes cannot hold, whatever it is packed
/// with.
pub(crate) fn plausible_rows(
    file: &str,
    rows: u64,
    stored_bytes: u64,
    limits: &Limits,
) -> Result<u64, InputError> {
    let bytes = stored_bytes.saturating_mul(limits.ratio_max).max(limits.ratio_free_bytes);
    let most = bytes / ROW_BYTES_MIN;
    if rows <= most {
        return Ok(rows);
    }
    let what = format!(
        "expected a number of rows that a file of this size can hold (at most {most}), found {rows}"
    );
    Err(InputError::content(file, what))
}

/// What a column of ids can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdType {
    Integer,
    Name,
}

impl IdType {
    fn of(kind: &DataType) -> Option<Self> {
        match kind {
            DataType::Dictionary(_, value) => match **value {
                DataType::Dictionary(..) => None,
                ref value => Self::of(value),
            },
            kind if kind.is_integer() => Some(Self::Integer),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView => Some(Self::Name),
            _ => None,
        }
    }
}

fn is_number(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64)
}

/// A type as it is shown; nested ones can be very long.
fn shortened(kind: &DataType) -> String {
    let text = kind.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The fence around foreign decoders. They check what they are given, but not everything, and stop
/// with a panic where their arithmetic ends; such a file is as damaged as one that they refuse.
pub(crate) fn fenced<T>(
    file: &str,
    decode: impl FnOnce() -> Result<T, InputError>,
) -> Result<T, InputError> {
    catch_unwind(AssertUnwindSafe(decode)).unwrap_or_else(|panic| {
        let reason = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("it cannot be decoded");
        Err(InputError::content(file, format!("the file is damaged: {reason}")))
    })
}
