//! Rows of Arrow arrays, gathered into a part.

use std::fmt::Display;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, PrimitiveArray};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;
use welter_model::edges::{Batch, Pair};

use super::whole_numbers::{fixed_name, numbers, wholes};
use crate::collect::{EdgeRun, Ids};
use crate::error::InputError;
use crate::options::WeightBounds;
use crate::text::Dictionary;

/// Edges gathered so far.
pub(crate) struct Gather {
    ids: EdgeColumns,
    weights: Option<Vec<f64>>,
    /// Bounds of the weights that are allowed.
    bounds: WeightBounds,
    /// Rows before the next array, in the whole file.
    row: u64,
    sources: Vec<u64>,
    targets: Vec<u64>,
}

enum EdgeColumns {
    Narrow { pairs: Vec<Pair>, max: u32 },
    Wide { pairs: Vec<[u64; 2]>, max: u64 },
    Names { dictionary: Dictionary, pairs: Vec<Pair> },
}

/// Error in a row of an array, counted from 0.
struct BadRow {
    row: usize,
    what: String,
}

impl Gather {
    /// An empty gathering; `row`: how many rows of the file come before.
    pub(crate) fn new(names: bool, weighted: bool, row: u64) -> Self {
        let ids = if names {
            EdgeColumns::Names { dictionary: Dictionary::default(), pairs: Vec::new() }
        } else {
            EdgeColumns::Narrow { pairs: Vec::new(), max: 0 }
        };
        let weights = weighted.then(Vec::new);
        Self {
            ids,
            weights,
            bounds: WeightBounds::default(),
            row,
            sources: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// A gatherer of weights that must keep within bounds.
    pub(crate) fn with_bounds(self, bounds: WeightBounds) -> Self {
        Self { bounds, ..self }
    }

    /// Rows of the file before the next array.
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    /// Makes room for `rows` rows, which must be known to exist.
    pub(crate) fn reserve(&mut self, rows: usize) {
        match &mut self.ids {
            EdgeColumns::Narrow { pairs, .. } | EdgeColumns::Names { pairs, .. } => {
                pairs.reserve_exact(rows);
            }
            EdgeColumns::Wide { pairs, .. } => pairs.reserve_exact(rows),
        }
        if let Some(weights) = &mut self.weights {
            weights.reserve_exact(rows);
        }
    }

    /// Appends rows. The arrays are equally long, and of types that [`super::pick`] let pass.
    pub(crate) fn push(
        &mut self,
        file: &str,
        source: &dyn Array,
        target: &dyn Array,
        weight: Option<&dyn Array>,
    ) -> Result<(), InputError> {
        let first = self.row;
        let ids = self.rows(source, target);
        let weights = match (&mut self.weights, weight) {
            (Some(weights), Some(weight)) => {
                let before = weights.len();
                let extended = extend_weights(weights, weight);
                earlier(extended, within(self.bounds, &weights[before..]))
            }
            _ => Ok(()),
        };
        earlier(ids, weights).map_err(|BadRow { row, what }| {
            let row = first + row as u64 + 1;
            InputError::Row { file: file.to_owned(), row, what }
        })?;
        self.row += source.len() as u64;
        Ok(())
    }

    fn rows(&mut self, source: &dyn Array, target: &dyn Array) -> Result<(), BadRow> {
        let Self { sources, targets, .. } = self;
        sources.clear();
        targets.clear();
        if let EdgeColumns::Names { dictionary, pairs } = &mut self.ids {
            earlier(names(source, dictionary, sources), names(target, dictionary, targets))?;
            let rows = sources.iter().zip(&*targets);
            pairs.extend(rows.map(|(source, target)| [*source as u32, *target as u32]));
            return Ok(());
        }
        if let EdgeColumns::Narrow { pairs, max } = &mut self.ids
            && let Some(largest) = narrow_pairs(source, target, pairs)
        {
            *max = largest.max(*max);
            return Ok(());
        }
        earlier(integers(source, sources), integers(target, targets))?;
        let largest = |ids: &[u64]| ids.iter().fold(0, |max, id| *id.max(&max));
        let largest = largest(sources).max(largest(targets));
        self.extend_integers(largest);
        Ok(())
    }

    fn extend_integers(&mut self, largest: u64) {
        let rows = self.sources.iter().zip(&self.targets);
        match (&mut self.ids, u32::try_from(largest)) {
            (EdgeColumns::Narrow { pairs, max }, Ok(largest)) => {
                *max = largest.max(*max);
                pairs.extend(rows.map(|(source, target)| [*source as u32, *target as u32]));
            }
            (EdgeColumns::Narrow { pairs, max }, Err(_)) => {
                let mut wide = Vec::with_capacity(pairs.capacity());
                wide.extend(pairs.iter().map(|pair| pair.map(u64::from)));
                self.ids = EdgeColumns::Wide { pairs: wide, max: (*max).into() };
                self.extend_integers(largest);
            }
            (EdgeColumns::Wide { pairs, max }, _) => {
                *max = largest.max(*max);
                pairs.extend(rows.map(|(source, target)| [*source, *target]));
            }
            (EdgeColumns::Names { .. }, _) => {}
        }
    }

    /// Begins anew, with what memory there is: `row` rows of the file come before.
    pub(crate) fn restart(&mut self, row: u64) {
        self.row = row;
        match &mut self.ids {
            EdgeColumns::Narrow { pairs, max } => {
                pairs.clear();
                *max = 0;
            }
            // Rows that come now may be narrow.
            EdgeColumns::Wide { .. } => {
                self.ids = EdgeColumns::Narrow { pairs: Vec::new(), max: 0 }
            }
            EdgeColumns::Names { dictionary, pairs } => {
                *dictionary = Dictionary::default();
                pairs.clear();
            }
        }
        if let Some(weights) = &mut self.weights {
            weights.clear();
        }
    }

    /// Whether it gathers such rows.
    pub(crate) fn is_like(&self, names: bool, weighted: bool) -> bool {
        names == matches!(self.ids, EdgeColumns::Names { .. }) && weighted == self.weights.is_some()
    }

    /// The largest id, of integers.
    pub(crate) fn largest(&self) -> u64 {
        match &self.ids {
            EdgeColumns::Narrow { max, .. } => (*max).into(),
            EdgeColumns::Wide { max, .. } => *max,
            EdgeColumns::Names { .. } => 0,
        }
    }

    /// The rows as pairs, where these are integers of 32 bits.
    pub(crate) fn narrow(&self) -> Option<Batch<'_>> {
        let EdgeColumns::Narrow { pairs, .. } = &self.ids else { return None };
        Some(Batch { pairs, weights: self.weights.as_deref() })
    }

    /// Hands the rows over.
    pub(crate) fn into_part(self) -> EdgeRun {
        let ids = match self.ids {
            EdgeColumns::Narrow { pairs, max } => Ids::Narrow { pairs, max },
            EdgeColumns::Wide { pairs, max } => Ids::Wide { pairs, max },
            EdgeColumns::Names { dictionary, pairs } => {
                Ids::Names { names: dictionary.into_names(), pairs }
            }
        };
        EdgeRun { ids, weights: self.weights }
    }
}

/// The failure of the earlier row, if any; the first of two of the same row.
fn earlier(one: Result<(), BadRow>, other: Result<(), BadRow>) -> Result<(), BadRow> {
    match (one, other) {
        (Err(one), Err(other)) if other.row < one.row => Err(other),
        (one, other) => one.and(other),
    }
}

/// Refuses the first null of an array.
fn no_nulls(array: &dyn Array, expected: &str) -> Result<(), BadRow> {
    match array.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        None => Ok(()),
        Some(nulls) => {
            let row = nulls.iter().position(|valid| !valid).unwrap_or(0);
            Err(BadRow { row, what: format!("expected {expected}, found a null") })
        }
    }
}

