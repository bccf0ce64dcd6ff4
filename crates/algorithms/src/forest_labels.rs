//! Minimum-cost spanning forests by labels that spread through components.
//!
//! ```text
//! best(C) = the least edge between C and another component    for each component C
//! forest += best(C), and what they join is one component      until there is no such edge
//! ```
//!
//! [`Mcst`](crate::Mcst) keeps the state of all vertices in memory, where each edge finds
//! those of two components. This is the same as a fold program, for routes and budgets that have
//! no place for them: vertices speak to their neighbours only, so what one vertex of a component
//! knows is handed on from neighbour to neighbour until all of it know. A round of Borůvka's
//! algorithm:
//!
//! | stage | what a vertex tells | whom it concerns | until |
//! |---|---|---|---|
//! | [`OFFER`] | its component | others: a vertex keeps the least edge to them | once |
//! | [`SPREAD`] | the least edge that it knows of | its own component | no more news |
//! | [`HOOK`] | the same, if it is an end of it | the other end: do both want this edge? | once |
//! | [`JOIN`] | the new name of its component | its own, and who hooks over it | no more news |
//!
//! Of two components whose least edge is the same one the smaller stays, and names what comes to
//! be; the others hook. A component that hooks is known no more by the vertex it was named after,
//! so that one keeps the edge, as in [`Mcst`](crate::Mcst): the lists are the same, row by row.
//! Components that no edge leaves are done, and their vertices say nothing any more.
//!
//! The meaning of an update depends on whom it meets, one of the component or another, so
//! accumulators begin from values. Wants a graph that was read as undirected. Each stage that
//! spreads takes as many iterations as the longest path that something spreads along has edges;
//! totals say which stage it is ([`stages`](crate::stages)), and vertex 0 is always active, as in
//! [`StrongLabels`](crate::StrongLabels).
//!
//! Source: Chaos, Table 1 (`MCST`); O. Borůvka, 1926.
//!
//! The heaviest edge of a triangle is left out:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{ForestLabels, mcst::Cost};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let mut edges = EdgeList::new(Some(4), true);
//! edges.push(vec![[0, 1], [1, 2], [2, 0], [2, 3]], vec![1.0, 2.0, 3.0, 4.0]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<ForestLabels>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &ForestLabels::new(Cost::Minimum), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(
//!     columns,
//!     [
//!         ("source", ColumnData::Vertices(vec![0, 1, 2])),
//!         ("target", ColumnData::Vertices(vec![1, 2, 3])),
//!         ("weight", ColumnData::F64(vec![1.0, 2.0, 4.0])),
//!     ]
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::mcst::{BUSY, Branch, Cost, NO_EDGE, RankedEdge, joined};
use crate::stages::Round;

/// No vertex: more than all.
const NONE: u32 = u32::MAX;

/// The weight of an edge that is offered, before it is known which one. No number has this rank.
const OFFERED: u64 = BUSY;

/// No edge leaves the component.
const DONE: u32 = 0;
/// See the table above.
const OFFER: u32 = 1;
/// See the table above.
const SPREAD: u32 = 2;
/// See the table above.
const HOOK: u32 = 3;
/// See the table above.
const JOIN: u32 = 4;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForestLabels {
    cost: Cost,
}

/// State of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Member {
    /// The least edge out of its component that it knows of.
    best: RankedEdge,
    /// Of a vertex that components were named after: the edge over which that one hooked.
    branch: Branch,
    vertex: u32,
    /// The vertex that its component is named after.
    component: u32,
    /// The one that it will be named after, or [`NONE`].
    joins: u32,
    /// The stage as of which it speaks, or [`DONE`].
    says: u32,
}

impl Member {
    /// The edge that the forest has from here.
    pub fn branch(&self) -> Branch {
        self.branch
    }
}

