//! Messages between machines and from the host, and the effects that a machine wants done. (What
//! the program shall do is in [`crate::work`].)

use std::sync::Arc;

use crate::ack::Ack;
use crate::audit::{Served, Sum, Worked};
use crate::block::Damage;
use crate::checkpoint::{CheckpointShard, Manifest};
pub use crate::failure::Exit;
use crate::failure::Failure;
use crate::ids::{Block, BlockName, Bytes, Cell, Epoch, Generation, Kind, Rank, Role, Step, Time};
use crate::payload::Payload;
use crate::work::{Outcome, Work};

/// A message with what is written on it.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Sender.
    pub from: Rank,
    /// Incarnation of the sender: which of its processes this is.
    pub from_incarnation: u32,
    /// Receiver.
    pub to: Rank,
    /// Incarnation of the receiver; 0 where the sender does not know.
    pub to_incarnation: u32,
    /// The epoch of the sender.
    pub epoch: Epoch,
    /// Number in the channel; 0 for what may get lost.
    pub number: u64,
    /// Acknowledgement of all that the sender has received.
    pub ack: Ack,
    /// Content.
    pub message: Message,
}

/// Content of an envelope.
#[derive(Clone, Debug)]
pub enum Message {
    /// A process has started, or (`needs_new_epoch`) cannot continue in this epoch. Repeated.
    Hello {
        /// Something was lost or is wrong, and only a new epoch helps.
        needs_new_epoch: bool,
    },
    /// The coordinator begins an epoch. Repeated.
    Summon,
    /// Answer to that: the sender has left its old epoch.
    Join {
        /// Encoded manifests that it keeps.
        manifests: Vec<Bytes>,
    },
    /// A sign of life.
    Ping,
    /// Answer to that, which carries acknowledgements too.
    Pong,
    /// Order to go back to a checkpoint, or to nothing.
    Install(Box<Install>),
    /// Answer to that.
    Installed {
        /// Kinds of blocks that the manifest places here, and that cannot be had.
        lost: MissingBlocks,
        /// Chunks of edges and updates here, by cell, where there is a directory.
        chunk_sets: Vec<(Kind, Cell, u64)>,
    },
    /// Request for what the receiver has of the sender, or the sender mirrors of the receiver.
    Fetch {
        /// Role in which the receiver has the blocks.
        role: Role,
        /// Blocks that the sender has.
        have: Vec<BlockName>,
    },
    /// A block that was asked for.
    Copied {
        /// Name and sums of the block, as it was read.
        block: Block,
        /// Bytes of the block.
        payload: Payload,
    },
    /// End of copies: all that could be read was sent.
    CopiesEnd {
        /// Role in which they were read.
        role: Role,
        /// Number of copies.
        count: u64,
    },
    /// A step begins.
    Begin(Begin),
    /// The computation engine of the sender has done all it can in a step.
    Arrive {
        /// Step that ends for the sender.
        step: Step,
        /// Sums of its step.
        worked: Worked,
        /// Partitions that it made or applied.
        made: Vec<PartitionOutcome>,
    },
    /// End of a step at all machines: the receiver tells what it served, and makes it durable at a
    /// checkpoint.
    Close {
        /// Step that ends.
        step: Step,
        /// Whether vertices (and after an ingest, edges) must be durable.
        checkpoint: bool,
    },
    /// Answer to that.
    Closed {
        /// Step that ends.
        step: Step,
        /// Sums of chunks that were served.
        served: Served,
        /// Parts of the checkpoint that are durable here.
        parts: Vec<CheckpointShard>,
        /// Edges that the sender stores.
        edges: Sum,
        /// Updates of this iteration that the sender stores.
        updates: Sum,
    },
    /// Order to keep a copy of a manifest.
    MirrorManifest(Bytes),
    /// Answer: the copy of the manifest is durable.
    ManifestMirrored,
    /// The result is committed; nothing more will come.
    Finish(Arc<Manifest>),
    /// Order to store a block.
    Store {
        /// Name and sums of the block.
        block: Block,
        /// Bytes of the block.
        payload: Payload,
    },
    /// Answer: the block is stored.
    Stored(BlockName),
    /// Request for any chunk of a cell.
    Pull(Pull),
    /// Answer to a pull: a chunk, which no other machine gets in this step.
    Chunk {
        /// Request that this answers.
        pull: Pull,
        /// Name and sums of the block.
        block: Block,
        /// Bytes of the block.
        payload: Payload,
        /// Time that it waited for others.
        queued: Time,
        /// Time that it took by itself.
        service: Time,
        /// Stock that is left.
        stock: Stock,
    },
    /// Answer to a pull: no chunk is left.
    NoChunk {
        /// Request that this answers.
        pull: Pull,
        /// Stock that is left of other cells.
        stock: Stock,
    },
    /// Request for a named block: vertices, or accumulators.
    Get(BlockName),
    /// Answer to that: the block.
    Got {
        /// Name of the block.
        name: BlockName,
        /// Bytes of the block.
        payload: Payload,
    },
    /// Number of edges that leave each vertex, as far as the sender has read them.
    Degrees {
        /// Of the vertices of this partition.
        partition: u32,
        /// Counts.
        payload: Payload,
    },
    /// Question where a chunk is to be stored, or, of vertices, lies. (To a central directory, as
    /// all below.)
    Place(BlockName),
    /// Answer: the engine of the chunk.
    Placed {
        /// Name of the chunk.
        name: BlockName,
        /// Engine that stores it.
        engine: Rank,
    },
    /// Question to a directory: which engine has a chunk?
    Find {
        /// Step of the sender.
        step: Step,
        /// Cell of the chunk.
        cell: Cell,
        /// Engines that have said that they have none.
        none: Vec<Rank>,
    },
    /// Answer to that: an engine, or none.
    Found {
        /// Step of the sender.
        step: Step,
        /// Cell of the chunk.
        cell: Cell,
        /// Engine that has one, if any does.
        engine: Option<Rank>,
    },
    /// Proposal to help with a partition.
    Propose {
        /// Step of the sender.
        step: Step,
        /// Partition to help with.
        partition: u32,
    },
    /// Answer to a proposal.
    Proposed {
        /// Step of the sender.
        step: Step,
        /// Partition to help with.
        partition: u32,
        /// Whether help is accepted.
        accepted: bool,
    },
    /// The sender helped with a partition, and no engine has anything left of it.
    Ended {
        /// Step of the sender.
        step: Step,
        /// Partition to help with.
        partition: u32,
    },
    /// The sender has failed, and can do no more. Repeated.
    Fail(Failure),
    /// The run ends with this. Repeated.
    Abort(Failure),
    /// Answer to that: the sender has received it.
    Aborting,
    /// Request of a master that has done its own part, for the accumulators of the stealer.
    Collect {
        /// Step of the sender.
        step: Step,
        /// Partition of the accumulators.
        partition: u32,
    },
    /// Answer to that: the accumulators.
    Accumulators {
        /// Step of the sender.
        step: Step,
        /// Partition of the accumulators.
        partition: u32,
        /// Bytes of the accumulators.
        payload: Payload,
    },
    /// Accumulators are on storage (an ablation).
    Parked {
        /// Step of the sender.
        step: Step,
        /// Name of the block.
        name: BlockName,
        /// Engine that stores it.
        engine: Rank,
    },
}

