//! Weakly connected components by local contraction: a graph becomes smaller until no edge is left.
//!
//! ```text
//! name(v)  = the vertex of the least random priority among v and its neighbours
//! G'       = { (name(u), name(v)) : (u, v) in G, name(u) != name(v) }        until no edge is left
//! ```
//!
//! A vertex and the one that it is named after are neighbours, so they are of one component, and
//! `G'` has the components of `G`: of an edge between `v` and `name(v)` the ends become `name(v)`
//! and `name(name(v))`, which are one vertex, or joined. No chain of names is followed. A vertex of
//! `G'` is a class of vertices, and is called by a number that it need not contain: who is named
//! after a neighbour may itself be the name of others.
//!
//! | turn | an edge of the graph | the edge of a member |
//! |---|---|---|
//! | offer (even) | tells its target the priority of its source | tells the member its label |
//! | rename (odd) | gets the names of its ends, or goes if they are one | gets that of its source |
//!
//! An edge of a *member* leads from the class that a vertex is in to that vertex, at first from
//! itself. So members are found again without a column of them: what is kept of a vertex lies in
//! its partition, and a class has no list. A class knows its least member: who is renamed tells its
//! new name over the edge between both.
//!
//! Wants a graph that was read as undirected, with one loop at each vertex: loops of the input are
//! the edges of members. A label takes as many iterations as its component has edges on its longest
//! shortest path; here a round of two iterations leaves half of a path, and less of most graphs.
//!
//! Source: J. Łącki, V. Mirrokni, M. Włodarczyk, *Connected components at scale via local
//! contractions*, 2018; Chaos, footnote 2.
//!
//! A path of three, a pair, and the loops that are the edges of members:
//!
//! ```
//! # use welter_testing::{graph::Graph, interpreter::interpret_contract, reading::read_as};
//! use welter_algorithms::LocalContraction;
//! use welter_model::edges::Reading;
//! use welter_model::program::Value;
//! use welter_model::table::ColumnData;
//!
//! let mut pairs = vec![[1, 0], [1, 2], [4, 3]];
//! pairs.extend((0..5).map(|vertex| [vertex; 2]));
//! let undirected = Reading { undirected: true, ..Reading::default() };
//! let graph = read_as(&Graph::new(5, pairs), undirected);
//! let answer = interpret_contract(&graph, &LocalContraction::new(7));
//! let columns = Value::columns(&answer.values);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3, 3]))]);
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::contract::{Contract, RewrittenEdge};
use welter_model::limit::Limit;
use welter_model::program::{Next, Total, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

use crate::hash::hash;

/// No vertex: more than all.
const NONE: u32 = u32::MAX;

/// Turns with the same priorities: two rounds. A star is one vertex after these, whichever vertices
/// come before its centre; what is left of a path has chances of its own in the next ones.
const TURNS: u64 = 4;

/// The program.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalContraction {
    seed: u64,
}

impl LocalContraction {
    /// The seed picks the priorities.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The priority of a vertex in a turn, before all larger ones. All are different.
    fn priority(self, vertex: u32, turn: u64) -> (u64, u32) {
        (hash(self.seed.wrapping_add(turn / TURNS), vertex.into()), vertex)
    }

    /// The one of two vertices that comes first.
    fn first(self, one: u32, other: u32, turn: u64) -> u32 {
        match (one, other) {
            (NONE, _) => other,
            (_, NONE) => one,
            _ if self.priority(one, turn) <= self.priority(other, turn) => one,
            _ => other,
        }
    }
}

/// State of a vertex, and of the class that is called by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Class {
    vertex: u32,
    /// The class that this one becomes a part of.
    name: u32,
    /// Least member of the class, or [`NONE`] if it has none.
    least: u32,
    /// Of the vertex itself, the least member of the class that it is in.
    label: u32,
}

impl Value for Class {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let labels = values.iter().map(|value| value.label.into()).collect();
        vec![("component", ColumnData::Vertices(labels))]
    }
}

/// Message of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    /// Of neighbours the one that comes first, or [`NONE`].
    offer: u32,
    /// The least vertex of those that a class receives, or its label to a member; or [`NONE`].
    least: u32,
    /// The turn.
    turn: u64,
}

/// Turns that are over, and vertices that have an edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Turn {
    turn: u64,
    open: u64,
}

impl Turn {
    /// Whether names are offered in the turn that follows.
    fn offers(&self) -> bool {
        self.turn.is_multiple_of(2)
    }
}

impl Total for Turn {
    fn merge(self, other: Self) -> Self {
        Self { turn: self.turn.max(other.turn), open: self.open + other.open }
    }
}

/// An edge of the graph.
const OPEN: u32 = 0;
/// The edge of a member.
const MEMBER: u32 = 1;

impl Contract for LocalContraction {
    type Value = Class;
    /// [`OPEN`] or [`MEMBER`].
    type EdgeData = u32;
    type Update = Message;
    type Total = Turn;

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;

    fn init(&self, vertex: Vertex) -> (Class, Turn) {
        let vertex = vertex.index as u32;
        (Class { vertex, name: vertex, least: vertex, label: vertex }, Turn::default())
    }

    fn edge_data(&self, edge: Edge) -> u32 {
        if edge.source == edge.target { MEMBER } else { OPEN }
    }

    fn rewrite(
        &self,
        edge: RewrittenEdge<u32>,
        [source, target]: [&Class; 2],
        last: &Turn,
    ) -> (Option<Message>, Option<RewrittenEdge<u32>>) {
        let (is_member, turn) = (edge.data == MEMBER, last.turn);
        if last.offers() {
            let offer = if is_member { NONE } else { source.vertex };
            let least = if is_member { source.least } else { NONE };
            return (Some(Message { offer, least, turn }), Some(edge));
        }
        if is_member {
            return (None, Some(RewrittenEdge { source: source.name, ..edge }));
        }
        let joins = source.name == target.vertex;
        let message = joins.then_some(Message { offer: NONE, least: source.least, turn });
        let renamed = RewrittenEdge { source: source.name, target: target.name, ..edge };
        (message, (renamed.source != renamed.target).then_some(renamed))
    }

