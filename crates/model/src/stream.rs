//! The stream program: a pass over the edges, each folded into a state of the whole graph.
//!
//! Where a fold program iterates, a stream program sees every edge once, in any order, and keeps
//! what it learnt in a cell for each vertex: union-find for components is the model. Cells are
//! shared by all threads, so they must allow that by themselves.
//!
//! Edges come in rounds, a few of them first, and between two rounds every cell may be tidied up.
//! Before an edge is shown the program is asked whether it can be news, from two cells alone: most
//! edges are none, and that is found out for many of them at once.
//!
//! Invariant: the answer does not depend on the order of the edges, on who saw which, or on how
//! many rounds there were.

use bytemuck::Zeroable;

use crate::program::Value;

/// A stream program.
pub trait Stream: Sync {
    /// What becomes of each vertex.
    type Value: Value;
    /// What is learnt of a vertex.
    type Cell: Zeroable + Send + Sync;

    /// Whether `edge` looks at weights. Where it does not, they are not read.
    const WEIGHTED: bool = false;

    /// Whether cells are 32 bits, and edges news where those of their ends are unequal. Many edges
    /// are looked at with one instruction then.
    const UNEQUAL: bool = false;

    /// The cell of a vertex before the first edge.
    fn cell(&self, vertex: u32) -> Self::Cell;

    /// Whether an edge between vertices with these cells can teach anything, now or later. What is
    /// no news is not shown. Asked of every edge: loads and comparisons, but no branches.
    fn news(&self, source: &Self::Cell, target: &Self::Cell) -> bool;

    /// Learns from an edge between the vertices of two numbers. It was news a moment ago; edges
    /// that were shown since may have made it none.
    fn edge(&self, cells: &[Self::Cell], source: u32, target: u32, weight: f64);

    /// Tidies the cell of a vertex up, between rounds. Others are tidied up meanwhile.
    fn settle(&self, cells: &[Self::Cell], vertex: u32);

    /// The value of a vertex when all edges were seen.
    fn value(&self, cells: &[Self::Cell], vertex: u32) -> Self::Value;
}
