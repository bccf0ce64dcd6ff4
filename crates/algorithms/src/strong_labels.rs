//! Strongly connected components by labels that spread forward and are reached backward.
//!
//! ```text
//! component(v) = the smallest id of all vertices that v reaches and that reach v
//! ```
//!
//! [`Scc`](crate::Scc) keeps cells of all vertices in memory. This is the same as a fold program,
//! for routes and budgets that have no place for them, in [rounds](crate::strong_rounds).
//!
//! An edge u -> v makes label(v) at most label(u): of those ahead of u that reach their labels, the
//! ones with the label of u have the largest, which is thus what u must hear. The open vertex with
//! the smallest number is decided in each round; its accumulators do not know whom they are of, so
//! labels cannot be kept within parts as the stream program does, and a chain in no order takes
//! more rounds here.
//!
//! Wants a graph that was read with [`Directions`](welter_model::edges::Duplicates::Directions):
//! each edge both ways, once, with a weight that says which ways it leads; and without self-loops,
//! which would keep a vertex from being trimmed.
//!
//! | stage | what a vertex tells those ahead | and behind | until |
//! |---|---|---|---|
//! | [`TRIM`] | that it is open | that it is open | few are trimmed |
//! | [`SPREAD`] | its label | | no label changes |
//! | [`REACH`] | | its label, if it reaches that | no new vertex reaches |
//!
//! Totals say which stage it is ([`stages`](crate::stages)). A run without active vertices would
//! end where a stage does: vertex 0 is always active, and has nothing to say once it is decided.
//!
//! Source: Chaos, Table 1 (`SCC`).
//!
//! A circle of three, and a vertex that it leads to:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::StrongLabels;
//! use welter_model::edges::{Duplicates, EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! let reading = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<StrongLabels>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &StrongLabels, &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::stages::Round;
use crate::strong_rounds::{
    ALONG, BACK, Labelled, NONE, REACH, Received, SPREAD, TRIM, after, is_against, kind, limit,
};

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrongLabels;

impl Value for Labelled {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![Self::column(values.iter().copied())]
    }
}

/// A label among those of which the largest is wanted.
#[inline(always)]
fn largest(label: u32) -> u32 {
    NONE - 1 - label
}

/// Labels of those behind and ahead, exchanged in rounds that go against the edges.
#[inline(always)]
fn turned(stage: u16, [one, other]: [u32; 2]) -> [u32; 2] {
    if is_against(stage) { [other, one] } else { [one, other] }
}

/// Words that a vertex of a label heard from behind and from ahead.
#[inline(always)]
fn received(label: u32, [behind, ahead]: [u32; 2]) -> Received {
    let reaches = ahead == largest(label);
    Received { is_entered: behind != NONE, is_left: ahead != NONE, reaches, label: behind }
}

impl Program for StrongLabels {
    type Value = Labelled;
    /// Labels that are sent to those ahead, and to those behind.
    type Signal = [u32; 2];
    /// Labels from behind, and from ahead.
    type Update = [u32; 2];
    type Accum = [u32; 2];
    type Total = Round;

    /// Weights say the ways that edges go.
    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    /// Not `MONOTONE`: that nothing came is what trims a vertex.
    const FRONTIER: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Labelled, Round> {
        let value = Labelled::open(vertex.index as u32);
        Applied::active(value, Round::of(TRIM.into(), true, true))
    }

    #[inline(always)]
    fn signal(&self, value: &Labelled) -> [u32; 2] {
        let message = match kind(value.says) {
            TRIM => [0; 2],
            SPREAD => [value.label, NONE],
            REACH => [NONE, largest(value.label)],
            _ => [NONE; 2],
        };
        turned(value.says, message)
    }

    #[inline(always)]
    fn scatter(&self, [ahead, behind]: [u32; 2], ways: f64) -> Option<[u32; 2]> {
        let (along, back) = (ways as u32 & ALONG != 0, ways as u32 & BACK != 0);
        let update = [if along { ahead } else { NONE }, if back { behind } else { NONE }];
        (update != [NONE; 2]).then_some(update)
    }

    #[inline(always)]
    fn identity(&self) -> [u32; 2] {
        [NONE; 2]
    }

    #[inline(always)]
    fn gather(&self, accum: [u32; 2], update: [u32; 2]) -> [u32; 2] {
        [accum[0].min(update[0]), accum[1].min(update[1])]
    }

    #[inline(always)]
    fn merge(&self, left: [u32; 2], right: [u32; 2]) -> [u32; 2] {
        self.gather(left, right)
    }

    #[inline(always)]
    fn apply(&self, value: Labelled, message: [u32; 2], last: &Round) -> Applied<Labelled, Round> {
        let keeps_time = value.vertex == 0;
        if !value.is_open() {
            return Applied { value, total: Round::default(), active: keeps_time };
        }
        let stage = last.stage as u16;
        let next = after(stage, last.open, last.changed);
        let received = received(value.label, turned(stage, message));
        let step = value.step([stage, next], received);
        let total = Round::of(next.into(), step.now.is_open(), step.changed);
        Applied { value: step.now, total, active: step.speaks || keeps_time }
    }

    fn next(&self, _: u64, total: &Round) -> Next {
        total.follows()
    }

    fn limit(&self) -> Limit {
        limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strong_rounds::{AGAINST, SILENT};

    fn last(stage: u16, open: u64, changed: u64) -> Round {
        Round { stage: stage.into(), open, changed }
    }

    #[test]
    fn a_vertex_without_edges_on_one_side_is_trimmed() {
        let at = Labelled::open(7);
        let becomes = |message| StrongLabels.apply(at, message, &last(TRIM, 8, 8));
        for message in [[NONE; 2], [0, NONE], [NONE, 0]] {
            let applied = becomes(message);
            assert_eq!((applied.value, applied.active), (at.decide(7), false));
        }
        assert_eq!((becomes([0; 2]).value, becomes([0; 2]).active), (at, true));
    }

    #[test]
    fn who_reaches_its_label_hears_it_from_ahead() {
        for against in [0, AGAINST] {
            let at = Labelled { label: 3, says: SILENT, ..Labelled::open(7) };
            let hears = |label| turned(against, [NONE, largest(label)]);
            let becomes =
                |label| StrongLabels.apply(at, hears(label), &last(REACH | against, 8, 1)).value;
            assert_eq!(becomes(3).says, REACH | against);
            assert_eq!(becomes(2), at, "those of another label reach something else");
            assert_eq!(StrongLabels.signal(&becomes(3)), turned(against, [NONE, largest(3)]));
        }
    }

    #[test]
    fn vertex_0_keeps_time() {
        let decided = |vertex| Labelled::open(vertex).decide(0);
        let active = |vertex| StrongLabels.apply(decided(vertex), [NONE; 2], &last(TRIM, 8, 1));
        assert!(active(0).active && !active(1).active);
        assert_eq!(active(0).total, Round::default());
    }

    #[test]
    fn the_largest_label_is_the_first_of_its_kind() {
        assert!(largest(u32::MAX - 1) == 0 && largest(0) < NONE && largest(9) < largest(8));
    }
}
