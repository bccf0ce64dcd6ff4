//! The iteration driver, route `fold`: scatter, gather and apply in one pass over the chunks.
//!
//! Each iteration is *dense* or *sparse*. In a dense one a worker takes a stripe, folds all its
//! edges into its own accumulators, and applies them while they are in the cache; values change in
//! place, and signals have two columns that swap roles, because other stripes still read what this
//! one said last. A monotone program whose active vertices have few edges gets sparse iterations,
//! which touch only what is reached: by bands ([`crate::sparse`]) or, where there are rows, by
//! these ([`crate::push`]). Where one update is enough for a vertex and there are rows of its
//! sources, vertices look for it themselves instead of a dense iteration ([`crate::pull`]).

use std::sync::Mutex;

use welter_model::program::{Applied, Next, Program, Total, Vertex};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::arena::Buffer;
use crate::dispatch::dispatched;
use crate::frontier::{Frontier, Masks, Selected};
use crate::graph::{Graph, Stripe};
use crate::index::IndexedTiles;
use crate::kernel::{Coding, Scratch, Sources, fold_tile};
use crate::plan::FrontierMode;
use crate::pull;
use crate::push;
use crate::rows::Rows;
use crate::sparse;
use crate::state::{Part, Parts, State, segments};
use crate::workers::{Workers, lock};

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome<V, T> {
    /// Values of all vertices, in the order of the graph's vertex column.
    pub values: Buffer<V>,
    /// Iterations that were done.
    pub iterations: u64,
    /// Totals of the last iteration (of `init` when there was none).
    pub total: T,
    /// What was done in each iteration of a program with a frontier; empty for others.
    pub levels: Vec<Level>,
}

/// How an iteration found its edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All stripes were folded; tiles without an active source were skipped.
    Dense,
    /// Vertices that an update could change looked among their neighbours for one that is active.
    Pull,
    /// Only the bands of active sources were read, and only what they reached was applied.
    Sparse,
}

/// An iteration of a program with a frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// How edges were found.
    pub mode: Mode,
    /// Vertices that scattered.
    pub active: u64,
    /// Edges that were looked at.
    pub edges: u64,
}

/// Runs a program on a graph.
///
/// # Errors
/// When the program has a frontier and the graph has no index that serves it, when memory runs out,
/// a chunk is damaged, or the run is cancelled.
pub fn run<P: Program>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let phase = progress.phase("iterate", Unit::Iterations, program.iterations_max());
    let by_rows = P::MONOTONE && graph.out_rows.get().is_some();
    if P::FRONTIER && graph.index.is_none() && !by_rows {
        let what = "the graph was ingested for programs that need no index of bands";
        return Err(EngineError::Configuration(what.to_owned()));
    }
    let index = graph.index.as_ref().filter(|_| P::FRONTIER);
    let tiles = index.map(|index| IndexedTiles::new::<P>(graph, index)).transpose()?;
    let scratches = workers.states(|| Ok(Scratch::new()))?;
    let driver = Driver { graph, program, workers, progress, tiles, scratches };
    let mut state = State::<P>::new(graph)?;
    let mut total = driver.init(&mut state)?;
    let mut frontier = Frontier::new(state.active_count);
    // Accumulators of a stripe: a search by rows never needs them.
    let mut benches = Vec::new();
    let mut levels = Vec::new();
    let mut lookups = Lookups::new::<P>(graph);
    let mut iterations = 0;
    while program.next(iterations, &total) == Next::Iterate && state.active_count > 0 {
        if progress.cancelled() {
            return Err(EngineError::Cancelled);
        }
        let level;
        let selected = frontier.select(graph, program, &mut state, lookups.edges_most());
        if selected.is_none() && lookups.out_rows.is_some() {
            frontier.show(program, &mut state);
        }
        (total, level) = match (selected, lookups.out_rows, &driver.tiles) {
            (Some(selected), Some(rows), _) => {
                push::iterate(&driver, rows.view(), &mut state, &mut frontier, &selected, &total)?
            }
            (Some(selected), None, Some(tiles)) => {
                lookups.count(&selected, workers, progress)?;
                sparse::iterate(&driver, tiles, &mut state, &mut frontier, &selected, &total)?
            }
            _ => {
                if let Some(rows) = lookups.in_rows {
                    pull::iterate(&driver, rows.view(), &mut state, &mut frontier, &total)?
                } else {
                    if benches.is_empty() {
                        benches = workers.states(|| Bench::<P>::new(graph))?;
                    }
                    let done = driver.dense(&mut state, &total, &benches)?;
                    frontier.scattered_all(state.active_count);
                    done
                }
            }
        };
        if P::FRONTIER {
            levels.push(level);
        }
        iterations += 1;
        phase.add(1);
        phase.add_bytes(if P::FRONTIER { level.edges * 4 } else { graph.chunk_bytes() });
    }
    Ok(Outcome { values: state.values, iterations, total, levels })
}

