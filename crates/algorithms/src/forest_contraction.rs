//! Minimum-cost spanning forests by contraction: Borůvka's algorithm on a graph that becomes
//! smaller.
//!
//! ```text
//! best(v)   = the least edge of v, by weight and then by the ends that it has in the input
//! forest   += best(v) for all v; what these join becomes one vertex      until no edge is left
//! ```
//!
//! | stage | an edge of the graph | a pointer from a parent | until |
//! |---|---|---|---|
//! | [`OFFER`] | tells its target what it is | (there is none) | once |
//! | [`HOOK`] | which is best for its target becomes a pointer | | once |
//! | [`DOUBLE`] | | tells the parent of its source, and leads from that | no news |
//! | [`RENAME`] | gets the roots of its ends, or goes if they are one | goes | once |
//!
//! Of two vertices whose least edge is the same one the smaller is a root. All others hook, which a
//! vertex does once: it is no end of an edge afterwards. So the edge over which it hooks lies with
//! it, in its partition, and the forest is a list that no machine has as a whole.
//!
//! Pointers halve the way to the root each time, so a round takes as many iterations as the longest
//! chain of hooks has vertices by a logarithm. [`ForestLabels`](crate::ForestLabels), where
//! vertices speak to neighbours only, takes twice as many a round as components are wide.
//!
//! Wants a graph that was read as undirected. Totals say which stage was last
//! ([`stages`](crate::stages)).
//!
//! Source: Chaos, Table 1 (`MCST`) and footnote 2; O. Borůvka, 1926.
//!
//! The heaviest edge of a triangle is left out:
//!
//! ```
//! # use welter_testing::{graph::Graph, interpreter::interpret_contract, reading::read_as};
//! use welter_algorithms::{ForestContraction, mcst::Cost};
//! use welter_model::edges::Reading;
//! use welter_model::program::Value;
//! use welter_model::table::ColumnData;
//!
//! let weights = Some(vec![1.0, 2.0, 3.0]);
//! let triangle = Graph { weights, ..Graph::new(3, vec![[0, 1], [1, 2], [2, 0]]) };
//! let triangle = read_as(&triangle, Reading { undirected: true, ..Reading::default() });
//! let answer = interpret_contract(&triangle, &ForestContraction::new(Cost::Minimum));
//! let mut forest = answer.values;
//! forest.retain(|value| value.is_listed());
//! assert_eq!(
//!     Value::columns(&forest),
//!     [
//!         ("source", ColumnData::Vertices(vec![0, 1])),
//!         ("target", ColumnData::Vertices(vec![1, 2])),
//!         ("weight", ColumnData::F64(vec![1.0, 2.0])),
//!     ]
//! );
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::limit::Limit;
use welter_model::program::{Next, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

use crate::mcst::{BUSY, Branch, Cost, RankedEdge, joined};
use crate::stages::Round;

/// Stage before the first.
const BEGUN: u32 = 0;
/// Stage: edges are offered, as in the table above.
const OFFER: u32 = 1;
/// Stage: vertices hook over their least edge.
const HOOK: u32 = 2;
/// Stage: pointers double.
const DOUBLE: u32 = 3;
/// Stage: ends become roots.
const RENAME: u32 = 4;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForestContraction {
    cost: Cost,
}

impl ForestContraction {
    /// A forest of least cost, or of most.
    pub fn new(cost: Cost) -> Self {
        Self { cost }
    }
}

/// No edge of the input, but a pointer. No number has this rank.
const POINTER: RankedEdge = RankedEdge { weight: BUSY, ends: 0 };

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// Least edge of the vertex in this round.
    best: RankedEdge,
    /// The edge over which it hooked.
    branch: Branch,
    vertex: u32,
    /// The vertex that it hooks to, or one on the way from there to the root; a root has itself.
    parent: u32,
}

impl Value for Node {
    const LISTED: bool = true;

    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let branches: Vec<Branch> = values.iter().map(|value| value.branch).collect();
        Branch::columns(&branches)
    }

    fn is_listed(&self) -> bool {
        self.branch.is_listed()
    }
}

/// Message of an edge to its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    /// The edge that is offered; or the least one of the parent.
    edge: RankedEdge,
    /// Source of the message, or the parent of that.
    parent: u64,
}

/// The stage of the iteration that follows.
fn after(round: &Round) -> u32 {
    match (round.stage as u32, round.changed) {
        (BEGUN | RENAME, _) => OFFER,
        (OFFER, _) => HOOK,
        (HOOK, _) => DOUBLE,
        (DOUBLE, 0) => RENAME,
        (stage, _) => stage,
    }
}

