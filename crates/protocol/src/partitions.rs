//! Streaming partitions: ranges of consecutive vertices, one of which fits in memory (Chaos,
//! section 3).
//!
//! ```text
//! P = min { k m : k >= 1, ceil(V / (k m)) * bytes of a vertex <= memory }      m machines
//! partition p = vertices [p w, (p + 1) w), w = ceil(V / P)      master of p = machine p mod m
//! ```
//!
//! **Invariant:** each vertex is in one partition, which fits, and each machine is the master of as
//! many as any other:
//!
//! ```text
//! for all v < V:   { p : v in partition p } = { v / w }
//! for all p:       |partition p| <= w  and  w * bytes of a vertex <= memory
//! for all r < m:   |{ p : master of p = r }| = P / m
//! ```
//!
//! Tested by `every_vertex_is_in_one_partition_and_no_smaller_multiple_does`.

use std::ops::Range;

use crate::names::Rank;

/// How the vertices of a graph are cut.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitions {
    machines: usize,
    vertices: u64,
    count: u32,
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
        Some(Self { machines, vertices, count })
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// How many cells there are: of edges that go from one of them to one of them.
    pub fn cells(&self) -> u64 {
        u64::from(self.count) * u64::from(self.count)
    }

    /// How many vertices are cut.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Number of machines.
    pub fn machines(&self) -> usize {
        self.machines
    }

    /// Vertices of the largest.
    pub fn width(&self) -> u64 {
        self.vertices.div_ceil(u64::from(self.count)).max(1)
    }

    /// The vertices of a partition.
    pub fn range(&self, partition: u32) -> Range<u64> {
        let start = (u64::from(partition) * self.width()).min(self.vertices);
        start..(start + self.width()).min(self.vertices)
    }

    /// The partition of a vertex.
    pub fn of(&self, vertex: u64) -> u32 {
        (vertex / self.width()) as u32
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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn every_vertex_is_in_one_partition_and_no_smaller_multiple_does() {
        for machines in 1..6 {
            for vertices in 0..60 {
                for fit in 1..20 {
                    let cut = Partitions::fitting(machines, vertices, 1, fit).unwrap();
                    assert!(cut.width() <= fit);
                    let mut next = 0;
                    for partition in 0..cut.count() {
                        let range = cut.range(partition);
                        assert_eq!(range.start, next.min(vertices));
                        assert!(range.clone().all(|vertex| cut.of(vertex) == partition));
                        next = range.end;
                    }
                    assert_eq!(next, vertices);
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
}
