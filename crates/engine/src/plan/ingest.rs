//! Cuts, bins and sorting of edges while they are ingested.

use super::Plan;
use super::premises::{CELL_EDGES, MOST_BINS, SORT_EDGES_LEAST, STRIPES_PER_WORKER};
use super::stored::BinsPlan;
use crate::EngineError;
use crate::footprints::edges::CHUNK_BYTES_MAX;
use crate::machine::arena::SLAB_BYTES;

impl Plan {
    /// Bins, where not all of them stay in memory.
    pub(crate) fn bins(&self) -> Option<&BinsPlan> {
        self.storage().and_then(|storage| storage.bins.as_ref())
    }

    /// Groups of sources, so that the edges from a group to a stripe fill a quarter of a megabyte
    /// when they are sorted: both of the sort's buffers then stay in the second-level cache.
    pub(crate) fn groups(&self, stripes: usize) -> usize {
        let groups = self.premises.shape.edges.div_ceil(CELL_EDGES * stripes.max(1) as u64);
        let bins = self.bins().map_or(MOST_BINS, |bins| bins.most);
        let most = self.premises.segments().min((bins / stripes.max(1) as u64).max(1));
        groups.clamp(1, most) as usize
    }

    /// Source partitions: a cell shall fill a chunk, and workers that take a partition each shall
    /// not wait long for the last one.
    pub(crate) fn partitions(&self, stripes: usize, groups: usize) -> usize {
        let edges = self.premises.shape.edges;
        let chunks = edges * 4 / (stripes.max(1) * CHUNK_BYTES_MAX) as u64;
        (chunks as usize).max(STRIPES_PER_WORKER * self.premises.threads).min(groups)
    }

    /// Bin groups that share slabs.
    pub(crate) fn bin_groups(&self) -> usize {
        let bin_groups = self.bins().map(|bins| bins.bin_groups);
        bin_groups.unwrap_or_else(|| self.premises.bin_groups_in_memory()) as usize
    }

    /// Bytes of a bin group that is read back whole: what is left of bins that are spread evenly,
    /// and a quarter more.
    pub(crate) fn bin_group_bytes_most(&self) -> u64 {
        let ends = (self.premises.threads * SLAB_BYTES) as u64;
        self.premises.waiting_bytes() / self.bin_groups().max(1) as u64 * 5 / 4 + ends
    }

    /// Edges that a worker sorts at once, at most: bigger cells are cut into pieces.
    pub(crate) fn sort_edges_max(&self) -> usize {
        let most = match self.storage() {
            Some(_) => SORT_EDGES_LEAST,
            None => self.premises.sorted_in_memory(),
        };
        most as usize
    }

    /// Lets a piece be sorted that could not be cut small enough, because too many edges are
    /// parallel.
    pub(crate) fn allow_sort(&self, edges: usize) -> Result<(), EngineError> {
        let over = edges.saturating_sub(self.sort_edges_max()) as u64;
        let need = self.memory.peak() + self.premises.sort_bytes(over);
        let budget = self.premises.budget_bytes;
        if over == 0 || need <= budget {
            return Ok(());
        }
        let advice = "too many of the edges are parallel".to_owned();
        Err(EngineError::Budget { need, budget, advice })
    }
}
