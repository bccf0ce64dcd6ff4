//! Route `fold`: scatter, gather and apply in one pass over the chunks.
//!
//! Each iteration is *dense* or *sparse*. In a dense one a worker takes a stripe, folds all its
//! edges into its own accumulators, and applies them while they are in the cache; values change in
//! place, and signals have two columns that swap roles, because other stripes still read what this
//! one said last. Of a stripe that no active source reaches a monotone program leaves the values
//! alone, wherever they lie, and what it said last is copied. A monotone program whose active
//! vertices have few edges gets sparse iterations, which touch only what is reached
//! ([`crate::schedules::traversal`]).
//!
//! In an extended program the states of edges come by beside the edges
//! ([`crate::columns::edge_states`]). All edges see what was said in the iteration before, so the
//! order of stripes makes no difference.

mod stripe;
mod worker;

pub(crate) use self::worker::WorkerState;
use crate::EngineError;
use crate::checkpoint::{self, BY_STRIPE, Resume, RunColumns, RunProgress};
use crate::columns::edge_states::{EdgeStates, Rewriter};
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::{State, StripeSlice, StripeSlices};
use crate::columns::striped::{ColumnPlace, PartIo, StripedColumn};
use crate::columns::windows::{Cuts, SourceWindow};
use crate::edges::index::IndexedTiles;
use crate::kernels::seam::AnyKernel;
use crate::machine::per_worker::PerWorker;
use crate::schedules::async_relax::{self, Blocking};
use crate::schedules::context::Context;
use crate::schedules::edge_fold::EdgeFold;
use crate::schedules::frontier::Masks;
use crate::schedules::group_by_rows::RowGroups;
use crate::schedules::iterations::{Schedule, Step, iterate};
use crate::schedules::traversal::Traversal;

/// Ways to do an iteration that only some programs have.
#[derive(Default)]
pub(crate) struct Shortcuts<'a> {
    /// Sparse iterations, of a monotone program.
    pub(crate) traversal: Option<Box<dyn Traversal + 'a>>,
    /// Rows of neighbours, of a program that groups.
    pub(crate) by_rows: Option<Box<dyn RowGroups + 'a>>,
}

/// Runs a kernel: how far it came, and its columns. `tiles`: where the edges of single vertices
/// are found.
///
/// # Errors
/// When memory runs out, storage fails, a chunk is damaged, or the run is cancelled.
pub(crate) fn run(
    context: &Context<'_>,
    kernel: AnyKernel<'_>,
    tiles: Option<&IndexedTiles<'_>>,
    shortcuts: Shortcuts<'_>,
) -> Result<(RunProgress, State), EngineError> {
    let Context { graph, workers, checkpoints, .. } = *context;
    let shape = kernel.kernel().shape();
    let lanes: Vec<u64> = graph.stripes.iter().map(|stripe| stripe.edges).collect();
    let mut states = match kernel {
        AnyKernel::Fold(_) => None,
        AnyKernel::Extended(_) => Some(EdgeStates::new(graph, shape.state, &lanes, workers)?),
    };
    let mut state = State::new(graph, shape, workers.storage())?;
    let resume = Resume::new(checkpoints, graph, shape, (&lanes, BY_STRIPE))?;
    let columns = RunColumns::resident(graph, kernel.kernel(), &mut state, states.as_mut())?;
    let reached = resume.restore_to(graph, columns)?;
    let is_kept = reached.is_some();
    let mut schedule = DenseSchedule {
        context,
        window: Cuts::whole(graph),
        kernel,
        resume: &resume,
        state,
        states,
        tiles,
        workers: PerWorker::none(),
        shortcuts,
        due: None,
        must_relax: false,
        looked: 0,
    };
    let reached = match reached {
        Some(reached) => reached,
        None => RunProgress::begun(&schedule.init()?),
    };
    if is_kept && shape.state == 0 {
        schedule.state.active_count = reached.active;
    }
    if let Some(traversal) = &mut schedule.shortcuts.traversal {
        let lookups = is_kept.then_some(reached.lookups);
        traversal.begin(schedule.state.active_count, lookups)?;
    }
    schedule.must_relax = resume.must_relax(&reached);
    schedule.due = async_relax::due(graph, kernel.kernel(), &resume, &reached);
    let reached = iterate(kernel.kernel(), context, &resume, &mut schedule, reached)?;
    let DenseSchedule { state, .. } = schedule;
    Ok((reached, state))
}

