//! Shortest paths with the vertex before each, so that they can be walked back.
//!
//! ```text
//! (distance, edges)(s) = (0, 0) for each source s
//! (distance, edges)(v) = min over edges u -> v of (distance(u) + weight(u, v), edges(u) + 1)
//! parent(v)            = the smallest u with which v has that minimum, of a source itself
//! ```
//!
//! Of several shortest paths the ones with the fewest edges count. Without that rule two vertices
//! with an edge of weight 0 each way could be each other's parents; with it a parent always has
//! fewer edges behind it or a smaller distance, so parents lead to a source, and they are the same
//! in whatever order edges are relaxed.
//!
//! Distances are those of [`Sssp`](crate::Sssp) to the last bit.
//!
//! The way to vertex 2 is by vertex 1, and no path leads to vertex 3:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::SsspTree;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::{ColumnData, NO_VERTEX};
//!
//! let mut edges = EdgeList::new(Some(4), true);
//! edges.push(vec![[0, 1], [1, 2], [0, 2], [3, 0]], vec![1.0, 1.5, 4.0, 1.0]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<SsspTree>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &SsspTree::new(vec![0], f64::INFINITY), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(
//!     columns,
//!     [
//!         ("distance", ColumnData::F64(vec![0.0, 1.0, 2.5, f64::INFINITY])),
//!         ("parent", ColumnData::Vertices(vec![0, 0, 1, NO_VERTEX])),
//!     ]
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::{ColumnData, NO_VERTEX};

/// The parent of a vertex that was not reached.
const NO_PARENT: u32 = u32::MAX;

/// Shortest paths from some vertices, and a tree of them.
#[derive(Clone, Debug)]
pub struct SsspTree {
    sources: Vec<u64>,
    bucket: f64,
}

impl SsspTree {
    /// Paths from vertices of these numbers, which need no order. `bucket`: width of the buckets of
    /// distances that are worked on at a time; infinite for none.
    ///
    /// # Panics
    /// When `bucket` is not positive, which is a bug of the caller.
    pub fn new(mut sources: Vec<u64>, bucket: f64) -> Self {
        assert!(bucket > 0.0, "buckets have a width");
        sources.sort_unstable();
        Self { sources, bucket }
    }
}

/// A path: how long it is, how many edges it has, and through which vertex it came.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Path {
    distance: f64,
    edges: u32,
    parent: u32,
}

impl Path {
    /// The path of a vertex that was not reached.
    const NONE: Self = Self { distance: f64::INFINITY, edges: u32::MAX, parent: NO_PARENT };

    /// Whether this path is shorter, or as long and has fewer edges.
    #[inline(always)]
    #[expect(
        clippy::float_cmp,
        reason = "paths are as long only where their lengths are the same bits"
    )]
    fn beats(self, other: Self) -> bool {
        self.distance < other.distance
            || self.distance == other.distance && self.edges < other.edges
    }

    /// The better one of two, through the vertex with the smaller number where they are alike.
    #[inline(always)]
    fn better(self, other: Self) -> Self {
        if self.beats(other) {
            return self;
        }
        if other.beats(self) {
            return other;
        }
        Self { parent: self.parent.min(other.parent), ..self }
    }
}

/// The shortest path to a vertex, and the vertex's own number.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Reached {
    path: Path,
    index: u32,
    /// Plain data has no gaps.
    padding: u32,
}

impl Value for Reached {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let parent = |value: &Self| match value.path.parent {
            NO_PARENT => NO_VERTEX,
            parent => parent.into(),
        };
        let distances = values.iter().map(|value| value.path.distance).collect();
        vec![
            ("distance", ColumnData::F64(distances)),
            ("parent", ColumnData::Vertices(values.iter().map(parent).collect())),
        ]
    }
}

impl Program for SsspTree {
    type Value = Reached;
    /// The path to a vertex, with that vertex in the place of its parent.
    type Signal = Path;
    type Update = Path;
    type Accum = Path;
    type Total = ();

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = true;
    const ORDER_INDEPENDENT: bool = true;
    const UPDATES_ARE_COMPLETE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Reached, ()> {
        let index = vertex.index as u32;
        let active = self.sources.binary_search(&vertex.index).is_ok();
        let here = Path { distance: 0.0, edges: 0, parent: index };
        let path = if active { here } else { Path::NONE };
        Applied { value: Reached { path, index, padding: 0 }, total: (), active }
    }

    #[inline(always)]
    fn signal(&self, value: &Reached) -> Path {
        Path { parent: value.index, ..value.path }
    }

    #[inline(always)]
    fn scatter(&self, signal: Path, weight: f64) -> Option<Path> {
        let distance = signal.distance + weight;
        // A path without an end leads nowhere.
        let leads = distance < f64::INFINITY;
        leads.then(|| Path { distance, edges: signal.edges + 1, parent: signal.parent })
    }

    #[inline(always)]
    fn identity(&self) -> Path {
        Path::NONE
    }

    #[inline(always)]
    fn gather(&self, accum: Path, update: Path) -> Path {
        accum.better(update)
    }

    #[inline(always)]
    fn merge(&self, left: Path, right: Path) -> Path {
        left.better(right)
    }

    /// A vertex that hears of a smaller parent has no news for others.
    #[inline(always)]
    fn apply(&self, value: Reached, accum: Path, (): &()) -> Applied<Reached, ()> {
        let active = accum.beats(value.path);
        Applied { value: Reached { path: value.path.better(accum), ..value }, total: (), active }
    }

    #[inline(always)]
    fn urgency(&self, value: &Reached) -> u64 {
        (value.path.distance / self.bucket) as u64
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::of_relaxing()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relaxes edges in the order in which they stand until nothing changes.
    fn tree(vertices: u64, edges: &[(usize, usize, f64)]) -> Vec<(f64, u32)> {
        let program = SsspTree::new(vec![0], 1.0);
        let vertex = |index| program.init(Vertex { index, out_degree: 0 }).value;
        let mut values: Vec<Reached> = (0..vertices).map(vertex).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &(source, target, weight) in edges {
                let from = values[source];
                changed |= program.relax(&from, weight, &mut values[target]);
            }
        }
        values.iter().map(|value| (value.path.distance, value.path.parent)).collect()
    }

    #[test]
    fn parents_lead_to_a_source_along_edges_of_weight_0_too() {
        let mut edges =
            vec![(0, 3, 1.0), (3, 1, 0.0), (1, 3, 0.0), (1, 2, 0.0), (2, 1, 0.0), (0, 2, 1.0)];
        let expected = [(0.0, 0), (1.0, 2), (1.0, 0), (1.0, 0), (f64::INFINITY, NO_PARENT)];
        for _ in 0..edges.len() {
            assert_eq!(tree(5, &edges), expected);
            edges.rotate_left(1);
        }
    }

    #[test]
    fn of_shortest_paths_those_with_the_fewest_edges_count_then_the_smallest_parent() {
        let edges = [(0, 1, 1.0), (1, 3, 1.0), (0, 3, 2.0), (0, 2, 1.0), (2, 4, 3.0), (1, 4, 3.0)];
        assert_eq!(tree(5, &edges)[3..], [(2.0, 0), (4.0, 1)]);
    }

    #[test]
    fn an_infinite_weight_leads_nowhere() {
        assert_eq!(tree(2, &[(0, 1, f64::INFINITY)])[1], (f64::INFINITY, NO_PARENT));
    }
}
