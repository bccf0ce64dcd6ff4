//! Route `ranges`: dense iterations where not even signals fit in memory.
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
//!
//! Targets of an extended program are looked up in one column of signals beside the accumulators,
//! read when the range begins. All edges are shown in each iteration, to the same worker in the
//! same order: window after window, and in each its stripes of the range one after the other. So
//! the states of a worker's edges in a range are a lane, read and written in order
//! ([`crate::columns::edge_states`]).

mod columns;
mod deal;
mod pass;
mod worker;

use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};

use self::columns::RangesColumns;
use self::deal::{Ranges, deal};
use self::pass::{Pass, RangePart, StripeSlice, parts};
use self::worker::WorkerState;
use crate::EngineError;
use crate::checkpoint::{self, Resume, RunProgress, by_range};
use crate::columns::edge_states::{EdgeStates, Rewriter};
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::windows::{Cuts, Reader, Side, SignalWindow};
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::kernels::seam::AnyKernel;
use crate::machine::per_worker::PerWorker;
use crate::plan::RangesPlan;
use crate::schedules::context::Context;
use crate::schedules::edge_fold::EdgeFold;
use crate::schedules::frontier::Masks;
use crate::schedules::iterations::{Schedule, Step, iterate};
use crate::schedules::lane::Lane;

/// Runs a kernel: how far it came, and the values of all vertices.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(crate) fn run(
    context: &Context<'_>,
    kernel: AnyKernel<'_>,
    plan: RangesPlan,
) -> Result<(RunProgress, StoredColumn), EngineError> {
    let Context { graph, workers, checkpoints, .. } = *context;
    let storage = workers.storage().ok_or_else(|| EngineError::no_storage("signals"))?;
    graph.arena.drop_columns();
    let shape = kernel.kernel().shape();
    let columns = RangesColumns::new(graph, shape, storage, checkpoints.is_some())?;
    let cuts = Cuts::new(graph, plan.window_sources);
    let ranges = deal(graph, workers.threads(), plan.stripes);
    let edges = |stripe: &usize| graph.stripes[*stripe].edges;
    let lanes = ranges.iter().flatten().map(|stripes| stripes.iter().map(edges).sum());
    let lanes: Vec<u64> = lanes.collect();
    let states = || EdgeStates::new(graph, shape.state, &lanes, workers);
    let mut states = (shape.state > 0).then(states).transpose()?;
    let way = by_range(workers.threads(), plan.window_sources);
    let resume = Resume::new(checkpoints, graph, shape, (&lanes, way))?;
    let stored = (&columns.values, columns.side(0).active);
    let reached = resume.restore(graph, stored, states.as_mut())?;
    let each = || WorkerState::new(graph, shape, &columns, plan.stripes);
    let worker_states = workers.per_worker(each)?;
    let reader = Reader::new(graph, &cuts, columns.asked(shape, 0))?;
    let mut schedule = RangesSchedule {
        context,
        kernel,
        columns: &columns,
        ranges,
        workers: worker_states,
        reader,
        states,
        is_fresh: reached.is_none(),
        turn: 0,
        masks: Masks::none(graph),
        active_count: graph.vertices(),
        totals: vec![0; graph.vertices.segments() * shape.total],
    };
    let first = schedule.init(reached.is_some())?;
    let reached = reached.unwrap_or_else(|| RunProgress::begun(&first));
    let reached = iterate(kernel.kernel(), context, &resume, &mut schedule, reached)?;
    drop(schedule);
    Ok((reached, columns.values))
}

/// Dense iterations by ranges of destinations and windows of sources.
struct RangesSchedule<'a> {
    context: &'a Context<'a>,
    kernel: AnyKernel<'a>,
    columns: &'a RangesColumns,
    ranges: Ranges,
    workers: PerWorker<WorkerState<'a>>,
    reader: Reader<'a>,
    /// States of edges, by lane.
    states: Option<EdgeStates>,
    /// Whether no state of an edge was written yet.
    is_fresh: bool,
    /// Side that was written last.
    turn: usize,
    /// Blocks of sources that have an active one, in programs with a frontier.
    masks: Masks,
    active_count: u64,
    /// Totals by segment.
    totals: Vec<u8>,
}

