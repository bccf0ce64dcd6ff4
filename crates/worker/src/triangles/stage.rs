//! Steps of a run over triangles, and the ranges of rows that it has in memory.
//!
//! ```text
//! d(v)     = edges at v, both ways, loops left out, parallel ones counted       (at most 2^32 - 1)
//! u < v    = (d(u), u) < (d(v), v)
//! row(u)   = { v joined to u : u < v },  |row(u)| <= min(d(u), 2 m / d(u)) <= sqrt(2 m)
//!
//! iteration 0          degrees
//! 4 r + 1 .. 4 r + 4   round r: show, rows, meet, count, for rows of range r / R that pass and
//!                      rows of range r % R that are held
//! ```
//!
//! The bound holds because each vertex above `u` has at least as many edges, and all have 2 m. It
//! is known before a row is made, so partitions are cut into ranges (`R` of each, at equal
//! distances) before edges are read again: so few that the rows of the two ranges of a round have
//! just room. Two ranges would take as much as one, so there is 1, or there are 3 and more.
//!
//! **Invariant:** each pair of ranges has one round, and a range that passes itself is kept alone.
//! Tested by `each_pair_of_ranges_has_one_round` and `ranges_are_as_few_as_have_room`.

use std::ops::Range;

/// Numbers of ranges that partitions may be cut into: a run takes `1 + 4 R^2` iterations.
const COUNTS: [u32; 5] = [1, 3, 4, 8, 16];

/// Most keys of rows of a range, for each number of ranges.
pub(crate) type Needs = [u64; COUNTS.len()];

/// Task of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Edges count at both ends.
    Degrees,
    /// Sources send targets how many edges they have; targets send the upper end of an edge to the
    /// lower one.
    Show,
    /// Rows are gathered, and travel to where their vertices are.
    Rows,
    /// Rows that come by meet those that are kept.
    Meet,
    /// Counts are added up.
    Count,
}

/// Ranges of the rows of an iteration, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round {
    /// Rows of it come by.
    pub(crate) passing: u32,
    /// Rows of it are kept.
    pub(crate) held: u32,
}

/// Ranges that each partition of `width` vertices is cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ranges {
    pub(crate) count: u32,
    pub(crate) width: u64,
}

impl Ranges {
    /// Vertices of a range, relative to their partition.
    pub(crate) fn of(&self, range: u32) -> Range<u64> {
        let start = |range: u32| self.width * u64::from(range) / u64::from(self.count);
        start(range)..start(range + 1)
    }

    /// Iterations that a run takes.
    pub(crate) fn iterations(&self) -> u32 {
        1 + 4 * self.count * self.count
    }

    /// Task of an iteration, and its rows.
    pub(crate) fn at(&self, iteration: u32) -> (Stage, Round) {
        let Some(place) = iteration.checked_sub(1) else {
            return (Stage::Degrees, Round { passing: 0, held: 0 });
        };
        let stage = [Stage::Show, Stage::Rows, Stage::Meet, Stage::Count][place as usize % 4];
        let round = place / 4;
        (stage, Round { passing: round / self.count, held: round % self.count })
    }
}

/// Keys of the row of a vertex of this degree, at most, in a graph of `edges` edges: one for each
/// neighbour above, or one for each of `ways` that edges go.
pub(crate) fn row_most(degree: u32, edges: u64, ways: u64) -> u64 {
    match u64::from(degree) {
        0 => 0,
        degree => degree.min((2 * edges / degree).saturating_mul(ways)),
    }
}

/// Most keys of a range of a partition whose vertices have `rows` of these numbers of keys, for
/// each number of ranges that partitions of this width may be cut into.
pub(crate) fn needs(width: u64, rows: &[u64]) -> Needs {
    let most = |count| {
        let ranges = Ranges { count, width };
        let sum = |range| {
            let Range { start, end } = ranges.of(range);
            let end = (end as usize).min(rows.len());
            rows.get(start as usize..end).unwrap_or_default().iter().sum()
        };
        (0..ranges.count).map(sum).max().unwrap_or(0)
    };
    COUNTS.map(most)
}

/// Keys of the rows of a round: all, or those of any two ranges.
fn of_round(needs: &Needs, level: usize) -> u64 {
    if level == 0 { needs[0] } else { 2 * needs[level] }
}

