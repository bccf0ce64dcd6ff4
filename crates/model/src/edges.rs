//! The edge list: what `input` hands to `engine`.
//!
//! An edge is a pair of *slots*, dense vertex numbers that ascend in the order of the original ids
//! ([`crate::ids::IdMap`] leads back to them). A stream is cut into *parts* that any thread may
//! read at any time and more than once; the order of the parts, and of the edges inside each, is
//! the order of the input, so "the first weight wins" means the same for any number of threads.
//!
//! Three edges with weights, in two parts:
//!
//! ```
//! use welter_model::edges::{EdgeList, EdgeStream};
//!
//! let mut list = EdgeList::new(Some(4), true);
//! list.push(vec![[0, 1], [1, 2]], vec![0.5, 1.5]);
//! list.push(vec![[2, 3]], vec![4.0]);
//! assert_eq!((list.parts(), list.edges(), list.slots()), (2, 3, Some(4)));
//!
//! let mut heavy = Vec::new();
//! for part in 0..list.parts() {
//!     list.read(part, &mut |batch| {
//!         let weights = batch.weights.unwrap_or_default();
//!         let weighed = batch.pairs.iter().zip(weights);
//!         heavy.extend(weighed.filter(|(_, weight)| **weight > 1.0).map(|(pair, _)| *pair));
//!         true
//!     })?;
//! }
//! assert_eq!(heavy, [[1, 2], [2, 3]]);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```

use std::error::Error;
use std::fmt;

use crate::edge_sample::{EdgeSample, PIECE_EDGES, Sample};
pub use crate::pair::Pair;

/// A run of consecutive edges, borrowed from the reader.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// Source and destination of each edge.
    pub pairs: &'a [Pair],
    /// Weight of each edge, as long as `pairs`; `None` when the input has none.
    pub weights: Option<&'a [f64]>,
}

/// Reason why a stream could not be read. Boxed, so that readers keep their own error types, with
/// file and line in them, all the way to the person who can mend the file.
pub type StreamError = Box<dyn Error + Send + Sync>;

/// Edges in parts, readable in parallel and again.
pub trait EdgeStream: Send + Sync {
    /// Number of parts. Parts hold about equally many edges; 1 to 16 MiB each is a good size.
    fn parts(&self) -> usize;

    /// Number of edges in all parts together. Exact.
    fn edges(&self) -> u64;

    /// Number of edges in the parts of this stream, where [`Self::edges`] has those of the graph of
    /// which it is a share.
    fn held_edges(&self) -> u64 {
        self.edges()
    }

    /// Whether batches carry weights.
    fn weighted(&self) -> bool;

    /// Number of slots (vertex ids are `0..slots`) where the stream knows it without being read.
    fn slots(&self) -> Option<u64>;

    /// Number of edges of a part, where that is known without reading it.
    fn part_edges(&self, _part: usize) -> Option<u64> {
        None
    }

    /// Samples of the edges that were taken when the stream was made, if they were looked at then.
    fn known_sample(&self) -> Option<&EdgeSample> {
        None
    }

    /// Hands those edges of a part to `visit` that belong to a round of a sample: pieces of the
    /// part where they can be had, else all of it or none.
    ///
    /// # Errors
    /// As of [`Self::read`].
    fn sample(
        &self,
        part: usize,
        (sample, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let taken = sample.takes(part, self.parts(), round);
        if taken { self.read(part, visit) } else { Ok(()) }
    }

    /// Bytes of memory that the stream holds for as long as it lives; 0 where edges are read or
    /// made when they are asked for.
    fn resident_bytes(&self) -> u64 {
        0
    }

    /// Takes notice that all edges will be read several times, and that there is memory to spare
    /// for this number of bytes of what they are read from, which the system may keep. A hint.
    fn spare_memory(&self, _bytes: u64) {}

    /// Hands all edges of a part to `visit`, in order, in batches of any size (64 Ki edges are a
    /// good one). `visit` returns `false` to end early, which is not an error.
    ///
    /// # Errors
    /// When the underlying input cannot be read or changed since it was opened.
    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError>;
}

/// Treatment of edges that have the same source and the same destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicates {
    /// All are kept, as parallel edges.
    #[default]
    Keep,
    /// One is kept, with the weight of the first in input order.
    First,
    /// One is kept, with the smallest weight.
    Minimum,
    /// One is kept, with the sum of the weights, added in input order; without weights, with the
    /// number of edges.
    Sum,
    /// One is kept, in both directions, whose weight says which ways there are edges: 1 from source
    /// to target, 2 back, 3 both. Weights of the input are not looked at.
    Directions,
}

