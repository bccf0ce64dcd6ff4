//! Edges that are left, written anew (Chaos, section 3: edges that can no longer matter are
//! dropped while others are read).
//!
//! An edge that is no candidate in a pass of [`RevisitPolicy::Never`] never is again. So while such
//! a pass reads a graph of which chunks are on storage, the others go into a new, smaller
//! generation of it, and later passes read that:
//!
//! ```text
//! edges that are left <= edges that were looked at / SHARE, else the pass gives up
//! ```
//!
//! At a half the first pass that reads the new generation would save just what writing it took. How
//! many are left is known only when all were looked at, so a pass that gives up has written for
//! nothing: at a quarter no more than a quarter of what it read.
//!
//! Remaining edges stay in memory as far as half of the room there goes; the other half is for
//! programs that ask for all that is left at once. An older generation is dropped with its room on
//! storage when a new one is whole; the graph itself stays.
//!
//! Invariants: a generation holds all edges that can still be candidates · nothing is written
//! unless there is room for all of it before, on storage and for the buffers of all workers in
//! memory; where there is none, passes read what they read before. Tested by
//! `what_is_left_is_written_and_less_is_read` and
//! `no_run_takes_more_than_its_plan_and_its_budget_say`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use welter_model::edges::Duplicates;
use welter_model::stream::{Edge, RevisitPolicy};
use welter_store::header::Label;
use welter_store::io::Volume;
use welter_store::weights::WeightKind;

use super::order::Share;
use crate::EngineError;
use crate::edges::framing::Framing;
use crate::edges::graph::{Graph, Stored, Stripe};
use crate::edges::slab_location::ChunkPlace;
use crate::edges::tile_writer_config::{Keep, TileWriterConfig};
use crate::edges::tiles::{Numbers, TILE_EDGES_LEAST, TileWriter};
use crate::footprints::schedules as footprint;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::record::{Record, Weighted};
use crate::kernels::vertices::Vertices;
use crate::machine::storage::Storage;
use crate::machine::workers::Workers;

/// A new generation has at most one edge in `SHARE` of those that were looked at for it.
const SHARE: u64 = 4;

/// Edges that a worker gathers before they are cut into tiles.
const GATHERED: usize = 1 << 14;

/// Whether it would do any good that a pass writes what is left.
pub(super) fn is_worthwhile(graph: &Graph, share: Share, again: RevisitPolicy) -> bool {
    let may = !graph.plan.premises.settings.keeps_edges;
    may && share == Share::All && again == RevisitPolicy::Never && graph.stored_bytes() > 0
}

/// A new generation that is being written, as workers share it.
pub(super) struct CompactedEdges<'g> {
    graph: &'g Graph,
    volume: Arc<Volume>,
    storage: &'g Storage,
    cache_bytes: u64,
    /// One edge in this number that would pay must be left before too many of them are a reason to
    /// give up.
    patience: u64,
    looked: AtomicU64,
    found: AtomicU64,
    is_over: AtomicBool,
}

impl<'g> CompactedEdges<'g> {
    /// Begins one, if there is room: `free` bytes of memory, and on storage. Where it is not the
    /// only way that is tried it is less patient.
    pub(super) fn begin(
        graph: &'g Graph,
        workers: &'g Workers,
        (free, is_alone): (u64, bool),
    ) -> Result<Option<Self>, EngineError> {
        let buffers = workers.threads() as u64 * footprint::left(&workers.requests());
        let Some(storage) = workers.storage().filter(|_| free >= buffers) else { return Ok(None) };
        // Keys that are farther apart take more bytes, but there are no more tiles than before.
        let need = graph.chunk_bytes + buffers;
        let volume = match storage.scratch(need) {
            Ok(volume) => volume,
            Err(EngineError::Disk { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Self {
            graph,
            volume,
            storage,
            cache_bytes: (free - buffers) / 2,
            patience: if is_alone { 4 } else { 32 },
            looked: AtomicU64::new(0),
            found: AtomicU64::new(0),
            is_over: false.into(),
        }))
    }

    /// The rule by which chunks stay in memory.
    pub(super) fn keep(&self) -> Keep<'_> {
        let edges = self.graph.edges / SHARE;
        let framing = Framing::stated(self.graph.layout.compression);
        Keep::new((&self.volume, &self.storage.io), framing, self.cache_bytes, u64::MAX, edges)
    }

