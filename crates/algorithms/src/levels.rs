//! Breadth-first search by scans of the input: one pass a level, as X-Stream does it.
//!
//! ```text
//! pass d     an edge from a vertex of depth d to one that was not reached yet reaches it
//! begun      edges of the sources, if noted when vertices were, are the first pass
//! kept       edges to vertices that were not reached yet, as soon as there is room for all of them
//! rest       what few edges are left is searched by itself
//! ```
//!
//! Nothing is sorted and no graph is made, which is worth several passes. Graphs in which most
//! vertices are near each other need few: after three or four levels nearly all edges lead to
//! vertices that were reached. Where a search does not spread like that it gives up early, and is
//! done on a graph instead ([`Bfs`](crate::Bfs), whose values these are).
//!
//! A state tells only whether a vertex was reached, and whether its depth is odd: vertices two
//! levels ago are taken for new ones, but all that they lead to was reached since.
//!
//! Source: Roy, Mihailovic and Zwaenepoel, X-Stream (2013).
//!
//! Depths in a graph of four edges, from vertex 0, none of which was sorted:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape, InputScanCost};
//! # use welter_engine::{Graph, Machine, Workers, pass_over};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Levels;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [0, 2], [2, 3]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let input_scan = Some(InputScanCost { always: true, ..InputScanCost::of_stream::<Levels>() });
//! # let layout = Layout { input_scan, ..Layout::of_stream::<Levels>() };
//! # let plan = Plan::new(shape, layout, &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let passed = pass_over(&graph, &Levels::new(vec![0]), &workers, &progress)?;
//! let passed = passed.ok_or("the search gave up")?;
//! let columns = Value::columns(&passed.values.whole()?[..]);
//! assert_eq!(columns, [("depth", ColumnData::I64(vec![0, 1, 1, 2]))]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use welter_model::edges::Pair;
use welter_model::limit::Limit;
use welter_model::program::Vertex;
use welter_model::stream::{Edge, Next, OverInput, StateView, StepStats, Stream};

use crate::bfs::{Depth, Sources, UNREACHED};

/// Kept edges that are searched alone and at once.
const REST: u64 = 1 << 16;
/// Passes over kept edges after which the rest is, however many they are.
const KEPT_PASSES: u32 = 8;
/// A search spreads if each level is at least `SPREADS` times as large as the one before it,
const SPREADS: u64 = 8;
/// or if it has reached one vertex for each `REACHED` edges.
const REACHED: u64 = 1 << 10;
/// Passes over the input that are worth a graph.
const PASSES_MAX: u32 = 6;

/// Passes after which the growth of levels says what will come: at twice, four times as many, and
/// so on, again.
const FORESEES: u32 = 16;
/// A search fills space if its levels grow with the third power of their depth at most, so that all
/// that is reached grows with the fourth: grids of up to four dimensions, roads, meshes. A level is
/// at most `FILLS` times as large as the one at half its depth then.
const FILLS: u64 = 1 << 3;

/// The state of a vertex that was not reached.
const NONE: u8 = 0;

/// The program.
#[derive(Clone, Debug)]
pub struct Levels {
    sources: Sources,
}

impl Levels {
    /// A search from these slots, which need no order.
    pub fn new(sources: Vec<u64>) -> Self {
        Self { sources: Sources::new(sources) }
    }
}

/// State of the search between passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Depth of the vertices whose edges are followed.
    depth: u32,
    /// Vertices of that depth, and of all up to it; sources do not count.
    level: u64,
    reached: u64,
    /// Vertices of the level whose depth was the last power of two.
    half: u64,
    /// Passes over kept edges so far.
    kept: u32,
    /// Whether the rest is searched.
    rest: bool,
}

/// The state of a vertex of this depth.
#[inline(always)]
fn mark(depth: u32) -> u8 {
    1 + (depth % 2) as u8
}

impl Stream for Levels {
    type Value = Depth;
    type VertexState = AtomicU8;
    type Aux = AtomicU32;
    type Step = Step;
    type Total = ();

    fn init(&self, vertex: Vertex) -> (AtomicU8, AtomicU32) {
        let (state, depth) =
            if self.sources.has(vertex.index) { (mark(0), 0) } else { (NONE, UNREACHED) };
        (AtomicU8::new(state), AtomicU32::new(depth))
    }

    fn first(&self) -> Next<Step> {
        Next::Pass(Step::default())
    }

    fn next(&self, step: Step, stats: &StepStats<()>) -> Next<Step> {
        if step.rest || stats.changes == 0 {
            return Next::Stop;
        }
        let next = Step {
            depth: step.depth + 1,
            level: stats.changes,
            reached: step.reached + stats.changes,
            half: if (step.depth + 1).is_power_of_two() { stats.changes } else { step.half },
            kept: step.kept + u32::from(stats.retained.is_some()),
            rest: false,
        };
        match stats.retained {
            Some(edges) if edges <= REST || next.kept > KEPT_PASSES => {
                Next::FinishInMemory(Step { rest: true, ..next })
            }
            _ => Next::Pass(next),
        }
    }

    /// A pass that reaches no vertex is the last one.
    fn limit(&self) -> Limit {
        let invariant = "each pass but the last reaches a vertex that was not reached";
        Limit::Proved { most: |vertices| vertices + 1, invariant }
    }

    #[inline(always)]
    fn is_candidate(&self, step: Step, source: &AtomicU8, target: &AtomicU8) -> bool {
        let [source, target] = [source, target].map(|state| state.load(Ordering::Relaxed));
        (step.rest || source == mark(step.depth)) && target == NONE
    }

