//! The iteration driver, route `spill`: updates wait on storage (X-Stream, section 3).
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

mod columns;
pub(crate) mod partitions;
pub(crate) mod records;

use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytemuck::bytes_of;
use welter_model::program::{Next, Program, Total};
use welter_progress::{Phase, Progress};
use welter_store::chunk::Chunk;

use self::columns::{Columns, Window};
use self::partitions::{cut, vertices};
use self::records::{Records, combine, emit, gather, group, tell};
use crate::EngineError;
use crate::checkpoint::{self, Checkpoints, Reached};
use crate::columns::groups::Groups;
use crate::columns::levels::{Level, Mode};
use crate::columns::outcome::Outcome;
use crate::columns::renew::{apply_part, init_part, resume_part};
use crate::columns::results::Values;
use crate::columns::state::Part;
use crate::columns::updates::{Pool, Reader, UpdateChunk, Writer};
use crate::columns::values::{Desk, StoredValues};
use crate::edges::graph::Graph;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch, Sources, fold_tile};
use crate::kernels::update_chunk::Cell;
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::slices::Slices;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::SpillPlan;
use crate::schedules::frontier::Masks;
use crate::schedules::limit::check_limit;

/// Runs a program on a graph.
///
/// # Errors
/// When storage fails, memory runs out, what is read is damaged, or the run is cancelled.
pub(crate) fn run<P: Program>(
    graph: &Graph,
    program: &P,
    plan: SpillPlan,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let (Some(storage), Some(degrees)) = (workers.storage(), &graph.degrees_stored) else {
        let what = "the plan keeps state on storage, and graph or workers do not";
        return Err(EngineError::internal(what));
    };
    graph.arena.drop_columns();
    let columns = Columns::new::<P>(graph, storage, plan, checkpoints.is_some())?;
    let kept = (&columns.values, columns.active.as_ref());
    let reached = checkpoint::restore_stored::<P>(checkpoints, graph, kept)?;
    let pool = Pool::new(storage, graph)?;
    let partitions = cut(graph, plan.sources);
    let benches = workers.states(|| Bench::<P>::new((graph, program), &columns, degrees, &pool))?;
    let mut window = Window::<P>::new(graph, &partitions, &columns)?;
    let driver = Driver { graph, program, plan, workers, progress, partitions, benches };
    let mut state = State::<P>::new(graph);
    let may_go_on = |iterations| program.limit().stated().is_none_or(|most| iterations < most);
    let goes_on =
        |reached: &Reached| program.next(reached.iterations, &reached.total()) == Next::Iterate;
    let mut reached = if let Some(reached) = reached {
        let go_on = may_go_on(reached.iterations) && goes_on(&reached);
        driver.turn(&mut state, &mut window, Basis::Values, go_on)?;
        reached
    } else {
        let total = driver.turn(&mut state, &mut window, Basis::Nothing, may_go_on(0))?;
        Reached::begun(bytes_of(&total))
    };
    phase.add(reached.iterations);
    while goes_on(&reached) && state.active_count > 0 {
        if progress.cancelled() {
            return Err(EngineError::Cancelled);
        }
        check_limit(program.limit(), graph, reached.iterations)?;
        let (active, edges) = (state.active_count, state.edges);
        let go_on = may_go_on(reached.iterations + 1);
        let last = reached.total();
        let total = driver.turn(&mut state, &mut window, Basis::Updates(&last), go_on)?;
        reached.note(bytes_of(&total));
        if P::FRONTIER {
            Level::of(Mode::Dense, active, edges).note(&mut reached.levels);
        }
        phase.add(1);
        phase.add_bytes(if P::FRONTIER { edges * 4 } else { graph.chunk_bytes() });
        let due = |all: &&Checkpoints| all.is_due::<P>(reached.iterations, graph);
        if let Some(checkpoints) = checkpoints.filter(due) {
            checkpoint::write::<P>(checkpoints, graph, columns.kept(), &reached)?;
        }
    }
    drop((driver, window));
    Ok(reached.outcome(Values::stored(columns.values, graph)))
}

/// Basis that the values of an iteration are made from.
#[derive(Clone, Copy)]
pub(crate) enum Basis<'t, T> {
    Nothing,
    /// Values are there, from a checkpoint; what follows from them is not.
    Values,
    /// Updates that wait. With the totals of the iteration before.
    Updates(&'t T),
}

