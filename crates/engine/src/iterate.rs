//! The iteration driver, route `fold`: scatter, gather and apply in one pass over the chunks.
//!
//! A worker takes a stripe, folds all its edges into its own accumulators, and applies them while
//! they are in the cache. Values change in place; signals have two columns that swap roles, because
//! other stripes still read what this one said last.

use std::ops::Range;
use std::sync::Mutex;

use welter_model::program::{Applied, Next, Program, Total, Vertex};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::arena::Buffer;
use crate::dispatch::dispatched;
use crate::graph::{Graph, Stripe};
use crate::kernel::{Scratch, Sources, fold_tile};
use crate::workers::{Workers, lock};

/// What a run leaves.
#[derive(Debug)]
pub struct Outcome<V, T> {
    /// Values of all vertices, in the order of the graph's vertex column.
    pub values: Buffer<V>,
    /// Iterations that were done.
    pub iterations: u64,
    /// Totals of the last iteration (of `init` when there was none).
    pub total: T,
}

/// Runs a program on a graph.
///
/// # Errors
/// When memory runs out, a chunk is damaged, or the run is cancelled.
pub fn run<P: Program>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let phase = progress.phase("iterate", Unit::Iterations, program.iterations_max());
    let mut state = State::<P>::new(graph)?;
    let mut total = state.init(graph, program, workers, progress)?;
    let benches = workers.states(|| Bench::<P>::new(graph))?;
    let mut iterations = 0;
    while program.next(iterations, &total) == Next::Iterate && state.any_active() {
        total = state.iterate(graph, program, &total, &benches, workers, progress)?;
        iterations += 1;
        phase.add(1);
        phase.add_bytes(graph.chunk_bytes());
    }
    Ok(Outcome { values: state.values, iterations, total })
}

/// Accumulators and buffers of one worker.
struct Bench<P: Program> {
    accums: Buffer<P::Accum>,
    scratch: Scratch,
}

impl<P: Program> Bench<P> {
    fn new(graph: &Graph) -> Result<Self, EngineError> {
        let accums = Buffer::zeroed(1 << graph.plan().stripe_bits)?;
        Ok(Self { accums, scratch: Scratch::new() })
    }
}

/// The columns of a run.
struct State<P: Program> {
    values: Buffer<P::Value>,
    /// What scatter reads, and what the next iteration will read.
    signals: [Buffer<P::Signal>; 2],
    /// Likewise, for programs whose vertices fall inactive; empty otherwise.
    active: [Buffer<u8>; 2],
    /// Totals by segment.
    totals: Vec<P::Total>,
    /// Vertices that scatter in the next iteration.
    active_count: u64,
    /// Stripes by falling number of edges, so that the longest do not come last.
    order: Vec<usize>,
}

/// The part of the columns that belongs to one stripe.
struct Part<'a, P: Program> {
    stripe: &'a Stripe,
    values: &'a mut [P::Value],
    signals: &'a mut [P::Signal],
    active: &'a mut [u8],
    totals: &'a mut [P::Total],
    active_count: u64,
}

impl<P: Program> State<P> {
    fn new(graph: &Graph) -> Result<Self, EngineError> {
        let count = graph.vertices() as usize;
        let padded = count + graph.signal_padding();
        let flags = if P::FRONTIER { padded } else { 0 };
        let mut order: Vec<usize> = (0..graph.stripes.len()).collect();
        order.sort_by_key(|&stripe| std::cmp::Reverse(graph.stripes[stripe].edges));
        Ok(Self {
            values: Buffer::zeroed(count)?,
            signals: [Buffer::zeroed(padded)?, Buffer::zeroed(padded)?],
            active: [Buffer::zeroed(flags)?, Buffer::zeroed(flags)?],
            totals: vec![P::Total::default(); graph.vertices.segments()],
            active_count: graph.vertices(),
            order,
        })
    }

    fn any_active(&self) -> bool {
        self.active_count > 0
    }

