//! Strongly connected components by labels that spread forward and are reached backward.
//!
//! ```text
//! component(v) = the smallest id of all vertices that v reaches and that reach v
//! ```
//!
//! [`Scc`](crate::Scc) keeps cells of all vertices in memory. This is the same as a fold program,
//! for routes and budgets that have no place for them. All vertices are *open* at first. A round
//!
//! 1. trims: an open vertex that no edge from an open one enters, or from which none leads to an
//!    open one, is a component by itself;
//! 2. spreads: `label(v) = min(v, label(u) for edges u -> v)`, the smallest vertex that reaches v;
//! 3. reaches: a vertex that is its own label is of its component, and so is v when an edge leads
//!    from it to a vertex of the same label that is. The others are open in the next round.
//!
//! Who has label r was reached by r, so he is of its component when he reaches r; and all on the
//! way to r have that label. An edge u -> v makes label(v) at most label(u): of those ahead of u
//! that reach their labels, who have u's own have the largest, which is thus what u must hear. And
//! r is the smallest of all that reach it, so the smallest of its component.
//!
//! Every second round goes against the edges, so that chains of components are decided at once
//! whether their numbers rise or fall along it. The open vertex with the smallest number is decided
//! in each round; its accumulators do not know whom they are of, so labels cannot be kept within
//! parts as the stream program does, and a chain in no order takes more rounds here.
//!
//! Wants a graph that was read with [`Directions`](welter_model::edges::Duplicates::Directions):
//! each edge both ways, once, with a weight that says which ways it leads; and without self-loops,
//! which would keep a vertex from being trimmed.
//!
//! | stage | what a vertex tells those ahead | and behind | until |
//! |---|---|---|---|
//! | [`TRIM`] | that it is open | that it is open | few are trimmed |
//! | [`SPREAD`] | its label | | no label changes |
//! | [`REACH`] | | its label, if it reaches that | nobody new reaches |
//!
//! Totals say which stage it is ([`stages`](crate::stages)). A run without active vertices would
//! end where a stage does: vertex 0 is always active, and has nothing to say once it is decided.
//!
//! Source: Chaos, Table 1 (`SCC`); S. Orzan, "On distributed verification and verified
//! distribution", 2004 (colours).
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

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::stages::Round;

/// Trimming goes on while it decides at least one vertex for so many that are open.
const TRIM_PAYS: u64 = 4;

/// Nobody: more than all labels.
const NONE: u32 = u32::MAX;

/// The component is known.
const DECIDED: u32 = 0;
/// Others reach their labels, this vertex does not yet.
const SILENT: u32 = 1;
/// See the table above.
const TRIM: u32 = 2;
/// See the table above.
const SPREAD: u32 = 4;
/// See the table above.
const REACH: u32 = 6;
/// Added to a stage of a round that goes against the edges.
const AGAINST: u32 = 1;

/// In the weight of an arc: an edge leads along it.
const ALONG: u32 = 1;
/// An edge leads back.
const BACK: u32 = 2;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrongLabels;

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Strong {
    vertex: u32,
    /// Its component, once that is decided.
    label: u32,
    /// The stage as of which it speaks, or [`DECIDED`] or [`SILENT`].
    says: u32,
}

impl Value for Strong {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let components = values.iter().map(|value| value.label.into()).collect();
        vec![("component", ColumnData::Vertices(components))]
    }
}

/// The stage that follows.
#[inline(always)]
fn after(round: &Round) -> u32 {
    let stage = round.stage as u32;
    match stage & !AGAINST {
        TRIM if round.changed * TRIM_PAYS < round.open => SPREAD | (stage & AGAINST),
        SPREAD if round.changed == 0 => REACH | (stage & AGAINST),
        REACH if round.changed == 0 => TRIM | (!stage & AGAINST),
        _ => stage,
    }
}

/// A label among those of which the largest is wanted.
#[inline(always)]
fn largest(label: u32) -> u32 {
    NONE - 1 - label
}

impl Strong {
    #[inline(always)]
    fn decide(self, label: u32) -> Self {
        Self { label, says: DECIDED, ..self }
    }

    /// The state after hearing those behind and ahead, who spoke as of a stage.
    #[inline(always)]
    fn learn(self, stage: u32, heard: [u32; 2]) -> Self {
        let [behind, ahead] = turned(stage, heard);
        match stage & !AGAINST {
            TRIM if behind == NONE || ahead == NONE => self.decide(self.vertex),
            SPREAD => Self { label: self.label.min(behind), ..self },
            REACH if ahead == largest(self.label) => Self { says: stage, ..self },
            _ => self,
        }
    }

    /// How it enters another stage.
    #[inline(always)]
    fn enter(self, stage: u32) -> Self {
        match stage & !AGAINST {
            TRIM if self.says != SILENT => self.decide(self.label),
            SPREAD => Self { label: self.vertex, says: stage, ..self },
            REACH if self.label != self.vertex => Self { says: SILENT, ..self },
            _ => Self { says: stage, ..self },
        }
    }
}

