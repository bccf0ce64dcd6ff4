//! Minimum-cost spanning forest: edges that join what hangs together, and weigh least in all.
//!
//! ```text
//! best(C) = the least edge between C and another component      for each component C
//! forest += best(C), and the components that it joins are one   until no edge is left between two
//! edges are compared by (weight, smaller end, larger end)
//! ```
//!
//! That is Borůvka's algorithm. [`Mcst`] is a stream program: a pass shows each component its best
//! edge, then components hook over theirs, and all vertices learn the label of the component that
//! they are in now. Each pass at least halves the components that still grow, and an edge inside a
//! component is never looked at as a candidate again. Edges have no direction here: each is read
//! once.
//!
//! Edges may be contracted between passes ([`Stream::CONTRACTS`]): ends become components, an edge
//! inside one is dropped, and of those between the same two only the least is left, since another
//! one can be the best edge of neither, now or when they have grown. The components of a
//! [`ContractedEdge`] say where it leads; its rank is the weight and the ends of the edge that it
//! was, by which contracted edges are compared as edges are, and which the forest names.
//!
//! Invariants:
//! - The order of edges is total up to parallel ones of the same weight, which are as good as each
//!   other. So the only cycle among best edges is one that two components share, the forest does
//!   not depend on the order in which edges come, and where weights are equal it is the same too.
//!   Tested by `as_kruskal` and `ties_make_no_cycles`.
//! - A component that hooks is the label of none afterwards, and the edge that it hooked over stays
//!   with the vertex that was its label: every vertex but one of each tree has an edge of its own.
//!   Tested by `spans_without_cycles_and_no_edge_is_better`.
//!
//! Source: Chaos, Table 1 (`MCST`, of the extended model: edges are rewritten); O. Borůvka,
//! "O jistém problému minimálním", 1926.
//!
//! The heaviest edge of a triangle is left out:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, pass};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{Mcst, mcst::Cost};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let mut edges = EdgeList::new(Some(4), true);
//! edges.push(vec![[0, 1], [1, 2], [2, 0], [2, 3]], vec![1.0, 2.0, 3.0, 4.0]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_stream::<Mcst>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let passed = pass(&graph, &Mcst::new(Cost::Minimum), &workers, &progress)?;
//! let columns = Value::columns(&passed.values.whole()?[..]);
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

mod ranked;
mod snapshot;

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Total, Value, Vertex};
use welter_model::stream::{
    ContractedEdge, Edge, Next, Rank as Ranked, RevisitPolicy, StateView, StepStats, Stream,
};
use welter_model::table::ColumnData;

pub use self::ranked::RankedEdge;

/// Edges that a forest is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cost {
    /// The lightest.
    #[default]
    Minimum,
    /// The heaviest.
    Maximum,
}

/// A spanning forest of least cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mcst {
    cost: Cost,
}

/// An edge of the forest.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Branch {
    weight: f64,
    /// The smaller end first.
    ends: [u32; 2],
}

/// The end of no edge: vertices are fewer.
const NO_END: u32 = u32::MAX;

impl Branch {
    /// No edge.
    pub(crate) const NONE: Self = Self { weight: 0.0, ends: [NO_END; 2] };

    /// Weight of the edge.
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

impl Value for Branch {
    const LISTED: bool = true;

    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let end = |end: usize| values.iter().map(|value| value.ends[end].into()).collect();
        let weights = values.iter().map(|value| value.weight).collect();
        vec![
            ("source", ColumnData::Vertices(end(0))),
            ("target", ColumnData::Vertices(end(1))),
            ("weight", ColumnData::F64(weights)),
        ]
    }

    fn is_listed(&self) -> bool {
        *self != Self::NONE
    }
}

/// Rank by which edges are compared: of the weight, then of the ends, the smaller one above.
type Rank = (u64, u64);

