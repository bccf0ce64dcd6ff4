//! Dense iterations: a worker takes a stripe, folds all its edges into its own accumulators, and
//! applies these while they are in the cache.

use crate::EngineError;
use crate::columns::groups::Groups;
use crate::columns::levels::{Level, Mode};
use crate::columns::renew::{apply_part, begin_part, init_part};
use crate::columns::state::{Parts, State};
use crate::columns::values::{Desk, StoredValues};
use crate::edges::extent::ChunkPlace;
use crate::edges::graph::Graph;
use crate::edges::index::IndexedTiles;
use crate::edges::read_ahead::ReadAhead;
use crate::kernels::kernel::{Coding, Scratch, Sources, fold_tile};
use crate::machine::arena::Buffer;
use crate::machine::dispatch::dispatched;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::schedules::frontier::Masks;
use crate::schedules::regroup::Regroup;
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Mutex;
use welter_model::program::Program;
use welter_progress::Progress;

/// Accumulators and buffers of one worker.
pub(crate) struct Bench<'g, P: Program> {
    pub(crate) accums: Buffer<P::Accum>,
    scratch: Scratch,
    chunks: ReadAhead<'g>,
    pub(crate) groups: Groups<P::Update>,
    /// Edges that were looked at.
    pub(crate) edges: u64,
}

/// One a worker.
pub(crate) type Benches<'g, P> = [Mutex<Bench<'g, P>>];

impl<'g, P: Program> Bench<'g, P> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        let accums = Buffer::zeroed(1 << graph.layout.stripe_bits)?;
        let (scratch, chunks) = (Scratch::new(), ReadAhead::new(graph)?);
        Ok(Self { accums, scratch, chunks, groups: Groups::new::<P>(graph)?, edges: 0 })
    }
}

/// Parts that all iterations of a run have in common.
pub(crate) struct Driver<'a, P> {
    pub(crate) graph: &'a Graph,
    pub(crate) program: &'a P,
    pub(crate) workers: &'a Workers,
    pub(crate) progress: &'a Progress,
    pub(crate) tiles: Option<IndexedTiles<'a>>,
    /// One a worker, for iterations that are not dense.
    pub(crate) scratches: Vec<Mutex<Scratch>>,
}

