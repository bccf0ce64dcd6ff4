//! The iteration driver, route `ranges`: `fold` for states of which not even the signals fit.
//!
//! Values and signals lie on storage. Destinations are taken range by range, as many stripes at a
//! time as have room for their accumulators; for each range the signals of all sources come by,
//! window after window ([`crate::columns::windows`]), and with each window the tiles from its
//! sources to the range are folded. A range that has met all windows is applied, and its new
//! signals are written for the next iteration. So signals are read once a range and written once,
//! where X-Stream writes and reads an update for every edge.
//!
//! In a range each worker has stripes of its own, and walks the windows in order: a destination
//! meets its updates in the order of their sources, as in memory.

mod columns;
mod deal;

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use bytemuck::bytes_of;
use welter_model::program::{Next, Program, Total};
use welter_progress::{Phase, Progress};
use welter_store::ChunkError;
use welter_store::chunk::Chunk;

use self::columns::{Columns, Desks};
pub(crate) use self::deal::{Ranges, deal};
use crate::EngineError;
use crate::checkpoint::{self, Checkpoints, Reached};
use crate::columns::levels::{Level, Mode};
use crate::columns::outcome::Outcome;
use crate::columns::renew::{apply_part, begin_part, init_part, resume_part};
use crate::columns::results::Values;
use crate::columns::state::Part;
use crate::columns::values::Desk;
use crate::columns::windows::{Cuts, Reader, Side, Window};
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch, Sources, fold_short, fold_tile};
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::slices::Slices;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::RangesPlan;
use crate::schedules::frontier::Masks;
use crate::schedules::limit::check_limit;

/// Runs a program on a graph.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(crate) fn run<P: Program>(
    graph: &Graph,
    program: &P,
    plan: RangesPlan,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let Some(storage) = workers.storage() else {
        let what = "the plan keeps signals on storage, and the workers were given none";
        return Err(EngineError::internal(what));
    };
    graph.arena.drop_columns();
    let columns = Columns::new::<P>(graph, storage, checkpoints.is_some())?;
    let kept = (&columns.values, columns.side(0).active);
    let reached = checkpoint::restore_stored::<P>(checkpoints, graph, kept)?;
    let cuts = Cuts::new(graph, plan.window_sources);
    let ranges = deal(graph, workers.threads(), plan.stripes);
    let benches = workers.states(|| Bench::<P>::new(graph, &columns, plan.stripes))?;
    let driver = Driver { graph, program, workers, progress, columns: &columns, ranges, benches };
    let mut reader = Reader::new(graph, &cuts, columns.asked::<P>(0))?;
    let mut state = State::<P>::new(graph);
    let first = driver.init(&mut state, reached.is_some())?;
    let mut reached = reached.unwrap_or_else(|| Reached::begun(bytes_of(&first)));
    phase.add(reached.iterations);
    while program.next(reached.iterations, &reached.total()) == Next::Iterate
        && state.active_count > 0
    {
        if progress.cancelled() {
            return Err(EngineError::Cancelled);
        }
        check_limit(program.limit(), graph, reached.iterations)?;
        let (total, level) = driver.iterate(&mut reader, &mut state, &reached.total())?;
        reached.note(bytes_of(&total));
        if P::FRONTIER {
            level.note(&mut reached.levels);
        }
        phase.add(1);
        phase.add_bytes(if P::FRONTIER { level.edges * 4 } else { graph.chunk_bytes() });
        let due = |all: &&Checkpoints| all.is_due::<P>(reached.iterations, graph);
        if let Some(checkpoints) = checkpoints.filter(due) {
            checkpoint::write::<P>(checkpoints, graph, columns.kept(state.turn), &reached)?;
        }
    }
    drop((driver, reader));
    Ok(reached.outcome(Values::stored(columns.values, graph)))
}

/// State that changes from iteration to iteration.
struct State<P: Program> {
    /// Which side was written last.
    turn: usize,
    /// Which blocks of sources have an active one, in programs with a frontier.
    masks: Masks,
    active_count: u64,
    /// Totals by segment.
    totals: Vec<P::Total>,
}

