//! Memory of group programs.

use welter_model::frequency::FrequencyTable;

use super::premises::Premises;
use crate::footprints::schedules as footprint;

/// The share of the budget that groups may take.
const SHARE: u64 = 8;

impl Premises {
    /// Updates that a worker of a group program has in memory at a time, at most.
    pub(crate) fn group_room(&self) -> u64 {
        let share = self.budget_bytes / (SHARE * self.threads as u64);
        let bytes = self.settings.group_bytes.unwrap_or(share);
        // Of a single pair of neighbours there is a row, and its length.
        let least = if self.program.intersects() { 2 } else { 0 };
        (self.shape.edges + least).min(bytes / self.program.group().max(1))
    }

    /// The budget with which `updates` updates fit.
    pub(crate) fn group_budget(&self, updates: u64) -> u64 {
        SHARE * self.threads as u64 * self.program.group() * updates
    }

    /// Bytes of a worker's marks of a row, in a program over triangles.
    pub(super) fn marks_bytes(&self) -> u64 {
        footprint::marks(self.vertices, self.shape.edges)
    }

    /// Bytes of the updates of a group, or the entries of rows, that a worker has in memory.
    fn gathered_bytes(&self) -> u64 {
        footprint::groups(self.group_room(), self.program.group(), self.edges.stripe_bits)
    }

    /// Bytes of the groups of a worker.
    pub(super) fn group_bytes(&self) -> u64 {
        if !self.program.groups() {
            return 0;
        }
        self.gathered_bytes() + FrequencyTable::BYTES as u64
    }

    /// Bytes of the rows that are met in a program over triangles, of what they are made with, and
    /// of each worker's marks. None of it is there while edges are ingested.
    pub(super) fn triangle_bytes(&self) -> u64 {
        if !self.program.intersects() {
            return 0;
        }
        let each_worker = self.gathered_bytes() + self.marks_bytes();
        self.account().each_worker(each_worker).bytes()
    }
}