/// The rank of no edge, above those of all.
pub(crate) const NO_EDGE: u64 = u64::MAX;
/// Instead of the rank of a weight: another thread writes. No number has this rank.
pub(crate) const BUSY: u64 = u64::MAX - 1;

/// The bits of a number, in the order of [`f64::total_cmp`].
fn rank(weight: f64) -> u64 {
    let bits = weight.to_bits();
    bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }
}

/// The number of a rank.
fn number(rank: u64) -> f64 {
    f64::from_bits(rank ^ if rank >> 63 == 1 { 1 << 63 } else { u64::MAX })
}

impl Cost {
    /// The rank of a weight, by which weights are compared: the smaller the better.
    #[inline(always)]
    pub(crate) fn rank(self, weight: f64) -> u64 {
        self.turned(rank(weight))
    }

    /// The edge with this rank and these ends.
    pub(crate) fn branch(self, rank: u64, edge: u64) -> Branch {
        Branch { weight: number(self.turned(rank)), ends: ends(edge) }
    }

    /// A rank as it is, or turned around.
    #[inline(always)]
    fn turned(self, rank: u64) -> u64 {
        match self {
            Self::Minimum => rank,
            Self::Maximum => !rank,
        }
    }
}

/// The best edge of a component, kept by the vertex that is its label. Shared without locks; who
/// improves it has it alone for two stores, and that happens seldom: of n edges that come in no
/// order about ln n are better than all before.
#[derive(Zeroable)]
pub struct Best {
    weight: AtomicU64,
    ends: AtomicU64,
}

impl Best {
    fn none() -> Self {
        Self { weight: AtomicU64::new(NO_EDGE), ends: AtomicU64::new(0) }
    }

    /// The edge, while none is offered.
    fn get(&self) -> Rank {
        (self.weight.load(Relaxed), self.ends.load(Relaxed))
    }

    fn clear(&self) {
        self.weight.store(NO_EDGE, Relaxed);
    }

    /// Keeps an edge if it is better, and says whether it was.
    ///
    /// Ranks only fall, and ends are stored before their weight is. So ends that are read after a
    /// weight belong to it or to a better edge that comes, and what is no better than the two need
    /// not be offered.
    #[inline(always)]
    fn offer(&self, edge: Rank) -> bool {
        loop {
            let weight = self.weight.load(Acquire);
            if weight == BUSY {
                spin_loop();
                continue;
            }
            if (weight, self.ends.load(Relaxed)) <= edge {
                return false;
            }
            if self.weight.compare_exchange_weak(weight, BUSY, Acquire, Relaxed).is_ok() {
                // The ends may have changed before, and do not any more.
                let before = (weight, self.ends.load(Relaxed));
                let (weight, ends) = edge.min(before);
                self.ends.store(ends, Relaxed);
                self.weight.store(weight, Release);
                return edge < before;
            }
        }
    }
}

/// Step of [`Mcst`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Edges offer themselves to the components at their ends.
    Offer {
        /// Components that grew in the last pass and are still some; 0 where that is not known.
        growing: u64,
    },
    /// Components hook over their best edges.
    Hook {
        /// As before the pass.
        growing: u64,
    },
    /// Vertices follow the labels of their labels, until those are components.
    Flatten {
        /// Components that grew in this pass and are still some.
        growing: u64,
        /// Rounds in which vertices have followed before.
        rounds: u64,
    },
}

/// Rounds after which any vertex has found its component: each halves the way, which is no longer
/// than there are vertices. One more finds out that nothing is left to do.
const ROUNDS_MAX: u64 = u32::BITS as u64 + 1;

/// Counts of vertices that are finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Components that had a best edge and did not hook over it.
    growing: u64,
    /// Vertices whose label changed.
    moved: u64,
}

impl Total for Counts {
    fn merge(self, other: Self) -> Self {
        Self { growing: self.growing + other.growing, moved: self.moved + other.moved }
    }
}