/// Whether a vertex whose parent has this best edge is the root of both.
fn is_root(at: &Node, of_parent: RankedEdge) -> bool {
    at.best == of_parent && at.vertex < at.parent
}

impl Contract for ForestContraction {
    type Value = Node;
    /// The edge of the input that it was, or [`POINTER`].
    type EdgeData = RankedEdge;
    type Update = Message;
    type Total = Round;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;

    fn init(&self, vertex: Vertex) -> (Node, Round) {
        let vertex = vertex.index as u32;
        let (best, branch) = (RankedEdge::NONE, Branch::NONE);
        (Node { best, branch, vertex, parent: vertex }, Round::of(BEGUN, true, true))
    }

    fn edge_data(&self, edge: Edge) -> RankedEdge {
        RankedEdge { weight: self.cost.rank(edge.weight), ends: joined(edge.source, edge.target) }
    }

    fn rewrite(
        &self,
        edge: RewrittenEdge<RankedEdge>,
        [source, target]: [&Node; 2],
        last: &Round,
    ) -> (Option<Message>, Option<RewrittenEdge<RankedEdge>>) {
        let is_pointer = edge.data == POINTER;
        let tells = |edge, parent: u32| Some(Message { edge, parent: parent.into() });
        match after(last) {
            // A loop of the input.
            OFFER if edge.source == edge.target => (None, None),
            OFFER => (tells(edge.data, source.vertex), Some(edge)),
            HOOK if edge.data == target.best && source.vertex == target.parent => {
                let data = if is_root(target, source.best) { edge.data } else { POINTER };
                (tells(source.best, source.vertex), Some(RewrittenEdge { data, ..edge }))
            }
            DOUBLE if is_pointer => {
                let up = RewrittenEdge { source: source.parent, ..edge };
                (tells(RankedEdge::NONE, source.parent), Some(up))
            }
            RENAME if is_pointer || source.parent == target.parent => (None, None),
            RENAME => {
                let (source, target) = (source.parent, target.parent);
                (None, Some(RewrittenEdge { source, target, ..edge }))
            }
            _ => (None, Some(edge)),
        }
    }

    /// While edges are offered, none changes: loops go with the next ones that do.
    fn rewrites(&self, last: &Round) -> bool {
        after(last) != OFFER
    }

    fn merge(&self, left: Message, right: Message) -> Message {
        left.min(right)
    }

    fn apply(&self, value: Node, message: Option<Message>, last: &Round) -> (Node, Round) {
        let stage = after(last);
        let now = match (stage, message) {
            (OFFER, Some(Message { edge, parent })) => {
                Node { best: edge, parent: parent as u32, ..value }
            }
            (HOOK, Some(Message { edge, .. })) if is_root(&value, edge) => {
                Node { parent: value.vertex, ..value }
            }
            (HOOK, Some(_)) => {
                let branch = self.cost.branch(value.best.weight, value.best.ends);
                Node { branch, ..value }
            }
            (DOUBLE, Some(Message { parent, .. })) => Node { parent: parent as u32, ..value },
            (RENAME, _) => Node { best: RankedEdge::NONE, parent: value.vertex, ..value },
            _ => value,
        };
        (now, Round::of(stage, message.is_some(), now != value))
    }

    /// No edge is left when none was offered.
    fn next(&self, _: u64, total: &Round) -> Next {
        let ends = total.stage == u64::from(OFFER) && total.open == 0;
        if ends { Next::Stop } else { Next::Iterate }
    }

