//! Tables and edges as record batches in numbered blocks, for files of Parquet and of Arrow, and
//! for callers that take Arrow arrays.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

use crate::error::OutputError;

/// Rows of one batch, hence of one row group: 8 MiB of a column of doubles.
pub(crate) const BATCH_ROWS: usize = 1 << 20;

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
