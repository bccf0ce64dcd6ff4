//! Extended programs: edges have state, which is rewritten while they stream.
//!
//! As in route `fold`, a worker takes a stripe, folds what its edges tell into its own accumulators
//! and applies them while they are in the cache; beside the edges their states come by
//! ([`crate::columns::edge_states`]). Signals have two columns that swap roles, so all edges see what was
//! said in the iteration before, and the order of stripes makes no difference. Values and signals
//! are in memory; where they do not fit, [`ranges`] and [`spill`] have them on storage.
//!
//! A destination meets updates in the order of their sources and totals are merged by segments, as
//! in route `fold`: results are the same bits for any threads, widths, encodings and routes.

mod ranges;
mod resume;
mod spill;
mod told;

use std::ops::Range;
use std::sync::Mutex;

use welter_model::extended::Extended;
use welter_model::program::{Next, Total, Vertex};
use welter_model::stream::Edge;
use welter_progress::{Phase, Progress, Unit};
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::checkpoint::{Checkpoints, Column as Kept, Reached};
use crate::columns::edge_states::{EdgeStates, Rewriter, Stored};
use crate::columns::renew::repeated;
use crate::columns::results::Values;
use crate::columns::state::{Column, segments};
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch, fetch};
use crate::kernels::keys::{Keys, Reach, Width};
use crate::machine::affinity::OwnCores;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::workers::{Workers, lock};
use crate::plan::Streamed;
use crate::schedules::iterate::Outcome;
use resume::{BY_STRIPE, InMemory, Resume};

/// Edges between one whose source is asked of memory and the one that is shown.
const AHEAD: usize = 16;

/// Runs an extended program on a graph.
///
/// # Errors
/// When the program needs the reverse of each edge and the graph was not read as undirected, when
/// memory runs out, storage fails, a chunk is damaged, or the run is cancelled.
pub fn extend<E: Extended>(
    graph: &Graph,
    program: &E,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    extend_resumable(graph, program, workers, progress, None)
}

/// The same. Where there are checkpoints, the run goes on from the last one, and writes more.
///
/// # Errors
/// As [`extend`]; also when a checkpoint cannot be written or read, or belongs to another graph,
/// program or plan.
pub fn extend_resumable<E: Extended>(
    graph: &Graph,
    program: &E,
    workers: &Workers,
    progress: &Progress,
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    if E::SYMMETRIC && !graph.symmetric {
        let what = "the program needs the reverse of each edge, and the graph was not read as \
                    undirected";
        return Err(EngineError::Configuration(what.to_owned()));
    }
    if checkpoints.is_some() {
        // They may be where bins were.
        workers.settle();
    }
    let phase = progress.phase("iterate", Unit::Iterations, program.iterations_max());
    let tools = (workers, progress, &phase);
    let _own_cores = OwnCores::of(workers, graph);
    match graph.plan.storage.and_then(|storage| storage.streamed) {
        None => fold(graph, program, tools, checkpoints),
        Some(Streamed::Ranges(plan)) => ranges::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Spill(plan)) => spill::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Rows(_)) => {
            let what = "rows of triangles were planned for, and the program has none";
            Err(EngineError::Configuration(what.to_owned()))
        }
    }
}

/// The same with values and signals in memory.
fn fold<E: Extended>(
    graph: &Graph,
    program: &E,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    let lanes: Vec<u64> = graph.stripes.iter().map(|stripe| stripe.edges).collect();
    let mut states = EdgeStates::new(graph, &lanes, workers)?;
    let mut state = State::new(graph)?;
    let driver = Driver { graph, program, workers, progress };
    let resume = Resume::new::<E>(checkpoints, graph, &lanes, BY_STRIPE)?;
    let mut reached = match resume.restore(graph, state.settable(&driver, &mut states))? {
        Some(reached) => reached,
        None => Reached { totals: vec![driver.init(&mut state)?], ..Reached::default() },
    };
    let benches = workers.states(|| Bench::<E>::new(graph))?;
    phase.add(reached.iterations);
    while program.next(reached.iterations, &reached.total()) == Next::Iterate {
        let fresh = reached.iterations == 0;
        let last = reached.total();
        let total = driver.iterate((&mut state, &mut states, fresh), &last, &benches)?;
        reached.totals.push(total);
        reached.iterations += 1;
        phase.add(1);
        phase.add_bytes(graph.chunk_bytes());
        resume.write(graph, Kept::Memory(&state.values), &states, &reached)?;
    }
    drop((benches, states));
    // Results may be written where the states of edges were.
    workers.settle();
    Ok(reached.outcome(Values::resident(state.values)))
}

