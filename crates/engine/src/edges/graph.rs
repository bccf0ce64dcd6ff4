//! A graph in memory: vertices, out-degrees, and chunks by stripe.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use welter_model::edges::{EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::table::VertexColumn;
use welter_store::ChunkError;
use welter_store::chunk::{Chunk, Tile};
use welter_store::io::{IoOptions, Volume, VolumeStats};

use crate::EngineError;
use crate::edges::out_edges::OutEdges;
use crate::edges::rows::Rows;
use crate::edges::slab_location::ChunkPlace;
use crate::edges::sound;
use crate::edges::source_index::SourceIndex;
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::kernels::kernel::DecodeBuffers;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::vertices::Vertices;
use crate::machine::arena::{Arena, Buffer};
use crate::machine::storage::Storage;
use crate::plan::{Plan, StateAccess};

/// A graph, ready to be iterated over.
pub struct Graph {
    pub(crate) vertices: Vertices,
    /// Out-degrees, unless they are on storage.
    pub(crate) degrees: Buffer<u32>,
    pub(crate) degrees_stored: Option<StoredColumn>,
    pub(crate) degree_max: u32,
    pub(crate) stripes: Vec<Stripe>,
    /// Layout of its edges in chunks.
    pub(crate) layout: EdgeLayout,
    pub(crate) plan: Plan,
    pub(crate) arena: Arena,
    pub(crate) edges: u64,
    /// Number of vertices without edges that the last one stands for, itself included; 0 where it
    /// stands for none.
    pub(crate) others: u64,
    pub(crate) chunk_bytes: u64,
    /// The number that all its chunks bear, and their generation.
    pub(crate) id: (u64, u32),
    /// Whether the reverse of each edge is an edge too.
    pub(crate) symmetric: bool,
    /// Where the edges of each granule of sources lie, when the plan's program has a frontier.
    pub(crate) index: Option<SourceIndex>,
    /// The sources of each source partition, whose edges lie in chunks of its number.
    pub(crate) partitions: Vec<Range<u64>>,
    /// Targets by source, once a search needed them or the plan wanted them.
    pub(crate) out_rows: OnceLock<Rows>,
    /// Sources by target, where the plan wanted them.
    pub(crate) in_rows: Option<Rows>,
    /// Where chunks lie that are not in memory.
    pub(crate) stored: Option<Stored>,
    /// Where its edges are, if it stays in its input and has no chunks.
    pub(crate) input: Option<Input>,
}

/// Volume and options by which chunks are read that are not in memory.
pub(crate) struct Stored {
    pub(crate) volume: Arc<Volume>,
    pub(crate) io: IoOptions,
}

/// The edges to one range of destinations.
pub(crate) struct Stripe {
    /// Destinations of the stripe.
    pub(crate) vertices: Range<u64>,
    /// The segments of slots that these are.
    pub(crate) segments: Range<usize>,
    pub(crate) edges: u64,
    /// In the order of their sources.
    pub(crate) chunks: Vec<ChunkPlace>,
}

impl Stripe {
    /// Number of its destinations.
    pub(crate) fn width(&self) -> usize {
        (self.vertices.end - self.vertices.start) as usize
    }
}

impl Graph {
    /// A graph of a plan of which only the vertices are known, `others` of which the last one
    /// stands for.
    pub(crate) fn without_edges(
        (vertices, others): (Vertices, u64),
        plan: &Plan,
        arena: &Arena,
    ) -> Result<Self, EngineError> {
        Ok(Self {
            vertices,
            degrees: Buffer::zeroed(0)?,
            degrees_stored: None,
            degree_max: 0,
            stripes: Vec::new(),
            layout: plan.premises.edges,
            plan: plan.clone(),
            arena: arena.clone(),
            edges: 0,
            others,
            chunk_bytes: 0,
            id: (0, 0),
            symmetric: false,
            index: None,
            partitions: Vec::new(),
            out_rows: OnceLock::new(),
            in_rows: None,
            stored: None,
            input: None,
        })
    }

    /// Number of vertices that hold a state of their own, and so of rows of results.
    pub fn vertices(&self) -> u64 {
        self.vertices.count()
    }

    /// Number of vertices, those that share a state included
    /// ([`NonCompact`](welter_model::non_compact::NonCompact)).
    pub fn all_vertices(&self) -> u64 {
        self.vertices() + self.others.saturating_sub(1)
    }

    /// Number of vertices that the last one stands for, itself included, if it is among some that
    /// lie next to each other.
    pub(crate) fn implicit_multiplicity(&self, vertices: &Range<u64>) -> u64 {
        let has_last = self.others > 0 && vertices.end == self.vertices();
        if has_last && !vertices.is_empty() { self.others } else { 1 }
    }

    /// Number of slots, those that are no vertices included.
    pub fn slots(&self) -> u64 {
        self.vertices.slots()
    }

