//! Settings of a cluster on one computer: what its machines agree on, from a few numbers.

use welter_protocol::Config;
use welter_protocol::config::{Copies, Edges, Handover, Loss, Route, Sets, Timing, VertexSets};
use welter_protocol::partitions::Partitions;
use welter_protocol::placement::Placement;
use welter_protocol::steal::Bias;
use welter_protocol::window::Width;
use welter_protocol::wire::BODY_BYTES_MAX;
use welter_store::header::Encoding;
use welter_worker::Partitioning;

use crate::codecs::Codecs;
use crate::links::Bounds;

const MILLIS: u64 = 1_000_000;

/// Stripes of a partition, where these have few vertices enough and not too few: several for each
/// core, so that threads do not wait for each other.
const STRIPES: u64 = 16;

/// Vertices of a stripe, at most: accumulators of eight bytes are half a megabyte then, which the
/// second-level cache of a core has beside all else.
const STRIPE_VERTICES_MAX: u64 = 1 << 16;

/// Requests that a disk serves at a time.
pub(crate) const DEPTH: usize = 4;

/// A message that is lost is sent again after a second: on one computer none is, but with a
/// connection that breaks. A process that is silent for two is suspected, which the host counts.
const TIMING: Timing = Timing {
    resend: 1000 * MILLIS,
    ping: 100 * MILLIS,
    suspect: 2000 * MILLIS,
    patience: 60_000 * MILLIS,
};

/// Numbers from which a cluster is set.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Number of machines.
    pub machines: usize,
    /// Number of vertices.
    pub vertices: u64,
    /// Bytes of a vertex, as the program stores it.
    pub vertex_bytes: u64,
    /// Bytes of the vertex set of a partition, at most.
    pub set_bytes_max: u64,
    /// Place where updates wait.
    pub route: Route,
    /// Treatment of edges while they stream.
    pub edges: Edges,
    /// Whether updates are made while others are gathered, as by programs over triangles.
    pub carries: bool,
    /// Edges or updates in a chunk.
    pub chunk_records: u32,
    /// Chunks of edges that a bin holds, a power of two, where edges are put in the order of
    /// stripes before they are written. Machines need not have as many.
    pub bin_chunks: u32,
    /// Vertices in a chunk of a vertex set.
    pub chunk_vertices: u64,
    /// Edges that are read of the input at a time.
    pub piece_edges: usize,
    /// Bins of edges that a machine has open at a time.
    pub bins_open_max: u64,
    /// Bytes that a machine has under way to storage before it begins no further piece of work.
    pub store_window_bytes: u64,
    /// Updates that a machine keeps in memory of the partition at work, of a program that does not
    /// merge them ([`u64::MAX`]: all, and of any other program). More wait on its disk.
    pub kept_updates_max: u64,
    /// Chunks that a machine streams at a time, each by a thread of its own. Machines need not have
    /// as many.
    pub streams: usize,
    /// Vertices of a stripe of accumulators, at least: stripes belong to one thread at a time.
    pub stripe_vertices_least: u64,
    /// Readiness of machines to be helped.
    pub bias: Bias,
    /// Blocks that lie on a second machine too.
    pub copies: Copies,
    /// Encoding in which edges are written.
    pub encoding: Encoding,
    /// Whether updates for one destination are merged in the buffer of a chunk, where the program
    /// can.
    pub combines: bool,
    /// Codecs of chunks, which take memory. Machines need not have the same.
    pub codecs: Codecs,
    /// Whether checkpoints are copied elsewhere, which takes memory.
    pub is_copied: bool,
    /// Iterations from one checkpoint to the next.
    pub checkpoint_interval: u32,
    /// Decides which engine a chunk goes to, and whom a machine asks first.
    pub seed: u64,
}

impl Settings {
    /// Settings for `machines` machines and `vertices` vertices: chunks of half a million records,
    /// and sets of 64 MiB.
    pub fn new(machines: usize, vertices: u64, vertex_bytes: u64, route: Route) -> Self {
        Self {
            machines,
            vertices,
            vertex_bytes,
            set_bytes_max: 64 << 20,
            route,
            edges: Edges::Fixed,
            carries: false,
            chunk_records: 1 << 19,
            bin_chunks: 1,
            chunk_vertices: 1 << 18,
            piece_edges: 1 << 18,
            bins_open_max: 64,
            store_window_bytes: 64 << 20,
            kept_updates_max: u64::MAX,
            streams: 1,
            stripe_vertices_least: 1 << 14,
            bias: Bias::PAPER,
            copies: Copies::NONE,
            encoding: Encoding::Packed,
            combines: true,
            codecs: Codecs::None,
            is_copied: false,
            checkpoint_interval: 1,
            seed: 1,
        }
    }

    /// The cut of the graph; none where not even a vertex fits.
    pub fn cut(&self) -> Option<Partitioning> {
        let Self { machines, vertices, vertex_bytes, set_bytes_max, .. } = *self;
        let partitions = Partitions::fitting(machines, vertices, vertex_bytes, set_bytes_max)?;
        let least = self.stripe_vertices_least.clamp(1, STRIPE_VERTICES_MAX);
        let stripe = (partitions.width() / STRIPES).clamp(least, STRIPE_VERTICES_MAX);
        Some(Partitioning {
            partitions,
            route: self.route,
            encoding: self.encoding,
            chunk_records: self.chunk_records,
            bin_chunks: self.bin_chunks,
            chunk_vertices: self.chunk_vertices,
            piece_edges: self.piece_edges,
            bins_open_max: self.bins_open_max,
            source_parts: 1,
            stripe_bits: stripe.ilog2(),
            combines: self.combines,
        })
    }

    /// The configuration of machines whose graph is cut so, and that fill all disks alike.
    pub fn config(&self, cut: &Partitioning) -> Config {
        Config {
            partitions: cut.partitions.clone(),
            vertex_bytes: self.vertex_bytes,
            chunk_vertices: self.chunk_vertices,
            route: self.route,
            bias: self.bias,
            placement: Placement::Even,
            width: Width::Measured,
            depth: DEPTH,
            vertex_sets: VertexSets::Disk,
            streams: self.streams,
            store_window_bytes: self.store_window_bytes,
            kept_updates_max: self.kept_updates_max,
            bins_open_max: self.bins_open_max,
            handover: Handover::Memory,
            sets: Sets::Bags,
            checkpoint_interval: self.checkpoint_interval,
            scatter_checkpoints: false,
            edges: self.edges,
            carries: self.carries,
            copies: self.copies,
            loss: Loss::Reingest,
            timing: TIMING,
            seed: self.seed,
            audited: true,
            planted: None,
        }
    }

    /// Bounds of what waits between machines: four windows of stores to a peer.
    pub fn bounds() -> Bounds {
        Bounds { queue_bytes_max: 256 << 20, payload_bytes_max: BODY_BYTES_MAX as usize }
    }
}