/// Iterations of which most are over all stripes.
pub(crate) struct DenseSchedule<'a> {
    context: &'a Context<'a>,
    kernel: AnyKernel<'a>,
    /// One window of all sources.
    window: Cuts,
    resume: &'a Resume<'a>,
    state: State,
    /// States of edges, by stripe.
    states: Option<EdgeStates>,
    tiles: Option<&'a IndexedTiles<'a>>,
    /// Accumulators of a stripe and buffers, made when a stripe is folded first: a search by rows
    /// never needs them.
    workers: PerWorker<WorkerState<'a>>,
    shortcuts: Shortcuts<'a>,
    /// Bytes of chunks that are looked at before the run is ended by relaxing, if it ever is.
    due: Option<u64>,
    must_relax: bool,
    /// Bytes of chunks that were looked at.
    looked: u64,
}

impl Schedule for DenseSchedule<'_> {
    fn is_idle(&self) -> bool {
        matches!(self.kernel, AnyKernel::Fold(_)) && self.state.active_count == 0
    }

    fn step(&mut self, iterations: u64, last: &[u8]) -> Result<Step, EngineError> {
        let graph = self.context.graph;
        let sparse = match &mut self.shortcuts.traversal {
            Some(traversal) => traversal.step(&mut self.state, last)?,
            None => None,
        };
        let (total, level) = match sparse {
            Some(done) => done,
            None => self.iterate_all(last, iterations == 0)?,
        };
        let frontier = self.state.shape.capabilities.frontier;
        let looked_up = frontier || self.shortcuts.by_rows.is_some();
        let bytes = if looked_up { level.edges * 4 } else { graph.chunk_bytes() };
        Ok(Step { total, level, bytes })
    }

    fn columns(&mut self) -> checkpoint::CheckpointColumns<'_> {
        if let Some(traversal) = &mut self.shortcuts.traversal {
            traversal.show(&mut self.state);
        }
        self.state.columns(self.context.graph, self.states.as_ref())
    }

    fn lookups(&self) -> [u64; 2] {
        self.shortcuts.traversal.as_ref().map_or([0; 2], |traversal| traversal.lookups())
    }

    fn must_relax(&self) -> bool {
        self.must_relax
    }

    fn relax(&mut self, reached: &mut RunProgress) -> Result<bool, EngineError> {
        if self.due.is_none_or(|due| self.looked < due) {
            return Ok(false);
        }
        let Some(traversal) = &mut self.shortcuts.traversal else { return Ok(false) };
        let Some(cut) = Blocking::new(self.context.graph, &self.state, self.must_relax)? else {
            self.due = None;
            return Ok(false);
        };
        self.workers = PerWorker::none();
        reached.lookups = traversal.lookups();
        let columns = self.state.take()?;
        let bytes = traversal.relax(&cut, columns, reached, self.resume)?;
        let width = self.state.shape.value;
        self.state.values = StripedColumn::Memory { bytes, width };
        Ok(true)
    }
}

