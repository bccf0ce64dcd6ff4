//! Values of a column of a row group as Arrow arrays.
//!
//! Strings come as bytes, whose encoding is looked at where they become names; values of a null
//! are zero or empty.
//!
//! Invariant: a column of a batch has as many rows as were asked for (checked in `read`).

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, FixedSizeBinaryBuilder};
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, ArrowNativeTypeOp, BooleanArray, DictionaryArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{ArrowError, DataType};
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{AsBytes, DataType as Physical};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

use super::dictionary::{self, Behind};

/// A column of a row group that is read from its first row on.
pub(super) struct Column {
    reader: ColumnReader,
    kind: DataType,
    /// Definition level of a value that is there: 0 where there are no nulls.
    level: i16,
    /// Strings of which the integers that are read are places.
    dictionary: Option<ArrayRef>,
}

impl Column {
    /// A column of values of a type that [`super::types::schema`] gave it.
    pub(super) fn new(leaf: ColumnDescPtr, pages: Box<dyn PageReader>, kind: DataType) -> Self {
        let level = leaf.max_def_level();
        Self { reader: get_column_reader(leaf, pages), kind, level, dictionary: None }
    }

    /// A column of strings whose pages all refer to its dictionary, which comes first.
    pub(super) fn coded(
        leaf: &ColumnDescPtr,
        mut pages: Box<dyn PageReader>,
        kind: DataType,
    ) -> Result<Self> {
        let (values, count) = dictionary::values(&mut *pages)?;
        let values = Box::new(Behind::only(values));
        let mut values = Self::new(dictionary::strings(leaf)?, values, kind.clone());
        let dictionary = Some(values.next(count as usize)?);
        let places = Box::new(Behind::integers(count, pages));
        Ok(Self { dictionary, ..Self::new(dictionary::places(leaf)?, places, kind) })
    }

    /// The next rows.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let (kind, level) = (&self.kind, self.level);
        match &mut self.reader {
            ColumnReader::BoolColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &false)?;
                Ok(Arc::new(BooleanArray::new(values.into(), nulls)))
            }
            ColumnReader::Int32ColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &0)?;
                if let Some(dictionary) = &self.dictionary {
                    let places = PrimitiveArray::<Int32Type>::new(values.into(), nulls);
                    let coded = DictionaryArray::try_new(places, Arc::clone(dictionary));
                    return Ok(Arc::new(coded.map_err(|error| general(&error))?));
                }
                integers(values, nulls, kind)
            }
            ColumnReader::Int64ColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &0)?;
                match kind {
                    DataType::Int64 => Ok(array::<Int64Type, _>(values, nulls, |v| v)),
                    DataType::UInt64 => {
                        Ok(array::<UInt64Type, _>(values, nulls, i64::cast_unsigned))
                    }
                    _ => narrow_decimals(values, nulls, kind),
                }
            }
            ColumnReader::FloatColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &0.0)?;
                Ok(array::<Float32Type, _>(values, nulls, |v| v))
            }
            ColumnReader::DoubleColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &0.0)?;
                Ok(array::<Float64Type, _>(values, nulls, |v| v))
            }
            ColumnReader::ByteArrayColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &Vec::new().into())?;
                match kind {
                    DataType::Utf8 | DataType::Binary => Ok(strings(&values, nulls.as_ref())),
                    _ => decimals(&values, nulls, kind),
                }
            }
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                let (values, nulls) = read(reader, level, rows, &Vec::new().into())?;
                match kind {
                    DataType::FixedSizeBinary(width) => fixed(&values, nulls.as_ref(), *width),
                    DataType::Float16 => Ok(array::<Float16Type, _>(values, nulls, |value| {
                        let bytes = value.as_bytes().first_chunk().copied().unwrap_or_default();
                        <Float16Type as ArrowPrimitiveType>::Native::from_le_bytes(bytes)
                    })),
                    _ => decimals(&values, nulls, kind),
                }
            }
            ColumnReader::Int96ColumnReader(_) => Err(unread(kind)),
        }
    }
}

/// Integers and decimals that a column holds in 32 bits.
fn integers(values: Vec<i32>, nulls: Option<NullBuffer>, kind: &DataType) -> Result<ArrayRef> {
    match kind {
        DataType::Int8 => Ok(array::<Int8Type, _>(values, nulls, |v| v as i8)),
        DataType::Int16 => Ok(array::<Int16Type, _>(values, nulls, |v| v as i16)),
        DataType::Int32 => Ok(array::<Int32Type, _>(values, nulls, |v| v)),
        DataType::UInt8 => Ok(array::<UInt8Type, _>(values, nulls, |v| v as u8)),
        DataType::UInt16 => Ok(array::<UInt16Type, _>(values, nulls, |v| v as u16)),
        DataType::UInt32 => Ok(array::<UInt32Type, _>(values, nulls, i32::cast_unsigned)),
        _ => narrow_decimals(values, nulls, kind),
    }
}

