//! Number of bin groups that bins are dealt to, where not all of them stay in memory.
//!
//! A worker has an open slab for each bin group. Many bin groups take little while bins are sorted,
//! but much in the partition: beyond the number at which both take the same nothing is gained. Only
//! the partition has open bins too. What is sorted shall be an eighth of the room: it keeps
//! chunks from memory, which are read in each iteration, and bins but once.

use super::premises::Premises;
use crate::footprints::ingest::{bins_in_flight, group_ends, group_slabs, read_back};
use crate::machine::arena::SLAB_BYTES;

const SLAB: u64 = SLAB_BYTES as u64;

/// A number of bin groups, and the slabs that it takes. In bytes, but for the number.
pub(super) struct BinGroupsPlan {
    pub(super) count: u64,
    /// In the partition.
    pub(super) partition: u64,
    /// While bins are sorted.
    pub(super) sorting: u64,
    /// Bytes of requests on their way to storage.
    pub(super) requests: u64,
}

impl BinGroupsPlan {
    /// Bin groups for bins of which `waiting` bytes wait, where there are `slabs` bytes of slabs,
    /// and `open` bytes more once bins are closed.
    pub(super) fn new(premises: &Premises, bins: u64, waiting: u64, slabs: u64, open: u64) -> Self {
        let threads = premises.threads as u64;
        let in_flight = bins_in_flight(&premises.settings.requests);
        let requests = premises.account().each_worker(in_flight).bytes();
        let (ends, read_back) = (group_ends(threads), read_back(waiting, threads));
        let of = |count: u64| Self {
            count,
            partition: premises.account().each_worker(group_slabs(count)).shared(requests).bytes(),
            sorting: read_back / count + ends + requests,
            requests,
        };
        let opened = open / threads / SLAB;
        let places = 4 * read_back / threads / SLAB;
        let balanced = (((opened * opened + places).isqrt() - opened) / 2).max(1);
        // The better one of two, or less memory could do where more does not.
        let [fewer, more] = [balanced, balanced + 1].map(|count| of(count).need(open));
        let balanced = if more < fewer { balanced + 1 } else { balanced };
        let room = slabs.saturating_sub(ends + requests).max(SLAB);
        of((8 * read_back / room).min(balanced).clamp(4, 1 << 12).min(bins.max(1)))
    }

    /// Slabs that there must be.
    pub(super) fn need(&self, open: u64) -> u64 {
        self.partition.max(self.sorting.saturating_sub(open))
    }
}
