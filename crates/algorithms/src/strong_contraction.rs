//! Strongly connected components by labels that spread within parts, on a graph from which edges
//! between parts are dropped.
//!
//! ```text
//! component(v) = the smallest id of all vertices that v reaches and that reach v
//! ```
//!
//! Open vertices lie in parts; each component is within one. A [round](crate::strong_rounds) stays
//! within parts:
//!
//! | stage | an edge u -> v tells v | and u | until |
//! |---|---|---|---|
//! | [`TRIM`] | that something enters it | that something leaves it | few are trimmed |
//! | [`SPREAD`] | the label of u, of which it keeps the smallest | | no label changes |
//! | [`REACH`] | | that v reaches their label, if both have one label | no new vertex reaches |
//!
//! The vertices with one label that do not reach it are a part of the next round: a component has
//! one label, since its vertices reach each other.
//!
//! An edge between two parts, or at a vertex that is decided, is a candidate never again. So it is
//! dropped when edges are rewritten: with the first iteration of every round but the first, and
//! whenever a quarter of the vertices that have edges are decided. Other iterations do not rewrite:
//! they stream what sources have that have something new to tell.
//!
//! Wants a graph that was read with [`Directions`](welter_model::edges::Duplicates::Directions):
//! each edge both ways, once, with a weight that says which ways it leads; and without self-loops,
//! which would keep a vertex from being trimmed.
//!
//! Source: Chaos, Table 1 (`SCC`) and footnote 2; S. Orzan, "On distributed verification and
//! verified distribution", 2004 (colours, which split parts).
//!
//! A circle of three, and a vertex that it leads to:
//!
//! ```
//! # use welter_testing::{graph::Graph, interpreter::interpret_contract, reading::read_as};
//! use welter_algorithms::StrongContraction;
//! use welter_model::edges::{Duplicates, Reading};
//! use welter_model::program::Value;
//! use welter_model::table::ColumnData;
//!
//! let circle = Graph::new(4, vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! let ways = Reading { duplicates: Duplicates::Directions, ..Reading::default() };
//! let answer = interpret_contract(&read_as(&circle, ways), &StrongContraction);
//! let columns = Value::columns(&answer.values);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3]))]);
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

use crate::strong_rounds::{
    ALONG, BACK, Labelled, NONE, REACH, Received, SPREAD, TRIM, after, is_against, kind, limit,
};

/// Edges are rewritten when one vertex is decided for each `REWRITE_PAYS` that are open.
const REWRITE_PAYS: u64 = 4;

/// Added, in totals, to the first stage of a round, but for that of the first one.
const ROUND: u64 = 8;

/// In a message: an edge of its part enters the vertex.
const ENTERS: u32 = 1;
/// In a message: an edge of its part leaves the vertex.
const LEAVES: u32 = 2;
/// In a message: the vertex reaches its label.
const REACHES: u32 = 4;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrongContraction;

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Strong {
    /// Label whose mark says whether it is open and has something new to send; or decided, and may
    /// have edges.
    at: Labelled,
    /// The part in which it is open.
    part: u32,
}

impl Value for Strong {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![Labelled::column(values.iter().map(|value| value.at))]
    }
}

/// Message of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    /// The smallest label that was heard, or [`NONE`].
    label: u32,
    /// [`ENTERS`], [`LEAVES`], [`REACHES`].
    marks: u32,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Round {
    /// The stage as of which vertices speak that are open, and [`ROUND`].
    stage: u64,
    /// Vertices that are not decided.
    open: u64,
    /// Vertices of which something is known that was not before.
    changed: u64,
    /// Vertices that are decided, and may have edges.
    dead: u64,
}

impl Total for Round {
    fn merge(self, other: Self) -> Self {
        Self {
            stage: self.stage.max(other.stage),
            open: self.open + other.open,
            changed: self.changed + other.changed,
            dead: self.dead + other.dead,
        }
    }
}

impl Round {
    /// The stage as of which vertices spoke.
    fn spoken(&self) -> u16 {
        (self.stage & !ROUND) as u16
    }

    /// The stage that follows.
    fn after(&self) -> u16 {
        after(self.spoken(), self.open, self.changed)
    }
}