/// The next values, one for each row, and which rows are null.
fn read<T: Physical>(
    reader: &mut ColumnReaderImpl<T>,
    level: i16,
    rows: usize,
    of_null: &T::T,
) -> Result<(Vec<T::T>, Option<NullBuffer>)> {
    // A column that grows page by page is moved, and its memory touched anew.
    let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::new());
    let (found, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if found != rows {
        let what = format!("a column ends {} rows before its row group", rows - found.min(rows));
        return Err(ParquetError::General(what));
    }
    if values.len() == rows {
        return Ok((values, None));
    }
    let nulls: NullBuffer = levels.iter().map(|found| *found == level).collect();
    let mut present = values.into_iter();
    let spread = nulls.iter().map(|valid| {
        let value = if valid { present.next() } else { None };
        value.unwrap_or_else(|| of_null.clone())
    });
    Ok((spread.collect(), Some(nulls)))
}

fn array<T: ArrowPrimitiveType, V>(
    values: Vec<V>,
    nulls: Option<NullBuffer>,
    convert: impl Fn(V) -> T::Native,
) -> ArrayRef {
    let values: Vec<T::Native> = values.into_iter().map(convert).collect();
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

/// Strings or bytes.
fn strings<V: AsBytes>(values: &[V], nulls: Option<&NullBuffer>) -> ArrayRef {
    let mut builder = BinaryViewBuilder::with_capacity(values.len());
    for (row, value) in values.iter().enumerate() {
        let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        builder.append_option(valid.then(|| value.as_bytes()));
    }
    Arc::new(builder.finish())
}

/// Bytes of one width.
fn fixed<V: AsBytes>(values: &[V], nulls: Option<&NullBuffer>, width: i32) -> Result<ArrayRef> {
    let mut builder = FixedSizeBinaryBuilder::with_capacity(values.len(), width);
    for (row, value) in values.iter().enumerate() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            builder.append_value(value.as_bytes()).map_err(|error| general(&error))?;
        } else {
            builder.append_null();
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Decimals whose digits are an integer.
fn narrow_decimals<V: Into<i128>>(
    values: Vec<V>,
    nulls: Option<NullBuffer>,
    kind: &DataType,
) -> Result<ArrayRef> {
    let values: Vec<i128> = values.into_iter().map(Into::into).collect();
    checked::<Decimal128Type>(values, nulls, kind)
}

/// Decimals whose digits are a number of two's complement, its highest byte first.
fn decimals<V: AsBytes>(
    values: &[V],
    nulls: Option<NullBuffer>,
    kind: &DataType,
) -> Result<ArrayRef> {
    if matches!(kind, DataType::Decimal256(..)) {
        let values = values.iter().map(|value| extended(value.as_bytes()).map(i256::from_be_bytes));
        return checked::<Decimal256Type>(values.collect::<Result<Vec<_>>>()?, nulls, kind);
    }
    let values = values.iter().map(|value| extended(value.as_bytes()).map(i128::from_be_bytes));
    checked::<Decimal128Type>(values.collect::<Result<Vec<_>>>()?, nulls, kind)
}

/// A number of `N` bytes that has fewer, its sign extended; none is 0.
fn extended<const N: usize>(bytes: &[u8]) -> Result<[u8; N]> {
    let Some(spare) = N.checked_sub(bytes.len()) else {
        let what = format!("expected a decimal of at most {N} bytes, found {}", bytes.len());
        return Err(ParquetError::General(what));
    };
    let negative = bytes.first().is_some_and(|first| *first >= 0x80);
    let mut number = [if negative { 0xff } else { 0 }; N];
    number[spare..].copy_from_slice(bytes);
    Ok(number)
}

/// An array of decimals of a type, which must be one.
fn checked<T>(
    values: Vec<T::Native>,
    nulls: Option<NullBuffer>,
    kind: &DataType,
) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: ArrowNativeTypeOp,
{
    if !PrimitiveArray::<T>::is_compatible(kind) {
        return Err(unread(kind));
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(kind.clone())))
}

/// An error of Arrow's as one of Parquet's.
pub(super) fn general(error: &ArrowError) -> ParquetError {
    ParquetError::General(error.to_string())
}

fn unread(kind: &DataType) -> ParquetError {
    ParquetError::General(format!("values of the type {kind} are not read"))
}
