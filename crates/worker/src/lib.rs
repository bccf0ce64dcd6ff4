//! The computing part of a machine of a cluster: the protocol's [`Work`] becomes its [`Outcome`].
//!
//! The protocol says what is to be done, and sees bytes. A [`Worker`] does it, with chunks as the
//! store writes them and kernels of the engine ([`welter_engine::chunks`]). The simulator drives it
//! as the host of a real machine does.
//!
//! | work | done by |
//! |---|---|
//! | ingest, split | `ingest`: edges are binned into chunks of cells, and counted (`degrees`) |
//! | bounds of partitions, before that | [`weigh`] |
//! | init, open, turn, apply, decide | [`KernelWorker`], `vertices` |
//! | stream, flush, merge, hand over | [`KernelWorker`], `bins`, `kept_updates` |
//! | all of these, of programs that contract | [`ContractWorker`], `edge_bins` |
//!
//! [`TriangleWorker`] does all of it for programs over triangles, but for the ingest. Its rows of
//! neighbours ([`Keys`], [`Rows`], [`each_row`]) are those of machines that send, too.
//!
//! Nothing here knows a file, socket, clock or thread, which machine sends what, or what a right
//! answer is: how edges are read is the host's [`Input`], where bytes lie that have no room in
//! memory its [`ScratchSpace`], and oracles and planted bugs are the simulator's.
//!
//! Invariants:
//! - A worker that does again what it did comes to the same bytes: there is no order here but that
//!   of slots, cells and the work itself. Tested by `work_that_is_done_again_gives_the_same_bytes`.
//! - A payload that is not what was written for what it was pulled for is an error. Tested by
//!   `payloads_of_another_kind_are_errors`.
//! - As many updates are said to be made as records of what is filled stand for. Tested by
//!   `chunks_say_how_many_updates_they_stand_for` and
//!   `answers_are_those_of_the_interpreter_on_both_routes`.

mod bins;
mod contract_worker;
mod degrees;
mod edge_bins;
mod ingest;
mod input;
mod kept_updates;
mod kernel_worker;
pub mod partitioning;
mod scratch;
mod triangles;
mod updates;
mod vertices;
mod weighing;

use welter_engine::EngineError;
use welter_protocol::{Outcome, Work};

pub use contract_worker::ContractWorker;
pub use input::{Input, InputEdge, Listed};
pub use kept_updates::kept_bytes;
pub use kernel_worker::KernelWorker;
pub use partitioning::Partitioning;
pub use scratch::{MemoryScratch, ScratchSpace};
pub use triangles::{KEY_BYTES, Keys, Rows, TriangleWorker, each_row};
pub use weighing::weigh;

/// The program on its host, with what is in its memory.
pub trait Worker: Send {
    /// Does what is asked.
    ///
    /// # Errors
    /// When a payload is not what was written for what it was pulled for, the input cannot be read,
    /// or memory runs out.
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError>;

    /// Keeps up to this number of updates of a partition in memory, of a program whose updates are
    /// not merged ([`u64::MAX`]: all), and others in `scratch`. Of no effect on other programs.
    fn keep_at_most(&mut self, _updates_max: u64, _scratch: Box<dyn ScratchSpace>) {}

    /// Number of records that the last piece of work looked at.
    fn looked_at(&self) -> u64;

    /// Updates that it has in memory.
    fn held(&self) -> BufferedUpdates {
        BufferedUpdates::default()
    }
}

/// Records of updates in the memory of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferedUpdates {
    /// Records that wait in bins until a chunk is full.
    pub binned: u64,
    /// Records that are kept until their partition is applied, because nothing merges them.
    pub kept: u64,
    /// Bytes of one that is kept, and of its target.
    pub bytes: u64,
}

/// An error of a payload that no worker of this job makes: a peer's, and no bug of this machine.
fn other(what: impl Into<String>) -> EngineError {
    EngineError::Payload(what.into())
}
