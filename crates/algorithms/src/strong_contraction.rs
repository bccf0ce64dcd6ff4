//! Strongly connected components by labels that spread within parts, on a graph from which edges
//! between parts are dropped.
//!
//! ```text
//! component(v) = the smallest id of all vertices that v reaches and that reach v
//! ```
//!
//! Vertices that are not decided are *open*, and lie in parts; each component is within one. A
//! round does what one of [`StrongLabels`](crate::StrongLabels) does, within parts:
//!
//! | stage | an edge u -> v tells v | and u | until |
//! |---|---|---|---|
//! | [`TRIM`] | that something enters it | that something leaves it | few are trimmed |
//! | [`SPREAD`] | the label of u, of which it keeps the smallest | | no label changes |
//! | [`REACH`] | | that v reaches their label, if both have one label | nobody new reaches |
//!
//! Who reaches the vertex that it has as its label is of its component. Others with that label are
//! a part of the next round: a component has one label, since its vertices reach each other.
//!
//! An edge between two parts, or at a vertex that is decided, is news never again. So it is dropped
//! when edges are rewritten: with the first iteration of every round but the first, and whenever a
//! quarter of the vertices that have edges are decided. Other iterations do not rewrite: they
//! stream what sources have that have news.
//!
//! Every second round goes against the edges, so that chains of components are decided at once
//! whether their numbers rise or fall along it.
//!
//! Wants a graph that was read with [`Directions`](welter_model::edges::Duplicates::Directions):
//! each edge both ways, once, with a weight that says which ways it leads; and without self-loops,
//! which would keep a vertex from being trimmed.
//!
//! Source: Chaos, Table 1 (`SCC`) and footnote 2; S. Orzan, "On distributed verification and
//! verified distribution", 2004 (colours, which split parts).

use bytemuck::{Pod, Zeroable};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

/// Trimming goes on while it decides at least one vertex for so many that are open.
const TRIM_PAYS: u64 = 4;

/// Edges are rewritten when one vertex is decided for so many that are open.
const REWRITE_PAYS: u64 = 4;

/// No label: more than all.
const NONE: u32 = u32::MAX;

/// The component is known.
const DECIDED: u16 = 0;
/// Others reach their labels, this vertex does not yet.
const SILENT: u16 = 1;
/// Stage: see the table above.
const TRIM: u16 = 2;
/// Stage: see the table above.
const SPREAD: u16 = 4;
/// Stage: see the table above.
const REACH: u16 = 6;
/// Added to a stage of a round that goes against the edges.
const AGAINST: u16 = 1;
/// Added, in totals, to the first stage of a round, but for that of the first one.
const ROUND: u64 = 8;

/// In what an edge holds: one leads along it.
const ALONG: u32 = 1;
/// One leads back.
const BACK: u32 = 2;

/// In a message: an edge of its part enters the vertex.
const ENTERS: u32 = 1;
/// An edge of its part leaves it.
const LEAVES: u32 = 2;
/// It reaches its label.
const REACHES: u32 = 4;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct StrongContraction;

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Strong {
    vertex: u32,
    /// The part in which it is open.
    part: u32,
    /// Its component, once that is decided.
    label: u32,
    /// The stage as of which it speaks, or [`DECIDED`] or [`SILENT`].
    says: u16,
    /// Whether it is open and has news; or decided, and may have edges.
    has_news: u16,
}

impl Value for Strong {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let components = values.iter().map(|value| value.label.into()).collect();
        vec![("component", ColumnData::Vertices(components))]
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

/// Where a run is.
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
        let stage = self.spoken();
        match stage & !AGAINST {
            TRIM if self.changed * TRIM_PAYS < self.open => SPREAD | (stage & AGAINST),
            SPREAD if self.changed == 0 => REACH | (stage & AGAINST),
            REACH if self.changed == 0 => TRIM | (!stage & AGAINST),
            _ => stage,
        }
    }
}

/// Ways of an edge, as they are seen in a stage.
fn turned(stage: u16, ways: u32) -> u32 {
    if stage & AGAINST == 0 { ways } else { (ways & ALONG) << 1 | (ways & BACK) >> 1 }
}

