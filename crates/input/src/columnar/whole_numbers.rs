//! Values of other types than integers, as ids and weights: decimals, floats and fixed-size bytes.
//!
//! Databases export keys as decimals (Snowflake, Oracle, `DuckDB`), pandas turns integers beside
//! missing values into floats. Each value that is a whole number is that id; one with a fraction,
//! or a float so large that neighbours are rounded to it, is an error and never another id.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrowPrimitiveType, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::DataType;

/// The integer that the value of a row is, or what is wrong with it.
pub(super) type Wholes<'a> = Box<dyn Fn(usize) -> Result<i128, String> + 'a>;

/// The number that the value of a row is.
pub(super) type Numbers<'a> = Box<dyn Fn(usize) -> f64 + 'a>;

/// Advice about ids that are none.
const WAY: &str = "write ids as integers or as strings";

/// Bytes of a UUID.
const UUID_BYTES: usize = 16;

/// The values of an array as integers; `None` where its type has none. Nulls are anything.
pub(super) fn wholes(array: &dyn Array) -> Option<Wholes<'_>> {
    Some(match array.data_type() {
        DataType::Int8 => integers::<Int8Type>(array),
        DataType::Int16 => integers::<Int16Type>(array),
        DataType::Int32 => integers::<Int32Type>(array),
        DataType::Int64 => integers::<Int64Type>(array),
        DataType::UInt8 => integers::<UInt8Type>(array),
        DataType::UInt16 => integers::<UInt16Type>(array),
        DataType::UInt32 => integers::<UInt32Type>(array),
        DataType::UInt64 => integers::<UInt64Type>(array),
        DataType::Float16 => floats::<Float16Type>(array, 11),
        DataType::Float32 => floats::<Float32Type>(array, 24),
        DataType::Float64 => floats::<Float64Type>(array, 53),
        DataType::Decimal32(_, scale) => {
            decimals(array.as_primitive::<Decimal32Type>(), *scale, |value| Some(value.into()))
        }
        DataType::Decimal64(_, scale) => {
            decimals(array.as_primitive::<Decimal64Type>(), *scale, |value| Some(value.into()))
        }
        DataType::Decimal128(_, scale) => {
            decimals(array.as_primitive::<Decimal128Type>(), *scale, Some)
        }
        DataType::Decimal256(_, scale) => {
            decimals(array.as_primitive::<Decimal256Type>(), *scale, i256::to_i128)
        }
        DataType::Dictionary(..) => {
            let coded = array.as_any_dictionary_opt()?;
            let values = wholes(coded.values())?;
            if coded.values().is_empty() {
                return Some(Box::new(|_| Err("expected a vertex id, found a null".to_owned())));
            }
            let keys = coded.normalized_keys();
            Box::new(move |row| values(keys[row]))
        }
        _ => return None,
    })
}

fn integers<T>(array: &dyn Array) -> Wholes<'_>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i128>,
{
    let array = array.as_primitive::<T>();
    Box::new(|row| Ok(array.value(row).into()))
}

/// Floats, which hold all integers of `bits` bits.
fn floats<T>(array: &dyn Array, bits: i32) -> Wholes<'_>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64>,
{
    let array = array.as_primitive::<T>();
    let beyond = f64::from(bits).exp2();
    Box::new(move |row| {
        let value: f64 = array.value(row).into();
        if !value.is_finite() {
            return Err(format!("expected a vertex id, found {value} ({WAY})"));
        }
        if value.fract() != 0.0 {
            let what = format!("expected a vertex id, found {value}, which has a fraction ({WAY})");
            return Err(what);
        }
        if value.abs() >= beyond {
            return Err(format!(
                "expected a vertex id below 2^{bits}, up to which floats of this type hold every \
                 integer, found {value} ({WAY})"
            ));
        }
        Ok(value as i128)
    })
}

fn decimals<T: DecimalType>(
    array: &PrimitiveArray<T>,
    scale: i8,
    narrow: fn(T::Native) -> Option<i128>,
) -> Wholes<'_> {
    // No value of 128 bits is a multiple of a larger power, but for 0.
    let unit = u32::try_from(scale).ok().and_then(|scale| 10_i128.checked_pow(scale));
    let unit = unit.unwrap_or(i128::MAX);
    Box::new(move |row| match narrow(array.value(row)) {
        Some(value) if value % unit == 0 => Ok(value / unit),
        Some(_) => Err(format!(
            "expected a vertex id, found {}, which has a fraction ({WAY})",
            array.value_as_string(row)
        )),
        None => Err(format!(
            "expected a vertex id below 2^64, found {} ({WAY})",
            array.value_as_string(row)
        )),
    })
}

/// The values of decimals and short floats as numbers; `None` for other types.
pub(super) fn numbers(array: &dyn Array) -> Option<Numbers<'_>> {
    Some(match array.data_type() {
        DataType::Float16 => {
            let array = array.as_primitive::<Float16Type>();
            Box::new(|row| array.value(row).into())
        }
        DataType::Decimal32(..) => decimal_numbers(array.as_primitive::<Decimal32Type>()),
        DataType::Decimal64(..) => decimal_numbers(array.as_primitive::<Decimal64Type>()),
        DataType::Decimal128(..) => decimal_numbers(array.as_primitive::<Decimal128Type>()),
        DataType::Decimal256(..) => decimal_numbers(array.as_primitive::<Decimal256Type>()),
        _ => return None,
    })
}

/// Decimals as the floats that are next to them: by way of their digits, which rounds once.
fn decimal_numbers<T: DecimalType>(array: &PrimitiveArray<T>) -> Numbers<'_> {
    Box::new(|row| array.value_as_string(row).parse().unwrap_or(f64::NAN))
}

/// Fixed-size bytes as a name: a UUID in its canonical form, others as hexadecimal digits.
pub(super) fn fixed_name(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut name = String::with_capacity(2 * bytes.len() + 4);
    for (place, byte) in bytes.iter().enumerate() {
        if bytes.len() == UUID_BYTES && matches!(place, 4 | 6 | 8 | 10) {
            name.push('-');
        }
        name.push(char::from(DIGITS[usize::from(byte >> 4)]));
        name.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    name
}

/// The note on fixed-size values of `bytes` bytes, which says how they are written as names.
pub(super) fn fixed_note(column: &str, bytes: i32) -> String {
    let form = if bytes == UUID_BYTES as i32 { "UUIDs" } else { "hexadecimal digits" };
    format!("the column \"{column}\" holds {bytes} bytes a row, and ids are these as {form}")
}