impl Mcst {
    /// A forest of least cost, or of most.
    pub fn new(cost: Cost) -> Self {
        Self { cost }
    }
}

/// The ends of an edge as they are compared.
#[inline(always)]
pub(crate) fn joined(one: u32, other: u32) -> u64 {
    u64::from(one.min(other)) << 32 | u64::from(one.max(other))
}

/// The ends of an edge one by one.
#[inline(always)]
pub(crate) fn ends(ends: u64) -> [u32; 2] {
    [(ends >> 32) as u32, ends as u32]
}

/// The label of a vertex.
#[inline(always)]
fn label(view: StateView<'_, Mcst>, vertex: u32) -> u32 {
    view.states[vertex as usize].load(Relaxed)
}

/// Hooks a component over its best edge, unless it is the smaller one of two that share it.
///
/// Others hook meanwhile, so what is at the other end may itself have hooked just now. Then its
/// label is a component farther along, or this one: if it has hooked here, that was over the same
/// edge.
fn hook(view: StateView<'_, Mcst>, component: u32) -> Counts {
    let best = view.aux[component as usize].get();
    if label(view, component) != component || best.0 == NO_EDGE {
        return Counts::default();
    }
    let [one, other] = ends(best.1).map(|end| label(view, end));
    let over = if one == component { other } else { one };
    let is_shared = || component < over && view.aux[over as usize].get() == best;
    if over == component || is_shared() {
        return Counts { growing: 1, moved: 0 };
    }
    view.states[component as usize].store(over, Relaxed);
    Counts { growing: 0, moved: 1 }
}

/// Makes half of the way from a vertex to its component. What is a component begins anew.
fn flatten(view: StateView<'_, Mcst>, vertex: u32) -> Counts {
    let over = label(view, vertex);
    let farther = label(view, over);
    if over == vertex {
        view.aux[vertex as usize].clear();
    }
    if over == farther {
        return Counts::default();
    }
    view.states[vertex as usize].store(farther, Relaxed);
    Counts { growing: 0, moved: 1 }
}

impl Stream for Mcst {
    type Value = Branch;
    type VertexState = AtomicU32;
    type Aux = Best;
    type Step = Step;
    type Total = Counts;

    const WEIGHTED: bool = true;
    const UNEQUAL: bool = true;
    const CONTRACTS: bool = true;

    fn init(&self, vertex: Vertex) -> (AtomicU32, Best) {
        (AtomicU32::new(vertex.index as u32), Best::none())
    }

    fn first(&self) -> Next<Step> {
        Next::Pass(Step::Offer { growing: 0 })
    }

    fn next(&self, step: Step, stats: &StepStats<Counts>) -> Next<Step> {
        match step {
            Step::Offer { .. } if stats.candidates == 0 => Next::Stop,
            Step::Offer { growing } => Next::Finalize(Step::Hook { growing }),
            Step::Hook { .. } => {
                Next::Finalize(Step::Flatten { growing: stats.total.growing, rounds: 0 })
            }
            Step::Flatten { growing, rounds } if stats.total.moved > 0 => {
                Next::Finalize(Step::Flatten { growing, rounds: rounds + 1 })
            }
            // Components that had no edge out are trees, so there is none to a single one.
            Step::Flatten { growing: 0 | 1, .. } => Next::Stop,
            Step::Flatten { growing, .. } => Next::Pass(Step::Offer { growing }),
        }
    }

    /// As many as components can be halved, and one that finds no edge between two.
    fn limit(&self) -> Limit {
        let invariant = "a pass at least halves the components that grow";
        Limit::Proved { most: |vertices| u64::from(vertices.max(1).ilog2()) + 2, invariant }
    }

