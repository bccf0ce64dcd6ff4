//! A sparse iteration by granules: the edges of a few sources, and only what they reach.
//!
//! Every vertex has an accumulator that waits as the identity, and what is no longer the identity
//! after the scatter is applied. With few edges one thread looks up source after source; with more,
//! workers take stripes, so that each accumulator belongs to one thread at a time as in a dense
//! iteration. Signals are written only when all edges have been looked at.
//!
//! Invariant: between iterations all accumulators are the identity. Tested by `smallest_labels` and
//! `distances`.

use std::sync::Mutex;

use welter_model::program::{Program, Total};

use crate::EngineError;
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::state::{Elements, State};
use crate::edges::graph::Graph;
use crate::edges::index::{IndexedTiles, granule_bits};
use crate::kernels::kernel::{Coding, DecodeBuffers};
use crate::machine::arena::Buffer;
use crate::machine::slices::{Slices, arranged};
use crate::machine::sync::lock;
use crate::schedules::context::Context;
use crate::schedules::frontier::{Frontier, Masks, Selected};

/// With fewer edges than this, waking other threads costs more than it brings.
const SERIAL_BELOW: u64 = 1 << 14;

/// Makes accumulators of all vertices, where there are none yet.
pub(crate) fn prepare<P: Program>(
    graph: &Graph,
    program: &P,
    state: &mut State,
) -> Result<(), EngineError> {
    if state.accums.is_empty() {
        state.accums = Buffer::zeroed(graph.vertices() as usize * size_of::<P::Accum>())?;
        state.elements::<P>().accums.fill(program.identity());
    }
    Ok(())
}

/// A worker's buffers that are free while it is idle, beside what all iterations have.
type Tools<'t, 'a, P> = (&'t Context<'a>, &'t P, &'t Mutex<DecodeBuffers>);

pub(crate) fn iterate<P: Program>(
    tools: Tools<'_, '_, P>,
    tiles: &IndexedTiles<'_>,
    state: &mut Elements<'_, P>,
    frontier: &mut Frontier,
    selected: &Selected,
    last: &P::Total,
) -> Result<(P::Total, IterationStats), EngineError> {
    let mode = tools.0.graph.plan.frontier_mode();
    let (total, edges) = if mode.is_serial(selected.edges < SERIAL_BELOW) {
        serial(tools, tiles, state, frontier, &selected.vertices, last)
    } else {
        parallel(tools, tiles, state, frontier, &selected.vertices, last)?
    };
    let level = IterationStats::of(Mode::Sparse, selected.vertices.len() as u64, edges);
    Ok((total, level))
}

/// Folds an update and notes a destination that meets its first.
#[inline(always)]
fn fold<P: Program>(
    program: &P,
    signal: P::Signal,
    weight: f64,
    accum: &mut P::Accum,
    target: u32,
    touched: &mut Vec<u32>,
) {
    if let Some(update) = program.scatter(signal, weight) {
        let folded = program.gather(*accum, update);
        if folded != *accum {
            if *accum == program.identity() {
                touched.push(target);
            }
            *accum = folded;
        }
    }
}

/// One thread, source after source.
fn serial<P: Program>(
    tools: Tools<'_, '_, P>,
    tiles: &IndexedTiles<'_>,
    state: &mut Elements<'_, P>,
    frontier: &mut Frontier,
    sources: &[u32],
    last: &P::Total,
) -> (P::Total, u64) {
    let (Context { graph, .. }, program, scratch) = (*tools.0, tools.1, tools.2);
    let (block_bits, granule_bits) = (graph.layout.block_bits, granule_bits(graph));
    let scratch = &mut lock(scratch);
    let mut touched = Vec::new();
    let mut edges = 0;
    for &source in sources {
        let local = source & ((1 << block_bits) - 1);
        let granule = (local >> granule_bits) as usize;
        let signal = state.signals[0][source as usize];
        for indexed in tiles.of_block((source >> block_bits) as usize) {
            let coding = indexed.coding(graph);
            let range = indexed.edges_of(granule, local, coding);
            if range.is_empty() {
                continue;
            }
            edges += range.len() as u64;
            let mask = (1_u32 << coding.target_bits) - 1;
            coding.keys(&indexed.tile, range, scratch, |keys, weights| {
                for (edge, &key) in keys.iter().enumerate() {
                    if key >> coding.target_bits == local {
                        let target = indexed.target_base + (key & mask);
                        let weight = weights.map_or(1.0, |weights| weights[edge]);
                        let accum = &mut state.accums[target as usize];
                        fold(program, signal, weight, accum, target, &mut touched);
                    }
                }
            });
        }
        state.active[0][source as usize] = 0;
    }
    let mut part = UpdatedRange {
        base: 0,
        values: &mut *state.values,
        signals: &mut *state.signals[0],
        active: &mut *state.active[0],
        accums: &mut *state.accums,
        touched,
        activated: 0,
        total: P::Total::default(),
    };
    part.apply(program, last);
    let UpdatedRange { touched, total, activated, .. } = part;
    *state.active_count += activated;
    *state.active_count -= sources.len() as u64;
    frontier.add(program, state.values, touched);
    (total, edges)
}