impl Value for Member {
    const LISTED: bool = true;

    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let branches: Vec<Branch> = values.iter().map(Self::branch).collect();
        Branch::columns(&branches)
    }

    fn is_listed(&self) -> bool {
        self.branch.is_listed()
    }
}

/// Message of a vertex to its neighbours. Its stage is known to each vertex that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    /// Of offers, the edge that it is sent along, which has [`OFFERED`] for a weight until then and
    /// no ends; where names spread, [`Self::named`]; else the best edge.
    edge: RankedEdge,
    /// [`NONE`] if it says nothing.
    component: u32,
    /// Of whom it is.
    vertex: u32,
}

impl Message {
    const NOTHING: Self = Self { edge: RankedEdge::NONE, component: NONE, vertex: NONE };

    /// The form of the edge where names spread: the name that a component will have.
    #[inline(always)]
    fn named(joins: u32) -> RankedEdge {
        RankedEdge { weight: NO_EDGE, ends: joins.into() }
    }

    /// Name that the component will have.
    #[inline(always)]
    fn name(self) -> u32 {
        self.edge.ends as u32
    }
}

/// State of a vertex with the messages that it heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Received {
    best: RankedEdge,
    component: u32,
    vertex: u32,
    joins: u32,
    /// The stage as of which all speak.
    says: u32,
}

impl Received {
    /// Of no vertex.
    const NOTHING: Self =
        Self { best: RankedEdge::NONE, component: NONE, vertex: NONE, joins: NONE, says: DONE };
}

/// The stage that follows.
#[inline(always)]
fn after(round: &Round) -> u32 {
    match (round.stage as u32, round.changed) {
        (OFFER, _) => SPREAD,
        (SPREAD, 0) => HOOK,
        (HOOK, _) => JOIN,
        (JOIN, 0) => OFFER,
        (stage, _) => stage,
    }
}

impl ForestLabels {
    /// A forest of least cost, or of most.
    pub fn new(cost: Cost) -> Self {
        Self { cost }
    }
}

impl Member {
    /// Member at the beginning of another stage.
    #[inline(always)]
    fn enter(self, stage: u32, cost: Cost) -> Self {
        match stage {
            HOOK if !self.best.is_edge() => Self { says: DONE, ..self },
            // The other end wanted another edge, or is larger.
            OFFER => {
                let hooks = self.vertex == self.component && self.joins != self.component;
                let branch =
                    if hooks { cost.branch(self.best.weight, self.best.ends) } else { self.branch };
                let (component, best) = (self.joins, RankedEdge::NONE);
                Self { branch, component, best, joins: NONE, says: stage, ..self }
            }
            _ => Self { says: stage, ..self },
        }
    }

    /// Whether it has something to say as of its stage.
    #[inline(always)]
    fn speaks(&self) -> bool {
        match self.says {
            OFFER => true,
            SPREAD => self.best.is_edge(),
            HOOK => self.best.has_end(self.vertex),
            JOIN => self.joins != NONE,
            _ => false,
        }
    }
}

impl Program for ForestLabels {
    type Value = Member;
    type Signal = Message;
    type Update = Message;
    type Accum = Received;
    type Total = Round;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const ACCUM_FROM_VALUE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Member, Round> {
        let vertex = vertex.index as u32;
        let (best, branch) = (RankedEdge::NONE, Branch::NONE);
        let value = Member { best, branch, vertex, component: vertex, joins: NONE, says: OFFER };
        Applied::active(value, Round::of(OFFER, true, true))
    }

    #[inline(always)]
    fn signal(&self, value: &Member) -> Message {
        let &Member { best, vertex, component, joins, says, .. } = value;
        let edge = match says {
            OFFER => RankedEdge { weight: OFFERED, ends: 0 },
            JOIN => Message::named(joins),
            _ => best,
        };
        if value.speaks() { Message { edge, component, vertex } } else { Message::NOTHING }
    }

