//! From columns of Arrow arrays to parts: what Parquet and Arrow IPC share.
//!
//! Ids are integers of any width, decimals and floats that are whole ([`whole_numbers`]), strings
//! (bytes that are UTF-8 will do), plain or by dictionary, or fixed-size bytes such as UUIDs.
//! Weights are numbers of any type. Nulls, fractions in ids and empty names are errors with their
//! row; no other type is read.

pub(crate) mod direction;
mod gather;
mod partition;
mod picked;
mod whole_numbers;

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_schema::{DataType, Schema};

use crate::collect::Collector;
use crate::columns::{self, Holds};
use crate::direction::Direction;
use crate::error::InputError;
use crate::options::{IdKind, Limits, ReadOptions};
use crate::reading::FileSummary;

pub(crate) use gather::{Gather, has_negative};
pub(crate) use partition::PathColumns;
pub(crate) use picked::Picked;

/// Rows decoded at once: two columns of 64-bit ids take a MiB.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// Rows of a part, 8 MiB of pairs.
pub(crate) const PART_ROWS: usize = 1 << 20;

/// Picks the columns of a schema, and refuses those of a wrong type.
pub(crate) fn pick(
    file: &str,
    schema: &Schema,
    options: &ReadOptions,
) -> Result<Picked, InputError> {
    pick_before(file, schema, schema.fields().len(), options)
}

/// Picks the columns of a table and of its path, which is made part of the schema.
pub(crate) fn pick_with_path(
    file: &str,
    schema: &mut Schema,
    path: &mut PathColumns,
    options: &ReadOptions,
) -> Result<Picked, InputError> {
    let stored = schema.fields().len();
    *schema = path.beside(schema);
    let picked = pick_before(file, schema, stored, options)?;
    path.check(file, schema, &picked, options)?;
    Ok(picked)
}

/// Picks columns, of which `stored` are those of the table itself: of the others nothing is guessed
/// but by their names.
fn pick_before(
    file: &str,
    schema: &Schema,
    stored: usize,
    options: &ReadOptions,
) -> Result<Picked, InputError> {
    if schema.fields().is_empty() {
        let what = "expected a source and a target column, found a table without columns";
        return Err(InputError::content(file, what));
    }
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let holds = schema.fields().iter().enumerate().map(|(place, field)| {
        if place < stored { holds(field.data_type()) } else { Holds::Unknown }
    });
    let holds: Vec<Holds> = holds.collect();
    let columns::Columns { source, target, weight } =
        columns::by_type(file, &names, &holds, options)?;
    let wrong = |place: usize, expected: &str| {
        let field = schema.field(place);
        let what = format!(
            "expected {expected} in the column \"{}\", found the type {} (write it as such, or say \
             another column)",
            field.name(),
            shortened(field.data_type())
        );
        InputError::content(file, what)
    };
    // An integer in a path is a string as well.
    let stands_in_path =
        |place: usize| place >= stored && schema.field(place).data_type().is_integer();
    if ![source, target].into_iter().any(stands_in_path) {
        unlike(file, schema, [source, target], options)?;
    }
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
    let (names, bounds, direction) = (has_names, options.bounds(), None);
    let picked = Picked { source, target, weight, direction, names, bounds, stored };
    Ok(Picked { direction: direction::candidate(schema, &picked, options), ..picked })
}

/// Refuses ends of different types, which are no ids of one kind, unless the user says what they
/// are.
fn unlike(
    file: &str,
    schema: &Schema,
    ends: [usize; 2],
    options: &ReadOptions,
) -> Result<(), InputError> {
    let [source, target] = ends.map(|place| schema.field(place));
    let [one, other] = [source, target].map(|field| IdType::of(field.data_type()));
    let is_stated = options.ids != IdKind::Auto && !options.guessed_ids;
    if is_stated || one.is_none() || other.is_none() || one == other {
        return Ok(());
    }
    let what = format!(
        "expected two columns of ids of one kind, found \"{}\" of type {} and \"{}\" of type {} \
         (say other columns; --ids strings takes both as they are)",
        source.name(),
        shortened(source.data_type()),
        target.name(),
        shortened(target.data_type()),
    );
    Err(InputError::content(file, what))
}

/// Says which columns are read, and how where it is not plain.
pub(crate) fn describe(
    collector: &Collector,
    schema: &Schema,
    picked: &Picked,
    options: &ReadOptions,
) {
    collector.describe(|file| summarize(file, schema, picked));
    if let Some(note) = one_kind_note(schema, picked, options) {
        collector.note(&note);
    }
    for place in [picked.source, picked.target] {
        let field = schema.field(place);
        if let DataType::FixedSizeBinary(bytes) = field.data_type() {
            collector.note(&whole_numbers::fixed_note(field.name(), *bytes));
        }
    }
}

/// Note for a person where ends seem to be two kinds of vertices.
pub(crate) fn one_kind_note(
    schema: &Schema,
    picked: &Picked,
    options: &ReadOptions,
) -> Option<String> {
    let ends = [picked.source, picked.target].map(|place| schema.field(place).name().as_str());
    let ids = if picked.names { IdKind::Names } else { IdKind::Integers };
    columns::kinds::one_kind_note(ends, ids, options)
}

/// Takes over what a column says of directions.
pub(crate) fn state(collector: &Collector, direction: Option<&Direction>) {
    if let Some(direction) = direction {
        collector.state_undirected(direction.undirected);
        collector.note(&direction.note());
    }
}

/// The columns of a table, as its summary has them.
pub(crate) fn summarize(file: &mut FileSummary, schema: &Schema, picked: &Picked) {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    file.columns((picked.source, picked.target, picked.weight), &names);
    file.ids = if picked.names { IdKind::Names } else { IdKind::Integers };
}

/// Content of a column of a type.
fn holds(kind: &DataType) -> Holds {
    match (IdType::of(kind), is_number(kind)) {
        (Some(IdType::Integer), true) if !kind.is_integer() && !is_whole(kind) => Holds::Floats,
        (Some(IdType::Integer), _) => Holds::Integers,
        (Some(IdType::Name), _) => Holds::Names,
        (None, true) => Holds::Floats,
        (None, false) => Holds::Unknown,
    }
}

/// Bytes that a row takes at least: an id of one byte in each of two columns.
const ROW_BYTES_MIN: u64 = 2;

/// Refuses a stated number of rows that a file of `stored_bytes` bytes cannot hold, whatever it is
/// packed with.
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

/// Type of ids that a column can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdType {
    Integer,
    Name,
}

impl IdType {
    fn of(kind: &DataType) -> Option<Self> {
        match kind {
            DataType::Dictionary(_, value) => match **value {
                DataType::Dictionary(..) | DataType::FixedSizeBinary(_) => None,
                ref value => Self::of(value),
            },
            kind if kind.is_integer() || kind.is_floating() => Some(Self::Integer),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => (*scale >= 0).then_some(Self::Integer),
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(1..) => Some(Self::Name),
            _ => None,
        }
    }
}

fn is_number(kind: &DataType) -> bool {
    kind.is_numeric()
}

/// Whether a type has decimals without fractions.
fn is_whole(kind: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(kind, Decimal32(_, 0) | Decimal64(_, 0) | Decimal128(_, 0) | Decimal256(_, 0))
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
