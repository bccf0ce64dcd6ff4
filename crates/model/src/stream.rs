//! The stream program: one pass over the edges, each folded into a state of the whole graph.
//!
//! Where a fold program iterates, a stream program sees every edge once, in any order, and keeps
//! what it learnt in a state that takes memory by the vertex: union-find for components is the
//! model. The state is shared by all threads, so it must allow that by itself.
//!
//! Invariant: the answer does not depend on the order of the edges, or on who saw which.

use crate::program::Value;

/// A stream program.
pub trait Stream: Sync {
    /// What becomes of each vertex.
    type Value: Value;
    /// What is learnt of the graph.
    type State: Sync;

    /// Whether `edge` looks at weights. Where it does not, they are not read.
    const WEIGHTED: bool = false;

    /// Bytes of state for each vertex.
    const STATE_BYTES: u64;

    /// The state before the first edge of a graph of so many vertices.
    fn begin(&self, vertices: u64) -> Self::State;

    /// Learns from an edge between the vertices of two numbers.
    fn edge(&self, state: &Self::State, source: u32, target: u32, weight: f64);

    /// The value of a vertex when all edges were seen.
    fn value(&self, state: &Self::State, vertex: u32) -> Self::Value;
}
