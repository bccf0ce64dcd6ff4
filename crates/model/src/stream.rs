//! The stream program: passes over the edges, each folded into a state of the whole graph.
//!
//! Where a fold program has an accumulator for each destination, a stream program sees edges in any
//! order, and keeps what it learnt in a state for each vertex, which others see at once: union-find
//! for components is the model. States are shared by all threads, so they must allow that by
//! themselves.
//!
//! A program is a small state machine. A [step](Next) shows it edges or lets it finalize vertices,
//! and what was [seen](StepStats) then says which step is the next. Before an edge is shown the
//! program is asked whether it can be a candidate, from two states alone: most edges are none, and
//! that is found out for many of them at once. Where none can be candidates [again](RevisitPolicy),
//! edges are not even read.
//!
//! Invariant: the answer does not depend on the order of the edges, on who saw which when, or on
//! how many passes there were. Tested by `as_kruskal` and `components_are_those_of_a_search`, which
//! compare the answers of many plans with one of another kind.

use bytemuck::{Pod, Zeroable};

use crate::edges::Pair;
use crate::limit::Limit;
use crate::program::{Total, Value, Vertex};

/// A stream program.
pub trait Stream: Sync {
    /// Result of a vertex.
    type Value: Value;
    /// State of a vertex, as far as candidates depend on it.
    type VertexState: Zeroable + Send + Sync;
    /// Further data of it, for edges that are candidates; `()` where there is no more.
    type Aux: Zeroable + Send + Sync;
    /// Step of the program, with all that it must remember for that.
    type Step: Copy + Send + Sync;
    /// Sum of what vertices say when they are finalized. It is the same in any order.
    type Total: Total;

    /// Whether `edge` looks at weights. Where it does not, they are not read.
    const WEIGHTED: bool = false;

    /// Whether states are 32 bits, and edges candidates where those of their ends are unequal. Many
    /// edges are looked at with one instruction then.
    const UNEQUAL: bool = false;

    /// Whether edges may be contracted ([`ContractedEdge`]): vertices are in components, and of all
    /// edges between the same two only the best one matters, from any pass on. In passes of such a
    /// program edges are candidates that lie between two components, and none ever is that does not
    /// ([`RevisitPolicy::Never`]).
    const CONTRACTS: bool = false;

    /// Number of passes, where that is known beforehand.
    const PASSES: Option<u64> = None;

    /// The state of a vertex before the first step.
    fn init(&self, vertex: Vertex) -> (Self::VertexState, Self::Aux);

    /// The first step.
    fn first(&self) -> Next<Self::Step>;

    /// The step that follows one in which this was seen.
    fn next(&self, step: Self::Step, stats: &StepStats<Self::Total>) -> Next<Self::Step>;

    /// The passes that a run takes at most. A run that wants more is ended with what the limit
    /// rests on; steps between two passes have [`Self::broken`].
    fn limit(&self) -> Limit;

