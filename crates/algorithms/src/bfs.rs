//! Breadth-first search: how many edges lead from the nearest source to each vertex.
//!
//! ```text
//! depth(s) = 0 for each source s
//! depth(v) = 1 + min over edges u -> v of depth(u)
//! ```
//!
//! All vertices of one depth scatter in one iteration, so an update need not say a depth: that it
//! arrived is enough, and an accumulator is a byte; out of step, an edge is relaxed with the depth
//! of its source. [`BfsTree`] also tells through which vertex the
//! shortest path came; its accumulators are four times as wide.
//!
//! Source: Chaos, Table 1; LDBC Graphalytics (`BFS`).
//!
//! Depths in a graph of four edges, from vertex 0:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Bfs;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [0, 2], [2, 3]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Bfs>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &Bfs::new(vec![0]), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! assert_eq!(columns, [("depth", ColumnData::I64(vec![0, 1, 1, 2]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::{ColumnData, NO_VERTEX};

/// Depth of a vertex that no path leads to.
pub(crate) const UNREACHED: u32 = u32::MAX;
/// The parent of a vertex that was not reached.
const NO_PARENT: u32 = u32::MAX;

/// Progress of the search. It is the same in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Reach {
    /// The depth that was reached.
    pub depth: u64,
    /// Vertices of this depth.
    pub vertices: u64,
}

impl Total for Reach {
    #[inline]
    fn merge(self, other: Self) -> Self {
        let vertices = self.vertices + other.vertices;
        Self { depth: self.depth.max(other.depth), vertices }
    }
}

impl Reach {
    /// One vertex of a depth.
    fn one(depth: u32) -> Self {
        Self { depth: depth.into(), vertices: 1 }
    }

    fn next(self) -> Next {
        if self.vertices > 0 { Next::Iterate } else { Next::Stop }
    }
}

fn depths(depths: impl Iterator<Item = u32>) -> (&'static str, ColumnData) {
    let signed = |depth| if depth == UNREACHED { -1 } else { i64::from(depth) };
    ("depth", ColumnData::I64(depths.map(signed).collect()))
}

/// Breadth-first search from some vertices.
#[derive(Clone, Debug)]
pub struct Bfs {
    sources: Sources,
}

/// Numbers of vertices, ascending.
#[derive(Clone, Debug)]
pub(crate) struct Sources(Vec<u64>);

impl Sources {
    pub(crate) fn new(mut sources: Vec<u64>) -> Self {
        sources.sort_unstable();
        Self(sources)
    }

    /// Numbers of all sources, ascending.
    pub(crate) fn slots(&self) -> &[u64] {
        &self.0
    }

    #[inline]
    pub(crate) fn has(&self, vertex: u64) -> bool {
        match *self.0 {
            [source] => vertex == source,
            _ => self.0.binary_search(&vertex).is_ok(),
        }
    }
}

impl Bfs {
    /// A search from vertices of these numbers, which need no order.
    pub fn new(sources: Vec<u64>) -> Self {
        Self { sources: Sources::new(sources) }
    }
}

/// Edges from the nearest source; the column is -1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Depth(u32);

impl Depth {
    /// Value of a depth, which may be [`UNREACHED`].
    pub(crate) fn of(depth: u32) -> Self {
        Self(depth)
    }
}

impl Value for Depth {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![depths(values.iter().map(|value| value.0))]
    }
}

impl Program for Bfs {
    type Value = Depth;
    /// Whether the vertex was reached.
    type Signal = u8;
    type Update = u8;
    type Accum = u8;
    type Total = Reach;

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = true;
    const ANY_UPDATE_SUFFICES: bool = true;
    const ORDER_INDEPENDENT: bool = true;
    const WIDE: bool = true;

    /// Out of step the depth itself must travel.
    #[inline(always)]
    fn relax(&self, source: &Depth, _: f64, target: &mut Depth) -> bool {
        let nearer = source.0 < target.0 && source.0 + 1 < target.0;
        if nearer {
            target.0 = source.0 + 1;
        }
        nearer
    }

    #[inline(always)]
    fn settled(&self, value: &Depth, _: &Reach) -> bool {
        value.0 != UNREACHED
    }

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Depth, Reach> {
        if self.sources.has(vertex.index) {
            Applied { value: Depth(0), total: Reach::one(0), active: true }
        } else {
            Applied { value: Depth(UNREACHED), total: Reach::default(), active: false }
        }
    }

    #[inline(always)]
    fn signal(&self, value: &Depth) -> u8 {
        (value.0 != UNREACHED).into()
    }

    #[inline(always)]
    fn scatter(&self, signal: u8, _: f64) -> Option<u8> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> u8 {
        0
    }

    #[inline(always)]
    fn gather(&self, accum: u8, update: u8) -> u8 {
        accum | update
    }

    #[inline(always)]
    fn merge(&self, left: u8, right: u8) -> u8 {
        left | right
    }

    #[inline(always)]
    fn apply(&self, value: Depth, accum: u8, last: &Reach) -> Applied<Depth, Reach> {
        if accum == 0 || value.0 != UNREACHED {
            return Applied { value, total: Reach::default(), active: false };
        }
        let depth = last.depth as u32 + 1;
        Applied { value: Depth(depth), total: Reach::one(depth), active: true }
    }