/// The columns of a run.
struct State<E: Extended> {
    values: Buffer<E::Value>,
    /// What edges see, and what they will see in the next iteration.
    signals: [Buffer<E::Signal>; 2],
    /// By segment.
    totals: Vec<E::Total>,
    /// Stripes by falling number of edges, so that the longest do not come last.
    order: Vec<usize>,
}

impl<E: Extended> State<E> {
    fn new(graph: &Graph) -> Result<Self, EngineError> {
        let count = graph.vertices() as usize;
        // A damaged key names some place of the signals and none outside them.
        let padded = count + graph.signal_padding().max(1 << graph.plan.stripe_bits);
        let arena = &graph.arena;
        let mut order: Vec<usize> = (0..graph.stripes.len()).collect();
        order.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
        let state = Self {
            values: Buffer::used(count, arena)?,
            signals: [Buffer::used(padded, arena)?, Buffer::used(padded, arena)?],
            totals: vec![E::Total::default(); graph.vertices.segments()],
            order,
        };
        arena.drop_columns();
        Ok(state)
    }

    /// The parts of the columns that stripes own, and the signals that edges see.
    fn parts<'a>(&'a mut self, graph: &'a Graph) -> (Vec<Mutex<Part<'a, E>>>, &'a [E::Signal]) {
        let [now, next] = &mut self.signals;
        let mut values = Column(&mut self.values[..]);
        let mut signals = Column(&mut next[..]);
        let mut totals = Column(&mut self.totals[..]);
        let part = |stripe: &'a Stripe| Part {
            stripe,
            values: values.take(stripe.width()),
            signals: signals.take(stripe.width()),
            totals: totals.take(stripe.segments.len()),
        };
        (graph.stripes.iter().map(part).map(Mutex::new).collect(), now)
    }

    /// What a checkpoint is read into.
    fn settable<'a>(
        &'a mut self,
        driver: &Driver<'a, E>,
        states: &'a mut EdgeStates<E::State>,
    ) -> InMemory<'a, E> {
        let (values, [signals, _]) = (&mut self.values[..], &mut self.signals);
        let Driver { graph, program, .. } = *driver;
        InMemory { program, stripes: &graph.stripes, values, signals, states }
    }

    /// Ends an iteration: what was written is what is read next.
    fn close(&mut self) -> E::Total {
        self.signals.swap(0, 1);
        self.totals.iter().fold(E::Total::default(), |sum, total| sum.merge(*total))
    }
}

/// The part of the columns that belongs to one stripe.
struct Part<'a, E: Extended> {
    stripe: &'a Stripe,
    values: &'a mut [E::Value],
    signals: &'a mut [E::Signal],
    totals: &'a mut [E::Total],
}

impl<E: Extended> Part<'_, E> {
    /// Sets the values of all vertices to what `applied` makes of their places and values, and
    /// signals and totals with them.
    fn renew(
        &mut self,
        graph: &Graph,
        program: &E,
        applied: impl Fn(usize, E::Value) -> (E::Value, E::Total),
    ) {
        let first = self.stripe.vertices.start;
        for (segment, total) in segments(graph, self.stripe).zip(&mut *self.totals) {
            let vertices = first + segment.start as u64..first + segment.end as u64;
            let (start, columns) = (segment.start, segment.clone());
            let (values, signals) = (&mut self.values[columns], &mut self.signals[segment]);
            let applied = |place, value| applied(start + place, value);
            let [sum, last] = renew(program, values, signals, applied);
            *total = sum.merge(repeated(last, graph.alike(&vertices) - 1));
        }
    }
}

/// Sets the values of some vertices to what `applied` makes of their places and values, and signals
/// with them. The total of all, and that of the last one.
#[inline(always)]
pub(crate) fn renew<E: Extended>(
    program: &E,
    values: &mut [E::Value],
    signals: &mut [E::Signal],
    applied: impl Fn(usize, E::Value) -> (E::Value, E::Total),
) -> [E::Total; 2] {
    let (mut sum, mut last) = (E::Total::default(), E::Total::default());
    for (place, (value, signal)) in values.iter_mut().zip(signals).enumerate() {
        (*value, last) = applied(place, *value);
        *signal = program.signal(value);
        sum = sum.merge(last);
    }
    [sum, last]
}

