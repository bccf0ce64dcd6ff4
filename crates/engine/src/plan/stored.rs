//! Reading of a graph that does not fit in memory, and what of it stays.

use super::device::Measured;
use super::disk_usage::DiskUsage;
use super::out_of_core::StateAccess;

/// Reading of a graph that does not fit in memory, and what of it stays. All in bytes but numbers
/// of bins and slabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoragePlan {
    /// Chunks that stay in memory.
    pub cache_bytes: u64,
    /// States of edges that do, of extended programs.
    pub edge_states_bytes: u64,
    /// Bins while edges are ingested; `None` for graphs that are kept, which have been.
    pub bins: Option<BinsPlan>,
    /// Where values and signals are.
    pub state: StateAccess,
    /// Slabs that each worker has in flight, where it is known how many are best.
    pub window: Option<usize>,
    /// Measurement by which the window was found, where the user leaves it open.
    pub measured: Option<Measured>,
    /// Whether edges lie elsewhere, such as in a bucket.
    pub elsewhere: bool,
    /// Room on storage.
    pub room: DiskUsage,
}

impl StoragePlan {
    /// The plan of a graph that is ingested, whose device no probe of its own looked at.
    /// `resident`: bytes of chunks that stay in memory, and of states of edges.
    pub(super) fn of_ingest(
        bins: BinsPlan,
        state: StateAccess,
        resident: [u64; 2],
        room: DiskUsage,
    ) -> Self {
        let [cache_bytes, edge_states_bytes] = resident;
        let (bins, window, measured, elsewhere) = (Some(bins), None, None, false);
        Self { cache_bytes, edge_states_bytes, bins, state, window, measured, elsewhere, room }
    }
}

/// Bins of edges that do not all stay in memory. All in bytes but numbers of bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinsPlan {
    /// Slabs that may be in use while edges are put into bins; full ones beyond are written.
    pub used_most: u64,
    /// Slabs of these that may be in use at the end, when all bins are closed.
    pub used_at_end: u64,
    /// Slabs that may be in use while bins are sorted, but for bins that were read back; chunks
    /// beyond are written.
    pub sort_bytes: u64,
    /// The most bins, because each has a segment in memory.
    pub most: u64,
    /// Bin groups; one of them is read back at a time.
    pub bin_groups: u64,
}