    /// An offer is of the edge that it is sent along; its other end is known by whom it meets.
    #[inline(always)]
    fn scatter(&self, message: Message, weight: f64) -> Option<Message> {
        let is_offer = message.edge.weight == OFFERED;
        let weight = if is_offer { self.cost.rank(weight) } else { message.edge.weight };
        (message.component != NONE)
            .then_some(Message { edge: RankedEdge { weight, ..message.edge }, ..message })
    }

    #[inline(always)]
    fn identity(&self) -> Received {
        Received::NOTHING
    }

    #[inline(always)]
    fn init_accum(&self, value: &Member) -> Received {
        let &Member { best, vertex, component, joins, says, .. } = value;
        Received { best, component, vertex, joins, says }
    }

    #[inline(always)]
    fn gather(&self, received: Received, message: Message) -> Received {
        let is_own = message.component == received.component;
        match received.says {
            OFFER if !is_own => {
                let edge =
                    RankedEdge { ends: joined(received.vertex, message.vertex), ..message.edge };
                Received { best: received.best.min(edge), ..received }
            }
            SPREAD if is_own => Received { best: received.best.min(message.edge), ..received },
            HOOK if !is_own
                && message.edge == received.best
                && received.component < message.component =>
            {
                Received { joins: received.component, ..received }
            }
            // A vertex that is told along the edge over which its component hooks, or by one of its
            // own.
            JOIN if is_own
                || received.best.ends == joined(received.vertex, message.vertex)
                    && received.best.is_edge() =>
            {
                Received { joins: received.joins.min(message.name()), ..received }
            }
            _ => received,
        }
    }

    #[inline(always)]
    fn merge(&self, left: Received, right: Received) -> Received {
        let (best, joins) = (left.best.min(right.best), left.joins.min(right.joins));
        let known = if left.component == NONE { right } else { left };
        Received { best, joins, ..known }
    }

    #[inline(always)]
    fn apply(&self, value: Member, received: Received, last: &Round) -> Applied<Member, Round> {
        let keeps_time = value.vertex == 0;
        if value.says == DONE {
            return Applied { value, total: Round::default(), active: keeps_time };
        }
        let (stage, next) = (last.stage as u32, after(last));
        let learnt = Member { best: received.best, joins: received.joins, ..value };
        let now = if next == stage { learnt } else { learnt.enter(next, self.cost) };
        let (is_open, changed) = (now.says != DONE, now != value);
        let total = Round::of(next, is_open, changed);
        Applied { value: now, total, active: changed && now.speaks() || keeps_time }
    }

    fn next(&self, _: u64, total: &Round) -> Next {
        total.follows()
    }

