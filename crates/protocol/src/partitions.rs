//! Streaming partitions: ranges of consecutive vertices, one of which fits in memory (Chaos,
//! section 3).
//!
//! ```text
//! P = min { k m : k >= 1, ceil(V / (k m)) * bytes of a vertex <= memory }      m machines
//! partition p = vertices [bound(p), bound(p + 1))          master of p = machine p mod m
//! even:         bound(p) = min(p w, V), w = ceil(V / P)
//! by weight:    as [`Weights::cut`] makes them, so that each has about as many edges
//! by ranges:    as they are told; numbers between two of them are those of no vertex
//! ```
//!
//! Numbers take 64 bits and places in a partition 32, whatever a graph's size. What is kept for
//! vertices is kept by partitions, so numbers may be far apart, and nothing lies between.
//!
//! **Invariant:** each vertex is in one partition, which fits, and each machine is the master of as
//! many as any other:
//!
//! ```text
//! for all v < V:   { p : v in partition p } = { of(v) }
//! for all p:       |partition p| <= w  and  w * bytes of a vertex <= memory
//! for all r < m:   |{ p : master of p = r }| = P / m
//! ```
//!
//! Tested by `every_vertex_is_in_one_partition_and_no_smaller_multiple_does`,
//! `every_vertex_is_in_one_partition_that_fits_whatever_the_weights` and
//! `numbers_between_ranges_are_in_no_partition`.

use std::ops::Range;
use std::sync::Arc;

use crate::ids::Rank;
use crate::payload::checksum;
use crate::ranges::RangeTable;
use crate::weights::Weights;

/// Partitions of the vertices of a graph.
///
/// A million vertices of 16 bytes on four machines that have 3 MB each for a vertex set:
///
/// ```
/// use welter_protocol::partitions::Partitions;
///
/// let cut = Partitions::fitting(4, 1_000_000, 16, 3_000_000).ok_or("no vertex fits")?;
/// assert_eq!((cut.count(), cut.width()), (8, 125_000));
/// assert_eq!((cut.of(250_000), cut.range(2)), (2, 250_000..375_000));
/// assert_eq!(cut.of_master(1).collect::<Vec<_>>(), [1, 5]);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitions {
    machines: usize,
    vertices: u64,
    count: u32,
    /// Vertices of the largest.
    width: u64,
    /// `2^64 / width`, less one at most, by which even ones are told without a division.
    inverse: u64,
    /// Where they are not even: the first vertex of each, and the end of the last.
    bounds: Option<Arc<RangeTable>>,
    /// Where numbers are left out between them: the end of each.
    ends: Option<Arc<[u64]>>,
}

impl Partitions {
    /// The smallest multiple of the machines such that a vertex set fits in `memory` bytes. None
    /// where not even one vertex does.
    pub fn fitting(machines: usize, vertices: u64, vertex_bytes: u64, memory: u64) -> Option<Self> {
        let fit = (memory / vertex_bytes.max(1)).min(vertices.max(1));
        if fit == 0 {
            return None;
        }
        // ceil(V / P) <= fit is the same as P >= V / fit.
        let multiple = vertices.div_ceil(fit).div_ceil(machines as u64).max(1);
        let count = u32::try_from(multiple * machines as u64).ok()?;
        let width = vertices.div_ceil(u64::from(count)).max(1);
        let inverse = inverse(width);
        Some(Self { machines, vertices, count, width, inverse, bounds: None, ends: None })
    }

