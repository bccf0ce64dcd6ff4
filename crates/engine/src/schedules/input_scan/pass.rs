//! Stream programs on a graph that stays in its input: passes over the input itself.
//!
//! States are those of slots. The parts of the input are shared; each batch is filtered for
//! candidates without a branch, as tiles are ([`crate::kernels::filter`]), and what is a candidate
//! is shown. A few edges of each vertex are those of the first parts: an input in no order has some
//! of every vertex there, and one in the order of its sources what it has.

use std::mem::{replace, take};
use std::ops::Range;

use welter_model::edges::{Batch, EdgeStream, Pair, Reading};
use welter_model::stream::{OverInput, StepStats};
use welter_progress::{Progress, Unit};

use super::results;
use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::keeper::Keeper;
use crate::footprints::schedules::REST_BYTES;
use crate::ingest::input::read;
use crate::kernels::bits::{Bits, End, Looks};
use crate::kernels::kernel::BUFFER;
use crate::kernels::pairs::PairRun;
use crate::kernels::stream::{InputKernel, StreamKernel};
use crate::kernels::streaming::Streaming;
use crate::machine::dispatch::dispatched;
use crate::machine::per_worker::PerWorker;
use crate::machine::workers::Workers;
use crate::schedules::context::Context;
use crate::schedules::pass::StreamOutcome;
use crate::schedules::steps::{CELLS, Passes, Showing, StepsOutcome, add_up, init, make_steps};

/// One in `FEW` parts has the few edges that are shown first.
const FEW: usize = 16;

/// Edges that were kept, and are shown in one task.
const KEPT: usize = 1 << 16;

/// Runs a stream program on a graph that stays in its input, unless it gives up.
///
/// # Errors
/// When the graph was made of its input, this cannot be read, memory runs out, or the run is
/// cancelled.
pub fn pass_over<S: OverInput>(
    graph: &Graph,
    program: &S,
    workers: &Workers,
    progress: &Progress,
) -> Result<Option<StreamOutcome<S::Value>>, EngineError> {
    let kernel = Box::new(Streaming::new(program, graph.slots() as usize)?);
    let ended = run((graph, workers, progress), kernel, program.begins())?;
    ended.map(StreamOutcome::of).transpose()
}

/// Runs a kernel. `begins`: the slots whose edges alone can be candidates in the first pass, where
/// they are known.
fn run(
    (graph, workers, progress): (&Graph, &Workers, &Progress),
    kernel: Box<dyn InputKernel + '_>,
    begins: Option<&[u64]>,
) -> Result<Option<StepsOutcome>, EngineError> {
    let Some(input) = &graph.input else {
        let what = "passes over the input want a graph that stays there";
        return Err(EngineError::internal(what));
    };
    input.with(|stream| {
        let edges = kernel.shape().passes.map(|passes| passes * stream.edges());
        let phase = progress.phase("pass", Unit::Edges, edges);
        let context = Context { graph, workers, progress, phase: &phase, checkpoints: None };
        let begun = begins.zip(input.begun.as_ref());
        let begun = begun.and_then(|(slots, begun)| begun.edges_of(slots));
        let run = InputRun::new(context, (stream, input.reading), kernel)?;
        InputRun { begun, ..run }.finish()
    })
}

/// A stream program at work.
struct InputRun<'a> {
    context: Context<'a>,
    stream: &'a dyn EdgeStream,
    reading: Reading,
    kernel: Box<dyn InputKernel + 'a>,
    /// Bits of the states of a step, where the program has such.
    bits: Option<Bits>,
    worker_states: PerWorker<WorkerState>,
    /// Parts that were shown already in this pass.
    shown: usize,
    /// Edges that can be candidates in the first pass, where that was noted before.
    begun: Option<&'a [Vec<Pair>]>,
    /// The edges that may still be candidates, if there is room for them.
    kept: Option<Vec<Vec<Pair>>>,
}

/// A worker's tools.
struct WorkerState {
    /// Counts of the edges that it has seen in a step.
    stats: StepStats<()>,
    /// Edges that it kept, or found for the rest.
    edges: Vec<Pair>,
    /// Places in a run.
    found: [u32; BUFFER],
    looks: Looks,
}

