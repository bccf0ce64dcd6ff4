//! Strongly connected components: which vertices reach each other along edges.
//!
//! ```text
//! component(v) = the smallest id of all vertices that v reaches and that reach v
//! ```
//!
//! [`Scc`] is a stream program in rounds. All vertices that are not decided yet lie in *parts*, and
//! every component within one. A round
//!
//! 1. trims: a vertex that no edge of its part leaves, or none enters, is a component by itself;
//! 2. colours: each vertex is a colour, and takes the smallest of those that reach it;
//! 3. reaches back: who has the colour of `r` and reaches `r` is of its component, because `r`
//!    reached him; the others with that colour are a part of the next round, because a component
//!    has one colour.
//!
//! Colours are vertices in an order that is as good as random, so a chain of n components takes
//! about log n rounds.
//!
//! The first round is another one, because most graphs have one component that is larger than all
//! others together. After trimming, a vertex of very high degree is the *pivot*, and the same
//! passes find whom it reaches and who reaches it. Who is both is of its component; those that are
//! one of them, the other, or neither are the parts of the next round. Reaching forth and back at
//! once takes about half the passes that one after the other does. Where it takes many all the
//! same, the round begins anew with colours.
//!
//! News is handed on at once, so a pass takes many steps along paths, but a long path in no order
//! takes many passes all the same. So where few edges are left between vertices that are not
//! decided, or a round takes long, and there is room for these edges, they are handed over at once,
//! and Tarjan's algorithm ends the run.
//!
//! In the words of Chaos, whose `SCC` is of the extended model (edges are rewritten): *forward
//! labels* are colours, or who the pivot reaches; *backward labels* say who reaches back. Trimming
//! drops edges: one between two parts, or with an end that is decided, is a candidate never again
//! ([`RevisitPolicy::Never`]). When a pass that trims leaves few others, those are written anew,
//! and it is gone; until then, and where edges are in memory, chunks without any others are not
//! read again. No edge is rewritten to anything else: what it would be, between the labels of its
//! ends, stands in their states, where all edges look it up.
//!
//! Source: Chaos, Table 1 (`SCC`); L. K. Fleischer, B. Hendrickson, A. Pınar, "On identifying
//! strongly connected components in parallel", 2000 (parts by a pivot); S. Orzan, "On distributed
//! verification and verified distribution", 2004 (colours); R. Tarjan, "Depth-first search and
//! linear graph algorithms", 1972.
//!
//! A circle of three, and a vertex that it leads to:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, pass};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Scc;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0], [2, 3]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_stream::<Scc>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let passed = pass(&graph, &Scc::default(), &workers, &progress)?;
//! let columns = Value::columns(&passed.values.whole()?[..]);
//! assert_eq!(columns, [("component", ColumnData::Vertices(vec![0, 0, 0, 3]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod snapshot;
mod tarjan;
mod vertex_state;

use self::vertex_state::DECIDED;
pub use self::vertex_state::VertexState;

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use bytemuck::{Pod, Zeroable};
use welter_model::edges::Pair;
use welter_model::limit::Limit;
use welter_model::program::{Total, Vertex};
use welter_model::stream::{Edge, Next, RevisitPolicy, StateView, StepStats, Stream};

use crate::wcc::Label;

/// The rest is handed over when it has at most one edge in `REST_SHARE` of the graph.
const REST_SHARE: u64 = 16;

/// Edges that are handed over whatever their share is: a pass costs more than to be done with
/// these.
const REST_EDGES: u64 = 1 << 16;

/// A round takes long when it has looked at `PATIENCE` times the edges that it may have candidates
/// of. That costs about as much as Tarjan's algorithm does.
const PATIENCE: u64 = 32;

/// The first round gives up when it has looked at `REACH_PATIENCE` times these edges: in small
/// worlds it takes about five passes.
const REACH_PATIENCE: u64 = 12;

/// Trimming continues while it decides at least one vertex for each `TRIM_PAYS` that it does not.
const TRIM_PAYS: u64 = 4;

/// Strongly connected components.
#[derive(Clone, Copy, Debug)]
pub struct Scc {
    rest_edges_max: u64,
}

/// An edge of its part leaves the vertex.
const LEAVES: u32 = 1;
/// An edge of its part enters the vertex.
const ENTERS: u32 = 2;

