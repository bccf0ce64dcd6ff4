//! A stripe in a dense iteration: its edges are folded, and what they made applied.

use std::ops::Range;

use super::worker::WorkerState;
use crate::EngineError;
use crate::columns::edge_states::Rewriter;
use crate::columns::state::StripeSlice;
use crate::columns::striped::PartIo;
use crate::columns::windows::SourceWindow;
use crate::edges::index::IndexedTiles;
use crate::edges::read_ahead::{UpcomingTasks, repeated};
use crate::kernels::kernel::Coding;
use crate::kernels::seam::{AnyKernel, FoldKernel, TileFold};
use crate::schedules::edge_fold::{EdgeFold, EdgeReader, Targets};
use crate::schedules::lane::Lane;

/// Arguments of the folds of an iteration.
pub(super) struct Fold<'p> {
    pub(super) edges: EdgeFold<'p>,
    pub(super) tiles: Option<&'p IndexedTiles<'p>>,
    /// All sources, with flags where edges ask for them.
    pub(super) window: SourceWindow<'p>,
    pub(super) signals: &'p [u8],
    pub(super) last: &'p [u8],
    /// The totals of no vertex.
    pub(super) none: &'p [u8],
}

impl Fold<'_> {
    /// Folds and applies a stripe, and says how many of its vertices are active. `upcoming`: the
    /// stripes that the worker will take then.
    pub(super) fn stripe(
        &self,
        (part, upcoming): (StripeSlice<'_>, &mut UpcomingTasks<'_>),
        state: &mut WorkerState<'_>,
        io: &mut PartIo<'_>,
        rewriter: &mut Option<Rewriter<'_>>,
    ) -> Result<u64, EngineError> {
        let EdgeFold { graph, kernel: any, .. } = self.edges;
        let (shape, kernel) = (*any.kernel().shape(), any.kernel());
        let StripeSlice { number, mut values, mut columns, states } = part;
        let bytes = columns.stripe.width() * shape.accum;
        let is_folded =
            !shape.capabilities.monotone || self.edges.wanted(number).1.next().is_some();
        if is_folded {
            io.fetch(&values)?;
            match any {
                AnyKernel::Fold(kernel) if shape.capabilities.knows_target => {
                    io.open(&mut values)?;
                    kernel.begin(&values, &mut state.accums[..bytes]);
                }
                AnyKernel::Fold(_) => kernel.clear(&mut state.accums[..bytes]),
                // A damaged key of an edge may name any of them.
                AnyKernel::Extended(_) => kernel.clear(&mut state.accums),
            }
        }
        match (any, self.tiles) {
            // Updates are put beside the values.
            (AnyKernel::Fold(_), _) if shape.capabilities.groups => {}
            (AnyKernel::Fold(kernel), Some(tiles)) if self.edges.masks.is_some() => {
                self.fold_granules(kernel, tiles, number, state);
            }
            _ => {
                let mut lane = match rewriter {
                    Some(rewriter) => Some(Lane::begin((number, upcoming(0)), states, rewriter)?),
                    None => None,
                };
                let WorkerState { accums, reader, .. } = state;
                let signals = self.targets(columns.stripe.vertices.start);
                let targets = Targets { accums, signals };
                let at = (number, &mut *upcoming);
                reader.fold(&self.edges, at, self.window, targets, lane.as_mut())?;
                lane.map_or(Ok(()), Lane::end)?;
            }
        }
        if !is_folded {
            columns.stay(&shape, self.signals, self.none);
            return Ok(columns.active_count);
        }
        io.open(&mut values)?;
        if let AnyKernel::Fold(kernel) = any
            && shape.capabilities.groups
        {
            self.group(kernel, (number, upcoming), &values, state)?;
        }
        columns.apply((graph, kernel), (&state.accums, self.last), &mut values);
        io.put(values)?;
        Ok(columns.active_count)
    }

    /// Signals of the targets of a stripe, of as many as a key can name, where edges look at them.
    fn targets(&self, first: u64) -> &[u8] {
        match self.edges.kernel {
            AnyKernel::Fold(_) => &[],
            AnyKernel::Extended(_) => {
                self.window.sources(first, 1 << self.edges.graph.layout.stripe_bits).signals
            }
        }
    }

    /// Folds the edges of active granules of a stripe into a worker's accumulators.
    fn fold_granules(
        &self,
        kernel: &dyn FoldKernel,
        tiles: &IndexedTiles<'_>,
        stripe: usize,
        state: &mut WorkerState<'_>,
    ) {
        let EdgeFold { graph, masks: Some(masks), .. } = self.edges else { return };
        let reach = graph.signal_padding();
        let WorkerState { accums, reader, .. } = state;
        for indexed in tiles.of_stripe(stripe) {
            let source = indexed.tile.source;
            let coding = indexed.coding(graph);
            let sources = self.window.sources(source, reach);
            for granules in
                masks.runs((source >> graph.layout.block_bits) as usize, coding.encoding)
            {
                let edges = indexed.edges(granules);
                reader.edges += edges.len() as u64;
                let tile = &indexed.tile;
                let run = TileFold { tile, edges, coding, is_short: false, sources };
                kernel.fold(run, accums, &mut reader.scratch);
            }
        }
    }

    /// Lets a worker's accumulators meet the updates of a stripe, whose vertices have these values,
    /// piece by piece.
    fn group(
        &self,
        kernel: &dyn FoldKernel,
        (number, upcoming): (usize, &mut UpcomingTasks<'_>),
        values: &[u8],
        state: &mut WorkerState<'_>,
    ) -> Result<(), EngineError> {
        let graph = self.edges.graph;
        let weighted = kernel.shape().capabilities.weighted;
        let Range { start, end } = graph.stripes[number].vertices;
        let degrees = &graph.degrees[start as usize..end as usize];
        let WorkerState { accums, reader, groups } = state;
        let EdgeReader { chunks, scratch, edges } = reader;
        let pieces = groups.pieces(degrees);
        for (count, piece) in pieces.iter().enumerate() {
            groups.open(degrees, piece);
            let mut upcoming = repeated((number, pieces.len() - 1 - count), upcoming);
            chunks.parts(
                (number, &mut upcoming),
                |stripe| (stripe, 0..graph.stripes[stripe].chunks.len()),
                |_, _, chunk| {
                    let reach = chunk.block_width() as usize;
                    let coding = Coding::weighted(chunk.label(), weighted);
                    for tile in chunk.tiles() {
                        let sources = self.window.sources(tile.source, reach);
                        kernel.scatter((&tile, coding, None), sources, scratch, groups)?;
                        *edges += tile.edges as u64;
                    }
                    Ok(())
                },
            )?;
            kernel.group(groups, degrees, values, accums)?;
        }
        Ok(())
    }
}
