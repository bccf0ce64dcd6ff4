//! Stripes of sub-ranges: so few vertices of one sub-range that their accumulators stay in a cache
//! while edges that lead to them are streamed.
//!
//! **Invariant:** a stripe is a part of one sub-range, and each vertex is in one stripe. Tested by
//! `stripes_are_parts_of_one_sub_range`.

use std::ops::Range;

use welter_protocol::partitions::Partitions;
use welter_protocol::ranges::RangeTable;

/// Stripes of all sub-ranges together, about, at most: each has edges that wait for their chunk.
const STRIPES_MAX: u64 = 1 << 10;

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
