//! Extended programs: edges have state, which is rewritten while they stream.
//!
//! As in route `fold`, a worker takes a stripe, folds what its edges tell into its own accumulators
//! and applies them while they are in the cache; beside the edges their states come by
//! ([`crate::columns::edge_states`]). Signals have two columns that swap roles, so all edges see
//! what was said in the iteration before, and the order of stripes makes no difference. Values and
//! signals are in memory; where they do not fit, [`ranges`] and [`spill`] have them on storage.
//!
//! A destination meets updates in the order of their sources and totals are merged by segments, as
//! in route `fold`: results are the same bits for any threads, widths, encodings and routes.

mod ranges;
mod resume;
mod spill;
mod told;

use std::sync::Mutex;

use bytemuck::{bytes_of, cast_slice};
use welter_model::extended::Extended;
use welter_model::program::{Next, Total, Vertex};
use welter_progress::{Phase, Progress, Unit};

use crate::EngineError;
use crate::checkpoint::{Checkpoints, Column as Kept, Reached};
use crate::columns::edge_states::{EdgeStates, Rewriter, Stored};
use crate::columns::ends::{Ends, Said, renew};
use crate::columns::outcome::Outcome;
use crate::columns::renew::repeated;
use crate::columns::results::Values;
use crate::columns::state::segments;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch};
use crate::machine::affinity::OwnCores;
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::Streamed;
use crate::schedules::limit::check_limit;
use resume::{BY_STRIPE, InMemory, Resume};

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

/// Runs an extended program. Where there are checkpoints, the run begins at the last one, and
/// writes more.
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
    let phase = progress.phase("iterate", Unit::Iterations, program.limit().stated());
    let tools = (workers, progress, &phase);
    let _own_cores = OwnCores::new(workers, graph.is_streamed());
    match graph.plan.streamed() {
        None => fold(graph, program, tools, checkpoints),
        Some(Streamed::Ranges(plan)) => ranges::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Spill(plan)) => spill::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Rows(_)) => {
            let what = "rows of triangles were planned for, and the program has none";
            Err(EngineError::internal(what))
        }
    }
}

/// Runs with values and signals in memory.
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
        None => Reached::begun(bytes_of(&driver.init(&mut state)?)),
    };
    let benches = workers.states(|| Bench::<E>::new(graph))?;
    phase.add(reached.iterations);
    while program.next(reached.iterations, &reached.total()) == Next::Iterate {
        check_limit(program.limit(), graph, reached.iterations)?;
        let fresh = reached.iterations == 0;
        let last = reached.total();
        let total = driver.iterate((&mut state, &mut states, fresh), &last, &benches)?;
        reached.note(bytes_of(&total));
        phase.add(1);
        phase.add_bytes(graph.chunk_bytes());
        resume.write(graph, Kept::Memory(cast_slice(&state.values)), &states, &reached)?;
    }
    drop((benches, states));
    // Results may be written where the states of edges were.
    workers.settle();
    Ok(reached.outcome(Values::resident(state.values)))
}

/// The columns of a run.
struct State<E: Extended> {
    values: Buffer<E::Value>,
    /// Signals that edges see, and those that they will see in the next iteration.
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
        let padded = count + graph.signal_padding().max(1 << graph.layout.stripe_bits);
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
        let mut values = Slices(&mut self.values[..]);
        let mut signals = Slices(&mut next[..]);
        let mut totals = Slices(&mut self.totals[..]);
        let part = |stripe: &'a Stripe| Part {
            stripe,
            values: values.take(stripe.width()),
            signals: signals.take(stripe.width()),
            totals: totals.take(stripe.segments.len()),
        };
        (graph.stripes.iter().map(part).map(Mutex::new).collect(), now)
    }

    /// Columns that a checkpoint is read into.
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

/// A worker's tools.
struct Bench<'g, E: Extended> {
    accums: Buffer<E::Accum>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
}

impl<'g, E: Extended> Bench<'g, E> {
    fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        let accums = Buffer::zeroed(1 << graph.layout.stripe_bits)?;
        Ok(Self { accums, scratch: Scratch::new(), chunks: ReadAhead::new(graph)? })
    }
}

/// Parts that all iterations of a run have in common.
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
            let targets = &signals[target..target + (1 << graph.layout.stripe_bits)];
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

/// Writers of the states of edges, one a worker.
fn rewriters<'s, S: bytemuck::Pod>(
    workers: &Workers,
    stored: &'s Stored,
    fresh: bool,
) -> Result<Vec<Mutex<Rewriter<'s, S>>>, EngineError> {
    workers.states(|| Rewriter::new(stored, fresh))
}
