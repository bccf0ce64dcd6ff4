//! Bins of edges: one for each chunk that an edge may go to, and the chunks that full ones become.
//!
//! Bins have numbers, which follow from the partitions of an edge by a multiplication or two. Where
//! few are possible they are places in a list, which needs no search.
//!
//! Edges of a cell whose accumulators have stripes are put in the order of these before they are
//! written. There a bin holds as many edges as [`Partitioning::bin_chunks`] chunks, and becomes as
//! many, each with the edges to few stripes. Those to one stripe lie side by side, sorted by
//! source: the more of them there are, the more read signals of one cache line.
//!
//! **Invariant:** a chunk has no more edges than chunks have, however many a bin holds, and each
//! edge is in one. Tested by `bins_of_several_chunks_have_edges_of_few_stripes_in_each`.

use std::collections::BTreeMap;
use std::ops::Range;

use bytemuck::pod_read_unaligned;
use welter_engine::EngineError;
use welter_engine::chunks::{EdgeWriter, Form, with_states};
use welter_model::stream::Edge;
use welter_protocol::Payload;
use welter_protocol::config::Route;
use welter_protocol::ids::Cell;
use welter_protocol::work::Filled;

use crate::degrees::Counts;
use crate::input::InputEdge;
use crate::other;
use crate::partitioning::{Partitioning, in_zone};

/// Sources of a block, as a power of two, and edges of a tile at least: few, so that small chunks
/// have several tiles, and some that continue beyond their block.
const BLOCK_BITS: u32 = 4;
const TILE_EDGES_LEAST: usize = 3;

/// Chunks of this number of edges are cut as the engine cuts its own.
const CHUNK_EDGES: u32 = 1 << 16;

/// Numbers of bins below this are places in the list of bins.
const LISTED_MAX: u64 = 1 << 12;

/// The error of an edge one of whose ends is no vertex of `vertices`.
pub(crate) fn no_vertex(edge: &InputEdge, vertices: u64) -> EngineError {
    let InputEdge { source, target, .. } = edge;
    other(format!("an edge from {source} to {target} in a graph of {vertices} vertices"))
}

/// A pass over edges, each with bins of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The only one: bins of cells, or of the partition of their sources alone.
    Only,
    /// The first of two: rough bins, of the partition of their targets.
    First,
    /// The second of two, over the edges to one partition.
    Second,
}

/// Edges that wait for their chunk to be full. Their ends are places.
struct Bin {
    number: u64,
    cell: Cell,
    /// Zone of an end that is not in the partition of the cell.
    zone: u32,
    edges: Vec<Edge>,
}

/// Bins, and how edges are dealt to them.
pub(super) struct Binning {
    pub(super) cut: Partitioning,
    /// Number of the graph.
    graph: u64,
    weighted: bool,
    pub(super) by_cells: bool,
    /// Whether chunks of cells are cut by the stripes of their destinations.
    pub(super) is_striped: bool,
    state_bytes: Option<usize>,
    /// Parts of a source partition with bins of their own.
    parts: u64,
    pass: Pass,
    /// Edges that a bin holds in this pass.
    bin_edges: usize,
    bins: Vec<Option<Bin>>,
    /// Places of bins whose numbers are no places.
    places: BTreeMap<u64, usize>,
    writer: EdgeWriter,
    /// Edges of a bin in the order of stripes, their destinations among those of a stripe.
    ordered: Vec<Edge>,
    /// Where the next edge of each stripe goes.
    next: Vec<usize>,
    /// Bytes of the chunk at hand.
    bytes: Vec<u8>,
    /// Chunks that were written.
    chunks: u32,
}

impl Binning {
    /// As [`super::Ingest::new`] says.
    pub(super) fn new(
        cut: Partitioning,
        (graph, weighted): (u64, bool),
        (rewrites, state_bytes): (bool, Option<usize>),
    ) -> Self {
        let by_cells = cut.route == Route::Fold || rewrites;
        let form = if cut.chunk_records >= CHUNK_EDGES {
            Form::usual(cut.encoding)
        } else {
            let (block_bits, tile_edges_least) = (BLOCK_BITS, TILE_EDGES_LEAST);
            Form { encoding: cut.encoding, block_bits, tile_edges_least }
        };
        let (parts, pass) = (cut.parts(by_cells), Pass::Only);
        let writer = EdgeWriter::new(form, weighted);
        let bin_edges = cut.chunk_records as usize;
        let (bins, places, chunks) = (Vec::new(), BTreeMap::new(), 0);
        let (ordered, next, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            cut,
            graph,
            weighted,
            by_cells,
            is_striped: false,
            state_bytes,
            parts,
            pass,
            bin_edges,
            bins,
            places,
            writer,
            ordered,
            next,
            bytes,
            chunks,
        }
    }

