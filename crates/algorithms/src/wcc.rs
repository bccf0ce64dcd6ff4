//! Weakly connected components: which vertices hang together, whatever way the edges point.
//!
//! ```text
//! component(v) = the smallest id of all vertices that a path of edges, in any direction, joins to
//! v
//! ```
//!
//! [`Wcc`] is a stream program: union-find over the edges in the order in which they lie, in one
//! pass. A root always takes the smaller number, so every component ends with its smallest vertex
//! as root and the answer is the same for any number of threads. [`LabelPropagation`] is the same
//! as a fold program that spreads the smallest number, which takes as many passes as the longest
//! shortest path; the papers do it so, and it is the oracle here. It follows edges one way, so it
//! wants a graph that was read as undirected.
//!
//! Source: Chaos, Table 1; `BlitzG` (`CC`); LDBC Graphalytics (`WCC`).
//!
//! Two components of a graph whose edges point any way:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, pass};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Wcc;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[1, 0], [1, 2], [4, 3]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_stream::<Wcc>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let passed = pass(&graph, &Wcc, &workers, &progress)?;
//! let columns = Value::columns(&passed.values.whole()?[..]);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3, 3]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::stream::{self, Edge, OverInput, StateView, StepStats, Stream};
use welter_model::table::ColumnData;

/// The number of the smallest vertex of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Label(u32);

impl Label {
    /// The label that is this vertex.
    pub(crate) fn of(vertex: u32) -> Self {
        Self(vertex)
    }
}

impl Value for Label {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let labels = values.iter().map(|value| value.0.into()).collect();
        vec![("component", ColumnData::Vertices(labels))]
    }
}

/// Components by union-find.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wcc;

/// A forest: each vertex points at a smaller one of its component, or at itself. A state holds the
/// number that its vertex points at.
///
/// Threads share it without locks. A root is hooked under a smaller one by compare-and-swap, so of
/// two threads that want to hook it one fails and looks again; shortening a path changes no root.
#[derive(Clone, Copy)]
struct Forest<'a>(&'a [AtomicU32]);

impl Forest<'_> {
    #[inline(always)]
    fn parent(self, vertex: u32) -> u32 {
        self.0[vertex as usize].load(Ordering::Relaxed)
    }

    /// The root of a vertex. Halves the path on the way.
    #[inline(always)]
    fn root(self, mut vertex: u32) -> u32 {
        loop {
            let parent = self.parent(vertex);
            let grandparent = self.parent(parent);
            if parent == grandparent {
                return parent;
            }
            self.shorten(vertex, grandparent);
            vertex = grandparent;
        }
    }

    /// Lets a vertex that is no root point at an ancestor.
    fn shorten(self, vertex: u32, ancestor: u32) {
        self.0[vertex as usize].store(ancestor, Ordering::Relaxed);
    }

    /// Hooks a root under a smaller vertex. Says no when it is a root no more.
    #[inline(always)]
    fn hook(self, root: u32, under: u32) -> bool {
        let relaxed = Ordering::Relaxed;
        self.0[root as usize].compare_exchange(root, under, relaxed, relaxed).is_ok()
    }

    /// Joins what two vertices of different parents belong to.
    #[inline(always)]
    fn join(self, (source, target): (u32, u32), (one, other): (u32, u32)) {
        // Nearly always a root that stands alone meets the root of a large component.
        let (small, large) = (one.min(other), one.max(other));
        if !(self.parent(small) == small && self.hook(large, small)) {
            self.join_roots(source, target);
        } else if source != large && target != large {
            self.shorten(if source == small { target } else { source }, small);
        }
    }

    #[inline(never)]
    fn join_roots(self, source: u32, target: u32) {
        loop {
            let (one, other) = (self.root(source), self.root(target));
            let (small, large) = (one.min(other), one.max(other));
            if small == large || self.hook(large, small) {
                // Both find the root at once when their next edges ask.
                for vertex in [source, target] {
                    if vertex > small {
                        self.shorten(vertex, small);
                    }
                }
                return;
            }
        }
    }
}

/// Steps of [`Wcc`], in this order. States are tidied up after a few edges of each vertex: what
/// most other edges look for is one step away then.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A few edges join what they lie between.
    Few,
    /// All vertices make a step towards their roots.
    Tidy,
    /// The other edges join the rest.
    Others,
}

