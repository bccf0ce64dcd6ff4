//! What a run takes of storage, bounded before it begins.
//!
//! Files of a run grow and are never shortened, so every figure is what is written in all, but for
//! updates, whose places are used again. Columns lie stripe by stripe, each at the begin of a page.

use welter_store::io::ALIGN;

use super::{Plan, Streamed, memory};
use crate::kernels::vertices::SEGMENT_BITS;

/// Bytes on storage by use, at most. Those of a kept graph's own files are not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
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

impl Room {
    /// The most that is taken at any time.
    pub fn peak(&self) -> u64 {
        let run = self.degrees + self.values + self.signals + self.updates + self.edges;
        self.chunks + self.bins.max(run)
    }

    /// The room that the state of a run takes, by a plan that says where it is.
    pub(super) fn of_state(plan: &Plan) -> Self {
        let edges = plan.edge_states_room(stripes(plan));
        let Some(storage) = plan.storage else { return Self { edges, ..Self::default() } };
        let layout = plan.layout;
        let pages = stripes(plan) * ALIGN as u64;
        let column = |bytes: u64| if bytes > 0 { plan.vertices * bytes + pages } else { 0 };
        let values = if storage.values_stored { column(layout.value) } else { 0 };
        let Some(way) = storage.streamed else {
            let degrees = if plan.degrees_stored() { column(4) } else { 0 };
            return Self { degrees, values, edges, ..Self::default() };
        };
        let (signals, updates) = match way {
            Streamed::Ranges(_) => (2 * (column(layout.signal) + column(layout.active)), 0),
            Streamed::Spill(spill) => {
                let signals = if spill.fused { 0 } else { column(layout.signal) };
                (signals + column(layout.active), spill.room(plan))
            }
            // What lies beside are ranks.
            Streamed::Rows(rows) => (column(4), rows.room(plan)),
        };
        Self { degrees: column(4), values, signals, updates, edges, ..Self::default() }
    }

    /// The room of the state and of ingest, which takes so many bytes of bins and chunks.
    pub(super) fn with_edges(plan: &Plan, bins: u64, chunks: u64) -> Self {
        let pages = |bytes: u64| if bytes > 0 { stripes(plan) * ALIGN as u64 } else { 0 };
        Self { bins, chunks: chunks + pages(chunks), ..Self::of_state(plan) }
    }
}

/// Stripes, at most.
fn stripes(plan: &Plan) -> u64 {
    memory::stripes_most(plan, plan.shape.slots.div_ceil(1 << SEGMENT_BITS).max(1))
}
