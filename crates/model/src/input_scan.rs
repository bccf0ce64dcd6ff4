//! Input scans: what edges add up to in one pass over the input.
//!
//! Where the update of an edge does not depend on what other edges do, no edge has to wait for
//! another, and none has to be found again. So nothing is sorted, and no graph is made: each edge
//! is met where the input has it, by the *slots* of its ends ([`crate::edges`]). Numbers of
//! vertices are not known there.
//!
//! Invariant: a vertex is updated in the order of the input, an edge before its reverse, so sums of
//! floats have the same bits whichever thread reads what. Tested by `products_are_those_of_a_loop`.

use bytemuck::Pod;

use crate::program::{Total, Value};

/// An input scan.
pub trait InputScan: Sync {
    /// Sums over the edges of a part of the input.
    type Sums: Copy + Default + Send + Sync;
    /// Update that an edge sends to its target.
    type Update: Pod + Send + Sync;
    /// Accumulator of a vertex; zeros before it gathered anything.
    type Accum: Pod + Send + Sync;
    /// The result of a vertex.
    type Value: Value + Pod;
    /// Totals over all edges and vertices.
    type Total: Total;

    /// Whether weights are looked at.
    const WEIGHTED: bool = false;

    /// Adds an edge to the sums; its update for its target, if any. The reverse of an edge that
    /// stands for both directions is met like any other.
    fn edge(
        &self,
        source: u32,
        target: u32,
        weight: f64,
        sums: &mut Self::Sums,
    ) -> Option<Self::Update>;

    /// Adds the update of an edge.
    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum;

    /// The totals that the sums of a part add.
    fn total(&self, sums: Self::Sums) -> Self::Total;

    /// The result of the vertex in a slot, by its accumulator, and what it adds to the totals.
    fn value(&self, slot: u32, accum: Self::Accum) -> (Self::Value, Self::Total);
}
