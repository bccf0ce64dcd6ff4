//! The extended program: edges hold state, which is rewritten while they stream.
//!
//! A message along an edge may depend on what travelled along it before, as the messages of belief
//! propagation do (Chaos, footnote 2: an extended version of its model, in which edges may be
//! rewritten during the computation). So an edge is shown what *both* of its ends say, may change
//! its state, and makes an update for its target.
//!
//! Every edge is shown once an iteration, and all of them see what was said in the iteration
//! before. State that belongs to an edge whichever way it is followed lies twice, at the edge and
//! at its reverse: where a program treats its two ends alike, both go through the same changes, and
//! neither must look for the other.
//!
//! Invariants: as in [`program`](crate::program); state is all zeros before the first iteration.
//! Tested by `two_states` and `three_states`, which judge few iterations too.

use bytemuck::Pod;

use crate::limit::Limit;
use crate::program::{Next, Total, Value, Vertex};
use crate::stream::Edge;

/// An extended program.
pub trait Extended: Sync {
    /// State of a vertex between iterations.
    type Value: Value;
    /// Signal of a vertex: what it shows to its edges.
    type Signal: Pod + Send + Sync;
    /// State of an edge between iterations. All zeros at first.
    type State: Pod + Send + Sync;
    /// Update that an edge sends to its target.
    type Update: Pod + Send + Sync;
    /// Accumulator that updates are folded into.
    type Accum: Pod + Send + Sync;
    /// Totals over all vertices, as in [`Program::Total`](crate::program::Program::Total).
    type Total: Total;

    /// Whether edges look at their weights. Where they do not, these are not read.
    const WEIGHTED: bool;

    /// Whether the reverse of each edge must be an edge too.
    const SYMMETRIC: bool;

    /// As [`Program::DEGREES`](crate::program::Program::DEGREES).
    const DEGREES: bool = true;

    /// Value before the first iteration, and what it adds to the totals that `apply` sees first.
    fn init(&self, vertex: Vertex) -> (Self::Value, Self::Total);

    /// The signal of a vertex, which its edges read.
    fn signal(&self, value: &Self::Value) -> Self::Signal;

    /// Changes the state of an edge, by what its source and its target say, and makes an update for
    /// its target.
    fn edge(
        &self,
        edge: Edge,
        source: &Self::Signal,
        target: &Self::Signal,
        state: &mut Self::State,
    ) -> Self::Update;

    /// The accumulator that has met no update.
    fn identity(&self) -> Self::Accum;

    /// Folds an update into an accumulator.
    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum;

    /// The new value of a vertex, and what it adds to the totals. `last`: the totals of the
    /// iteration before (of `init` in the first one).
    fn apply(
        &self,
        value: Self::Value,
        accum: Self::Accum,
        last: &Self::Total,
    ) -> (Self::Value, Self::Total);

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    fn next(&self, iterations: u64, total: &Self::Total) -> Next;

    /// The iterations that a run takes at most, as
    /// [`Program::limit`](crate::program::Program::limit).
    fn limit(&self) -> Limit;
}
