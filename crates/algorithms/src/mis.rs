//! Maximal independent set: vertices of which no two are neighbours, and to which none can be
//! added.
//!
//! Each vertex has a priority that a hash of its number gives, all of them different. Of neighbours
//! that are undecided the first one joins, and its neighbours leave:
//!
//! ```text
//! v joins   when priority(v) < priority(u) for all undecided neighbours u, and none has joined
//! v leaves  when a neighbour has joined
//! ```
//!
//! until all are decided. As priorities stay what they are, that is the set which a loop over the
//! vertices in the order of their priorities finds that takes each one it can: it depends on the
//! graph and the seed alone, not on who is asked when. There are `O(log^2 V)` iterations with high
//! probability; each looks at the edges of vertices that are undecided or have just joined.
//!
//! Edges are followed one way, so it wants a graph that was read as undirected. A self-loop brings
//! a vertex its own priority, which is not smaller, so it is as if it were not there.
//!
//! | Luby's algorithm | here |
//! |---|---|
//! | random number of a vertex | [`priority`] |
//! | smallest of the neighbours' | `gather`, `merge` |
//! | select, and remove the neighbours | `apply` |
//!
//! Source: Chaos, Table 1 (`MIS`); Luby, A simple parallel algorithm for the maximal independent
//! set problem (1986); Blelloch, Fineman and Shun, Greedy sequential maximal independent set and
//! matching are parallel on average (2012), for priorities that stay.
//!
//! Of the neighbours in a triangle, and of those in a pair, one joins each; which ones do depends
//! on the seed:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Mis;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [3, 4]]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Mis>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Mis::new(1), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("in_set", ColumnData::U32(set)) = &columns[0] else { panic!("{columns:?}") };
//! assert_eq!([set[..3].iter().sum::<u32>(), set[3..].iter().sum()], [1, 1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

use crate::hash::hash;

/// The program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mis {
    seed: u64,
}

impl Mis {
    /// The seed picks the priorities.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }
}

/// Priority of a vertex among its neighbours: smaller ones first. The number of the vertex, which
/// has 32 bits, parts those whose hashes are equal; none is 0 or `u64::MAX`.
#[inline(always)]
pub fn priority(seed: u64, index: u64) -> u64 {
    ((hash(seed, index) >> 33) + 1) << 32 | index
}

/// Decision about a vertex: its priority while it is undecided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Decision(u64);

impl Decision {
    /// Decision that comes before all priorities, so that it is what the neighbours hear.
    const JOINED: Self = Self(0);
    /// Decision that comes after all priorities.
    const LEFT: Self = Self(u64::MAX);
}

impl Value for Decision {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let joined = values.iter().map(|value| u32::from(*value == Self::JOINED)).collect();
        vec![("in_set", ColumnData::U32(joined))]
    }
}

/// Numbers of vertices by their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Progress {
    /// Vertices that are undecided.
    pub undecided: u64,
    /// Vertices that have joined.
    pub joined: u64,
}

impl Total for Progress {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self { undecided: self.undecided + other.undecided, joined: self.joined + other.joined }
    }
}

impl Program for Mis {
    type Value = Decision;
    type Signal = u64;
    type Update = u64;
    type Accum = u64;
    type Total = Progress;

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;
    /// Not `MONOTONE`: that nothing came is what lets a vertex join.
    const FRONTIER: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Decision, Progress> {
        let value = Decision(priority(self.seed, vertex.index));
        Applied::active(value, Progress { undecided: 1, joined: 0 })
    }

    #[inline(always)]
    fn signal(&self, value: &Decision) -> u64 {
        value.0
    }

    #[inline(always)]
    fn scatter(&self, signal: u64, _: f64) -> Option<u64> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> u64 {
        Decision::LEFT.0
    }

    #[inline(always)]
    fn gather(&self, accum: u64, update: u64) -> u64 {
        accum.min(update)
    }

    #[inline(always)]
    fn merge(&self, left: u64, right: u64) -> u64 {
        left.min(right)
    }

    #[inline(always)]
    fn apply(&self, value: Decision, first: u64, _: &Progress) -> Applied<Decision, Progress> {
        let is_decided = value == Decision::JOINED || value == Decision::LEFT;
        if is_decided || first == Decision::JOINED.0 {
            let value = if is_decided { value } else { Decision::LEFT };
            let joined = u64::from(value == Decision::JOINED);
            Applied { value, total: Progress { undecided: 0, joined }, active: false }
        } else if value.0 <= first {
            Applied::active(Decision::JOINED, Progress { undecided: 0, joined: 1 })
        } else {
            Applied::active(value, Progress { undecided: 1, joined: 0 })
        }
    }

    fn next(&self, _: u64, total: &Progress) -> Next {
        if total.undecided > 0 { Next::Iterate } else { Next::Stop }
    }

    /// Iterations: one for each vertex at most. The undecided vertex of the first priority has no
    /// neighbour before it, so it joins or leaves.
    fn limit(&self) -> Limit {
        let invariant = "each iteration decides the first of the vertices that are undecided";
        Limit::Proved { most: |vertices| vertices, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_differ_and_are_no_decisions() {
        let mut all: Vec<u64> = (0..100_000).map(|index| priority(3, index)).collect();
        all.extend([u64::from(u32::MAX), u64::from(u32::MAX) - 1].map(|index| priority(3, index)));
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(all.iter().all(|&all| all > Decision::JOINED.0 && all < Decision::LEFT.0));
    }

    #[test]
    fn a_vertex_joins_unless_an_earlier_neighbour_may() {
        let (program, last) = (Mis::new(1), Progress::default());
        let value = Decision(100);
        let becomes = |first| program.apply(value, first, &last);
        assert_eq!(becomes(program.identity()).value, Decision::JOINED);
        assert_eq!(becomes(100).value, Decision::JOINED, "a self-loop is no neighbour");
        assert_eq!((becomes(99).value, becomes(99).active), (value, true));
        assert_eq!((becomes(0).value, becomes(0).active), (Decision::LEFT, false));
        for decided in [Decision::JOINED, Decision::LEFT] {
            let applied = program.apply(decided, 0, &last);
            assert_eq!((applied.value, applied.active), (decided, false));
        }
    }
}
