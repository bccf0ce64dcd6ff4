//! What a dense iteration does with a stripe: its edges are folded, and what they made applied.

use std::ops::Range;

use super::worker::{Column, WorkerState, put};
use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::columns::state::Part;
use crate::edges::index::IndexedTiles;
use crate::edges::slab_location::ChunkPlace;
use crate::kernels::kernel::{Coding, Sources};
use crate::kernels::seam::{AnyKernel, Ends, ExtendedKernel, FoldKernel, Said, TileFold};
use crate::schedules::context::Context;
use crate::schedules::frontier::Masks;
use crate::schedules::lane::Lane;

/// Arguments of the folds of an iteration.
pub(super) struct Fold<'p> {
    pub(super) context: &'p Context<'p>,
    pub(super) kernel: AnyKernel<'p>,
    pub(super) tiles: Option<&'p IndexedTiles<'p>>,
    /// Which bands have an active source, where not all have.
    pub(super) masks: Option<&'p Masks>,
    pub(super) signals: &'p [u8],
    /// Flags of sources, where edges ask for them.
    pub(super) active: Option<&'p [u8]>,
    pub(super) last: &'p [u8],
    /// The totals of no vertex.
    pub(super) none: &'p [u8],
}

impl Fold<'_> {
    /// Folds and applies a stripe. `at`: its number, and that of the one that the worker will take
    /// then.
    pub(super) fn stripe(
        &self,
        at: (usize, Option<usize>),
        part: &mut Part<'_>,
        state: &mut WorkerState<'_>,
        column: &mut Column<'_>,
        rewriter: &mut Option<Rewriter<'_>>,
    ) -> Result<(), EngineError> {
        let (graph, shape) = (self.context.graph, *self.kernel.kernel().shape());
        let kernel = self.kernel.kernel();
        let bytes = part.columns.stripe.width() * shape.accum;
        let is_met = !shape.capabilities.monotone || self.wanted(at.0).next().is_some();
        let mut away = None;
        if is_met {
            column.as_mut().map(|column| column.fetch(at.0)).transpose()?;
            match self.kernel {
                AnyKernel::Fold(kernel) if shape.capabilities.knows_target => {
                    away = column.as_mut().map(|column| column.take(at.0)).transpose()?;
                    let values = away.as_deref().unwrap_or(part.values);
                    kernel.begin(values, &mut state.accums[..bytes]);
                }
                AnyKernel::Fold(_) => kernel.clear(&mut state.accums[..bytes]),
                // A damaged key of an edge may name any of them.
                AnyKernel::Extended(_) => kernel.clear(&mut state.accums),
            }
        }
        match (self.kernel, self.tiles) {
            // Updates are put beside the values.
            (AnyKernel::Fold(_), _) if shape.capabilities.groups => {}
            (AnyKernel::Fold(kernel), Some(tiles)) if self.masks.is_some() => {
                self.fold_bands(kernel, tiles, at.0, state);
            }
            (AnyKernel::Fold(kernel), _) => self.fold_tiles(kernel, at, state)?,
            (AnyKernel::Extended(kernel), _) => {
                let Some(rewriter) = rewriter else {
                    let what = "edges of an extended program have states";
                    return Err(EngineError::internal(what));
                };
                self.extend(kernel, at, state, (part.states, rewriter))?;
            }
        }
        if !is_met {
            part.stay(&shape, self.signals, self.none);
            return Ok(());
        }
        if !shape.capabilities.knows_target {
            away = column.as_mut().map(|column| column.take(at.0)).transpose()?;
        }
        let values = away.as_deref_mut().unwrap_or(&mut *part.values);
        if let AnyKernel::Fold(kernel) = self.kernel
            && shape.capabilities.groups
        {
            self.group(kernel, at, values, state)?;
        }
        part.columns.apply((graph, kernel), (&state.accums, self.last), values);
        put(column, at.0, away)
    }

    /// Numbers of the chunks of a stripe that may have an active source; of all without masks.
    fn wanted(&self, stripe: usize) -> impl Iterator<Item = usize> + '_ {
        let graph = self.context.graph;
        let (block_bits, chunks) = (graph.layout.block_bits, &graph.stripes[stripe].chunks);
        (0..chunks.len()).filter(move |&chunk| {
            let ChunkPlace { sources, .. } = &chunks[chunk];
            let blocks = sources.start >> block_bits..sources.end >> block_bits;
            self.masks.is_none_or(|masks| masks.any(blocks.start as usize..blocks.end as usize))
        })
    }

    /// Signals of some sources, and which of these are active.
    fn sources(&self, sources: Range<usize>) -> Sources<'_, u8> {
        let width = self.kernel.kernel().shape().signal;
        let signals = &self.signals[sources.start * width..sources.end * width];
        Sources { signals, active: self.active.map(|active| &active[sources]) }
    }

    /// Folds the edges of a stripe into a worker's accumulators; where there are masks, those of
    /// tiles with an active source.
    fn fold_tiles(
        &self,
        kernel: &dyn FoldKernel,
        at: (usize, Option<usize>),
        state: &mut WorkerState<'_>,
    ) -> Result<(), EngineError> {
        let graph = self.context.graph;
        let weighted = kernel.shape().capabilities.weighted;
        let block_bits = graph.layout.block_bits;
        let WorkerState { accums, scratch, chunks, edges, .. } = state;
        chunks.parts(
            at,
            |stripe| (stripe, self.wanted(stripe)),
            |_, _, chunk| {
                let reach = chunk.block_width() as usize;
                let coding = Coding::weighted(chunk.label(), weighted);
                for (tile, sources) in graph.tiles_of(&chunk) {
                    let last = (sources.end - 1) >> block_bits;
                    let blocks = (sources.start >> block_bits) as usize..last as usize + 1;
                    if self.masks.is_some_and(|masks| !masks.any(blocks)) {
                        continue;
                    }
                    let source = tile.source as usize;
                    let sources = self.sources(source..source + reach);
                    let (tile, all) = (&tile, 0..tile.edges);
                    let run = TileFold { tile, edges: all, coding, is_short: false, sources };
                    kernel.fold(run, accums, scratch);
                    *edges += tile.edges as u64;
                }
                Ok(())
            },
        )
    }

    /// Folds the edges of active bands of a stripe into a worker's accumulators.
    fn fold_bands(
        &self,
        kernel: &dyn FoldKernel,
        tiles: &IndexedTiles<'_>,
        stripe: usize,
        state: &mut WorkerState<'_>,
    ) {
        let graph = self.context.graph;
        let Some(masks) = self.masks else { return };
        let reach = graph.signal_padding();
        let WorkerState { accums, scratch, edges: met, .. } = state;
        for indexed in tiles.of_stripe(stripe) {
            let source = indexed.tile.source as usize;
            let coding = indexed.coding(graph);
            let sources = self.sources(source..source + reach);
            for bands in masks.runs(source >> graph.layout.block_bits, coding.encoding) {
                let edges = indexed.edges(bands);
                *met += edges.len() as u64;
                let tile = &indexed.tile;
                let run = TileFold { tile, edges, coding, is_short: false, sources };
                kernel.fold(run, accums, scratch);
            }
        }
    }

    /// Lets a worker's accumulators meet the updates of a stripe, whose vertices have these values,
    /// piece by piece.
    fn group(
        &self,
        kernel: &dyn FoldKernel,
        (number, next): (usize, Option<usize>),
        values: &[u8],
        state: &mut WorkerState<'_>,
    ) -> Result<(), EngineError> {
        let graph = self.context.graph;
        let weighted = kernel.shape().capabilities.weighted;
        let Range { start, end } = graph.stripes[number].vertices;
        let degrees = &graph.degrees[start as usize..end as usize];
        let WorkerState { accums, scratch, chunks, groups, edges, .. } = state;
        let pieces = groups.pieces(degrees);
        for (count, piece) in pieces.iter().enumerate() {
            groups.open(degrees, piece);
            let next = if count + 1 < pieces.len() { Some(number) } else { next };
            chunks.parts(
                (number, next),
                |stripe| (stripe, 0..graph.stripes[stripe].chunks.len()),
                |_, _, chunk| {
                    let reach = chunk.block_width() as usize;
                    let coding = Coding::weighted(chunk.label(), weighted);
                    for tile in chunk.tiles() {
                        let source = tile.source as usize;
                        let sources = self.sources(source..source + reach);
                        kernel.put_tile((&tile, coding), sources, scratch, groups);
                        *edges += tile.edges as u64;
                    }
                    Ok(())
                },
            )?;
            kernel.group(groups, degrees, values, accums)?;
        }
        Ok(())
    }

    /// Shows the edges of a stripe what both of their ends say, and folds what they tell.
    fn extend(
        &self,
        kernel: &dyn ExtendedKernel,
        at: (usize, Option<usize>),
        state: &mut WorkerState<'_>,
        (resident, rewriter): (&mut [u8], &mut Rewriter<'_>),
    ) -> Result<(), EngineError> {
        let (graph, shape) = (self.context.graph, kernel.shape());
        let mut lane = Lane::begin(at, resident, rewriter)?;
        let WorkerState { accums, scratch, chunks, .. } = state;
        let all = |stripe: usize| 0..graph.stripes[stripe].chunks.len();
        chunks.stripe(at, all, |stripe, chunk| {
            let target = stripe.vertices.start as usize;
            let targets = self.sources(target..target + (1 << graph.layout.stripe_bits)).signals;
            let coding = Coding::weighted(chunk.label(), shape.capabilities.weighted);
            for tile in chunk.tiles() {
                let source = tile.source as usize;
                let sources = self.sources(source..source + chunk.block_width() as usize);
                let said = Said::Sources(sources.signals);
                let ends = Ends { base: [source, target], said, targets };
                lane.tile(kernel, (&tile, coding), ends, accums, scratch)?;
            }
            Ok(())
        })?;
        lane.end()
    }
}