/// Labels of those behind and ahead, exchanged in rounds that go against the edges.
#[inline(always)]
fn turned(stage: u32, [one, other]: [u32; 2]) -> [u32; 2] {
    if stage & AGAINST == 0 { [one, other] } else { [other, one] }
}

impl Program for StrongLabels {
    type Value = Strong;
    /// Labels told to those ahead, and to those behind.
    type Signal = [u32; 2];
    /// Labels from behind, and from ahead.
    type Update = [u32; 2];
    type Accum = [u32; 2];
    type Total = Round;

    /// Weights tell the ways that edges go.
    const WEIGHTED: bool = true;
    /// Not `MONOTONE`: that nothing came is what trims a vertex.
    const FRONTIER: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Strong, Round> {
        let vertex = vertex.index as u32;
        let value = Strong { vertex, label: vertex, says: TRIM };
        Applied::active(value, Round::of(TRIM, true, true))
    }

    #[inline(always)]
    fn signal(&self, value: &Strong) -> [u32; 2] {
        let told = match value.says & !AGAINST {
            TRIM => [0; 2],
            SPREAD => [value.label, NONE],
            REACH => [NONE, largest(value.label)],
            _ => [NONE; 2],
        };
        turned(value.says, told)
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
    fn apply(&self, value: Strong, heard: [u32; 2], last: &Round) -> Applied<Strong, Round> {
        let keeps_time = value.vertex == 0;
        if value.says == DECIDED {
            return Applied { value, total: Round::default(), active: keeps_time };
        }
        let (stage, next) = (last.stage as u32, after(last));
        let learnt = value.learn(stage, heard);
        let is_open = learnt.says != DECIDED;
        let now = if is_open && next != stage { learnt.enter(next) } else { learnt };
        let (is_open, changed) = (now.says != DECIDED, now != value);
        let speaks = now.says > SILENT && (changed || now.says & !AGAINST == TRIM);
        let total = Round::of(next, is_open, changed);
        Applied { value: now, total, active: speaks || keeps_time }
    }

    fn next(&self, _: u64, total: &Round) -> Next {
        total.follows()
    }

    /// A round decides the open vertex with the smallest number at least, so there are `V` at most.
    /// In each a label passes less than `V` edges, and so does who reaches it, with an iteration
    /// that finds nothing new after either. Trimming goes on while it decides a vertex, or has
    /// just begun.
    fn limit(&self) -> Limit {
        let invariant = "each round decides the open vertex with the smallest number";
        let most = |vertices: u64| vertices.saturating_mul(2 * vertices + 8);
        Limit::Proved { most, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Strong = Strong { vertex: 7, label: 7, says: TRIM };

    fn last(stage: u32, open: u64, changed: u64) -> Round {
        Round { stage: stage.into(), open, changed }
    }

    #[test]
    fn stages_end_when_nothing_happens() {
        let next = |stage, changed| after(&last(stage, 8, changed));
        assert_eq!([next(TRIM, 2), next(TRIM, 1)], [TRIM, SPREAD]);
        assert_eq!([next(SPREAD, 1), next(SPREAD, 0)], [SPREAD, REACH]);
        assert_eq!([next(REACH, 1), next(REACH, 0)], [REACH, TRIM | AGAINST]);
        assert_eq!(next(REACH | AGAINST, 0), TRIM);
        assert_eq!(next(SPREAD | AGAINST, 0), REACH | AGAINST);
    }

    #[test]
    fn a_vertex_without_edges_on_one_side_is_trimmed() {
        let becomes = |heard| StrongLabels.apply(AT, heard, &last(TRIM, 8, 8));
        for heard in [[NONE; 2], [0, NONE], [NONE, 0]] {
            let applied = becomes(heard);
            assert_eq!((applied.value, applied.active), (AT.decide(7), false));
        }
        assert_eq!((becomes([0; 2]).value, becomes([0; 2]).active), (AT, true));
    }

    #[test]
    fn who_reaches_his_label_is_of_its_component() {
        for against in [0, AGAINST] {
            let at = Strong { vertex: 7, label: 3, says: SILENT };
            let hears = |label| turned(against, [NONE, largest(label)]);
            let becomes =
                |label| StrongLabels.apply(at, hears(label), &last(REACH | against, 8, 1)).value;
            assert_eq!(becomes(3).says, REACH | against);
            assert_eq!(becomes(2), at, "those of another label reach something else");
            assert_eq!(StrongLabels.signal(&becomes(3)), turned(against, [NONE, largest(3)]));
            let ended = last(REACH | against, 8, 0);
            let nothing = StrongLabels.identity();
            assert_eq!(StrongLabels.apply(becomes(3), nothing, &ended).value, at.decide(3));
            let again = StrongLabels.apply(at, nothing, &ended);
            assert_eq!((again.value.says, again.active), (TRIM | (against ^ AGAINST), true));
        }
    }

    #[test]
    fn the_largest_label_is_the_first_of_its_kind() {
        assert!(largest(u32::MAX - 1) == 0 && largest(0) < NONE && largest(9) < largest(8));
    }
}