/// What a worker has.
struct Bench<'g, E: Extended> {
    accums: Buffer<E::Accum>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
}

impl<'g, E: Extended> Bench<'g, E> {
    fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        let accums = Buffer::zeroed(1 << graph.plan.stripe_bits)?;
        Ok(Self { accums, scratch: Scratch::new(), chunks: ReadAhead::new(graph)? })
    }
}

/// What all iterations of a run have in common.
struct Driver<'a, E> {
    graph: &'a Graph,
    program: &'a E,
    workers: &'a Workers,
    progress: &'a Progress,
}

impl<E: Extended> Driver<'_, E> {
    fn init(&self, state: &mut State<E>) -> Result<E::Total, EngineError> {
        let Self { graph, program, workers, progress } = *self;
        let (parts, _) = state.parts(graph);
        let idle = workers.states(|| Ok(()))?;
        workers.tasks(parts.len(), progress, &idle, |(), task| {
            let mut part = lock(&parts[task]);
            let first = part.stripe.vertices.start;
            part.renew(graph, program, |place, _| {
                let index = first + place as u64;
                program.init(Vertex { index, out_degree: graph.degrees[index as usize].into() })
            });
            Ok(())
        })?;
        drop(parts);
        Ok(state.close())
    }

    /// An iteration; `fresh`: the first one.
    fn iterate(
        &self,
        (state, states, fresh): (&mut State<E>, &mut EdgeStates<E::State>, bool),
        last: &E::Total,
        benches: &[Mutex<Bench<'_, E>>],
    ) -> Result<E::Total, EngineError> {
        let Self { graph, program, workers, progress } = *self;
        let order = state.order.clone();
        let (parts, signals) = state.parts(graph);
        let (resident, stored) = states.parts();
        let resident: Vec<_> = resident.into_iter().map(Mutex::new).collect();
        let rewriters = rewriters::<E::State>(workers, stored, fresh)?;
        let tools: Vec<_> = benches.iter().zip(&rewriters).map(Mutex::new).collect();
        workers.tasks_ahead(order.len(), progress, &tools, |(bench, rewriter), task, next| {
            let (bench, rewriter) = (&mut *lock(bench), &mut *lock(rewriter));
            let at = (order[task], next.map(|task| order[task]));
            let states = &mut **lock(&resident[at.0]);
            self.stripe(at, signals, (states, rewriter), bench)?;
            let accums = &bench.accums;
            let apply = |place: usize, value| program.apply(value, accums[place], last);
            lock(&parts[at.0]).renew(graph, program, apply);
            Ok(())
        })?;
        drop(tools);
        rewriters.iter().try_for_each(|rewriter| lock(rewriter).finish())?;
        drop(parts);
        Ok(state.close())
    }

    /// Folds what the edges of a stripe tell into a worker's accumulators. `at`: the stripe, and
    /// the one that the worker will take then.
    fn stripe(
        &self,
        at: (usize, Option<usize>),
        signals: &[E::Signal],
        (resident, rewriter): (&mut [E::State], &mut Rewriter<'_, E::State>),
        bench: &mut Bench<'_, E>,
    ) -> Result<(), EngineError> {
        let Self { graph, program, .. } = *self;
        let Bench { accums, scratch, chunks } = bench;
        accums.fill(program.identity());
        rewriter.begin(at.0, at.1)?;
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        chunks.stripe(at, all, |stripe, chunk| {
            let target = stripe.vertices.start as usize;
            let targets = &signals[target..target + (1 << graph.plan.stripe_bits)];
            let coding = Coding::weighted(chunk.label(), E::WEIGHTED);
            for tile in chunk.tiles() {
                let source = tile.source as usize;
                let said = Said::Sources(&signals[source..source + chunk.block_width() as usize]);
                let ends = Ends { program, base: [source, target], said, targets };
                ends.tile(&tile, coding, (resident, rewriter), accums, scratch)?;
            }
            Ok(())
        })?;
        rewriter.end(resident.len())
    }
}

/// What each worker changes states with.
fn rewriters<'s, S: bytemuck::Pod>(
    workers: &Workers,
    stored: &'s Stored,
    fresh: bool,
) -> Result<Vec<Mutex<Rewriter<'s, S>>>, EngineError> {
    workers.states(|| Rewriter::new(stored, fresh))
}

