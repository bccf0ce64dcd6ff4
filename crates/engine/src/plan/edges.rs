//! What the states of edges take, in extended programs.

use welter_store::io::ALIGN;

use super::{Plan, StorageMode};
use crate::columns::footprint::STATE_SLABS;
use crate::machine::arena::SLAB_BYTES;

impl Plan {
    /// Bytes of the states of all edges.
    pub(super) fn edge_states(&self) -> u64 {
        self.shape.edges * self.layout.edge
    }

    /// Bytes of those that stay in memory where so many are left. They are written as well as read,
    /// so they stay rather than chunks.
    pub(super) fn edge_states_of(&self, spare: u64) -> u64 {
        match self.settings.storage {
            StorageMode::Always { values: true, .. } => 0,
            _ => self.edge_states().min(spare),
        }
    }

    /// Bytes of those that may be in memory.
    pub(crate) fn edge_states_resident(&self) -> u64 {
        self.storage.map_or(u64::MAX, |storage| storage.edge_states_bytes)
    }

    /// Bytes of those that are on storage: read and written in each iteration.
    pub(super) fn edge_states_stored(&self) -> u64 {
        self.edge_states().saturating_sub(self.edge_states_resident())
    }

    /// Bytes of storage that these take: a piece ends where a slab would, or a stripe, and begins a
    /// page; each stripe has a state more there than its share, at most.
    pub(super) fn edge_states_room(&self, stripes: u64) -> u64 {
        let stored = self.edge_states_stored();
        if stored == 0 {
            return 0;
        }
        let piece = SLAB_BYTES as u64 - self.layout.edge;
        stored + stripes * self.layout.edge + (stored / piece + 2 * stripes) * ALIGN as u64
    }

    /// Bytes of a worker through which they go, where some are on storage.
    pub(super) fn edge_buffers(&self) -> u64 {
        if self.layout.edge == 0 { 0 } else { (STATE_SLABS * SLAB_BYTES) as u64 }
    }
}