impl<'a> InputRun<'a> {
    fn new(
        context: Context<'a>,
        (stream, reading): (&'a dyn EdgeStream, Reading),
        mut kernel: Box<dyn InputKernel + 'a>,
    ) -> Result<Self, EngineError> {
        let Context { graph, workers, progress, .. } = context;
        init(&mut *kernel, &[], (workers, progress))?;
        let worker_states = workers.per_worker(|| {
            Ok(WorkerState {
                stats: StepStats::default(),
                edges: Vec::new(),
                found: [0; BUFFER],
                looks: Looks::default(),
            })
        })?;
        let bits = kernel.has_bits().then(|| Bits::new(graph.slots() as usize)).transpose()?;
        Ok(Self {
            context,
            stream,
            reading,
            kernel,
            bits,
            worker_states,
            shown: 0,
            begun: None,
            kept: None,
        })
    }

    /// Makes all steps, unless the program gives up.
    fn finish(mut self) -> Result<Option<StepsOutcome>, EngineError> {
        let context = self.context;
        let passes = make_steps(&context, &mut self, 0)?;
        passes.map(|passes| self.end(passes)).transpose()
    }

    /// Makes the bits of a step.
    fn ask(&mut self) -> Result<(), EngineError> {
        let (Some(bits), Context { workers, progress, .. }) = (&mut self.bits, self.context) else {
            return Ok(());
        };
        let parts: Vec<_> = bits.parts(CELLS).enumerate().collect();
        let mut counts = workers.per_worker(|| Ok(0))?;
        workers.for_each(parts, progress, &mut counts, |count, (task, mut part)| {
            *count += self.kernel.ask(task * CELLS, &mut part);
            Ok(())
        })?;
        bits.fold(counts.into_iter().sum());
        Ok(())
    }

    /// Shows the edges of some parts, or those that were kept, in runs of [`BUFFER`] at most.
    fn each_run(
        &self,
        parts: Range<usize>,
        worker_states: &mut PerWorker<WorkerState>,
        show: impl Fn(&mut WorkerState, PairRun<'_>) + Sync,
    ) -> Result<(), EngineError> {
        let Context { graph, workers, progress, phase, .. } = self.context;
        if let Some(kept) = self.begun.or(self.kept.as_deref()) {
            let tasks = kept.iter().flat_map(|list| list.chunks(KEPT));
            return workers.for_each(tasks, progress, worker_states, |worker, pairs| {
                worker.stats.looked += pairs.len() as u64;
                let batch = Batch { pairs, weights: None };
                dispatched(
                    #[inline(always)]
                    || {
                        runs(
                            Reading::default(),
                            &batch,
                            #[inline(always)]
                            |run| show(worker, run),
                        );
                    },
                );
                Ok(())
            });
        }
        let of = (self.stream, graph.slots());
        let tools = (workers, progress, phase);
        let parts = parts.map(|part| (part, ()));
        read(of, parts, worker_states, tools, |worker, (), batch| {
            worker.stats.looked += batch.pairs.len() as u64;
            dispatched(
                #[inline(always)]
                || {
                    runs(
                        self.reading,
                        batch,
                        #[inline(always)]
                        |run| show(worker, run),
                    );
                },
            );
        })
    }

    /// Edges that there is room for.
    fn room(&self) -> u64 {
        self.context.graph.plan.free_bytes() / REST_BYTES
    }

    /// The values.
    fn end(self, passes: u64) -> Result<StepsOutcome, EngineError> {
        let (Context { graph, workers, progress, .. }, kernel) = (self.context, &*self.kernel);
        let widths = [kernel.shape().value, 0];
        let (values, _) = results(graph, widths, (workers, progress), |part| {
            kernel.slot_values(part.slots, &graph.vertices, part.values);
        })?;
        Ok(StepsOutcome { values, passes, left: Vec::new() })
    }
}

impl Passes for InputRun<'_> {
    fn kernel(&self) -> &dyn StreamKernel {
        &*self.kernel
    }

    fn kernel_mut(&mut self) -> &mut dyn StreamKernel {
        &mut *self.kernel
    }

    /// Shows edges that may be candidates, and keeps those that may be later.
    fn show(&mut self, Showing { few, .. }: Showing) -> Result<(), EngineError> {
        let parts = self.stream.parts();
        let end = if few { parts.div_ceil(FEW) } else { parts };
        self.ask()?;
        let (kernel, bits) = (&*self.kernel, self.bits.as_ref());
        // Nothing can be kept of edges that are not all of them.
        let keeps = kernel.keeps() && !few && self.begun.is_none();
        let keeper = Keeper::new(if keeps { self.room() } else { 0 });
        let mut worker_states = replace(&mut self.worker_states, PerWorker::none());
        self.each_run(
            self.shown..end,
            &mut worker_states,
            #[inline(always)]
            |WorkerState { stats, edges, found, looks }, run| {
                let bits = bits.map(|bits| (bits, looks.first(bits, run.pairs)));
                let run = PairRun { bits, ..run };
                let shown = kernel.show_run(run, found);
                stats.candidates += shown.candidates;
                stats.changes += shown.changes;
                if keeps && keeper.has_all() {
                    let later = kernel.find_later(run, found);
                    keeper
                        .keep(edges, found[..later].iter().map(|&place| run.pairs[place as usize]));
                }
            },
        )?;
        if keeps {
            let lists = worker_states.iter_mut().map(|worker| take(&mut worker.edges));
            let kept = keeper.into_kept(lists);
            // The edges that were kept before are more, but all.
            self.kept = kept.or(self.kept.take());
        }
        self.worker_states = worker_states;
        self.begun = None;
        self.shown = if few { end } else { 0 };
        Ok(())
    }

    fn rest(&mut self, _: Showing) -> Result<(), EngineError> {
        self.ask()?;
        let (kernel, bits) = (&*self.kernel, self.bits.as_ref());
        let parts = 0..self.stream.parts();
        let mut worker_states = replace(&mut self.worker_states, PerWorker::none());
        self.each_run(
            parts,
            &mut worker_states,
            |WorkerState { stats, edges, found, .. }, run| {
                let run = PairRun { bits: bits.map(|bits| (bits, End::Target)), ..run };
                let candidates = kernel.find_candidates(run, found);
                stats.candidates += candidates as u64;
                edges.extend(found[..candidates].iter().map(|&place| run.pairs[place as usize]));
            },
        )?;
        let mut edges = Vec::new();
        for worker in &mut worker_states {
            edges.append(&mut take(&mut worker.edges));
        }
        self.worker_states = worker_states;
        self.kept = None;
        self.kernel.rest(edges);
        Ok(())
    }

    fn places(&self) -> usize {
        self.context.graph.slots() as usize
    }

    fn stats(&mut self) -> StepStats<()> {
        let kept = self.kept.as_ref().map(|lists| lists.iter().map(|list| list.len() as u64).sum());
        let room = self.room();
        let stats = self.worker_states.iter_mut().map(|worker| &mut worker.stats);
        StepStats { retained: kept, ..add_up(stats, room) }
    }

    fn falls_back(&mut self, stats: &StepStats<()>, passes: u64) -> Result<bool, EngineError> {
        if !self.kernel.should_fall_back(stats) {
            return Ok(false);
        }
        let graph = self.context.graph;
        let foreseen = self.kernel.foreseen(stats, graph.vertices());
        match graph.plan.passes_max() {
            None => Ok(true),
            Some(most) if foreseen > most || passes >= most => {
                Err(graph.plan.too_many_passes(graph.slots()))
            }
            Some(_) => Ok(false),
        }
    }
}

/// Cuts a batch into runs of edges as they are read as a graph, with their weights.
#[inline(always)]
fn runs(reading: Reading, batch: &Batch<'_>, mut show: impl FnMut(PairRun<'_>)) {
    let Reading { undirected, reversed, drop_self_loops, .. } = reading;
    if !(undirected || reversed || drop_self_loops) {
        for (run, pairs) in batch.pairs.chunks(BUFFER).enumerate() {
            let weights = batch.weights.map(|weights| &weights[run * BUFFER..][..pairs.len()]);
            show(PairRun { pairs, weights, bits: None });
        }
        return;
    }
    let (mut arcs, mut weighs) = ([[0; 2]; BUFFER], [0.0; BUFFER]);
    for (run, pairs) in batch.pairs.chunks(BUFFER / 2).enumerate() {
        let mut count = 0;
        let mut add = |arc: Pair, place: usize| {
            arcs[count] = arc;
            weighs[count] =
                batch.weights.map_or(1.0, |weights| weights[run * (BUFFER / 2) + place]);
            count += 1;
        };
        for (place, &[source, target]) in pairs.iter().enumerate() {
            let is_loop = source == target;
            if is_loop && drop_self_loops {
                continue;
            }
            if undirected || !reversed {
                add([source, target], place);
            }
            // The reverse of a loop is the loop.
            if (undirected && !is_loop) || (reversed && !undirected) {
                add([target, source], place);
            }
        }
        let weights = batch.weights.map(|_| &weighs[..count]);
        show(PairRun { pairs: &arcs[..count], weights, bits: None });
    }
}