/// Evaluates an expression with the type of an integer array.
macro_rules! by_integer_type {
    ($array:expr, $kind:ident => $body:expr) => {
        match $array.data_type() {
            DataType::Int8 => by_integer_type!(@ $kind, Int8Type, $body),
            DataType::Int16 => by_integer_type!(@ $kind, Int16Type, $body),
            DataType::Int32 => by_integer_type!(@ $kind, Int32Type, $body),
            DataType::Int64 => by_integer_type!(@ $kind, Int64Type, $body),
            DataType::UInt8 => by_integer_type!(@ $kind, UInt8Type, $body),
            DataType::UInt16 => by_integer_type!(@ $kind, UInt16Type, $body),
            DataType::UInt32 => by_integer_type!(@ $kind, UInt32Type, $body),
            DataType::UInt64 => by_integer_type!(@ $kind, UInt64Type, $body),
            other => Err(BadRow { row: 0, what: format!("expected integers, found {other}") }),
        }
    };
    (@ $kind:ident, $type:ident, $body:expr) => {{
        type $kind = $type;
        $body
    }};
}

/// Appends pairs of two columns of the same integer type, at once and not by way of 64 bits, and
/// returns the largest id. `None`, with nothing appended, where types differ or a row needs a
/// closer look: a null, a negative id, or one of more than 32 bits.
fn narrow_pairs(source: &dyn Array, target: &dyn Array, pairs: &mut Vec<Pair>) -> Option<u32> {
    if source.data_type() != target.data_type() || source.null_count() + target.null_count() > 0 {
        return None;
    }
    let appended: Result<Option<u32>, BadRow> = by_integer_type!(source, Kind => {
        let (sources, targets) = (source.as_primitive::<Kind>(), target.as_primitive::<Kind>());
        Ok(append_narrow(sources.values(), targets.values(), pairs))
    });
    appended.ok().flatten()
}