/// The pivot reaches the vertex.
const FORTH: u32 = 1;
/// The vertex reaches the pivot.
const BACK: u32 = 2;

/// The vertex reaches the one of its colour.
const REACHED: u32 = 0;
/// The vertex may not reach the one of its colour.
const OTHER: u32 = 1;

/// An odd number near the golden ratio of 2^32: its multiples are spread evenly, and a few ones in
/// a row have about as many new minima as random numbers have.
const SPREAD: u32 = 0x9e37_79b1;
/// `SPREAD * GATHER = 1`.
const GATHER: u32 = 0x0e8b_2f51;

/// The colour of a vertex. That of the pivot is the first one; each pivot makes another order.
fn colour(vertex: u32, pivot: u32) -> u32 {
    (vertex ^ pivot).wrapping_mul(SPREAD)
}

/// The vertex of a colour.
fn vertex_of(colour: u32, pivot: u32) -> u32 {
    colour.wrapping_mul(GATHER) ^ pivot
}

/// Stage that [`Scc`] is at, and the edges that it has looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    stage: Stage,
    /// The pivot of the first round; later the vertex of the first colour, if it is one.
    pivot: u32,
    /// Edges of all parts at the beginning.
    edges: u64,
    /// Edges of all parts when the round began.
    live: u64,
    /// Edges that were looked at since.
    looked: u64,
}

/// Stage of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Edges of a part mark their ends.
    Trim,
    /// Vertices that lack a mark are decided.
    Trimmed,
    /// The pivot reaches itself.
    Seed,
    /// Vertices that the pivot reaches, and those that reach it, are found along edges.
    Reach,
    /// Vertices that are both are decided, and the others are in parts.
    Part,
    /// Vertices take their own colours.
    Colour,
    /// Colours are handed on along edges.
    Forward,
    /// Colours are the new parts, whose vertices are reached.
    Split,
    /// Vertices reach that have an edge to one of their part that reaches.
    Backward,
    /// Vertices that reach are decided.
    Decide,
    /// The rest goes to Tarjan's algorithm.
    Rest,
    /// Vertices without such an edge are alone.
    Alone,
    /// The smallest vertex of each component is found.
    Name,
}

/// Counts of vertices that are finalized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Counts {
    /// Vertices that were decided in this step.
    decided: u64,
    /// Vertices that are not decided.
    open: u64,
    /// The largest of these by degree, and of equal ones the first: the degree above, and below it
    /// what the number lacks to 2^32 - 1.
    pivot: u64,
}

impl Counts {
    const DECIDED: Self = Self { decided: 1, open: 0, pivot: 0 };

    fn open(vertex: u32, degree: u32) -> Self {
        let pivot = u64::from(degree) << 32 | u64::from(!vertex);
        Self { decided: 0, open: 1, pivot }
    }
}

impl Total for Counts {
    fn merge(self, other: Self) -> Self {
        Self {
            decided: self.decided + other.decided,
            open: self.open + other.open,
            pivot: self.pivot.max(other.pivot),
        }
    }
}

impl Default for Scc {
    fn default() -> Self {
        Self { rest_edges_max: u64::MAX }
    }
}

impl Scc {
    /// Hands over at most `rest_edges_max` edges at once, also where there is room for more; 0 is
    /// none.
    #[must_use]
    pub fn with_rest(rest_edges_max: u64) -> Self {
        Self { rest_edges_max }
    }

    /// The stage after a pass that hands on what was learnt: `then`, if nothing was.
    fn after(self, step: Step, stats: &StepStats<Counts>, then: Stage) -> Next<Step> {
        let step = Step { looked: step.looked + stats.looked, ..step };
        let takes_long = step.looked / PATIENCE > step.live;
        if stats.changes == 0 {
            Next::Finalize(Step { stage: then, ..step })
        } else if takes_long && self.has_room(step, stats) {
            Next::FinishInMemory(Step { stage: Stage::Rest, ..step })
        } else {
            Next::Pass(step)
        }
    }

    fn has_room(self, step: Step, stats: &StepStats<Counts>) -> bool {
        step.live <= stats.room.min(self.rest_edges_max)
    }
}