/// State that changes from iteration to iteration.
struct State<P: Program> {
    /// The iteration that gathers next.
    turn: u64,
    /// Updates that wait, by stripe.
    waiting: Vec<Vec<UpdateChunk>>,
    /// How many updates these stand for.
    produced: u64,
    /// Edges that they came from.
    edges: u64,
    active_count: u64,
    totals: Vec<P::Total>,
}

impl<P: Program> State<P> {
    fn new(graph: &Graph) -> Self {
        Self {
            turn: 0,
            waiting: graph.stripes.iter().map(|_| Vec::new()).collect(),
            produced: 0,
            edges: 0,
            active_count: graph.vertices(),
            totals: vec![P::Total::default(); graph.vertices.segments()],
        }
    }
}

/// Tools that one worker has all along.
struct Bench<'g, P: Program> {
    /// Accumulators of a stripe; the identity, all of them, while nothing is done.
    accums: Buffer<P::Accum>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
    values: Desk<'g, P::Value>,
    degrees: Desk<'g, u32>,
    signals: Option<Desk<'g, P::Signal>>,
    active: Option<Desk<'g, u8>>,
    writer: Writer,
    reader: Reader,
    records: Records<P::Accum>,
    /// Records of updates that are told one by one, in programs that want it, and where they meet
    /// if these are grouped.
    told: Records<P::Update>,
    groups: Groups<P::Update>,
    counts: Counts,
}

/// Counts of a worker's work in an iteration.
#[derive(Clone, Copy, Default)]
struct Counts {
    edges: u64,
    produced: u64,
    gathered: u64,
    active: u64,
}

impl<'g, P: Program> Bench<'g, P> {
    fn new(
        (graph, program): (&'g Graph, &P),
        columns: &'g Columns,
        degrees: &'g StoredValues,
        pool: &Arc<Pool>,
    ) -> Result<Self, EngineError> {
        let mut accums = Buffer::zeroed(1 << graph.layout.stripe_bits)?;
        accums.fill(program.identity());
        Ok(Self {
            accums,
            scratch: Scratch::new(),
            chunks: ReadAhead::new(graph)?,
            values: Desk::new(&columns.values, graph)?,
            degrees: Desk::new(degrees, graph)?,
            signals: columns.signals.as_ref().map(|it| Desk::new(it, graph)).transpose()?,
            active: columns.active.as_ref().map(|it| Desk::new(it, graph)).transpose()?,
            writer: Writer::new(pool, &graph.arena)?,
            reader: Reader::new(pool, &graph.arena)?,
            records: Records::new(P::COMBINES),
            told: Records::new(!P::COMBINES),
            groups: Groups::new::<P>(graph)?,
            counts: Counts::default(),
        })
    }
}

/// Parts that all iterations of a run have in common.
struct Driver<'a, P: Program> {
    graph: &'a Graph,
    program: &'a P,
    plan: SpillPlan,
    workers: &'a Workers,
    progress: &'a Progress,
    /// Stripes of each partition.
    partitions: Vec<Range<usize>>,
    benches: Vec<Mutex<Bench<'a, P>>>,
}

