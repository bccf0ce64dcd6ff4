//! The group program: a vertex looks at all that its neighbours say, side by side.
//!
//! Where a fold program keeps an accumulator of a fixed size, the answer here depends on the whole
//! multiset of updates: which label is the most frequent, how many neighbours have at least so
//! much. Updates of a vertex are grouped and sorted, and met one after the other, equal ones next
//! to each other. What is learnt on the way has a fixed size.
//!
//! Every vertex speaks to its neighbours, in both directions of edges, and in every iteration. What
//! it makes of its updates depends on nothing else but its value, so an engine may leave out
//! vertices to which all neighbours say what they said before.

use std::cmp::Ordering;

use bytemuck::Pod;

use crate::frequency::FrequencyTable;
use crate::limit::Limit;
use crate::program::{Applied, Next, Program, Total, Value, Vertex};

/// A group program.
pub trait Group: Sync {
    /// State of a vertex between iterations.
    type Value: Value;
    /// Update that a vertex sends to its neighbours.
    type Update: Pod + Ord + Send + Sync;
    /// Accumulator: what is learnt of the updates of a vertex.
    type Accum: Pod + PartialEq + Send + Sync;
    /// Totals over all vertices, as in [`Program::Total`].
    type Total: Total;

    /// Whether [`Self::is_affected_by`] says no to most of what it is asked.
    const SELECTIVE: bool = false;

    /// As [`Program::WIDE`].
    const WIDE: bool = false;

    /// As [`Program::DEGREES`].
    const DEGREES: bool = true;

    /// Value before the first iteration, and what it adds to the totals that `apply` sees first.
    fn init(&self, vertex: Vertex) -> (Self::Value, Self::Total);

    /// The update that the vertex sends to its neighbours.
    fn update(&self, value: &Self::Value) -> Self::Update;

    /// The accumulator of no update.
    fn nothing(&self) -> Self::Accum;

    /// Gathers the next update of a vertex; they come in ascending order.
    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum;

    /// Gathers all updates of a vertex of this value. Where a look at them is enough to tell what
    /// will come of it, they need not be sorted: it must make the same new value, and the same
    /// total. `table`: to count in.
    #[inline(always)]
    fn gather_all(
        &self,
        _value: &Self::Value,
        updates: &mut [Self::Update],
        _table: &mut FrequencyTable,
    ) -> Self::Accum {
        updates.sort_unstable();
        updates.iter().fold(self.nothing(), |accum, &update| self.gather(accum, update))
    }

    /// The accumulator of a vertex of this value if it met the same updates as before: from it
    /// `apply` must make the same value, and the same total.
    fn unchanged(&self, value: &Self::Value) -> Self::Accum;

    /// Whether a vertex of this value may come to another one because a neighbour, which said
    /// `before` when it got the value, now says `now`.
    #[inline(always)]
    fn is_affected_by(
        &self,
        _value: &Self::Value,
        _before: Self::Update,
        _now: Self::Update,
    ) -> bool {
        true
    }

    /// The new value of a vertex, when it has met all updates, and what it adds to the totals.
    /// `last`: the totals of the iteration before (of `init` in the first one).
    fn apply(
        &self,
        value: Self::Value,
        accum: Self::Accum,
        last: &Self::Total,
    ) -> (Self::Value, Self::Total);

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    fn next(&self, iterations: u64, total: &Self::Total) -> Next;

    /// The iterations that a run takes at most, as [`Program::limit`].
    fn limit(&self) -> Limit;
}

/// A group program as engines run it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouped<G>(pub G);

impl<G: Group> Program for Grouped<G> {
    type Value = G::Value;
    type Signal = G::Update;
    type Update = G::Update;
    type Accum = G::Accum;
    type Total = G::Total;

    const WEIGHTED: bool = false;
    const GROUPS: bool = true;
    const SELECTIVE: bool = G::SELECTIVE;
    const WIDE: bool = G::WIDE;
    const DEGREES: bool = G::DEGREES;

    #[inline(always)]
    fn order(&self, left: &G::Update, right: &G::Update) -> Ordering {
        left.cmp(right)
    }

    #[inline(always)]
    fn group(
        &self,
        value: &G::Value,
        updates: &mut [G::Update],
        table: &mut FrequencyTable,
    ) -> G::Accum {
        self.0.gather_all(value, updates, table)
    }

    #[inline(always)]
    fn unchanged(&self, value: &G::Value) -> G::Accum {
        self.0.unchanged(value)
    }

    #[inline(always)]
    fn is_affected_by(&self, value: &G::Value, before: G::Update, now: G::Update) -> bool {
        self.0.is_affected_by(value, before, now)
    }

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<G::Value, G::Total> {
        let (value, total) = self.0.init(vertex);
        Applied::active(value, total)
    }

    #[inline(always)]
    fn signal(&self, value: &G::Value) -> G::Update {
        self.0.update(value)
    }

    #[inline(always)]
    fn scatter(&self, signal: G::Update, _: f64) -> Option<G::Update> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> G::Accum {
        self.0.nothing()
    }

    #[inline(always)]
    fn gather(&self, accum: G::Accum, update: G::Update) -> G::Accum {
        self.0.gather(accum, update)
    }

    /// Of the two the one that has gathered something: a vertex gathers all of its updates in one
    /// place.
    fn merge(&self, left: G::Accum, right: G::Accum) -> G::Accum {
        if left == self.0.nothing() { right } else { left }
    }

    #[inline(always)]
    fn apply(
        &self,
        value: G::Value,
        accum: G::Accum,
        last: &G::Total,
    ) -> Applied<G::Value, G::Total> {
        let (value, total) = self.0.apply(value, accum, last);
        Applied::active(value, total)
    }

    fn next(&self, iterations: u64, total: &G::Total) -> Next {
        self.0.next(iterations, total)
    }

    fn limit(&self) -> Limit {
        self.0.limit()
    }
}
