//! The fold program: the kind that most algorithms are.
//!
//! An update is born at an edge (`scatter`), meets the accumulator of its destination (`gather`),
//! and when all have met, `apply` makes the new value of the vertex (Chaos, section 2 and Figure
//! 1). The order of gathers never matters to the answer, so an engine may let updates wait wherever
//! it likes: folded at once, in a message, or on storage.
//!
//! Invariants:
//! - `gather` and `merge` are commutative and associative (floats: up to rounding), `identity` is
//!   neutral for both. Tested by `monotone_programs_take_updates_in_parts` and
//!   `the_order_of_the_edges_does_not_matter`.
//! - Totals are merged in a fixed order that depends on the graph alone, so one machine gives the
//!   same bits for any number of threads. Tested by `every_task_gives_the_same_bits_as_in_memory`.
//! - No function of a program can fail, and none knows where its data lies.
//!
//! The largest number of all vertices that reach a vertex, itself included. A vertex that received
//! no larger one is not active, and the run ends when none is. Engines do what the loop at the end
//! does, here on a path of three vertices:
//!
//! ```
//! use welter_model::limit::Limit;
//! use welter_model::program::{Applied, Next, Program, Value, Vertex};
//! use welter_model::table::ColumnData;
//!
//! #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
//! #[repr(transparent)]
//! struct Largest(u64);
//!
//! impl Value for Largest {
//!     fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
//!         vec![("largest", ColumnData::U64(values.iter().map(|value| value.0).collect()))]
//!     }
//! }
//!
//! struct Reaches;
//!
//! impl Program for Reaches {
//!     type Value = Largest;
//!     type Signal = u64;
//!     type Update = u64;
//!     type Accum = u64;
//!     type Total = ();
//!
//!     const WEIGHTED: bool = false;
//!     const FRONTIER: bool = true;
//!
//!     fn init(&self, vertex: Vertex) -> Applied<Largest, ()> {
//!         Applied::active(Largest(vertex.index), ())
//!     }
//!     fn signal(&self, value: &Largest) -> u64 {
//!         value.0
//!     }
//!     fn scatter(&self, signal: u64, _weight: f64) -> Option<u64> {
//!         Some(signal)
//!     }
//!     fn identity(&self) -> u64 {
//!         0
//!     }
//!     fn gather(&self, accum: u64, update: u64) -> u64 {
//!         accum.max(update)
//!     }
//!     fn merge(&self, left: u64, right: u64) -> u64 {
//!         left.max(right)
//!     }
//!     fn apply(&self, value: Largest, accum: u64, (): &()) -> Applied<Largest, ()> {
//!         Applied { value: Largest(value.0.max(accum)), total: (), active: accum > value.0 }
//!     }
//!     fn next(&self, _iterations: u64, (): &()) -> Next {
//!         Next::Iterate
//!     }
//!     fn limit(&self) -> Limit {
//!         let invariant = "the shortest path that news takes meets no vertex twice";
//!         Limit::Proved { most: |vertices| vertices, invariant }
//!     }
//! }
//!
//! let edges = [[2, 1], [1, 0]];
//! let vertices = (0..3).map(|index| Reaches.init(Vertex { index, out_degree: index.min(1) }));
//! let mut state: Vec<_> = vertices.map(|applied| (applied.value, applied.active)).collect();
//! while state.iter().any(|(_, active)| *active) {
//!     let mut accums = [Reaches.identity(); 3];
//!     for [source, target] in edges {
//!         let (value, active) = &state[source];
//!         let update = active.then(|| Reaches.scatter(Reaches.signal(value), 1.0)).flatten();
//!         accums[target] = update.map_or(accums[target], |u| Reaches.gather(accums[target], u));
//!     }
//!     for ((value, active), accum) in state.iter_mut().zip(accums) {
//!         let applied = Reaches.apply(*value, accum, &());
//!         (*value, *active) = (applied.value, applied.active);
//!     }
//! }
//! let values: Vec<Largest> = state.iter().map(|(value, _)| *value).collect();
//! assert_eq!(Value::columns(&values[..]), [("largest", ColumnData::U64(vec![2, 2, 2]))]);
//! ```

use std::cmp::Ordering;

use bytemuck::Pod;

use crate::frequency::FrequencyTable;
use crate::limit::Limit;
use crate::table::ColumnData;

/// Facts of a vertex that a program gets when the run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// Number of the vertex among those with a state of their own, ascending with the original ids.
    /// The last one may stand for many without edges
    /// ([`NonCompact`](crate::non_compact::NonCompact)).
    pub index: u64,
    /// Number of edges that leave it, parallel ones and self-loops counted. Of a program that says
    /// it does not look at them ([`Program::DEGREES`]) it may be 0.
    pub out_degree: u64,
}

