//! Errors of an engine.

use std::path::PathBuf;

use thiserror::Error;
use welter_model::edges::StreamError;
use welter_progress::FailureKind;
use welter_store::{ChunkError, StoreError};

/// Reason why a run did not come to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The input could not be read; the reader says where and why.
    #[error(transparent)]
    Input(#[from] StreamError),
    /// The graph does not fit the memory budget. Nothing was done.
    #[error(
        "this run needs {} of memory and the budget is {}; {advice}",
        crate::units::human_bytes(*need),
        crate::units::human_bytes(*budget)
    )]
    Budget {
        /// Bytes that the plan needs.
        need: u64,
        /// Bytes that it may take.
        budget: u64,
        /// Settings or measures that would help.
        advice: String,
    },
    /// The system starts no thread.
    #[error("the system starts no thread: {0}")]
    Threads(String),
    /// A setting is out of its range.
    #[error("{name} must be between {least} and {most}, not {found}")]
    Setting {
        /// Noun with its unit, as a person would say it.
        name: &'static str,
        /// Smallest value.
        least: u64,
        /// Largest value.
        most: u64,
        /// Value that was asked for.
        found: u64,
    },
    /// Stripes of the width that was asked for are too many.
    #[error("{vertices} vertices do not fit {most} stripes of 2^{width_bits}; take wider stripes")]
    Stripes {
        /// Number of vertices.
        vertices: u64,
        /// Largest number of stripes.
        most: u32,
        /// Width of a stripe in bits.
        width_bits: u32,
    },
    /// The program cannot run on the graph, whatever the settings.
    #[error("{0}")]
    Unsupported(String),
    /// Work that a run cannot do without has no room in the budget.
    #[error("{0}")]
    Room(&'static str),
    /// An invariant of the engine does not hold, whatever was read: a bug. The text ends with the
    /// place in the code where it is stated ([`EngineError::internal`]).
    #[error("broken invariant: {0}")]
    Internal(String),
    /// Bytes from another machine of a cluster are not of this job.
    #[error("a payload from another machine is not of this job: {0}")]
    Payload(String),
    /// The program has no place for updates on the route that was forced.
    #[error("{why}; take {take}")]
    Route {
        /// Reason why the program has no place there.
        why: &'static str,
        /// Routes that it has.
        take: &'static str,
    },
    /// The system did not hand out memory that the budget allows.
    #[error("the system refused {} of memory", crate::units::human_bytes(*.0))]
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
        /// Damage that was found.
        error: ChunkError,
    },
    /// Edges contradict what holds in every graph, so they are not those that were read.
    #[error("damaged edges: {0}, and here it did not; `welter check` says where, of a kept graph")]
    Invariant(&'static str),
    /// A chunk that a machine pulled is not what was written for the cell that it asked for.
    #[error("a chunk that was pulled for cell ({source_partition}, {stripe}): {error}")]
    Pulled {
        /// Source partition of the cell.
        source_partition: u32,
        /// Stripe of the cell.
        stripe: u32,
        /// Damage that was found.
        error: ChunkError,
    },
    /// Updates that a machine pulled, or was handed, are not those that it asked for.
    #[error("updates for stripe {stripe} in iteration {iteration}: {what}")]
    Updates {
        /// The iteration that gathers them.
        iteration: u64,
        /// Stripe of their destinations.
        stripe: u32,
        /// Invariant that does not hold.
        what: &'static str,
    },
    /// The directories for what does not fit in memory have too little room. Nothing was done.
    #[error(
        "this run may need {} of disk in {} and {} are free there; name a directory with more",
        crate::units::human_bytes(*need),
        directories.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        crate::units::human_bytes(*free)
    )]
    Disk {
        /// Bytes that may be needed.
        need: u64,
        /// Bytes that are free.
        free: u64,
        /// Directories that were tried.
        directories: Vec<PathBuf>,
    },
    /// A checkpoint is of another graph or program than the run that shall continue from it.
    #[error("{0}")]
    Changed(String),
    /// A file could not be written or read; the store says which and where.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run was asked to end.
    #[error("interrupted")]
    Cancelled,
}

impl EngineError {
    /// Error of a state that no input can lead to, with the place in the code that names it.
    #[track_caller]
    pub fn internal(what: impl std::fmt::Display) -> Self {
        let place = std::panic::Location::caller();
        Self::Internal(format!("{what} ({}:{})", place.file(), place.line()))
    }

    /// Error of workers that were given no storage, where the plan keeps something there.
    #[track_caller]
    pub(crate) fn no_storage(what: &str) -> Self {
        Self::internal(format!("the plan keeps {what} on storage, and the workers were given none"))
    }

    pub(crate) fn out_of(bytes: usize) -> Self {
        Self::Memory(bytes as u64)
    }

    /// Kind of this failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            // A kept graph that is read as a stream fails as an engine does.
            Self::Input(error) => {
                error.downcast_ref::<Self>().map_or(FailureKind::Input, Self::kind)
            }
            Self::Route { .. }
            | Self::Setting { .. }
            | Self::Stripes { .. }
            | Self::Unsupported(_) => FailureKind::Usage,
            Self::Vertex { .. } | Self::Changed(_) => FailureKind::Input,
            Self::Budget { .. } | Self::Room(_) | Self::Memory(_) | Self::Threads(_) => {
                FailureKind::Budget
            }
            Self::Internal(_) => FailureKind::Internal,
            Self::Invariant(_)
            | Self::Chunk { .. }
            | Self::Pulled { .. }
            | Self::Payload(_)
            | Self::Updates { .. } => FailureKind::Damaged,
            Self::Disk { .. } => FailureKind::Storage,
            Self::Store(error) => error.kind(),
            Self::Cancelled => FailureKind::Cancelled,
        }
    }
}
