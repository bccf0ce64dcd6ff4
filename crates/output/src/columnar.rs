//! Parquet and Arrow IPC files from record batches.
//!
//! A batch becomes a row group (Parquet) or a message (Arrow). Row groups are encoded in parallel
//! and appended in order; Arrow batches are built in parallel, and their buffers are written as
//! they are.
//!
//! Encodings follow what graphs are made of. Ids are packed as differences, to about as many bits
//! as they have; floats lie plain; compressing either gains a few percent and costs more than all
//! the rest. (It would also let regular graphs shrink so far that a reader must take them for
//! bombs.) Names get a dictionary, and zstd at its fastest level.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::error::OutputError;
use crate::ordered::{Job, check, run};

/// Rows of one batch, hence of one row group: 8 MiB of a column of doubles.
pub(crate) const BATCH_ROWS: usize = 1 << 20;

/// Level of zstd for names, its fastest.
const ZSTD_LEVEL: i32 = 1;

/// Takes a batch, or the reason why there is none.
pub(crate) type Give<'a> =
    &'a mut dyn FnMut(Result<RecordBatch, ArrowError>) -> Result<(), OutputError>;

/// Record batches in numbered blocks.
pub(crate) trait Batches: Sync {
    /// Schema of all batches.
    fn schema(&self) -> SchemaRef;

    /// Number of blocks.
    fn blocks(&self) -> u64;

    /// Gives the batches of a block in order.
    fn make(&self, block: u64, give: Give<'_>) -> Result<(), OutputError>;
}

/// Batches of a block that wait for their turn before more are made.
const WAITING_MAX: usize = 8;

pub(crate) fn write_parquet(
    batches: &dyn Batches,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let failed = |error| parquet_failed(job.name, error);
    let schema = batches.schema();
    let properties = properties(&schema);
    let columns = ArrowSchemaConverter::new().convert(&schema).map_err(failed)?;
    let mut writer =
        SerializedFileWriter::new(sink, columns.root_schema_ptr(), properties).map_err(failed)?;
    let factory = ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&schema));
    let encode = |batch: &RecordBatch| -> Result<Vec<ArrowColumnChunk>, ParquetError> {
        let mut chunks = Vec::new();
        let fields = schema.fields().iter().zip(batch.columns());
        for ((field, array), mut column) in fields.zip(factory.create_column_writers(0)?) {
            compute_leaves(field, array)?.iter().try_for_each(|leaf| column.write(leaf))?;
            chunks.push(column.close()?);
        }
        Ok(chunks)
    };
    let mut append = |groups: &mut Vec<Vec<ArrowColumnChunk>>| {
        for group in groups.drain(..) {
            let mut row_group = writer.next_row_group().map_err(failed)?;
            for chunk in group {
                chunk.append_to_row_group(&mut row_group).map_err(failed)?;
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

fn properties(schema: &SchemaRef) -> Arc<WriterProperties> {
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
    let mut properties = builder.build();
    add_encoded_arrow_schema_to_metadata(schema, &mut properties);
    Arc::new(properties)
}

pub(crate) fn write_arrow(
    batches: &dyn Batches,
    sink: &mut (dyn Write + Send),
    job: &Job<'_>,
) -> Result<(), OutputError> {
    let failed = |error| arrow_failed(job.name, error);
    let mut counted = Counted { sink, bytes: 0 };
    let mut writer = FileWriter::try_new(&mut counted, &batches.schema()).map_err(failed)?;
    let mut append = |made: &mut Vec<RecordBatch>| {
        made.drain(..).try_for_each(|batch| writer.write(&batch)).map_err(failed)
    };
    run(
        job,
        batches.blocks(),
        Vec::new,
        |made, block, turn| {
            batches.make(block, &mut |batch| {
                check(job)?;
                let batch = batch.map_err(failed)?;
                job.phase.add(batch.num_rows() as u64);
                made.push(batch);
                if made.len() < WAITING_MAX { Ok(()) } else { turn.hand_on(made) }
            })
        },
        &mut append,
    )?;
    writer.finish().map_err(failed)?;
    drop(writer);
    job.phase.add_bytes(counted.bytes);
    Ok(())
}

/// A sink that knows how much it took.
struct Counted<'a> {
    sink: &'a mut (dyn Write + Send),
    bytes: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
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

fn arrow_failed(name: &str, error: ArrowError) -> OutputError {
    let error = match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    };
    OutputError::write(name, error)
}