impl<P: Program> Driver<'_, P> {
    /// Sets the values of all vertices, and scatters for the next iteration if there may be one.
    fn turn(
        &self,
        state: &mut State<P>,
        window: &mut Window<'_, P>,
        basis: Basis<'_, P::Total>,
        go_on: bool,
    ) -> Result<P::Total, EngineError> {
        let graph = self.graph;
        let expected = std::mem::take(&mut state.produced);
        state.turn += 1;
        // Updates for the next iteration are not to be met by this one.
        let next = graph.stripes.iter().map(|_| Vec::new()).collect();
        let mut waiting = std::mem::replace(&mut state.waiting, next);
        let mut masks = Masks::none(graph);
        let scatters = |fused: bool| go_on && self.plan.fused == fused;
        for partition in 0..self.partitions.len() {
            self.renew(partition, &mut waiting, state, window, basis)?;
            if scatters(true) {
                self.scatter(partition, state, window, &mut masks)?;
            }
        }
        for partition in 0..self.partitions.len() {
            if scatters(false) {
                window.load(graph, &vertices(graph, &self.partitions[partition]))?;
                self.scatter(partition, state, window, &mut masks)?;
            }
        }
        let mut all = Counts::default();
        for bench in &self.benches {
            let counts = std::mem::take(&mut lock(bench).counts);
            all.edges += counts.edges;
            all.produced += counts.produced;
            all.gathered += counts.gathered;
            all.active += counts.active;
        }
        if all.gathered != expected {
            let what = format!("{expected} updates were produced, and {} gathered", all.gathered);
            return Err(EngineError::Internal(what));
        }
        (state.edges, state.produced, state.active_count) = (all.edges, all.produced, all.active);
        Ok(state.totals.iter().fold(P::Total::default(), |sum, part| sum.merge(*part)))
    }

    /// Sets the values of a partition, and what its vertices say.
    fn renew(
        &self,
        partition: usize,
        waiting: &mut [Vec<UpdateChunk>],
        state: &mut State<P>,
        window: &mut Window<'_, P>,
        basis: Basis<'_, P::Total>,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let stripes = self.partitions[partition].clone();
        let own = vertices(graph, &stripes);
        window.open((own.end - own.start) as usize);
        let segments = stripes.clone().map(|stripe| graph.stripes[stripe].segments.clone());
        let first = segments.clone().next().map_or(0, |segments| segments.start);
        let end = segments.last().map_or(first, |segments| segments.end);
        let mut totals = Slices(&mut state.totals[first..end]);
        let mut signals = Slices(&mut window.signals[window.margin..]);
        let mut active = Slices(&mut window.active[window.margin..]);
        let parts = stripes.clone().map(|number| {
            let stripe = &graph.stripes[number];
            let part = Part {
                stripe,
                values: &mut [],
                signals: signals.take(stripe.width()),
                active: active.take(stripe.width()),
                totals: totals.take(stripe.segments.len()),
                active_count: stripe.width() as u64,
            };
            Mutex::new((part, std::mem::take(&mut waiting[number])))
        });
        let parts: Vec<_> = parts.collect();
        self.workers.tasks(parts.len(), self.progress, &self.benches, |bench, task| {
            let (part, waiting) = &mut *lock(&parts[task]);
            let number = stripes.start + task;
            match basis {
                Basis::Nothing => bench.init((graph, self.program), number, part)?,
                Basis::Values => bench.take_up(self.program, number, part)?,
                Basis::Updates(last) => {
                    let waiting = std::mem::take(waiting);
                    bench.apply((graph, self.program), number, (waiting, last), part)?;
                }
            }
            bench.counts.active += part.active_count;
            bench.store(number, part)
        })?;
        self.benches.iter().try_for_each(|bench| lock(bench).finish())
    }

    /// Scatters the edges of a partition, whose signals are in the window.
    fn scatter(
        &self,
        partition: usize,
        state: &mut State<P>,
        window: &Window<'_, P>,
        masks: &mut Masks,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let own = vertices(graph, &self.partitions[partition]);
        let Window { signals, active, margin, .. } = window;
        let (signals, active, margin) = (&signals[..], &active[..], *margin);
        let flags = &active[margin..][..(own.end - own.start) as usize];
        masks.add(graph, own.start, flags);
        let masks = &*masks;
        let reach = if graph.layout.wide_tiles {
            graph.signal_padding()
        } else {
            1 << graph.layout.block_bits
        };
        let wants = |stripe: usize| {
            let chunks = &graph.stripes[stripe].chunks;
            let first = chunks.partition_point(|place| place.sources.end <= own.start);
            let end = chunks.partition_point(|place| place.sources.start < own.end);
            (first..end)
                .filter(move |&chunk| masks.any(graph.blocks(chunks[chunk].sources.clone())))
        };
        let cell = |stripe| Cell { turn: state.turn, stripe, window: partition as u32 };
        let all_active = flags.iter().all(|&flag| flag != 0);
        let tasks = graph.stripes.len();
        self.workers.tasks_ahead(tasks, self.progress, &self.benches, |bench, task, next| {
            let Bench { accums, scratch, chunks, writer, records, told, counts, .. } = bench;
            let cell = cell(task as u32);
            let mut folded = 0;
            chunks.stripe((task, next), wants, |_, chunk: Chunk<'_>| {
                let coding = Coding::of::<P>(chunk.label());
                for tile in chunk.tiles() {
                    let ends = tile.source..tile.source + reach as u64;
                    let meets = ends.end > own.start && ends.start < own.end;
                    if !meets || !masks.any(graph.blocks(ends.clone())) {
                        continue;
                    }
                    let first = (tile.source + margin as u64 - own.start) as usize;
                    let sources = first..first + margin;
                    let inside = ends.start >= own.start && ends.end <= own.end;
                    let flags = (!inside || !all_active).then(|| &active[sources.clone()]);
                    let sources = Sources { signals: &signals[sources], active: flags };
                    if !P::COMBINES {
                        emit(self.program, &tile, coding, sources, scratch, told, |update| update);
                        if told.is_full() {
                            counts.produced += told.write(writer, cell, None)?;
                        }
                    } else if self.plan.combined {
                        let edges = 0..tile.edges;
                        fold_tile(self.program, &tile, edges, coding, sources, accums, scratch);
                        folded += tile.edges as u64;
                    } else {
                        let program = self.program;
                        let accum = |update| program.gather(program.identity(), update);
                        emit(program, &tile, coding, sources, scratch, records, accum);
                        if records.is_full() {
                            counts.produced += records.write(writer, cell, None)?;
                        }
                    }
                    counts.edges += tile.edges as u64;
                }
                Ok(())
            })?;
            if !P::COMBINES {
                counts.produced += told.write(writer, cell, None)?;
            } else if self.plan.combined {
                let accums = &mut accums[..graph.stripes[task].width()];
                counts.produced += combine(self.program, accums, cell, folded, records, writer)?;
            } else {
                counts.produced += records.write(writer, cell, None)?;
            }
            Ok(())
        })?;
        for bench in &self.benches {
            for chunk in lock(bench).writer.finish()? {
                state.waiting[chunk.cell.stripe as usize].push(chunk);
            }
        }
        Ok(())
    }
}

