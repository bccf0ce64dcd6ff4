//! Stream programs on a graph that stays in its input: passes over the input itself.
//!
//! Cells are those of slots. The parts of the input are shared; each batch is sifted for news
//! without a branch, as tiles are ([`crate::kernels::sift`]), and what is news is shown. A few
//! edges of each vertex are those of the first parts: an input in no order has some of every vertex
//! there, and one in the order of its sources what it has.

use std::ops::Range;
use std::sync::Mutex;

use welter_model::edges::{Batch, EdgeStream, Pair, Reading};
use welter_model::stream::{Edge, Known, Next, OverInput, Seen, Stream};
use welter_progress::{Phase, Progress, Unit};

use super::bits::{Bits, End, Looks};
use super::{read, results};
use crate::EngineError;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::edges::keeper::Keeper;
use crate::kernels::kernel::BUFFER;
use crate::machine::dispatch::dispatched;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::limit::check_limit;
use crate::schedules::pass::{Learnt, Passed, REST_BYTES, add_up, check};

/// One in so many parts has the few edges that are shown first.
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
) -> Result<Option<Passed<S::Value>>, EngineError> {
    let Some(input) = &graph.input else {
        let what = "passes over the input want a graph that stays there";
        return Err(EngineError::internal(what));
    };
    input.with(|stream| {
        let edges = S::PASSES.map(|passes| passes * stream.edges());
        let phase = progress.phase("pass", Unit::Edges, edges);
        let of = (graph, stream, input.reading);
        let begun = program.begins().zip(input.begun.as_ref());
        let begun = begun.and_then(|(slots, begun)| begun.edges_of(slots));
        let passes = Passes::new(of, program, workers, (progress, &phase))?;
        Passes { begun, ..passes }.all()
    })
}

/// A few edges, [`BUFFER`] at most.
struct Run<'a> {
    pairs: &'a [Pair],
    weights: Option<&'a [f64]>,
}

/// A stream program at work.
struct Passes<'a, S: Stream> {
    graph: &'a Graph,
    stream: &'a dyn EdgeStream,
    reading: Reading,
    program: &'a S,
    workers: &'a Workers,
    progress: &'a Progress,
    phase: &'a Phase,
    learnt: Learnt<S>,
    /// Bits of the cells of a step, where the program has such.
    bits: Option<Bits>,
    worker_states: Vec<Mutex<WorkerState>>,
    /// Parts that were shown already in this pass.
    shown: usize,
    /// All that can be news in the first pass, where that was noted before.
    begun: Option<&'a [Vec<Pair>]>,
    /// The edges that may still be news, if there is room for them.
    kept: Option<Vec<Vec<Pair>>>,
    /// How many passes over the edges there were.
    made: u64,
}

/// A worker's tools.
struct WorkerState {
    /// Counts of the edges that it has seen in a step.
    seen: Seen<()>,
    /// Edges that it kept, or found for the rest.
    edges: Vec<Pair>,
    /// Places in a run.
    found: [u32; BUFFER],
    looks: Looks,
}

impl<'a, S: OverInput> Passes<'a, S> {
    fn new(
        (graph, stream, reading): (&'a Graph, &'a dyn EdgeStream, Reading),
        program: &'a S,
        workers: &'a Workers,
        (progress, phase): (&'a Progress, &'a Phase),
    ) -> Result<Self, EngineError> {
        let slots = graph.slots() as usize;
        let learnt = Learnt::new(program, slots, |_| 0, (workers, progress))?;
        let worker_states = workers.states(|| {
            Ok(WorkerState {
                seen: Seen::default(),
                edges: Vec::new(),
                found: [0; BUFFER],
                looks: Looks::default(),
            })
        })?;
        Ok(Self {
            graph,
            stream,
            reading,
            program,
            workers,
            progress,
            phase,
            learnt,
            bits: S::BITS.then(|| Bits::new(slots)).transpose()?,
            worker_states,
            shown: 0,
            begun: None,
            kept: None,
            made: 0,
        })
    }

    /// Makes steps until the program stops, or gives up.
    fn all(mut self) -> Result<Option<Passed<S::Value>>, EngineError> {
        let mut next = self.program.first();
        loop {
            let (step, seen) = match next {
                Next::Few(step) => (step, self.pass(step, true)?),
                Next::Pass(step) => (step, self.pass(step, false)?),
                Next::Settle(step) => (step, self.settle(step)?),
                Next::Rest(step) => (step, self.rest(step)?),
                Next::Stop => return self.end().map(Some),
            };
            if self.program.should_fall_back(step, &seen) {
                let foreseen = self.program.foreseen(step, &seen, self.graph.vertices());
                match self.graph.plan.passes_max() {
                    None => return Ok(None),
                    Some(most) if foreseen > most || self.made >= most => {
                        return Err(self.graph.plan.too_many_passes(self.graph.slots()));
                    }
                    Some(_) => {}
                }
            }
            check(self.program, step, &seen)?;
            next = self.program.next(step, &seen);
        }
    }