/// Ways of an edge, as they are seen in a stage.
fn turned(stage: u16, ways: u32) -> u32 {
    if is_against(stage) { (ways & ALONG) << 1 | (ways & BACK) >> 1 } else { ways }
}

/// Words of a message, or of none.
fn received(message: Option<Message>) -> Received {
    let Some(Message { label, marks }) = message else {
        return Received { label: NONE, ..Received::default() };
    };
    let has = |mark| marks & mark != 0;
    Received { is_entered: has(ENTERS), is_left: has(LEAVES), reaches: has(REACHES), label }
}

impl Contract for StrongContraction {
    type Value = Strong;
    /// [`ALONG`], [`BACK`], or both.
    type EdgeData = u32;
    type Update = Message;
    type Total = Round;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;

    fn init(&self, vertex: Vertex) -> (Strong, Round) {
        let at = Labelled { mark: 1, ..Labelled::open(vertex.index as u32) };
        (Strong { at, part: 0 }, Round { stage: TRIM.into(), open: 1, changed: 1, dead: 0 })
    }

    fn edge_data(&self, edge: Edge) -> u32 {
        edge.weight as u32
    }

    fn rewrite(
        &self,
        edge: RewrittenEdge<u32>,
        [source, target]: [&Strong; 2],
        last: &Round,
    ) -> (Option<Message>, Option<RewrittenEdge<u32>>) {
        let stage = last.spoken();
        let one_part = source.part == target.part;
        let [source, target] = [source.at, target.at];
        let live = source.is_open() && target.is_open() && one_part;
        if !live || kind(stage) == REACH && source.label != target.label {
            return (None, None);
        }
        let ways = turned(stage, edge.data);
        let (label, marks) = match kind(source.says) {
            TRIM => (NONE, edge.data),
            SPREAD if ways & ALONG != 0 => (source.label, 0),
            REACH if ways & BACK != 0 => (NONE, REACHES),
            _ => return (None, Some(edge)),
        };
        (Some(Message { label, marks }), Some(edge))
    }

    fn rewrites(&self, last: &Round) -> bool {
        last.stage & ROUND != 0 || last.dead > 0 && last.dead * REWRITE_PAYS >= last.open
    }

    fn speaks(&self, value: &Strong) -> bool {
        value.at.is_open() && value.at.mark != 0
    }

    fn merge(&self, left: Message, right: Message) -> Message {
        Message { label: left.label.min(right.label), marks: left.marks | right.marks }
    }

    fn apply(&self, value: Strong, message: Option<Message>, last: &Round) -> (Strong, Round) {
        let Strong { at, part } = value;
        if !at.is_open() {
            let may_have_edges = at.mark != 0 && !self.rewrites(last);
            let total = Round { dead: may_have_edges.into(), ..Round::default() };
            return (Strong { at: Labelled { mark: may_have_edges.into(), ..at }, part }, total);
        }
        let [stage, next] = [last.spoken(), last.after()];
        let step = at.step([stage, next], received(message));
        let (now, is_open) = (step.now, step.now.is_open());
        let begins = next != stage && kind(next) == TRIM;
        let part = if begins && is_open { now.label } else { part };
        let total = Round {
            stage: u64::from(next) | if begins { ROUND } else { 0 },
            open: is_open.into(),
            changed: step.changed.into(),
            dead: (!is_open).into(),
        };
        // A vertex that is decided now had its edges shown, and kept, while it was open.
        let mark = u16::from(step.speaks || !is_open);
        (Strong { at: Labelled { mark, ..now }, part }, total)
    }

