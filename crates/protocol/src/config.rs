//! Configuration that all machines of a run agree on beforehand.

use crate::ids::{Kind, Time};
use crate::partitions::Partitions;
use crate::placement::Placement;
use crate::planted::{ARE_PLANTED, Bug};
use crate::steal::Bias;
use crate::window::Width;

/// Place where updates wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Route {
    /// Nowhere: edges are streamed by their destinations, to who has the accumulators and all
    /// signals in memory.
    Fold,
    /// In update chunks on storage, as in Chaos.
    Spill,
}

/// Way in which accumulators get from a stealer to the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// The stealer keeps them until the master asks.
    Memory,
    /// The stealer stores them and continues; an alternative that the paper rejects.
    Storage,
    /// The stealer sends them when it has ended, and continues; the master merges them between its
    /// chunks, or keeps them until it begins the partition. The other one that the paper rejects.
    Interrupt,
}

/// Order in which a storage engine hands out the chunks of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sets {
    /// Any order.
    Bags,
    /// Order in which they were stored, as of a file with a pointer that advances and is reset when
    /// a step begins (Chaos, section 7). Chunks without an active source are passed over.
    Files,
}

/// Place where the chunks of a vertex set are read, by the machine that stores them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexSets {
    /// The disk of the machine that stores them.
    Disk,
    /// Memory of that machine, where they stay: they are written to its disk all the same.
    Memory,
}

/// Policy for a checkpoint, or edges, that cannot be had from anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The input is read again, as far as that is needed.
    Reingest,
    /// The run ends and says so.
    Refuse,
}

/// Shape in which a cluster cuts what it stores. Names of blocks and the places where they lie
/// follow from it, so what was stored by one shape is of no use to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Machines.
    pub machines: u64,
    /// Streaming partitions.
    pub partitions: u64,
    /// Vertices.
    pub vertices: u64,
    /// Sum over the bounds of partitions, where these are not even.
    pub bounds: u64,
    /// Vertices in a chunk.
    pub chunk_vertices: u64,
    /// By what edges are binned.
    pub route: u64,
}

/// Treatment of edges while they stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// Edges stay as they are.
    Fixed,
    /// The program rewrites what they hold ([`crate::rewriting`]).
    Rewritten,
    /// The program rewrites their ends too: they go to other cells, or are dropped.
    Contracted,
}

/// Blocks that are kept twice, on two machines. All four are sound. Copies of vertices alone are
/// cheap, and lose nothing where one disk is: edges can be read from the input again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copies {
    /// Chunks of vertex sets, that is, checkpoints.
    pub vertices: bool,
    /// Chunks of edges.
    pub edges: bool,
}

impl Copies {
    /// No copies.
    pub const NONE: Self = Self { vertices: false, edges: false };
    /// Copies of checkpoints.
    pub const VERTICES: Self = Self { vertices: true, edges: false };
    /// Copies of edges.
    pub const EDGES: Self = Self { vertices: false, edges: true };
    /// Copies of both.
    pub const BOTH: Self = Self { vertices: true, edges: true };
}

/// Times that things may take, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time after which a message that was not acknowledged is sent again.
    pub resend: Time,
    /// Time between two signs of life.
    pub ping: Time,
    /// Silence after which it is reported to the host.
    pub suspect: Time,
    /// Silence, or a want of a machine, after which the run ends.
    pub patience: Time,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// Partitions of the vertices, and the number of machines.
    pub partitions: Partitions,
    /// Bytes of a vertex in memory, as the steal criterion counts them.
    pub vertex_bytes: u64,
    /// Vertices in a chunk of a vertex set.
    pub chunk_vertices: u64,
    /// Place where updates wait.
    pub route: Route,
    /// Bias of masters towards help.
    pub bias: Bias,
    /// Rule by which chunks get their machines.
    pub placement: Placement,
    /// Number of pulls that are open at a time, within [`crate::window::PullBounds`].
    pub width: Width,
    /// Requests that a storage engine has with its disk at a time.
    pub depth: usize,
    /// Where vertex sets are read.
    pub vertex_sets: VertexSets,
    /// Chunks that a computation engine streams at a time, on as many cores. Machines need not have
    /// as many.
    pub streams: usize,
    /// Bytes of blocks that a computation engine has under way to storage from which on it begins
    /// no further piece of the input and no further chunk.
    pub store_window_bytes: u64,
    /// Updates that a machine keeps in memory of the partition at work, of a program that does not
    /// merge them ([`u64::MAX`]: all). More wait on a disk of its own; machines that help keep as
    /// many of a partition together ([`Config::helped_updates_max`]).
    pub kept_updates_max: u64,
    /// Bins that an ingest has open at a time. Where there are more cells, edges are binned by one
    /// end, and then by the other ([`crate::ingest`]): that takes a bin a partition each time.
    pub bins_open_max: u64,
    /// Way in which accumulators are handed over.
    pub handover: Handover,
    /// In which order chunks are handed out.
    pub sets: Sets,
    /// A checkpoint is made after each such number of iterations, and at the end.
    pub checkpoint_interval: u32,
    /// Whether the barrier after a scatter makes one too, with the updates, where the values are in
    /// one already.
    pub scatter_checkpoints: bool,
    /// Treatment of edges.
    pub edges: Edges,
    /// Whether the program makes updates while it gathers ([`crate::carrying`]).
    pub carries: bool,
    /// Blocks that are kept twice.
    pub copies: Copies,
    /// Policy for what is lost for good.
    pub loss: Loss,
    /// Times that things may take.
    pub timing: Timing,
    /// Picks engines and the order of proposals.
    pub seed: u64,
    /// Whether barriers check the sums against each other. Off only to see whether others notice.
    pub audited: bool,
    /// A bug to be found.
    pub planted: Option<Bug>,
}

