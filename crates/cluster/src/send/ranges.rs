//! Ranges of vertices that lie one behind the other: sub-ranges, and the stripes of these.
//!
//! ```text
//! sub-range   vertices of a pair of threads
//! stripe      of a sub-range, so few vertices that their accumulators stay in a cache while edges
//!             that lead to them are streamed
//! table       for every 2^k vertices the range that the first of them is in, so that a vertex is
//!             found in a step or two, where a search of the bounds took six times as long
//! ```
//!
//! **Invariant:** a vertex is found in the one range that has it. Tested by
//! `vertices_are_found_in_their_ranges`.

use std::ops::Range;

use welter_protocol::partitions::Partitions;

/// Entries of a table for each range, at most, and of all.
const ENTRIES: (u64, u64) = (64, 1 << 14);

/// Stripes of all sub-ranges together, about, at most: each has edges that wait for their chunk.
const STRIPES_MAX: u64 = 1 << 10;

/// Ranges from vertex 0 on, without gaps, of which some may be empty.
pub(super) struct RangeTable {
    /// The first vertex of each, and the end of the last.
    bounds: Vec<u64>,
    /// Vertices of an entry, as a power of two.
    bits: u32,
    /// The range of the first vertex of each entry.
    entries: Vec<u32>,
}

impl RangeTable {
    /// The ranges with these bounds, the end of the last among them.
    pub(super) fn new(bounds: Vec<u64>) -> Self {
        let vertices = bounds.last().copied().unwrap_or(0);
        let entries = (bounds.len() as u64 * ENTRIES.0).min(ENTRIES.1);
        let bits = vertices.div_ceil(entries.max(1)).max(1).next_power_of_two().trailing_zeros();
        let found = (0..vertices.div_ceil(1 << bits)).map(|entry| {
            // Of empty ranges, which begin there too, the last that does is not.
            bounds.partition_point(|&bound| bound <= entry << bits) as u32 - 1
        });
        Self { entries: found.collect(), bits, bounds }
    }

    /// The sub-ranges of a machine or a cluster.
    pub(super) fn of(cut: &Partitions) -> Self {
        let firsts = (0..cut.count()).map(|partition| cut.range(partition).start);
        Self::new(firsts.chain([cut.vertices()]).collect())
    }

    /// The range that has a vertex, and its place there; none where it is no vertex.
    #[inline]
    pub(super) fn find(&self, vertex: u64) -> Option<(usize, u64)> {
        let mut range = *self.entries.get((vertex >> self.bits) as usize)? as usize;
        while *self.bounds.get(range + 1)? <= vertex {
            range += 1;
        }
        Some((range, vertex - self.bounds[range]))
    }
}

/// A stripe of a sub-range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stripe {
    pub(super) sub_range: u32,
    pub(super) vertices: Range<u64>,
}

/// The stripes of all sub-ranges, in their order.
pub(super) struct Stripes {
    pub(super) all: Vec<Stripe>,
    table: RangeTable,
}

impl Stripes {
    /// Stripes of about `vertices` vertices, or of more where there would be many.
    pub(super) fn new(cut: &Partitions, vertices: u64) -> Self {
        let width = width(vertices, cut.vertices());
        let of = |sub_range: u32| {
            let range = cut.range(sub_range);
            let step = usize::try_from(width).unwrap_or(usize::MAX);
            let firsts = (range.start..range.end).step_by(step);
            firsts.map(move |first| {
                let vertices = first..first.saturating_add(width).min(range.end);
                Stripe { sub_range, vertices }
            })
        };
        let all: Vec<Stripe> = (0..cut.count()).flat_map(of).collect();
        let bounds = all.iter().map(|stripe| stripe.vertices.start).chain([cut.vertices()]);
        let table = RangeTable::new(bounds.collect());
        Self { all, table }
    }

    /// The stripe that has a vertex, and its place there; none where it is no vertex.
    #[inline]
    pub(super) fn find(&self, vertex: u64) -> Option<(usize, u64)> {
        self.table.find(vertex)
    }
}

/// Vertices of the stripes of a graph, where about `vertices` are wanted.
pub(super) fn width(vertices: u64, of_graph: u64) -> u64 {
    vertices.max(of_graph.div_ceil(STRIPES_MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_are_found_in_their_ranges() {
        for bounds in [
            vec![0, 1],
            vec![0, 0, 5, 5, 5, 9, 9],
            vec![0, 1, 2, 3, 1000, 1_000_000],
            vec![0, 900_000, 900_001, 900_002, 900_003, 1_000_000],
        ] {
            let table = RangeTable::new(bounds.clone());
            let vertices = bounds[bounds.len() - 1];
            let near = |bound: u64| bound.saturating_sub(2)..bound + 3;
            for vertex in bounds.iter().flat_map(|&bound| near(bound)).chain(0..2000) {
                let place = |(range, place): (usize, u64)| bounds[range] + place;
                let found = table.find(vertex);
                assert_eq!(found.map(place), Some(vertex).filter(|vertex| *vertex < vertices));
                let has = |(range, _): (usize, u64)| vertex < bounds[range + 1];
                assert!(found.is_none_or(has), "{vertex} of {bounds:?} in {found:?}");
            }
        }
        assert_eq!(RangeTable::new(Vec::new()).find(0), None);
    }

    #[test]
    fn stripes_are_parts_of_one_sub_range() {
        let cut = Partitions::of_ranges(1, &[0..10, 10..10, 10..25]).unwrap();
        let stripes = Stripes::new(&cut, 8);
        let all: Vec<_> =
            stripes.all.iter().map(|it| (it.sub_range, it.vertices.clone())).collect();
        assert_eq!(all, [(0, 0..8), (0, 8..10), (2, 10..18), (2, 18..25)]);
        assert_eq!(stripes.find(20), Some((3, 2)));
        assert_eq!(stripes.find(25), None);
        let whole = Stripes::new(&cut, u64::MAX);
        assert_eq!(whole.all.len(), 2);
        assert_eq!(width(1 << 16, 1 << 40), 1 << 30);
    }
}