impl Schedule for RangesSchedule<'_> {
    fn is_idle(&self) -> bool {
        matches!(self.kernel, AnyKernel::Fold(_)) && self.active_count == 0
    }

    fn step(&mut self, _: u64, last: &[u8]) -> Result<Step, EngineError> {
        let (graph, shape) = (self.context.graph, *self.kernel.kernel().shape());
        let scattering = self.active_count;
        let has_masks = shape.capabilities.frontier && scattering < graph.vertices();
        let masks = has_masks.then_some(&self.masks);
        let columns = self.columns;
        let Side { signals, active } = columns.asked(&shape, self.turn);
        // Flags of sources are read at edges only where some vertex is inactive.
        let now = Side { signals, active: active.filter(|_| masks.is_some()) };
        let cuts = self.reader.cuts;
        let is_wanted =
            |window: &usize| masks.is_none_or(|masks| masks.any(cuts.blocks(graph, *window)));
        let windows: Vec<usize> = (0..cuts.len()).filter(is_wanted).collect();
        let (states, stored) = self.states.as_mut().map(EdgeStates::parts).unzip();
        let parts = parts(graph, shape.total, &mut self.totals);
        let own = dealt(&self.ranges, parts, states.unwrap_or_default());
        let pass = Pass {
            context: self.context,
            edges: EdgeFold {
                graph,
                kernel: self.kernel,
                cuts,
                masks,
                is_short: graph.window_margin() < graph.signal_padding() as u64,
            },
            windows: &windows,
            last,
            now,
            next: columns.side(self.turn + 1),
            stored,
            is_fresh: self.is_fresh,
            active: Mutex::new(Masks::none(graph)),
        };
        let order = self.ranges.iter().flat_map(|_| windows.iter().copied());
        let own = self.workers.iter_mut().zip(own);
        self.reader.pass(now, order, (self.context.workers, own), |worker, own, windows| {
            work(worker, &pass, own, windows)
        })?;
        self.masks = pass.active.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.turn += 1;
        self.is_fresh = false;
        let (total, edges) = self.close();
        let level = IterationStats::of(Mode::Dense, scattering, edges);
        let bytes = if shape.capabilities.frontier { edges * 4 } else { graph.chunk_bytes() };
        Ok(Step { total, level, bytes })
    }

    fn columns(&mut self) -> checkpoint::CheckpointColumns<'_> {
        self.columns.kept(self.turn, self.states.as_ref())
    }
}

impl RangesSchedule<'_> {
    /// Sets values, signals and totals of all vertices; of values that are there already, what
    /// follows from them.
    fn init(&mut self, are_there: bool) -> Result<Vec<u8>, EngineError> {
        let Context { graph, workers, .. } = *self.context;
        let Some(degrees) = &graph.degrees_stored else {
            let what = "the graph was ingested for a state that fits in memory";
            return Err(EngineError::internal(what));
        };
        let kernel = self.kernel.kernel();
        let active = Mutex::new(Masks::none(graph));
        let mut own: Vec<_> = self.workers.iter_mut().map(|state| (state, Vec::new())).collect();
        let threads = own.len();
        for part in parts(graph, kernel.shape().total, &mut self.totals) {
            own[part.number % threads].1.push(part);
        }
        workers.each_with(own, |_, (state, parts)| {
            let mut degrees = ColumnIo::<u32>::new(degrees)?;
            for part in parts {
                self.context.check_cancelled()?;
                if are_there {
                    state.take_up((graph, kernel), part, &active)?;
                    continue;
                }
                let stripe = part.number;
                degrees.fetch(stripe)?;
                let values = state.io.values.blank()?;
                let column = degrees.take(stripe)?;
                state.apply_stripe(graph, (part, values), &active, |_, values, columns| {
                    columns.init((graph, kernel), &column, values);
                })?;
                degrees.done(column);
            }
            state.io.finish()
        })?;
        self.masks = active.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(self.close().0)
    }

    /// Ends an iteration: its totals, and the edges that were looked at.
    fn close(&mut self) -> (Vec<u8>, u64) {
        let (mut edges, mut active) = (0, 0);
        for state in &mut self.workers {
            edges += std::mem::take(&mut state.reader.edges);
            active += std::mem::take(&mut state.active);
        }
        self.active_count = active;
        (self.kernel.kernel().total(&self.totals), edges)
    }
}