impl Message {
    /// Bulk bytes that it carries.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Store { payload, .. }
            | Self::Chunk { payload, .. }
            | Self::Got { payload, .. }
            | Self::Copied { payload, .. }
            | Self::Degrees { payload, .. }
            | Self::Accumulators { payload, .. } => Some(payload),
            _ => None,
        }
    }
}

/// State in which a new epoch begins.
#[derive(Clone, Debug)]
pub struct Install {
    /// Incarnations of all ranks.
    pub incarnations: Vec<u32>,
    /// The checkpoint to go back to.
    pub manifest: Option<Arc<Manifest>>,
    /// Checkpoint before that one, which is kept too.
    pub previous: Option<Arc<Manifest>>,
}

/// Kinds of blocks that a manifest places at a machine, and that it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingBlocks {
    /// Edges: they must be read again.
    pub edges: bool,
    /// Vertices: the manifest is of no use.
    pub vertices: bool,
    /// Updates: they must be made again.
    pub updates: bool,
}

/// The beginning of a step.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Step that begins.
    pub step: Step,
    /// Decision of the program after the last iteration.
    pub control: Bytes,
    /// The epoch in which the vertices were made that this step reads.
    pub made: Epoch,
    /// The edges that it reads.
    pub generation: Generation,
    /// Whether the step rewrites its edges.
    pub rewrites: bool,
    /// Edges are read again; vertices are there.
    pub edges_only: bool,
    /// Ranges of each partition that have active vertices: what else is there need not be read.
    pub active: Arc<[u64]>,
    /// Manifest that the barrier before committed.
    pub committed: Option<Arc<Manifest>>,
}

impl Begin {
    /// Ranges of a partition that have active vertices.
    pub(crate) fn active_of(&self, partition: u32) -> u64 {
        self.active.get(partition as usize).copied().unwrap_or(0)
    }
}