    /// Partitions that are these ranges of numbers. None where they are not in ascending order, or
    /// not as many for each machine.
    ///
    /// ```
    /// use welter_protocol::partitions::Partitions;
    ///
    /// let cut = Partitions::of_ranges(2, &[5..9, 1 << 40..(1 << 40) + 2]).ok_or("disorder")?;
    /// assert_eq!((cut.vertices(), cut.end()), (6, (1 << 40) + 2));
    /// let found = [4, 8, 9, 1 << 40].map(|number| cut.find(number));
    /// assert_eq!(found, [None, Some(0), None, Some(1)]);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn of_ranges(machines: usize, ranges: &[Range<u64>]) -> Option<Self> {
        let count = u32::try_from(ranges.len()).ok()?;
        let are_in_order = ranges.is_sorted_by(|one, next| one.end <= next.start)
            && ranges.iter().all(|range| range.start <= range.end);
        let are_shared = machines > 0 && ranges.len().is_multiple_of(machines);
        let last = ranges.last().filter(|_| are_in_order && are_shared)?.end;
        let widths = ranges.iter().map(|range| range.end - range.start);
        let (vertices, width) = (widths.clone().sum(), widths.max().unwrap_or(0).max(1));
        let bounds = ranges.iter().map(|range| range.start).chain([last]).collect();
        let bounds = Some(Arc::new(RangeTable::new(bounds)));
        let ends = Some(ranges.iter().map(|range| range.end).collect());
        Some(Self { machines, vertices, count, width, inverse: inverse(width), bounds, ends })
    }

    /// As many partitions, each with about as much weight as any other. None has more vertices than
    /// `widest`, or than these have, whichever is more.
    ///
    /// # Panics
    /// When the weights are those of another number of vertices, or numbers are left out.
    #[must_use]
    pub fn weighed(self, weights: &Weights, widest: u64) -> Self {
        assert!(self.ends.is_none(), "weights are of numbers of which none is left out");
        assert_eq!(weights.vertices(), self.vertices, "weights are of the vertices that are cut");
        let bounds = weights.cut(self.count, widest.max(self.width));
        let widths = bounds.windows(2).map(|ends| ends[1] - ends[0]);
        let width = widths.max().unwrap_or(0).max(1);
        let bounds = Some(Arc::new(RangeTable::new(bounds)));
        Self { width, inverse: inverse(width), bounds, ..self }
    }

    /// Number of partitions.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Number of cells: of edges that go from one of them to one of them.
    pub fn cells(&self) -> u64 {
        u64::from(self.count) * u64::from(self.count)
    }

    /// Number of vertices that are cut.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// One past the largest number of a vertex.
    pub fn end(&self) -> u64 {
        let end = self.bounds.as_ref().and_then(|table| table.bounds().last());
        end.copied().unwrap_or(self.vertices)
    }

    /// Number of machines.
    pub fn machines(&self) -> usize {
        self.machines
    }

    /// Vertices of the largest.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// The vertices of a partition.
    pub fn range(&self, partition: u32) -> Range<u64> {
        let bound = |partition: u64| match &self.bounds {
            Some(table) => table.bounds()[partition as usize],
            None => (partition * self.width).min(self.vertices),
        };
        let end = match &self.ends {
            Some(ends) => ends[partition as usize],
            None => bound(u64::from(partition) + 1),
        };
        bound(partition.into())..end
    }

    /// The partition that has a vertex of this number, if there is one.
    pub fn find(&self, number: u64) -> Option<u32> {
        self.find_place(number).map(|(partition, _)| partition)
    }

    /// As [`Self::find`], with the place of the vertex in its partition.
    #[inline]
    pub fn find_place(&self, number: u64) -> Option<(u32, u64)> {
        let Some(table) = &self.bounds else {
            return (number < self.vertices).then(|| self.even_place(number));
        };
        let (partition, place) = table.find(number)?;
        // Numbers between the end of a partition and the begin of the next are no vertices.
        let is_inside = self.ends.as_ref().is_none_or(|ends| number < ends[partition]);
        is_inside.then_some((partition as u32, place))
    }

    /// The partition of a vertex and its place there, where all partitions are even. A product is
    /// in the place of a division, which takes several times as long.
    #[inline]
    fn even_place(&self, vertex: u64) -> (u32, u64) {
        // The quotient, or one less: `inverse` is too small by one at most.
        let quotient = ((u128::from(vertex) * u128::from(self.inverse)) >> 64) as u64;
        let place = vertex - quotient * self.width;
        if place < self.width {
            (quotient as u32, place)
        } else {
            ((quotient + 1) as u32, place - self.width)
        }
    }

    /// The partition of a vertex. Of a number that is none it may be any, or beyond the last.
    pub fn of(&self, vertex: u64) -> u32 {
        match &self.bounds {
            Some(table) => table.find(vertex).map_or(self.count, |(partition, _)| partition as u32),
            None => self.even_place(vertex).0,
        }
    }

    /// The partition of a vertex, and its place there.
    pub fn place(&self, vertex: u64) -> (u32, u64) {
        let partition = self.of(vertex);
        (partition, vertex - self.range(partition).start)
    }

    /// Sum over the bounds of partitions that are not even; 0 of those that are.
    pub fn bounds_hash(&self) -> u64 {
        let bounds = self.bounds.iter().flat_map(|table| table.bounds());
        let ends = self.ends.iter().flat_map(|ends| ends.iter());
        let bytes: Vec<u8> = bounds.chain(ends).flat_map(|bound| bound.to_le_bytes()).collect();
        if bytes.is_empty() { 0 } else { checksum(&bytes) }
    }

    /// The machine whose computation engine applies.
    pub fn master(&self, partition: u32) -> Rank {
        partition as usize % self.machines
    }

    /// The partitions of which a machine is the master.
    pub fn of_master(&self, rank: Rank) -> impl Iterator<Item = u32> + use<> {
        (rank as u32..self.count).step_by(self.machines)
    }
}

