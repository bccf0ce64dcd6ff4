//! The chunks of a pass: which are shown, and what becomes of the edges in them that are
//! candidates.

use welter_model::stream::RevisitPolicy;
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
use crate::kernels::kernel::Coding;
use crate::kernels::shape::StreamShape;
use crate::kernels::stream::{Shown, TilePass};
use crate::machine::per_worker::PerWorker;
use crate::machine::sync::lock;
use crate::schedules::context::Context;
use crate::schedules::footprint;
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

/// Which ways of writing what is left a pass tries.
#[derive(Clone, Copy)]
pub(super) struct Writes {
    pub(super) edges: bool,
    pub(super) contracted: bool,
}

impl Writes {
    pub(super) const NOTHING: Self = Self { edges: false, contracted: false };
}

impl StreamRun<'_> {
    /// Shows the chunks in which there may be candidates; `show` says how much there was. What is
    /// left is a new generation, if it was written.
    pub(super) fn each_chunk(
        &self,
        step: Showing,
        (share, writes): (Share, Writes),
        show: impl Fn(&mut Tools, &ChunkPass<'_, '_>) -> Shown + Sync,
    ) -> Result<Option<Newer>, EngineError> {
        let (graph, stale, kernel) = (self.edges(), &self.stale, self.kernel.kernel());
        let Context { workers, progress, phase, .. } = self.context;
        let (again, weighted) = (step.again, kernel.shape().weighted);
        let order = Order::new(graph, share, again, step.passes);
        let (left, contraction) = self.begin_writing(writes)?;
        let keep = left.as_ref().map(CompactedEdges::keep);
        let tools = std::mem::take(&mut *lock(&self.tools));
        let worker_states = tools.into_iter().map(|tools| {
            let written = left.as_ref().zip(keep.as_ref());
            let writer = written.map(|(left, keep)| Writer::new(left, keep, weighted));
            let (chunks, writer) = (ReadAhead::new(graph)?, writer.transpose()?);
            let contractor = contraction.as_ref().map(Contractor::new).transpose()?;
            Ok(WorkerState { chunks, tools, writer, contractor })
        });
        let mut worker_states = worker_states.collect::<Result<PerWorker<_>, EngineError>>()?;
        workers.for_each_ahead(
            order.stripes.iter().copied(),
            progress,
            &mut worker_states,
            |WorkerState { chunks, tools, writer, contractor }, stripe, next| {
                let at = (stripe, next.copied());
                let wants = |number| {
                    let wants = move |&chunk: &usize| stale.wants(graph, (number, chunk), again);
                    order.chunks(number).filter(wants)
                };
                let mut numbers = wants(at.0);
                chunks.stripe(at, wants, |stripe, chunk| {
                    let place = (at.0, numbers.next().unwrap_or_default());
                    let is_written = writer.is_some() || contractor.is_some();
                    let order = &order;
                    let part =
                        ChunkPass { graph, stale, again, order, place, stripe, chunk, is_written };
                    let shown = show(tools, &part);
                    stale.show(place, shown.candidates, again);
                    let edges = part.chunk.edges();
                    tools.stats.looked += edges;
                    tools.stats.candidates += shown.candidates;
                    tools.stats.changes += shown.changes;
                    phase.add(edges);
                    if let Some(writer) = writer {
                        let first = stripe.chunks[place.1].sources.start;
                        writer.chunk(part.chunk.label(), (first, edges), &tools.found)?;
                    }
                    if let Some(contractor) = contractor {
                        contractor.take_edges(kernel, edges, &tools.found)?;
                    }
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
