//! Relaxing a graph on storage part by part, where its answer is that of relaxing in any order.
//!
//! Level by level, a search of thousands of levels reads what is active again in each of them. Here
//! a worker takes a stripe, relaxes the edges that lead into it from vertices outside that changed
//! since it was there last, and then, a part of the stripe at a time, reads the edges inside and
//! relaxes these until nothing changes any more (a local fixpoint). What changed is seen by all
//! stripes that are taken later (Gauss and Seidel's way, not Jacobi's), so that on a graph whose
//! near vertices have near numbers every part is read a few times, however many levels there are.
//! A stripe is only taken when something changed that leads into it, and of its chunks only those
//! are read that have such a source.
//!
//! A search of few levels is better off level by level: there every edge is folded a few times by a
//! loop that is several times faster. How many levels there will be is not known beforehand, so a
//! run changes over once it has looked at [`GRAPHS`] times the bytes of the graph: whatever comes,
//! it reads little more than the better of both.
//!
//! Invariants:
//! - Stripes of one wave are worked on at the same time, each in its own column; what others say
//!   is read in the column of all, which only changes between waves.
//! - A vertex whose flag is set has not been sent to its own stripe. A block that changed after the
//!   wave up to which a stripe has seen all has not been sent to that stripe.
//! - In a checkpoint a vertex is active that has not been sent to some stripe. A run that continues
//!   from it sends all of these to all, which is more than has to be and never less.
//! - Memory: signals, one column of flags and accumulators are gone; what is made instead is never
//!   more.
//!
//! Tested by `vertices_that_wait_for_another_part_of_their_stripe_are_kept`,
//! `a_run_that_relaxes_parts_is_gone_on_with_from_every_pass` and
//! `no_run_takes_more_than_its_plan_and_its_budget_say`.

mod dirty_blocks;

use std::ops::Range;

use bytemuck::{TransparentWrapper, bytes_of, cast_slice};
use welter_model::program::Program;
use welter_store::ChunkError;
use welter_store::chunk::{Chunk, Tile};

use self::dirty_blocks::DirtyBlocks;
use crate::EngineError;
use crate::checkpoint::{self, CheckpointColumns, Resume, RunProgress, refuse_relaxing};
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::State;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::ReadAhead;
use crate::edges::values::Visit;
use crate::footprints::columns::COLUMNS;
use crate::footprints::schedules::{LISTED_BYTES, adjacency_words};
use crate::kernels::folded::Folded;
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::kernels::seam::Kernel;
use crate::machine::arena::Buffer;
use crate::machine::slices::Slices;
use crate::plan::FrontierMode;
use crate::schedules::block_adjacency::{OutOfOrder, Resident};
use crate::schedules::context::Context;
use crate::schedules::iterations::Step;
use crate::schedules::limit::check_limit;
use crate::schedules::relax_blocks::RelaxBlock;

/// After looking at `GRAPHS` times the bytes of the graph level by level, a run changes over.
/// Searches of R-MAT graphs end before; the rest of a grid takes about half as much again.
const GRAPHS: u64 = 6;

/// Bytes of chunks that are looked at level by level before a run changes over; `None` when it does
/// not.
pub(crate) fn due(
    graph: &Graph,
    kernel: &dyn Kernel,
    resume: &Resume<'_>,
    reached: &RunProgress,
) -> Option<u64> {
    let relaxes = kernel.shape().capabilities.relaxes;
    // The number of an iteration must mean something where it is limited.
    let may = relaxes && graph.plan.storage().is_some() && kernel.limit().stated().is_none();
    match graph.plan.frontier_mode() {
        _ if resume.must_relax(reached) => Some(0),
        FrontierMode::Asynchronous if may => Some(0),
        FrontierMode::Auto if may && reached.is_asynchronous() => Some(0),
        FrontierMode::Auto if may => Some(GRAPHS * graph.chunk_bytes),
        _ => None,
    }
}

/// Cuts of a graph, and what each worker has room for.
pub(crate) struct Blocking {
    /// Parts of each stripe.
    parts: Vec<Vec<RelaxBlock>>,
    /// Words of four bytes for the edges of a part.
    words: u64,
}

impl Blocking {
    /// Cuts a graph so that no more memory is taken than the columns held that are not needed any
    /// more, or, where that does not do, what is left of the budget too; `None` when that is too
    /// little. A run that `must` relax is refused then.
    pub(crate) fn new(
        graph: &Graph,
        state: &State,
        must: bool,
    ) -> Result<Option<Self>, EngineError> {
        let cut = Self::within(graph, state, 0).or_else(|| {
            graph.arena.trim();
            Self::within(graph, state, graph.free_bytes())
        });
        if cut.is_none() && must { Err(refuse_relaxing()) } else { Ok(cut) }
    }