    #[inline(always)]
    fn edge(&self, step: Step, view: StateView<'_, Self>, edge: Edge) -> bool {
        reach(view, edge.target, step.depth + 1)
    }

    fn finalize(&self, _: Step, _: StateView<'_, Self>, _: u32) {}

    /// Level by level, from the vertices that were reached last.
    fn finish_in_memory(&self, view: StateView<'_, Self>, mut edges: Vec<Pair>) {
        edges.sort_unstable();
        let depth = |slot: u32| view.aux[slot as usize].load(Ordering::Relaxed);
        let sources = edges.chunk_by(|one, other| one[0] == other[0]).map(|row| row[0][0]);
        let reached = sources.filter(|slot| depth(*slot) != UNREACHED);
        let mut level: Vec<u32> = reached.collect();
        while !level.is_empty() {
            let mut next = Vec::new();
            for source in level {
                let first = edges.partition_point(|edge| edge[0] < source);
                let row = edges[first..].iter().take_while(|edge| edge[0] == source);
                let below = depth(source) + 1;
                next.extend(row.map(|edge| edge[1]).filter(|slot| reach(view, *slot, below)));
            }
            level = next;
        }
    }

    fn value(&self, view: StateView<'_, Self>, slot: u32) -> Depth {
        Depth::of(view.aux[slot as usize].load(Ordering::Relaxed))
    }
}

/// Reaches a vertex, unless it was.
#[inline(always)]
fn reach(view: StateView<'_, Levels>, slot: u32, depth: u32) -> bool {
    let (state, relaxed) = (&view.states[slot as usize], Ordering::Relaxed);
    let new = state.compare_exchange(NONE, mark(depth), relaxed, relaxed).is_ok();
    if new {
        view.aux[slot as usize].store(depth, relaxed);
    }
    new
}

impl OverInput for Levels {
    const RETAINS: bool = true;
    const BITS: bool = true;

    fn begins(&self) -> Option<&[u64]> {
        Some(self.sources.slots())
    }

    fn numbered(&self, depth: Depth, _: impl Fn(u32) -> u32) -> Depth {
        depth
    }

    #[inline(always)]
    fn later(&self, step: Step, source: &AtomicU8, target: &AtomicU8) -> bool {
        let [source, target] = [source, target].map(|state| state.load(Ordering::Relaxed));
        source != mark(step.depth) && target == NONE
    }

    #[inline(always)]
    fn bits(&self, step: Step, state: &AtomicU8) -> [bool; 2] {
        let state = state.load(Ordering::Relaxed);
        [step.rest || state == mark(step.depth), state == NONE]
    }

    fn should_fall_back(&self, step: Step, stats: &StepStats<()>) -> bool {
        let Step { depth, level, reached, rest, .. } = step;
        if rest || stats.changes == 0 || stats.retained.is_some() {
            return false;
        }
        let spreads = depth < 2
            || stats.changes >= SPREADS * level
            || (reached + stats.changes) * REACHED >= stats.looked;
        !spreads || depth + 1 >= PASSES_MAX
    }

    /// Passes until all vertices would be reached, of a search that fills space and continues
    /// growing: at no less than it did so far.
    fn foreseen(&self, step: Step, stats: &StepStats<()>, vertices: u64) -> u64 {
        let passes = step.depth + 1;
        let grows = step.half < stats.changes && stats.changes <= FILLS * step.half;
        if passes < FORESEES || !passes.is_power_of_two() || !grows {
            return 0;
        }
        let share = vertices as f64 / (step.reached + stats.changes) as f64;
        (f64::from(passes) * share.sqrt().sqrt()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The passes after which a search is foreseen to take more than 64, if any is, and how many
    /// these are. `level`: vertices of each depth.
    fn foreseen(vertices: u64, level: impl Fn(u32) -> u64) -> Option<(u32, u64)> {
        let program = Levels::new(vec![0]);
        let mut step = Step::default();
        loop {
            let stats = StepStats { changes: level(step.depth + 1), ..StepStats::default() };
            let passes = program.foreseen(step, &stats, vertices);
            if passes > 64 {
                return Some((step.depth + 1, passes));
            }
            let Next::Pass(next) = program.next(step, &stats) else { return None };
            step = next;
        }
    }

    #[test]
    fn searches_that_fill_space_are_foreseen_to_take_long() {
        // From a corner and from the middle of a grid, and of a cube.
        assert_eq!(foreseen(1 << 20, |depth| u64::from(depth) + 1), Some((16, 145)));
        assert_eq!(foreseen(1 << 22, |depth| 4 * u64::from(depth)), Some((16, 149)));
        let cube = |depth: u32| 4 * u64::from(depth).pow(2) + 2;
        assert_eq!(foreseen(1 << 30, cube).map(|(passes, _)| passes), Some(16));
        // Little is left, or it is not known until later.
        let small = |depth: u32| if depth < 60 { u64::from(depth) + 1 } else { 0 };
        assert_eq!(foreseen(1800, small), None);
        assert_eq!(foreseen(30_000, |depth| u64::from(depth) + 1).map(|it| it.0), Some(32));
    }

    #[test]
    fn of_other_searches_nothing_is_foreseen() {
        let ends = |depth: u32, level: u64| if depth < 60 { level } else { 0 };
        // A path, a search that dies down, and one that explodes late.
        assert_eq!(foreseen(1 << 20, |depth| ends(depth, 1)), None);
        assert_eq!(foreseen(1 << 20, |depth| ends(depth, 600 - 10 * u64::from(depth))), None);
        let late =
            |depth: u32| ends(depth, if depth < 9 { 1 } else { 3_u64.pow(depth.min(20) - 8) });
        assert_eq!(foreseen(1 << 30, late), None);
    }
}
