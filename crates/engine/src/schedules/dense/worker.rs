//! What a worker has all along: accumulators of a stripe, and buffers.

use crate::EngineError;
use crate::columns::groups::groups;
use crate::columns::values::ColumnIo;
use crate::edges::graph::Graph;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::groups::Groups;
use crate::kernels::kernel::Scratch;
use crate::kernels::shape::KernelShape;
use crate::machine::arena::Buffer;

/// Accumulators and buffers of a worker.
pub(crate) struct WorkerState<'g> {
    pub(crate) accums: Buffer<u8>,
    pub(super) scratch: Scratch,
    pub(super) chunks: ReadAhead<'g>,
    pub(crate) groups: Groups,
    /// Edges that were looked at.
    pub(crate) edges: u64,
}

impl<'g> WorkerState<'g> {
    pub(super) fn new(graph: &'g Graph, shape: &KernelShape) -> Result<Self, EngineError> {
        Ok(Self {
            accums: Buffer::zeroed(shape.accum << graph.layout.stripe_bits)?,
            scratch: Scratch::new(),
            chunks: ReadAhead::new(graph)?,
            groups: groups(graph, shape.update, shape.capabilities.groups)?,
            edges: 0,
        })
    }

    /// Bytes of chunks that were looked at since this was asked last.
    pub(super) fn take_bytes(&mut self) -> u64 {
        self.chunks.take_bytes()
    }
}

/// One worker's columns of values, where these are on storage.
pub(super) type Column<'s> = Option<ColumnIo<'s, u8>>;

/// Columns of values of all workers, and the vertices that each found active.
pub(super) type Columns<'s> = Vec<(Column<'s>, u64)>;

/// Writes the values of a stripe, where these are on storage.
pub(super) fn put(
    column: &mut Column<'_>,
    stripe: usize,
    values: Option<Buffer<u8>>,
) -> Result<(), EngineError> {
    match (column, values) {
        (Some(column), Some(values)) => column.put(stripe, values),
        _ => Ok(()),
    }
}

/// Waits until all values are written: the active vertices.
pub(super) fn finish(columns: Columns<'_>) -> Result<u64, EngineError> {
    columns.into_iter().try_fold(0, |active, (column, more)| {
        column.map_or(Ok(()), |mut column| column.finish())?;
        Ok(active + more)
    })
}
