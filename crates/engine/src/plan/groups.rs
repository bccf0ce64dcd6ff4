//! What group programs take.

use welter_model::tally::Tally;

use super::premises::Premises;

/// The share of the budget that groups may take.
const SHARE: u64 = 8;

/// Bytes of a worker's marks that are as many for any graph, and of a row of its own.
const MARKS_BYTES: u64 = 1 << 20;

impl Premises {
    /// Updates that a worker of a group program has in memory at a time, at most.
    pub(crate) fn group_room(&self) -> u64 {
        let share = self.budget_bytes / (SHARE * self.threads as u64);
        let bytes = self.settings.group_bytes.unwrap_or(share);
        // Of a single pair of neighbours there is a row, and its length.
        let least = if self.program.intersects() { 2 } else { 0 };
        (self.shape.edges + least).min(bytes / self.program.group().max(1))
    }

    /// The budget with which so many fit.
    pub(crate) fn group_budget(&self, updates: u64) -> u64 {
        SHARE * self.threads as u64 * self.program.group() * updates
    }

    /// Bytes of a worker's marks of a row, in a program over triangles: two bits for each vertex
    /// and a number for 64 of them, and what is counted of those near which the row has entries. It
    /// has no more than the square root of the arcs.
    pub(super) fn marks_bytes(&self) -> u64 {
        let words = self.vertices.div_ceil(64);
        let places = words.min(self.shape.edges.isqrt() + 1);
        words * 20 + places.next_power_of_two() * 256 + MARKS_BYTES
    }

    /// Bytes of the groups of a worker.
    pub(super) fn group_bytes(&self) -> u64 {
        if !self.program.groups() {
            return 0;
        }
        self.group_room() * self.program.group()
            + (4 << self.edges.stripe_bits)
            + Tally::BYTES as u64
    }

    /// Bytes of the rows that are met in a program over triangles, of what they are made with, and
    /// of each worker's marks. None of it is there while edges are ingested.
    pub(super) fn triangle_bytes(&self) -> u64 {
        if !self.program.intersects() {
            return 0;
        }
        let rows = self.group_room() * self.program.group() + (4 << self.edges.stripe_bits);
        self.threads as u64 * (rows + self.marks_bytes())
    }
}
