//! The edges from a window of sources to a stripe, and how accumulators meet them.
//!
//! Route `fold` has one window, of all sources, and the accumulators of one stripe a worker; route
//! `ranges` has several windows, and several stripes. A task is a window and a stripe, so that
//! chunks are read ahead from one to the next.
//!
//! Invariant: a stripe meets the tiles of its windows in the order of their sources. Tested by
//! `the_order_of_sums_is_as_stated` and `every_task_gives_the_same_bits_as_in_memory`.

use std::ops::Range;

use welter_store::ChunkError;
use welter_store::chunk::Tile;

use crate::EngineError;
use crate::columns::windows::{Cuts, SourceWindow};
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::{ReadAhead, UpcomingTasks};
use crate::kernels::kernel::{Coding, DecodeBuffers, Sources};
use crate::kernels::seam::{AnyKernel, EndpointColumns, SourceSignals, TileFold};
use crate::schedules::frontier::Masks;
use crate::schedules::lane::Lane;

/// Arguments of all folds of an iteration.
pub(crate) struct EdgeFold<'p> {
    pub(crate) graph: &'p Graph,
    pub(crate) kernel: AnyKernel<'p>,
    pub(crate) cuts: &'p Cuts,
    /// Blocks of sources that have an active one, where not all have.
    pub(crate) masks: Option<&'p Masks>,
    /// Whether windows may end before what a key can name.
    pub(crate) is_short: bool,
}

impl EdgeFold<'_> {
    /// The number of a task.
    pub(crate) fn task(&self, window: usize, stripe: usize) -> usize {
        window * self.graph.stripes.len() + stripe
    }

    /// The window and the stripe of a task.
    fn parts_of(&self, task: usize) -> (usize, usize) {
        let stripes = self.graph.stripes.len();
        (task / stripes, task % stripes)
    }

    /// The stripe of a task, and its chunks that may have an active source in the window.
    pub(crate) fn wanted(&self, task: usize) -> (usize, impl Iterator<Item = usize> + '_) {
        let (window, number) = self.parts_of(task);
        let stripe = &self.graph.stripes[number];
        let chunks = self.cuts.chunks(stripe, window);
        let is_wanted = |&chunk: &usize| self.is_wanted(stripe.chunks[chunk].sources.clone());
        (number, chunks.filter(is_wanted))
    }

    fn is_weighted(&self) -> bool {
        self.kernel.kernel().shape().capabilities.weighted
    }

    /// Folds the edges of a tile. A key that leads outside of columns, if there is one.
    fn tile(
        &self,
        stripe: &Stripe,
        (tile, coding, sources): (&Tile<'_>, Coding, Sources<'_, u8>),
        targets: &mut Targets<'_>,
        lane: Option<&mut Lane<'_, '_>>,
        scratch: &mut DecodeBuffers,
    ) -> Result<Option<u32>, EngineError> {
        let (is_short, edges) = (self.is_short, 0..tile.edges);
        match (self.kernel, lane) {
            (AnyKernel::Fold(kernel), _) => {
                let run = TileFold { tile, edges, coding, is_short, sources };
                Ok(kernel.fold(run, targets.accums, scratch))
            }
            (AnyKernel::Extended(kernel), Some(lane)) if !is_short => {
                let base = [tile.source, stripe.vertices.start].map(|first| first as usize);
                let source_signals = SourceSignals::Sources(sources.signals);
                let ends = EndpointColumns { base, source_signals, targets: targets.signals };
                lane.tile(kernel, (tile, coding), ends, targets.accums, scratch)?;
                Ok(None)
            }
            _ => {
                let what = "edges of extended programs have states, and wide windows";
                Err(EngineError::internal(what))
            }
        }
    }

    /// Whether one of some sources may be active.
    fn is_wanted(&self, sources: Range<u64>) -> bool {
        self.masks.is_none_or(|masks| masks.any(self.graph.blocks(sources)))
    }
}

/// The vertices of a stripe: accumulators, and signals where edges look at those of their targets.
pub(crate) struct Targets<'a> {
    pub(crate) accums: &'a mut [u8],
    pub(crate) signals: &'a [u8],
}

/// One worker's way to edges.
pub(crate) struct EdgeReader<'g> {
    pub(crate) chunks: ReadAhead<'g>,
    pub(crate) scratch: DecodeBuffers,
    /// Edges that were looked at.
    pub(crate) edges: u64,
}

impl<'g> EdgeReader<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, EngineError> {
        Ok(Self { chunks: ReadAhead::new(graph)?, scratch: DecodeBuffers::new(), edges: 0 })
    }

    /// Folds the edges of a task, in extended programs with their states, which come by in a lane.
    /// `at`: its number, and those of the tasks that the worker will fold then.
    pub(crate) fn fold(
        &mut self,
        fold: &EdgeFold<'_>,
        at: (usize, &mut UpcomingTasks<'_>),
        window: SourceWindow<'_>,
        mut targets: Targets<'_>,
        mut lane: Option<&mut Lane<'_, '_>>,
    ) -> Result<(), EngineError> {
        let Self { chunks, scratch, edges } = self;
        let begins = fold.cuts.begins(fold.parts_of(at.0).0);
        let wants = |task| fold.wanted(task);
        chunks.parts(at, wants, |stripe, place, chunk| {
            let reach = chunk.block_width() as usize;
            let coding = Coding::weighted(chunk.label(), fold.is_weighted());
            for (tile, named) in fold.graph.tiles_of(&chunk) {
                if !begins.contains(&tile.source) || !fold.is_wanted(named) {
                    continue;
                }
                *edges += tile.edges as u64;
                let sources = window.sources(tile.source, reach);
                let edges = (&tile, coding, sources);
                let lane = lane.as_deref_mut();
                if let Some(key) = fold.tile(stripe, edges, &mut targets, lane, scratch)? {
                    let (what, value) = ("key of an edge", key.into());
                    let error = ChunkError::Field { what, offset: 0, value };
                    return Err(Graph::damaged(place, error));
                }
            }
            Ok(())
        })
    }
}
