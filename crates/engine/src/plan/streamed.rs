//! Which way a state goes that does not fit in memory: the one that moves least.

use super::{Plan, RangesPlan, Route, RowsPlan, SpillPlan, Traffic};

/// How a state is streamed that does not fit in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed {
    /// Signals are read, once for each range of destinations.
    Ranges(RangesPlan),
    /// Updates are written and read.
    Spill(SpillPlan),
    /// Rows and counts are written and read, in programs over triangles.
    Rows(RowsPlan),
}

impl Streamed {
    /// Whether the state must be streamed.
    pub(super) fn is_forced(plan: &Plan) -> bool {
        plan.layout.streams() && !matches!(plan.settings.route, None | Some(Route::Fold))
    }

    /// The way that is taken with `spare` bytes, of which route `fold` would take so many: one that
    /// is forced, or takes less where that has no place, or moves much less.
    pub(super) fn taken(plan: &Plan, spare: u64, chunk_bytes: u64, fold: u64) -> Option<Self> {
        let left = spare.checked_sub(fold);
        let read = chunk_bytes.saturating_sub(left.unwrap_or(0));
        Self::new(plan, spare, chunk_bytes).filter(|way| {
            let bytes = way.bytes(plan);
            let has_no_place = left.is_none() && bytes < fold;
            let travels = bytes <= spare && plan.travels(way, read);
            Self::is_forced(plan) || has_no_place || travels
        })
    }

    /// The way that moves least with `spare` bytes, some of which may hold chunks; where none fits,
    /// the one that takes least. None where nothing may be streamed.
    fn new(plan: &Plan, spare: u64, chunk_bytes: u64) -> Option<Self> {
        let ranges = || Self::Ranges(RangesPlan::new(plan, spare, chunk_bytes));
        let groups = plan.layout.group > 0;
        let spill = |combined: bool, fused| {
            let combined = combined && plan.layout.told == 0;
            Self::Spill(SpillPlan::new(plan, spare, combined, fused))
        };
        let rows = |combined: bool| Self::Rows(RowsPlan::new(plan, spare, combined));
        let ways = match plan.settings.route {
            _ if !plan.layout.streams() => vec![],
            Some(Route::Fold) => vec![],
            Some(Route::Spill { combined, .. }) if plan.layout.intersects() => vec![rows(combined)],
            None if plan.layout.intersects() => vec![rows(true)],
            Some(Route::Ranges) => vec![ranges()],
            Some(Route::Spill { combined, fused }) => vec![spill(combined, fused)],
            None if groups => vec![spill(false, true)],
            None => vec![ranges(), spill(true, true)],
        };
        let moved = |way: &&Self| {
            let cache = spare.saturating_sub(way.bytes(plan));
            let stay = plan.edge_states_of(cache);
            let states = 2 * (plan.edge_states() - stay);
            let chunks = chunk_bytes.saturating_sub(cache - stay);
            let Traffic { read, written } = way.traffic(plan);
            way.looks(plan) * chunks + states + read + written
        };
        let fitting = ways.iter().filter(|way| way.bytes(plan) <= spare).min_by_key(moved);
        fitting.or_else(|| ways.iter().min_by_key(|way| way.bytes(plan))).copied()
    }

    /// How often an iteration reads the edges.
    pub(super) fn looks(&self, plan: &Plan) -> u64 {
        match self {
            Self::Ranges(_) | Self::Rows(_) => 1,
            Self::Spill(_) => SpillPlan::looks(plan),
        }
    }

    /// Bytes of state in memory, but for the accumulators of one stripe a worker.
    pub(super) fn bytes(&self, plan: &Plan) -> u64 {
        match self {
            Self::Ranges(ranges) => ranges.bytes(plan),
            Self::Spill(spill) => spill.bytes(plan),
            Self::Rows(rows) => rows.bytes(plan),
        }
    }

    /// Bytes that signals and updates move in an iteration in which all vertices are active.
    pub(super) fn traffic(&self, plan: &Plan) -> Traffic {
        match self {
            Self::Ranges(ranges) => ranges.traffic(plan),
            Self::Spill(spill) => spill.traffic(plan),
            Self::Rows(rows) => rows.traffic(plan),
        }
    }
}
