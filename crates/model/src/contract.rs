//! The contracting program: edges are rewritten at both ends while they stream, or dropped.
//!
//! A graph becomes smaller as what an edge joins becomes one vertex (Chaos, footnote 2: an extended
//! version of its model, in which edges may be rewritten during the computation). So an edge is
//! shown the values of both its ends. It may make an update for its target, and says what becomes
//! of it: an edge of other ends, which from then on is streamed where these are, or none.
//!
//! ```text
//! generation 0       the edges of the input
//! generation i + 1   what the edges become in iteration i, if that rewrites
//! ```
//!
//! The program decides with each iteration whether the next one rewrites, which costs as many bytes
//! written as are left ([`Contract::rewrites`]). In one that does every edge is shown once; in one
//! that does not, every edge of a source that speaks ([`Contract::speaks`]), and others may be. All
//! of them see the values of the iteration before.
//! What a program must know of vertices that have no edge any more it keeps in edges too.
//!
//! Invariants: as in [`program`](crate::program); the order in which edges lie never matters to the
//! answer. Tested by `long_graphs_take_few_iterations_by_both_routes`.

use bytemuck::Pod;

use crate::limit::Limit;
use crate::program::{Next, Total, Value, Vertex};
use crate::stream::Edge;

/// An edge as it is after some iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RewrittenEdge<D> {
    /// The vertex that it leaves.
    pub source: u32,
    /// The vertex that it leads to.
    pub target: u32,
    /// Data that it holds besides.
    pub data: D,
}

/// A contracting program.
pub trait Contract: Sync {
    /// State of a vertex between iterations.
    type Value: Value;
    /// Data that an edge holds besides its ends.
    type EdgeData: Pod + Send + Sync;
    /// Update that an edge makes for its target; and several of them, merged.
    type Update: Pod + Send + Sync;
    /// Totals over all vertices, as in [`Program::Total`](crate::program::Program::Total).
    type Total: Total;

    /// Whether the weights of the input are looked at. Where they are not, these are not read.
    const WEIGHTED: bool;

    /// As [`Program::DEGREES`](crate::program::Program::DEGREES).
    const DEGREES: bool = true;

    /// Value before the first iteration, and what it adds to the totals that edges and `apply` see
    /// first.
    fn init(&self, vertex: Vertex) -> (Self::Value, Self::Total);

    /// Data that an edge of the input holds.
    fn edge_data(&self, edge: Edge) -> Self::EdgeData;

    /// The update that an edge makes for its target, if any, and the edge that it becomes, if it is
    /// kept. `ends`: the values of its source and its target; `last`: the totals of the iteration
    /// before (of `init` in the first one).
    fn rewrite(
        &self,
        edge: RewrittenEdge<Self::EdgeData>,
        ends: [&Self::Value; 2],
        last: &Self::Total,
    ) -> (Option<Self::Update>, Option<RewrittenEdge<Self::EdgeData>>);

    /// Whether edges become what `rewrite` says in the iteration that follows `last`. In one that
    /// does not rewrite they stay what they are, whatever it says.
    fn rewrites(&self, _last: &Self::Total) -> bool {
        true
    }

    /// Whether edges of this source may make an update in the next iteration.
    fn speaks(&self, _value: &Self::Value) -> bool {
        true
    }

    /// Two updates as one. Commutative and associative.
    fn merge(&self, left: Self::Update, right: Self::Update) -> Self::Update;

    /// The new value of a vertex that updates came to, or none, and what it adds to the totals.
    /// `last`: as in `rewrite`.
    fn apply(
        &self,
        value: Self::Value,
        update: Option<Self::Update>,
        last: &Self::Total,
    ) -> (Self::Value, Self::Total);

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    fn next(&self, iterations: u64, total: &Self::Total) -> Next;

    /// The iterations that a run takes at most, as
    /// [`Program::limit`](crate::program::Program::limit).
    fn limit(&self) -> Limit;
}
