//! The stream program: one pass over the edges, each folded into a state of the whole graph.
//!
//! Where a fold program iterates, a stream program sees every edge once, in any order, and keeps
//! what it learnt in a cell for each vertex: union-find for components is the model. Cells are
//! shared by all threads, so they must allow that by themselves.
//!
//! Invariant: the answer does not depend on the order of the edges, or on who saw which.

use bytemuck::Zeroable;

use crate::program::Value;

/// A stream program.
pub trait Stream: Sync {
    /// What becomes of each vertex.
    type Value: Value;
    /// What is learnt of a vertex. All cells are zeroed at first.
    type Cell: Zeroable + Send + Sync;

    /// Whether `edge` looks at weights. Where it does not, they are not read.
    const WEIGHTED: bool = false;

    /// Learns from an edge between the vertices of two numbers.
    fn edge(&self, cells: &[Self::Cell], source: u32, target: u32, weight: f64);

    /// The value of a vertex when all edges were seen.
    fn value(&self, cells: &[Self::Cell], vertex: u32) -> Self::Value;
}