impl Strong {
    fn is_open(&self) -> bool {
        self.says != DECIDED
    }

    fn decide(self, label: u32) -> Self {
        Self { label, says: DECIDED, ..self }
    }

    /// The state after hearing what was said as of a stage.
    fn learn(self, stage: u16, heard: Message) -> Self {
        match stage & !AGAINST {
            TRIM if heard.marks & (ENTERS | LEAVES) != ENTERS | LEAVES => self.decide(self.vertex),
            SPREAD => Self { label: self.label.min(heard.label), ..self },
            REACH if heard.marks & REACHES != 0 => Self { says: stage, ..self },
            _ => self,
        }
    }

    /// How it enters another stage.
    fn enter(self, stage: u16) -> Self {
        match stage & !AGAINST {
            TRIM if self.says != SILENT => self.decide(self.label),
            TRIM => Self { part: self.label, says: stage, ..self },
            SPREAD => Self { label: self.vertex, says: stage, ..self },
            REACH if self.label != self.vertex => Self { says: SILENT, ..self },
            _ => Self { says: stage, ..self },
        }
    }
}

impl Contract for StrongContraction {
    type Value = Strong;
    /// [`ALONG`], [`BACK`], or both.
    type EdgeData = u32;
    type Update = Message;
    type Total = Round;

    const WEIGHTED: bool = true;

