//! What can go wrong in an engine.

use thiserror::Error;
use welter_model::edges::StreamError;
use welter_store::ChunkError;

/// Why a run did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The input could not be read; the reader says where and why.
    #[error(transparent)]
    Input(#[from] StreamError),
    /// The graph does not fit the memory budget. Nothing was done.
    #[error(
        "this run needs {} of memory and the budget is {}; {advice}",
        crate::plan::human_bytes(*need),
        crate::plan::human_bytes(*budget)
    )]
    Budget {
        /// Bytes that the plan needs.
        need: u64,
        /// Bytes that it may take.
        budget: u64,
        /// What would help.
        advice: String,
    },
    /// A parameter of the plan is out of its range.
    #[error("{0}")]
    Configuration(String),
    /// The system did not hand out memory that the budget allows.
    #[error("the system refused {} of memory", crate::plan::human_bytes(*.0))]
    Memory(u64),
    /// An edge names a vertex that the input said does not exist.
    #[error("an edge names vertex {vertex}, but the input was stated to have {slots} vertices")]
    Vertex {
        /// The vertex.
        vertex: u64,
        /// Number of vertices.
        slots: u64,
    },
    /// A chunk is not what was written.
    #[error("cell ({source_partition}, {stripe}), chunk {number}: {error}")]
    Chunk {
        /// Source partition of the cell.
        source_partition: u32,
        /// Stripe of the cell.
        stripe: u32,
        /// Number of the chunk.
        number: u32,
        /// What is wrong.
        error: ChunkError,
    },
    /// The run was asked to end.
    #[error("interrupted")]
    Cancelled,
}

impl EngineError {
    pub(crate) fn out_of(bytes: usize) -> Self {
        Self::Memory(bytes as u64)
    }

    /// The process exit code for this error (sysexits).
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Vertex { .. } => 65,
            Self::Budget { .. } | Self::Configuration(_) | Self::Memory(_) => 78,
            Self::Chunk { .. } => 70,
            Self::Cancelled => 130,
        }
    }
}
