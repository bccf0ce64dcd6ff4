//! Route `spill`: updates wait on storage (X-Stream, section 3).
//!
//! Vertices are cut into partitions, runs of stripes whose signals fit in memory. Scatter takes one
//! partition after the other: its signals are in memory, the chunks with its sources come by, and
//! updates go to storage in chunks of updates ([`crate::columns::updates`]), by stripe of their
//! destinations. Gather takes one stripe after the other, meets its updates, and applies.
//!
//! Two things are done that the paper does not, each of which can be left out:
//! - *Combined*: the edges of a cell are folded into accumulators of their stripe first, and only
//!   what was touched is written, an accumulator for a destination.
//! - *Fused*: once a partition was gathered its signals are in memory, so it is scattered at once,
//!   for the next iteration. Signals are never stored then. (When the run ends, what was scattered
//!   last is of no use; where the number of iterations is known that is left out.)
//!
//! Updates of a destination are merged in the order of partitions. Where they are floats, the sums
//! differ from those of `fold` in their rounding.
//!
//! In extended programs it is the signals of sources that wait ([`signals`]): gather shows the
//! edges of a stripe, with their states, what these say. So edges are read twice in each iteration,
//! and neither they nor their states travel: states lie with the stripe, as on route `fold`. The
//! edge itself could travel, with its state, to and fro between its ends: what is read and written
//! then is 24 bytes an arc and more with weights or more states, three times an iteration, where a
//! source's signal is 12 for all edges to a stripe, twice, and its edges 3 each. And a program
//! would have to say what the reverse of a state is. Edges of a stripe are shown in the order in
//! which they lie, so results of these programs are the same bits as on route `fold`.

mod columns;
mod gather;
pub(crate) mod partitions;
mod scatter;
mod signals;
mod worker;

use std::ops::Range;

use welter_model::program::Next;

use self::columns::{PartitionWindow, SpillColumns};
use self::gather::{Gather, GatheredStripe, StepInput, no_states};
use self::partitions::{cut, vertices};
use self::worker::{Counts, WorkerState};
use crate::EngineError;
use crate::checkpoint::{self, BY_STRIPE, Resume, RunProgress};
use crate::columns::edge_states::{EdgeStates, Rewriter};
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::stripe_columns::StripeColumns;
use crate::columns::updates::{Pool, UpdateChunk};
use crate::edges::graph::Graph;
use crate::edges::read_ahead::UpcomingTasks;
use crate::edges::values::StoredColumn;
use crate::kernels::seam::AnyKernel;
use crate::machine::per_worker::PerWorker;
use crate::machine::slices::Slices;
use crate::plan::SpillPlan;
use crate::schedules::context::Context;
use crate::schedules::frontier::Masks;
use crate::schedules::iterations::{Schedule, Step, iterate};

/// Runs a kernel: how far it came, and the values of all vertices.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(crate) fn run(
    context: &Context<'_>,
    kernel: AnyKernel<'_>,
    plan: SpillPlan,
) -> Result<(RunProgress, StoredColumn), EngineError> {
    let Context { graph, workers, checkpoints, .. } = *context;
    let (Some(storage), Some(degrees)) = (workers.storage(), &graph.degrees_stored) else {
        let what = "the plan keeps state on storage, and graph or workers do not";
        return Err(EngineError::internal(what));
    };
    graph.arena.drop_columns();
    let shape = kernel.kernel().shape();
    let columns = SpillColumns::new(graph, shape, storage, (plan, checkpoints.is_some()))?;
    let lanes: Vec<u64> = graph.stripes.iter().map(|stripe| stripe.edges).collect();
    let states = || EdgeStates::new(graph, shape.state, &lanes, workers);
    let mut states = (shape.state > 0).then(states).transpose()?;
    let resume = Resume::new(checkpoints, graph, shape, (&lanes, BY_STRIPE))?;
    let stored = (&columns.values, columns.active.as_ref());
    let reached = resume.restore(graph, stored, states.as_mut())?;
    let pool = Pool::new(storage, graph)?;
    let partitions = cut(graph, plan.sources);
    let each = || WorkerState::new((graph, kernel), &columns, degrees, &pool);
    let worker_states = workers.per_worker(each)?;
    let window = PartitionWindow::new(graph, shape, &partitions, &columns)?;
    let mut schedule = SpillSchedule {
        context,
        kernel,
        plan,
        columns: &columns,
        partitions,
        workers: worker_states,
        window,
        states,
        is_fresh: true,
        iteration: 0,
        waiting: nothing(graph),
        produced: 0,
        edges: 0,
        active_count: graph.vertices(),
        totals: vec![0; graph.vertices.segments() * shape.total],
    };
    let reached = schedule.begin(reached)?;
    let reached = iterate(kernel.kernel(), context, &resume, &mut schedule, reached)?;
    drop(schedule);
    Ok((reached, columns.values))
}