    /// Notes how many of a chunk's edges are left, and says whether it is still worth it. A few
    /// chunks with many of them are no reason to give up.
    fn go_on(&self, looked: u64, left: u64) -> bool {
        let looked = self.looked.fetch_add(looked, Ordering::Relaxed) + looked;
        let left = self.found.fetch_add(left, Ordering::Relaxed) + left;
        let all = self.graph.edges / SHARE;
        let many = left > looked / SHARE && left > all / self.patience;
        if many || left > all {
            self.give_up();
        }
        !self.is_over()
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(super) fn give_up(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Bytes of what was found, about.
    pub(super) fn bytes(&self) -> u64 {
        let found = u128::from(self.found.load(Ordering::Relaxed));
        let bytes = found * u128::from(self.graph.chunk_bytes);
        (bytes / u128::from(self.graph.edges.max(1))) as u64
    }

    /// The new generation, if it is worth it, of what workers have written.
    pub(super) fn end(self, mut placed: Vec<ChunkPlace>) -> Result<Option<Graph>, EngineError> {
        let Self { graph, volume, storage, looked, found, is_over, .. } = self;
        if is_over.into_inner() || found.into_inner() > looked.into_inner() / SHARE {
            return Ok(None);
        }
        let order = |place: &ChunkPlace| {
            (place.cell.stripe, place.cell.source_partition, place.sources.start, place.number)
        };
        placed.sort_by_key(order);
        let mut placed = placed.into_iter().peekable();
        let stripes = (0..).zip(&graph.stripes).map(|(run, stripe)| {
            let of_it = |place: &ChunkPlace| place.cell.stripe == run;
            let chunks: Vec<_> = std::iter::from_fn(|| placed.next_if(of_it)).collect();
            Stripe {
                vertices: stripe.vertices.clone(),
                segments: stripe.segments.clone(),
                edges: chunks.iter().map(|place| place.edges).sum(),
                chunks,
            }
        });
        let stripes: Vec<_> = stripes.collect();
        if let Some(ChunkPlace { cell, .. }) = placed.next() {
            let what = format!("edges were left in stripe {}, which is none", cell.stripe);
            return Err(EngineError::internal(what));
        }
        let chunks = || stripes.iter().flat_map(|stripe| &stripe.chunks);
        // Vertices by their numbers: the graph itself knows which slot is whose.
        let vertices = (Vertices::all(graph.vertices()), graph.others);
        Ok(Some(Graph {
            degree_max: graph.degree_max,
            layout: EdgeLayout { wide_tiles: true, ..graph.layout },
            edges: chunks().map(|place| place.edges).sum(),
            chunk_bytes: chunks().map(|place| place.range.len() as u64).sum(),
            id: (graph.id.0, graph.id.1 + 1),
            stored: Some(Stored { volume, io: storage.io.clone() }),
            stripes,
            ..Graph::without_edges(vertices, &graph.plan, &graph.arena)?
        }))
    }
}

/// One worker's part of a generation.
pub(super) struct Writer<'l> {
    left: &'l CompactedEdges<'l>,
    keep: &'l Keep<'l>,
    edges: Edges,
    /// Of the chunk that is open.
    label: Option<Label>,
    /// The first source of the chunk that was read last.
    source: u64,
}

/// Edges that were gathered, and what writes them.
enum Edges {
    Plain(Vec<u64>, TileWriter<u64>),
    Weighted(Vec<Weighted>, TileWriter<Weighted>),
}

impl<'l> Writer<'l> {
    pub(super) fn new(
        left: &'l CompactedEdges<'l>,
        keep: &'l Keep<'l>,
        weighted: bool,
    ) -> Result<Self, EngineError> {
        let edges = if weighted {
            Edges::Weighted(Vec::new(), TileWriter::new(Some(keep))?)
        } else {
            Edges::Plain(Vec::new(), TileWriter::new(Some(keep))?)
        };
        Ok(Self { left, keep, edges, label: None, source: 0 })
    }

