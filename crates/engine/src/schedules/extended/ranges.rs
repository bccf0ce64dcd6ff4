//! Extended programs on route `ranges`: values and signals on storage too.
//!
//! As in [`crate::schedules::ranges`], destinations are taken range by range, and for each range
//! the signals of all sources come by in windows. What edges look up of their targets is one column
//! of signals beside the accumulators, read when the range begins. All edges are shown in each
//! iteration, to the same worker in the same order: window after window, and in each its stripes of
//! the range one after the other. So the states of a worker's edges in a range are a lane, read and
//! written in order ([`crate::columns::edge_states`]).

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

use bytemuck::bytes_of;
use welter_model::extended::Extended;
use welter_model::program::{Next, Total, Vertex};
use welter_progress::{Phase, Progress};
use welter_store::chunk::Chunk;

use super::Part;
use super::resume::{OnStorage, Resume, by_range};
use crate::EngineError;
use crate::checkpoint::{Checkpoints, Column, Reached};
use crate::columns::edge_states::{EdgeStates, Rewriter, Stored};
use crate::columns::ends::{Ends, Said};
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::columns::values::{Desk, StoredValues};
use crate::columns::windows::{Cuts, Reader, Side, Window};
use crate::edges::graph::Graph;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch};
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::machine::storage::Storage;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::RangesPlan;
use crate::schedules::limit::check_limit;
use crate::schedules::ranges::{Ranges, deal};

/// Runs a program on a graph.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(super) fn run<E: Extended>(
    graph: &Graph,
    program: &E,
    plan: RangesPlan,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    let Some(storage) = workers.storage() else {
        let what = "the plan keeps signals on storage, and the workers were given none";
        return Err(EngineError::internal(what));
    };
    graph.arena.drop_columns();
    let columns = Columns::new::<E>(graph, storage)?;
    let cuts = Cuts::new(graph, plan.window_sources);
    let ranges = deal(graph, workers.threads(), plan.stripes);
    let edges = |stripe: &usize| graph.stripes[*stripe].edges;
    let lanes = ranges.iter().flatten().map(|stripes| stripes.iter().map(edges).sum());
    let lanes: Vec<u64> = lanes.collect();
    let mut states = EdgeStates::new(graph, &lanes, workers)?;
    let way = by_range(workers.threads(), plan.window_sources);
    let resume = Resume::new::<E>(checkpoints, graph, &lanes, way)?;
    let settable = OnStorage::new(graph, &columns.values, &mut states)?;
    let reached = resume.restore(graph, settable)?;
    let benches = workers.states(|| Bench::<E>::new(graph, &columns, plan.stripes))?;
    let mut reader = Reader::new(graph, &cuts, columns.side(0))?;
    let driver = Driver {
        graph,
        program,
        workers,
        progress,
        columns: &columns,
        cuts: &cuts,
        ranges,
        benches,
    };
    let mut by_segment = vec![E::Total::default(); graph.vertices.segments()];
    let begun = reached.as_ref().map(|reached| reached.iterations as usize);
    let first = driver.init(&mut by_segment, begun)?;
    let mut reached = reached.unwrap_or_else(|| Reached::begun(bytes_of(&first)));
    phase.add(reached.iterations);
    while program.next(reached.iterations, &reached.total()) == Next::Iterate {
        check_limit(program.limit(), graph, reached.iterations)?;
        let (turn, last): (_, E::Total) = (reached.iterations as usize, reached.total());
        let total = driver.iterate(&mut reader, (&mut states, &mut by_segment), turn, &last)?;
        reached.note(bytes_of(&total));
        phase.add(1);
        phase.add_bytes(graph.chunk_bytes());
        resume.write(graph, Column::Storage(&columns.values), &states, &reached)?;
    }
    drop((reader, driver, states));
    // Results may be written where the states of edges were.
    workers.settle();
    Ok(reached.outcome(Values::stored(columns.values, graph).rows()?))
}

/// The columns of a run, all of them on storage.
struct Columns {
    values: StoredValues,
    /// Signals that edges see, and those that they will see in the next iteration, in turns.
    signals: [StoredValues; 2],
}

impl Columns {
    fn new<E: Extended>(graph: &Graph, storage: &Storage) -> Result<Self, EngineError> {
        let signals = || StoredValues::new::<E::Signal>(graph, storage);
        let values = StoredValues::new::<E::Value>(graph, storage)?;
        Ok(Self { values, signals: [signals()?, signals()?] })
    }

    fn side(&self, turn: usize) -> Side<'_> {
        Side { signals: &self.signals[turn % 2], active: None }
    }
}

/// Tools that one worker has all along.
struct Bench<'g, E: Extended> {
    /// Of the worker's stripes in a range, each at a multiple of the largest width.
    accums: Buffer<E::Accum>,
    /// Signals of these stripes, at the same places.
    targets: Buffer<E::Signal>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
    values: Desk<'g, E::Value>,
    signals: Desk<'g, E::Signal>,
}