    /// The invariant that a step in which this was seen contradicts, as only edges do that no graph
    /// has. Without that, a loop whose end rests on the invariant would have none.
    fn broken(&self, _step: Self::Step, _stats: &StepStats<Self::Total>) -> Option<&'static str> {
        None
    }

    /// When edges can be candidates again that are none in a step.
    fn revisit_policy(&self, _step: Self::Step) -> RevisitPolicy {
        RevisitPolicy::Anytime
    }

    /// Whether an edge between vertices with these states can teach anything in this step, now or
    /// later. What is no candidate is not shown. Asked of every edge: loads and comparisons, but no
    /// branches.
    fn is_candidate(
        &self,
        step: Self::Step,
        source: &Self::VertexState,
        target: &Self::VertexState,
    ) -> bool;

    /// Learns from an edge between the vertices of two numbers, and says whether that taught it
    /// anything: an edge that did not could have been left out. In steps that hand on what changed
    /// (see [`RevisitPolicy`]) it means a change of what other edges are checked against; in others
    /// it may be said of edges that taught nothing. The edge was a candidate a moment ago; edges
    /// that were shown since may have made it none.
    fn edge(&self, step: Self::Step, view: StateView<'_, Self>, edge: Edge) -> bool;

    /// The component that a vertex with this state is in, known by the number of a vertex. Where
    /// components become one, the state of that vertex tells which. Asked where edges are
    /// contracted only, like the next two.
    fn component(&self, _state: &Self::VertexState) -> u32 {
        0
    }

    /// The rank of an edge: what it is compared by, and all that must be known of it later.
    fn rank(&self, _edge: Edge) -> Rank {
        [0; 2]
    }

    /// As [`Self::edge`], of an edge that was contracted.
    fn contracted_edge(
        &self,
        _step: Self::Step,
        _known: StateView<'_, Self>,
        _edge: ContractedEdge,
    ) -> bool {
        false
    }

    /// Finalizes a vertex, in a step of its own. Others are finalized meanwhile, in about the order
    /// of their numbers.
    fn finalize(&self, step: Self::Step, view: StateView<'_, Self>, vertex: u32) -> Self::Total;

    /// Learns all that there is to learn from the edges that are still candidates, alone and at
    /// once. Called in steps [`Next::FinishInMemory`] only.
    fn finish_in_memory(&self, _known: StateView<'_, Self>, _edges: Vec<Pair>) {}

    /// The value of a vertex after the last step.
    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Self::Value;
}

/// A stream program that can do without numbers of vertices: on a graph that stays in its input,
/// slots stand for them. Slots that are no vertices have states, and are finalized, like the
/// others; degrees are not known, and an edge may be shown where it is none any more
/// ([`RevisitPolicy`] is not asked).
pub trait OverInput: Stream<Value: bytemuck::Pod> {
    /// Whether edges that may be candidates in a later step are kept, as soon as there is room for
    /// all of them ([`StepStats::retained`]): what is read then is those, without weights, and not
    /// the input.
    const RETAINS: bool = false;

    /// Whether [`Self::bits`] are looked at before states are: they stay in the cache.
    const BITS: bool = false;

    /// The slots that the edges begin at which can be candidates in the first pass, ascending,
    /// where they are known: what was seen of these edges before is shown, and not the input.
    fn begins(&self) -> Option<&[u64]> {
        None
    }

    /// A value with the numbers of vertices in the place of their slots.
    fn numbered(&self, value: Self::Value, number: impl Fn(u32) -> u32) -> Self::Value;

    /// Whether an edge that is no candidate in a step may be in a later one. Asked of every edge,
    /// like [`Stream::is_candidate`], where edges are kept.
    fn later(
        &self,
        _step: Self::Step,
        _source: &Self::VertexState,
        _target: &Self::VertexState,
    ) -> bool {
        true
    }

    /// Before a step: whether edges from a vertex with this state can be candidates in it, and
    /// whether edges to it can, in this step or a later one.
    fn bits(&self, _step: Self::Step, _state: &Self::VertexState) -> [bool; 2] {
        [true; 2]
    }

    /// Whether more passes over the input than a graph is worth are to be feared, after a step in
    /// which this was seen.
    fn should_fall_back(&self, _step: Self::Step, _stats: &StepStats<Self::Total>) -> bool {
        false
    }

    /// Passes over the input that can be foreseen after a step in which this was seen, on a graph
    /// of `_vertices` vertices: all of them, those that were made included; 0 where nothing can.
    fn foreseen(&self, _step: Self::Step, _stats: &StepStats<Self::Total>, _vertices: u64) -> u64 {
        0
    }
}

/// Next step of a stream program, and how it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<S> {
    /// A few edges of each vertex are shown. The next pass shows the others.
    SamplePass(S),
    /// A pass: all edges are shown that can be candidates.
    Pass(S),
    /// Finalization of all vertices.
    Finalize(S),
    /// All edges that are candidates are handed over at once ([`Stream::finish_in_memory`]). There
    /// must be room for them ([`StepStats::room`]).
    FinishInMemory(S),
    /// The values are the result.
    Stop,
}

/// Counts of a step. All but `total`, `room` and `retained` is 0 where no edges were shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepStats<T> {
    /// Edges that were looked at: all those of chunks that were read.
    pub looked: u64,
    /// Edges that were candidates.
    pub candidates: u64,
    /// Edges that changed something.
    pub changes: u64,
    /// Sum of what vertices said when they were finalized.
    pub total: T,
    /// Edges that there is room for in memory, to hand them over at once.
    pub room: u64,
    /// Edges that may be candidates in a later step, where all of them were kept
    /// ([`OverInput::RETAINS`]).
    pub retained: Option<u64>,
}

/// When an edge can be a candidate again that is none, or was shown and thus is none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisitPolicy {
    /// At any time.
    Anytime,
    /// Never, in this step or another. Edges that were candidates may be so again.
    Never,
    /// When its source changed, in passes that follow each other without another step in between.
    /// Edges say whether they changed their target.
    SourceChanged,
    /// When its target changed, likewise. Edges say whether they changed their source.
    TargetChanged,
    /// When one of its ends changed, likewise. Edges say whether they changed either.
    EitherChanged,
}

/// An edge between the vertices of two numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The vertex that it leaves.
    pub source: u32,
    /// The vertex that it leads to.
    pub target: u32,
    /// 1 where edges have none, or the program does not look at them.
    pub weight: f64,
}

/// Rank of an edge between two components: the least is the best. It also tells which edge it is
/// of.
pub type Rank = [u64; 2];

/// An edge as it is rewritten when components have taken the place of its ends (Chaos, section 3,
/// footnote 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct ContractedEdge {
    /// The components, the smaller number first. They differ, so this is never zero.
    pub between: [u32; 2],
    /// The edge.
    pub rank: Rank,
}

impl ContractedEdge {
    /// An edge between two components, in any order.
    #[inline(always)]
    pub fn new(one: u32, other: u32, rank: Rank) -> Self {
        Self { between: [one.min(other), one.max(other)], rank }
    }
}

/// State of all vertices, by their numbers.
pub struct StateView<'a, S: Stream + ?Sized> {
    /// States, on which candidates depend.
    pub states: &'a [S::VertexState],
    /// Further data, which edges that are candidates look at.
    pub aux: &'a [S::Aux],
}

impl<S: Stream + ?Sized> Clone for StateView<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Stream + ?Sized> Copy for StateView<'_, S> {}
