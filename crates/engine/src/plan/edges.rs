//! Memory and storage of states of edges, in extended programs.

use welter_store::io::ALIGN;

use super::premises::Premises;
use super::settings::StorageMode;
use crate::footprints::columns::STATE_SLABS;
use crate::machine::arena::SLAB_BYTES;

impl Premises {
    /// Bytes of the states of all edges.
    pub(super) fn edge_states(&self) -> u64 {
        self.shape.edges * self.program.edge()
    }

    /// Bytes of those that stay in memory where `spare` bytes are left. They are written as well as
    /// read, so they stay rather than chunks.
    pub(super) fn edge_states_of(&self, spare: u64) -> u64 {
        match self.settings.storage {
            StorageMode::Always { values: true, .. } => 0,
            _ => self.edge_states().min(spare),
        }
    }

    /// Bytes of storage that `stored` bytes of them take: a piece ends where a slab would, or a
    /// stripe, and begins a page; each stripe has a state more there than its share, at most.
    pub(super) fn edge_states_room(&self, stored: u64) -> u64 {
        if stored == 0 {
            return 0;
        }
        let (stripes, piece) = (self.stripes_most(), SLAB_BYTES as u64 - self.program.edge());
        stored + stripes * self.program.edge() + (stored / piece + 2 * stripes) * ALIGN as u64
    }

    /// Bytes of a worker through which they go, where some are on storage.
    pub(super) fn edge_buffers(&self) -> u64 {
        if self.program.edge() == 0 { 0 } else { (STATE_SLABS * SLAB_BYTES) as u64 }
    }
}
