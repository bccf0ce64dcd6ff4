//! Passes over all edges, for stream programs.
//!
//! A task is a stripe, so what a thread learns of targets stays in its second-level cache. Steps
//! whose edges have no order begin each stripe at another place of its list: sources are those of
//! all workers, and were all to begin with the first ones, threads would write the same lines, one
//! after the other. A program may want to see a few edges of each vertex first, those of the same
//! few sources in all stripes, so that it can tidy up before it sees the others.
//!
//! Steps that hand on what changed sweep over the edges, up and down in turns: what one vertex
//! learns reaches the next one in the same pass, wherever ids tell who is near whom.
//!
//! Components of R-MAT scrambled 22 with 2 threads, in an early form: 245 ms without either (137
//! with one thread), 165 with the turned order, 63 with a few edges first as well (113). With a
//! 32nd or an eighth of the edges first instead of a sixteenth it took 80 and 87; letting each
//! stripe first spread the smallest number along its own edges, without joining anything, 64 to 77.
//! First edges from about the diagonal instead of the same sources made 24 million edges candidates
//! on R-MAT scrambled 24 instead of 10 million, of 8.9 million vertices.

mod compacted;
mod contract;
mod contracted;
mod contracted_pass;
mod order;
mod resume;
mod run;
mod show;
mod stale;

use std::mem::take;

use welter_model::checkpointable::Checkpointable;
use welter_model::program::Value;
use welter_model::stream::{RevisitPolicy, StepStats, Stream};
use welter_progress::{Progress, Unit};

use self::order::Share;
use self::run::{StreamRun, places};
use self::show::{Newer, Writes};
use self::stale::Stale;
use crate::EngineError;
use crate::checkpoint::Checkpoints;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::footprints::schedules::REST_BYTES;
use crate::kernels::stream::{AnyStream, ShownCounts, StreamKernel};
use crate::kernels::streaming::Streaming;
use crate::machine::affinity::PinnedWorkers;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::context::Context;
use crate::schedules::steps::{
    Generation, Passes, Showing, StepsOutcome, add_up, init, make_steps, values,
};

/// Outcome of a stream program.
#[derive(Debug)]
pub struct StreamOutcome<V: Value> {
    /// Values of all vertices, or of those that have a row ([`Value::LISTED`]).
    pub values: Values<V>,
    /// Passes over the edges that were made.
    pub passes: u64,
    /// Each generation that was made of the edges that were left.
    pub left: Vec<Generation>,
}

impl<V: Value> StreamOutcome<V> {
    /// Values that have a row, of their type.
    pub(crate) fn of(ended: StepsOutcome) -> Result<Self, EngineError> {
        let StepsOutcome { values, passes, left } = ended;
        Ok(Self { values: Values::resident(values.typed()).rows()?, passes, left })
    }
}

/// Runs a stream program.
///
/// # Errors
/// When memory runs out, a chunk is damaged, or the run is cancelled.
pub fn pass<S: Stream>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
) -> Result<StreamOutcome<S::Value>, EngineError> {
    let kernel = Box::new(Streaming::new(program, places(graph))?);
    StreamOutcome::of(run((graph, workers, progress, None), AnyStream::Plain(kernel))?)
}

/// Runs a stream program from its last checkpoint, if there is one, and writes more.
///
/// # Errors
/// As [`pass`]; also when a checkpoint cannot be written or read, or belongs to another graph or
/// program.
pub fn pass_resumable<S: Checkpointable>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
    checkpoints: Option<&Checkpoints>,
) -> Result<StreamOutcome<S::Value>, EngineError> {
    let kernel = Box::new(Streaming::new(program, places(graph))?);
    StreamOutcome::of(run((graph, workers, progress, checkpoints), AnyStream::Resumable(kernel))?)
}

/// Runs a kernel. The phase is that of the passes: states that are made before it and values that
/// are made after it move no edges, and do not count for what a device gave.
fn run(
    (graph, workers, progress, checkpoints): (&Graph, &Workers, &Progress, Option<&Checkpoints>),
    mut kernel: AnyStream<'_>,
) -> Result<StepsOutcome, EngineError> {
    if checkpoints.is_some() {
        // Checkpoints may lie on the device whose files of bins are still being closed.
        workers.wait_for_closed_files();
    }
    let edges = kernel.kernel().shape().passes.map(|passes| passes * graph.edges());
    init(kernel.kernel_mut(), &graph.degrees, (workers, progress))?;
    let phase = progress.phase("pass", Unit::Edges, edges);
    let context = Context { graph, workers, progress, phase: &phase, checkpoints };
    let (kernel, passes, left) = StreamRun::new(context, kernel).finish()?;
    drop(phase);
    let kernel = kernel.kernel();
    let bytes = graph.vertices() as usize * kernel.shape().value;
    let mut column = Buffer::used(bytes, &graph.arena)?;
    graph.arena.drop_columns();
    values(kernel, &mut column, (workers, progress))?;
    Ok(StepsOutcome { values: column, passes, left })
}

