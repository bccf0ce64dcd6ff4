//! The chunks of a pass: which are shown, and what becomes of the edges in them that are
//! candidates.

use welter_model::stream::{Edge, RevisitPolicy};
use welter_store::chunk::Chunk;

use super::compacted::{CompactedEdges, Writer};
use super::contract::{Contraction, Contractor, Reads};
use super::contracted::Contracted;
use super::order::{Order, Share};
use super::run::{StreamRun, Tools};
use super::stale::Stale;
use crate::EngineError;
use crate::edges::graph::{Graph, Stripe};
use crate::edges::read_ahead::ReadAhead;
use crate::edges::tile_writer_config::Keep;
use crate::footprints::schedules as footprint;
use crate::kernels::kernel::Coding;
use crate::kernels::shape::StreamShape;
use crate::kernels::stream::{ShownCounts, StreamKernel, TilePass};
use crate::machine::per_worker::PerWorker;
use crate::machine::sync::lock;
use crate::schedules::context::Context;
use crate::schedules::steps::Showing;

/// A worker's tools in a pass.
struct WorkerState<'p> {
    chunks: ReadAhead<'p>,
    tools: Tools,
    /// Writer of the edges that are left, where they are written.
    writer: Option<Writer<'p>>,
    /// Contractor of these edges.
    contractor: Option<Contractor<'p, 'p>>,
}

/// Edges that later passes read.
pub(super) enum Newer {
    Edges(Box<Graph>),
    Contracted(Contracted),
}

/// Ways of writing what is left that a pass tries.
#[derive(Clone, Copy)]
pub(super) struct Writes {
    pub(super) edges: bool,
    pub(super) contracted: bool,
}

impl Writes {
    pub(super) const NOTHING: Self = Self { edges: false, contracted: false };
}

impl StreamRun<'_, '_> {
    /// Shows the chunks in which there may be candidates; `show` says how much there was. What is
    /// left is a new generation, if it was written.
    pub(super) fn each_chunk(
        &self,
        step: Showing,
        (share, writes): (Share, Writes),
        show: impl Fn(&mut Tools, &ChunkPass<'_, '_>) -> ShownCounts + Sync,
    ) -> Result<Option<Newer>, EngineError> {
        let (graph, stale, kernel) = (self.edges(), &self.stale, self.kernel.kernel());
        let (Context { workers, progress, phase, .. }, again) = (self.context, step.again);
        let order = Order::new(graph, share, again, step.passes);
        let (left, contraction) = self.begin_writing(writes)?;
        let keep = left.as_ref().map(CompactedEdges::keep);
        let mut worker_states =
            self.worker_states(left.as_ref().zip(keep.as_ref()), contraction.as_ref())?;
        workers.for_each_ahead(
            order.stripes.iter().copied(),
            progress,
            &mut worker_states,
            |WorkerState { chunks, tools, writer, contractor }, number, upcoming| {
                // Passes depend on the order of stripes: with two threads that took
                // more of them ahead, strong components moved 0.82 to 1.00 of the bytes of a run
                // that keeps its edges, and with one 0.90 to 0.91.
                let mut upcoming = |place| (place == 0).then(|| upcoming.get(0).copied()).flatten();
                let wants = |number| {
                    let wants = move |&chunk: &usize| stale.wants(graph, (number, chunk), again);
                    order.chunks(number).filter(wants)
                };
                let mut numbers = wants(number);
                chunks.stripe((number, &mut upcoming), wants, |stripe, chunk| {
                    let place = (number, numbers.next().unwrap_or_default());
                    let is_written = writer.is_some() || contractor.is_some();
                    let order = &order;
                    let part =
                        ChunkPass { graph, stale, again, order, place, stripe, chunk, is_written };
                    let shown = show(tools, &part);
                    stale.show(place, shown.candidates, again);
                    phase.add(tools.count(part.chunk.edges(), shown));
                    part.write_found(&tools.found, (writer, contractor), kernel)?;
                    if let (Some(left), Some(contraction)) = (&left, &contraction) {
                        contraction.choose(left, false);
                    }
                    tools.found.clear();
                    Ok(())
                })?;
                writer.as_mut().map_or(Ok(()), Writer::end_stripe)
            },
        )?;
        let (mut placed, mut contractors) = (Vec::new(), Vec::new());
        for worker in worker_states {
            lock(&self.tools).push(worker.tools);
            placed.extend(worker.writer.map_or(Ok(Vec::new()), Writer::finish)?);
            contractors.extend(worker.contractor);
        }
        if let (Some(left), Some(contraction)) = (&left, &contraction) {
            contraction.choose(left, true);
        }
        let contracted = contraction.as_ref().map_or(Ok(None), |it| it.end(contractors))?;
        if let Some(contracted) = contracted {
            return Ok(Some(Newer::Contracted(contracted)));
        }
        Ok(left
            .map_or(Ok(None), |left| left.end(placed))?
            .map(|graph| Newer::Edges(Box::new(graph))))
    }