impl<P: Program> State<P> {
    fn new(graph: &Graph) -> Self {
        Self {
            turn: 0,
            masks: Masks::none(graph),
            active_count: graph.vertices(),
            totals: vec![P::Total::default(); graph.vertices.segments()],
        }
    }
}

/// Tools that one worker has all along.
struct Bench<'g, P: Program> {
    /// Accumulators of the worker's stripes in a range, each at a multiple of the largest width.
    accums: Buffer<P::Accum>,
    flags: Buffer<u8>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
    /// Edges that were looked at.
    edges: u64,
    /// Vertices that are active now.
    active: u64,
    desks: Desks<'g, P>,
}

impl<'g, P: Program> Bench<'g, P> {
    fn new(graph: &'g Graph, columns: &'g Columns, stripes: usize) -> Result<Self, EngineError> {
        let widest = graph.stripes.iter().map(Stripe::width).max().unwrap_or(0);
        Ok(Self {
            accums: Buffer::zeroed(stripes << graph.layout.stripe_bits)?,
            flags: Buffer::in_order(if P::FRONTIER { widest } else { 0 })?,
            scratch: Scratch::new(),
            chunks: ReadAhead::new(graph)?,
            edges: 0,
            active: 0,
            desks: Desks::new(graph, columns)?,
        })
    }
}

/// Totals and masks that workers leave of each stripe.
struct Left<'a, T> {
    totals: Vec<Mutex<&'a mut [T]>>,
    masks: Mutex<Masks>,
}

impl<'a, T> Left<'a, T> {
    fn new(graph: &Graph, totals: &'a mut [T]) -> Self {
        let mut totals = Slices(totals);
        let stripes = graph.stripes.iter();
        let totals = stripes.map(|stripe| Mutex::new(totals.take(stripe.segments.len())));
        Self { totals: totals.collect(), masks: Mutex::new(Masks::none(graph)) }
    }

    fn into_masks(self) -> Masks {
        self.masks.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Parts that all iterations of a run have in common.
struct Driver<'a, P: Program> {
    graph: &'a Graph,
    program: &'a P,
    workers: &'a Workers,
    progress: &'a Progress,
    columns: &'a Columns,
    ranges: Ranges,
    benches: Vec<Mutex<Bench<'a, P>>>,
}

/// Arguments of the folds of an iteration.
struct Pass<'a, P: Program> {
    cuts: &'a Cuts,
    windows: &'a [usize],
    masks: Option<&'a Masks>,
    last: &'a P::Total,
    /// The side that is written.
    turn: usize,
}