    /// Sets values, signals and totals of all vertices.
    fn init(
        &mut self,
        graph: &Graph,
        program: &P,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<P::Total, EngineError> {
        let (parts, _, _) = self.parts(graph);
        workers.tasks(parts.len(), progress, &workers.states(|| Ok(()))?, |(), task| {
            let mut part = lock(&parts[task]);
            dispatched(
                #[inline(always)]
                || init_part(graph, program, &mut part),
            );
            Ok(())
        })?;
        drop(parts);
        Ok(self.close())
    }

    fn iterate(
        &mut self,
        graph: &Graph,
        program: &P,
        last: &P::Total,
        benches: &[Mutex<Bench<P>>],
        workers: &Workers,
        progress: &Progress,
    ) -> Result<P::Total, EngineError> {
        let order = self.order.clone();
        let all_active = self.active_count == graph.vertices();
        let (parts, signals, active) = self.parts(graph);
        let active = (P::FRONTIER && !all_active).then_some(active);
        workers.tasks(parts.len(), progress, benches, |bench, task| {
            let mut part = lock(&parts[order[task]]);
            fold_stripe(graph, program, part.stripe, signals, active, bench)?;
            dispatched(
                #[inline(always)]
                || apply_part(graph, program, last, &bench.accums, &mut part),
            );
            Ok(())
        })?;
        let active_count = parts.iter().map(|part| lock(part).active_count).sum();
        drop(parts);
        self.active_count = active_count;
        Ok(self.close())
    }

    /// Cuts the columns by stripe. Also returns the columns to read.
    #[expect(clippy::type_complexity, reason = "three things for one caller pattern")]
    fn parts<'a>(
        &'a mut self,
        graph: &'a Graph,
    ) -> (Vec<Mutex<Part<'a, P>>>, &'a [P::Signal], &'a [u8]) {
        let [signals_now, signals_next] = &mut self.signals;
        let [active_now, active_next] = &mut self.active;
        let mut values = Column(&mut self.values[..]);
        let mut signals = Column(&mut signals_next[..]);
        let mut active = Column(&mut active_next[..]);
        let mut totals = Column(&mut self.totals[..]);
        let parts = graph.stripes.iter().map(|stripe| {
            let width = (stripe.vertices.end - stripe.vertices.start) as usize;
            let flags = if P::FRONTIER { width } else { 0 };
            Mutex::new(Part {
                stripe,
                values: values.take(width),
                signals: signals.take(width),
                active: active.take(flags),
                totals: totals.take(stripe.segments.len()),
                active_count: width as u64,
            })
        });
        (parts.collect(), signals_now, active_now)
    }

    /// Ends an iteration: what was written is what is read next. Merges totals in their order.
    fn close(&mut self) -> P::Total {
        self.signals.swap(0, 1);
        self.active.swap(0, 1);
        self.totals.iter().fold(P::Total::default(), |sum, total| sum.merge(*total))
    }
}

/// A column of which stripes take their parts, one after the other.
struct Column<'a, T>(&'a mut [T]);

impl<'a, T> Column<'a, T> {
    fn take(&mut self, count: usize) -> &'a mut [T] {
        let (front, rest) = std::mem::take(&mut self.0).split_at_mut(count);
        self.0 = rest;
        front
    }
}

/// The vertices of each segment of a stripe, relative to the stripe.
fn segments<'a>(graph: &'a Graph, stripe: &'a Stripe) -> impl Iterator<Item = Range<usize>> + 'a {
    let place = |segment| (graph.vertices.segment_start(segment) - stripe.vertices.start) as usize;
    stripe.segments.clone().map(move |segment| place(segment)..place(segment + 1))
}

#[inline(always)]
fn init_part<P: Program>(graph: &Graph, program: &P, part: &mut Part<'_, P>) {
    let base = part.stripe.vertices.start;
    let degrees = &graph.degrees[base as usize..];
    for (segment, total) in segments(graph, part.stripe).zip(&mut *part.totals) {
        *total = P::Total::default();
        for place in segment {
            let index = base + place as u64;
            let (value, share) = program.init(Vertex { index, out_degree: degrees[place].into() });
            part.values[place] = value;
            part.signals[place] = program.signal(&value);
            *total = total.merge(share);
        }
    }
    part.active.fill(1);
}

/// Folds all edges of a stripe into a worker's accumulators.
fn fold_stripe<P: Program>(
    graph: &Graph,
    program: &P,
    stripe: &Stripe,
    signals: &[P::Signal],
    active: Option<&[u8]>,
    bench: &mut Bench<P>,
) -> Result<(), EngineError> {
    let width = (stripe.vertices.end - stripe.vertices.start) as usize;
    bench.accums[..width].fill(program.identity());
    for place in &stripe.chunks {
        let chunk = graph.open(stripe, place)?;
        let reach = chunk.block_width() as usize;
        // Ingest fills less of a tile than its keys could name.
        let block = reach.min(1 << graph.plan.block_bits);
        for tile in chunk.tiles() {
            let sources = tile.source as usize..tile.source as usize + reach;
            let active = active.map(|active| &active[sources.clone()]);
            if active.is_some_and(|active| active[..block].iter().all(|&flag| flag == 0)) {
                continue;
            }
            let sources = Sources { signals: &signals[sources], active };
            fold_tile(
                program,
                &tile,
                chunk.label(),
                sources,
                &mut bench.accums,
                &mut bench.scratch,
            );
        }
    }
    Ok(())
}

#[inline(always)]
fn apply_part<P: Program>(
    graph: &Graph,
    program: &P,
    last: &P::Total,
    accums: &[P::Accum],
    part: &mut Part<'_, P>,
) {
    let mut count = 0;
    for (segment, total) in segments(graph, part.stripe).zip(&mut *part.totals) {
        *total = P::Total::default();
        for place in segment {
            let applied: Applied<P::Value, P::Total> =
                program.apply(part.values[place], accums[place], last);
            part.values[place] = applied.value;
            part.signals[place] = program.signal(&applied.value);
            *total = total.merge(applied.total);
            if P::FRONTIER {
                part.active[place] = applied.active.into();
                count += u64::from(applied.active);
            }
        }
    }
    if P::FRONTIER {
        part.active_count = count;
    }
}