    /// States of the workers of a pass, with their writers and contractors.
    fn worker_states<'p>(
        &'p self,
        written: Option<(&'p CompactedEdges<'p>, &'p Keep<'p>)>,
        contraction: Option<&'p Contraction<'p>>,
    ) -> Result<PerWorker<WorkerState<'p>>, EngineError> {
        let (graph, weighted) = (self.edges(), self.kernel.kernel().shape().weighted);
        let tools = std::mem::take(&mut *lock(&self.tools));
        let states = tools.into_iter().map(|tools| {
            let writer = written.map(|(left, keep)| Writer::new(left, keep, weighted));
            let (chunks, writer) = (ReadAhead::new(graph)?, writer.transpose()?);
            let contractor = contraction.map(Contractor::new).transpose()?;
            Ok(WorkerState { chunks, tools, writer, contractor })
        });
        states.collect()
    }

    /// Begins to write what is left, in the ways for which there is room.
    fn begin_writing(
        &self,
        writes: Writes,
    ) -> Result<(Option<CompactedEdges<'_>>, Option<Contraction<'_>>), EngineError> {
        let (graph, workers) = (self.edges(), self.context.workers);
        let is_stored = graph.stored_bytes() > 0;
        if is_stored && (writes.edges || writes.contracted) {
            // Slabs that were read ahead are free now.
            graph.arena.trim();
        }
        let free = self.context.graph.free_bytes();
        let threads = workers.threads() as u64;
        let requests = workers.requests();
        let of_links = threads * footprint::contract(&requests);
        let of_edges = if writes.edges { threads * footprint::left(&requests) } else { 0 };
        let share = free.checked_sub(of_links + of_edges).map(|spare| of_links + spare / 2);
        let mut taken = 0;
        let mut contraction = None;
        if let Some(free) = share.filter(|_| writes.contracted) {
            let storage = workers.storage().filter(|_| is_stored);
            let (edges, bytes, arena) = (graph.edges, graph.chunk_bytes, &graph.arena);
            contraction =
                Contraction::begin(workers, Reads { edges, bytes, storage, arena, free })?;
            taken = if contraction.is_some() { free } else { 0 };
        }
        let left = if writes.edges {
            CompactedEdges::begin(graph, workers, (free - taken, contraction.is_none()))?
        } else {
            None
        };
        Ok((left, contraction))
    }
}

/// A chunk of a stripe that is shown.
pub(super) struct ChunkPass<'r, 'c> {
    graph: &'r Graph,
    stale: &'r Stale,
    again: RevisitPolicy,
    order: &'r Order<'r>,
    /// Numbers of the stripe and of the chunk in it.
    place: (usize, usize),
    stripe: &'r Stripe,
    chunk: Chunk<'c>,
    /// Whether what is left of it is written anew.
    pub(super) is_written: bool,
}

impl ChunkPass<'_, '_> {
    /// Writes the candidates that were found in it, by what a worker has for that.
    fn write_found(
        &self,
        found: &[Edge],
        (writer, contractor): (&mut Option<Writer<'_>>, &mut Option<Contractor<'_, '_>>),
        kernel: &dyn StreamKernel,
    ) -> Result<(), EngineError> {
        let edges = self.chunk.edges();
        if let Some(writer) = writer {
            let first = self.stripe.chunks[self.place.1].sources.start;
            writer.chunk(self.chunk.label(), (first, edges), found)?;
        }
        contractor.as_mut().map_or(Ok(()), |contractor| contractor.take_edges(kernel, edges, found))
    }

    /// Shows the tiles in which there may be candidates.
    pub(super) fn each_tile(&self, shape: &StreamShape, mut show: impl FnMut(&TilePass<'_>)) {
        let coding = Coding::weighted(self.chunk.label(), shape.weighted);
        let mut tiles: Vec<_> = self.graph.tiles_of(&self.chunk).collect();
        self.order.turn(&mut tiles);
        for (tile, sources) in tiles {
            if self.stale.wants_tile(self.place, &sources, self.again) {
                show(&TilePass {
                    tile: &tile,
                    coding,
                    target_base: self.stripe.vertices.start as u32,
                    look: self.order.visit_order(shape),
                    changed: &self.stale.changing,
                });
            }
        }
    }
}