    fn rewrites(&self, last: &Turn) -> bool {
        !last.offers()
    }

    fn merge(&self, left: Message, right: Message) -> Message {
        let offer = self.first(left.offer, right.offer, left.turn);
        Message { offer, least: left.least.min(right.least), ..left }
    }

    fn apply(&self, value: Class, message: Option<Message>, last: &Turn) -> (Class, Turn) {
        let turn = last.turn + 1;
        let Message { offer, least, .. } =
            message.unwrap_or(Message { offer: NONE, least: NONE, turn: last.turn });
        if last.offers() {
            let name = self.first(value.vertex, offer, last.turn);
            let label = value.label.min(least);
            return (Class { name, label, ..value }, Turn { turn, open: u64::from(offer != NONE) });
        }
        let stays = value.name == value.vertex;
        let least = if stays { value.least.min(least) } else { least };
        (Class { name: value.vertex, least, ..value }, Turn { turn, open: 0 })
    }

    /// No edge is left when no vertex was offered anything; labels were told in the same turn.
    fn next(&self, iterations: u64, total: &Turn) -> Next {
        let ends = iterations > 0 && !total.offers() && total.open == 0;
        if ends { Next::Stop } else { Next::Iterate }
    }

    /// Of each component the vertex that comes last names none: it has a neighbour that comes
    /// before it. So a round of two iterations leaves less of each that has an edge.
    fn limit(&self) -> Limit {
        let invariant = "each round leaves less vertices of every component that has an edge";
        Limit::Proved { most: |vertices| vertices.saturating_mul(2).saturating_add(1), invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: LocalContraction = LocalContraction { seed: 3 };

    fn class(vertex: u32, name: u32, least: u32) -> Class {
        Class { vertex, name, least, label: vertex }
    }

    fn edge(source: u32, target: u32, data: u32) -> RewrittenEdge<u32> {
        RewrittenEdge { source, target, data }
    }

    #[test]
    fn an_edge_gets_the_names_of_its_ends_or_goes() {
        let rename = Turn { turn: 1, open: 9 };
        // (names of the ends, of what, least that the target is told, what becomes of it)
        for (names, data, message, becomes) in [
            ([5, 9], OPEN, None, Some(edge(5, 9, OPEN))),
            ([5, 5], OPEN, None, None),
            // The source is named after the target, which has another name.
            ([2, 9], OPEN, Some(7), Some(edge(2, 9, OPEN))),
            ([2, 2], OPEN, Some(7), None),
            // The target after the source.
            ([1, 1], OPEN, None, None),
            ([5, 9], MEMBER, None, Some(edge(5, 2, MEMBER))),
            ([2, 9], MEMBER, None, Some(edge(2, 2, MEMBER))),
        ] {
            let ends = [class(1, names[0], 7), class(2, names[1], 8)];
            let (update, left) = PROGRAM.rewrite(edge(1, 2, data), [&ends[0], &ends[1]], &rename);
            assert_eq!(
                (update.map(|message| message.least), left),
                (message, becomes),
                "{names:?}, {data}"
            );
        }
    }

    #[test]
    fn edges_stay_while_names_are_offered() {
        let offer = Turn { turn: 2, open: 9 };
        let ends = [class(1, 1, 7), class(2, 2, 8)];
        for (data, says) in [(OPEN, (1, NONE)), (MEMBER, (NONE, 7))] {
            let (message, left) = PROGRAM.rewrite(edge(1, 2, data), [&ends[0], &ends[1]], &offer);
            assert_eq!(message.map(|message| (message.offer, message.least)), Some(says));
            assert_eq!(left, Some(edge(1, 2, data)));
        }
    }

    #[test]
    fn a_class_is_what_is_named_after_it() {
        let (offer, rename) = (Turn { turn: 0, open: 0 }, Turn { turn: 1, open: 9 });
        let message = |offer, least| Some(Message { offer, least, turn: 0 });
        let first = PROGRAM.first(4, 5, 0);
        let (named, total) = PROGRAM.apply(class(4, 4, 4), message(5, NONE), &offer);
        assert_eq!((named.name, total), (first, Turn { turn: 1, open: 1 }));
        let (alone, total) = PROGRAM.apply(class(4, 4, 4), message(NONE, 2), &offer);
        assert_eq!((alone.name, alone.label, total), (4, 2, Turn { turn: 1, open: 0 }));
        // (name of vertex 4, whose class has 6 as its least; told; least afterwards)
        for (name, message, least) in [
            (4, None, 6),
            (4, message(NONE, 3), 3),
            (4, message(NONE, 8), 6),
            (5, message(NONE, 8), 8),
            (5, None, NONE),
        ] {
            let (value, _) = PROGRAM.apply(class(4, name, 6), message, &rename);
            assert_eq!((value.name, value.least), (4, least), "{name}, {message:?}");
        }
    }

    #[test]
    fn a_run_ends_after_an_offer_that_nobody_got() {
        // (iterations, turns that are over, vertices with an edge) -> ends
        for (iterations, turn, open, ends) in
            [(0, 0, 0, false), (1, 1, 0, true), (1, 1, 1, false), (2, 2, 0, false), (3, 3, 0, true)]
        {
            let next = PROGRAM.next(iterations, &Turn { turn, open });
            assert_eq!(next == Next::Stop, ends, "{turn} turns, {open} with an edge");
        }
    }
}