impl Stream for Wcc {
    type Value = Label;
    type VertexState = AtomicU32;
    type Aux = ();
    type Step = Step;
    type Total = ();

    const UNEQUAL: bool = true;
    const PASSES: Option<u64> = Some(1);

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> (AtomicU32, ()) {
        (AtomicU32::new(vertex.index as u32), ())
    }

    fn first(&self) -> stream::Next<Step> {
        stream::Next::SamplePass(Step::Few)
    }

    fn next(&self, step: Step, _: &StepStats<()>) -> stream::Next<Step> {
        match step {
            Step::Few => stream::Next::Finalize(Step::Tidy),
            Step::Tidy => stream::Next::Pass(Step::Others),
            Step::Others => stream::Next::Stop,
        }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(1)
    }

    /// Nearly all edges join what hangs together, and most vertices know their root.
    #[inline(always)]
    fn is_candidate(&self, _: Step, source: &AtomicU32, target: &AtomicU32) -> bool {
        source.load(Ordering::Relaxed) != target.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn edge(&self, _: Step, view: StateView<'_, Self>, edge: Edge) -> bool {
        let Edge { source, target, .. } = edge;
        let forest = Forest(view.states);
        let parents = (forest.parent(source), forest.parent(target));
        if parents.0 != parents.1 {
            forest.join((source, target), parents);
        }
        true
    }

    /// One step towards the root. Numbers are finalized in rising order, so the vertex that this
    /// one points at has mostly made its own step, and one is enough; a loop whose end no thread
    /// foresees took three times as long.
    #[inline(always)]
    fn finalize(&self, _: Step, view: StateView<'_, Self>, vertex: u32) {
        let forest = Forest(view.states);
        forest.shorten(vertex, forest.parent(forest.parent(vertex)));
    }

    #[inline(always)]
    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Label {
        Label(Forest(view.states).root(vertex))
    }
}

/// The smallest slot of a component is that of its smallest vertex.
impl OverInput for Wcc {
    #[inline(always)]
    fn numbered(&self, Label(slot): Label, number: impl Fn(u32) -> u32) -> Label {
        Label(number(slot))
    }
}

/// Components by spreading the smallest number.
///
/// Labels travel along edges, so each must be read both ways:
///
/// ```
/// # use welter_engine::plan::{Layout, Plan, Settings, Shape};
/// # use welter_engine::{Graph, Machine, Workers, run};
/// # use welter_model::{ids::IdMap, program::Value};
/// # use welter_progress::Progress;
/// use welter_algorithms::LabelPropagation;
/// use welter_model::edges::{EdgeList, Reading};
/// use welter_model::table::ColumnData;
///
/// let edges = EdgeList::from_pairs(vec![[1, 0], [1, 2], [4, 3]]);
/// let reading = Reading { undirected: true, ..Reading::default() };
/// # let shape = Shape::of(&edges, reading);
/// # let (settings, machine) = (Settings::default(), Machine::detect());
/// # let plan = Plan::new(shape, Layout::of::<LabelPropagation>(), &settings, &machine)?;
/// # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
/// # let progress = Progress::new();
/// # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
/// let outcome = run(&graph, &LabelPropagation, &workers, &progress)?;
/// let columns = Value::columns(&outcome.values.whole()?[..]);
/// assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3, 3]))]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LabelPropagation;

impl Program for LabelPropagation {
    type Value = Label;
    type Signal = u32;
    type Update = u32;
    type Accum = u32;
    type Total = ();

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;
    const FRONTIER: bool = true;
    const MONOTONE: bool = true;
    const ORDER_INDEPENDENT: bool = true;
    const UPDATES_ARE_COMPLETE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Label, ()> {
        Applied::active(Label(vertex.index as u32), ())
    }

    #[inline(always)]
    fn signal(&self, value: &Label) -> u32 {
        value.0
    }

    #[inline(always)]
    fn scatter(&self, signal: u32, _: f64) -> Option<u32> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> u32 {
        u32::MAX
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
    fn apply(&self, value: Label, accum: u32, (): &()) -> Applied<Label, ()> {
        let active = accum < value.0;
        Applied { value: Label(value.0.min(accum)), total: (), active }
    }

    fn next(&self, _: u64, (): &()) -> Next {
        Next::Iterate
    }

    fn limit(&self) -> Limit {
        Limit::of_relaxing()
    }
}
