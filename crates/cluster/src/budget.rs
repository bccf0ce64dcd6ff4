//! Settings with which a machine keeps a budget.
//!
//! Where a budget is smaller than what a cluster would like, sets, chunks and windows are halved
//! until the machine fits, and updates are kept that have room then: all machines come to the same,
//! since all of it follows from numbers that they share. What is left is for chunks that a machine
//! streams at a time, up to as many as it has threads for, and then for bins of several chunks:
//! numbers of its own.
//!
//! **Invariant:** a machine is planned within its budget, or refused with the least one. Tested by
//! `a_budget_is_kept_or_the_least_one_is_named` and `bins_hold_chunks_that_a_budget_has_room_for`.

use welter_protocol::config::{Edges, Route};

use crate::footprint::{Demand, Widths};
use crate::settings::Settings;

/// Updates that are kept in memory where no budget asks for fewer, and at least: powers of two.
pub(crate) const KEPT_UPDATES: [u64; 2] = [1 << 25, 1 << 16];

/// Number of times that sets, chunks and windows are halved at most.
const HALVINGS: u32 = 8;

/// Chunks that a bin of edges holds at most: a power of two.
pub const BIN_CHUNKS_MAX: u32 = 8;

/// Bytes of full bins of edges, at most, where no budget says how much room a machine has and bins
/// hold more than a chunk each.
const BINS_BYTES: u64 = 512 << 20;

impl Settings {
    /// Settings like these for a program of these widths: with a bound of the updates that are kept
    /// where nothing merges them, one chunk at a time where it streams no more, and bins of one
    /// chunk where their edges are put in no order.
    #[must_use]
    pub fn keeping(self, widths: &Widths) -> Self {
        let kept_updates_max = if widths.combines { u64::MAX } else { KEPT_UPDATES[0] };
        let is_apart = widths.combines || self.route == Route::Spill;
        let streams =
            if is_apart && self.edges == Edges::Fixed && !self.carries { self.streams } else { 1 };
        let has_stripes = widths.combines && self.route == Route::Fold;
        let has_stripes = has_stripes && self.edges == Edges::Fixed && !self.carries;
        let bin_chunks = if has_stripes { self.bin_chunks } else { 1 };
        Self { bin_chunks, kept_updates_max, streams, ..self }
    }

    /// Settings like these, or with smaller bins, for a machine without a budget.
    #[must_use]
    pub fn without_budget(mut self) -> Self {
        while self.bin_chunks > 1 && self.full_bins().is_none_or(|bytes| bytes > BINS_BYTES) {
            self.bin_chunks /= 2;
        }
        self
    }

    /// Settings like these, or with smaller sets, chunks, windows and bins, and fewer streams, with
    /// which a machine keeps a budget.
    ///
    /// # Errors
    /// With the least budget that would do.
    pub fn within(self, budget: u64, demand: &Demand) -> Result<Self, u64> {
        let bytes = |it: &Self| it.footprint(demand).map_or(u64::MAX, |found| found.memory_bytes());
        let mut settings =
            Self { streams: 1, bin_chunks: 1, ..self }.shared_within(budget, demand)?;
        while settings.streams < self.streams {
            let more = Self { streams: settings.streams + 1, ..settings };
            if bytes(&more) > budget {
                break;
            }
            settings = more;
        }
        while settings.bin_chunks < self.bin_chunks {
            let more = Self { bin_chunks: 2 * settings.bin_chunks, ..settings };
            if bytes(&more) > budget {
                break;
            }
            settings = more;
        }
        Ok(settings)
    }

    /// As [`Self::within`], but for streams and bins: what all machines must have alike.
    fn shared_within(self, budget: u64, demand: &Demand) -> Result<Self, u64> {
        let mut least = u64::MAX;
        for halvings in 0..=HALVINGS {
            let mut settings = self.halved(halvings);
            let bytes =
                |it: &Self| it.footprint(demand).map_or(u64::MAX, |found| found.memory_bytes());
            let takes = bytes(&settings);
            if takes <= budget {
                // The rest is for updates.
                while settings.kept_updates_max < self.kept_updates_max {
                    let kept_updates_max = 2 * settings.kept_updates_max;
                    let more = Self { kept_updates_max, ..settings };
                    if bytes(&more) > budget {
                        break;
                    }
                    settings = more;
                }
                return Ok(settings);
            }
            least = least.min(takes);
        }
        Err(least)
    }

    fn halved(self, times: u32) -> Self {
        let records = (self.chunk_records >> times).max(1 << 12);
        let kept = self.kept_updates_max;
        Self {
            kept_updates_max: if kept == u64::MAX { kept } else { kept.min(KEPT_UPDATES[1]) },
            set_bytes_max: self.set_bytes_max >> times,
            chunk_records: records.min(self.chunk_records),
            chunk_vertices: (self.chunk_vertices >> times).max(1 << 10),
            piece_edges: (self.piece_edges >> times).max(1 << 12),
            store_window_bytes: (self.store_window_bytes >> times).max(1 << 18),
            ..self
        }
    }
}
