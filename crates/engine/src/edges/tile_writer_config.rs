//! Arguments by which cells become tiles, that all cells share, and the chunks that stay in memory.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use welter_model::edges::Duplicates;
use welter_store::io::{IoOptions, Volume};

use crate::edges::framing::Framing;
use crate::edges::slab_location::Source;
use crate::kernels::layout::EdgeLayout;
use crate::kernels::vertices::Vertices;
use crate::machine::arena::{Arena, SLAB_BYTES};
use crate::plan::Plan;

/// Chunks that stay in memory, and the place of the others.
pub(crate) struct Keep<'a> {
    pub(crate) volume: &'a Arc<Volume>,
    pub(crate) io: &'a IoOptions,
    /// Compression of those that do not stay.
    pub(crate) framing: Framing,
    /// Bytes that may stay.
    cache_bytes: u64,
    /// Bytes of slabs in use, but for bins that were read back, from which on nothing stays.
    used_most: u64,
    /// Edges of the graph.
    edges: u64,
    kept_bytes: AtomicU64,
    seen_edges: AtomicU64,
}

impl<'a> Keep<'a> {
    /// Keeps `cache_bytes` of the chunks of `edges` edges, as long as no more than `used_most`
    /// bytes of slabs are in use. Bins that were read back do not count: there is none of a bin
    /// group that was sorted just now, and soon there is the next one.
    pub(crate) fn new(
        (volume, io): (&'a Arc<Volume>, &'a IoOptions),
        framing: Framing,
        cache_bytes: u64,
        used_most: u64,
        edges: u64,
    ) -> Self {
        let (kept_bytes, seen_edges) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { volume, io, framing, cache_bytes, used_most, edges, kept_bytes, seen_edges }
    }

    /// Whether the next slab, with `edges` edges, stays.
    pub(crate) fn stays(&self, edges: u64, arena: &Arena) -> bool {
        let seen = self.seen_edges.fetch_add(edges, Ordering::Relaxed) + edges;
        let share = seen as f64 / self.edges.max(1) as f64;
        let kept = self.kept_bytes.load(Ordering::Relaxed) + SLAB_BYTES as u64;
        let stays = kept as f64 <= self.cache_bytes as f64 * share
            && arena.used_otherwise() <= self.used_most;
        if stays {
            self.kept_bytes.fetch_add(SLAB_BYTES as u64, Ordering::Relaxed);
        }
        stays
    }
}

/// Arguments that all cells share.
#[derive(Clone, Copy)]
pub(crate) struct TileWriterConfig<'a, 'd> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: EdgeLayout,
    pub(crate) vertices: &'a Vertices,
    pub(crate) duplicates: Duplicates,
    pub(crate) graph: u64,
    pub(crate) arena: &'a Arena,
    /// Reader of bins that overflowed.
    pub(crate) bins: Option<Source<'a>>,
    /// Where chunks go that do not fit in memory.
    pub(crate) keep: Option<&'a Keep<'d>>,
    /// The groups of sources, with the out-degrees of each.
    pub(crate) groups: &'a [SourceRun<'d>],
}

/// A range of sources that is sorted together.
pub(crate) struct SourceRun<'a> {
    pub(crate) slots: Range<u64>,
    /// The source partition that it is a part of, and the first slot of that.
    pub(crate) partition: u32,
    pub(crate) partition_start: u64,
    /// Out-degrees of its vertices. Workers that are at different stripes come to a group one after
    /// the other, and are seldom there together.
    pub(crate) degrees: Mutex<&'a mut [u32]>,
}

/// A stripe of destinations.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    pub(crate) number: u32,
    pub(crate) slots: Range<u64>,
}