impl<'k> StreamRun<'_, 'k> {
    /// Makes all steps, from the last checkpoint on, if there is one. The kernel, the passes that
    /// were made, and the generations of edges.
    fn finish(mut self) -> Result<(AnyStream<'k>, u64, Vec<Generation>), EngineError> {
        let before = self.restore()?;
        let context = self.context;
        let _own_cores = PinnedWorkers::new(context.workers, context.graph.is_streamed());
        let passes = make_steps(&context, &mut self, before)?;
        let passes = passes.ok_or_else(|| EngineError::internal("passes over a graph gave up"))?;
        let Self { kernel, left, .. } = self;
        Ok((kernel, passes, left))
    }

    /// Goes over to what is newer.
    fn end_pass(&mut self, newer: Option<Newer>) {
        self.stale.end_pass();
        match newer {
            Some(Newer::Edges(graph)) => {
                self.left.push(Generation { edges: graph.edges(), parallel: None });
                self.stale = Stale::new(&graph);
                self.newer = Some(*graph);
            }
            Some(Newer::Contracted(contracted)) => {
                let parallel = Some(contracted.parallel);
                self.left.push(Generation { edges: contracted.edges, parallel });
                self.contracted = Some(contracted);
            }
            None => {}
        }
    }
}

impl Passes for StreamRun<'_, '_> {
    fn kernel(&self) -> &dyn StreamKernel {
        self.kernel.kernel()
    }

    fn kernel_mut(&mut self) -> &mut dyn StreamKernel {
        self.kernel.kernel_mut()
    }

    fn show(&mut self, step: Showing) -> Result<(), EngineError> {
        let Showing { again, few, passes } = step;
        let share = match (few, self.begun) {
            (true, _) => Share::Few,
            (false, true) => Share::Others,
            (false, false) => Share::All,
        };
        self.begun = few;
        let kernel = self.kernel.kernel();
        if let Some(contracted) = &self.contracted
            && again == RevisitPolicy::Never
        {
            let newer = self.pass_contracted(contracted)?.map(Newer::Contracted);
            self.end_pass(newer);
            return Ok(());
        }
        let (is_first, contracts) = (passes == 1, kernel.shape().contracts);
        let writes = Writes {
            edges: !is_first && compacted::is_worthwhile(self.edges(), share, again),
            contracted: !is_first
                && contracts
                && contract::is_worthwhile(self.edges(), share, again),
        };
        let newer = self.each_chunk(step, (share, writes), |tools, part| {
            let mut sum = ShownCounts::default();
            part.each_tile(kernel.shape(), |tile| {
                let found = part.is_written.then_some(&mut tools.found);
                let shown = kernel.show(tile, &mut tools.scratch, found);
                sum.candidates += shown.candidates;
                sum.changes += shown.changes;
            });
            sum
        })?;
        self.end_pass(newer);
        Ok(())
    }

    fn rest(&mut self, step: Showing) -> Result<(), EngineError> {
        let kernel = self.kernel.kernel();
        self.each_chunk(step, (Share::All, Writes::NOTHING), |tools, part| {
            let before = tools.rest.len();
            part.each_tile(kernel.shape(), |tile| {
                kernel.find(tile, &mut tools.scratch, &mut tools.found);
                let found = tools.found.drain(..);
                tools.rest.extend(found.map(|edge| [edge.source, edge.target]));
            });
            ShownCounts { candidates: (tools.rest.len() - before) as u64, changes: 0 }
        })?;
        self.stale.end_pass();
        let mut edges = Vec::new();
        for tools in &mut *lock(&self.tools) {
            edges.append(&mut take(&mut tools.rest));
        }
        self.kernel.kernel().rest(edges);
        Ok(())
    }

    fn places(&self) -> usize {
        self.context.graph.vertices() as usize
    }

    fn finalized(&mut self) {
        self.stale.begin_anew();
    }

    fn stats(&mut self) -> StepStats<()> {
        let room = self.context.graph.free_bytes() / REST_BYTES;
        add_up(lock(&self.tools).iter_mut().map(|tools| &mut tools.stats), room)
    }

    fn passed(&mut self, passes: u64) -> Result<(), EngineError> {
        self.keep(passes)
    }
}