/// The stripes of each worker, range by range, and the states of their edges.
fn dealt<'p>(
    ranges: &Ranges,
    parts: Vec<StripeSlice<'p>>,
    states: Vec<&'p mut [u8]>,
) -> Vec<Vec<RangePart<'p>>> {
    let threads = ranges.first().map_or(0, Vec::len);
    let mut parts: Vec<_> = parts.into_iter().map(Some).collect();
    let mut states = states.into_iter();
    let mut own: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    for (worker, stripes) in ranges.iter().flat_map(|range| range.iter().enumerate()) {
        let stripes = stripes.iter().filter_map(|&stripe| parts[stripe].take()).collect();
        // Lanes lie in this order.
        let states = states.next().unwrap_or_default();
        own[worker].push(RangePart { stripes, states });
    }
    own
}

/// One worker's stripes of all ranges. Whether it met all windows: where it did not, another
/// worker knows why.
fn work<'a>(
    worker: usize,
    pass: &Pass<'_, 'a>,
    (state, own): (&mut WorkerState<'a>, Vec<RangePart<'_>>),
    windows: &Receiver<Arc<SignalWindow>>,
) -> Result<bool, EngineError> {
    let workers = pass.context.workers;
    state.io.turn(pass.next)?;
    let ranges = own.len();
    let numbers = |range: &RangePart<'_>| range.stripes.iter().map(|part| part.number).collect();
    let numbers: Vec<Vec<usize>> = own.iter().map(numbers).collect();
    let mut tasks = numbers.iter().flat_map(|stripes| {
        let task = |window| stripes.iter().map(move |&stripe| pass.edges.task(window, stripe));
        pass.windows.iter().flat_map(move |&window| task(window))
    });
    // Tasks that were asked for before their turn.
    let mut ahead = VecDeque::new();
    let mut rewriter = match pass.stored {
        Some(stored) => Some(Rewriter::new(stored, pass.is_fresh)?),
        None => None,
    };
    for (range, RangePart { stripes, states }) in own.into_iter().enumerate() {
        let number = |range: usize| range * workers.threads() + worker;
        let next = (range + 1 < ranges).then(|| number(range + 1));
        let mut lane = match &mut rewriter {
            Some(rewriter) => Some(Lane::begin((number(range), next), states, rewriter)?),
            None => None,
        };
        state.begin(pass, &stripes)?;
        for _ in pass.windows {
            let Ok(window) = windows.recv() else { return Ok(false) };
            for place in 0..stripes.len() {
                pass.context.check_cancelled()?;
                let Some(task) = ahead.pop_front().or_else(|| tasks.next()) else { continue };
                let mut upcoming = |place: usize| {
                    while ahead.len() <= place {
                        ahead.push_back(tasks.next()?);
                    }
                    ahead.get(place).copied()
                };
                state.fold(pass, ((task, &mut upcoming), place), &window, lane.as_mut())?;
            }
        }
        lane.map_or(Ok(()), Lane::end)?;
        state.apply(pass, stripes)?;
    }
    state.io.finish()?;
    rewriter.as_mut().map_or(Ok(()), Rewriter::finish)?;
    Ok(true)
}
