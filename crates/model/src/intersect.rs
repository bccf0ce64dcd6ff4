//! The intersecting program: which neighbours of a vertex are neighbours of each other.
//!
//! Neither accumulators nor groups tell that: it takes the rows of two vertices at an edge. An
//! engine walks over triangles, each once, and counts for every corner the edges on its far side.

use crate::program::Value;

/// A program over triangles.
pub trait Intersect: Sync {
    /// Result of a vertex.
    type Value: Value;

    /// Whether an edge on the far side counts once for each direction that it has. Needs a graph
    /// whose weights say so
    /// ([`Duplicates::Directions`](crate::edges::Duplicates::Directions)); else it counts once.
    const DIRECTED: bool;

    /// The value of a vertex with `neighbours` neighbours, and `closed` edges between these.
    fn value(&self, neighbours: u64, closed: u64) -> Self::Value;
}