/// The least room for the rows of a round, of at most `ranges_most` ranges.
pub(crate) fn least(needs: &Needs, ranges_most: u32) -> u64 {
    let may_be = |&level: &usize| COUNTS[level] <= ranges_most.max(1);
    let levels = (0..COUNTS.len()).filter(may_be);
    levels.map(|level| of_round(needs, level)).min().unwrap_or(0)
}

/// The fewest ranges such that the rows of a round have room.
///
/// # Errors
/// The least room that would do.
pub(crate) fn fewest(needs: &Needs, room: u64) -> Result<u32, u64> {
    let level = (0..COUNTS.len()).find(|&level| of_round(needs, level) <= room);
    level.map(|level| COUNTS[level]).ok_or_else(|| least(needs, u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_of_ranges_has_one_round() {
        for count in COUNTS {
            let ranges = Ranges { count, width: 50 };
            assert_eq!(ranges.at(0).0, Stage::Degrees);
            let mut rounds = BTreeSet::new();
            for iteration in 1..ranges.iterations() {
                let (stage, Round { passing, held }) = ranges.at(iteration);
                assert!(passing < count && held < count);
                assert!(stage != Stage::Degrees && rounds.insert((passing, held, stage as u8)));
            }
            assert_eq!(rounds.len(), 4 * (count * count) as usize);
            let last = ranges.at(ranges.iterations() - 1);
            let held = count - 1;
            assert_eq!(last, (Stage::Count, Round { passing: held, held }));
        }
    }

    #[test]
    fn ranges_are_disjoint_and_whole() {
        for width in [1, 2, 3, 7, 16, 1 << 31] {
            for count in [1, 2, 3, 4, 8, 16] {
                let ranges = Ranges { count, width };
                let mut next = 0;
                for range in 0..count {
                    let Range { start, end } = ranges.of(range);
                    assert_eq!(start, next);
                    next = end;
                }
                assert_eq!(next, width);
            }
        }
    }

    #[test]
    fn rows_are_no_longer_than_the_root_of_twice_the_edges() {
        // (degree, edges, ways) -> keys
        let cases = [
            (0, 100, 1, 0),
            (1, 100, 1, 1),
            (14, 100, 1, 14),
            (15, 100, 1, 13),
            (200, 100, 1, 1),
            (15, 100, 2, 15),
            (50, 100, 2, 8),
            (u32::MAX, u64::MAX >> 1, 2, u32::MAX.into()),
        ];
        for (degree, edges, ways, keys) in cases {
            assert_eq!(row_most(degree, edges, ways), keys, "{degree} of {edges}, {ways} ways");
        }
        for edges in 0..300_u64 {
            let most = (0..1000).map(|degree| row_most(degree, edges, 1)).max().unwrap_or(0);
            assert!(most * most <= 2 * edges, "{most} of {edges}");
        }
    }

    #[test]
    fn ranges_are_as_few_as_have_room() {
        // Partitions of eight vertices, and one of six.
        let all = needs(8, &[5, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(all, [12, 6, 6, 5, 5]);
        assert_eq!(needs(8, &[0, 0, 0, 0, 4, 4]), [8, 4, 8, 4, 4]);
        assert_eq!(needs(8, &[]), [0; 5]);
        // (room, ranges): a round of two of 3, 4 and 8 ranges takes 12, 12 and 10.
        let cases = [(u64::MAX, Ok(1)), (12, Ok(1)), (11, Ok(8)), (10, Ok(8)), (9, Err(10))];
        for (room, expected) in cases {
            assert_eq!(fewest(&all, room), expected, "{room} keys");
        }
        for (ranges_most, room) in [(0, 12), (1, 12), (3, 12), (7, 12), (8, 10), (99, 10)] {
            assert_eq!(least(&all, ranges_most), room, "{ranges_most} ranges");
        }
        assert_eq!(fewest(&[12, 6, 5, 4, 3], 11), Ok(4));
        assert_eq!(fewest(&[12, 5, 5, 4, 3], 11), Ok(3));
        assert_eq!(fewest(&[0; 5], 0), Ok(1));
    }
}