impl<P: Program> Driver<'_, P> {
    /// Sets values, signals and totals of all vertices; of values that are there already, what
    /// follows from them.
    fn init(&self, state: &mut State<P>, there: bool) -> Result<P::Total, EngineError> {
        let Self { graph, program, .. } = *self;
        let left = Left::new(graph, &mut state.totals);
        let threads = self.workers.threads();
        let Some(degrees) = &graph.degrees_stored else {
            let what = "the graph was ingested for a state that fits in memory";
            return Err(EngineError::internal(what));
        };
        self.workers.each(|worker| {
            let bench = &mut *lock(&self.benches[worker]);
            let mut degrees = Desk::new(degrees, graph)?;
            for stripe in (worker..graph.stripes.len()).step_by(threads) {
                if self.progress.cancelled() {
                    return Err(EngineError::Cancelled);
                }
                if there {
                    self.take_up(stripe, bench, &left)?;
                    continue;
                }
                degrees.fetch(stripe)?;
                let values = bench.desks.values.blank()?;
                let column = degrees.take(stripe)?;
                renew(graph, stripe, values, bench, &left, |_, values, part| {
                    init_part(graph, program, &column, values, part);
                })?;
                degrees.done(column);
            }
            bench.desks.finish()
        })?;
        state.masks = left.into_masks();
        Ok(self.close(state).0)
    }

    /// Makes signals from the values of a stripe.
    fn take_up(
        &self,
        stripe: usize,
        bench: &mut Bench<'_, P>,
        left: &Left<'_, P::Total>,
    ) -> Result<(), EngineError> {
        let desks = &mut bench.desks;
        desks.values.fetch(stripe)?;
        let values = desks.values.take(stripe)?;
        if let Some(desk) = &mut desks.active {
            desk.fetch(stripe)?;
            let column = desk.take(stripe)?;
            bench.flags.copy_from_slice(&column);
            desk.done(column);
        }
        renew(self.graph, stripe, values, bench, left, |_, values, part| {
            resume_part(self.program, values, part);
        })
    }

    fn iterate(
        &self,
        reader: &mut Reader<'_, P::Signal>,
        state: &mut State<P>,
        last: &P::Total,
    ) -> Result<(P::Total, Level), EngineError> {
        let graph = self.graph;
        let scattering = state.active_count;
        let masks = (P::FRONTIER && scattering < graph.vertices()).then_some(&state.masks);
        let Side { signals, active } = self.columns.asked::<P>(state.turn);
        // Flags of sources are read at edges only where some vertex is inactive.
        let now = Side { signals, active: active.filter(|_| masks.is_some()) };
        let cuts = reader.cuts;
        let is_wanted =
            |window: &usize| masks.is_none_or(|masks| masks.any(cuts.blocks(graph, *window)));
        let windows: Vec<usize> = (0..cuts.len()).filter(is_wanted).collect();
        let pass = Pass { cuts, windows: &windows, masks, last, turn: state.turn + 1 };
        let left = Left::new(graph, &mut state.totals);
        let order = self.ranges.iter().flat_map(|_| windows.iter().copied());
        reader.pass(now, order, self.workers, |worker, windows| {
            self.work(worker, &pass, windows, &left)
        })?;
        state.masks = left.into_masks();
        state.turn += 1;
        let (total, edges) = self.close(state);
        Ok((total, Level::of(Mode::Dense, scattering, edges)))
    }

    /// Ends an iteration: its totals, and the edges that were looked at.
    fn close(&self, state: &mut State<P>) -> (P::Total, u64) {
        let (mut edges, mut active) = (0, 0);
        for bench in &self.benches {
            let bench = &mut *lock(bench);
            edges += std::mem::take(&mut bench.edges);
            active += std::mem::take(&mut bench.active);
        }
        state.active_count = active;
        let total = state.totals.iter().fold(P::Total::default(), |sum, part| sum.merge(*part));
        (total, edges)
    }

    /// One worker's stripes of all ranges. Whether it met all windows: where it did not, another
    /// worker knows why.
    fn work(
        &self,
        worker: usize,
        pass: &Pass<'_, P>,
        windows: &Receiver<Arc<Window<P::Signal>>>,
        left: &Left<'_, P::Total>,
    ) -> Result<bool, EngineError> {
        let Self { graph, program, .. } = *self;
        let bench = &mut *lock(&self.benches[worker]);
        bench.desks.turn(self.columns.side(pass.turn))?;
        let bits = graph.layout.stripe_bits;
        let count = graph.stripes.len();
        let mine = || self.ranges.iter().map(|range| &range[worker]);
        // A task is a window and a stripe.
        let tasks = mine().flat_map(|stripes| {
            let stripes = move |&window| stripes.iter().map(move |stripe| window * count + stripe);
            pass.windows.iter().flat_map(stripes)
        });
        let mut tasks = tasks.peekable();
        for stripes in mine() {
            for (place, &stripe) in stripes.iter().enumerate() {
                let accums = &mut bench.accums[place << bits..];
                let accums = &mut accums[..graph.stripes[stripe].width()];
                if P::KNOWS_TARGET {
                    bench.desks.values.fetch(stripe)?;
                    let values = bench.desks.values.take(stripe)?;
                    begin_part(program, &values, accums);
                    bench.desks.values.done(values);
                } else {
                    accums.fill(program.identity());
                }
            }
            if let Some(&first) = stripes.first() {
                bench.desks.values.fetch(first)?;
            }
            for _ in pass.windows {
                let Ok(window) = windows.recv() else { return Ok(false) };
                for place in 0..stripes.len() {
                    if self.progress.cancelled() {
                        return Err(EngineError::Cancelled);
                    }
                    if let Some(task) = tasks.next() {
                        let at = (task, tasks.peek().copied());
                        self.fold(at, place << bits, &window, pass, bench)?;
                    }
                }
            }
            for (place, &stripe) in stripes.iter().enumerate() {
                let values = bench.desks.values.take(stripe)?;
                renew(graph, stripe, values, bench, left, |accums, values, part| {
                    let accums = &accums[place << bits..];
                    apply_part(graph, program, pass.last, (accums, values), part);
                })?;
                if let Some(&next) = stripes.get(place + 1) {
                    bench.desks.values.fetch(next)?;
                }
            }
        }
        bench.desks.finish()?;
        Ok(true)
    }

    /// Folds the edges of a task into accumulators from a place on.
    fn fold(
        &self,
        at: (usize, Option<usize>),
        place: usize,
        window: &Window<P::Signal>,
        pass: &Pass<'_, P>,
        bench: &mut Bench<'_, P>,
    ) -> Result<(), EngineError> {
        let Self { graph, program, .. } = *self;
        let cuts = pass.cuts;
        let count = graph.stripes.len();
        let wanted = |sources: std::ops::Range<u64>| {
            pass.masks.is_none_or(|masks| masks.any(graph.blocks(sources)))
        };
        let wants = |task: usize| {
            let stripe = &graph.stripes[task % count];
            let chunks = cuts.chunks(stripe, task / count);
            (task % count, chunks.filter(|&chunk| wanted(stripe.chunks[chunk].sources.clone())))
        };
        let begins = cuts.begins(at.0 / count);
        let Bench { accums, scratch, chunks, edges, .. } = bench;
        let accums = &mut accums[place..];
        let short = graph.window_margin() < graph.signal_padding() as u64;
        chunks.parts(at, wants, |_, place, chunk: Chunk<'_>| {
            let reach = chunk.block_width() as usize;
            let coding = Coding::of::<P>(chunk.label());
            for (tile, named) in graph.tiles_of(&chunk) {
                if !begins.contains(&tile.source) || !wanted(named) {
                    continue;
                }
                let first = (tile.source - window.first) as usize;
                let signals = window.signals();
                let sources = first..(first + reach).min(signals.len());
                let active = window.active().map(|active| &active[sources.clone()]);
                let sources = Sources { signals: &signals[sources], active };
                if !short {
                    fold_tile(program, &tile, 0..tile.edges, coding, sources, accums, scratch);
                } else if let Some(key) =
                    fold_short(program, &tile, coding, sources, accums, scratch)
                {
                    let (what, value) = ("key of an edge", key.into());
                    let error = ChunkError::Field { what, offset: 0, value };
                    return Err(Graph::damaged(place, error));
                }
                *edges += tile.edges as u64;
            }
            Ok(())
        })
    }
}

/// Makes the new values of a stripe, and writes them with all that follows from them.
fn renew<P: Program>(
    graph: &Graph,
    number: usize,
    mut values: Buffer<P::Value>,
    bench: &mut Bench<'_, P>,
    left: &Left<'_, P::Total>,
    applied: impl Fn(&[P::Accum], &mut [P::Value], &mut Part<'_, P>),
) -> Result<(), EngineError> {
    let stripe = &graph.stripes[number];
    let Bench { accums, flags, active, desks, .. } = bench;
    let mut signals = desks.signals.blank()?;
    let mut part = Part {
        stripe,
        values: &mut [],
        signals: &mut signals,
        active: &mut *flags,
        totals: &mut lock(&left.totals[number]),
        active_count: stripe.width() as u64,
    };
    dispatched(
        #[inline(always)]
        || applied(accums, &mut values, &mut part),
    );
    *active += part.active_count;
    if P::FRONTIER {
        lock(&left.masks).add(graph, stripe.vertices.start, &flags[..stripe.width()]);
    }
    if let Some(desk) = &mut desks.active {
        let mut column = desk.blank()?;
        column.copy_from_slice(flags);
        desk.put(number, column)?;
    }
    desks.signals.put(number, signals)?;
    desks.values.put(number, values)
}