/// Reading of an edge list as a graph.
///
/// ```
/// use welter_model::edges::{Duplicates, Reading};
///
/// let directed = Reading::default();
/// assert_eq!(directed.arcs(10), 10);
/// let undirected = Reading { undirected: true, ..Reading::default() };
/// assert_eq!(undirected.arcs(10), 20);
///
/// // The weight of an arc says which ways there are edges: 1 along it, 2 back, 3 both.
/// let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
/// assert_eq!(ways.weights(0.5, false), [1.0, 2.0]);
/// assert!(ways.both_ways() && ways.makes_weights());
/// ```
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Each edge stands for both directions. A self-loop is still one arc.
    pub undirected: bool,
    /// The graph was stated as a directed one. Where its edges are read both ways all the same, an
    /// edge and one in the opposite direction are no duplicates of each other.
    pub stated_directed: bool,
    /// Each edge is read from its target to its source. That changes nothing in an undirected
    /// reading but the order of parallel arcs.
    pub reversed: bool,
    /// Edges from a vertex to itself are left out. Their end still counts as a vertex.
    pub drop_self_loops: bool,
    /// Treatment of parallel edges.
    pub duplicates: Duplicates,
}

impl Reading {
    /// Whether the reverse of each edge becomes an edge too.
    pub fn both_ways(&self) -> bool {
        self.undirected || self.duplicates == Duplicates::Directions
    }

    /// Number of arcs that `edges` edges stand for, before any are dropped or merged.
    pub fn arcs(&self, edges: u64) -> u64 {
        if self.both_ways() { edges.saturating_mul(2) } else { edges }
    }

    /// Whether an arc that an edge stands for and one that the reverse of another stands for are
    /// two, though they have the same ends: what is merged of them is merged for itself.
    pub fn keeps_ways_apart(&self) -> bool {
        let merges =
            matches!(self.duplicates, Duplicates::First | Duplicates::Minimum | Duplicates::Sum);
        self.undirected && self.stated_directed && merges
    }

    /// The weights of an edge and of its reverse.
    #[inline(always)]
    pub fn weights(&self, weight: f64, is_loop: bool) -> [f64; 2] {
        match (self.duplicates, self.undirected || is_loop) {
            (Duplicates::Directions, true) => [3.0; 2],
            (Duplicates::Directions, false) => [1.0, 2.0],
            _ => [weight; 2],
        }
    }

    /// Whether edges of an input without weights get weights other than 1.
    pub fn makes_weights(&self) -> bool {
        matches!(self.duplicates, Duplicates::Sum | Duplicates::Directions)
    }
}

/// Edges in memory: the stream over what a reader parsed, a generator made or a test wrote down.
#[derive(Clone, Default)]
pub struct EdgeList {
    parts: Vec<EdgeRun>,
    slots: Option<u64>,
    weighted: bool,
    edges: u64,
}

#[derive(Clone)]
struct EdgeRun {
    pairs: Vec<Pair>,
    weights: Vec<f64>,
}

