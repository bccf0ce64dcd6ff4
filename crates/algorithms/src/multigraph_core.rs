//! Core numbers of a graph whose parallel edges were not merged.
//!
//! ```text
//! core(v)        = as of KCore: parallel edges count once
//! core(v, 0)     = number of edges of v
//! core(v, i + 1) = h(core(u, i) over the neighbours u of v, each of them once)
//! ```
//!
//! On a cluster parallel edges lie where chance has put them, and none is dropped. Here a neighbour
//! says who it is beside its bound, so what it says over several edges is equal, and lies side by
//! side where updates are sorted. An update takes twice the bytes that [`KCore`](crate::KCore)
//! needs.
//!
//! The bounds that it begins with are no smaller than those of `KCore`, and from the first
//! iteration on they are no larger than these. So it ends with the same numbers, after one
//! iteration more at most.
//!
//! Wants a graph that was read as undirected, without self-loops.
//!
//! A triangle with a tail, whose edge comes three times and counts once:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::MultigraphCore;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::group::Grouped;
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3], [3, 2], [2, 3]]);
//! let reading = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Grouped<MultigraphCore>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Grouped(MultigraphCore), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("core", ColumnData::U32(vec![2, 2, 2, 1]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cmp::{Ordering, Reverse};

use bytemuck::{Pod, Zeroable};
use welter_model::group::Group;
use welter_model::limit::Limit;
use welter_model::program::{Next, Value, Vertex};
use welter_model::table::ColumnData;

use crate::kcore::Fallen;

/// The program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MultigraphCore;

/// A vertex with an upper bound of its core number, in the end the number itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Bounded {
    core: u32,
    vertex: u32,
}

impl Value for Bounded {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("core", ColumnData::U32(values.iter().map(|value| value.core).collect()))]
    }
}

/// Bound that a neighbour sends of itself. Larger bounds come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Message {
    bound: u32,
    vertex: u32,
}

impl Ord for Message {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        Reverse(self.bound).cmp(&Reverse(other.bound)).then(self.vertex.cmp(&other.vertex))
    }
}

impl PartialOrd for Message {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Neighbours that were met, from the largest bound on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct NeighbourCounts {
    count: u32,
    index: u32,
    last: Message,
}

impl Group for MultigraphCore {
    type Value = Bounded;
    type Update = Message;
    type Accum = NeighbourCounts;
    type Total = Fallen;

    const SELECTIVE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> (Bounded, Fallen) {
        let Vertex { index, out_degree } = vertex;
        let fallen = Fallen { vertices: 1, largest: out_degree };
        (
            Bounded { core: u32::try_from(out_degree).unwrap_or(u32::MAX), vertex: index as u32 },
            fallen,
        )
    }

    #[inline(always)]
    fn update(&self, value: &Bounded) -> Message {
        Message { bound: value.core, vertex: value.vertex }
    }

    #[inline(always)]
    fn nothing(&self) -> NeighbourCounts {
        NeighbourCounts { count: 0, index: 0, last: Message { bound: u32::MAX, vertex: u32::MAX } }
    }

    /// A neighbour comes once for each of its edges, one time after the other.
    #[inline(always)]
    fn gather(&self, met: NeighbourCounts, message: Message) -> NeighbourCounts {
        if message == met.last {
            return met;
        }
        let count = met.count + 1;
        NeighbourCounts { count, index: met.index.max(count.min(message.bound)), last: message }
    }

    #[inline(always)]
    fn unchanged(&self, value: &Bounded) -> NeighbourCounts {
        NeighbourCounts { index: value.core, ..self.nothing() }
    }

    /// Only one that was as large as the own bound can be missed.
    #[inline(always)]
    fn is_affected_by(&self, value: &Bounded, before: Message, now: Message) -> bool {
        before.bound >= value.core && now.bound < value.core
    }

    #[inline(always)]
    fn apply(&self, value: Bounded, met: NeighbourCounts, _: &Fallen) -> (Bounded, Fallen) {
        let core = value.core.min(met.index);
        let vertices = u64::from(core < value.core);
        (Bounded { core, ..value }, Fallen { vertices, largest: core.into() })
    }