    /// The number of the vertex in a slot, if that is one.
    pub fn vertex_of_slot(&self, slot: u64) -> Option<u64> {
        self.vertices.number(slot)
    }

    /// Number of edges as they are stored: after dropping, merging and adding reverse arcs.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Number of edges that leave each vertex; of none where they are on storage, because the state
    /// of the program that was planned for does not fit in memory.
    pub fn out_degrees(&self) -> &[u32] {
        &self.degrees
    }

    /// Bytes of all chunks.
    pub fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Bytes of memory that edges hold, free parts of slabs included.
    pub fn resident_bytes(&self) -> u64 {
        self.arena.backed_bytes()
    }

    /// Number of stripes.
    pub fn stripes(&self) -> usize {
        self.stripes.len()
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.stripes.iter().map(|stripe| stripe.chunks.len()).sum()
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        let chunks = self.stripes.iter().flat_map(|stripe| &stripe.chunks);
        chunks.map(|place| place.tiles as usize).sum()
    }

    /// Bytes of chunks that are not in memory.
    pub fn stored_bytes(&self) -> u64 {
        let chunks = self.stripes.iter().flat_map(|stripe| &stripe.chunks);
        let stored = chunks.filter(|place| place.extent.bytes().is_none());
        stored.map(|place| place.range.len() as u64).sum()
    }

    /// Whether its chunks, or columns that are read beside them, come from storage.
    pub(crate) fn is_streamed(&self) -> bool {
        self.stored_bytes() > 0 || self.plan.out_of_core().is_some()
    }

    /// Bytes and requests to and from storage for its chunks, where not all of them are in memory.
    pub fn storage_stats(&self) -> Option<VolumeStats> {
        self.stored.as_ref().map(|stored| stored.volume.stats())
    }

    /// Plan by which the graph was made.
    pub fn plan(&self) -> &Plan {
        &self.used().plan
    }

    /// The graph that was made of this one, if it stayed in its input and was made after all; else
    /// itself.
    pub fn used(&self) -> &Self {
        self.input.as_ref().and_then(Input::made).unwrap_or(self)
    }

    /// The original ids of all vertices.
    pub fn vertex_column(&self, ids: &IdMap) -> VertexColumn {
        self.vertices.column(ids)
    }

    /// The original ids of all vertices; everything else is given up, and its memory with it.
    pub fn into_vertex_column(self, ids: IdMap) -> VertexColumn {
        self.vertices.into_column(ids)
    }

    /// Sources that a key in a tile can name beyond the last vertex: columns of signals are so much
    /// longer, and then no key, right or wrong, leads outside them.
    pub(crate) fn signal_padding(&self) -> usize {
        self.layout.key_sources() as usize
    }

    /// Room on storage for a column of the graph's vertices, of `width` bytes each.
    pub(crate) fn column(
        &self,
        storage: &Storage,
        width: usize,
    ) -> Result<StoredColumn, EngineError> {
        let stripes = self.stripes.iter().map(|stripe| stripe.vertices.clone());
        StoredColumn::new(stripes.collect(), storage, width)
    }

    /// Signals that a window has beyond the sources whose tiles begin in it.
    pub(crate) fn window_margin(&self) -> u64 {
        self.layout.window_margin(self.plan.premises.program.signal())
    }

    /// Bytes of the budget that were not asked for, once the graph is there.
    pub(crate) fn free_bytes(&self) -> u64 {
        let taken = self.plan.memory.left_by_ingest(self.arena.backed_bytes());
        self.plan.premises.budget_bytes.saturating_sub(taken)
    }

    /// Moves out-degrees from memory to storage.
    pub(crate) fn move_degrees(&mut self, storage: Option<&Storage>) -> Result<(), EngineError> {
        let degrees = std::mem::replace(&mut self.degrees, Buffer::zeroed(0)?);
        let mut rest = &degrees[..];
        self.store_degrees(storage, |column| {
            let (front, others) = rest.split_at(column.len());
            column.copy_from_slice(front);
            rest = others;
            Ok(())
        })
    }

    /// Puts out-degrees on storage instead. `read` gives those of as many of the next vertices as
    /// its slice has room for.
    pub(crate) fn store_degrees(
        &mut self,
        storage: Option<&Storage>,
        mut read: impl FnMut(&mut [u32]) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let storage = storage.ok_or_else(|| EngineError::no_storage("degrees"))?;
        let state = self.plan.storage().map(|plan| plan.state);
        let in_memory = state.is_some_and(StateAccess::vertices_in_memory);
        let in_memory = in_memory.then(|| storage.in_memory());
        let stored = self.column(in_memory.as_ref().unwrap_or(storage), size_of::<u32>())?;
        let mut io = ColumnIo::new(&stored)?;
        for (number, stripe) in self.stripes.iter().enumerate() {
            let mut column = io.blank()?;
            read(&mut column[..stripe.width()])?;
            io.put(number, column)?;
        }
        io.finish()?;
        drop(io);
        self.degrees_stored = Some(stored);
        Ok(())
    }