    /// Vertices with an edge at least halve in a round, and the last round finds none. Pointers
    /// pass less than `V` hooks on their way, twice as many each time, and an iteration finds that
    /// none moved.
    fn limit(&self) -> Limit {
        let invariant = "a round at least halves the vertices that have an edge";
        let most = |vertices: u64| {
            let doublings = u64::from(vertices.max(1).ilog2()) + 2;
            doublings * (doublings + 4)
        };
        Limit::Proved { most, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: ForestContraction = ForestContraction { cost: Cost::Minimum };

    fn did(stage: u32, changed: u64) -> Round {
        Round { stage: stage.into(), open: 9, changed }
    }

    fn node(vertex: u32, parent: u32, best: RankedEdge) -> Node {
        Node { best, branch: Branch::NONE, vertex, parent }
    }

    fn ranked(weight: f64, one: u32, other: u32) -> RankedEdge {
        PROGRAM.edge_data(Edge { source: one, target: other, weight })
    }

    /// The edge that an edge between two vertices becomes.
    fn becomes(
        data: RankedEdge,
        [one, other]: [&Node; 2],
        last: &Round,
    ) -> Option<(u32, u32, RankedEdge)> {
        let edge = RewrittenEdge { source: one.vertex, target: other.vertex, data };
        let (_, left) = PROGRAM.rewrite(edge, [one, other], last);
        left.map(|edge| (edge.source, edge.target, edge.data))
    }

    #[test]
    fn stages_follow_each_other() {
        let next = |stage, changed| after(&did(stage, changed));
        assert_eq!([next(BEGUN, 0), next(OFFER, 0), next(HOOK, 0)], [OFFER, HOOK, DOUBLE]);
        assert_eq!([next(DOUBLE, 1), next(DOUBLE, 0), next(RENAME, 0)], [DOUBLE, RENAME, OFFER]);
        let ends = |stage, open| PROGRAM.next(1, &Round { open, ..did(stage, 0) }) == Next::Stop;
        assert!(ends(OFFER, 0) && !ends(OFFER, 1) && !ends(DOUBLE, 0) && !ends(BEGUN, 0));
    }

    #[test]
    fn of_two_with_one_best_edge_the_smaller_is_the_root() {
        let [best, other] = [ranked(1.0, 3, 5), ranked(0.5, 3, 4)];
        // (vertex, its parent, best edge of that) -> hooks, and the edge between becomes a pointer
        for (vertex, parent, of_parent, hooks) in
            [(3, 5, best, false), (5, 3, best, true), (5, 3, other, true), (3, 5, other, true)]
        {
            let (at, above) = (node(vertex, parent, best), node(parent, 9, of_parent));
            let message = Some(Message { edge: of_parent, parent: parent.into() });
            let (value, _) = PROGRAM.apply(at, message, &did(OFFER, 1));
            assert_eq!(value.parent == parent, hooks, "{vertex} to {parent}");
            assert_eq!(value.is_listed(), hooks);
            let data = if hooks { POINTER } else { best };
            let found = becomes(best, [&above, &at], &did(OFFER, 1));
            assert_eq!(found, Some((parent, vertex, data)));
        }
        let at = node(5, 3, best);
        let kept = |data, from| becomes(data, [&node(from, 9, best), &at], &did(OFFER, 1));
        assert_eq!(kept(other, 3), Some((3, 5, other)), "another edge from its parent");
        assert_eq!(kept(best, 4), Some((4, 5, best)), "not from its parent");
    }

    #[test]
    fn pointers_lead_from_the_parents_of_parents_until_edges_are_renamed() {
        let (above, at) = (node(3, 1, RankedEdge::NONE), node(5, 3, RankedEdge::NONE));
        let edge = ranked(1.0, 7, 8);
        for (data, last, expected) in [
            (POINTER, did(HOOK, 1), Some((1, 5, POINTER))),
            (POINTER, did(DOUBLE, 1), Some((1, 5, POINTER))),
            (POINTER, did(DOUBLE, 0), None),
            (edge, did(DOUBLE, 1), Some((3, 5, edge))),
            (edge, did(DOUBLE, 0), Some((1, 3, edge))),
        ] {
            assert_eq!(becomes(data, [&above, &at], &last), expected, "{data:?}, {last:?}");
        }
        let same = node(4, 1, RankedEdge::NONE);
        assert_eq!(becomes(edge, [&above, &same], &did(DOUBLE, 0)), None, "ends are one");
        let message = Some(Message { edge: RankedEdge::NONE, parent: 1 });
        let (value, total) = PROGRAM.apply(at, message, &did(DOUBLE, 1));
        assert_eq!((value.parent, total), (1, Round::of(DOUBLE, true, true)));
        let (value, total) = PROGRAM.apply(value, message, &did(DOUBLE, 1));
        assert_eq!((value.parent, total), (1, Round::of(DOUBLE, true, false)));
    }

    #[test]
    fn loops_of_the_input_go_and_the_least_edge_is_kept() {
        let at = node(5, 5, RankedEdge::NONE);
        assert_eq!(becomes(ranked(0.1, 5, 5), [&at, &at], &did(BEGUN, 1)), None);
        let offers = [(2.0, 1), (1.5, 4), (1.5, 3)].map(|(weight, from)| {
            let edge = RewrittenEdge { source: from, target: 5, data: ranked(weight, from, 5) };
            let from = node(from, from, RankedEdge::NONE);
            PROGRAM.rewrite(edge, [&from, &at], &did(BEGUN, 1)).0
        });
        let message = offers.into_iter().flatten().reduce(|one, other| PROGRAM.merge(one, other));
        let (value, _) = PROGRAM.apply(at, message, &did(BEGUN, 1));
        assert_eq!((value.best, value.parent), (ranked(1.5, 3, 5), 3));
    }
}
