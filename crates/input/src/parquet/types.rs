//! Types of the columns of a Parquet file, as Arrow types.
//!
//! A column is a child of the schema's root. Only those of plain values can be ids or weights, so
//! nested ones are told apart no further than a message needs.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit as Unit, Type as Physical};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::Type;

/// Most decimal digits of numbers of 128 bits.
const DIGITS_128: i32 = 38;

/// Most bytes of numbers of 128 bits.
const BYTES_128: i32 = 16;

/// The columns of a file.
pub(super) fn schema(metadata: &ParquetMetaData) -> Schema {
    let root = metadata.file_metadata().schema_descr().root_schema();
    let fields = root.get_fields().iter().map(|column| {
        let info = column.get_basic_info();
        let optional = !info.has_repetition() || info.repetition() != Repetition::REQUIRED;
        Field::new(column.name(), kind(column), optional)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

fn kind(column: &Type) -> DataType {
    let info = column.get_basic_info();
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let listed = info.converted_type() == ConvertedType::LIST;
    if repeated || listed {
        return DataType::List(Arc::new(Field::new("item", DataType::Null, true)));
    }
    let Type::PrimitiveType { physical_type, type_length, scale, precision, .. } = column else {
        return DataType::Struct(Fields::empty());
    };
    let (logical, converted) = (info.logical_type_ref(), info.converted_type());
    if matches!(logical, Some(LogicalType::Unknown)) {
        return DataType::Null;
    }
    if let Some((scale, precision)) = decimal(logical, converted, *scale, *precision) {
        return decimals(*physical_type, *type_length, scale, precision);
    }
    match physical_type {
        Physical::BOOLEAN => DataType::Boolean,
        Physical::INT32 => integer_32(logical, converted),
        Physical::INT64 => integer_64(logical, converted),
        Physical::INT96 => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Physical::FLOAT => DataType::Float32,
        Physical::DOUBLE => DataType::Float64,
        Physical::BYTE_ARRAY => bytes(logical, converted),
        Physical::FIXED_LEN_BYTE_ARRAY => match logical {
            Some(LogicalType::Float16) if *type_length == 2 => DataType::Float16,
            None if converted == ConvertedType::INTERVAL => {
                DataType::Interval(IntervalUnit::DayTime)
            }
            _ => DataType::FixedSizeBinary(*type_length),
        },
    }
}

/// Scale and precision of a column of decimals.
fn decimal(
    logical: Option<&LogicalType>,
    converted: ConvertedType,
    scale: i32,
    precision: i32,
) -> Option<(i32, i32)> {
    match logical {
        Some(LogicalType::Decimal(stated)) => Some((stated.scale, stated.precision)),
        None if converted == ConvertedType::DECIMAL => Some((scale, precision)),
        _ => None,
    }
}

fn decimals(physical: Physical, length: i32, scale: i32, precision: i32) -> DataType {
    let narrow = match physical {
        Physical::INT32 | Physical::INT64 => true,
        Physical::BYTE_ARRAY => precision <= DIGITS_128,
        Physical::FIXED_LEN_BYTE_ARRAY => length <= BYTES_128,
        _ => return DataType::Null,
    };
    match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if narrow => DataType::Decimal128(precision, scale),
        (Ok(precision), Ok(scale)) => DataType::Decimal256(precision, scale),
        _ => DataType::Null,
    }
}

fn integer_32(logical: Option<&LogicalType>, converted: ConvertedType) -> DataType {
    match (logical, converted) {
        (Some(LogicalType::Integer(stated)), _) => match (stated.bit_width, stated.is_signed) {
            (8, true) => DataType::Int8,
            (16, true) => DataType::Int16,
            (32, true) => DataType::Int32,
            (8, false) => DataType::UInt8,
            (16, false) => DataType::UInt16,
            (32, false) => DataType::UInt32,
            _ => DataType::Null,
        },
        (None, ConvertedType::NONE | ConvertedType::INT_32) => DataType::Int32,
        (None, ConvertedType::INT_8) => DataType::Int8,
        (None, ConvertedType::INT_16) => DataType::Int16,
        (None, ConvertedType::UINT_8) => DataType::UInt8,
        (None, ConvertedType::UINT_16) => DataType::UInt16,
        (None, ConvertedType::UINT_32) => DataType::UInt32,
        (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => DataType::Date32,
        (Some(LogicalType::Time(_)), _) | (None, ConvertedType::TIME_MILLIS) => {
            DataType::Time32(TimeUnit::Millisecond)
        }
        _ => DataType::Null,
    }
}

fn integer_64(logical: Option<&LogicalType>, converted: ConvertedType) -> DataType {
    match (logical, converted) {
        (Some(LogicalType::Integer(stated)), _) => match (stated.bit_width, stated.is_signed) {
            (64, true) => DataType::Int64,
            (64, false) => DataType::UInt64,
            _ => DataType::Null,
        },
        (None, ConvertedType::NONE | ConvertedType::INT_64) => DataType::Int64,
        (None, ConvertedType::UINT_64) => DataType::UInt64,
        (Some(LogicalType::Timestamp(stated)), _) => DataType::Timestamp(unit(stated.unit), None),
        (None, ConvertedType::TIMESTAMP_MILLIS) => DataType::Timestamp(TimeUnit::Millisecond, None),
        (None, ConvertedType::TIMESTAMP_MICROS) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (Some(LogicalType::Time(stated)), _) => DataType::Time64(unit(stated.unit)),
        (None, ConvertedType::TIME_MICROS) => DataType::Time64(TimeUnit::Microsecond),
        _ => DataType::Null,
    }
}

fn unit(unit: Unit) -> TimeUnit {
    match unit {
        Unit::MILLIS => TimeUnit::Millisecond,
        Unit::MICROS => TimeUnit::Microsecond,
        Unit::NANOS => TimeUnit::Nanosecond,
    }
}

fn bytes(logical: Option<&LogicalType>, converted: ConvertedType) -> DataType {
    match (logical, converted) {
        (Some(LogicalType::String | LogicalType::Json), _)
        | (None, ConvertedType::UTF8 | ConvertedType::JSON) => DataType::Utf8,
        _ => DataType::Binary,
    }
}