/// How a run looks up the edges of single vertices.
struct Lookups<'g> {
    graph: &'g Graph,
    out_rows: Option<&'g Rows>,
    /// Where vertices may look for one that is active.
    in_rows: Option<&'g Rows>,
    /// Vertices that were looked up in the index of bands.
    banded: u64,
}

impl<'g> Lookups<'g> {
    fn new<P: Program>(graph: &'g Graph) -> Self {
        let out_rows = graph.out_rows.get().filter(|_| P::MONOTONE);
        let may_pull = P::ONE_IS_ENOUGH && graph.plan.frontier_mode != FrontierMode::Dense;
        let in_rows = if graph.symmetric { out_rows } else { graph.in_rows.as_ref() };
        let in_rows = in_rows.filter(|_| may_pull);
        Self { graph, out_rows, in_rows, banded: 0 }
    }

    /// With more edges than this, active vertices are not looked up.
    fn edges_most(&self) -> u64 {
        self.graph.edges()
            / match (self.out_rows, self.in_rows) {
                (None, _) => BANDS_BELOW,
                (Some(_), None) => PUSH_BELOW,
                (Some(_), Some(_)) => PULL_ABOVE,
            }
    }

    /// Counts vertices that are looked up in the index of bands, and makes rows when by now they
    /// would have paid: whatever comes, that costs at most about twice what the best choice would
    /// have cost.
    fn count(
        &mut self,
        selected: &Selected,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        self.banded += selected.vertices.len() as u64;
        if graph.plan.rows && self.banded > graph.edges() / ROWS_PAY_AT {
            self.out_rows = Some(graph.lay_out_rows(workers, progress)?);
        }
        Ok(())
    }
}

/// An iteration looks vertices up in the index of bands when they have fewer than one in so many of
/// all edges: finding the edges of one costs as much as folding some tens of them in passing.
const BANDS_BELOW: u64 = 24;
/// The same by rows.
pub(crate) const PUSH_BELOW: u64 = 16;
/// The same where vertices may look for an active one instead.
const PULL_ABOVE: u64 = 20;
/// To look up a vertex in the index of bands costs about as much as to lay so many edges in rows.
const ROWS_PAY_AT: u64 = 32;

/// Accumulators and buffers of one worker.
struct Bench<P: Program> {
    accums: Buffer<P::Accum>,
    scratch: Scratch,
    /// Edges that were looked at.
    edges: u64,
}

impl<P: Program> Bench<P> {
    fn new(graph: &Graph) -> Result<Self, EngineError> {
        let accums = Buffer::zeroed(1 << graph.plan().stripe_bits)?;
        Ok(Self { accums, scratch: Scratch::new(), edges: 0 })
    }
}

/// What all iterations of a run have in common.
pub(crate) struct Driver<'a, P> {
    pub(crate) graph: &'a Graph,
    pub(crate) program: &'a P,
    pub(crate) workers: &'a Workers,
    pub(crate) progress: &'a Progress,
    tiles: Option<IndexedTiles<'a>>,
    /// One a worker, for iterations that are not dense.
    pub(crate) scratches: Vec<Mutex<Scratch>>,
}