impl Stream for Scc {
    type Value = Label;
    type VertexState = VertexState;
    type Aux = ();
    type Step = Step;
    type Total = Counts;

    fn init(&self, vertex: Vertex) -> (VertexState, ()) {
        let degree = vertex.out_degree.min(u64::from(u32::MAX >> 2)) as u32;
        (VertexState { part: AtomicU32::new(0), colour: AtomicU32::new(degree << 2) }, ())
    }

    fn first(&self) -> Next<Step> {
        Next::Pass(Step { stage: Stage::Trim, pivot: 0, edges: 0, live: 0, looked: 0 })
    }

    fn next(&self, step: Step, stats: &StepStats<Counts>) -> Next<Step> {
        let to = |stage| Step { stage, ..step };
        let Counts { decided, open, pivot } = stats.total;
        match step.stage {
            Stage::Trim => {
                let (edges, live) = (step.edges.max(stats.candidates), stats.candidates);
                Next::Finalize(Step { edges, live, looked: 0, ..to(Stage::Trimmed) })
            }
            Stage::Trimmed | Stage::Part | Stage::Decide if open == 0 => {
                Next::Finalize(to(Stage::Name))
            }
            Stage::Trimmed
                if step.live <= REST_EDGES.max(step.edges / REST_SHARE)
                    && self.has_room(step, stats) =>
            {
                Next::FinishInMemory(to(Stage::Rest))
            }
            // Degrees are known in the first round.
            Stage::Trimmed if pivot >> 32 > 0 && decided < open => {
                Next::Finalize(Step { pivot: !(pivot as u32), ..to(Stage::Seed) })
            }
            Stage::Trimmed if decided * TRIM_PAYS >= open => Next::Pass(to(Stage::Trim)),
            Stage::Trimmed => {
                // Any order will do that is a new one: always to begin with the first vertex would
                // decide a path one by one.
                Next::Finalize(Step { pivot: colour(!step.pivot, 0), ..to(Stage::Colour) })
            }
            Stage::Seed => Next::Pass(to(Stage::Reach)),
            Stage::Reach => match self.after(step, stats, Stage::Part) {
                Next::Pass(step) if step.looked / REACH_PATIENCE > step.live => {
                    Next::Finalize(Step { stage: Stage::Colour, looked: 0, ..step })
                }
                next => next,
            },
            Stage::Colour => Next::Pass(to(Stage::Forward)),
            Stage::Forward => self.after(step, stats, Stage::Split),
            Stage::Split => Next::Pass(to(Stage::Backward)),
            Stage::Backward => self.after(step, stats, Stage::Decide),
            Stage::Part | Stage::Decide => Next::Pass(to(Stage::Trim)),
            Stage::Rest => Next::Finalize(to(Stage::Alone)),
            Stage::Alone => Next::Finalize(to(Stage::Name)),
            Stage::Name => Next::Stop,
        }
    }

    /// A round decides a vertex at least, so there are `V` at most. In each a colour passes less
    /// than `V` edges, and so does who reaches back, with a pass that changes nothing after either;
    /// the first one may have reached forth and back before. Trimming continues while it decides a
    /// vertex, or has just begun.
    fn limit(&self) -> Limit {
        let invariant = "each round decides the vertex of a colour or pivot at least";
        let most = |vertices: u64| (vertices + 1).saturating_mul(2 * vertices + 8);
        Limit::Proved { most, invariant }
    }