fn append_narrow<T: ArrowNativeType>(
    sources: &[T],
    targets: &[T],
    pairs: &mut Vec<Pair>,
) -> Option<u32> {
    // Sign bits are extended, so a negative id has high bits too.
    let bits = |ids: &[T]| ids.iter().fold(0, |bits, id| bits | id.as_usize());
    u32::try_from(bits(sources) | bits(targets)).ok()?;
    let largest = |ids: &[T]| ids.iter().fold(0, |max, id| max.max(id.as_usize() as u32));
    let rows = sources.iter().zip(targets);
    pairs.extend(rows.map(|(source, target)| [source.as_usize() as u32, target.as_usize() as u32]));
    Some(largest(sources).max(largest(targets)))
}

/// Appends integer ids.
fn integers(array: &dyn Array, ids: &mut Vec<u64>) -> Result<(), BadRow> {
    earlier(no_nulls(array, "a vertex id"), values_or_coded(array, ids))
}

fn values_or_coded(array: &dyn Array, ids: &mut Vec<u64>) -> Result<(), BadRow> {
    if array.data_type().is_integer() {
        return by_integer_type!(array, Kind => extend_ids::<Kind>(array.as_primitive(), ids));
    }
    each_whole(array, &mut |row, value| {
        ids.push(u64::try_from(value).map_err(|_| no_id(row, value))?);
        Ok(())
    })
}

/// Visits the integers that the values of an array are.
fn each_whole(
    array: &dyn Array,
    visit: &mut dyn FnMut(usize, i128) -> Result<(), BadRow>,
) -> Result<(), BadRow> {
    let Some(whole) = wholes(array) else {
        let what = format!("expected ids, found {}", array.data_type());
        return Err(BadRow { row: 0, what });
    };
    (0..array.len()).try_for_each(|row| {
        let value = whole(row).map_err(|what| BadRow { row, what })?;
        visit(row, value)
    })
}

fn extend_ids<T>(array: &PrimitiveArray<T>, ids: &mut Vec<u64>) -> Result<(), BadRow>
where
    T: ArrowPrimitiveType,
    T::Native: TryInto<u64> + Display,
{
    for (row, value) in array.values().iter().enumerate() {
        ids.push((*value).try_into().map_err(|_| no_id(row, value))?);
    }
    Ok(())
}

/// The values of an integer array, nulls included.
fn wide_values(array: &dyn Array) -> Result<Vec<i128>, BadRow> {
    by_integer_type!(array, Kind => {
        Ok(array.as_primitive::<Kind>().values().iter().map(|value| (*value).into()).collect())
    })
}

/// The error about an integer that does not fit in 64 bits without a sign.
fn no_id(row: usize, value: impl Display) -> BadRow {
    let what = format!(
        "expected a vertex id from 0 to 2^64 - 1, found {value} (--ids strings takes ids as they \
         are)"
    );
    BadRow { row, what }
}

/// Appends the places of names, each of which the dictionary then holds.
fn names(
    array: &dyn Array,
    dictionary: &mut Dictionary,
    places: &mut Vec<u64>,
) -> Result<(), BadRow> {
    earlier(no_nulls(array, "a vertex name"), add_names(array, dictionary, places))
}

fn add_names(
    array: &dyn Array,
    dictionary: &mut Dictionary,
    places: &mut Vec<u64>,
) -> Result<(), BadRow> {
    if let Some(coded) = array.as_any_dictionary_opt()
        && let Some(values) = Values::of(coded.values())
    {
        if coded.values().is_empty() {
            return Ok(());
        }
        return add_coded(&coded.normalized_keys(), &values, dictionary, places);
    }
    let mut add = |row: usize, name: &[u8]| match dictionary.place(name) {
        Ok(place) => {
            places.push(place.into());
            Ok(())
        }
        Err(what) => Err(BadRow { row, what }),
    };
    if let Some(values) = Values::of(array) {
        return (0..array.len()).try_for_each(|row| add(row, values.get(row)));
    }
    if let Some(fixed) = array.as_fixed_size_binary_opt() {
        let mut rows = 0..array.len();
        return rows.try_for_each(|row| add(row, fixed_name(fixed.value(row)).as_bytes()));
    }
    // Integers, where the other column or the user wants names.
    each_whole(array, &mut |row, id| add(row, id.to_string().as_bytes()))
}

