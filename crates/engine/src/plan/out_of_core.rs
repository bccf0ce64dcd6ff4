//! Access of a run to the state of its program beside edges on storage. One that does not fit in
//! memory goes the way that moves least.

use super::premises::Premises;
use super::program::Layout;
use super::ranges::RangesPlan;
use super::settings::Route;
use super::spill::SpillPlan;
use super::traffic::Traffic;
use super::triangles::TrianglesPlan;

/// Access of a run on stored edges to values, signals and accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateAccess {
    /// Signals of all vertices are in memory.
    Dense {
        /// Whether values are on storage.
        values_stored: bool,
        /// Whether there is room to relax the graph part by part, for programs that may.
        relaxes: bool,
    },
    /// Signals, and values with them, are streamed from storage.
    OutOfCore(OutOfCore),
}

impl StateAccess {
    /// Way in which the state is streamed, if it is.
    pub fn out_of_core(self) -> Option<OutOfCore> {
        match self {
            Self::Dense { .. } => None,
            Self::OutOfCore(way) => Some(way),
        }
    }

    /// Whether values are on storage.
    pub fn values_stored(self) -> bool {
        match self {
            Self::Dense { values_stored, .. } => values_stored,
            Self::OutOfCore(_) => !self.vertices_in_memory(),
        }
    }

    /// Whether vertices are in memory, and only updates on storage.
    pub(crate) fn vertices_in_memory(self) -> bool {
        matches!(self, Self::OutOfCore(OutOfCore::Spill(SpillPlan { resident: true, .. })))
    }

    /// Whether there is room to relax the graph part by part.
    pub fn relaxes(self) -> bool {
        matches!(self, Self::Dense { relaxes: true, .. })
    }

    /// Whether out-degrees of such a program are in memory only while edges are ingested.
    pub(super) fn degrees_stored(self, program: &Layout) -> bool {
        match self {
            Self::Dense { values_stored, .. } => values_stored && program.intersects(),
            Self::OutOfCore(_) => true,
        }
    }
}

/// Way in which a state is streamed that does not fit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfCore {
    /// Signals are read, once for each range of destinations.
    Ranges(RangesPlan),
    /// Updates are written and read.
    Spill(SpillPlan),
    /// Rows and counts are written and read, in programs over triangles.
    Triangles(TrianglesPlan),
}

impl OutOfCore {
    /// Whether the state must be streamed.
    pub(super) fn is_forced(premises: &Premises) -> bool {
        premises.program.streams() && !matches!(premises.settings.route, None | Some(Route::Fold))
    }

    /// The way that is taken with `spare` bytes, of which route `fold` would take `chunk_bytes` for
    /// chunks: one that is forced, or takes less where that has no place, or moves much less.
    pub(super) fn chosen(
        premises: &Premises,
        spare: u64,
        chunk_bytes: u64,
        fold: u64,
    ) -> Option<Self> {
        let left = spare.checked_sub(fold);
        let read = chunk_bytes.saturating_sub(left.unwrap_or(0));
        Self::new(premises, spare, chunk_bytes).filter(|way| {
            let bytes = way.bytes(premises);
            let has_no_place = left.is_none() && bytes < fold;
            let is_cheaper = bytes <= spare && premises.is_cheaper(way.traffic(premises), read);
            Self::is_forced(premises) || has_no_place || is_cheaper
        })
    }

    /// The way that moves least with `spare` bytes, some of which may hold chunks; where none fits,
    /// the one that takes least. None where nothing may be streamed.
    fn new(premises: &Premises, spare: u64, chunk_bytes: u64) -> Option<Self> {
        let ranges = || Self::Ranges(RangesPlan::new(premises, spare, chunk_bytes));
        let groups = premises.program.groups();
        let spill = |combined: bool, fused| {
            let combined = combined && premises.program.single() == 0;
            Self::Spill(SpillPlan::new(premises, spare, combined, fused))
        };
        let rows = |combined: bool| Self::Triangles(TrianglesPlan::new(premises, spare, combined));
        let ways = match premises.settings.route {
            _ if !premises.program.streams() => vec![],
            Some(Route::Fold) => vec![],
            Some(Route::Spill { combined, .. }) if premises.program.intersects() => {
                vec![rows(combined)]
            }
            None if premises.program.intersects() => vec![rows(true)],
            Some(Route::Ranges) => vec![ranges()],
            Some(Route::Spill { combined, fused }) => vec![spill(combined, fused)],
            None if groups => vec![spill(false, true)],
            None => vec![ranges(), spill(true, true)],
        };
        let moved = |way: &&Self| {
            let cache = spare.saturating_sub(way.bytes(premises));
            let stay = premises.edge_states_of(cache);
            let states = 2 * (premises.edge_states() - stay);
            let chunks = chunk_bytes.saturating_sub(cache - stay);
            let Traffic { read, written } = way.traffic(premises);
            way.edge_passes(premises) * chunks + states + read + written
        };
        let fitting = ways.iter().filter(|way| way.bytes(premises) <= spare).min_by_key(moved);
        fitting.or_else(|| ways.iter().min_by_key(|way| way.bytes(premises))).copied()
    }

    /// Readings of the edges in an iteration.
    pub(super) fn edge_passes(&self, premises: &Premises) -> u64 {
        match self {
            Self::Ranges(_) | Self::Triangles(_) => 1,
            Self::Spill(_) => SpillPlan::edge_passes(premises),
        }
    }

    /// Bytes of state in memory, but for the accumulators of one stripe a worker.
    pub(super) fn bytes(&self, premises: &Premises) -> u64 {
        match self {
            Self::Ranges(ranges) => ranges.bytes(premises),
            Self::Spill(spill) => spill.bytes(premises),
            Self::Triangles(rows) => rows.bytes(premises),
        }
    }

    /// Bytes that signals and updates move in an iteration in which all vertices are active.
    pub(super) fn traffic(&self, premises: &Premises) -> Traffic {
        match self {
            Self::Ranges(ranges) => ranges.traffic(premises),
            Self::Spill(spill) => spill.traffic(premises),
            Self::Triangles(rows) => rows.traffic(premises),
        }
    }
}