    fn broken(&self, step: Step, stats: &StepStats<Counts>) -> Option<&'static str> {
        let Counts { decided, open, .. } = stats.total;
        let decides = matches!(step.stage, Stage::Part | Stage::Decide);
        (decides && decided == 0 && open > 0)
            .then_some("each round decides the vertex of a colour or pivot at least")
    }

    fn revisit_policy(&self, step: Step) -> RevisitPolicy {
        match step.stage {
            Stage::Reach => RevisitPolicy::EitherChanged,
            Stage::Forward => RevisitPolicy::SourceChanged,
            Stage::Backward => RevisitPolicy::TargetChanged,
            // An edge between two parts does so for good.
            _ => RevisitPolicy::Never,
        }
    }

    #[inline(always)]
    fn is_candidate(&self, step: Step, source: &VertexState, target: &VertexState) -> bool {
        let [part, same] = [source, target].map(|state| state.part.load(Relaxed));
        let [one, other] = [source, target].map(|state| state.colour.load(Relaxed));
        part == same
            && part != DECIDED
            && match step.stage {
                Stage::Reach => (one & !other & FORTH) | (other & !one & BACK) != 0,
                Stage::Forward => one < other,
                Stage::Backward => other < one,
                _ => true,
            }
    }

    #[inline(always)]
    fn edge(&self, step: Step, view: StateView<'_, Self>, edge: Edge) -> bool {
        let [source, target] = [edge.source, edge.target].map(|end| &view.states[end as usize]);
        match step.stage {
            Stage::Reach => {
                let [one, other] = [source, target].map(|state| state.colour.load(Relaxed));
                (one & FORTH != 0 && target.mark(FORTH)) | (other & BACK != 0 && source.mark(BACK))
            }
            Stage::Forward => {
                let colour = source.colour.load(Relaxed);
                colour < target.colour.fetch_min(colour, Relaxed)
            }
            Stage::Backward => {
                source.colour.store(REACHED, Relaxed);
                true
            }
            _ => edge.source != edge.target && (source.mark(LEAVES) | target.mark(ENTERS)),
        }
    }

    fn finalize(&self, step: Step, view: StateView<'_, Self>, vertex: u32) -> Counts {
        let state = &view.states[vertex as usize];
        let value = state.colour.load(Relaxed);
        if step.stage == Stage::Name {
            let smallest = &named(view, vertex).part;
            if vertex < smallest.load(Relaxed) {
                smallest.fetch_min(vertex, Relaxed);
            }
            return Counts::default();
        }
        if state.is_decided() {
            return Counts::default();
        }
        let (marks, degree) = (value & (LEAVES | ENTERS), value & !(LEAVES | ENTERS));
        match step.stage {
            Stage::Trimmed if marks != LEAVES | ENTERS => state.decide(vertex),
            Stage::Trimmed => state.colour.store(degree, Relaxed),
            Stage::Seed => {
                state.colour.store(if vertex == step.pivot { FORTH | BACK } else { 0 }, Relaxed);
            }
            Stage::Part if value == FORTH | BACK => state.decide(step.pivot),
            Stage::Part => {
                state.part.store(value, Relaxed);
                state.colour.store(0, Relaxed);
            }
            Stage::Colour => state.colour.store(colour(vertex, step.pivot), Relaxed),
            Stage::Split => {
                let root = vertex_of(value, step.pivot);
                state.part.store(root, Relaxed);
                state.colour.store(if root == vertex { REACHED } else { OTHER }, Relaxed);
            }
            Stage::Decide if value == REACHED => state.decide(state.part.load(Relaxed)),
            Stage::Decide => state.colour.store(0, Relaxed),
            Stage::Alone => state.decide(vertex),
            _ => {}
        }
        if state.is_decided() { Counts::DECIDED } else { Counts::open(vertex, degree >> 2) }
    }

    fn finish_in_memory(&self, view: StateView<'_, Self>, edges: Vec<Pair>) {
        tarjan::decide(view.states, edges);
    }

    fn value(&self, view: StateView<'_, Self>, vertex: u32) -> Label {
        Label::of(named(view, vertex).part.load(Relaxed))
    }
}

/// The state of the vertex that the component of another is known by.
fn named(view: StateView<'_, Scc>, vertex: u32) -> &VertexState {
    let own = &view.states[vertex as usize];
    // Only a forged checkpoint leads to a vertex that is not there.
    view.states.get(own.colour.load(Relaxed) as usize).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_vertices_in_another_order() {
        for pivot in [0, 1, 77, u32::MAX - 1] {
            assert_eq!(colour(pivot, pivot), 0);
            for vertex in [0, 1, 2, 1000, 1 << 31, u32::MAX - 1] {
                assert_eq!(vertex_of(colour(vertex, pivot), pivot), vertex);
            }
            let mut least = u32::MAX;
            let minima = (1..1 << 20).filter(|&place| {
                let found = colour(place ^ pivot, pivot);
                least = least.min(found);
                found == least
            });
            assert!(minima.count() < 40);
        }
    }
}