/// Scatter of partitions, and gather of stripes.
struct SpillSchedule<'a> {
    context: &'a Context<'a>,
    kernel: AnyKernel<'a>,
    plan: SpillPlan,
    columns: &'a SpillColumns,
    /// Stripes of each partition.
    partitions: Vec<Range<usize>>,
    workers: PerWorker<WorkerState<'a>>,
    window: PartitionWindow<'a>,
    /// States of edges, by stripe.
    states: Option<EdgeStates>,
    /// Whether no state of an edge was written yet.
    is_fresh: bool,
    /// The iteration that gathers next, counted from where the run began.
    iteration: u64,
    /// Updates that wait, by stripe.
    waiting: Vec<Vec<UpdateChunk>>,
    /// Number of updates that these stand for.
    produced: u64,
    /// Edges that they came from.
    edges: u64,
    active_count: u64,
    /// Totals by segment.
    totals: Vec<u8>,
}

/// Nothing that waits for any stripe.
fn nothing(graph: &Graph) -> Vec<Vec<UpdateChunk>> {
    graph.stripes.iter().map(|_| Vec::new()).collect()
}

impl Schedule for SpillSchedule<'_> {
    fn is_idle(&self) -> bool {
        matches!(self.kernel, AnyKernel::Fold(_)) && self.active_count == 0
    }

    fn step(&mut self, iterations: u64, last: &[u8]) -> Result<Step, EngineError> {
        let (active, edges) = (self.active_count, self.edges);
        let total = self.turn(StepInput::Updates(last), self.may_go_on(iterations + 1))?;
        let chunk_bytes = self.context.graph.chunk_bytes();
        let bytes = match self.kernel {
            AnyKernel::Extended(_) => 2 * chunk_bytes,
            AnyKernel::Fold(kernel) if kernel.shape().capabilities.frontier => edges * 4,
            AnyKernel::Fold(_) => chunk_bytes,
        };
        Ok(Step { total, level: IterationStats::of(Mode::Dense, active, edges), bytes })
    }

    fn columns(&mut self) -> checkpoint::CheckpointColumns<'_> {
        self.columns.kept(self.states.as_ref())
    }
}