    fn init(&self, vertex: Vertex) -> (Strong, Round) {
        let vertex = vertex.index as u32;
        let value = Strong { vertex, part: 0, label: vertex, says: TRIM, has_news: 1 };
        (value, Round { stage: TRIM.into(), open: 1, changed: 1, dead: 0 })
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
        let reaches = stage & !AGAINST == REACH;
        let live = source.is_open() && target.is_open() && source.part == target.part;
        if !live || reaches && source.label != target.label {
            return (None, None);
        }
        let ways = turned(stage, edge.data);
        let (label, marks) = match source.says & !AGAINST {
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
        value.is_open() && value.has_news != 0
    }

    fn merge(&self, left: Message, right: Message) -> Message {
        Message { label: left.label.min(right.label), marks: left.marks | right.marks }
    }

    fn apply(&self, value: Strong, heard: Option<Message>, last: &Round) -> (Strong, Round) {
        if !value.is_open() {
            let may_have_edges = value.has_news != 0 && !self.rewrites(last);
            let total = Round { dead: may_have_edges.into(), ..Round::default() };
            return (Strong { has_news: may_have_edges.into(), ..value }, total);
        }
        let (stage, next) = (last.spoken(), last.after());
        let heard = heard.unwrap_or(Message { label: NONE, marks: 0 });
        let learnt = value.learn(stage, heard);
        let enters = learnt.is_open() && next != stage;
        let now = if enters { learnt.enter(next) } else { learnt };
        let changed = now != value;
        // A vertex that is decided now had its edges shown, and kept, while it was open.
        let speaks = now.says > SILENT && (changed || now.says & !AGAINST == TRIM);
        let has_news = u16::from(speaks || !now.is_open());
        let begins = if next != stage && next & !AGAINST == TRIM { ROUND } else { 0 };
        let total = Round {
            stage: u64::from(next) | begins,
            open: now.is_open().into(),
            changed: changed.into(),
            dead: (!now.is_open()).into(),
        };
        (Strong { has_news, ..now }, total)
    }

    fn next(&self, _: u64, total: &Round) -> Next {
        if total.open > 0 { Next::Iterate } else { Next::Stop }
    }

    /// As of [`StrongLabels`](crate::StrongLabels): a round decides the vertices of the smallest
    /// label of each part.
    fn limit(&self) -> Limit {
        let invariant = "each round decides the open vertex with the smallest number";
        let most = |vertices: u64| vertices.saturating_mul(2 * vertices + 8);
        Limit::Proved { most, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Strong = Strong { vertex: 7, part: 0, label: 7, says: TRIM, has_news: 1 };

    fn last(stage: u16, open: u64, changed: u64) -> Round {
        Round { stage: stage.into(), open, changed, dead: 0 }
    }

    fn told(label: u32, marks: u32) -> Message {
        Message { label, marks }
    }

    #[test]
    fn stages_end_when_nothing_happens_and_rounds_turn() {
        let next = |stage, changed| last(stage, 8, changed).after();
        assert_eq!([next(TRIM, 2), next(TRIM, 1)], [TRIM, SPREAD]);
        assert_eq!([next(SPREAD, 1), next(SPREAD, 0)], [SPREAD, REACH]);
        assert_eq!([next(REACH, 1), next(REACH, 0)], [REACH, TRIM | AGAINST]);
        assert_eq!(next(REACH | AGAINST, 0), TRIM);
        let begun = Round { stage: u64::from(TRIM | AGAINST) | ROUND, ..last(TRIM, 8, 1) };
        assert_eq!(begun.after(), SPREAD | AGAINST);
    }

    #[test]
    fn an_edge_speaks_within_its_part_and_label() {
        let open = |label, says| Strong { label, says, ..AT };
        let other = Strong { part: 3, ..open(7, SPREAD) };
        let decided = open(7, DECIDED);
        // (source, target, ways, stage) -> (told, kept)
        for (source, target, ways, stage, said, kept) in [
            (open(7, TRIM), open(9, TRIM), ALONG, TRIM, Some(told(NONE, ENTERS)), true),
            (open(7, TRIM), open(9, TRIM), ALONG | BACK, TRIM, Some(told(NONE, 3)), true),
            (open(7, TRIM), decided, ALONG, TRIM, None, false),
            (decided, open(7, TRIM), ALONG, TRIM, None, false),
            (open(2, SPREAD), open(9, SPREAD), ALONG, SPREAD, Some(told(2, 0)), true),
            (open(2, SPREAD), open(9, SPREAD), BACK, SPREAD, None, true),
            (open(2, SPREAD | AGAINST), open(9, 5), BACK, SPREAD | AGAINST, Some(told(2, 0)), true),
            (open(2, SPREAD), other, ALONG, SPREAD, None, false),
            (open(2, REACH), open(2, SILENT), BACK, REACH, Some(told(NONE, REACHES)), true),
            (open(2, REACH), open(2, SILENT), ALONG, REACH, None, true),
            (open(2, REACH), open(3, SILENT), BACK, REACH, None, false),
            (open(2, SILENT), open(2, SILENT), BACK, REACH, None, true),
        ] {
            let edge = RewrittenEdge { source: 7, target: 8, data: ways };
            let found = StrongContraction.rewrite(edge, [&source, &target], &last(stage, 8, 1));
            assert_eq!(found, (said, kept.then_some(edge)), "{source:?}, {target:?}, {ways}");
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
        let (trimmed, total) = StrongContraction.apply(AT, None, &last(TRIM, 8, 8));
        assert_eq!((trimmed.says, trimmed.label, total.dead, total.open), (DECIDED, 7, 1, 0));
        let dead = |last: &Round| StrongContraction.apply(trimmed, None, last).1.dead;
        assert_eq!(dead(&last(SPREAD, 8, 1)), 1);
        assert_eq!(dead(&Round { dead: 3, ..last(SPREAD, 8, 1) }), 0);
    }

    #[test]
    fn who_reaches_its_label_is_of_its_component_and_others_are_a_part() {
        for against in [0, AGAINST] {
            let at = Strong { label: 3, says: SILENT, ..AT };
            let becomes = |heard, changed| {
                StrongContraction.apply(at, heard, &last(REACH | against, 8, changed)).0
            };
            assert_eq!(becomes(Some(told(NONE, REACHES)), 1).says, REACH | against);
            assert_eq!(becomes(None, 1).says, SILENT);
            let left = becomes(None, 0);
            assert_eq!((left.part, left.says), (3, TRIM | (against ^ AGAINST)));
            let reached = Strong { says: REACH | against, ..at };
            let ended = last(REACH | against, 8, 0);
            let (value, total) = StrongContraction.apply(reached, None, &ended);
            assert_eq!((value.label, value.says), (3, DECIDED));
            assert_ne!(total.stage & ROUND, 0);
        }
    }
}
