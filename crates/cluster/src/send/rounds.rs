//! Iterations of a run over triangles.
//!
//! ```text
//! iteration 0               edges come to the owners of their ends, and vertices have degrees
//! iteration 1               show: a vertex tells its neighbours how many edges it has
//! iteration 2 + 2 r         meet: rows of part r of each sub-range travel
//! iteration 3 + 2 r         count: their vertices hear how many edges they closed
//! ```
//!
//! The receiver of a row keeps no more of it than what it closed: 16 bytes. So rows that travel in
//! an iteration are those of a bounded number of vertices of the cluster, and what is kept for the
//! answer takes no more than [`REPLY_BYTES`] for each.
//!
//! **Invariant:** the row of each vertex travels in one iteration. Tested by
//! `each_vertex_has_one_round`.

use std::ops::Range;

use welter_protocol::partitions::Partitions;

/// Bytes of the answer to a row.
pub(super) const REPLY_BYTES: u64 = 16;

/// Task of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Vertices tell their neighbours how many edges they have.
    Show,
    /// Rows of these places of each sub-range travel to the owners of their entries.
    Meet(u64, u64),
    /// Counts travel back; after the last rows those of all others do too.
    Count {
        /// Whether no row is left.
        is_last: bool,
    },
}

/// Rounds of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounds {
    /// Vertices of each sub-range whose rows travel at a time.
    width: u64,
    count: u64,
}

impl Rounds {
    /// Rounds in which rows of at most `passing` vertices travel, or of one of each sub-range.
    pub(super) fn new(cut: &Partitions, passing: u64) -> Self {
        let width = (passing / u64::from(cut.count())).max(1);
        Self { width, count: cut.width().div_ceil(width).max(1) }
    }

    /// Number of the last iteration.
    pub(super) fn iterations(&self) -> u64 {
        1 + 2 * self.count
    }

    /// Task of an iteration, from 1.
    pub(super) fn stage(&self, iteration: u64) -> Stage {
        let Some(place) = iteration.checked_sub(2) else { return Stage::Show };
        let round = place / 2;
        if place.is_multiple_of(2) {
            Stage::Meet(round * self.width, (round + 1) * self.width)
        } else {
            Stage::Count { is_last: round + 1 >= self.count }
        }
    }
}

/// Places of a stage that a sub-range of `vertices` vertices has.
pub(super) fn places((start, end): (u64, u64), vertices: u64) -> Range<u64> {
    start.min(vertices)..end.min(vertices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vertex_has_one_round() {
        for (vertices, sub_ranges, passing) in
            [(100, 4, 40), (100, 4, 1), (7, 2, 1 << 20), (1, 2, 9), (97, 3, 10)]
        {
            let cut = Partitions::fitting(1, vertices, 1, vertices.div_ceil(sub_ranges)).unwrap();
            let rounds = Rounds::new(&cut, passing);
            assert_eq!(rounds.stage(1), Stage::Show);
            for sub_range in 0..cut.count() {
                let range = cut.range(sub_range);
                let own = range.end - range.start;
                let (mut next, mut lasts) = (0, 0);
                for iteration in 2..=rounds.iterations() {
                    match rounds.stage(iteration) {
                        Stage::Meet(start, end) => {
                            let places = places((start, end), own);
                            assert_eq!(places.start, next, "{places:?}");
                            next = places.end;
                        }
                        Stage::Count { is_last } => lasts += u32::from(is_last),
                        Stage::Show => panic!("edges are shown once"),
                    }
                }
                let last = rounds.stage(rounds.iterations());
                assert_eq!((next, lasts, last), (own, 1, Stage::Count { is_last: true }));
            }
            if let Stage::Meet(start, end) = rounds.stage(2) {
                let at_once = (end - start) * u64::from(cut.count());
                assert!(at_once <= passing.max(cut.count().into()), "{at_once} of {passing}");
            }
        }
    }
}