    fn next(&self, _: u64, total: &Reach) -> Next {
        total.next()
    }

    fn limit(&self) -> Limit {
        Limit::of_relaxing()
    }
}

/// Breadth-first search that also finds a tree of shortest paths.
///
/// Vertex 3 is as near by 1 as by 2, and the smaller of them is its parent:
///
/// ```
/// # use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// # use welter_engine::{Graph, Machine, Workers, run};
/// # use welter_model::{ids::IdMap, program::Value};
/// # use welter_progress::Progress;
/// use welter_algorithms::BfsTree;
/// use welter_model::edges::{EdgeList, Reading};
/// use welter_model::table::ColumnData;
///
/// let edges = EdgeList::from_pairs(vec![[0, 1], [0, 2], [1, 3], [2, 3]]);
/// # let reading = Reading::default();
/// # let shape = Shape::of(&edges, reading);
/// # let (settings, machine) = (Settings::default(), Machine::detect());
/// # let plan = Plan::new(shape, Layout::of::<BfsTree>(), &settings, &machine)?;
/// # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
/// # let progress = Progress::new();
/// # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
/// let outcome = run(&graph, &BfsTree::new(vec![0]), &workers, &progress)?;
/// let columns = Value::columns(&outcome.values.whole()?[..]);
/// assert_eq!(
///     columns,
///     [
///         ("depth", ColumnData::I64(vec![0, 1, 1, 2])),
///         ("parent", ColumnData::Vertices(vec![0, 0, 0, 1])),
///     ]
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BfsTree {
    sources: Sources,
}

impl BfsTree {
    /// A search from vertices of these numbers, which need no order.
    pub fn new(sources: Vec<u64>) -> Self {
        Self { sources: Sources::new(sources) }
    }
}

/// Depth, and the vertex before it on a shortest path: of several the one with the smallest id, of
/// a source itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Branch {
    depth: u32,
    parent: u32,
    index: u32,
}

impl Value for Branch {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let parent = |value: &Self| match value.parent {
            NO_PARENT => NO_VERTEX,
            parent => parent.into(),
        };
        let parents = values.iter().map(parent).collect();
        vec![
            depths(values.iter().map(|value| value.depth)),
            ("parent", ColumnData::Vertices(parents)),
        ]
    }
}

impl Program for BfsTree {
    type Value = Branch;
    /// The number of a vertex that was reached.
    type Signal = u32;
    type Update = u32;
    type Accum = u32;
    type Total = Reach;

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = true;
    const ANY_UPDATE_SUFFICES: bool = true;
    const ORDER_INDEPENDENT: bool = true;

    /// Out of step the depth itself must travel. Who hears of a smaller parent has no news for
    /// others.
    #[inline(always)]
    fn relax(&self, source: &Branch, _: f64, target: &mut Branch) -> bool {
        if source.depth >= target.depth {
            return false;
        }
        let depth = source.depth + 1;
        let nearer = depth < target.depth;
        if nearer {
            (target.depth, target.parent) = (depth, source.index);
        } else {
            target.parent = target.parent.min(source.index);
        }
        nearer
    }

    #[inline(always)]
    fn settled(&self, value: &Branch, last: &Reach) -> bool {
        u64::from(value.depth) <= last.depth
    }

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Branch, Reach> {
        let index = vertex.index as u32;
        if self.sources.has(vertex.index) {
            let value = Branch { depth: 0, parent: index, index };
            Applied { value, total: Reach::one(0), active: true }
        } else {
            let value = Branch { depth: UNREACHED, parent: NO_PARENT, index };
            Applied { value, total: Reach::default(), active: false }
        }
    }

    #[inline(always)]
    fn signal(&self, value: &Branch) -> u32 {
        if value.depth == UNREACHED { NO_PARENT } else { value.index }
    }

    #[inline(always)]
    fn scatter(&self, signal: u32, _: f64) -> Option<u32> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> u32 {
        NO_PARENT
    }

    #[inline(always)]
    fn gather(&self, accum: u32, update: u32) -> u32 {
        accum.min(update)
    }

    #[inline(always)]
    fn merge(&self, left: u32, right: u32) -> u32 {
        left.min(right)
    }

    #[inline(always)]
    fn apply(&self, value: Branch, accum: u32, last: &Reach) -> Applied<Branch, Reach> {
        let depth = last.depth as u32 + 1;
        if accum == NO_PARENT || value.depth < depth {
            return Applied { value, total: Reach::default(), active: false };
        }
        // One that was reached in this very iteration may still hear of a smaller parent.
        let new = value.depth == UNREACHED;
        let total = if new { Reach::one(depth) } else { Reach::default() };
        let value = Branch { depth, parent: value.parent.min(accum), ..value };
        Applied { value, total, active: new }
    }

    fn next(&self, _: u64, total: &Reach) -> Next {
        total.next()
    }

    fn limit(&self) -> Limit {
        Limit::of_relaxing()
    }
}