/// What the sources of edges say.
#[derive(Clone, Copy)]
pub(crate) enum Said<'a, S> {
    /// What each source says, from the first one of a tile on.
    Sources(&'a [S]),
    /// What the source of each edge says, of some edges of a tile.
    Edges(&'a [S]),
}

impl<S> Said<'_, S> {
    /// That of some of the edges.
    fn part(self, edges: Range<usize>) -> Self {
        match self {
            Self::Sources(_) => self,
            Self::Edges(said) => Self::Edges(&said[edges]),
        }
    }
}

/// What the ends of a tile's edges say.
pub(crate) struct Ends<'a, E: Extended> {
    pub(crate) program: &'a E,
    /// The numbers of the first source and of the first target.
    pub(crate) base: [usize; 2],
    pub(crate) said: Said<'a, E::Signal>,
    pub(crate) targets: &'a [E::Signal],
}

impl<E: Extended> Ends<'_, E> {
    /// Shows the edges of a tile, with their states.
    fn tile(
        &self,
        tile: &Tile<'_>,
        coding: Coding,
        (resident, rewriter): (&mut [E::State], &mut Rewriter<'_, E::State>),
        accums: &mut [E::Accum],
        scratch: &mut Scratch,
    ) -> Result<(), EngineError> {
        let mut done = Ok(());
        coding.keys(tile, 0..tile.edges, scratch, |keys, weights| {
            if done.is_ok() {
                let keys = Width.hold(keys, coding.target_bits);
                done = self.fold((keys, weights), (&mut *resident, &mut *rewriter), accums);
            }
        });
        done
    }

    /// Shows some edges of a tile, with the states that come next.
    fn fold(
        &self,
        (keys, weights): (Keys<'_>, Option<&[f64]>),
        (resident, rewriter): (&mut [E::State], &mut Rewriter<'_, E::State>),
        accums: &mut [E::Accum],
    ) -> Result<(), EngineError> {
        let program = self.program;
        let (accums, count) = (&mut accums[..keys.targets()], keys.keys().len());
        let mut shown = 0;
        while shown < count {
            let states = rewriter.next(resident, count - shown)?;
            let run = shown..shown + states.len();
            shown = run.end;
            let weights = weights.map(|weights| &weights[run.clone()]);
            let ends = Self { said: self.said.part(run.clone()), ..*self };
            ends.run(
                keys.part(run),
                weights,
                states,
                #[inline(always)]
                |target, update| accums[target] = program.gather(accums[target], update),
            );
        }
        Ok(())
    }

    /// Shows edges with as many states, and hands what they tell their targets to `tell`.
    pub(crate) fn run(
        &self,
        keys: Keys<'_>,
        weights: Option<&[f64]>,
        states: &mut [E::State],
        tell: impl FnMut(usize, E::Update),
    ) {
        dispatched(
            #[inline(always)]
            || match weights {
                None => self.said_by(keys, |_| 1.0, states, tell),
                Some(weights) => self.said_by(keys, |edge| weights[edge], states, tell),
            },
        );
    }

    #[inline(always)]
    fn said_by(
        &self,
        keys: Keys<'_>,
        weight: impl Fn(usize) -> f64,
        states: &mut [E::State],
        tell: impl FnMut(usize, E::Update),
    ) {
        let (all, target_bits) = (keys.keys(), keys.target_bits());
        match self.said {
            Said::Sources(sources) => {
                let said = |place: usize, source: usize| {
                    let later = all.get(place + AHEAD).map_or(0, |key| key >> target_bits);
                    fetch(sources, later as usize);
                    &sources[source]
                };
                self.show(keys, weight, said, states, tell);
            }
            Said::Edges(said) => self.show(keys, weight, |place, _| &said[place], states, tell),
        }
    }

    #[inline(always)]
    fn show<'s>(
        &'s self,
        keys: Keys<'_>,
        weight: impl Fn(usize) -> f64,
        said: impl Fn(usize, usize) -> &'s E::Signal,
        states: &mut [E::State],
        mut tell: impl FnMut(usize, E::Update),
    ) {
        let program = self.program;
        let [first_source, first_target] = self.base;
        let (target_bits, mask) = (keys.target_bits(), keys.mask() as usize);
        let (keys, targets) = (keys.keys(), &self.targets[..keys.targets()]);
        for (place, (&key, state)) in keys.iter().zip(states).enumerate() {
            let (source, target) = (key as usize >> target_bits, key as usize & mask);
            let edge = Edge {
                source: (first_source + source) as u32,
                target: (first_target + target) as u32,
                weight: weight(place),
            };
            tell(target, program.edge(edge, said(place, source), &targets[target], state));
        }
    }
}
