//! Sinks: where updates wait for the accumulators of their destinations.
//!
//! An update waits in an update chunk on its way to storage, in a buffer of groups, or in a message
//! to another machine. A kernel does not know which: it asks a sink for room, fills that in place
//! with a run of records, and says how many it made. Room belongs to the sink, so records are
//! written once, into the memory of whatever moves them on. A call is made for a run, never for a
//! record.
//!
//! | sink | where updates wait |
//! |---|---|
//! | [`ChunkSink`](crate::columns::updates::ChunkSink) | update chunks of a cell, on storage |
//! | [`Groups`] | a run for each destination of a stripe, in memory |
//! | [`Records`](crate::kernels::records::Records) | a list with room for all, in memory |
//! | `Leaving` in `columns::chunks::outgoing` | messages to other machines (route `send`) |
//!
//! Invariants: records that were not kept were never made · a sink keeps records in the order in
//! which they were made. Tested by `every_task_gives_the_same_bits_as_in_memory` and
//! `programs_by_chunks_come_to_what_the_interpreter_does`.

use crate::EngineError;
use crate::kernels::groups::Groups;

/// Room for records in a sink.
pub(crate) enum Room<'r> {
    /// A run of records, and of their destinations, to be filled from its begin.
    Run(RecordRun<'r>),
    /// Runs of updates by destination.
    Groups(&'r mut Groups),
}

/// Memory for a run of records. Places that are not filled may hold anything.
pub(crate) struct RecordRun<'r> {
    pub(crate) targets: &'r mut [u32],
    /// Bytes of as many records as there are targets.
    pub(crate) records: &'r mut [u8],
}

impl<'r> Room<'r> {
    /// A run, from a sink of records that are no updates of groups.
    pub(crate) fn run(self) -> Result<RecordRun<'r>, EngineError> {
        match self {
            Self::Run(run) => Ok(run),
            Self::Groups(_) => Err(EngineError::internal("updates alone are grouped")),
        }
    }
}

/// A place where updates wait.
pub(crate) trait Sink {
    /// Room for up to `most` records, and for one at least.
    fn room(&mut self, most: usize) -> Result<Room<'_>, EngineError>;

    /// Keeps the first `count` records of the room that was handed out last.
    fn keep(&mut self, count: usize) -> Result<(), EngineError>;
}

impl Sink for Groups {
    fn room(&mut self, _: usize) -> Result<Room<'_>, EngineError> {
        Ok(Room::Groups(self))
    }

    fn keep(&mut self, _: usize) -> Result<(), EngineError> {
        Ok(())
    }
}