impl Config {
    /// Number of machines.
    pub fn machines(&self) -> usize {
        self.partitions.machines()
    }

    /// Shape in which this cluster cuts what it stores.
    pub fn shape(&self) -> Shape {
        Shape {
            machines: self.machines() as u64,
            partitions: self.partitions.count().into(),
            vertices: self.partitions.vertices(),
            bounds: self.partitions.bounds_hash(),
            chunk_vertices: self.chunk_vertices,
            route: self.route as u64,
        }
    }

    /// Chunks of the vertex set of a partition.
    pub fn vertex_chunks(&self, partition: u32) -> u64 {
        let range = self.partitions.range(partition);
        (range.end - range.start).div_ceil(self.chunk_vertices).max(1)
    }

    /// Whether this bug is planted. Never, unless the simulator built this crate, and no release.
    pub(crate) fn has(&self, bug: Bug) -> bool {
        ARE_PLANTED && self.planted == Some(bug)
    }

    /// Whether an assertion that would find this bug, which is planted, is let off, so that it is
    /// left to the simulator's checkers.
    pub(crate) fn tolerates(&self, bug: Bug) -> bool {
        !self.audited && self.has(bug)
    }

    /// Whether the program rewrites edges.
    pub(crate) fn rewrites(&self) -> bool {
        self.edges != Edges::Fixed
    }

    /// Whether rewritten edges are binned anew.
    pub(crate) fn contracts(&self) -> bool {
        self.edges == Edges::Contracted
    }

    /// Whether edges are binned by both their ends.
    pub fn by_cells(&self) -> bool {
        self.route == Route::Fold || self.rewrites()
    }

    /// Whether edges are binned by one end after the other.
    pub fn splits(&self) -> bool {
        let many = self.partitions.cells() > self.bins_open_max;
        self.by_cells() && many && !self.has(Bug::BinsUnbounded)
    }

    /// Updates, or edges that make them, that one machine takes of a partition of another, where
    /// these are kept: it hands them over all at once, as all that help may at the same time.
    pub fn helped_updates_max(&self) -> u64 {
        match self.kept_updates_max {
            u64::MAX => u64::MAX,
            most => (most / self.machines() as u64).max(1),
        }
    }

    /// Whether blocks of this kind are kept twice. Of all others none is: they can be made
    /// again.
    pub fn copies(&self, kind: Kind) -> bool {
        let wanted = match kind {
            Kind::Vertices => self.copies.vertices,
            Kind::Edges => self.copies.edges,
            Kind::Updates | Kind::Accumulators | Kind::Rough => false,
        };
        wanted && self.machines() > 1
    }

    /// Whether manifests are: where anything is that they name.
    pub(crate) fn copies_manifests(&self) -> bool {
        self.copies(Kind::Vertices) || self.copies(Kind::Edges)
    }
}

/// Two machines of one partition each, for tests of single engines.
#[cfg(test)]
pub(crate) fn of_two() -> Config {
    Config {
        partitions: Partitions::fitting(2, 64, 8, 1024).expect("eight bytes a vertex fit"),
        vertex_bytes: 8,
        chunk_vertices: 64,
        route: Route::Spill,
        bias: Bias::PAPER,
        placement: Placement::Random,
        width: Width::Forced(1),
        depth: 1,
        vertex_sets: VertexSets::Disk,
        streams: 1,
        store_window_bytes: 1 << 20,
        kept_updates_max: u64::MAX,
        bins_open_max: u64::MAX,
        handover: Handover::Memory,
        sets: Sets::Bags,
        checkpoint_interval: 1,
        scatter_checkpoints: false,
        edges: Edges::Fixed,
        carries: false,
        copies: Copies::NONE,
        loss: Loss::Refuse,
        timing: Timing { resend: 1, ping: 1, suspect: 1, patience: 1 },
        seed: 1,
        audited: true,
        planted: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_split_that_are_binned_by_both_ends_into_more_bins_than_may_be_open() {
        // Two partitions have four cells.
        for (route, edges, bins_open_max, splits) in [
            (Route::Fold, Edges::Fixed, 3, true),
            (Route::Fold, Edges::Fixed, 4, false),
            (Route::Fold, Edges::Rewritten, 3, true),
            (Route::Spill, Edges::Rewritten, 3, true),
            (Route::Spill, Edges::Rewritten, 4, false),
            (Route::Spill, Edges::Contracted, 3, true),
            (Route::Spill, Edges::Contracted, 4, false),
            (Route::Spill, Edges::Fixed, 0, false),
        ] {
            let config = Config { route, bins_open_max, edges, ..of_two() };
            assert_eq!(config.splits(), splits, "{route:?}, {edges:?}, {bins_open_max} bins");
        }
    }
}