/// All workers, stripe by stripe.
fn parallel<P: Program>(
    tools: Tools<'_, '_, P>,
    tiles: &IndexedTiles<'_>,
    state: &mut Elements<'_, P>,
    frontier: &mut Frontier,
    sources: &[u32],
    last: &P::Total,
) -> Result<(P::Total, u64), EngineError> {
    for &source in sources {
        state.active[0][source as usize] = 1;
    }
    let (touched, edges) = fold_touched(tools, tiles, state, sources)?;
    for &source in sources {
        state.active[0][source as usize] = 0;
    }
    *state.active_count -= sources.len() as u64;
    let (total, touched) = apply_touched(tools, state, touched, last)?;
    frontier.add(tools.1, state.values, touched);
    Ok((total, edges))
}

/// Folds the edges of sources; says which vertices of each stripe updates reached, and how many
/// edges there were.
fn fold_touched<P: Program>(
    (context, program, _): Tools<'_, '_, P>,
    tiles: &IndexedTiles<'_>,
    state: &mut Elements<'_, P>,
    sources: &[u32],
) -> Result<(Vec<Vec<u32>>, u64), EngineError> {
    let Context { graph, workers, progress, .. } = *context;
    let masks = Masks::of_list(graph, tiles.blocks(), sources);
    let Elements { signals: [signals, _], active: [active, _], accums, order, .. } = state;
    let mut column = Slices(&mut accums[..]);
    let parts = graph.stripes.iter().map(|stripe| (column.take(stripe.width()), Vec::new()));
    let mut parts: Vec<_> = parts.collect();
    let mut worker_states = workers.per_worker(|| Ok((DecodeBuffers::new(), 0_u64)))?;
    let largest_first = arranged(parts.iter_mut().enumerate(), order);
    workers.for_each(largest_first, progress, &mut worker_states, |(scratch, edges), part| {
        let (stripe, (accums, touched)) = part;
        for indexed in tiles.of_stripe(stripe) {
            let first = indexed.tile.source as usize;
            let coding: Coding = indexed.coding(graph);
            for granules in masks.runs(first >> graph.layout.block_bits, coding.encoding) {
                let range = indexed.edges(granules);
                *edges += range.len() as u64;
                let mask = (1_u32 << coding.target_bits) - 1;
                coding.keys(&indexed.tile, range, scratch, |keys, weights| {
                    for (edge, &key) in keys.iter().enumerate() {
                        let source = first + (key >> coding.target_bits) as usize;
                        if active[source] != 0 {
                            let target = key & mask;
                            let weight = weights.map_or(1.0, |weights| weights[edge]);
                            let accum = &mut accums[target as usize];
                            fold(program, signals[source], weight, accum, target, touched);
                        }
                    }
                });
            }
        }
        Ok(())
    })?;
    let edges = worker_states.iter().map(|worker| worker.1).sum();
    Ok((parts.into_iter().map(|(_, touched)| touched).collect(), edges))
}

/// Applies what vertices of each stripe have met; returns the total, and all that were reached.
fn apply_touched<P: Program>(
    (context, program, _): Tools<'_, '_, P>,
    state: &mut Elements<'_, P>,
    touched: Vec<Vec<u32>>,
    last: &P::Total,
) -> Result<(P::Total, Vec<u32>), EngineError> {
    let Context { graph, workers, progress, .. } = *context;
    let Elements { values, signals: [signals, _], active: [active, _], accums, .. } = state;
    let (mut values, mut signals) = (Slices(&mut values[..]), Slices(&mut signals[..]));
    let (mut active, mut accums) = (Slices(&mut active[..]), Slices(&mut accums[..]));
    let parts = graph.stripes.iter().zip(touched).map(|(stripe, touched)| {
        let width = stripe.width();
        UpdatedRange {
            base: stripe.vertices.start as u32,
            values: values.take(width),
            signals: signals.take(width),
            active: active.take(width),
            accums: accums.take(width),
            touched,
            activated: 0,
            total: P::Total::default(),
        }
    });
    let mut parts: Vec<UpdatedRange<'_, P>> = parts.collect();
    let mut idle = workers.per_worker(|| Ok(()))?;
    workers.for_each(&mut parts, progress, &mut idle, |(), part| {
        part.apply(program, last);
        Ok(())
    })?;
    let (mut total, mut activated) = (P::Total::default(), 0);
    let mut touched = Vec::new();
    for mut part in parts {
        total = total.merge(part.total);
        activated += part.activated;
        touched.append(&mut part.touched);
    }
    *state.active_count += activated;
    Ok((total, touched))
}

/// Vertices of a range that updates reached.
struct UpdatedRange<'a, P: Program> {
    /// First vertex of the range.
    base: u32,
    values: &'a mut [P::Value],
    signals: &'a mut [P::Signal],
    active: &'a mut [u8],
    accums: &'a mut [P::Accum],
    /// Vertices whose accumulators met an update, relative to `base`.
    touched: Vec<u32>,
    /// Vertices that became active and were not.
    activated: u64,
    total: P::Total,
}

impl<P: Program> UpdatedRange<'_, P> {
    /// Applies what was touched, and leaves in `touched` the vertices that updates activated, also
    /// those that were active: they may be more urgent now.
    fn apply(&mut self, program: &P, last: &P::Total) {
        let Self { base, values, signals, active, accums, touched, activated, total } = self;
        touched.retain_mut(|vertex| {
            let place = *vertex as usize;
            let accum = std::mem::replace(&mut accums[place], program.identity());
            let applied = program.apply(values[place], accum, last);
            values[place] = applied.value;
            signals[place] = program.signal(&applied.value);
            *total = total.merge(applied.total);
            *vertex += *base;
            if applied.active {
                *activated += u64::from(std::mem::replace(&mut active[place], 1) == 0);
            }
            applied.active
        });
    }
}