    /// Of two components that share their best edge one hooks, and all others do.
    fn broken(&self, step: Step, stats: &StepStats<Counts>) -> Option<&'static str> {
        match step {
            Step::Hook { growing } if growing > 0 && stats.total.growing > growing / 2 => {
                Some("a pass at least halves the components that grow")
            }
            Step::Flatten { rounds, .. } if rounds > ROUNDS_MAX => {
                Some("the way from a vertex to its component halves in each round")
            }
            _ => None,
        }
    }

    /// Edges inside a component stay there.
    fn revisit_policy(&self, _: Step) -> RevisitPolicy {
        RevisitPolicy::Never
    }

    #[inline(always)]
    fn is_candidate(&self, _: Step, source: &AtomicU32, target: &AtomicU32) -> bool {
        source.load(Relaxed) != target.load(Relaxed)
    }

    #[inline(always)]
    fn edge(&self, _: Step, view: StateView<'_, Self>, edge: Edge) -> bool {
        let rank = (self.cost.rank(edge.weight), joined(edge.source, edge.target));
        let offer = |end| view.aux[label(view, end) as usize].offer(rank);
        offer(edge.source) | offer(edge.target)
    }

    #[inline(always)]
    fn component(&self, label: &AtomicU32) -> u32 {
        label.load(Relaxed)
    }

    #[inline(always)]
    fn rank(&self, edge: Edge) -> Ranked {
        [self.cost.rank(edge.weight), joined(edge.source, edge.target)]
    }

    #[inline(always)]
    fn contracted_edge(
        &self,
        _: Step,
        view: StateView<'_, Self>,
        ContractedEdge { between, rank: [weight, ends] }: ContractedEdge,
    ) -> bool {
        let offer = |end| view.aux[label(view, end) as usize].offer((weight, ends));
        offer(between[0]) | offer(between[1])
    }

    fn finalize(&self, step: Step, view: StateView<'_, Self>, vertex: u32) -> Counts {
        match step {
            Step::Offer { .. } => Counts::default(),
            Step::Hook { .. } => hook(view, vertex),
            Step::Flatten { .. } => flatten(view, vertex),
        }
    }

    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Branch {
        if label(view, vertex) == vertex {
            return Branch::NONE;
        }
        let (weight, edge) = view.aux[vertex as usize].get();
        self.cost.branch(weight, edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_no_graph_has_are_told() {
        let stats =
            |growing| StepStats { total: Counts { growing, moved: 1 }, ..StepStats::default() };
        let is_broken = |step, growing| Mcst::default().broken(step, &stats(growing)).is_some();
        assert!(!is_broken(Step::Hook { growing: 0 }, 9));
        assert!(!is_broken(Step::Hook { growing: 9 }, 4));
        assert!(is_broken(Step::Hook { growing: 9 }, 5));
        assert!(!is_broken(Step::Flatten { growing: 9, rounds: ROUNDS_MAX }, 9));
        assert!(is_broken(Step::Flatten { growing: 9, rounds: ROUNDS_MAX + 1 }, 9));
    }

    #[test]
    fn ranks_ascend_with_the_numbers() {
        let numbers = [f64::NEG_INFINITY, -1e9, -1.5, -0.0, 0.0, 1e-300, 1.0, 2.5, f64::INFINITY];
        assert!(numbers.windows(2).all(|pair| rank(pair[0]) < rank(pair[1])));
        assert!(numbers.iter().all(|&a| number(rank(a)).to_bits() == a.to_bits()));
        for rank in [rank(f64::NEG_INFINITY), rank(f64::INFINITY)] {
            assert!(rank < BUSY && !rank < BUSY);
        }
    }

    #[test]
    fn the_best_edge_is_kept() {
        let best = Best::none();
        let offered = [(7, 3), (7, 5), (7, 2), (9, 0), (4, 9), (4, 9), (5, 1)];
        let kept = offered.map(|edge| {
            let before = best.get();
            assert_eq!(best.offer(edge), edge < before);
            best.get()
        });
        assert_eq!(kept, [(7, 3), (7, 3), (7, 2), (7, 2), (4, 9), (4, 9), (4, 9)]);
    }
}