impl<P: Program> Driver<'_, P> {
    /// Sets values, signals and totals of all vertices.
    pub(crate) fn init(&self, state: &mut State<P>) -> Result<P::Total, EngineError> {
        let Self { graph, program, workers, progress, .. } = *self;
        let Parts { stripes: parts, stored, .. } = state.parts(graph);
        let desks = self.desks(stored)?;
        workers.tasks(parts.len(), progress, &desks, |desk, task| {
            let mut part = lock(&parts[task]);
            let mut away = desk.as_mut().map(Desk::blank).transpose()?;
            let resident = std::mem::take(&mut part.values);
            let values = away.as_deref_mut().unwrap_or(resident);
            let degrees = &graph.degrees[part.stripe.vertices.start as usize..];
            dispatched(
                #[inline(always)]
                || init_part(graph, program, degrees, values, &mut part),
            );
            put(desk, task, away)
        })?;
        finish(&desks)?;
        let active_count = parts.iter().map(|part| lock(part).active_count).sum();
        drop(parts);
        state.active_count = active_count;
        Ok(state.close())
    }

    /// An iteration that meets all stripes, and the bytes of edges that it read.
    pub(crate) fn meet_all<'g>(
        &'g self,
        state: &mut State<P>,
        last: &P::Total,
        (benches, regroup): (&mut Vec<Mutex<Bench<'g, P>>>, &mut Option<Regroup<'_>>),
    ) -> Result<((P::Total, Level), u64), EngineError> {
        if benches.is_empty() {
            *benches = self.workers.states(|| Bench::new(self.graph))?;
        }
        if P::GROUPS
            && let Some(regroup) = regroup
        {
            return Ok((regroup.iterate(self, state, last, benches)?, 0));
        }
        let done = self.dense(state, last, benches)?;
        let bytes = benches.iter().map(|bench| lock(bench).chunks.take_bytes()).sum();
        Ok((done, bytes))
    }

    pub(crate) fn dense(
        &self,
        state: &mut State<P>,
        last: &P::Total,
        benches: &[Mutex<Bench<'_, P>>],
    ) -> Result<(P::Total, Level), EngineError> {
        let Self { graph, program, workers, progress, .. } = *self;
        let order = state.order.clone();
        let scattering = state.active_count;
        let Parts { stripes: parts, stored, signals, active } = state.parts(graph);
        let desks = self.desks(stored)?;
        let masks =
            (P::FRONTIER && scattering < graph.vertices()).then(|| Masks::of_flags(graph, active));
        // An update of an inactive vertex does no harm in a monotone program, and a branch at every
        // edge would.
        let active = (masks.is_some() && !P::MONOTONE).then_some(active);
        let states: Vec<_> = benches.iter().zip(&desks).map(Mutex::new).collect();
        workers.tasks_ahead(parts.len(), progress, &states, |(bench, desk), task, next| {
            let (bench, desk) = (&mut *lock(bench), &mut *lock(desk));
            let number = order[task];
            let mut part = lock(&parts[number]);
            let width = part.stripe.width();
            let reached = !P::MONOTONE || self.wanted(masks.as_ref(), number).next().is_some();
            let mut away = None;
            if reached {
                desk.as_mut().map(|desk| desk.fetch(number)).transpose()?;
                if P::KNOWS_TARGET {
                    away = desk.as_mut().map(|desk| desk.take(number)).transpose()?;
                    let values = away.as_deref().unwrap_or(&*part.values);
                    begin_part(program, values, &mut bench.accums[..width]);
                } else {
                    bench.accums[..width].fill(program.identity());
                }
            }
            let at = (number, next.map(|task| order[task]));
            if P::GROUPS {
                // They are met beside the values.
            } else if P::FRONTIER
                && let (Some(masks), Some(tiles)) = (&masks, &self.tiles)
            {
                self.fold_active(tiles, number, masks, signals, active, bench);
            } else {
                self.fold_stripe(at, masks.as_ref(), signals, active, bench)?;
            }
            if !reached {
                part.stay(signals);
                return Ok(());
            }
            if !P::KNOWS_TARGET {
                away = desk.as_mut().map(|desk| desk.take(number)).transpose()?;
            }
            let resident = std::mem::take(&mut part.values);
            let values = away.as_deref_mut().unwrap_or(resident);
            if P::GROUPS {
                self.group_stripe(at, values, signals, bench)?;
            }
            dispatched(
                #[inline(always)]
                || apply_part(graph, program, last, (&bench.accums, values), &mut part),
            );
            put(desk, number, away)
        })?;
        finish(&desks)?;
        let active_count = parts.iter().map(|part| lock(part).active_count).sum();
        drop(parts);
        state.active_count = active_count;
        let edges = benches.iter().map(|bench| std::mem::take(&mut lock(bench).edges)).sum();
        Ok((state.close(), Level::of(Mode::Dense, scattering, edges)))
    }

    /// Numbers of the chunks of a stripe that may have an active source; of all without masks.
    pub(crate) fn wanted<'m>(
        &'m self,
        masks: Option<&'m Masks>,
        stripe: usize,
    ) -> impl Iterator<Item = usize> + 'm {
        let block_bits = self.graph.layout.block_bits;
        let chunks = &self.graph.stripes[stripe].chunks;
        (0..chunks.len()).filter(move |&chunk| {
            let ChunkPlace { sources, .. } = &chunks[chunk];
            let blocks = sources.start >> block_bits..sources.end >> block_bits;
            masks.is_none_or(|masks| masks.any(blocks.start as usize..blocks.end as usize))
        })
    }

    /// Folds the edges of a stripe into a worker's accumulators; where there are masks, those of
    /// tiles with an active source. `at`: the stripe, and the one that the worker will fold then.
    pub(crate) fn fold_stripe(
        &self,
        at: (usize, Option<usize>),
        masks: Option<&Masks>,
        signals: &[P::Signal],
        active: Option<&[u8]>,
        bench: &mut Bench<'_, P>,
    ) -> Result<(), EngineError> {
        let block_bits = self.graph.layout.block_bits;
        let Bench { accums, scratch, chunks, edges, .. } = bench;
        chunks.parts(
            at,
            |stripe| (stripe, self.wanted(masks, stripe)),
            |_, _, chunk| {
                let reach = chunk.block_width() as usize;
                let coding = Coding::of::<P>(chunk.label());
                for (tile, sources) in self.graph.tiles_of(&chunk) {
                    let last = (sources.end - 1) >> block_bits;
                    let blocks = (sources.start >> block_bits) as usize..last as usize + 1;
                    if masks.is_some_and(|masks| !masks.any(blocks)) {
                        continue;
                    }
                    let source = tile.source as usize;
                    let sources = source..source + reach;
                    let active = active.map(|active| &active[sources.clone()]);
                    let sources = Sources { signals: &signals[sources], active };
                    fold_tile(self.program, &tile, 0..tile.edges, coding, sources, accums, scratch);
                    *edges += tile.edges as u64;
                }
                Ok(())
            },
        )
    }

    /// Lets a worker's accumulators meet the updates of a stripe, whose vertices have these values,
    /// piece by piece. `at`: as in [`Self::fold_stripe`].
    pub(crate) fn group_stripe(
        &self,
        (number, next): (usize, Option<usize>),
        values: &[P::Value],
        signals: &[P::Signal],
        bench: &mut Bench<'_, P>,
    ) -> Result<(), EngineError> {
        let graph = self.graph;
        let Range { start, end } = graph.stripes[number].vertices;
        let degrees = &graph.degrees[start as usize..end as usize];
        let Bench { accums, scratch, chunks, groups, edges, .. } = bench;
        let pieces = groups.pieces(degrees);
        for (count, piece) in pieces.iter().enumerate() {
            groups.open(degrees, piece);
            let next = if count + 1 < pieces.len() { Some(number) } else { next };
            chunks.parts(
                (number, next),
                |stripe| (stripe, 0..graph.stripes[stripe].chunks.len()),
                |_, _, chunk| {
                    let reach = chunk.block_width() as usize;
                    let coding = Coding::of::<P>(chunk.label());
                    for tile in chunk.tiles() {
                        let source = tile.source as usize;
                        let signals = &signals[source..source + reach];
                        let sources = Sources { signals, active: None };
                        groups.put_tile(self.program, &tile, coding, sources, scratch);
                        *edges += tile.edges as u64;
                    }
                    Ok(())
                },
            )?;
            groups.meet(self.program, degrees, values, accums)?;
        }
        Ok(())
    }

    /// Desks of all workers, where values are on storage.
    pub(crate) fn desks<'s>(
        &self,
        stored: Option<&'s StoredValues>,
    ) -> Result<Desks<'s, P::Value>, EngineError> {
        self.workers.states(|| stored.map(|stored| Desk::new(stored, self.graph)).transpose())
    }

    /// Folds the edges of active bands of a stripe into a worker's accumulators.
    pub(crate) fn fold_active(
        &self,
        tiles: &IndexedTiles<'_>,
        stripe: usize,
        masks: &Masks,
        signals: &[P::Signal],
        active: Option<&[u8]>,
        bench: &mut Bench<'_, P>,
    ) {
        let graph = self.graph;
        let reach = graph.signal_padding();
        for indexed in tiles.of_stripe(stripe) {
            let source = indexed.tile.source as usize;
            let coding = indexed.coding(graph);
            let sources = source..source + reach;
            let sources = Sources {
                signals: &signals[sources.clone()],
                active: active.map(|active| &active[sources]),
            };
            for bands in masks.runs(source >> graph.layout.block_bits, coding.encoding) {
                let edges = indexed.edges(bands);
                bench.edges += edges.len() as u64;
                let Bench { accums, scratch, .. } = bench;
                fold_tile(self.program, &indexed.tile, edges, coding, sources, accums, scratch);
            }
        }
    }
}

/// Desks of all workers for values, where these are on storage.
pub(crate) type Desks<'s, V> = Vec<Mutex<Option<Desk<'s, V>>>>;

/// Writes the values of a stripe, where these are on storage.
pub(crate) fn put<V: Pod + Send>(
    desk: &mut Option<Desk<'_, V>>,
    stripe: usize,
    values: Option<Buffer<V>>,
) -> Result<(), EngineError> {
    match (desk, values) {
        (Some(desk), Some(values)) => desk.put(stripe, values),
        _ => Ok(()),
    }
}

/// Waits until all values are written.
pub(crate) fn finish<V: Pod + Send>(desks: &Desks<'_, V>) -> Result<(), EngineError> {
    desks.iter().try_for_each(|desk| lock(desk).as_mut().map_or(Ok(()), Desk::finish))
}
