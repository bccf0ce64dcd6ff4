//! Weights of vertices, by ranges of them: how many edges there are where, so that partitions can
//! have about as many each.
//!
//! Each machine counts the edges of its share of the input, and sums over machines say the same
//! whatever share had which:
//!
//! ```text
//! range(v)  = v / g          g = ceil(V / ranges), 2^16 ranges at most unless more are asked for
//! weight    = edges counted at vertices of the range + vertices of the range
//! ```
//!
//! A vertex counts as an edge does, because its value is loaded, and applied: else vertices without
//! edges would all be in one partition.
//!
//! Bounds are found from the first partition on. Each takes the number of ranges that brings its
//! weight as near as can be to an even share of what is left:
//!
//! ```text
//! bound(p + 1) = the end of a range, or where memory ends, nearest to
//!                before(bound(p)) + (all - before(bound(p))) / (P - p)
//! ```
//!
//! **Invariant:** bounds are those of the sum alone: neither the order of edges nor who counted
//! them makes a difference. Tested by `who_counts_makes_no_difference`.
//! **Invariant:** a partition weighs at most twice the mean, or has a single range, or another has
//! as many vertices as fit. Tested by `partitions_weigh_the_same`.

/// Ranges of which edges are counted, at most.
pub const RANGES_MAX: u64 = 1 << 16;

/// Weights of ranges of vertices.
///
/// ```
/// use welter_protocol::weights::Weights;
///
/// let mut weights = Weights::new(8);
/// [0, 0, 0, 0, 0, 0, 1, 1].into_iter().for_each(|vertex| weights.count(vertex));
/// assert_eq!(weights.cut(2, 8), [0, 1, 8], "7 at vertex 0, and 9 at all others");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weights {
    vertices: u64,
    /// Vertices of a range.
    width: u64,
    counts: Vec<u64>,
}

impl Weights {
    /// Weights of `vertices` vertices, at which no edge was counted.
    pub fn new(vertices: u64) -> Self {
        Self::within(vertices, RANGES_MAX)
    }