    /// Takes what is left of the next chunk, in its order.
    pub(super) fn chunk(
        &mut self,
        label: &Label,
        (sources_start, looked): (u64, u64),
        found: &[Edge],
    ) -> Result<(), EngineError> {
        if !self.left.go_on(looked, found.len() as u64) {
            return Ok(());
        }
        let goes_on = self.label.as_ref().is_some_and(|open| open.cell == label.cell);
        if !goes_on || sources_start < self.source {
            self.close()?;
            let number =
                if goes_on { self.label.as_ref().map_or(0, |open| open.number) } else { 0 };
            let generation = self.left.graph.id.1 + 1;
            self.label = Some(Label { generation, number, weights: WeightKind::None, ..*label });
        }
        self.source = sources_start;
        let key = |edge: &Edge| {
            let [source, target] = [
                u64::from(edge.source).wrapping_sub(label.source_base),
                u64::from(edge.target).wrapping_sub(label.target_base),
            ];
            source << label.target_bits | target
        };
        match &mut self.edges {
            Edges::Plain(edges, _) => {
                edges.extend(found.iter().map(|edge| u64::new(key(edge), edge.weight)));
            }
            Edges::Weighted(edges, _) => {
                edges.extend(found.iter().map(|edge| Weighted::new(key(edge), edge.weight)));
            }
        }
        if self.edges.len() >= GATHERED { self.cut() } else { Ok(()) }
    }

    /// Cuts what was gathered into tiles of the open chunk.
    fn cut(&mut self) -> Result<(), EngineError> {
        let Self { left, keep, edges, label: Some(label), .. } = self else { return Ok(()) };
        let graph = left.graph;
        let numbers = Numbers::plain(label.target_bits, graph.layout.block_bits, TILE_EDGES_LEAST);
        let config = tile_writer_config(graph, keep);
        match edges {
            Edges::Plain(edges, writer) => writer.append(edges, &numbers, label, config)?,
            Edges::Weighted(edges, writer) => writer.append(edges, &numbers, label, config)?,
        }
        edges.clear();
        Ok(())
    }

    /// Ends the open chunk.
    fn close(&mut self) -> Result<(), EngineError> {
        self.cut()?;
        let Self { left, keep, edges, label: Some(label), .. } = self else { return Ok(()) };
        let config = tile_writer_config(left.graph, keep);
        match edges {
            Edges::Plain(_, writer) => writer.close(label, config),
            Edges::Weighted(_, writer) => writer.close(label, config),
        }
    }

    /// Ends a stripe: the next one of this worker is another.
    pub(super) fn end_stripe(&mut self) -> Result<(), EngineError> {
        self.close()?;
        self.label = None;
        Ok(())
    }

    /// All chunks that were written.
    pub(super) fn finish(self) -> Result<Vec<ChunkPlace>, EngineError> {
        let arena = &self.left.graph.arena;
        match self.edges {
            Edges::Plain(_, writer) => writer.finish(Some(self.keep), arena),
            Edges::Weighted(_, writer) => writer.finish(Some(self.keep), arena),
        }
    }
}

fn tile_writer_config<'l>(graph: &'l Graph, keep: &'l Keep<'l>) -> TileWriterConfig<'l, 'l> {
    TileWriterConfig {
        plan: &graph.plan,
        layout: graph.layout,
        vertices: &graph.vertices,
        duplicates: Duplicates::Keep,
        graph: graph.id.0,
        arena: &graph.arena,
        bins: None,
        keep: Some(keep),
        groups: &[],
    }
}

impl Edges {
    fn len(&self) -> usize {
        match self {
            Self::Plain(edges, _) => edges.len(),
            Self::Weighted(edges, _) => edges.len(),
        }
    }

    fn clear(&mut self) {
        match self {
            Self::Plain(edges, _) => edges.clear(),
            Self::Weighted(edges, _) => edges.clear(),
        }
    }
}