    /// The blocks that some sources lie in.
    pub(crate) fn blocks(&self, sources: Range<u64>) -> Range<usize> {
        let bits = self.layout.block_bits;
        (sources.start >> bits) as usize..sources.end.div_ceil(1 << bits) as usize
    }

    /// Opens a chunk in memory and checks it against the stripe that it was put into.
    pub(crate) fn open<'a>(
        &self,
        stripe: &Stripe,
        place: &'a ChunkPlace,
    ) -> Result<Chunk<'a>, EngineError> {
        self.open_bytes(stripe, place, place.bytes())
    }

    /// Opens a chunk whose bytes were read, and checks it against its stripe.
    pub(crate) fn open_bytes<'a>(
        &self,
        stripe: &Stripe,
        place: &ChunkPlace,
        bytes: &'a [u8],
    ) -> Result<Chunk<'a>, EngineError> {
        let failed = |error| Self::damaged(place, error);
        let chunk = Chunk::open(bytes).map_err(failed)?;
        let columns = self.vertices() + self.signal_padding() as u64;
        let label = chunk.label();
        let fits = (label.cell, label.number) == (place.cell, place.number)
            && (label.graph, label.generation) == self.id
            && label.target_base == stripe.vertices.start
            && label.target_bits == self.layout.stripe_bits
            && chunk.sources_end() <= columns;
        if fits {
            return Ok(chunk);
        }
        let (what, value) = ("place of the chunk", label.target_base);
        Err(failed(ChunkError::Field { what, offset: 0, value }))
    }

    /// Checks the edges of a chunk that was read against the vertices, unless that was done.
    pub(crate) fn verify_edges(
        &self,
        stripe: &Stripe,
        place: &ChunkPlace,
        chunk: &Chunk<'_>,
    ) -> Result<(), EngineError> {
        if place.sound.is_known() {
            return Ok(());
        }
        let sources = place.sources.start..place.sources.end.min(self.vertices());
        let scratch = &mut DecodeBuffers::new();
        // Bytes that are not those that were written are told as that.
        chunk
            .verify()
            .and_then(|()| sound::check(chunk, sources, stripe.width() as u64, scratch))
            .map_err(|error| Self::damaged(place, error))?;
        place.sound.know();
        Ok(())
    }

    /// The tiles of a chunk, each with the sources that its edges can have.
    pub(crate) fn tiles_of<'c>(
        &self,
        chunk: &Chunk<'c>,
    ) -> impl Iterator<Item = (Tile<'c>, Range<u64>)> + use<'c> {
        let block = 1 << self.layout.block_bits;
        let width = if self.layout.wide_tiles { chunk.block_width() } else { block };
        let mut tiles = chunk.tiles().peekable();
        std::iter::from_fn(move || {
            let tile = tiles.next()?;
            // A tile continues into the block in which the next one begins, at most.
            let next = tiles.peek().map_or(u64::MAX, |next| next.source + block);
            let sources = tile.source..next.clamp(tile.source + 1, tile.source + width);
            Some((tile, sources))
        })
    }

    /// The error of a chunk that is not what was written.
    pub(crate) fn damaged(place: &ChunkPlace, error: ChunkError) -> EngineError {
        EngineError::Chunk {
            source_partition: place.cell.source_partition,
            stripe: place.cell.stripe,
            number: place.number,
            error,
        }
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("vertices", &self.vertices())
            .field("edges", &self.edges)
            .field("stripes", &self.stripes.len())
            .field("chunks", &self.chunks())
            .field("chunk_bytes", &self.chunk_bytes)
            .finish_non_exhaustive()
    }
}

/// Where the edges of a graph are that stays in its input.
pub(crate) struct Input {
    /// Until the graph is made after all.
    pub(crate) stream: RwLock<Option<Box<dyn EdgeStream>>>,
    pub(crate) made: OnceLock<Box<Graph>>,
    pub(crate) reading: Reading,
    /// Edges of each part.
    pub(crate) edges: Vec<u64>,
    /// Edges that a search begins with, where its sources were known.
    pub(crate) begun: Option<OutEdges>,
}

impl Input {
    /// The stream, for a while.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&dyn EdgeStream) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let stream = self.stream.read().unwrap_or_else(PoisonError::into_inner);
        let what = "the graph was made of its input, which is gone";
        let stream = stream.as_deref().ok_or_else(|| EngineError::internal(what));
        run(stream?)
    }

    /// The graph that was made of it after all.
    pub(crate) fn made(&self) -> Option<&Graph> {
        self.made.get().map(|made| &**made)
    }
}