    /// Begins to read the input, without an edge.
    pub(super) fn begin(&mut self) {
        self.begin_pass(if self.cut.splits(self.by_cells) { Pass::First } else { Pass::Only });
    }

    /// Begins to split the rough chunks of a partition.
    pub(super) fn begin_split(&mut self) {
        self.begin_pass(Pass::Second);
    }

    fn begin_pass(&mut self, pass: Pass) {
        self.pass = pass;
        // Edges of rough chunks are put in no order.
        let is_ordered = self.is_striped && self.by_cells && pass != Pass::First;
        let chunks = if is_ordered { self.cut.bin_chunks.max(1) } else { 1 };
        self.bin_edges = chunks as usize * self.cut.chunk_records as usize;
        self.bins.clear();
        self.places.clear();
    }

    /// The partitions of the ends of an edge, and their places there.
    ///
    /// # Errors
    /// When one is no vertex.
    #[inline]
    pub(super) fn ends(&self, edge: &InputEdge) -> Result<[(u32, u64); 2], EngineError> {
        let partitions = &self.cut.partitions;
        match (partitions.find_place(edge.source), partitions.find_place(edge.target)) {
            (Some(source), Some(target)) => Ok([source, target]),
            _ => Err(no_vertex(edge, partitions.vertices())),
        }
    }

    /// Number of the bin of an edge between these places, and its ends as they are written there.
    #[inline]
    fn number(&self, edge: &InputEdge, ends: [(u32, u64); 2]) -> (u64, Edge) {
        let [(from, source), (to, target)] = ends;
        let (from, to) = (u64::from(from), u64::from(to));
        // No partition has more vertices: see `Partitioning::numbers_fit`.
        let edge_of = |source, target| Edge { source, target, weight: edge.weight };
        let part = match self.parts {
            1 => 0,
            parts => source * parts / self.cut.vertices(from as u32) as u64,
        };
        if !self.by_cells {
            let (zone, target) = in_zone(edge.target);
            let bin = from * u64::from(self.cut.zones()) + u64::from(zone);
            (bin * self.parts + part, edge_of(source as u32, target))
        } else if self.pass == Pass::First {
            // A rough chunk is not asked for by its sources.
            let (zone, source) = in_zone(edge.source);
            let bin = to * u64::from(self.cut.zones()) + u64::from(zone);
            (bin, edge_of(source, edge.target as u32))
        } else {
            let row = if self.pass == Pass::Only { to } else { 0 };
            let bin = row * u64::from(self.cut.partitions.count()) + from;
            (bin * self.parts + part, edge_of(source as u32, target as u32))
        }
    }

    /// Place of the bin of a number.
    #[inline]
    fn place(&mut self, number: u64) -> usize {
        if number < LISTED_MAX {
            return number as usize;
        }
        let next = LISTED_MAX as usize + self.places.len();
        *self.places.entry(number).or_insert(next)
    }

    /// The bin of a number, of edges as this one between these partitions, without any.
    fn empty(&self, number: u64, edge: &InputEdge, [from, to]: [u32; 2]) -> Bin {
        let (cell, zone) = if !self.by_cells {
            (Cell::all(from), in_zone(edge.target).0)
        } else if self.pass == Pass::First {
            (Cell::all(to), in_zone(edge.source).0)
        } else {
            (Cell { partition: to, source: Some(from) }, 0)
        };
        Bin { number, cell, zone, edges: Vec::new() }
    }

    /// Whether edges are binned once more, by both their ends.
    pub(super) fn is_rough(&self) -> bool {
        self.pass == Pass::First
    }

