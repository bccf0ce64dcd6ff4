//! The premises of a plan: what is settled before anything is placed in memory or on storage.
//!
//! Every part of a plan is computed from these, and none from another plan. Bounds of stripes,
//! tiles and chunks follow from them alone.

use welter_store::codec::short;
use welter_store::encoding::PAIR_BYTES;
use welter_store::header::Encoding;

use super::account::MemoryAccount;
use super::{Layout, Settings, Shape};
use crate::footprints::edges::frames;
use crate::footprints::ingest as footprint;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::vertices::SEGMENT_BITS;
use crate::machine::arena::SLAB_BYTES;

/// More stripes than workers, so that none waits long for the last one.
pub(super) const STRIPES_PER_WORKER: usize = 8;

/// Edges from a group to a stripe.
pub(super) const CELL_EDGES: u64 = 1 << 15;

/// More bins than this would not find their write-combining lines in the second-level cache.
pub(super) const MOST_BINS: u64 = 1 << 14;

/// More bin groups than this free memory no earlier than it is needed.
const BIN_GROUPS_MAX: u64 = 256;

/// Edges that a worker can always sort at once.
pub(super) const SORT_EDGES_LEAST: u64 = 1 << 18;

/// Threads that do requests of a worker, and are among what the process takes anyway.
const REQUEST_THREADS: u32 = 16;
/// Bytes of any other one: its stack, and what the allocator has for it.
const REQUEST_THREAD_BYTES: u64 = 64 << 10;

/// Directory entry of a tile.
const TILE_BYTES: u64 = 16;

/// Premises of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Premises {
    /// Worker threads.
    pub threads: usize,
    /// Layout of edges in chunks.
    pub edges: EdgeLayout,
    /// Size of the graph that is planned for.
    pub shape: Shape,
    /// Vertices that there are at most: slots, until a survey has found which of them are some.
    pub vertices: u64,
    /// Bytes that the program takes for a vertex, and what it can do.
    pub program: Layout,
    /// Settings that were forced.
    pub settings: Settings,
    /// Memory budget, bytes.
    pub budget_bytes: u64,
    /// Whether no stripe may have many more edges than others, as where bins are few: of cells that
    /// are too big to be sorted at once each piece reads all (R-MAT 27 as it is generated, with
    /// 1 GiB: by its shares 75 GB).
    pub(crate) even_stripes: bool,
}

impl Premises {
    /// The premises with another encoding of the keys.
    pub(super) fn with_encoding(self, encoding: Encoding) -> Self {
        Self { edges: EdgeLayout { encoding, ..self.edges }, ..self }
    }

    /// An account of the memory of a run, in which nothing was entered.
    pub(super) fn account(&self) -> MemoryAccount {
        MemoryAccount::new(self.threads)
    }

    /// Segments of slots.
    pub(super) fn segments(&self) -> u64 {
        self.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1)
    }

    /// Stripes that there shall be at least, so that no worker waits long for the last one.
    pub(crate) fn stripes_least(&self) -> usize {
        let by_width = (self.shape.slots >> self.edges.stripe_bits) as usize;
        let even = if self.even_stripes { by_width / 2 } else { 0 };
        even.max(STRIPES_PER_WORKER * self.threads)
    }

    /// The most stripes that a greedy cut makes: each is full by width or, with its neighbour, by
    /// edges.
    pub(super) fn stripes_most(&self) -> u64 {
        let full = (1_u64 << self.edges.stripe_bits) - (1 << SEGMENT_BITS);
        let full = full.max(1 << SEGMENT_BITS);
        (self.shape.slots / full + 2 * self.stripes_least() as u64 + 2).min(self.segments())
    }

    /// The most tiles that there are: each has an edge, groups of sources cut some blocks in two,
    /// and long tiles are cut.
    pub(super) fn tiles_most(&self, stripes: u64) -> u64 {
        let Shape { slots, edges, .. } = self.shape;
        let blocks = (slots >> self.edges.block_bits) + 2;
        edges.min(2 * blocks * stripes + edges / 1024)
    }

    /// Bytes of all chunks, slabs that are not quite full included.
    pub(super) fn chunk_bytes(&self, stripes: u64) -> u64 {
        let Shape { slots, edges, weighted, .. } = self.shape;
        let tiles = self.tiles_most(stripes);
        let key = match self.edges.encoding {
            Encoding::Packed => 4.0,
            Encoding::Pairs => PAIR_BYTES as f64,
            Encoding::Short => {
                // A run for each 2^`shift` sources in a stripe, and for each tile.
                let shift = short::LOW_BITS.saturating_sub(self.edges.stripe_bits);
                let runs = ((slots >> shift) + 1) * stripes + tiles;
                let runs = if shift == 0 { edges } else { runs.min(edges) };
                let heads = tiles * short::HEAD_BYTES as u64;
                let bytes = (edges + runs) * short::BYTES as u64 + heads;
                bytes as f64 / edges.max(1) as f64
            }
            Encoding::Compressed => {
                // Keys of a tile ascend, so their distances add up to its width: the average
                // distance is at most the number of places in the matrix by edge, and a distance of
                // b bits takes at most 1 + b/8 bytes and 2 bits to say so.
                let distance = (slots as f64).powi(2) / edges.max(1) as f64;
                (1.0 + distance.max(1.0).log2() / 8.0).min(4.0) + 0.25
            }
        };
        let weight = if weighted { 8.0 } else { 0.0 };
        let bytes = (edges as f64 * (key + weight)) as u64 + tiles * TILE_BYTES;
        // A slab ends where the next tile does not fit.
        bytes + bytes / 16 + SLAB_BYTES as u64
    }

    /// Bytes of all edges while they wait in bins.
    pub(super) fn waiting_bytes(&self) -> u64 {
        let Shape { slots, edges, weighted, .. } = self.shape;
        footprint::waiting(edges, weighted, slots)
    }

    /// Bytes of the threads by which a worker's requests are done, beyond those that it always may
    /// have.
    pub(super) fn request_threads_bytes(&self) -> u64 {
        let threads = self.settings.requests.in_flight.unwrap_or(0);
        u64::from(threads.saturating_sub(REQUEST_THREADS)) * REQUEST_THREAD_BYTES
    }

    /// Bytes of a worker by which chunks go into frames and come out of them.
    pub(super) fn frame_bytes(&self) -> u64 {
        frames(self.edges.compression)
    }

    /// Bytes of a worker by which updates go into frames and come out of them. On a kept graph that
    /// has nothing to do with how its edges lie.
    pub(super) fn update_frame_bytes(&self) -> u64 {
        frames(self.settings.compression.widest())
    }

    /// Bytes that sorting takes for `edges` edges.
    pub(super) fn sort_bytes(&self, edges: u64) -> u64 {
        footprint::sort(edges, self.shape.weighted)
    }

    /// Bin groups that share slabs, where all of these are in memory. Each worker has a half-empty
    /// slab for each bin group, which shall be a small part of the whole; but nothing of a bin
    /// group is free before all of it is sorted.
    pub(super) fn bin_groups_in_memory(&self) -> u64 {
        let waiting = self.shape.edges * if self.shape.weighted { 16 } else { 6 };
        let bin_groups = waiting / (16 * (self.threads * SLAB_BYTES) as u64);
        bin_groups.clamp(1, BIN_GROUPS_MAX)
    }

    /// Edges that a worker sorts at once, at most, where all are in memory.
    pub(super) fn sorted_in_memory(&self) -> u64 {
        (self.shape.edges / (16 * self.threads as u64)).clamp(SORT_EDGES_LEAST, 1 << 21)
    }
}