impl DenseSchedule<'_> {
    /// Sets values, signals and totals of all vertices.
    fn init(&mut self) -> Result<Vec<u8>, EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let kernel = self.kernel.kernel();
        let StripeSlices { stripes: parts, values: place, .. } = self.state.parts(graph);
        let mut ios = part_ios(self.context, place)?;
        workers.for_each(parts, progress, &mut ios, |(io, active), part| {
            let StripeSlice { mut values, mut columns, .. } = part;
            io.open_blank(&mut values)?;
            let degrees = &graph.degrees[columns.stripe.vertices.start as usize..];
            columns.init((graph, kernel), degrees, &mut values);
            *active += columns.active_count;
            io.put(values)
        })?;
        let active_count = finish(ios)?;
        Ok(self.close(active_count))
    }

    /// Ends an iteration that met all stripes: what was written is what is read next.
    fn close(&mut self, active_count: u64) -> Vec<u8> {
        self.state.active_count = active_count;
        self.state.swap();
        self.kernel.kernel().total(&self.state.totals)
    }

    /// An iteration over all stripes.
    fn iterate_all(
        &mut self,
        last: &[u8],
        is_first: bool,
    ) -> Result<(Vec<u8>, IterationStats), EngineError> {
        let Context { graph, workers, .. } = *self.context;
        if self.workers.is_empty() {
            let shape = self.state.shape;
            self.workers = workers.per_worker(|| WorkerState::new(graph, &shape))?;
        }
        if let Some(by_rows) = &mut self.shortcuts.by_rows {
            let kernel = self.kernel.kernel();
            return by_rows.iterate(
                (self.context, kernel),
                &mut self.state,
                last,
                &mut self.workers,
            );
        }
        let (total, level) = self.dense(last, is_first)?;
        self.looked += self.workers.iter_mut().map(WorkerState::take_bytes).sum::<u64>();
        if let Some(traversal) = &mut self.shortcuts.traversal {
            traversal.after_all(self.state.active_count, level)?;
        }
        Ok((total, level))
    }

    fn dense(
        &mut self,
        last: &[u8],
        is_first: bool,
    ) -> Result<(Vec<u8>, IterationStats), EngineError> {
        let Context { graph, workers, progress, .. } = *self.context;
        let shape = self.state.shape;
        let scattering = self.state.active_count;
        let none = self.kernel.kernel().total(&[]);
        let (resident, lanes) = self.states.as_mut().map(EdgeStates::parts).unzip();
        let rewriter = || lanes.map(|lanes| Rewriter::new(lanes, is_first)).transpose();
        let mut rewriters = workers.per_worker(rewriter)?;
        let StripeSlices { stripes: mut parts, values: place, signals, active } =
            self.state.parts(graph);
        let mut resident = resident.unwrap_or_default();
        for part in &mut parts {
            part.states = resident.get_mut(part.number).map(std::mem::take).unwrap_or_default();
        }
        let mut ios = part_ios(self.context, place)?;
        let has_masks = shape.capabilities.frontier && scattering < graph.vertices();
        let masks = has_masks.then(|| Masks::of_flags(graph, active));
        // An update of an inactive vertex does no harm in a monotone program, and a branch at every
        // edge would.
        let active = (masks.is_some() && !shape.capabilities.monotone).then_some(active);
        let fold = stripe::Fold {
            edges: EdgeFold {
                graph,
                kernel: self.kernel,
                cuts: &self.window,
                masks: masks.as_ref(),
                is_short: false,
            },
            tiles: self.tiles,
            window: SourceWindow::new(0, (signals, shape.signal), active),
            signals,
            last,
            none: &none,
        };
        let tools = self.workers.iter_mut().zip(&mut ios).zip(&mut rewriters);
        let mut tools: Vec<_> = tools.collect();
        workers.for_each_ahead(
            parts,
            progress,
            &mut tools,
            |((state, (io, active)), rewriter), part, upcoming| {
                let mut upcoming = |place| upcoming.get(place).map(|part| part.number);
                *active += fold.stripe((part, &mut upcoming), state, io, rewriter)?;
                Ok(())
            },
        )?;
        let active_count = finish(ios)?;
        let mut rewriters = rewriters.iter_mut().flatten();
        rewriters.try_for_each(Rewriter::finish)?;
        let total = self.close(active_count);
        let edges =
            self.workers.iter_mut().map(|state| std::mem::take(&mut state.reader.edges)).sum();
        Ok((total, IterationStats::of(Mode::Dense, scattering, edges)))
    }
}

/// The ways of all workers to values, and the vertices that each finds active.
type PartIos<'s> = PerWorker<(PartIo<'s>, u64)>;

fn part_ios<'s>(
    context: &Context<'_>,
    values: ColumnPlace<'s>,
) -> Result<PartIos<'s>, EngineError> {
    context.workers.per_worker(|| Ok((values.io()?, 0)))
}

/// Waits until all values are written: the active vertices.
fn finish(ios: PartIos<'_>) -> Result<u64, EngineError> {
    ios.into_iter().try_fold(0, |active, (mut io, more)| {
        io.finish()?;
        Ok(active + more)
    })
}