    /// Puts an edge into its bin, and adds the chunks of that to `filled` when it is full. `counts`
    /// are told of edges when these are written, where they are sorted: to count each where it
    /// comes took 60 ns, a miss of the cache.
    #[inline]
    pub(super) fn put(
        &mut self,
        edge: &InputEdge,
        ends: [(u32, u64); 2],
        counts: Option<&mut Counts>,
        filled: &mut Vec<Filled>,
    ) -> Result<(), EngineError> {
        let (number, placed) = self.number(edge, ends);
        let place = self.place(number);
        if let Some(Some(bin)) = self.bins.get_mut(place) {
            if bin.edges.len() == bin.edges.capacity() {
                grow(&mut bin.edges, self.cut.chunk_records as usize, self.bin_edges);
            }
            bin.edges.push(placed);
            if bin.edges.len() < self.bin_edges {
                return Ok(());
            }
            return self.full(place, counts, filled);
        }
        let mut bin = self.empty(number, edge, ends.map(|(partition, _)| partition));
        bin.edges.push(placed);
        if place >= self.bins.len() {
            self.bins.resize_with(place + 1, || None);
        }
        self.bins[place] = Some(bin);
        if self.bin_edges == 1 { self.full(place, counts, filled) } else { Ok(()) }
    }

    /// Adds the chunks of a bin, which is empty afterwards.
    fn full(
        &mut self,
        place: usize,
        counts: Option<&mut Counts>,
        filled: &mut Vec<Filled>,
    ) -> Result<(), EngineError> {
        let Some(mut bin) = self.bins[place].take() else { return Ok(()) };
        self.write(&bin, counts, filled)?;
        bin.edges.clear();
        self.bins[place] = Some(bin);
        Ok(())
    }

    /// Chunks of edges that are left in bins, each of which is gone once it is written.
    pub(super) fn rest(
        &mut self,
        mut counts: Option<&mut Counts>,
    ) -> Result<Vec<Filled>, EngineError> {
        let left = std::mem::take(&mut self.bins).into_iter().flatten();
        let mut left: Vec<Bin> = left.filter(|bin| !bin.edges.is_empty()).collect();
        left.sort_unstable_by_key(|bin| bin.number);
        self.places.clear();
        let mut filled = Vec::new();
        for bin in left {
            self.write(&bin, counts.as_deref_mut(), &mut filled)?;
        }
        (self.ordered, self.bytes) = (Vec::new(), Vec::new());
        Ok(filled)
    }