impl<'g, E: Extended> Bench<'g, E> {
    fn new(graph: &'g Graph, columns: &'g Columns, stripes: usize) -> Result<Self, EngineError> {
        let width = stripes << graph.layout.stripe_bits;
        Ok(Self {
            accums: Buffer::zeroed(width)?,
            targets: Buffer::zeroed(width)?,
            scratch: Scratch::new(),
            chunks: ReadAhead::new(graph)?,
            values: Desk::new(&columns.values, graph)?,
            signals: Desk::new(&columns.signals[0], graph)?,
        })
    }

    /// Begins a range: what the stripes say, and accumulators that have met nothing.
    fn begin(
        &mut self,
        (graph, program): (&Graph, &E),
        stripes: &[usize],
        now: &'g StoredValues,
    ) -> Result<(), EngineError> {
        self.accums.fill(program.identity());
        self.signals.turn(now)?;
        for (place, &stripe) in stripes.iter().enumerate() {
            self.signals.fetch(stripe)?;
            let column = self.signals.take(stripe)?;
            let (first, width) = (place << graph.layout.stripe_bits, graph.stripes[stripe].width());
            self.targets[first..first + width].copy_from_slice(&column[..width]);
            self.signals.done(column);
        }
        Ok(())
    }

    /// Makes new values of a stripe, and writes them with what they say.
    fn renew(
        &mut self,
        (graph, program): (&Graph, &E),
        (stripe, totals): (usize, &mut [E::Total]),
        mut values: Buffer<E::Value>,
        applied: impl Fn(&[E::Accum], usize, E::Value) -> (E::Value, E::Total),
    ) -> Result<(), EngineError> {
        let mut signals = self.signals.blank()?;
        let number = stripe;
        let stripe = &graph.stripes[number];
        let (values_own, signals_own) =
            (&mut values[..stripe.width()], &mut signals[..stripe.width()]);
        let mut part = Part { stripe, values: values_own, signals: signals_own, totals };
        let accums = &self.accums;
        part.renew(graph, program, |place, value| applied(accums, place, value));
        self.signals.put(number, signals)?;
        self.values.put(number, values)
    }

    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.finish()
    }
}

/// Parts that all iterations of a run have in common.
struct Driver<'a, E: Extended> {
    graph: &'a Graph,
    program: &'a E,
    workers: &'a Workers,
    progress: &'a Progress,
    columns: &'a Columns,
    cuts: &'a Cuts,
    ranges: Ranges,
    benches: Vec<Mutex<Bench<'a, E>>>,
}

/// The totals of each stripe, by segment.
type Totals<'t, T> = Vec<Mutex<&'t mut [T]>>;

/// Arguments of the folds of an iteration.
struct Pass<'a, E: Extended> {
    last: &'a E::Total,
    turn: usize,
    totals: Totals<'a, E::Total>,
    /// By lane.
    resident: Vec<Mutex<&'a mut [E::State]>>,
    stored: &'a Stored,
}