    fn next(&self, _: u64, total: &Round) -> Next {
        if total.open > 0 { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strong_rounds::{AGAINST, DECIDED, SILENT};

    fn open(label: u32, says: u16) -> Strong {
        let at = Labelled { label, says, mark: 1, ..Labelled::open(7) };
        Strong { at, part: 0 }
    }

    fn last(stage: u16, open: u64, changed: u64) -> Round {
        Round { stage: stage.into(), open, changed, dead: 0 }
    }

    fn message(label: u32, marks: u32) -> Message {
        Message { label, marks }
    }

    #[test]
    fn the_first_stage_of_a_round_has_its_mark() {
        let begun = Round { stage: u64::from(TRIM | AGAINST) | ROUND, ..last(TRIM, 8, 1) };
        assert_eq!(begun.after(), SPREAD | AGAINST);
    }

    #[test]
    fn an_edge_speaks_within_its_part_and_label() {
        let other = Strong { part: 3, ..open(7, SPREAD) };
        let decided = open(7, DECIDED);
        // (source, target, ways, stage) -> (update, kept)
        for (source, target, ways, stage, update, kept) in [
            (open(7, TRIM), open(9, TRIM), ALONG, TRIM, Some(message(NONE, ENTERS)), true),
            (open(7, TRIM), open(9, TRIM), ALONG | BACK, TRIM, Some(message(NONE, 3)), true),
            (open(7, TRIM), decided, ALONG, TRIM, None, false),
            (decided, open(7, TRIM), ALONG, TRIM, None, false),
            (open(2, SPREAD), open(9, SPREAD), ALONG, SPREAD, Some(message(2, 0)), true),
            (open(2, SPREAD), open(9, SPREAD), BACK, SPREAD, None, true),
            (
                open(2, SPREAD | AGAINST),
                open(9, 5),
                BACK,
                SPREAD | AGAINST,
                Some(message(2, 0)),
                true,
            ),
            (open(2, SPREAD), other, ALONG, SPREAD, None, false),
            (open(2, REACH), open(2, SILENT), BACK, REACH, Some(message(NONE, REACHES)), true),
            (open(2, REACH), open(2, SILENT), ALONG, REACH, None, true),
            (open(2, REACH), open(3, SILENT), BACK, REACH, None, false),
            (open(2, SILENT), open(2, SILENT), BACK, REACH, None, true),
        ] {
            let edge = RewrittenEdge { source: 7, target: 8, data: ways };
            let found = StrongContraction.rewrite(edge, [&source, &target], &last(stage, 8, 1));
            assert_eq!(found, (update, kept.then_some(edge)), "{source:?}, {target:?}, {ways}");
        }
    }

    #[test]
    fn edges_are_rewritten_when_a_round_begins_or_many_are_decided() {
        let rewrites = |round| StrongContraction.rewrites(&round);
        assert!(!rewrites(last(TRIM, 8, 1)) && !rewrites(last(REACH, 0, 0)));
        assert!(rewrites(Round { stage: u64::from(TRIM) | ROUND, ..last(TRIM, 8, 1) }));
        assert!(rewrites(Round { dead: 2, ..last(SPREAD, 8, 1) }));
        assert!(!rewrites(Round { dead: 1, ..last(SPREAD, 8, 1) }));
    }

    #[test]
    fn who_is_decided_counts_until_edges_were_rewritten() {
        let (trimmed, total) = StrongContraction.apply(open(7, TRIM), None, &last(TRIM, 8, 8));
        let says = (trimmed.at.says, trimmed.at.label);
        assert_eq!((says, total.dead, total.open), ((DECIDED, 7), 1, 0));
        let dead = |last: &Round| StrongContraction.apply(trimmed, None, last).1.dead;
        assert_eq!(dead(&last(SPREAD, 8, 1)), 1);
        assert_eq!(dead(&Round { dead: 3, ..last(SPREAD, 8, 1) }), 0);
    }

    #[test]
    fn who_does_not_reach_its_label_is_of_a_part_with_it() {
        for against in [0, AGAINST] {
            let at = open(3, SILENT);
            let becomes = |message, changed| {
                StrongContraction.apply(at, message, &last(REACH | against, 8, changed))
            };
            assert_eq!(becomes(Some(message(NONE, REACHES)), 1).0.at.says, REACH | against);
            assert_eq!((becomes(None, 1).0.at.says, becomes(None, 1).0.part), (SILENT, 0));
            let (left, total) = becomes(None, 0);
            assert_eq!((left.part, left.at.says), (3, TRIM | (against ^ AGAINST)));
            assert_ne!(total.stage & ROUND, 0);
        }
    }
}