/// State of one vertex: plain data that the engine stores by the array.
pub trait Value: Pod + Send + Sync {
    /// Whether the result is a list, of edges for instance: a table without the column of vertices
    /// that has a row for some values only. Stream programs may have such.
    const LISTED: bool = false;

    /// The columns of the result, by name, made from the values of all vertices in order.
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)>;

    /// Whether this value has a row, in a result that is a list.
    fn is_listed(&self) -> bool {
        true
    }
}

/// A total over all vertices, such as a sum of changes. Plain data, because a checkpoint holds it.
pub trait Total: Pod + Default + Send + Sync {
    /// The total of two disjoint sets of vertices. `default` is neutral.
    #[must_use]
    fn merge(self, other: Self) -> Self;
}

impl Total for () {
    fn merge(self, (): Self) {}
}

/// Decision after an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another iteration.
    Iterate,
    /// The values are the result.
    Stop,
}

/// Result of `init` or `apply` for a vertex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied<V, G> {
    /// The new value.
    pub value: V,
    /// Total that the vertex adds to those of this iteration.
    pub total: G,
    /// Whether its edges are scattered in the next iteration. Looked at in programs with
    /// [`Program::FRONTIER`] only.
    pub active: bool,
}

impl<V, G> Applied<V, G> {
    /// A vertex that is active.
    pub fn active(value: V, total: G) -> Self {
        Self { value, total, active: true }
    }
}

/// A fold program: accumulators have a fixed size, however many updates a vertex gets.
pub trait Program: Sync {
    /// State of a vertex between iterations.
    type Value: Value;
    /// The packed column that `scatter` reads: what a vertex sends to its neighbours. It is
    /// computed once a vertex and iteration, so that a wide `Value` does not spoil the cache of the
    /// edges.
    type Signal: Pod + Send + Sync;
    /// Update that travels along an edge.
    type Update: Pod + Send + Sync;
    /// Accumulator that updates are folded into.
    type Accum: Pod + PartialEq + Send + Sync;
    /// Totals over all vertices, handed back to `apply` one iteration later.
    type Total: Total;

    /// Whether `scatter` looks at weights. Where it does not, they are not read.
    const WEIGHTED: bool;

    /// Whether vertices may fall inactive, so that the engine must keep track of who is active.
    const FRONTIER: bool = false;

    /// Whether values only ever move towards the answer, as depths and distances do. Then an update
    /// may be scattered late, or again, or by a vertex that is not active, without changing the
    /// answer, and a vertex that met no update stays as it is: `apply` of the identity leaves its
    /// value, does not activate it and adds the default total. Engines then touch only what an
    /// update reached. Accumulators may be applied one after the other within an iteration: the
    /// value, the sum of the totals, and whether any of them activates the vertex, are those of the
    /// accumulators merged. Needs `FRONTIER`, and totals that are the same in any order.
    const MONOTONE: bool = false;

    /// Whether one update is as good as all that an iteration has for a vertex: the one of the
    /// smallest source, among those that became active in the last iteration, gives the same
    /// accumulator as all of them. Then a vertex may look through its sources, in ascending order,
    /// and stop at the first that is active, instead of being updated by all. Needs `MONOTONE` and
    /// no `urgency`.
    const ANY_UPDATE_SUFFICES: bool = false;

    /// Whether the answer is what is left when relaxing edges ([`Self::relax`]) changes nothing any
    /// more, in whatever order and however often that is done, from the values of any iteration
    /// on. Then an engine may finish one part of a graph while it is in memory, ahead of the
    /// others. Needs `MONOTONE`.
    const ORDER_INDEPENDENT: bool = false;

    /// Whether an update says all that [`Self::relax`] makes of an edge, as distances and labels
    /// do, and the byte of a search does not. Then values that were relaxed may continue level by
    /// level.
    const UPDATES_ARE_COMPLETE: bool = false;

    /// Whether updates cannot be folded as they come, because what they make of a vertex depends on
    /// all of them ([`Group`](crate::group::Group)). Then those that an iteration has for a vertex
    /// wait for each other, `gather` meets them in [`Self::order`], and nothing is merged. Needs a
    /// graph that was read as undirected, so that no more updates come to a vertex than edges
    /// leave it, and no `FRONTIER`.
    const GROUPS: bool = false;

    /// Whether an accumulator knows whom it is of: it begins from the value of its vertex
    /// ([`Self::init_accum`]), because what an update means depends on that. Then updates are
    /// applied one by one, and never merged before they meet it. Not with `MONOTONE` or `GROUPS`.
    const ACCUM_FROM_VALUE: bool = false;

