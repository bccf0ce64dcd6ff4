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
//! | stream, flush, merge, hand over | `kernel_streamer`, `bins`; `updates`, `kept_updates` |
//! | all of these, of programs that contract | [`ContractWorker`], `edge_bins` |
//!
//! [`TriangleWorker`] does all of it for programs over triangles, but for the ingest. Its rows of
//! neighbours ([`Keys`], [`Rows`], [`each_row`]) are those of machines that send, too.
//!
//! Nothing here knows a file, socket, clock or thread, which machine sends what, or what a right
//! answer is: how edges are read is the host's [`Input`], where bytes lie that have no room in
//! memory its [`ScratchSpace`], and oracles and planted bugs are the simulator's.
//!
//! A worker is one state, of which a host asks one thing at a time. Chunks are the exception: a
//! host with several threads borrows a [`Streamer`] for each of them, and gives it back when its
//! chunk is streamed. What streamers read is shared and does not change meanwhile, accumulators
//! have an owner at a time by stripes, and each has buffers of its own. All other work that may be
//! done side by side is handed to the [`Resources`] of the host, in parts.
//!
//! Invariants:
//! - A worker that does again what it did comes to the same bytes: there is no order here but that
//!   of slots, cells and the work itself. Tested by `work_that_is_done_again_gives_the_same_bytes`.
//! - A payload that is not what was written for what it was pulled for is an error. Tested by
//!   `payloads_of_another_kind_are_errors`.
//! - Answers do not depend on how many streamers there are, nor on where stripes are cut. Tested by
//!   `answers_do_not_depend_on_streamers_and_stripes`.
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
mod kernel_streamer;
mod kernel_worker;
mod opened;
pub mod partitioning;
mod resources;
mod scratch;
mod triangles;
mod updates;
mod vertices;
mod weighing;

use std::any::Any;
use std::sync::Arc;

use welter_engine::EngineError;
use welter_protocol::{Outcome, Work};

pub use contract_worker::ContractWorker;
pub use input::{Input, InputEdge, Listed};
pub use kept_updates::kept_bytes;
pub use kernel_worker::KernelWorker;
pub use partitioning::Partitioning;
pub use resources::{CallerAlone, Resources, WorkPart};
pub use scratch::{MemoryScratch, ScratchSpace};
pub use triangles::{KEY_BYTES, Keys, Rows, TriangleWorker, each_row};
pub use weighing::{weigh, weigh_sample};

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

    /// Lends it threads and memory, from now on.
    fn lend(&mut self, _resources: Arc<dyn Resources>) {}

    /// A part of it that streams a chunk of the open cell while others stream theirs; none where
    /// chunks are streamed by [`Self::work`], one at a time. No other work may be asked for before
    /// it is given back.
    fn borrow_streamer(&mut self) -> Option<Box<dyn Streamer>> {
        None
    }

    /// Takes back a part that was borrowed of it.
    fn take_back(&mut self, _streamer: Box<dyn Streamer>) {}

    /// Number of records that the last piece of work looked at.
    fn looked_at(&self) -> u64;

    /// Updates that it has in memory.
    fn held(&self) -> BufferedUpdates {
        BufferedUpdates::default()
    }
}

/// A part of a worker that streams chunks, on whatever thread.
pub trait Streamer: Any + Send {
    /// Streams a chunk, whose bytes are those that were made (they were compared with their sum).
    ///
    /// # Errors
    /// When it is not what was written for what it was pulled for, or memory runs out.
    fn stream(&mut self, chunk: &[u8]) -> Result<Outcome, EngineError>;
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
