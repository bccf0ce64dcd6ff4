//! Options that the traversals have in common: directions, and how their frontier finds its edges.

use clap::{Args, ValueEnum};
use welter_engine::plan::{FrontierMode, IndexMode};
use welter_model::edges::Reading;

use crate::directions::Directions;

/// Direction in which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Direction {
    /// From source to target
    Out,
    /// From target to source
    In,
    /// Both ways, as if the graph were undirected
    Both,
}

impl Direction {
    /// Says so to the readers.
    pub(super) fn put(self, reading: &mut Reading) {
        reading.reversed |= self == Self::In;
    }

    /// Directions in which edges are read for it.
    pub(super) fn ways(self) -> Directions {
        if self == Self::Both { Directions::Both } else { Directions::Stated }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }
}

/// Options of how the edges of active vertices are found.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Advanced")]
pub(super) struct FrontierArgs {
    /// Method by which the edges of active vertices are found; the result is the same
    #[arg(long, value_name = "MODE", default_value = "auto", hide_short_help = true)]
    frontier: Frontier,

    /// Index of the edges of active vertices; the result is the same
    #[arg(long, value_name = "INDEX", default_value = "auto", hide_short_help = true)]
    index: Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Index {
    /// Blocks, and rows (CSR) from when these pay, if they fit the memory budget
    Auto,
    /// The place of each block of sources in each tile: little memory, made fast
    #[value(alias = "bands")]
    Blocks,
    /// Compressed sparse rows: every edge once or twice more, by its ends, for many iterations
    #[value(alias = "rows")]
    Csr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Frontier {
    /// The cheaper way, decided anew in every iteration
    Auto,
    /// All stripes are folded, past tiles without an active source
    Dense,
    /// Vertices look for an active neighbour, where there are rows to look in; else as dense
    Pull,
    /// Each source is looked up in an index
    Sparse,
    /// Parts of a stored graph are finished while they are in memory; else as auto
    #[value(alias = "local")]
    Async,
}

impl FrontierArgs {
    /// The mode, as the engine wants it.
    pub(super) fn mode(self) -> FrontierMode {
        match self.frontier {
            Frontier::Auto => FrontierMode::Auto,
            Frontier::Dense => FrontierMode::Dense,
            Frontier::Pull => FrontierMode::Pull,
            Frontier::Sparse => FrontierMode::Sparse,
            Frontier::Async => FrontierMode::Asynchronous,
        }
    }

    /// The index, as the engine wants it.
    pub(super) fn index(self) -> IndexMode {
        match self.index {
            Index::Auto => IndexMode::Auto,
            Index::Blocks => IndexMode::Granules,
            Index::Csr => IndexMode::Rows,
        }
    }

    pub(super) fn index_name(self) -> &'static str {
        match self.index {
            Index::Auto => "auto",
            Index::Blocks => "blocks",
            Index::Csr => "csr",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self.frontier {
            Frontier::Auto => "auto",
            Frontier::Dense => "dense",
            Frontier::Pull => "pull",
            Frontier::Sparse => "sparse",
            Frontier::Async => "async",
        }
    }
}