/// Appends the places of names by their keys. Each name is looked up once in a batch.
fn add_coded(
    keys: &[usize],
    values: &Values<'_>,
    dictionary: &mut Dictionary,
    places: &mut Vec<u64>,
) -> Result<(), BadRow> {
    let mut known: Vec<Option<u32>> = vec![None; keys.iter().max().map_or(0, |key| key + 1)];
    for (row, key) in keys.iter().enumerate() {
        let place = if let Some(place) = known[*key] {
            place
        } else {
            let place = dictionary.place(values.get(*key));
            *known[*key].insert(place.map_err(|what| BadRow { row, what })?)
        };
        places.push(place.into());
    }
    Ok(())
}

/// An array of strings, or of bytes that should be.
pub(super) enum Values<'a> {
    Short(&'a arrow_array::StringArray),
    Long(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    ShortBytes(&'a arrow_array::BinaryArray),
    LongBytes(&'a arrow_array::LargeBinaryArray),
    ViewBytes(&'a arrow_array::BinaryViewArray),
}

impl<'a> Values<'a> {
    pub(super) fn of(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Utf8 => Some(Self::Short(array.as_string())),
            DataType::LargeUtf8 => Some(Self::Long(array.as_string())),
            DataType::Utf8View => Some(Self::View(array.as_string_view())),
            DataType::Binary => Some(Self::ShortBytes(array.as_binary())),
            DataType::LargeBinary => Some(Self::LongBytes(array.as_binary())),
            DataType::BinaryView => Some(Self::ViewBytes(array.as_binary_view())),
            _ => None,
        }
    }

    pub(super) fn get(&self, index: usize) -> &'a [u8] {
        match self {
            Self::Short(array) => array.value(index).as_bytes(),
            Self::Long(array) => array.value(index).as_bytes(),
            Self::View(array) => array.value(index).as_bytes(),
            Self::ShortBytes(array) => array.value(index),
            Self::LongBytes(array) => array.value(index),
            Self::ViewBytes(array) => array.value(index),
        }
    }
}

/// Refuses weights beyond bounds.
fn within(bounds: WeightBounds, weights: &[f64]) -> Result<(), BadRow> {
    let Some(row) = weights.iter().position(|weight| !bounds.hold(*weight)) else { return Ok(()) };
    bounds.check(weights[row], &weights[row]).map_err(|what| BadRow { row, what })
}

/// Appends weights.
fn extend_weights(weights: &mut Vec<f64>, array: &dyn Array) -> Result<(), BadRow> {
    earlier(no_nulls(array, "a weight"), add_weights(weights, array))
}

fn add_weights(weights: &mut Vec<f64>, array: &dyn Array) -> Result<(), BadRow> {
    if let Some(number) = numbers(array) {
        weights.extend((0..array.len()).map(number));
        return Ok(());
    }
    match array.data_type() {
        DataType::Float64 => extend_floats(weights, array.as_primitive::<Float64Type>()),
        DataType::Float32 => extend_floats(weights, array.as_primitive::<Float32Type>()),
        _ => {
            weights.extend(wide_values(array)?.into_iter().map(|value| value as f64));
            Ok(())
        }
    }
}

fn extend_floats<T>(weights: &mut Vec<f64>, array: &PrimitiveArray<T>) -> Result<(), BadRow>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    for (row, value) in array.values().iter().enumerate() {
        let value: f64 = (*value).into();
        if value.is_nan() {
            let what = "expected a weight, found a NaN (not a number)".to_owned();
            return Err(BadRow { row, what });
        }
        weights.push(value);
    }
    Ok(())
}

/// Whether an integer of an array with signs is below 0.
pub(crate) fn has_negative(array: &dyn Array) -> bool {
    match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().values().iter().any(|id| *id < 0),
        DataType::Int16 => array.as_primitive::<Int16Type>().values().iter().any(|id| *id < 0),
        DataType::Int32 => array.as_primitive::<Int32Type>().values().iter().any(|id| *id < 0),
        DataType::Int64 => array.as_primitive::<Int64Type>().values().iter().any(|id| *id < 0),
        _ => false,
    }
}