    /// Weights in at most `ranges` ranges.
    pub fn within(vertices: u64, ranges: u64) -> Self {
        let width = vertices.div_ceil(ranges.max(1)).max(1);
        let count = vertices.div_ceil(width) as usize;
        Self { vertices, width, counts: vec![0; count] }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Counts an edge at a vertex.
    pub fn count(&mut self, vertex: u64) {
        self.counts[(vertex / self.width) as usize] += 1;
    }

    /// Adds what another machine has counted of the same vertices.
    ///
    /// # Panics
    /// Ranges that differ from those of the other.
    pub fn add(&mut self, other: &Self) {
        assert_eq!((self.vertices, self.width), (other.vertices, other.width), "other ranges");
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more);
        }
    }

    /// Weights of as many vertices, in as many ranges, at which no edge was counted.
    #[must_use]
    pub fn empty(&self) -> Self {
        Self { counts: vec![0; self.counts.len()], ..*self }
    }

    /// Adds the counts of a sample, each of whose edges stands for `times` of them.
    ///
    /// # Panics
    /// As of [`Self::add`].
    pub fn add_times(&mut self, sample: &Self, times: u64) {
        assert_eq!((self.vertices, self.width), (sample.vertices, sample.width), "other ranges");
        for (count, more) in self.counts.iter_mut().zip(&sample.counts) {
            *count = count.saturating_add(more.saturating_mul(times));
        }
    }

    /// Edges that were counted in each range.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Adds counts of another machine, as [`Self::add`], if they are of as many ranges.
    #[must_use]
    pub fn add_counts(&mut self, counts: &[u64]) -> bool {
        if counts.len() != self.counts.len() {
            return false;
        }
        for (count, more) in self.counts.iter_mut().zip(counts) {
            *count = count.saturating_add(*more);
        }
        true
    }

    /// Weights that are known beforehand: so much before each vertex that is asked for.
    pub fn of(vertices: u64, ranges: u64, before: impl Fn(u64) -> u64) -> Self {
        let mut weights = Self::within(vertices, ranges);
        let width = weights.width;
        for (range, count) in (0..).zip(&mut weights.counts) {
            let end = (width * (range + 1)).min(vertices);
            *count = before(end).saturating_sub(before(width * range));
        }
        weights
    }

    /// The first vertices of `partitions` partitions, and the end of the last: of as much weight as
    /// can be, and of at most `widest` vertices, where all of them together can be so.
    pub fn cut(&self, partitions: u32, widest: u64) -> Vec<u64> {
        let before = self.before();
        let at = |vertex: u64| {
            let range = (vertex / self.width) as usize;
            let (first, within) = (range as u64 * self.width, u128::from(vertex % self.width));
            let Some(next) = before.get(range + 1) else { return before[range] };
            let vertices = u128::from((self.vertices - first).min(self.width));
            before[range] + (next - before[range]) * within / vertices
        };
        let all = at(self.vertices);
        let mut bounds = vec![0];
        let mut start = 0;
        for left in (1..=partitions).rev() {
            let wanted = at(start) + (all - at(start)) / u128::from(left);
            let above = before.partition_point(|&weight| weight < wanted);
            let nearer = |one: usize| wanted - before[one] <= before[above] - wanted;
            let range = above - usize::from(above > 0 && nearer(above - 1));
            // One range at least, and enough that all others have room.
            let end = (range as u64 * self.width).max((start / self.width + 1) * self.width);
            let others = u64::from(left - 1).saturating_mul(widest);
            let least = self.vertices.saturating_sub(others);
            let most = start.saturating_add(widest).min(self.vertices);
            start = end.clamp(least.min(most), most);
            bounds.push(start);
        }
        bounds
    }

    /// Weight before each range, and that of all.
    fn before(&self) -> Vec<u128> {
        let mut sums = vec![0];
        let mut sum = 0;
        for (range, &count) in (0..).zip(&self.counts) {
            let first = range * self.width;
            let vertices = (self.vertices - first).min(self.width);
            sum += u128::from(count) + u128::from(vertices);
            sums.push(sum);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn who_counts_makes_no_difference() {
        let random = &mut Random::new(1);
        let mut all = Weights::within(1000, 64);
        let mut each = vec![all.clone(); 3];
        for _ in 0..5000 {
            let most = 1 + random.below(1000);
            let vertex = random.below(most);
            all.count(vertex);
            each[random.below(3) as usize].count(vertex);
        }
        let mut sum = each.pop().unwrap();
        let (last, others) = each.split_last().unwrap();
        others.iter().rev().for_each(|one| sum.add(one));
        assert!(sum.add_counts(last.counts()) && !sum.add_counts(&[1]));
        assert_eq!(sum, all);
        assert_eq!(sum.cut(7, 1000), all.cut(7, 1000));
    }

    #[test]
    fn partitions_weigh_the_same() {
        // A vertex has twice the edges of the next 16.
        let degree = |vertex: u64| 1_000_000 >> (vertex / 16).min(20);
        let before = |end: u64| (0..end).map(degree).sum();
        let weights = Weights::of(1024, 1024, before);
        let weight = |ends: &[u64]| before(ends[1]) - before(ends[0]) + ends[1] - ends[0];
        let all = weight(&[0, 1024]);
        for partitions in [1, 2, 3, 8, 13] {
            let bounds = weights.cut(partitions, 1024);
            let most = bounds.windows(2).map(weight).max().unwrap();
            assert!(most < 2 * all / u64::from(partitions), "{bounds:?}: {most} of {all}");
        }
        // Where no partition may be wider than the mean, all are even.
        assert_eq!(weights.cut(4, 256), [0, 256, 512, 768, 1024]);
        // A range that has more than its share is one of its own.
        let weights = Weights::of(10, 10, |end| if end > 3 { 100 } else { 0 });
        assert_eq!(weights.cut(4, 10), [0, 3, 4, 7, 10]);
    }

    #[test]
    fn few_vertices_are_dealt_out_too() {
        assert_eq!(Weights::new(0).cut(3, 1), [0; 4]);
        assert_eq!(Weights::new(2).cut(3, 1), [0, 1, 2, 2]);
        assert_eq!(Weights::new(5).cut(1, 2), [0, 2], "there is no room, whatever is done");
    }
}
