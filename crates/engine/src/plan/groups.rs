//! What group programs take.

use welter_model::tally::Tally;

use super::Plan;

/// The share of the budget that groups may take.
const SHARE: u64 = 8;

impl Plan {
    /// Updates that a worker of a group program has in memory at a time, at most.
    pub(crate) fn group_room(&self) -> u64 {
        let share = self.budget_bytes / (SHARE * self.threads as u64);
        let bytes = self.settings.group_bytes.unwrap_or(share);
        self.shape.edges.min(bytes / self.layout.group.max(1))
    }

    /// The budget with which so many fit.
    pub(crate) fn group_budget(&self, updates: u64) -> u64 {
        SHARE * self.threads as u64 * self.layout.group * updates
    }

    /// Bytes of the groups of a worker.
    pub(super) fn group_bytes(&self) -> u64 {
        if self.layout.group == 0 {
            return 0;
        }
        let tally = if self.layout.folds { Tally::BYTES as u64 } else { 0 };
        self.group_room() * self.layout.group + (4 << self.stripe_bits) + tally
    }
}
