//! Parquet files from record batches.
//!
//! A batch becomes a row group. Row groups are encoded in parallel and appended in order.
//!
//! Encodings follow what graphs are made of. Ids are packed as differences, to about as many bits
//! as they have; floats lie plain; compressing either gains a few percent and costs more than all
//! the rest. (It would also let regular graphs shrink so far that a reader must take them for
//! bombs.) Names get a dictionary, and zstd at its fastest level.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, LargeStringArray, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytemuck::cast_slice;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

use crate::batches::Batches;
use crate::columnar::{WAITING_MAX, arrow_failed};
use crate::error::OutputError;
use crate::ordered::{Job, check, run};

/// Level of zstd for names, its fastest.
const ZSTD_LEVEL: i32 = 1;

/// An encoded column of a row group.
type Chunk = (Bytes, ColumnCloseResult);

pub(crate) fn write_parquet(
    batches: &dyn Batches,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let failed = |error| parquet_failed(job.name, error);
    let schema = batches.schema();
    let properties = Arc::new(properties(&schema));
    let columns = columns(&schema).map_err(failed)?;
    let mut writer =
        SerializedFileWriter::new(sink, columns, Arc::clone(&properties)).map_err(failed)?;
    let leaves = writer.schema_descr().columns().to_vec();
    let encode = |batch: &RecordBatch| -> Result<Vec<Chunk>, ParquetError> {
        debug_assert_eq!(leaves.len(), batch.num_columns(), "a batch has the columns of the file");
        let columns = leaves.iter().zip(batch.columns());
        columns.map(|(leaf, array)| encoded(leaf, array, &properties)).collect()
    };
    let mut append = |groups: &mut Vec<Vec<Chunk>>| {
        for group in groups.drain(..) {
            let mut row_group = writer.next_row_group().map_err(failed)?;
            for (bytes, end) in group {
                row_group.append_column(&bytes, end).map_err(failed)?;
            }
            row_group.close().map_err(failed)?;
        }
        Ok(())
    };
    run(
        job,
        batches.blocks(),
        Vec::new,
        |groups, block, turn| {
            batches.make(block, &mut |batch| {
                check(job)?;
                let batch = batch.map_err(|error| arrow_failed(job.name, error))?;
                groups.push(encode(&batch).map_err(failed)?);
                job.phase.add(batch.num_rows() as u64);
                if groups.len() < WAITING_MAX { Ok(()) } else { turn.hand_on(groups) }
            })
        },
        &mut append,
    )?;
    writer.finish().map_err(failed)?;
    job.phase.add_bytes(writer.bytes_written() as u64);
    Ok(())
}

fn properties(schema: &Schema) -> WriterProperties {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default());
    let mut builder = WriterProperties::builder()
        .set_created_by(concat!("welter ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_dictionary_enabled(false)
        .set_compression(Compression::UNCOMPRESSED);
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        builder = match field.data_type() {
            DataType::Float32 | DataType::Float64 => builder,
            DataType::UInt32 | DataType::UInt64 | DataType::Int64 => {
                builder.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
            }
            _ => builder
                .set_column_dictionary_enabled(column.clone(), true)
                .set_column_compression(column, zstd),
        };
    }
    builder.build()
}

/// The schema of a file.
fn columns(schema: &Schema) -> Result<TypePtr, ParquetError> {
    let fields = schema.fields().iter().map(|field| column(field));
    let root = Type::group_type_builder("schema").with_fields(fields.collect::<Result<_, _>>()?);
    Ok(Arc::new(root.build()?))
}

fn column(field: &Field) -> Result<TypePtr, ParquetError> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let (physical, logical) = match field.data_type() {
        DataType::Float32 => (Physical::FLOAT, None),
        DataType::Float64 => (Physical::DOUBLE, None),
        DataType::UInt32 => (Physical::INT32, unsigned(32)),
        DataType::UInt64 => (Physical::INT64, unsigned(64)),
        DataType::Int64 => (Physical::INT64, None),
        DataType::LargeUtf8 => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        other => return Err(unwritten(other)),
    };
    let repetition = if field.is_nullable() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let column = Type::primitive_type_builder(field.name(), physical)
        .with_logical_type(logical)
        .with_repetition(repetition);
    Ok(Arc::new(column.build()?))
}

/// A column of a row group, encoded.
fn encoded(
    leaf: &ColumnDescPtr,
    array: &dyn Array,
    properties: &Arc<WriterProperties>,
) -> Result<Chunk, ParquetError> {
    let mut bytes = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut bytes));
    let mut writer = get_column_writer(Arc::clone(leaf), Arc::clone(properties), pages);
    debug_assert!(leaf.max_def_level() > 0 || array.null_count() == 0, "it has no nulls");
    let levels: Option<Vec<i16>> = (leaf.max_def_level() > 0)
        .then(|| (0..array.len()).map(|row| i16::from(array.is_valid(row))).collect());
    write(&mut writer, array, levels.as_deref())?;
    let end = writer.close()?;
    Ok((bytes.into_inner()?.into(), end))
}

fn write(
    writer: &mut ColumnWriter<'_>,
    array: &dyn Array,
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    match (writer, array.data_type()) {
        (ColumnWriter::FloatColumnWriter(writer), DataType::Float32) => {
            writer.write_batch(&present(array.as_primitive::<Float32Type>()), levels, None)
        }
        (ColumnWriter::DoubleColumnWriter(writer), DataType::Float64) => {
            writer.write_batch(&present(array.as_primitive::<Float64Type>()), levels, None)
        }
        (ColumnWriter::Int32ColumnWriter(writer), DataType::UInt32) => {
            let values = present(array.as_primitive::<UInt32Type>());
            writer.write_batch(cast_slice(&values), levels, None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), DataType::UInt64) => {
            let values = present(array.as_primitive::<UInt64Type>());
            writer.write_batch(cast_slice(&values), levels, None)
        }
        (ColumnWriter::Int64ColumnWriter(writer), DataType::Int64) => {
            writer.write_batch(&present(array.as_primitive::<Int64Type>()), levels, None)
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), DataType::LargeUtf8) => {
            writer.write_batch(&names(array.as_string()), levels, None)
        }
        (_, other) => return Err(unwritten(other)),
    }
    .map(|_| ())
}

/// The values of an array without those of nulls.
fn present<T: arrow_array::ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
) -> std::borrow::Cow<'_, [T::Native]> {
    if array.null_count() == 0 {
        return array.values()[..].into();
    }
    array.iter().flatten().collect::<Vec<_>>().into()
}

/// The names of an array without those of nulls, which share its bytes.
fn names(array: &LargeStringArray) -> Vec<ByteArray> {
    let bytes = Bytes::from_owner(array.values().clone());
    let ends = array.value_offsets().windows(2);
    let valid = ends.enumerate().filter(|(row, _)| array.is_valid(*row));
    valid.map(|(_, ends)| bytes.slice(ends[0] as usize..ends[1] as usize).into()).collect()
}

fn unwritten(kind: &DataType) -> ParquetError {
    ParquetError::General(format!("no column of the type {kind} is written"))
}

/// Error of the library; an I/O error inside of it is kept itself, and not its text alone.
fn parquet_failed(name: &str, error: ParquetError) -> OutputError {
    let error = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    };
    OutputError::write(name, error)
}
