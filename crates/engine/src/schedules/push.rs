//! A push iteration: active vertices update their neighbours, by rows.
//!
//! With few edges one thread does it all. With more, workers share the edges and put each update
//! into a bucket for the range of vertices that it is meant for; then they share the ranges.
//! Buckets are emptied every so often, so they stay in the cache. Signals and flags change only
//! when all edges have been looked at, so what an iteration does depends on no order.
//!
//! Invariant: a range's vertices belong to one thread at a time. Checked in `updated::with`, which
//! takes a range as a slice of its own.

use std::ops::{ControlFlow, Range};

use welter_model::program::{Program, Total};

use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::Elements;
use crate::edges::rows::View;
use crate::footprints::schedules::PUSH_WAITING;
use crate::kernels::kernel::fetch;
use crate::schedules::context::Context;
use crate::schedules::frontier::{FEW_EDGES, Frontier, Selected};
use crate::schedules::updated::{UpdatedList, apply, ranges, with};

/// A row with more edges than this is shared by all workers.
const ROW: usize = 1 << 14;
/// Edges of such a row that a worker takes at a time.
const TASK_EDGES: usize = 1 << 12;
/// Sources that a worker takes at a time, whose rows are shorter.
const TASK_SOURCES: usize = 1 << 8;
/// Sources between asking memory for a row and reading it.
const AHEAD: usize = 8;
/// Ranges that vertices are cut into, about.
const RANGES: usize = 64;