/// The inverse of a width, as [`Partitions`] has it.
fn inverse(width: u64) -> u64 {
    u64::MAX / width.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_smallest_multiple_whose_vertex_sets_fit() {
        let count = |machines, vertices, memory| {
            Partitions::fitting(machines, vertices, 8, memory).map(|cut| cut.count())
        };
        assert_eq!(count(4, 100, 1 << 20), Some(4));
        assert_eq!(count(4, 100, 200), Some(4), "25 vertices of 8 bytes fit exactly");
        assert_eq!(count(4, 101, 200), Some(8));
        assert_eq!(count(3, 100, 8), Some(102));
        assert_eq!(count(3, 100, 7), None);
        assert_eq!(count(5, 0, 8), Some(5));
    }

    /// Ranges that lie side by side and have all vertices, each with its own.
    fn check(cut: &Partitions) {
        let mut next = 0;
        for partition in 0..cut.count() {
            let range = cut.range(partition);
            assert_eq!(range.start, next.min(cut.vertices()));
            assert!(range.end - range.start <= cut.width());
            for vertex in range.clone() {
                assert_eq!(cut.place(vertex), (partition, vertex - range.start));
            }
            next = range.end;
        }
        assert_eq!(next, cut.vertices());
    }

    #[test]
    fn every_vertex_is_in_one_partition_and_no_smaller_multiple_does() {
        for machines in 1..6 {
            for vertices in 0..60 {
                for fit in 1..20 {
                    let cut = Partitions::fitting(machines, vertices, 1, fit).unwrap();
                    assert!(cut.width() <= fit);
                    check(&cut);
                    let fewer = u64::from(cut.count()) - machines as u64;
                    assert!(fewer == 0 || vertices.div_ceil(fewer) > fit);
                    let mut owned: Vec<u32> =
                        (0..machines).flat_map(|rank| cut.of_master(rank)).collect();
                    owned.sort_unstable();
                    assert_eq!(owned, (0..cut.count()).collect::<Vec<_>>());
                    assert_eq!(cut.of_master(0).count(), cut.count() as usize / machines);
                }
            }
        }
    }

    /// A trillion vertices of 16 bytes on 32 machines of 32 GiB, and bounds at 32 bits and beside.
    #[test]
    fn vertices_beyond_32_bits_have_places_of_32() {
        let even = Partitions::fitting(32, 1 << 40, 16, 1 << 35).unwrap();
        assert_eq!((even.count(), even.width()), (512, 1 << 31));
        let mut weights = Weights::new(1 << 40);
        for vertex in [0, 1, u64::from(u32::MAX), 1 << 32, (1 << 40) - 1] {
            for _ in 0..1000 {
                weights.count(vertex);
            }
        }
        let by_edges = even.clone().weighed(&weights, 1 << 32);
        for (cut, width) in [(&even, 1 << 31), (&by_edges, 1 << 32)] {
            assert!(cut.width() <= width);
            let near = |at: u64| [at.saturating_sub(1), at, (at + 1).min((1 << 40) - 1)];
            let bounds = (0..cut.count()).flat_map(|partition| near(cut.range(partition).start));
            let others = [1 << 31, 1 << 32, 1 << 33, (1 << 40) - 1].into_iter().flat_map(near);
            for vertex in bounds.chain(others) {
                let (partition, place) = cut.place(vertex);
                assert!(cut.range(partition).contains(&vertex), "{vertex} in {partition}");
                assert_eq!(cut.range(partition).start + place, vertex);
                assert!(u32::try_from(place).is_ok(), "{vertex} at {place}");
            }
            assert_eq!(cut.range(cut.count() - 1).end, 1 << 40);
        }
    }

    #[test]
    fn even_partitions_are_told_as_by_a_division() {
        let random = &mut Random::new(8);
        for bits in 0..62 {
            let most = 1_u64 << bits;
            for width in [1, most.div_ceil(3), most - most / 7, most, 1 + random.below(most)] {
                // As many partitions as numbers of 32 bits tell.
                let vertices = width.saturating_mul(1 << 20).min(1 << 62);
                let even = Partitions::fitting(1, vertices, 1, width).unwrap();
                let width = even.width();
                let near = |at: u64| [at.saturating_sub(1), at, at.saturating_add(1)];
                let bounds =
                    [0, width, 2 * width, vertices / width * width, vertices, vertices / 2];
                let others = [random.below(vertices), random.below(vertices)];
                for number in bounds.into_iter().flat_map(near).chain(others) {
                    let expected = ((number / width) as u32, number % width);
                    let expected = (number < vertices).then_some(expected);
                    assert_eq!(even.find_place(number), expected, "{number} by {width}");
                }
            }
        }
    }

    #[test]
    fn every_vertex_is_in_one_partition_that_fits_whatever_the_weights() {
        let random = &mut Random::new(1);
        for _ in 0..2000 {
            let (machines, vertices) = (1 + random.below(5) as usize, random.below(60));
            let (fit, widest) = (1 + random.below(20), random.below(40));
            let mut weights = Weights::within(vertices, 1 + random.below(30));
            for _ in 0..random.below(200) * vertices.min(1) {
                let one = random.below(vertices);
                weights.count(if random.chance(500) { random.below(one + 1) } else { one });
            }
            let even = Partitions::fitting(machines, vertices, 1, fit).unwrap();
            let cut = even.clone().weighed(&weights, widest);
            check(&cut);
            assert!(cut.width() <= even.width().max(widest));
            assert_eq!(cut.count(), even.count());
            assert_ne!(cut.bounds_hash(), 0);
        }
    }

    #[test]
    fn numbers_between_ranges_are_in_no_partition() {
        const WIDE: u64 = 1 << 32;
        let random = &mut Random::new(2);
        for _ in 0..500 {
            let (machines, mut next) = (1 + random.below(3) as usize, random.below(2) * WIDE);
            let ranges: Vec<Range<u64>> = (0..machines as u64 * (1 + random.below(3)))
                .map(|_| {
                    let start = next + random.below(2) * random.below(WIDE + 3);
                    next = start + random.below(6);
                    start..next
                })
                .collect();
            let cut = Partitions::of_ranges(machines, &ranges).unwrap();
            assert_eq!(cut.end(), next);
            let all: Vec<u64> = ranges.iter().cloned().flatten().collect();
            assert_eq!(cut.vertices(), all.len() as u64);
            for (partition, range) in (0..).zip(&ranges) {
                assert_eq!(&cut.range(partition), range);
                for number in range.start.saturating_sub(2)..range.end + 2 {
                    let found = cut.find(number);
                    assert_eq!(found.is_some(), all.binary_search(&number).is_ok(), "{number}");
                    assert!(found.is_none_or(|found| ranges[found as usize].contains(&number)));
                }
                for number in range.clone() {
                    assert_eq!(cut.place(number), (partition, number - range.start));
                }
            }
        }
        for (machines, ranges) in
            [(2, vec![(0, 1)]), (1, vec![]), (0, vec![(0, 1)]), (2, vec![(3, 5), (4, 9)])]
        {
            let ranges: Vec<Range<u64>> = ranges.into_iter().map(|(from, to)| from..to).collect();
            assert_eq!(Partitions::of_ranges(machines, &ranges), None);
        }
    }
}