impl EdgeList {
    /// An empty list. `slots`: number of vertices where it is known; `weighted`: whether every part
    /// will come with weights.
    pub fn new(slots: Option<u64>, weighted: bool) -> Self {
        Self { parts: Vec::new(), slots, weighted, edges: 0 }
    }

    /// A list of one part without weights.
    pub fn from_pairs(pairs: Vec<Pair>) -> Self {
        let mut list = Self::new(None, false);
        list.push(pairs, Vec::new());
        list
    }

    /// Appends a part. `weights` is as long as `pairs` in a weighted list and empty otherwise.
    ///
    /// # Panics
    /// When the lengths do not fit, which is a bug of the caller.
    pub fn push(&mut self, pairs: Vec<Pair>, weights: Vec<f64>) {
        assert_eq!(weights.len(), if self.weighted { pairs.len() } else { 0 });
        self.edges += pairs.len() as u64;
        if !pairs.is_empty() {
            self.parts.push(EdgeRun { pairs, weights });
        }
    }

    /// States the number of slots.
    pub fn set_slots(&mut self, slots: u64) {
        self.slots = Some(slots);
    }

    /// All pairs in order, for tests and small graphs.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        self.parts.iter().flat_map(|part| part.pairs.iter().copied())
    }

    /// All weights in order (1 where the list has none), for tests and small graphs.
    pub fn weights(&self) -> impl Iterator<Item = f64> + '_ {
        self.parts.iter().flat_map(|part| {
            (0..part.pairs.len()).map(|edge| part.weights.get(edge).copied().unwrap_or(1.0))
        })
    }
}

impl fmt::Debug for EdgeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeList")
            .field("parts", &self.parts.len())
            .field("edges", &self.edges)
            .field("slots", &self.slots)
            .field("weighted", &self.weighted)
            .finish()
    }
}

impl EdgeStream for EdgeList {
    fn parts(&self) -> usize {
        self.parts.len()
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn slots(&self) -> Option<u64> {
        self.slots
    }

    fn part_edges(&self, part: usize) -> Option<u64> {
        Some(self.parts[part].pairs.len() as u64)
    }

    fn resident_bytes(&self) -> u64 {
        let bytes = |part: &EdgeRun| size_of_val(&part.pairs[..]) + size_of_val(&part.weights[..]);
        self.parts.iter().map(bytes).sum::<usize>() as u64
    }

    fn read(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let EdgeRun { pairs, weights } = &self.parts[part];
        visit(Batch { pairs, weights: self.weighted.then_some(weights) });
        Ok(())
    }

    fn sample(
        &self,
        part: usize,
        (sample, round): (Sample, usize),
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        let EdgeRun { pairs, weights } = &self.parts[part];
        for piece in sample.pieces(part, pairs.len().div_ceil(PIECE_EDGES), round) {
            let edges = piece * PIECE_EDGES..pairs.len().min((piece + 1) * PIECE_EDGES);
            let weights = self.weighted.then(|| &weights[edges.clone()]);
            if !visit(Batch { pairs: &pairs[edges], weights }) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_hands_out_what_was_pushed_in_order() {
        let mut list = EdgeList::new(Some(4), true);
        list.push(vec![[0, 1], [2, 3]], vec![1.5, 2.5]);
        list.push(vec![], vec![]);
        list.push(vec![[3, 0]], vec![0.5]);
        assert_eq!((list.parts(), list.edges()), (2, 3));
        assert_eq!(list.resident_bytes(), 3 * 16);
        let mut seen = Vec::new();
        for part in 0..list.parts() {
            list.read(part, &mut |batch| {
                seen.extend(batch.pairs.iter().zip(batch.weights.unwrap()).map(|(p, w)| (*p, *w)));
                true
            })
            .unwrap();
        }
        assert_eq!(seen, [([0, 1], 1.5), ([2, 3], 2.5), ([3, 0], 0.5)]);
        assert_eq!(list.weights().collect::<Vec<_>>(), [1.5, 2.5, 0.5]);
    }
}
