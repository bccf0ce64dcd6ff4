//! A row that comes by is intersected with rows that are kept.
//!
//! ```text
//! for each a in row(u) that is held, for each w in row(u) and row(a):   a triangle u < a < w
//!     closed(u) += ways(a, w)     closed(a) += ways(u, w)     closed(w) += ways(u, a)
//! ```
//!
//! So each triangle is found once, where the rows of its middle vertex are kept while that of its
//! lowest passes. `ways` is 1, or 2 where the program counts both directions and there are both.

use std::cmp::Ordering;

use super::rows::Rows;

/// Counts of the corners of triangles that a row closed, until the next one does.
#[derive(Debug, Default)]
pub(crate) struct CornerCounts {
    /// Of the vertex that the row is of.
    pub(crate) lowest: u64,
    /// Of each of its entries, as the highest corner.
    pub(crate) highest: Vec<u64>,
}

/// Number of times that an entry counts.
fn ways(entry: u32, is_directed: bool) -> u64 {
    1 + u64::from(entry & u32::from(is_directed))
}

impl CornerCounts {
    /// Lets a row meet those of its vertices that are kept, of which the first is `base` of the
    /// partition. `middle` receives how much each of these counts itself; it returns how many there
    /// were.
    pub(crate) fn count(
        &mut self,
        row: &[u32],
        (held, base): (&Rows, u64),
        is_directed: bool,
        mut middle: impl FnMut(u64, u64),
    ) -> usize {
        self.lowest = 0;
        self.highest.clear();
        self.highest.resize(row.len(), 0);
        let place = |end: u64| row.partition_point(|entry| u64::from(entry >> 1) < base + end);
        let own = place(held.vertices().start)..place(held.vertices().end);
        for &entry in &row[own.clone()] {
            let vertex = u64::from(entry >> 1) - base;
            let mut closed = 0;
            common(row, held.of(vertex), |place, other| {
                self.lowest += ways(other, is_directed);
                self.highest[place] += ways(entry, is_directed);
                closed += ways(row[place], is_directed);
            });
            middle(vertex, closed);
        }
        own.len()
    }
}

/// Shows vertices that two rows have: the place in the one, the entry of the other.
fn common(one: &[u32], other: &[u32], mut show: impl FnMut(usize, u32)) {
    let mut rest = other;
    for (place, entry) in one.iter().enumerate() {
        while let [first, after @ ..] = rest {
            match (first >> 1).cmp(&(entry >> 1)) {
                Ordering::Less => rest = after,
                Ordering::Equal => {
                    show(place, *first);
                    rest = after;
                    break;
                }
                Ordering::Greater => break,
            }
        }
        if rest.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::Keys;
    use super::*;

    #[test]
    fn corners_count_the_ways_of_the_edge_on_their_far_side() {
        // The partition begins at 10. Vertex 11 has 12, both ways, and 30; 12 has 30, both ways.
        let mut keys = Keys::default();
        keys.begin(99);
        for (vertex, entry) in [(1, 24), (1, 25), (1, 60), (2, 60), (2, 61), (5, 2)] {
            keys.push(vertex, entry).unwrap();
        }
        keys.compact().unwrap();
        // A row with 11, both ways, 12 and 30; 3 is elsewhere, and 15 in no range that is kept.
        let row = [6, 23, 24, 30, 60];
        for (is_directed, lowest, highest, middles) in [
            (false, 3, [0, 0, 1, 0, 2], [(1, 2), (2, 1)]),
            (true, 2 + 1 + 2, [0, 0, 2, 0, 3], [(1, 2), (2, 1)]),
        ] {
            let (mut corners, mut found) = (CornerCounts::default(), Vec::new());
            let held = (&keys.rows(0..4), 10);
            let count = corners.count(&row, held, is_directed, |a, closed| found.push((a, closed)));
            assert_eq!((count, found), (2, middles.to_vec()));
            assert_eq!(
                (corners.lowest, &corners.highest[..]),
                (lowest, &highest[..]),
                "{is_directed}"
            );
        }
    }
}
