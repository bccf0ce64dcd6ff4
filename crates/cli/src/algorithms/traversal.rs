//! What the traversals have in common: directions, and how their frontier finds its edges.

use clap::{Args, ValueEnum};
use welter_engine::plan::FrontierMode;
use welter_input::ReadOptions;
use welter_model::edges::Reading;

/// Which way edges are followed.
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
    pub(super) fn put(self, options: &mut ReadOptions, reading: &mut Reading) {
        match self {
            Self::Out => {}
            Self::In => reading.reversed = true,
            Self::Both => options.undirected = Some(true),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Both => "both",
        }
    }
}

/// How the edges of active vertices are found.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Advanced")]
pub(super) struct FrontierArgs {
    /// How the edges of active vertices are found; the result is the same
    #[arg(long, value_name = "MODE", default_value = "auto", hide_short_help = true)]
    frontier: Frontier,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Frontier {
    /// The cheaper way, decided anew in every iteration
    Auto,
    /// All stripes are folded, past tiles without an active source
    Dense,
    /// Vertices look for an active neighbour, where edges run both ways; else as dense
    Pull,
    /// Each source is looked up in an index
    Sparse,
}

impl FrontierArgs {
    /// The same, as the engine wants it.
    pub(super) fn mode(self) -> FrontierMode {
        match self.frontier {
            Frontier::Auto => FrontierMode::Auto,
            Frontier::Dense => FrontierMode::Dense,
            Frontier::Pull => FrontierMode::Pull,
            Frontier::Sparse => FrontierMode::Sparse,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self.frontier {
            Frontier::Auto => "auto",
            Frontier::Dense => "dense",
            Frontier::Pull => "pull",
            Frontier::Sparse => "sparse",
        }
    }
}