    /// Blocking with `spare` bytes more than the columns.
    fn within(graph: &Graph, state: &State, spare: u64) -> Option<Self> {
        let (threads, shape) = (graph.plan.premises.threads as u64, state.shape);
        let value = shape.value as u64;
        let width = graph.stripes.iter().map(Stripe::width).max().unwrap_or(0) as u64;
        let signals = 2 * state.signals[0].len() as u64;
        let accums = threads * ((shape.accum as u64) << graph.layout.stripe_bits);
        let mut free = spare + signals + state.active[1].len() as u64 + accums;
        if state.values.is_stored() {
            free = (free + threads * COLUMNS as u64 * width * value)
                .checked_sub(graph.vertices() * value)?;
        }
        // Its values, and two lists of vertices.
        let words = (free / threads).checked_sub(width * (value + LISTED_BYTES))? / 4;
        let edges = graph.stripes.iter().map(|stripe| stripe.edges).max().unwrap_or(0);
        let weighted = graph.plan.premises.shape.weighted;
        let words = words.min(adjacency_words(width, edges, weighted));
        let cut = |stripe| RelaxBlock::cut(graph, stripe, words);
        let parts = graph.stripes.iter().map(cut).collect::<Option<_>>()?;
        Some(Self { parts, words })
    }
}

/// Relaxes all edges until nothing changes, from what was reached so far on: the values of all
/// vertices. Each pass over the stripes counts as an iteration.
pub(crate) fn finish<P: Program>(
    tools: (&Context<'_>, &P),
    cut: &Blocking,
    state: State,
    reached: &mut RunProgress,
    resume: &Resume<'_>,
) -> Result<Buffer<u8>, EngineError> {
    let (context, kernel) = (tools.0, Folded::wrap_ref(tools.1));
    run(tools, cut, state, |level, standing| {
        // One pass more than are allowed is an error, and no checkpoint is written of it.
        check_limit(kernel.limit(), context.graph, reached.iterations + 1)?;
        let total = bytes_of(&P::Total::default()).to_vec();
        let pass = Step { total, level, bytes: level.edges * 4 };
        let active = |visit: &mut Visit<'_>| standing.active(visit);
        let columns = CheckpointColumns {
            values: checkpoint::Column::Memory(standing.values),
            active: checkpoint::Column::Made(&active),
            states: checkpoint::Column::Memory(&[]),
        };
        pass.finish((kernel, context), resume, reached, || columns)
    })
}

/// State of a run between two passes.
struct Standing<'a, 'f> {
    values: &'a [u8],
    /// By stripe.
    flags: &'a [&'f mut [u8]],
    dirty: &'a DirtyBlocks<'a>,
}

impl Standing<'_, '_> {
    /// Shows flags of all vertices in their order: set are those of vertices that have not been
    /// sent to some stripe, and of others in their blocks.
    fn active(&self, visit: &mut Visit<'_>) -> Result<(), EngineError> {
        const SET: [u8; 1 << 12] = [1; 1 << 12];
        let graph = self.dirty.graph;
        let (bits, untold) = (graph.layout.block_bits, self.dirty.untold());
        for (stripe, flags) in graph.stripes.iter().zip(self.flags) {
            let Range { start, end } = stripe.vertices;
            let mut first = start;
            while first < end {
                let block = first >> bits;
                let last = end.min((block + 1) << bits).min(first + SET.len() as u64);
                let own = &flags[(first - start) as usize..(last - start) as usize];
                visit(if untold[block as usize] { &SET[..own.len()] } else { own })?;
                first = last;
            }
        }
        Ok(())
    }
}