    /// Whether updates may be merged before they meet the accumulator of their destination.
    /// Follows from the others.
    const COMBINABLE: bool = !(Self::GROUPS || Self::ACCUM_FROM_VALUE);

    /// Whether vertices may have numbers of more than 32 bits: no value, signal, update or
    /// accumulator holds one in fewer bits. Graphs with wider numbers are refused where it is not
    /// said.
    const WIDE: bool = false;

    /// Whether [`Self::init`] looks at the degrees of vertices. On a cluster edges that leave a
    /// vertex are counted for programs that do, and are 0 for others.
    const DEGREES: bool = true;

    /// Whether [`Self::is_affected_by`] says no to most of what it is asked.
    const SELECTIVE: bool = false;

    /// In which order updates of a vertex are gathered in a program that [groups](Self::GROUPS)
    /// them.
    fn order(&self, _left: &Self::Update, _right: &Self::Update) -> Ordering {
        Ordering::Equal
    }

    /// The accumulator of all updates that came to a vertex of this value, in a program that
    /// [groups](Self::GROUPS) them: after `apply` the same as gathering them one by one in order.
    fn group(
        &self,
        _value: &Self::Value,
        updates: &mut [Self::Update],
        _table: &mut FrequencyTable,
    ) -> Self::Accum {
        updates.sort_unstable_by(|left, right| self.order(left, right));
        updates.iter().fold(self.identity(), |accum, &update| self.gather(accum, update))
    }

    /// The accumulator of a vertex that meets the same updates as before, in a program that
    /// [groups](Self::GROUPS) them: `apply` leaves its value alone.
    fn unchanged(&self, _value: &Self::Value) -> Self::Accum {
        self.identity()
    }

    /// Whether a vertex of this value, which met all updates when a neighbour said `before`, would
    /// make something else of them now that it says `now`, in a program that
    /// [groups](Self::GROUPS) them. It may say so in vain.
    fn is_affected_by(
        &self,
        _value: &Self::Value,
        _before: Self::Signal,
        _now: Self::Signal,
    ) -> bool {
        true
    }

    /// Relaxes an edge: lets its target know the value of its source, and says whether the edges
    /// of the target must be relaxed for that. What an update means must not depend on when it
    /// comes, so programs whose updates do not say all must do this otherwise.
    fn relax(&self, source: &Self::Value, weight: f64, target: &mut Self::Value) -> bool {
        let Some(update) = self.scatter(self.signal(source), weight) else { return false };
        let accum = self.gather(self.identity(), update);
        let applied = self.apply(*target, accum, &Self::Total::default());
        *target = applied.value;
        applied.active
    }

    /// Whether no update can change a value any more. `last` as in [`Self::apply`].
    fn settled(&self, _value: &Self::Value, _last: &Self::Total) -> bool {
        false
    }

    /// Value before the first iteration, what it adds to the totals that `apply` sees first, and
    /// whether the vertex scatters in the first iteration.
    fn init(&self, vertex: Vertex) -> Applied<Self::Value, Self::Total>;

    /// The signal of the vertex, which all its edges carry.
    fn signal(&self, value: &Self::Value) -> Self::Signal;

    /// The update of one edge, if it has one. `weight` is 1 for graphs without weights.
    fn scatter(&self, signal: Self::Signal, weight: f64) -> Option<Self::Update>;

    /// The accumulator that has met no update.
    fn identity(&self) -> Self::Accum;

    /// The accumulator of a vertex that has met no update, in a program whose accumulators [know
    /// whom they are of](Self::ACCUM_FROM_VALUE).
    fn init_accum(&self, _value: &Self::Value) -> Self::Accum {
        self.identity()
    }

    /// Folds an update into an accumulator.
    fn gather(&self, accum: Self::Accum, update: Self::Update) -> Self::Accum;

    /// Joins accumulators of the same vertex that met different updates (on several threads,
    /// stealers or machines).
    fn merge(&self, left: Self::Accum, right: Self::Accum) -> Self::Accum;

    /// The new value of a vertex. `last` holds the totals of the iteration before (of `init` in the
    /// first one).
    fn apply(
        &self,
        value: Self::Value,
        accum: Self::Accum,
        last: &Self::Total,
    ) -> Applied<Self::Value, Self::Total>;

    /// Urgency of an active vertex in a monotone program: first go those with the smallest number.
    /// An engine may let others wait, which saves updates that would be improved upon later.
    fn urgency(&self, _value: &Self::Value) -> u64 {
        0
    }

    /// Whether to continue after `iterations` iterations, the last of which had these totals.
    fn next(&self, iterations: u64, total: &Self::Total) -> Next;

    /// The iterations that a run takes at most. A run that continues for longer is ended with what
    /// the limit rests on.
    fn limit(&self) -> Limit;
}