    /// Components with an edge out at least halve in a round, and the last round finds none. What
    /// spreads passes less than `V` edges on its way, twice a round, and an iteration finds that
    /// nothing moved; there are two stages more.
    fn limit(&self) -> Limit {
        let invariant = "a round at least halves the components that an edge leaves";
        let most = |vertices: u64| {
            let rounds = u64::from(vertices.max(1).ilog2()) + 2;
            rounds * (2 * vertices + 4)
        };
        Limit::Proved { most, invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: ForestLabels = ForestLabels { cost: Cost::Minimum };

    fn last(stage: u32, changed: u64) -> Round {
        Round { stage: stage.into(), open: 9, changed }
    }

    fn member(vertex: u32, component: u32, says: u32) -> Member {
        let (best, branch) = (RankedEdge::NONE, Branch::NONE);
        Member { best, branch, vertex, component, joins: NONE, says }
    }

    fn edge(weight: f64, one: u32, other: u32) -> RankedEdge {
        RankedEdge { weight: Cost::Minimum.rank(weight), ends: joined(one, other) }
    }

    /// The state of a vertex that has received messages along edges of these weights.
    fn hears(member: Member, message: &[(Member, f64)]) -> Received {
        let updates = message
            .iter()
            .filter_map(|(teller, weight)| PROGRAM.scatter(PROGRAM.signal(teller), *weight));
        updates.fold(PROGRAM.init_accum(&member), |received, message| {
            PROGRAM.gather(received, message)
        })
    }

    #[test]
    fn stages_follow_each_other() {
        let next = |stage, changed| after(&last(stage, changed));
        assert_eq!([next(OFFER, 1), next(HOOK, 1)], [SPREAD, JOIN]);
        assert_eq!([next(SPREAD, 1), next(SPREAD, 0)], [SPREAD, HOOK]);
        assert_eq!([next(JOIN, 1), next(JOIN, 0)], [JOIN, OFFER]);
    }

    #[test]
    fn the_least_edge_to_another_component_is_kept() {
        let at = member(5, 2, OFFER);
        let tellers = [(member(6, 2, OFFER), 0.5), (member(7, 3, OFFER), 2.0)];
        let more = [(member(1, 1, OFFER), 1.5), (member(0, 1, OFFER), 1.5)];
        let received = hears(at, &[tellers, more].concat());
        assert_eq!(received.best, edge(1.5, 0, 5));
        // Edges that others know of count if they are of the same component.
        let at = Member { best: received.best, ..member(5, 2, SPREAD) };
        let knows = |component, best| Member { best, ..member(9, component, SPREAD) };
        let message = [(knows(3, edge(0.1, 3, 4)), 1.0), (knows(2, edge(1.0, 8, 9)), 1.0)];
        assert_eq!(hears(at, &message).best, edge(1.0, 8, 9));
        assert!(hears(at, &[(knows(2, RankedEdge::NONE), 1.0)]) == PROGRAM.init_accum(&at));
    }

    #[test]
    fn the_smaller_of_two_that_share_an_edge_names_both() {
        let shared = edge(1.0, 5, 7);
        let one = Member { best: shared, ..member(5, 2, HOOK) };
        let other = Member { best: shared, ..member(7, 3, HOOK) };
        assert_eq!(hears(one, &[(other, 1.0)]).joins, 2);
        assert_eq!(hears(other, &[(one, 1.0)]).joins, NONE);
        // A vertex that is no end of the edge does not speak of it.
        assert_eq!(hears(one, &[(Member { vertex: 8, ..other }, 1.0)]).joins, NONE);

        let named = Member { joins: 2, says: JOIN, ..one };
        let hooks = Member { says: JOIN, ..other };
        assert_eq!(hears(hooks, &[(named, 1.0)]).joins, 2, "along the edge");
        let elsewhere = Member { vertex: 8, ..hooks };
        assert_eq!(hears(elsewhere, &[(named, 1.0)]).joins, NONE, "along another one");
        assert_eq!(hears(elsewhere, &[(Member { joins: 2, ..hooks }, 1.0)]).joins, 2, "its own");
    }

    #[test]
    fn who_names_a_component_that_hooks_keeps_the_edge() {
        let ended = last(JOIN, 0);
        let becomes =
            |member: Member| PROGRAM.apply(member, PROGRAM.init_accum(&member), &ended).value;
        let at = Member { best: edge(1.5, 3, 7), joins: 2, ..member(3, 3, JOIN) };
        let found = becomes(at);
        assert_eq!(
            (found.branch, found.component, found.says),
            (Cost::Minimum.branch(at.best.weight, at.best.ends), 2, OFFER)
        );
        assert!(found.is_listed() && !found.best.is_edge() && found.joins == NONE);
        for stays in [Member { vertex: 4, ..at }, Member { component: 2, vertex: 2, ..at }] {
            assert!(!becomes(stays).is_listed());
        }
        let alone = member(3, 3, SPREAD);
        let done = PROGRAM.apply(alone, PROGRAM.init_accum(&alone), &last(SPREAD, 0));
        assert_eq!((done.value.says, done.total.open, done.active), (DONE, 0, false));
    }
}