    /// The bytes of a rough chunk.
    fn rough(&self, zone: u32, edges: &[Edge]) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.cut.zones() > 1 {
            bytes.extend(zone.to_le_bytes());
        }
        for Edge { source, target, weight } in edges {
            bytes.extend([source, target].into_iter().flat_map(|end| end.to_le_bytes()));
            if self.weighted {
                bytes.extend(weight.to_le_bytes());
            }
        }
        bytes
    }

    /// Edges of a rough chunk, whose ends may still be anything.
    pub(super) fn smooth(&self, partition: u32, bytes: &[u8]) -> Vec<InputEdge> {
        let head = if self.cut.zones() > 1 { size_of::<u32>() } else { 0 };
        let (zone, bytes) = bytes.split_at(head.min(bytes.len()));
        let zone = if zone.len() == head && head > 0 { pod_read_unaligned(zone) } else { 0 };
        let (zone, first) = (self.cut.zone(zone), self.cut.partitions.range(partition).start);
        let edge = |bytes: &[u8]| {
            let [source, target]: [u32; 2] =
                [0, 4].map(|at| pod_read_unaligned(&bytes[at..at + 4]));
            let weight = bytes.get(8..).filter(|weight| !weight.is_empty());
            InputEdge {
                source: zone.start + u64::from(source),
                // The one number of the partition with these low bits, if it has one.
                target: first + u64::from(target.wrapping_sub(first as u32)),
                weight: weight.map_or(1.0, pod_read_unaligned),
            }
        };
        bytes.chunks_exact(if self.weighted { 16 } else { 8 }).map(edge).collect()
    }

    /// Puts edges in the order of the stripes of their destinations. Afterwards `next` has where
    /// each of them ends.
    fn order(&mut self, edges: &[Edge], vertices: usize) {
        let Self { cut, ordered, next, .. } = self;
        let (bits, last) = (cut.stripe_bits, vertices.saturating_sub(1) as u64);
        let stripe = |edge: &Edge| (u64::from(edge.target) >> bits) as usize;
        next.clear();
        next.resize((last >> bits) as usize + 1, 0);
        for edge in edges {
            next[stripe(edge)] += 1;
        }
        let mut before = 0;
        for next in next.iter_mut() {
            before += *next;
            *next = before - *next;
        }
        ordered.resize(edges.len(), Edge { source: 0, target: 0, weight: 0.0 });
        for edge in edges {
            let (stripe, next) = (stripe(edge), &mut next[stripe(edge)]);
            let first = ((stripe as u64) << bits) as u32;
            ordered[*next] = Edge { target: edge.target - first, ..*edge };
            *next += 1;
        }
    }

    /// Adds the chunks of a bin.
    fn write(
        &mut self,
        bin: &Bin,
        mut counts: Option<&mut Counts>,
        filled: &mut Vec<Filled>,
    ) -> Result<(), EngineError> {
        if !self.is_striped || bin.cell.source.is_none() {
            filled.push(self.chunk(bin, counts)?);
            return Ok(());
        }
        self.order(&bin.edges, self.cut.vertices(bin.cell.partition));
        let all = bin.edges.len();
        let chunks = all.div_ceil(self.cut.chunk_records as usize).max(1);
        for chunk in 0..chunks {
            let within = all * chunk / chunks..all * (chunk + 1) / chunks;
            filled.push(self.striped(bin.cell, within, counts.as_deref_mut())?);
        }
        Ok(())
    }

    /// The chunk of the edges here among those in the order of stripes: chunks of the store, one a
    /// stripe that has any.
    fn striped(
        &mut self,
        cell: Cell,
        within: Range<usize>,
        mut counts: Option<&mut Counts>,
    ) -> Result<Filled, EngineError> {
        let Self { cut, graph, writer, ordered, next, bytes, chunks, .. } = self;
        let (partitions, from) = (&cut.partitions, cell.sources());
        bytes.clear();
        let mut start = within.start;
        for (stripe, &end) in (0..).zip(&*next) {
            let end = end.min(within.end);
            if end <= start {
                continue;
            }
            *chunks += 1;
            let place = cut.striped_cell(*graph, cell, stripe);
            let mut counted = counts.as_deref_mut().map(|counts| {
                move |place: u32, edges| counts.add(partitions, (from, place.into()), edges)
            });
            let count = counted.as_mut().map(|count| count as &mut dyn FnMut(u32, u32));
            let edges = &ordered[start..end];
            bytes.extend_from_slice(writer.write_counting(&place, *chunks, edges, count)?);
            start = end;
        }
        let (records, payload) = (within.len() as u32, Payload::from(&bytes[..]));
        let sources = self.ranges(from, &self.ordered[within]);
        let Cell { partition, source } = cell;
        Ok(Filled { partition, source, records, combined: 0, sources, payload })
    }

    /// The chunk of a bin whose edges are written as they are.
    fn chunk(&mut self, bin: &Bin, counts: Option<&mut Counts>) -> Result<Filled, EngineError> {
        let Bin { cell, zone, ref edges, .. } = *bin;
        let Cell { partition, source } = cell;
        let records = edges.len() as u32;
        if source.is_none() && self.by_cells {
            // Rough: all of it is split.
            let (sources, payload) = (u64::MAX, self.rough(zone, edges).into());
            return Ok(Filled { partition, source, records, combined: 0, sources, payload });
        }
        self.chunks += 1;
        let place = self.cut.chunk_cell(self.graph, cell, zone);
        let (partitions, from) = (&self.cut.partitions, cell.sources());
        let mut counted = counts.map(|counts| {
            move |place: u32, edges| counts.add(partitions, (from, place.into()), edges)
        });
        let count = counted.as_mut().map(|count| count as &mut dyn FnMut(u32, u32));
        let chunk = self.writer.write_counting(&place, self.chunks, edges, count)?;
        let payload = match self.state_bytes {
            Some(bytes) => with_states(chunk, &vec![0_u8; edges.len() * bytes]).into(),
            None => chunk.into(),
        };
        let sources = self.ranges(cell.sources(), edges);
        Ok(Filled { partition, source, records, combined: 0, sources, payload })
    }

    /// The ranges of a partition in which edges have sources.
    fn ranges(&self, partition: u32, edges: &[Edge]) -> u64 {
        let mut ranges = 0;
        for edge in edges {
            ranges |= self.cut.range_at((partition, edge.source.into()));
            if ranges == u64::MAX {
                break;
            }
        }
        ranges
    }
}

/// Makes room in the list of a bin of `most` edges that has none left: for twice as many, and from
/// the edges of a chunk on for all at once, so that a long list is not copied again and again. Room
/// takes no memory before it is used.
#[cold]
fn grow(edges: &mut Vec<Edge>, chunk: usize, most: usize) {
    let more = if edges.len() < chunk { edges.len() } else { most - edges.len() };
    edges.reserve_exact(more.max(1));
}
