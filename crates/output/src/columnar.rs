//! Arrow IPC files from record batches, and the parts of it that Parquet files share.
//!
//! A batch becomes a message. Batches are built in parallel, and their buffers are written as they
//! are.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::ArrowError;

use crate::batches::Batches;
use crate::error::OutputError;
use crate::ordered::{Job, check, run};

/// Batches of a block that wait for their turn before more are made.
pub(crate) const WAITING_MAX: usize = 8;

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

pub(crate) fn arrow_failed(name: &str, error: ArrowError) -> OutputError {
    let error = match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    };
    OutputError::write(name, error)
}
