//! State that a worker has all along: accumulators of a stripe, and buffers.

use crate::EngineError;
use crate::columns::groups::groups;
use crate::edges::graph::Graph;
use crate::kernels::groups::Groups;
use crate::kernels::shape::KernelShape;
use crate::machine::arena::Buffer;
use crate::schedules::edge_fold::EdgeReader;

/// Accumulators and buffers of a worker.
pub(crate) struct WorkerState<'g> {
    pub(crate) accums: Buffer<u8>,
    pub(crate) reader: EdgeReader<'g>,
    pub(crate) groups: Groups,
}

impl<'g> WorkerState<'g> {
    pub(super) fn new(graph: &'g Graph, shape: &KernelShape) -> Result<Self, EngineError> {
        Ok(Self {
            accums: Buffer::zeroed(shape.accum << graph.layout.stripe_bits)?,
            reader: EdgeReader::new(graph)?,
            groups: groups(graph, shape.update, shape.capabilities.groups)?,
        })
    }

    /// Bytes of chunks that were looked at since this was asked last.
    pub(super) fn take_bytes(&mut self) -> u64 {
        self.reader.chunks.take_bytes()
    }
}
