//! Names of what the protocol speaks of: machines, epochs, steps, blocks on storage.

use std::fmt;
use std::sync::Arc;

use crate::payload::Payload;
use crate::random::mix;

/// Number of a machine's place in the cluster, from 0. Who fills it may change.
pub type Rank = usize;

/// Nanoseconds since some beginning that never goes back.
pub type Time = u64;

/// Bytes that travel inside of messages and manifests, because they are few: decisions, totals.
pub type Bytes = Arc<[u8]>;

/// Number of the present membership; everything that is sent or stored carries it.
///
/// The host gives every process that fills a rank a larger *incarnation* than its predecessor's. An
/// epoch is named by the incarnation of the coordinator that began it and a count of its own, so
/// two coordinators, of which one does not know yet that it was replaced, never name the same
/// epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    /// Incarnation of the coordinator.
    pub coordinator: u32,
    /// Count of its epochs.
    pub count: u32,
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.coordinator, self.count)
    }
}

/// Edges as they were stored at one time: in the ingest of an epoch, or, where the program rewrites
/// them, in the last of a number of iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Generation {
    /// The epoch in which they were stored.
    pub epoch: Epoch,
    /// Iterations in which they were rewritten.
    pub iteration: u32,
}

/// A part of an iteration between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Edges are read from the input and stored; vertices get their first values.
    Ingest,
    /// Edges of a destination partition, which the ingest has binned by it alone, are streamed, and
    /// stored by the partition of their sources too.
    Split,
    /// Edges of a source partition are streamed, updates are stored (route `spill`).
    Scatter,
    /// Updates of a destination partition are streamed and applied (route `spill`).
    Gather,
    /// Edges of a destination partition are streamed, folded and applied (route `fold`).
    Fold,
}

impl Phase {
    /// Whether what is made in it is stored by the machine that streams: there are no accumulators
    /// then.
    pub(crate) fn stores(self) -> bool {
        matches!(self, Self::Split | Self::Scatter)
    }
}

/// Iteration and phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Iterations that were done before.
    pub iteration: u32,
    /// Phase that is at work.
    pub phase: Phase,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.phase, self.iteration)
    }
}

/// Kind of a block on storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A chunk of edges.
    Edges,
    /// A chunk of updates.
    Updates,
    /// A chunk of a vertex set.
    Vertices,
    /// Accumulators of a stealer that does not wait (an ablation).
    Accumulators,
    /// A chunk of edges that are binned by their destinations alone, until they are split.
    Rough,
}

/// Edges or updates that are pulled together: those of a streaming partition, or, of edges on route
/// `fold`, those that also come from one *source* partition.
///
/// ```text
/// split            (p, -)   edges to p, from anywhere
/// spill, scatter   (p, -)   edges from p, to anywhere      spill, gather   (p, -)   updates for p
/// fold             (p, s)   edges from s to p: who streams them needs the signals of s alone
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// The partition that streams it.
    pub partition: u32,
    /// Partition of the sources, where edges are binned by both.
    pub source: Option<u32>,
}

impl Cell {
    /// Cell of all sources of a partition.
    pub fn all(partition: u32) -> Self {
        Self { partition, source: None }
    }

    /// The partition of its sources, if it is one of edges.
    pub fn sources(self) -> u32 {
        self.source.unwrap_or(self.partition)
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(source) => write!(f, "({}, {source})", self.partition),
            None => write!(f, "{}", self.partition),
        }
    }
}

/// Whether a block is what is asked for, or a copy for the day when that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Lies where placement put it.
    Primary,
    /// Lies one machine further.
    Mirror,
}

/// Name of a block. Its header on storage says the same, so that a block that lies in the wrong
/// place, or is left over from another time, is not taken for what it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockName {
    /// Kind of its content.
    pub kind: Kind,
    /// Primary or mirror.
    pub role: Role,
    /// The epoch in which it was made.
    pub epoch: Epoch,
    /// Iterations that were done: of vertices those whose result they are, of edges those in which
    /// they were rewritten.
    pub iteration: u32,
    /// Streaming partition.
    pub partition: u32,
    /// Of edges on route `fold` the partition of their sources, which makes a [`Cell`] with the one
    /// above. Else none.
    pub source: Option<u32>,
    /// Of vertices the place among the chunks of their partition, else any number that no other
    /// block of the epoch has.
    pub number: u64,
}

#[cfg(test)]
impl BlockName {
    /// A primary block of edges of partition 0, for tests.
    pub(crate) fn of_edges(number: u64) -> Self {
        Self {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch: Epoch::default(),
            iteration: 0,
            partition: 0,
            source: None,
            number,
        }
    }
}

/// Numbers of blocks have the rank of their maker above this bit.
pub(crate) const MAKER_SHIFT: u32 = 40;

impl BlockName {
    /// The name of the block in another role.
    #[must_use]
    pub fn as_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Of edges, what they belong to.
    pub fn generation(&self) -> Generation {
        Generation { epoch: self.epoch, iteration: self.iteration }
    }

    /// Rank of the machine that made it; of chunks of vertex sets, whose numbers count, 0.
    pub(crate) fn maker(&self) -> Rank {
        (self.number >> MAKER_SHIFT) as Rank
    }

    /// Where it is looked for.
    pub fn cell(&self) -> Cell {
        Cell { partition: self.partition, source: self.source }
    }
}

impl fmt::Display for BlockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, role, epoch, iteration, number, .. } = self;
        let mirror = if *role == Role::Mirror { " (mirror)" } else { "" };
        write!(f, "{kind:?} {}/{number:x} of {epoch}:{iteration}{mirror}", self.cell())
    }
}

/// Key that chunks are looked for by: kind, the iteration that they are named by, cell.
pub(crate) type ChunkSetKey = (Kind, u32, Cell);

/// A block as its header describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Name of the block.
    pub name: BlockName,
    /// Edges, or updates: as many as records stand for, where updates were combined.
    pub records: u32,
    /// Bytes of its payload.
    pub bytes: u32,
    /// Sources that its edges have, a bit for each of 64 ranges of the partition of the sources. Of
    /// all else: all bits.
    pub sources: u64,
    /// Checksum of its payload.
    pub hash: u64,
}

impl Block {
    /// The block of this name with this payload, of which no byte is looked at.
    pub fn of(name: BlockName, records: u32, sources: u64, payload: &Payload) -> Self {
        Self { name, records, bytes: payload.len() as u32, sources, hash: payload.hash() }
    }

    /// Number that stands for it in sums that do not depend on an order.
    pub fn identity(&self) -> u64 {
        let BlockName { epoch, partition, source, number, kind, iteration, .. } = self.name;
        let place = number ^ u64::from(partition) << 40 ^ u64::from(iteration) << 20;
        let place = place ^ mix(source.map_or(0, |source| 1 + u64::from(source)));
        let time = u64::from(epoch.coordinator) << 40 ^ u64::from(epoch.count) << 8;
        mix(mix(place) ^ time ^ kind as u64)
    }
}
