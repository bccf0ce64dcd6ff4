//! Stages that all vertices of a fold program enter together.
//!
//! Totals say as of which stage vertices speak, and are handed back an iteration later: a stage
//! that lasts until nothing happens ends with an iteration in which nothing does.
//!
//! Vertices that are open, from all at first to none at the end, of a circle of three and a vertex
//! that it leads to:
//!
//! ```
//! # use welter_testing::{graph::Graph, interpreter::interpret, reading::read_as};
//! use welter_algorithms::{StrongLabels, stages::Round};
//! use welter_model::edges::{Duplicates, Reading};
//!
//! let circle = Graph::new(4, vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
//! let rounds: Vec<Round> = interpret(&read_as(&circle, ways), &StrongLabels).totals;
//! let open: Vec<u64> = rounds.iter().map(|round| round.open).collect();
//! assert_eq!((open[0], open[open.len() - 1]), (4, 0));
//! assert!(open.windows(2).all(|pair| pair[0] >= pair[1]));
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::program::{Next, Total};

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Round {
    /// The stage as of which vertices speak that are not done.
    pub(crate) stage: u64,
    /// Vertices that are not done.
    pub open: u64,
    /// Vertices of which something is known that was not before.
    pub(crate) changed: u64,
}

impl Round {
    /// The totals of a vertex that is not done, or has just come to be.
    #[inline(always)]
    pub(crate) fn of(stage: u32, is_open: bool, is_changed: bool) -> Self {
        Self { stage: stage.into(), open: is_open.into(), changed: is_changed.into() }
    }

    /// Whether the run continues.
    pub(crate) fn follows(&self) -> Next {
        if self.open > 0 { Next::Iterate } else { Next::Stop }
    }
}

impl Total for Round {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self {
            stage: self.stage.max(other.stage),
            open: self.open + other.open,
            changed: self.changed + other.changed,
        }
    }
}
