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
    /// Which process that is.
    pub from_incarnation: u32,
    /// Whom it is for.
    pub to: Rank,
    /// Which process that is; 0 where the sender does not know.
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
    /// The answer: the sender has left its old epoch.
    Join {
        /// Encoded manifests that it keeps.
        manifests: Vec<Bytes>,
    },
    /// A sign of life.
    Ping,
    /// Another. Also carries acknowledgements.
    Pong,
    /// Go back to a checkpoint, or to nothing.
    Install(Box<Install>),
    /// The answer.
    Installed {
        /// Kinds of blocks that the manifest places here, and that cannot be had.
        lost: Lost,
        /// Chunks of edges and updates here, by cell, where there is a directory.
        chunk_sets: Vec<(Kind, Cell, u64)>,
    },
    /// Send what you have of mine, or what I mirror of yours.
    Fetch {
        /// In which role the asked one has it.
        role: Role,
        /// Blocks that the sender has.
        have: Vec<BlockName>,
    },
    /// A block that was asked for.
    Copied {
        /// Name and sums of the block, as it was read.
        block: Block,
        /// Its bytes.
        payload: Payload,
    },
    /// All that could be read was sent.
    CopiesEnd {
        /// In which role they were read.
        role: Role,
        /// How many.
        count: u64,
    },
    /// A step begins.
    Begin(Begin),
    /// The computation engine of the sender has done all it can in a step.
    Arrive {
        /// Which.
        step: Step,
        /// Sums of its step.
        worked: Worked,
        /// Partitions that it made or applied.
        made: Vec<Made>,
    },
    /// All have arrived: say what was served, and make it durable if this is a checkpoint.
    Close {
        /// Which step.
        step: Step,
        /// Whether vertices (and after an ingest, edges) must be durable.
        checkpoint: bool,
    },
    /// The answer.
    Closed {
        /// Which step.
        step: Step,
        /// Sums of chunks that were served.
        served: Served,
        /// Parts of the checkpoint that are durable here.
        parts: Vec<CheckpointShard>,
        /// All edges here.
        edges: Sum,
        /// All updates of this iteration here.
        updates: Sum,
    },
    /// Keep a copy of a manifest.
    MirrorManifest(Bytes),
    /// It is durable.
    ManifestMirrored,
    /// The result is committed; nothing more will come.
    Finish(Arc<Manifest>),
    /// Keep a block.
    Store {
        /// Name and sums of the block.
        block: Block,
        /// Its bytes.
        payload: Payload,
    },
    /// It is kept.
    Stored(BlockName),
    /// Any chunk, please.
    Pull(Pull),
    /// Here is one. It is no one else's now.
    Chunk {
        /// Request that this answers.
        pull: Pull,
        /// Name and sums of the block.
        block: Block,
        /// Its bytes.
        payload: Payload,
        /// Time that it waited for others.
        queued: Time,
        /// Time that it took by itself.
        service: Time,
        /// Stock that is left.
        stock: Stock,
    },
    /// There is none any more.
    NoChunk {
        /// Request that this answers.
        pull: Pull,
        /// Stock that is left of other cells.
        stock: Stock,
    },
    /// A named block, please: vertices, or accumulators.
    Get(BlockName),
    /// Here it is.
    Got {
        /// Its name.
        name: BlockName,
        /// Its bytes.
        payload: Payload,
    },
    /// How many edges leave each vertex, as far as the sender has read them.
    Degrees {
        /// Of the vertices of this partition.
        partition: u32,
        /// Counts.
        payload: Payload,
    },
    /// Question where a chunk is to be stored, or, of vertices, lies. (To a central directory, as
    /// all below.)
    Place(BlockName),
    /// There.
    Placed {
        /// Which chunk.
        name: BlockName,
        /// At whom.
        engine: Rank,
    },
    /// Question to a directory: which engine has a chunk?
    Find {
        /// In which step.
        step: Step,
        /// Of what.
        cell: Cell,
        /// Not these.
        none: Vec<Rank>,
    },
    /// A machine, or none.
    Found {
        /// In which step.
        step: Step,
        /// Of what.
        cell: Cell,
        /// Engine that has one, if any does.
        engine: Option<Rank>,
    },
    /// Shall I help?
    Propose {
        /// In which step.
        step: Step,
        /// With which partition.
        partition: u32,
    },
    /// The answer.
    Proposed {
        /// In which step.
        step: Step,
        /// With which partition.
        partition: u32,
        /// Whether.
        accepted: bool,
    },
    /// The sender helped with a partition, and no engine has anything left of it.
    Ended {
        /// In which step.
        step: Step,
        /// With which partition.
        partition: u32,
    },
    /// The sender has failed, and can do no more. Repeated.
    Fail(Failure),
    /// The run ends with this. Repeated.
    Abort(Failure),
    /// The sender has received that.
    Aborting,
    /// The master has done its own part: your accumulators, please.
    Collect {
        /// In which step.
        step: Step,
        /// Of which partition.
        partition: u32,
    },
    /// Here they are.
    Accumulators {
        /// In which step.
        step: Step,
        /// Of which partition.
        partition: u32,
        /// Them.
        payload: Payload,
    },
    /// Accumulators are on storage (an ablation).
    Parked {
        /// In which step.
        step: Step,
        /// As what.
        name: BlockName,
        /// At whom.
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

/// Where a new epoch begins.
#[derive(Clone, Debug)]
pub struct Install {
    /// Incarnations of all ranks.
    pub roster: Vec<u32>,
    /// The checkpoint to go back to.
    pub manifest: Option<Arc<Manifest>>,
    /// One before, to be kept too.
    pub previous: Option<Arc<Manifest>>,
}

/// Kinds of blocks that a manifest places at a machine, and that it lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
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
    /// Which.
    pub step: Step,
    /// Decision of the program after the last iteration.
    pub control: Bytes,
    /// The epoch in which the vertices were made that this step reads.
    pub made: Epoch,
    /// The edges that it reads.
    pub generation: Generation,
    /// Whether it rewrites them.
    pub rewrites: bool,
    /// Edges are read again; vertices are there.
    pub edges_only: bool,
    /// Which ranges of each partition have active vertices: what else is there need not be read.
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
    /// In which step. (The epoch is on the envelope.)
    pub step: Step,
    /// Of what.
    pub cell: Cell,
    /// Iterations that made the edges which it streams ([`Generation`]): the step may not have
    /// begun where this comes.
    pub generation: u32,
    /// Which ranges of sources are active; see [`Block::sources`].
    pub active: u64,
    /// When it was sent, by the clock of the sender.
    pub sent: Time,
    /// Whether the answer shall list other cells; see [`Stock::cells`].
    pub tells: bool,
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
pub struct Made {
    /// Which.
    pub partition: u32,
    /// Its total.
    pub total: Bytes,
    /// Which of its 64 ranges have active vertices.
    pub active: u64,
}

/// Event that a machine receives.
#[derive(Clone, Debug)]
pub enum Event {
    /// It has started, and this is on its storage. Always the first.
    Start {
        /// Blocks whose headers are whole.
        blocks: Vec<Block>,
        /// Encoded manifests.
        manifests: Vec<Bytes>,
    },
    /// Some time has passed. Comes every few `resend`s.
    Tick,
    /// A message has come.
    Message(Envelope),
    /// A block was read.
    Read {
        /// From the effect.
        token: u64,
        /// Its header and bytes.
        result: Result<(Block, Payload), Damage>,
    },
    /// Something was written, or is durable now.
    Written {
        /// From the effect.
        token: u64,
        /// Whether it worked.
        ok: bool,
    },
    /// Something was looked up in the central directory.
    Consulted {
        /// From the effect.
        token: u64,
    },
    /// The machine cannot continue: bad input, too small a budget, or the user has had enough.
    Fail {
        /// Kind of the reason.
        why: Exit,
        /// A sentence for a person, with places.
        what: Arc<str>,
    },
    /// The program has done what was asked.
    Done {
        /// From the effect.
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
        /// For the answer.
        token: u64,
        /// Which.
        name: BlockName,
    },
    /// Write a block. It need not be durable.
    Write {
        /// For the answer.
        token: u64,
        /// Name and sums of the block.
        block: Block,
        /// Its bytes.
        payload: Payload,
    },
    /// Make blocks durable that were written, and their names. One that was deleted since is left
    /// out.
    Sync {
        /// For the answer.
        token: u64,
        /// Which.
        names: Vec<BlockName>,
    },
    /// Keep a manifest, durably and as a whole or not at all.
    Persist {
        /// For the answer.
        token: u64,
        /// The manifest.
        manifest: Arc<Manifest>,
    },
    /// Look something up in the central directory, where there is one: all that takes is time.
    Consult {
        /// For the answer.
        token: u64,
    },
    /// Forget a manifest.
    Forget(Arc<Manifest>),
    /// Forget a block.
    Delete(BlockName),
    /// Let the program do something.
    Work {
        /// For the answer.
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
