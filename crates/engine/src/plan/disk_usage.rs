//! Storage that a run takes, bounded before it begins.
//!
//! Files of a run grow and are never shortened, so every figure is what is written in all, but for
//! updates, whose places are used again. Columns lie stripe by stripe, each at the begin of a page.

use welter_store::io::ALIGN;

use super::out_of_core::{OutOfCore, StateAccess};
use super::premises::Premises;

/// Bytes on storage by use, at most. Those of a kept graph's own files are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUsage {
    /// Binned edges, until all are sorted.
    pub bins: u64,
    /// Chunks.
    pub chunks: u64,
    /// Out-degrees, where they are in memory only while edges are ingested.
    pub degrees: u64,
    /// Values, from when the run begins until its results are written.
    pub values: u64,
    /// Signals and flags, as many versions as there are. Some flags only where checkpoints are
    /// written.
    pub signals: u64,
    /// Updates that wait at a time.
    pub updates: u64,
    /// States of edges.
    pub edges: u64,
}

impl DiskUsage {
    /// The most that is taken at any time.
    pub fn peak(&self) -> u64 {
        let run = self.degrees + self.values + self.signals + self.updates + self.edges;
        self.chunks + self.bins.max(run)
    }

    /// The room of a state, beside states of edges of which `edges_resident` bytes are in memory.
    pub(super) fn of_state(premises: &Premises, state: StateAccess, edges_resident: u64) -> Self {
        let stored = premises.edge_states().saturating_sub(edges_resident);
        let edges = premises.edge_states_room(stored);
        let program = premises.program;
        let pages = premises.stripes_most() * ALIGN as u64;
        let column = |bytes: u64| if bytes > 0 { premises.vertices * bytes + pages } else { 0 };
        let values = if state.values_stored() { column(program.value) } else { 0 };
        let in_memory = state.vertices_in_memory();
        let degrees = if state.degrees_stored(&program) && !in_memory { column(4) } else { 0 };
        let Some(way) = state.out_of_core() else {
            return Self { degrees, values, edges, ..Self::default() };
        };
        let (signals, updates) = match way {
            OutOfCore::Ranges(_) => (2 * (column(program.signal()) + column(program.active())), 0),
            OutOfCore::Spill(spill) => {
                let signals = if spill.fused { 0 } else { column(program.signal()) };
                let columns = signals + column(program.active());
                (if in_memory { 0 } else { columns }, spill.disk_bytes(premises))
            }
            // The column beside has ranks.
            OutOfCore::Triangles(rows) => (column(4), rows.disk_bytes(premises)),
        };
        Self { degrees, values, signals, updates, edges, ..Self::default() }
    }

    /// The room with that of ingest, which takes `bins` bytes of bins and `chunks` bytes of chunks.
    pub(super) fn with_edges(self, premises: &Premises, bins: u64, chunks: u64) -> Self {
        let pages = if chunks > 0 { premises.stripes_most() * ALIGN as u64 } else { 0 };
        Self { bins, chunks: chunks + pages, ..self }
    }
}