/// Request of a computation engine to a storage engine: never *which* chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// Step of the sender. (The epoch is on the envelope.)
    pub step: Step,
    /// Cell of the chunk.
    pub cell: Cell,
    /// Iterations that made the edges which it streams ([`Generation`]): the step may not have
    /// begun where this comes.
    pub generation: u32,
    /// Ranges of sources that are active; see [`Block::sources`].
    pub active: u64,
    /// When it was sent, by the clock of the sender.
    pub sent: Time,
    /// Whether the answer shall list other cells; see [`Stock::cells`].
    pub lists: bool,
}

/// Chunks that a storage engine has left when it answers a pull.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stock {
    /// Whether it has another chunk of the cell.
    pub more: bool,
    /// Bytes of the chunks of the partition that it can still hand out in the step, of all cells.
    /// None where the step has not begun there.
    pub left: Option<u64>,
    /// Source partitions of the cells of the same partition of which it has a chunk, if it was
    /// asked to list them.
    pub cells: Vec<u32>,
}

/// Outcome of a partition, as all must know before the next step.
#[derive(Clone, Debug)]
pub struct PartitionOutcome {
    /// Partition that was made or applied.
    pub partition: u32,
    /// Total of the partition.
    pub total: Bytes,
    /// Ranges of the partition, of 64, that have active vertices.
    pub active: u64,
}

/// Event that a machine receives.
#[derive(Clone, Debug)]
pub enum Event {
    /// Start of the machine, with what is on its storage. Always the first.
    Start {
        /// Blocks whose headers are whole.
        blocks: Vec<Block>,
        /// Encoded manifests.
        manifests: Vec<Bytes>,
    },
    /// Time has passed. Comes every few `resend`s.
    Tick,
    /// A message has come.
    Message(Envelope),
    /// A block was read.
    Read {
        /// Token of the effect.
        token: u64,
        /// Header and bytes of the block.
        result: Result<(Block, Payload), Damage>,
    },
    /// Something was written, or is durable now.
    Written {
        /// Token of the effect.
        token: u64,
        /// Whether the system did it.
        ok: bool,
    },
    /// Something was looked up in the central directory.
    Consulted {
        /// Token of the effect.
        token: u64,
    },
    /// The host has started a process in the place of this rank, which has not begun, and says so
    /// now and then: the rank is not missed meanwhile.
    Awaited(Rank),
    /// The machine cannot continue: bad input, too small a budget, or the user has had enough.
    Fail {
        /// Kind of the reason.
        why: Exit,
        /// A sentence for a person, with places.
        what: Arc<str>,
    },
    /// The program has done what was asked.
    Done {
        /// Token of the effect.
        token: u64,
        /// Result of the work.
        outcome: Outcome,
    },
}

/// Effect that a machine asks of its host.
///
/// Effects on one block ([`Effect::Read`], [`Effect::Write`], [`Effect::Sync`],
/// [`Effect::Delete`]), or on manifests of one age, take place in the order in which they are
/// wanted. All else may overlap and overtake: where an order matters, the machine waits for an
/// answer.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send a message.
    Send(Envelope),
    /// Read a block.
    Read {
        /// Token of the answer.
        token: u64,
        /// Name of the block.
        name: BlockName,
    },
    /// Write a block. It need not be durable.
    Write {
        /// Token of the answer.
        token: u64,
        /// Name and sums of the block.
        block: Block,
        /// Bytes of the block.
        payload: Payload,
    },
    /// Make blocks durable that were written, and their names. One that was deleted since is left
    /// out.
    Sync {
        /// Token of the answer.
        token: u64,
        /// Names of the blocks.
        names: Vec<BlockName>,
    },
    /// Keep a manifest, durably and as a whole or not at all.
    Persist {
        /// Token of the answer.
        token: u64,
        /// The manifest.
        manifest: Arc<Manifest>,
    },
    /// Look something up in the central directory, where there is one: all that takes is time.
    Consult {
        /// Token of the answer.
        token: u64,
    },
    /// Forget a manifest.
    Forget(Arc<Manifest>),
    /// Forget a block.
    Delete(BlockName),
    /// Let the program do something.
    Work {
        /// Token of the answer.
        token: u64,
        /// In which epoch.
        epoch: Epoch,
        /// Piece of work.
        work: Work,
    },
    /// A machine has been silent for long.
    Suspect(Rank),
    /// The result is committed.
    Finished(Arc<Manifest>),
    /// This process can do no more.
    Exit(Failure),
}