impl SpillSchedule<'_> {
    /// Sets the values of all vertices, or takes those of a checkpoint, and scatters for the first
    /// iteration if there may be one.
    fn begin(&mut self, reached: Option<RunProgress>) -> Result<RunProgress, EngineError> {
        let Some(reached) = reached else {
            let total = self.turn(StepInput::Nothing, self.may_go_on(0))?;
            return Ok(RunProgress::begun(&total));
        };
        let (done, last) = (reached.iterations, reached.totals.last());
        let goes_on = self.kernel.kernel().next(done, last) == Next::Iterate;
        self.turn(StepInput::Values, goes_on && self.may_go_on(done))?;
        Ok(reached)
    }

    fn may_go_on(&self, iterations: u64) -> bool {
        self.kernel.kernel().limit().stated().is_none_or(|most| iterations < most)
    }

    /// Sets the values of all vertices, and scatters for the next iteration if there may be one.
    fn turn(&mut self, basis: StepInput<'_>, go_on: bool) -> Result<Vec<u8>, EngineError> {
        let graph = self.context.graph;
        let expected = std::mem::take(&mut self.produced);
        self.iteration += 1;
        // Updates for the next iteration are not to be met by this one.
        let waiting = std::mem::replace(&mut self.waiting, nothing(graph));
        let mut states = self.states.take();
        let (resident, stored) = states.as_mut().map(EdgeStates::parts).unzip();
        let is_fresh = self.is_fresh;
        let rewriter = || stored.map(|stored| Rewriter::new(stored, is_fresh)).transpose();
        let mut gather = Gather {
            basis,
            combined: self.plan.combined,
            waiting: waiting.into_iter(),
            resident: resident.unwrap_or_default().into_iter(),
            rewriters: self.context.workers.per_worker(rewriter)?,
        };
        let mut masks = Masks::none(graph);
        let scatters = |schedule: &Self, fused: bool| go_on && schedule.plan.fused == fused;
        for partition in 0..self.partitions.len() {
            self.gather(partition, &mut gather)?;
            if scatters(self, true) {
                self.scatter(partition, &mut masks)?;
            }
        }
        gather.rewriters.iter_mut().flatten().try_for_each(Rewriter::finish)?;
        drop(gather);
        self.states = states;
        for partition in 0..self.partitions.len() {
            if scatters(self, false) {
                self.window.load(&vertices(graph, &self.partitions[partition]))?;
                self.scatter(partition, &mut masks)?;
            }
        }
        self.is_fresh = matches!(basis, StepInput::Nothing);
        self.close(expected)
    }

    /// Ends an iteration, which gathered `expected` updates, and gives its totals.
    fn close(&mut self, expected: u64) -> Result<Vec<u8>, EngineError> {
        let mut all = Counts::default();
        for state in &mut self.workers {
            all.add(std::mem::take(&mut state.counts));
        }
        if all.gathered != expected {
            let what = format!("{expected} updates were produced, and {} gathered", all.gathered);
            return Err(EngineError::internal(what));
        }
        (self.edges, self.produced, self.active_count) = (all.edges, all.produced, all.active);
        Ok(self.kernel.kernel().total(&self.totals))
    }

    /// Sets the values of a partition, and what its vertices say.
    fn gather(&mut self, partition: usize, gather: &mut Gather<'_>) -> Result<(), EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let (kernel, shape) = (self.kernel, *self.kernel.kernel().shape());
        let stripes = self.partitions[partition].clone();
        let own = vertices(graph, &stripes);
        self.window.open((own.end - own.start) as usize);
        let first = graph.stripes[stripes.clone()].first();
        let first = first.map_or(0, |stripe| stripe.segments.start);
        let mut totals = Slices(&mut self.totals[first * shape.total..]);
        let (signals, active) = self.window.own_mut();
        let (mut signals, mut active) = (Slices(signals), Slices(active));
        let parts = graph.stripes[stripes.clone()].iter().map(|stripe| {
            let flags = if shape.state > 0 { 0 } else { stripe.width() };
            StripeColumns {
                stripe,
                signals: signals.take(stripe.width() * shape.signal),
                active: active.take(flags),
                totals: totals.take(stripe.segments.len() * shape.total),
                active_count: stripe.width() as u64,
            }
        });
        // Partitions are gathered in their order, so their stripes are.
        let Gather { basis, combined, waiting, resident, rewriters } = gather;
        let part = |(number, columns)| GatheredStripe {
            number,
            columns,
            waiting: waiting.next().unwrap_or_default(),
            states: resident.next().unwrap_or_default(),
        };
        let parts: Vec<_> = stripes.zip(parts).map(part).collect();
        let mut tools: Vec<_> = self.workers.iter_mut().zip(rewriters).collect();
        workers.for_each_ahead(parts, progress, &mut tools, |(state, rewriter), part, next| {
            let number = part.number;
            let columns = match (*basis, kernel) {
                (StepInput::Nothing, _) => state.init((graph, kernel.kernel()), part)?,
                (StepInput::Values, _) => state.take_up(kernel.kernel(), part)?,
                (StepInput::Updates(last), AnyKernel::Fold(kernel)) => {
                    state.apply((graph, kernel), part, last)?
                }
                (StepInput::Updates(last), AnyKernel::Extended(kernel)) => {
                    let rewriter = rewriter.as_mut().ok_or_else(no_states)?;
                    let mut next = |place| next.get(place).map(|part| part.number);
                    let part = (part, &mut next as &mut UpcomingTasks<'_>);
                    state.extend((graph, kernel), part, (rewriter, *combined), last)?
                }
            };
            state.counts.active += columns.active_count;
            state.store(number, &columns)
        })?;
        self.workers.iter_mut().try_for_each(WorkerState::finish)
    }
}
