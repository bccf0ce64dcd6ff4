//! How a graph is cut for a cluster: partitions, chunks and bins.

use welter_engine::chunks;
use welter_protocol::Payload;
use welter_protocol::config::Route;
use welter_protocol::names::Cell;
use welter_protocol::partitions::Partitions;
use welter_store::header::{CellId, Encoding};

/// How a job is cut for a cluster.
#[derive(Clone, Debug)]
pub struct Partitioning {
    /// Streaming partitions.
    pub partitions: Partitions,
    /// Where updates wait.
    pub route: Route,
    /// How edges are written.
    pub encoding: Encoding,
    /// Records in a chunk of edges or updates.
    pub chunk_records: u32,
    /// Vertices in a chunk of a vertex set.
    pub chunk_vertices: u64,
    /// Edges in a piece of the input, at most.
    pub piece_edges: usize,
    /// Bins of edges that a machine has open at a time, as [`welter_protocol::Config`] says.
    pub bins_open_max: u64,
    /// Parts of a source partition that have bins of their own, as far as bins suffice: a power of
    /// two up to 64. What no active source needs is left out by chunks, so these should have few
    /// sources.
    pub source_parts: u64,
    /// Whether updates for one destination are merged in the buffer of a chunk, where the program
    /// can.
    pub combines: bool,
}

impl Partitioning {
    /// Whether edges that are binned by both their ends are binned by one after the other.
    pub(crate) fn splits(&self, by_cells: bool) -> bool {
        by_cells && self.partitions.cells() > self.bins_open_max
    }

    /// Parts of a source partition that have bins of their own in the last pass over the input.
    fn parts(&self, by_cells: bool) -> u64 {
        let partitions = self.partitions.count().into();
        let at_once = by_cells && !self.splits(by_cells);
        let cells = if at_once { self.partitions.cells() } else { partitions };
        let most = (self.bins_open_max / cells).clamp(1, self.source_parts);
        // Whole ranges, so that no chunk has some of one and some of the next.
        1 << most.ilog2()
    }

    /// The part of its partition that a source is in.
    pub(crate) fn part_of(&self, source: u64, by_cells: bool) -> u64 {
        let (partition, place) = self.partitions.place(source);
        place * self.parts(by_cells) / self.vertices(partition) as u64
    }

    /// The bit of a vertex among the 64 ranges of its partition.
    pub(crate) fn range_of(&self, vertex: u64) -> u64 {
        let (partition, place) = self.partitions.place(vertex);
        1 << (place * 64 / self.vertices(partition) as u64)
    }

    /// A cell of a graph as chunks have it. Where edges are binned by their sources alone, one
    /// stripe is as wide as the graph.
    pub fn chunk_cell(&self, graph: u64, cell: Cell) -> chunks::Cell {
        let partitions = &self.partitions;
        let source_partition = cell.sources();
        let (stripe, targets) = match cell.source {
            Some(_) => (cell.partition, partitions.range(cell.partition)),
            None => (0, 0..partitions.vertices()),
        };
        let sources = partitions.range(source_partition);
        chunks::Cell { graph, id: CellId { source_partition, stripe }, sources, targets }
    }

    /// A vertex set, of vertices of so many bytes, as chunks: at least one.
    pub fn vertex_chunks(&self, set: &[u8], vertex_bytes: usize) -> Vec<Payload> {
        if set.is_empty() {
            return vec![Payload::default()];
        }
        let chunk_bytes = self.chunk_vertices as usize * vertex_bytes;
        set.chunks(chunk_bytes).map(Payload::from).collect()
    }

    /// Number of vertices of a partition.
    pub(crate) fn vertices(&self, partition: u32) -> usize {
        let range = self.partitions.range(partition);
        (range.end - range.start) as usize
    }
}
