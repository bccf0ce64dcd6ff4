//! A column of a table that says of each edge whether it is directed ([`crate::direction`]): texts,
//! truth values or integers.

use std::borrow::Cow;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Schema};

use super::gather::Values;
use super::picked::Picked;
use super::whole_numbers::wholes;
use crate::direction::{Direction, is_called};
use crate::error::InputError;
use crate::options::ReadOptions;

/// Rows by which it is known whether a column says directions, as many as of a sample of text.
pub(crate) const SAMPLE_ROWS: usize = 2000;

/// The place of a column that may say directions, unless the user says what edges are.
pub(super) fn candidate(schema: &Schema, picked: &Picked, options: &ReadOptions) -> Option<usize> {
    let used = [Some(picked.source), Some(picked.target), picked.weight];
    let fits = |place: &usize| {
        let field = schema.field(*place);
        let kind = match field.data_type() {
            DataType::Dictionary(_, value) => value,
            kind => kind,
        };
        let is_supported = kind.is_string() || kind.is_integer() || *kind == DataType::Boolean;
        is_supported && is_called(field.name()) && !used.contains(&Some(*place))
    };
    let free = options.undirected.is_none();
    (0..picked.stored.min(schema.fields().len())).filter(|_| free).find(fits)
}

/// The direction that the first rows of a column say, if they say one.
///
/// # Errors
/// The difference, where these rows differ.
pub(crate) fn find(
    file: &str,
    schema: &Schema,
    place: usize,
    array: &dyn Array,
) -> Result<Option<Direction>, InputError> {
    let rows = array.slice(0, array.len().min(SAMPLE_ROWS));
    let cells: Vec<Cow<'_, [u8]>> = match text(&rows) {
        Some(text) => (0..rows.len()).map(text).collect(),
        None => return Ok(None),
    };
    let cells = cells.iter().map(|cell| &cell[..]);
    let found = Direction::of(place, schema.field(place).name(), cells);
    found.map_err(|what| InputError::content(file, what))
}

/// Refuses rows of the column that say otherwise than the first ones; `before`: rows of the file
/// before these.
pub(crate) fn check(
    file: &str,
    direction: &Direction,
    array: &dyn Array,
    before: u64,
) -> Result<(), InputError> {
    let Some(text) = text(array) else { return Ok(()) };
    (0..array.len()).try_for_each(|row| {
        direction.check(&text(row)).map_err(|what| {
            let row = before + row as u64 + 1;
            InputError::Row { file: file.to_owned(), row, what }
        })
    })
}

/// The text of a row; a null has none.
type Text<'a> = Box<dyn Fn(usize) -> Cow<'a, [u8]> + 'a>;

/// The values of an array as texts, if it is of a type that can say directions.
fn text(array: &dyn Array) -> Option<Text<'_>> {
    if let Some(coded) = array.as_any_dictionary_opt() {
        let values = coded.values().as_ref();
        let of_value = if values.is_empty() { None } else { Some(text(values)?) };
        let keys = coded.normalized_keys();
        return Some(Box::new(move |row| match &of_value {
            Some(of_value) if array.is_valid(row) => of_value(keys[row]),
            _ => Cow::Borrowed(b""),
        }));
    }
    if let Some(values) = Values::of(array) {
        return Some(Box::new(move |row| {
            if array.is_valid(row) { Cow::Borrowed(values.get(row)) } else { Cow::Borrowed(b"") }
        }));
    }
    if let Some(truths) = array.as_boolean_opt() {
        return Some(Box::new(move |row| {
            let truth: &[u8] = if truths.value(row) { b"true" } else { b"false" };
            if array.is_valid(row) { Cow::Borrowed(truth) } else { Cow::Borrowed(b"") }
        }));
    }
    let numbers = wholes(array)?;
    Some(Box::new(move |row| {
        let text = numbers(row).map(|number| number.to_string().into_bytes()).unwrap_or_default();
        if array.is_valid(row) { Cow::Owned(text) } else { Cow::Borrowed(b"") }
    }))
}