impl<P: Program> Driver<'_, P> {
    /// Sets values, signals and totals of all vertices.
    fn init(&self, state: &mut State<P>) -> Result<P::Total, EngineError> {
        let Self { graph, program, workers, progress, .. } = *self;
        let Parts { stripes: parts, .. } = state.parts(graph);
        workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
            let mut part = lock(&parts[task]);
            dispatched(
                #[inline(always)]
                || init_part(graph, program, &mut part),
            );
            Ok(())
        })?;
        let active_count = parts.iter().map(|part| lock(part).active_count).sum();
        drop(parts);
        state.active_count = active_count;
        Ok(state.close())
    }

    fn dense(
        &self,
        state: &mut State<P>,
        last: &P::Total,
        benches: &[Mutex<Bench<P>>],
    ) -> Result<(P::Total, Level), EngineError> {
        let Self { graph, program, workers, progress, .. } = *self;
        let order = state.order.clone();
        let scattering = state.active_count;
        let Parts { stripes: parts, signals, active } = state.parts(graph);
        let masks = (self.tiles.is_some() && scattering < graph.vertices())
            .then(|| Masks::of_flags(graph, active));
        // An update of an inactive vertex does no harm in a monotone program, and a branch at every
        // edge would.
        let active = (masks.is_some() && !P::MONOTONE).then_some(active);
        workers.tasks(parts.len(), progress, benches, |bench, task| {
            let number = order[task];
            let mut part = lock(&parts[number]);
            let width = part.stripe.width();
            bench.accums[..width].fill(program.identity());
            match (&masks, &self.tiles) {
                (Some(masks), Some(tiles)) => {
                    self.fold_active(tiles, number, masks, signals, active, bench);
                }
                _ => fold_stripe(graph, program, part.stripe, signals, bench)?,
            }
            dispatched(
                #[inline(always)]
                || apply_part(graph, program, last, &bench.accums, &mut part),
            );
            Ok(())
        })?;
        let active_count = parts.iter().map(|part| lock(part).active_count).sum();
        drop(parts);
        state.active_count = active_count;
        let edges = benches.iter().map(|bench| std::mem::take(&mut lock(bench).edges)).sum();
        Ok((state.close(), Level { mode: Mode::Dense, active: scattering, edges }))
    }

    /// Folds the edges of active bands of a stripe into a worker's accumulators.
    fn fold_active(
        &self,
        tiles: &IndexedTiles<'_>,
        stripe: usize,
        masks: &Masks,
        signals: &[P::Signal],
        active: Option<&[u8]>,
        bench: &mut Bench<P>,
    ) {
        let graph = self.graph;
        let reach = graph.signal_padding();
        for indexed in tiles.of_stripe(stripe) {
            let source = indexed.tile.source as usize;
            let coding = indexed.coding(graph);
            let sources = source..source + reach;
            let sources = Sources {
                signals: &signals[sources.clone()],
                active: active.map(|active| &active[sources]),
            };
            for bands in masks.runs(source >> graph.plan.block_bits, coding.encoding) {
                let edges = indexed.edges(bands);
                bench.edges += edges.len() as u64;
                let Bench { accums, scratch, .. } = bench;
                fold_tile(self.program, &indexed.tile, edges, coding, sources, accums, scratch);
            }
        }
    }
}

/// Folds all edges of a stripe into a worker's accumulators.
fn fold_stripe<P: Program>(
    graph: &Graph,
    program: &P,
    stripe: &Stripe,
    signals: &[P::Signal],
    bench: &mut Bench<P>,
) -> Result<(), EngineError> {
    for place in &stripe.chunks {
        let chunk = graph.open(stripe, place)?;
        let reach = chunk.block_width() as usize;
        let coding = Coding::of::<P>(chunk.label());
        for tile in chunk.tiles() {
            let sources = tile.source as usize..tile.source as usize + reach;
            let sources = Sources { signals: &signals[sources], active: None };
            let Bench { accums, scratch, .. } = bench;
            fold_tile(program, &tile, 0..tile.edges, coding, sources, accums, scratch);
        }
        bench.edges += chunk.edges();
    }
    Ok(())
}

#[inline(always)]
fn init_part<P: Program>(graph: &Graph, program: &P, part: &mut Part<'_, P>) {
    let base = part.stripe.vertices.start;
    let degrees = &graph.degrees[base as usize..];
    renew(graph, program, part, |place, _| {
        let index = base + place as u64;
        program.init(Vertex { index, out_degree: degrees[place].into() })
    });
}

#[inline(always)]
fn apply_part<P: Program>(
    graph: &Graph,
    program: &P,
    last: &P::Total,
    accums: &[P::Accum],
    part: &mut Part<'_, P>,
) {
    renew(graph, program, part, |place, value| program.apply(value, accums[place], last));
}

/// Sets the values of a stripe's vertices to what `applied` makes of their places and values, and
/// all that follows from them.
#[inline(always)]
fn renew<P: Program>(
    graph: &Graph,
    program: &P,
    part: &mut Part<'_, P>,
    applied: impl Fn(usize, P::Value) -> Applied<P::Value, P::Total>,
) {
    let mut count = 0;
    for (segment, total) in segments(graph, part.stripe).zip(&mut *part.totals) {
        let mut sum = P::Total::default();
        let mut one = |place, value: &mut P::Value, signal: &mut P::Signal| {
            let applied = applied(place, *value);
            *value = applied.value;
            *signal = program.signal(&applied.value);
            sum = sum.merge(applied.total);
            applied.active
        };
        let values = &mut part.values[segment.clone()];
        let signals = &mut part.signals[segment.clone()];
        let columns = segment.clone().zip(values).zip(signals);
        if P::FRONTIER {
            for (((place, value), signal), flag) in columns.zip(&mut part.active[segment]) {
                let active = one(place, value, signal);
                *flag = active.into();
                count += u64::from(active);
            }
        } else {
            for ((place, value), signal) in columns {
                one(place, value, signal);
            }
        }
        *total = sum;
    }
    if P::FRONTIER {
        part.active_count = count;
    }
}