impl<P: Program> Bench<'_, P> {
    fn init(
        &mut self,
        (graph, program): (&Graph, &P),
        number: usize,
        part: &mut Part<'_, P>,
    ) -> Result<(), EngineError> {
        self.degrees.fetch(number)?;
        let mut values = self.values.blank()?;
        let degrees = self.degrees.take(number)?;
        dispatched(
            #[inline(always)]
            || init_part(graph, program, &degrees, &mut values, part),
        );
        self.degrees.done(degrees);
        self.values.put(number, values)
    }

    /// Takes values and flags as they are.
    fn take_up(
        &mut self,
        program: &P,
        number: usize,
        part: &mut Part<'_, P>,
    ) -> Result<(), EngineError> {
        self.values.fetch(number)?;
        if let Some(active) = &mut self.active {
            active.fetch(number)?;
            let column = active.take(number)?;
            part.active.copy_from_slice(&column[..part.active.len()]);
            active.done(column);
        }
        let values = self.values.take(number)?;
        resume_part(program, &values, part);
        self.values.done(values);
        Ok(())
    }

    /// Gathers the updates of a stripe, and applies them.
    fn apply(
        &mut self,
        (graph, program): (&Graph, &P),
        number: usize,
        (waiting, last): (Vec<UpdateChunk>, &P::Total),
        part: &mut Part<'_, P>,
    ) -> Result<(), EngineError> {
        self.values.fetch(number)?;
        let width = part.stripe.width();
        let accums = &mut self.accums[..width];
        let mut values;
        self.counts.gathered += if P::GROUPS {
            self.degrees.fetch(number)?;
            values = self.values.take(number)?;
            let degrees = self.degrees.take(number)?;
            let own = (&degrees[..width], &values[..width]);
            let met = group(program, waiting, own, accums, &mut self.groups, &mut self.reader)?;
            self.degrees.done(degrees);
            met
        } else if P::KNOWS_TARGET {
            values = self.values.take(number)?;
            tell(program, waiting, &values, accums, &mut self.reader)?
        } else {
            let met = gather(program, waiting, accums, &mut self.reader)?;
            values = self.values.take(number)?;
            met
        };
        dispatched(
            #[inline(always)]
            || apply_part(graph, program, last, (accums, &mut values), part),
        );
        accums.fill(program.identity());
        self.values.put(number, values)
    }

    /// Stores what the vertices of a stripe say, where scatter or a checkpoint comes later.
    fn store(&mut self, number: usize, part: &Part<'_, P>) -> Result<(), EngineError> {
        if let Some(signals) = &mut self.signals {
            let mut column = signals.blank()?;
            column[..part.signals.len()].copy_from_slice(part.signals);
            signals.put(number, column)?;
        }
        let Some(active) = &mut self.active else { return Ok(()) };
        let mut column = active.blank()?;
        column[..part.active.len()].copy_from_slice(part.active);
        active.put(number, column)
    }

    /// Waits until all columns are written.
    fn finish(&mut self) -> Result<(), EngineError> {
        self.values.finish()?;
        self.signals.as_mut().map_or(Ok(()), Desk::finish)?;
        self.active.as_mut().map_or(Ok(()), Desk::finish)
    }
}