impl<E: Extended> Driver<'_, E> {
    /// Sets values, signals and totals of all vertices. `begun`: values are there after so many
    /// iterations, and what follows from them is not.
    fn init(&self, totals: &mut [E::Total], begun: Option<usize>) -> Result<E::Total, EngineError> {
        let Self { graph, program, columns, .. } = *self;
        let Some(degrees) = &graph.degrees_stored else {
            let what = "the graph was ingested for a state that fits in memory";
            return Err(EngineError::internal(what));
        };
        let by_stripe = by_stripe(graph, totals);
        let threads = self.workers.threads();
        self.workers.each(|worker| {
            let bench = &mut *lock(&self.benches[worker]);
            bench.signals.turn(columns.side(begun.unwrap_or(0)).signals)?;
            let mut degrees = Desk::new(degrees, graph)?;
            for stripe in (worker..graph.stripes.len()).step_by(threads) {
                if self.progress.cancelled() {
                    return Err(EngineError::Cancelled);
                }
                let own = (stripe, &mut **lock(&by_stripe[stripe]));
                if begun.is_some() {
                    bench.values.fetch(stripe)?;
                    let values = bench.values.take(stripe)?;
                    let same = |_: &[_], _, value| (value, E::Total::default());
                    bench.renew((graph, program), own, values, same)?;
                    continue;
                }
                degrees.fetch(stripe)?;
                let column: Buffer<u32> = degrees.take(stripe)?;
                let first = graph.stripes[stripe].vertices.start;
                let values = bench.values.blank()?;
                bench.renew((graph, program), own, values, |_, place, _| {
                    let out_degree = column[place].into();
                    program.init(Vertex { index: first + place as u64, out_degree })
                })?;
                degrees.done(column);
            }
            bench.finish()
        })?;
        drop(by_stripe);
        Ok(sum(totals))
    }

    fn iterate(
        &self,
        reader: &mut Reader<'_, E::Signal>,
        (states, totals): (&mut EdgeStates<E::State>, &mut [E::Total]),
        turn: usize,
        last: &E::Total,
    ) -> Result<E::Total, EngineError> {
        let (resident, stored) = states.parts();
        let resident = resident.into_iter().map(Mutex::new).collect();
        let by_stripe = by_stripe(self.graph, totals);
        let pass = Pass::<E> { last, turn, totals: by_stripe, resident, stored };
        let order = self.ranges.iter().flat_map(|_| 0..self.cuts.len());
        reader.pass(self.columns.side(turn), order, self.workers, |worker, windows| {
            self.work(worker, &pass, windows)
        })?;
        drop(pass);
        Ok(sum(totals))
    }

    /// One worker's stripes of all ranges. Whether it met all windows.
    fn work(
        &self,
        worker: usize,
        pass: &Pass<'_, E>,
        windows: &Receiver<Arc<Window<E::Signal>>>,
    ) -> Result<bool, EngineError> {
        let Self { graph, program, columns, .. } = *self;
        let bench = &mut *lock(&self.benches[worker]);
        let (bits, count) = (graph.layout.stripe_bits, graph.stripes.len());
        let mut rewriter = Rewriter::new(pass.stored, pass.turn == 0)?;
        let mine = || self.ranges.iter().map(|range| &range[worker]);
        // A task is a window and a stripe.
        let tasks = mine().flat_map(|stripes| {
            (0..self.cuts.len())
                .flat_map(move |window| stripes.iter().map(move |stripe| window * count + stripe))
        });
        let mut tasks = tasks.peekable();
        for (range, stripes) in mine().enumerate() {
            let lane = |range: usize| range * self.workers.threads() + worker;
            let next = (range + 1 < self.ranges.len()).then(|| lane(range + 1));
            rewriter.begin(lane(range), next)?;
            let resident = &mut **lock(&pass.resident[lane(range)]);
            bench.begin((graph, program), stripes, columns.side(pass.turn).signals)?;
            for _ in 0..self.cuts.len() {
                let Ok(window) = windows.recv() else { return Ok(false) };
                for place in 0..stripes.len() {
                    if self.progress.cancelled() {
                        return Err(EngineError::Cancelled);
                    }
                    if let Some(task) = tasks.next() {
                        let at = (task, tasks.peek().copied());
                        self.fold(at, place << bits, &window, (resident, &mut rewriter), bench)?;
                    }
                }
            }
            rewriter.end(resident.len())?;
            bench.signals.turn(columns.side(pass.turn + 1).signals)?;
            for (place, &stripe) in stripes.iter().enumerate() {
                bench.values.fetch(stripe)?;
                let values = bench.values.take(stripe)?;
                let own = (stripe, &mut **lock(&pass.totals[stripe]));
                bench.renew((graph, program), own, values, |accums, vertex, value| {
                    program.apply(value, accums[(place << bits) + vertex], pass.last)
                })?;
            }
        }
        bench.finish()?;
        rewriter.finish()?;
        Ok(true)
    }

    /// Shows the edges of a task, whose accumulators and targets are from a place on.
    fn fold(
        &self,
        at: (usize, Option<usize>),
        place: usize,
        window: &Window<E::Signal>,
        (resident, rewriter): (&mut [E::State], &mut Rewriter<'_, E::State>),
        bench: &mut Bench<'_, E>,
    ) -> Result<(), EngineError> {
        let Self { graph, program, cuts, .. } = *self;
        let count = graph.stripes.len();
        let wants = |task: usize| {
            let stripe = task % count;
            (stripe, cuts.chunks(&graph.stripes[stripe], task / count))
        };
        let begins = cuts.begins(at.0 / count);
        let Bench { accums, targets, scratch, chunks, .. } = bench;
        let (accums, targets) = (&mut accums[place..], &targets[place..]);
        chunks.parts(at, wants, |stripe, _, chunk: Chunk<'_>| {
            let reach = chunk.block_width() as usize;
            let coding = Coding::weighted(chunk.label(), E::WEIGHTED);
            for tile in chunk.tiles().filter(|tile| begins.contains(&tile.source)) {
                let first = (tile.source - window.first) as usize;
                let said = Said::Sources(&window.signals()[first..first + reach]);
                let base = [tile.source as usize, stripe.vertices.start as usize];
                let ends = Ends { program, base, said, targets };
                ends.tile(&tile, coding, (&mut *resident, &mut *rewriter), accums, scratch)?;
            }
            Ok(())
        })
    }
}

fn by_stripe<'t, T>(graph: &Graph, totals: &'t mut [T]) -> Totals<'t, T> {
    let mut totals = Slices(totals);
    let stripes = graph.stripes.iter();
    stripes.map(|stripe| Mutex::new(totals.take(stripe.segments.len()))).collect()
}

fn sum<T: Total>(totals: &[T]) -> T {
    totals.iter().fold(T::default(), |sum, total| sum.merge(*total))
}