    fn next(&self, _: u64, fallen: &Fallen) -> Next {
        if fallen.vertices > 0 { Next::Iterate } else { Next::Stop }
    }

    /// As of `KCore`, whose first bounds are there after an iteration.
    fn limit(&self) -> Limit {
        let invariant = "each iteration but one finds the core number of one more vertex";
        Limit::Proved { most: |vertices| vertices.saturating_add(1), invariant }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of a graph of edges that go both ways, by the program alone.
    fn found(vertices: usize, edges: &[[usize; 2]]) -> Vec<u32> {
        let program = MultigraphCore;
        let both: Vec<[usize; 2]> = edges.iter().flat_map(|&[a, b]| [[a, b], [b, a]]).collect();
        let degree = |vertex| both.iter().filter(|[source, _]| *source == vertex).count() as u64;
        let vertex = |index: usize| Vertex { index: index as u64, out_degree: degree(index) };
        let mut values: Vec<Bounded> = (0..vertices).map(|at| program.init(vertex(at)).0).collect();
        for iteration in 1.. {
            let mut total = 0;
            let old = values.clone();
            for (at, value) in values.iter_mut().enumerate() {
                let received = both.iter().filter(|[_, target]| *target == at);
                let mut received: Vec<Message> =
                    received.map(|[source, _]| program.update(&old[*source])).collect();
                received.sort_unstable();
                let met =
                    received.into_iter().fold(program.nothing(), |met, it| program.gather(met, it));
                let (new, fallen) = program.apply(*value, met, &Fallen::default());
                total += fallen.vertices;
                *value = new;
            }
            let limit = program.limit().iterations(vertices as u64);
            assert!(iteration <= limit, "{iteration} iterations");
            if total == 0 {
                break;
            }
        }
        values.iter().map(|value| value.core).collect()
    }

    /// The numbers by taking vertices out, always one with the fewest neighbours left.
    fn expected(vertices: usize, edges: &[[usize; 2]]) -> Vec<u32> {
        let mut left: Vec<usize> = (0..vertices).collect();
        let (mut cores, mut core) = (vec![0; vertices], 0);
        while !left.is_empty() {
            let neighbours = |at: usize| {
                let joined = |other: &&usize| {
                    **other != at
                        && edges
                            .iter()
                            .any(|&[a, b]| [a, b] == [at, **other] || [b, a] == [at, **other])
                };
                left.iter().filter(joined).count()
            };
            let least = (0..left.len()).min_by_key(|&place| neighbours(left[place])).unwrap();
            core = core.max(neighbours(left[least]));
            cores[left.remove(least)] = core as u32;
        }
        cores
    }

    #[test]
    fn core_numbers() {
        // A triangle with a tail; a clique of four; a path; a vertex alone.
        let mut edges = vec![[0, 1], [1, 2], [2, 0], [2, 3]];
        edges.extend((4..8).flat_map(|a| (4..a).map(move |b| [a, b])));
        edges.extend((8..12).map(|a| [a, a + 1]));
        let cores = found(14, &edges);
        assert_eq!(cores, [2, 2, 2, 1, 3, 3, 3, 3, 1, 1, 1, 1, 1, 0]);
        assert_eq!(cores, expected(14, &edges));
    }

    #[test]
    fn multigraph_core() {
        // Whichever way it is listed, and however often, an edge joins two neighbours.
        let triple = [[0, 1], [1, 0], [0, 1], [1, 2]];
        assert_eq!(found(3, &triple), [1, 1, 1]);
        let mut state = 7_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % below) as usize
        };
        for _ in 0..40 {
            let vertices = 2 + draw(9);
            let pairs = (0..draw(60)).map(|_| [draw(vertices as u64), draw(vertices as u64)]);
            let edges: Vec<[usize; 2]> = pairs.filter(|[a, b]| a != b).collect();
            assert_eq!(found(vertices, &edges), expected(vertices, &edges), "{edges:?}");
        }
    }
}