    fn known(&self) -> Known<'_, S> {
        self.learnt.known()
    }

    /// Shows edges that may be news, and keeps those that may be later.
    fn pass(&mut self, step: S::Step, few: bool) -> Result<Seen<S::Total>, EngineError> {
        if !few {
            self.begin_pass()?;
        }
        let parts = self.stream.parts();
        let end = if few { parts.div_ceil(FEW) } else { parts };
        self.ask(step)?;
        let (program, known, bits) = (self.program, self.known(), self.bits.as_ref());
        // Nothing can be kept of edges that are not all of them.
        let keeps = S::KEEPS && !few && self.begun.is_none();
        let keeper = Keeper::new(if keeps { self.room() } else { 0 });
        let news = |source: &S::Cell, target: &S::Cell| program.news(step, source, target);
        let later = |source: &S::Cell, target: &S::Cell| program.later(step, source, target);
        self.each_run(
            self.shown..end,
            #[inline(always)]
            |WorkerState { seen, edges, found, looks }, Run { pairs, weights }| {
                let bits = bits.map(|bits| (bits, looks.first(bits, pairs)));
                for &place in sift(known.cells, (bits, true), pairs, found, news) {
                    let [source, target] = pairs[place as usize];
                    let weights = weights.filter(|_| S::WEIGHTED);
                    let weight = weights.map_or(1.0, |weights| weights[place as usize]);
                    let edge = Edge { source, target, weight };
                    let changes = program.edge(step, known, edge);
                    seen.changes += u64::from(changes);
                    seen.news += 1;
                    // What follows need not look at the cells of this target again.
                    if let Some((bits, _)) = bits.filter(|_| changes)
                        && let [_, false] = program.bits(step, &known.cells[target as usize])
                    {
                        bits.done(target);
                    }
                }
                if S::KEEPS && keeps && keeper.has_all() {
                    let later = sift(known.cells, (bits, false), pairs, found, later);
                    keeper.keep(edges, later.iter().map(|&place| pairs[place as usize]));
                }
            },
        )?;
        if keeps {
            let lists =
                self.worker_states.iter().map(|worker| std::mem::take(&mut lock(worker).edges));
            let kept = keeper.into_kept(lists);
            // What was kept before is more, but it is all.
            self.kept = kept.or(self.kept.take());
        }
        self.begun = None;
        self.shown = if few { end } else { 0 };
        Ok(self.seen())
    }

    /// Counts a pass, unless there were too many.
    fn begin_pass(&mut self) -> Result<(), EngineError> {
        check_limit(self.program.limit(), self.graph, self.made)?;
        self.made += 1;
        Ok(())
    }

    /// Makes the bits of a step.
    fn ask(&mut self, step: S::Step) -> Result<(), EngineError> {
        let tools = (self.workers, self.progress);
        self.bits
            .iter_mut()
            .try_for_each(|bits| bits.ask(self.program, step, &self.learnt.cells, tools))
    }

    /// Hands over the edges that are news.
    fn rest(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        self.begin_pass()?;
        self.ask(step)?;
        let (program, known, bits) = (self.program, self.known(), self.bits.as_ref());
        let news = |source: &S::Cell, target: &S::Cell| program.news(step, source, target);
        let parts = 0..self.stream.parts();
        self.each_run(parts, |WorkerState { seen, edges, found, .. }, Run { pairs, .. }| {
            let bits = bits.map(|bits| (bits, End::Target));
            let news = sift(known.cells, (bits, true), pairs, found, news);
            seen.news += news.len() as u64;
            edges.extend(news.iter().map(|&place| pairs[place as usize]));
        })?;
        let mut edges = Vec::new();
        for worker in &self.worker_states {
            edges.append(&mut std::mem::take(&mut lock(worker).edges));
        }
        self.kept = None;
        self.program.rest(self.known(), edges);
        Ok(self.seen())
    }

    /// Shows the edges of some parts, or those that were kept, in runs of [`BUFFER`] at most.
    fn each_run(
        &self,
        parts: Range<usize>,
        show: impl Fn(&mut WorkerState, Run<'_>) + Sync,
    ) -> Result<(), EngineError> {
        if let Some(kept) = self.begun.or(self.kept.as_deref()) {
            let tasks: Vec<&[Pair]> = kept.iter().flat_map(|list| list.chunks(KEPT)).collect();
            return self.workers.tasks(
                tasks.len(),
                self.progress,
                &self.worker_states,
                |worker, task| {
                    worker.seen.looked += tasks[task].len() as u64;
                    let batch = Batch { pairs: tasks[task], weights: None };
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
                },
            );
        }
        let of = (self.stream, self.graph.slots());
        let tools = (self.workers, self.progress, self.phase);
        read(of, parts, &self.worker_states, tools, |worker, _, batch| {
            worker.seen.looked += batch.pairs.len() as u64;
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

    /// Lets all slots be settled.
    fn settle(&mut self, step: S::Step) -> Result<Seen<S::Total>, EngineError> {
        let tools = (self.workers, self.progress);
        let total = self.learnt.settle(self.program, step, self.learnt.cells.len(), tools)?;
        Ok(Seen { total, ..self.seen() })
    }

    /// Edges that there is room for.
    fn room(&self) -> u64 {
        self.graph.plan.free_bytes() / REST_BYTES
    }

    /// Counts of all workers since they were asked last.
    fn seen(&self) -> Seen<S::Total> {
        let kept = self.kept.as_ref().map(|lists| lists.iter().map(|list| list.len() as u64).sum());
        let mut worker_states: Vec<_> = self.worker_states.iter().map(lock).collect();
        let seen = worker_states.iter_mut().map(|worker| &mut worker.seen);
        Seen { kept, ..add_up(seen, self.room()) }
    }

    /// The values.
    fn end(self) -> Result<Passed<S::Value>, EngineError> {
        let Self { graph, program, workers, progress, made, .. } = self;
        let known = self.known();
        let number = |slot: u32| graph.vertices.index(slot.into()) as u32;
        let value = |slot| (program.numbered(program.value(known, slot), number), ());
        let (values, ()) = results(graph, (workers, progress), value)?;
        let values = Values::resident(values).rows()?;
        Ok(Passed { values, passes: made, left: Vec::new() })
    }
}

/// Cuts a batch into runs of edges as they are read as a graph, with their weights.
#[inline(always)]
fn runs(reading: Reading, batch: &Batch<'_>, mut show: impl FnMut(Run<'_>)) {
    let Reading { undirected, reversed, drop_self_loops, .. } = reading;
    if !(undirected || reversed || drop_self_loops) {
        for (run, pairs) in batch.pairs.chunks(BUFFER).enumerate() {
            let weights = batch.weights.map(|weights| &weights[run * BUFFER..][..pairs.len()]);
            show(Run { pairs, weights });
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
        show(Run { pairs: &arcs[..count], weights });
    }
}

/// Notes the places of the edges that a rule of two cells holds for, without a branch. Where there
/// are bits, that is asked only of targets with a bit whose sources have one, or have none; the end
/// that fewer have is looked at first, since each look may be a miss of the cache.
#[inline(always)]
fn sift<'f, C>(
    cells: &[C],
    (bits, from): (Option<(&Bits, End)>, bool),
    pairs: &[Pair],
    found: &'f mut [u32; BUFFER],
    rule: impl Fn(&C, &C) -> bool,
) -> &'f [u32] {
    let rule = |[source, target]: Pair| rule(&cells[source as usize], &cells[target as usize]);
    let Some((bits, first)) = bits else { return note(pairs, found, rule) };
    let has = |end, [source, target]: Pair| match end {
        End::Source => bits.has(end, source) == from,
        End::Target => bits.has(end, target),
    };
    let (first, second) = if from && first == End::Source {
        (first, End::Target)
    } else {
        (End::Target, End::Source)
    };
    let count = match bits.few().filter(|_| from) {
        Some(few) => {
            let count = note(pairs, found, |[source, _]| few.may_have(source)).len();
            keep(pairs, &mut found[..count], |pair| has(first, pair))
        }
        None => note(pairs, found, |pair| has(first, pair)).len(),
    };
    let count = keep(pairs, &mut found[..count], |pair| has(second, pair));
    let count = keep(pairs, &mut found[..count], rule);
    &found[..count]
}

/// Keeps those places whose edges a rule holds for, and says how many they are.
#[inline(always)]
fn keep(pairs: &[Pair], found: &mut [u32], rule: impl Fn(Pair) -> bool) -> usize {
    let mut kept = 0;
    for number in 0..found.len() {
        let place = found[number];
        found[kept] = place;
        kept += usize::from(rule(pairs[place as usize]));
    }
    kept
}

/// Notes the places of the edges that a rule holds for.
#[inline(always)]
fn note<'f>(
    pairs: &[Pair],
    found: &'f mut [u32; BUFFER],
    rule: impl Fn(Pair) -> bool,
) -> &'f [u32] {
    let mut count = 0;
    for (place, pair) in pairs.iter().enumerate() {
        found[count] = place as u32;
        count += usize::from(rule(*pair));
    }
    &found[..count]
}
