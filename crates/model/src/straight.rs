//! Straight programs: what is counted of edges in one pass over the input, in any order.
//!
//! Where a result is a number of edges for each vertex, and sums of such numbers, no edge has to
//! wait for another, and none has to be found again. So nothing is sorted, and no graph is made:
//! each edge is met where the input has it, by the *slots* of its ends ([`crate::edges`]). Numbers
//! of vertices are not known there.
//!
//! Invariant: counts are whole numbers, so the order of edges makes no difference.

use bytemuck::Pod;

use crate::program::{Total, Value};

/// A straight program.
pub trait Straight: Sync {
    /// What a worker sums up of the edges that it meets.
    type Sums: Copy + Default + Send;
    /// The result of a vertex.
    type Value: Value + Pod;
    /// Totals over all edges and vertices.
    type Total: Total;

    /// Adds an edge to the sums; whether it adds to the count of its target. The reverse of an
    /// edge that stands for both directions is met like any other.
    fn edge(&self, source: u32, target: u32, sums: &mut Self::Sums) -> bool;

    /// What the sums of a worker add to the totals.
    fn total(&self, sums: Self::Sums) -> Self::Total;

    /// The result of the vertex in a slot, by its count, and what it adds to the totals.
    fn value(&self, slot: u32, count: u32) -> (Self::Value, Self::Total);
}