pub(crate) fn iterate<P: Program>(
    (context, program): (&Context<'_>, &P),
    rows: View<'_>,
    state: &mut Elements<'_, P>,
    frontier: &mut Frontier,
    selected: &Selected,
    last: &P::Total,
) -> Result<(P::Total, IterationStats), EngineError> {
    let pays = selected.edges < FEW_EDGES || context.workers.threads() == 1;
    let is_serial = context.graph.plan.frontier_mode().is_serial(pays);
    let sources = &selected.vertices;
    // Signals as they are now: a source that gathers an update sends it in a later iteration. Where
    // one is enough a source meets none, and is asked when its turn comes.
    let signals = |&source: &u32| program.signal(&state.values[source as usize]);
    let signals: Vec<P::Signal> =
        if P::ANY_UPDATE_SUFFICES { Vec::new() } else { sources.iter().map(signals).collect() };
    let (total, changed, edges) = if is_serial {
        serial(program, rows, state, (sources, &signals), last)
    } else {
        parallel((context, program), rows, state, (sources, &signals), last)?
    };
    *state.active_count -= sources.len() as u64;
    if P::ANY_UPDATE_SUFFICES {
        *state.active_count += changed.len() as u64;
    } else {
        for &vertex in &changed {
            let flag = &mut state.active[0][vertex as usize];
            *state.active_count += u64::from(*flag == 0);
            *flag = 1;
        }
    }
    frontier.add(program, state.values, changed);
    Ok((total, IterationStats::of(Mode::Sparse, sources.len() as u64, edges)))
}

/// One thread, source after source.
fn serial<P: Program>(
    program: &P,
    rows: View<'_>,
    state: &mut Elements<'_, P>,
    (sources, signals): (&[u32], &[P::Signal]),
    last: &P::Total,
) -> (P::Total, Vec<u32>, u64) {
    let values = &mut state.values[..];
    let mut changed = Vec::with_capacity(sources.len());
    let (mut total, mut edges) = (P::Total::default(), 0);
    for (place, &source) in sources.iter().enumerate() {
        if let Some(&later) = sources.get(place + 2 * AHEAD) {
            rows.fetch_start(later);
            fetch(values, later as usize);
        }
        if let Some(&soon) = sources.get(place + AHEAD) {
            rows.fetch_row(soon);
        }
        let signal = signal(program, values, source, signals, place);
        let row = rows.range(source);
        edges += row.len() as u64;
        rows.visit(row, P::WEIGHTED, |target, weight| {
            let value = &mut values[target as usize];
            if !program.settled(value, last)
                && let Some(update) = program.scatter(signal, weight)
            {
                let applied = apply(program, *value, update, last);
                *value = applied.value;
                total = total.merge(applied.total);
                if applied.active {
                    changed.push(target);
                }
            }
            ControlFlow::Continue(())
        });
    }
    (total, changed, edges)
}

/// The signal of a source, by its place in the list.
#[inline(always)]
fn signal<P: Program>(
    program: &P,
    values: &[P::Value],
    source: u32,
    signals: &[P::Signal],
    place: usize,
) -> P::Signal {
    if P::ANY_UPDATE_SUFFICES { program.signal(&values[source as usize]) } else { signals[place] }
}

/// All workers: buckets of updates first, then the ranges of vertices that they are meant for.
fn parallel<P: Program>(
    (context, program): (&Context<'_>, &P),
    rows: View<'_>,
    state: &mut Elements<'_, P>,
    (sources, signals): (&[u32], &[P::Signal]),
    last: &P::Total,
) -> Result<(P::Total, Vec<u32>, u64), EngineError> {
    let Context { workers, progress, .. } = *context;
    let count = state.values.len();
    let range_bits = count.div_ceil(RANGES).next_power_of_two().ilog2();
    let tasks = count.div_ceil(1 << range_bits);
    let mut lists: Vec<UpdatedList<P>> = (0..tasks).map(|_| UpdatedList::default()).collect();
    let buckets = || Ok((0..tasks).map(|_| Vec::new()).collect::<Vec<Vec<(u32, P::Update)>>>());
    let mut outgoing = workers.per_worker(buckets)?;
    let mut idle = workers.per_worker(|| Ok(()))?;
    let (mut done, mut pushed) = (0, 0);
    while done < sources.len() {
        let (batch, edges) = Batch::next(rows, sources, done);
        done = batch.end();
        pushed += edges;
        let values = &state.values[..];
        let tasks = 0..batch.tasks(rows, sources);
        workers.for_each(tasks, progress, &mut outgoing, |bucket, task| {
            batch.each(rows, sources, task, |place, edges| {
                let signal = signal(program, values, sources[place], signals, place);
                rows.visit(edges, P::WEIGHTED, |target, weight| {
                    if !program.settled(&values[target as usize], last)
                        && let Some(update) = program.scatter(signal, weight)
                    {
                        bucket[(target >> range_bits) as usize].push((target, update));
                    }
                    ControlFlow::Continue(())
                });
            });
            Ok(())
        })?;
        let parts = ranges(state.values, 1 << range_bits, &mut lists).enumerate();
        workers.for_each(parts, progress, &mut idle, |(), (number, part)| {
            with(part, |range| {
                for bucket in &outgoing {
                    for &(target, update) in &bucket[number] {
                        range.receive(program, target as usize - range.base, update, last);
                    }
                }
            });
            Ok(())
        })?;
        outgoing.iter_mut().flatten().for_each(Vec::clear);
    }
    let (total, changed) = UpdatedList::concat(&lists);
    Ok((total, changed, pushed))
}

/// Edges that are pushed before buckets are emptied.
enum Batch {
    /// All edges of some sources, by their places in the list.
    Sources(Range<usize>),
    /// All edges of one source that has many.
    Row(usize),
}

impl Batch {
    /// The batch that begins at a place in the list of sources, and its number of edges.
    fn next(rows: View<'_>, sources: &[u32], first: usize) -> (Self, u64) {
        let (mut end, mut edges) = (first, 0);
        while let Some(&source) = sources.get(end) {
            let row = rows.range(source).len();
            if row > ROW || edges + row > PUSH_WAITING {
                if end == first {
                    return (Self::Row(first), row as u64);
                }
                break;
            }
            (end, edges) = (end + 1, edges + row);
        }
        (Self::Sources(first..end), edges as u64)
    }

    /// The place in the list of sources that comes next.
    fn end(&self) -> usize {
        match self {
            Self::Sources(places) => places.end,
            Self::Row(place) => place + 1,
        }
    }

    fn tasks(&self, rows: View<'_>, sources: &[u32]) -> usize {
        match self {
            Self::Sources(places) => places.len().div_ceil(TASK_SOURCES),
            Self::Row(place) => rows.range(sources[*place]).len().div_ceil(TASK_EDGES),
        }
    }

    /// Shows the places of a task's sources, and which of their edges.
    #[inline(always)]
    fn each(
        &self,
        rows: View<'_>,
        sources: &[u32],
        task: usize,
        mut visit: impl FnMut(usize, Range<usize>),
    ) {
        match self {
            Self::Sources(places) => {
                let start = places.start + task * TASK_SOURCES;
                let end = places.end.min(start + TASK_SOURCES);
                for (place, &source) in (start..).zip(&sources[start..end]) {
                    visit(place, rows.range(source));
                }
            }
            Self::Row(place) => {
                let row = rows.range(sources[*place]);
                let start = row.start + task * TASK_EDGES;
                visit(*place, start..row.end.min(start + TASK_EDGES));
            }
        }
    }
}