/// Relaxes all edges until nothing changes, and returns all values. `done` is called after each
/// pass over the stripes.
fn run<P: Program>(
    tools: (&Context<'_>, &P),
    cut: &Blocking,
    state: State,
    mut done: impl FnMut(IterationStats, &Standing<'_, '_>) -> Result<(), EngineError>,
) -> Result<Buffer<u8>, EngineError> {
    let (Context { graph, workers, progress, .. }, program) = (*tools.0, tools.1);
    let State { values, signals, active: [mut active, silent], accums, .. } = state;
    drop((signals, silent, accums));
    graph.arena.drop_columns();
    let mut values = values.into_memory()?;
    let mut dirty = DirtyBlocks::new(graph, &active);
    let mut flags = Slices(&mut active[..]);
    let mut flags: Vec<_> = graph.stripes.iter().map(|stripe| flags.take(stripe.width())).collect();
    let width = size_of::<P::Value>();
    let mut worker_states = workers.per_worker(|| WorkerState::<'_, P>::new(graph, cut.words))?;
    let mut idle = workers.per_worker(|| Ok(()))?;
    let nothing = IterationStats::of(Mode::Asynchronous, 0, 0);
    let (mut pass, mut began) = (nothing, dirty.wave);
    let mut regions = regions(graph, worker_states.len());
    loop {
        let wave: Vec<usize> = regions.iter_mut().filter_map(|left| dirty.next(left)).collect();
        if wave.is_empty() {
            if dirty.wave == began {
                return Ok(values);
            }
            let standing = Standing { values: &values, flags: &flags, dirty: &dirty };
            done(std::mem::replace(&mut pass, nothing), &standing)?;
            began = dirty.wave;
            regions = self::regions(graph, worker_states.len());
            continue;
        }
        // Regions lie one after the other, so a wave's stripes do.
        let (mut later, mut first) = (flags.iter_mut(), 0);
        let own = wave.iter().filter_map(|&number| {
            let skipped = number - std::mem::replace(&mut first, number + 1);
            later.nth(skipped).map(|flags| (number, flags))
        });
        let parts: Vec<_> = own.zip(&mut worker_states).collect();
        workers.for_each(parts, progress, &mut idle, |(), ((number, flags), worker)| {
            worker.visit(program, cast_slice(&values), &dirty, number, &cut.parts, flags)
        })?;
        for (worker, &number) in worker_states.iter_mut().zip(&wave) {
            let Range { start, end } = graph.stripes[number].vertices;
            let own: &[u8] = cast_slice(&worker.column[..(end - start) as usize]);
            values[start as usize * width..end as usize * width].copy_from_slice(own);
            dirty.note_changes(number, &mut worker.changed, worker.waiting);
            pass.active += std::mem::take(&mut worker.active);
            pass.edges += std::mem::take(&mut worker.edges);
        }
        dirty.wave += 1;
    }
}

/// The stripes of each worker. They are neighbours: what one settled the same worker takes on to
/// the next, where stripes that are worked on at the same time must wait for each other's changes.
fn regions(graph: &Graph, workers: usize) -> Vec<Range<usize>> {
    let bound = |worker| worker * graph.stripes.len() / workers;
    (0..workers).map(|worker| bound(worker)..bound(worker + 1)).collect()
}

/// Columns that one worker has in memory.
struct WorkerState<'g, P: Program> {
    graph: &'g Graph,
    /// Values of the stripe.
    column: Buffer<P::Value>,
    resident: Resident,
    chunks: ReadAhead<'g>,
    scratch: DecodeBuffers,
    /// Vertices whose edges are to be relaxed, relative to the stripe, and those after them.
    turn: Vec<u32>,
    next: Vec<u32>,
    /// By block, from that of the stripe's first vertex on: whether one of its vertices changed.
    changed: Vec<bool>,
    /// Whether vertices wait to be sent to their own stripe.
    waiting: bool,
    /// Vertices whose edges were relaxed, and edges that were looked at.
    active: u64,
    edges: u64,
}

impl<'g, P: Program> WorkerState<'g, P> {
    fn new(graph: &'g Graph, words: u64) -> Result<Self, EngineError> {
        let width = graph.stripes.iter().map(Stripe::width).max().unwrap_or(0);
        let weighted = graph.plan.premises.shape.weighted;
        Ok(Self {
            graph,
            column: Buffer::zeroed(width)?,
            resident: Resident::new(words, weighted)?,
            chunks: ReadAhead::new(graph)?,
            scratch: DecodeBuffers::new(),
            turn: Vec::new(),
            next: Vec::new(),
            changed: vec![false; (width >> graph.layout.block_bits) + 2],
            waiting: false,
            active: 0,
            edges: 0,
        })
    }

    /// Relaxes the edges into a stripe. `flags`: of its vertices.
    fn visit(
        &mut self,
        program: &P,
        values: &[P::Value],
        dirty: &DirtyBlocks<'_>,
        number: usize,
        parts: &[Vec<RelaxBlock>],
        flags: &mut [u8],
    ) -> Result<(), EngineError> {
        let Range { start, end } = self.graph.stripes[number].vertices;
        self.column[..flags.len()].copy_from_slice(&values[start as usize..end as usize]);
        self.hear(program, values, dirty, number, flags)?;
        let bits = self.graph.layout.block_bits;
        let block = |vertex: usize| ((start % (1 << bits)) as usize + vertex) >> bits;
        for vertex in (0..flags.len()).filter(|&vertex| flags[vertex] != 0) {
            self.changed[block(vertex)] = true;
        }
        for part in &parts[number] {
            let own = part.sources.start as usize..part.sources.end as usize;
            if flags[own].iter().any(|&flag| flag != 0) {
                self.load(number, part)?;
                self.relax_to_fixpoint(program, part, flags, block)?;
            }
        }
        if parts[number].is_empty() {
            // No edge leads from the stripe to itself.
            flags.fill(0);
        }
        self.waiting = flags.iter().any(|&flag| flag != 0);
        Ok(())
    }

    /// Relaxes edges from outside of a stripe.
    fn hear(
        &mut self,
        program: &P,
        values: &[P::Value],
        dirty: &DirtyBlocks<'_>,
        number: usize,
        flags: &mut [u8],
    ) -> Result<(), EngineError> {
        let Self { graph, column, chunks, scratch, edges, .. } = self;
        let own = graph.stripes[number].vertices.clone();
        let column = &mut column[..flags.len()];
        chunks.stripe(
            (number, &mut |_| None),
            |stripe| dirty.chunks(stripe),
            |_, chunk| {
                let is_dirty = |sources: &Range<u64>| dirty.outside(number, sources);
                each::<P>(graph, &chunk, scratch, is_dirty, |source, target, weight| {
                    *edges += 1;
                    let places = (values.get(source as usize), column.get_mut(target as usize));
                    if let (false, (Some(from), Some(to))) = (own.contains(&source), places) {
                        flags[target as usize] |= u8::from(program.relax(from, weight, to));
                    }
                    Ok(())
                })
            },
        )
    }

    /// Reads the edges of a part.
    fn load(&mut self, number: usize, part: &RelaxBlock) -> Result<(), EngineError> {
        let Self { graph, resident, chunks, scratch, .. } = self;
        let stripe = &graph.stripes[number];
        let (start, width) = (stripe.vertices.start, stripe.width() as u32);
        let from = start + u64::from(part.sources.start)..start + u64::from(part.sources.end);
        resident.begin(part.sources.clone());
        chunks.stripe(
            (number, &mut |_| None),
            |_| part.chunks.clone(),
            |_, chunk| {
                let meets = |s: &Range<u64>| s.start < from.end && from.start < s.end;
                each::<P>(graph, &chunk, scratch, meets, |source, target, weight| {
                    if from.contains(&source) && target < width {
                        resident.push((source - start) as u32, target, weight)?;
                    }
                    Ok(())
                })
            },
        )?;
        resident.end();
        Ok(())
    }

    /// Relaxes the edges of a part until nothing changes.
    fn relax_to_fixpoint(
        &mut self,
        program: &P,
        part: &RelaxBlock,
        flags: &mut [u8],
        block: impl Fn(usize) -> usize,
    ) -> Result<(), EngineError> {
        let Self { graph, column, resident, turn, next, changed, active, edges, .. } = self;
        turn.extend(part.sources.clone().filter(|&vertex| flags[vertex as usize] != 0));
        let mut rounds = 0;
        while !turn.is_empty() {
            check_limit(program.limit(), graph, rounds)?;
            rounds += 1;
            *active += turn.len() as u64;
            for source in turn.drain(..) {
                flags[source as usize] = 0;
                let from = column[source as usize];
                for (target, weight) in resident.row(source) {
                    *edges += 1;
                    let place = target as usize;
                    if !program.relax(&from, weight, &mut column[place]) {
                        continue;
                    }
                    changed[block(place)] = true;
                    if flags[place] == 0 {
                        flags[place] = 1;
                        if part.sources.contains(&target) {
                            next.push(target);
                        }
                    }
                }
            }
            std::mem::swap(turn, next);
        }
        Ok(())
    }
}

/// Hands the edges of those tiles of a chunk to `visit` whose sources are wanted: source, target
/// relative to the stripe, weight.
fn each<P: Program>(
    graph: &Graph,
    chunk: &Chunk<'_>,
    scratch: &mut DecodeBuffers,
    wanted: impl Fn(&Range<u64>) -> bool,
    mut visit: impl FnMut(u64, u32, f64) -> Result<(), OutOfOrder>,
) -> Result<(), EngineError> {
    let coding = Coding::of::<P>(chunk.label());
    let mask = (1_u32 << coding.target_bits) - 1;
    for (tile, sources) in graph.tiles_of(chunk) {
        if !wanted(&sources) {
            continue;
        }
        let Tile { source: first, edges, .. } = tile;
        let mut done = Ok(());
        coding.keys(&tile, 0..edges, scratch, |keys, weights| {
            for (edge, &key) in keys.iter().enumerate() {
                let source = first + u64::from(key >> coding.target_bits);
                let weight = weights.map_or(1.0, |weights| weights[edge]);
                if done.is_ok() {
                    done = visit(source, key & mask, weight);
                }
            }
        });
        done.map_err(|OutOfOrder| out_of_order(chunk, first))?;
    }
    Ok(())
}

/// The error of a chunk whose edges are not in order, or are more than were written.
fn out_of_order(chunk: &Chunk<'_>, value: u64) -> EngineError {
    let label = chunk.label();
    EngineError::Chunk {
        source_partition: label.cell.source_partition,
        stripe: label.cell.stripe,
        number: label.number,
        error: ChunkError::Field { what: "order of the edges of a tile", offset: 0, value },
    }
}
