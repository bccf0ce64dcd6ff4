//! Records dealt out to partitions by shares, and cut into chunks.
//!
//! ```text
//! due(p)   = records * share(p) - dealt(p)          in parts of 2^32, 0 <= due < 1
//! sum of dealt(p) + sum of due(p) = records
//! ```
//!
//! **Invariant:** what [`Dealer::rest`] hands out makes the sum of all records of chunks that of
//! all that was dealt. Asserted in `Dealer::rest`. Tested by `nothing_is_lost_or_made_up`.

use welter_protocol::partitions::Partitions;
use welter_protocol::weights::{RANGES_MAX, Weights};

/// Spread of the ends of edges over ids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Evenly.
    Even,
    /// As in an R-MAT graph of which this share of all ends is in the lower half of the ids, and so
    /// on in each half.
    RMat(f64),
    /// As in such a graph whose vertices are numbered without those that have no edge.
    Dense(RMat),
}

impl Spread {
    /// The parameters of Graph500 (0.57, 0.19, 0.19, 0.05): 0.57 + 0.19, of sources and targets.
    pub const GRAPH500: Self = Self::RMat(0.76);
}

/// An R-MAT graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RMat {
    /// Share of all ends in the lower half of the ids, and so on in each half.
    pub low: f64,
    /// Binary logarithm of the number of ids.
    pub scale: u32,
    /// Edges of an id, on average.
    pub degree: f64,
}

impl RMat {
    /// Number of vertices that have an edge, as expected. `2 E` ends are dealt out:
    ///
    /// ```text
    /// sum over j of C(scale, j) (1 - exp(-2 E low^(scale - j) (1 - low)^j))
    /// ```
    pub fn vertices(&self) -> f64 {
        self.within(self.scale, 0)
    }

    /// Number of vertices with an edge whose ids begin with bits of which `ones` are ones, and have
    /// `bits_left` more.
    fn within(&self, bits_left: u32, ones: u32) -> f64 {
        let Self { low, scale, degree } = *self;
        let ends = 2.0 * degree * f64::from(scale).exp2();
        let (mut ids, mut sum) = (1.0, 0.0);
        for more in 0..=bits_left {
            let [ones, zeros] = [ones + more, scale - ones - more].map(f64::from);
            let expected = ends * low.powf(zeros) * (1.0 - low).powf(ones);
            sum -= ids * (-expected).exp_m1();
            ids *= f64::from(bits_left - more) / f64::from(more + 1);
        }
        sum
    }

    /// Share of ends that lie below a fraction of the vertices with edges.
    fn below(&self, fraction: f64) -> f64 {
        let (mut left, mut ones, mut share, mut sum) = (fraction * self.vertices(), 0, 1.0, 0.0);
        for bits_left in (0..self.scale).rev() {
            let lower = self.within(bits_left, ones);
            if left < lower {
                share *= self.low;
            } else {
                sum += share * self.low;
                share *= 1.0 - self.low;
                left -= lower;
                ones += 1;
            }
        }
        sum
    }
}

/// Sum of all shares.
const WHOLE: u64 = 1 << 32;

/// Share of ends of edges that lie below a fraction of all ids.
fn below(spread: Spread, fraction: f64) -> f64 {
    let low = match spread {
        _ if fraction >= 1.0 => return 1.0,
        Spread::Even => return fraction,
        Spread::Dense(graph) => return graph.below(fraction),
        Spread::RMat(low) => low,
    };
    let (mut fraction, mut scale, mut sum) = (fraction, 1.0, 0.0);
    for _ in 0..50 {
        fraction *= 2.0;
        if fraction < 1.0 {
            scale *= low;
        } else {
            sum += scale * low;
            scale *= 1.0 - low;
            fraction -= 1.0;
        }
    }
    sum
}

/// Share of each partition, in parts of [`WHOLE`].
pub(super) fn shares(partitions: &Partitions, spread: Spread) -> Vec<u64> {
    let vertices = partitions.vertices().max(1) as f64;
    let before = |vertex: u64| (below(spread, vertex as f64 / vertices) * WHOLE as f64) as u64;
    let share = |partition| {
        let range = partitions.range(partition);
        before(range.end) - before(range.start)
    };
    (0..partitions.count()).map(share).collect()
}

/// Weights of vertices at which `edges` edges are counted.
pub fn weights(vertices: u64, edges: u64, spread: Spread) -> Weights {
    let before = |vertex: u64| below(spread, vertex as f64 / vertices.max(1) as f64);
    Weights::of(vertices, RANGES_MAX, |vertex| (before(vertex) * edges as f64) as u64)
}

/// Shares of cells, row by row, in parts of [`WHOLE`]: products of those of their partitions.
pub(super) fn products(shares: &[u64]) -> Vec<u64> {
    // Rounded so that those of a row make up its share.
    let row = |&row: &u64| {
        let mut before = (0, 0);
        let cell = move |&share: &u64| {
            let sum = before.0 + share;
            let product = (u128::from(row) * u128::from(sum) / u128::from(WHOLE)) as u64;
            let cell = product - before.1;
            before = (sum, product);
            cell
        };
        shares.iter().map(cell).collect::<Vec<_>>()
    };
    shares.iter().flat_map(row).collect()
}

/// Records that wait to be a chunk, by partition or cell.
pub(super) struct Dealer {
    shares: Vec<u64>,
    due: Vec<u64>,
    bins: Vec<u64>,
    /// Records of which it is not said yet where they go.
    left: u64,
}

impl Dealer {
    pub(super) fn new(shares: Vec<u64>) -> Self {
        let empty = vec![0; shares.len()];
        Self { shares, due: empty.clone(), bins: empty, left: 0 }
    }

    /// Share of a place.
    pub(super) fn share(&self, place: u32) -> f64 {
        self.shares[place as usize] as f64 / WHOLE as f64
    }

    pub(super) fn clear(&mut self) {
        self.due.fill(0);
        self.bins.fill(0);
        self.left = 0;
    }

    /// Deals records out; chunks of `chunk` records that are full, with their partitions.
    pub(super) fn deal(&mut self, records: u64, chunk: u64) -> Vec<(u32, u64)> {
        let mut full = Vec::new();
        self.left += records;
        for (place, share) in self.shares.iter().enumerate() {
            let due = self.due[place] + records * share;
            self.due[place] = due % WHOLE;
            self.left -= due / WHOLE;
            self.bins[place] += due / WHOLE;
            while self.bins[place] >= chunk.max(1) {
                self.bins[place] -= chunk.max(1);
                full.push((place as u32, chunk.max(1)));
            }
        }
        full
    }

    /// Counts that wait; what is left goes to where most is due.
    pub(super) fn rest(&mut self) -> Vec<(u32, u64)> {
        let mut places: Vec<usize> = (0..self.due.len()).collect();
        assert!(self.left <= places.len() as u64, "less than a record is due to each place");
        places.sort_by_key(|&place| std::cmp::Reverse(self.due[place]));
        for &place in places.iter().take(self.left as usize) {
            self.bins[place] += 1;
        }
        self.due.fill(0);
        self.left = 0;
        let bins = self.bins.iter_mut().enumerate();
        let rest = bins.map(|(place, bin)| (place as u32, std::mem::take(bin)));
        rest.filter(|(_, records)| *records > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_and_those_of_rmat() {
        for (machines, vertices) in [(1, 1), (3, 100), (4, 1 << 20), (32, 1 << 20), (7, 13)] {
            let partitions = Partitions::fitting(machines, vertices, 1, u64::MAX >> 8).unwrap();
            let graph = RMat { low: 0.76, scale: 20, degree: 16.0 };
            for spread in [Spread::Even, Spread::GRAPH500, Spread::Dense(graph)] {
                assert_eq!(shares(&partitions, spread).iter().sum::<u64>(), WHOLE);
            }
        }
        let four = Partitions::fitting(4, 1 << 20, 1, 1 << 20).unwrap();
        let part = |share: &u64| (100.0 * *share as f64 / WHOLE as f64).round() as u64;
        let found: Vec<u64> = shares(&four, Spread::GRAPH500).iter().map(part).collect();
        assert_eq!(found, [58, 18, 18, 6], "0.76 * 0.76, 0.76 * 0.24, ...");
        assert!(shares(&four, Spread::Even).iter().all(|share| part(share) == 25));
    }

    #[test]
    fn partitions_that_are_weighed_have_even_shares() {
        let graph = RMat { low: 0.76, scale: 27, degree: 16.0 };
        for spread in [Spread::GRAPH500, Spread::Dense(graph)] {
            let vertices = 1 << 20;
            let even = Partitions::fitting(8, vertices, 1, u64::MAX >> 8).unwrap();
            let largest = |cut: &Partitions| shares(cut, spread).into_iter().max().unwrap();
            let weighed = even.clone().weighed(&weights(vertices, 1 << 30, spread), vertices);
            let [even, weighed] = [&even, &weighed].map(|cut| 8.0 * largest(cut) as f64);
            assert!(even > 2.0 * WHOLE as f64, "{spread:?}");
            assert!(weighed < 1.1 * WHOLE as f64, "{spread:?}: {}", weighed / WHOLE as f64);
        }
    }

    #[test]
    fn vertices_with_edges_are_as_many_as_a_generated_graph_has() {
        let graph = RMat { low: 0.76, scale: 12, degree: 16.0 };
        let made = crate::figures::recorder::rmat(12, 1);
        let mut ends = vec![0u32; 1 << 12];
        made.pairs.iter().flatten().for_each(|&end| ends[end as usize] += 1);
        let dense: Vec<f64> = ends.into_iter().filter(|&ends| ends > 0).map(f64::from).collect();
        assert!((graph.vertices() / dense.len() as f64 - 1.0).abs() < 0.02, "{}", dense.len());
        let all: f64 = dense.iter().sum();
        for eighth in 1..8 {
            let found = dense[..dense.len() * eighth / 8].iter().sum::<f64>() / all;
            let expected = below(Spread::Dense(graph), eighth as f64 / 8.0);
            assert!((found - expected).abs() < 0.02, "{eighth}: {found}, {expected}");
        }
        assert!(below(Spread::Dense(graph), 0.0) < 1e-9);
    }

    #[test]
    fn cells_have_the_shares_of_both_their_partitions() {
        for (machines, vertices) in [(1, 1), (3, 100), (32, 1 << 20)] {
            let partitions = Partitions::fitting(machines, vertices, 1, u64::MAX >> 8).unwrap();
            let shares = shares(&partitions, Spread::GRAPH500);
            let cells = products(&shares);
            let rows = cells.chunks(shares.len()).map(|row| row.iter().sum::<u64>());
            assert_eq!(rows.collect::<Vec<_>>(), shares);
        }
        assert_eq!(products(&[WHOLE / 4, WHOLE / 4 * 3]), [1, 3, 3, 9].map(|part| part << 28));
    }

    #[test]
    fn nothing_is_lost_or_made_up() {
        let partitions = Partitions::fitting(5, 1000, 1, 1000).unwrap();
        let mut dealer = Dealer::new(shares(&partitions, Spread::GRAPH500));
        let mut sums = vec![0; 5];
        let mut all = 0;
        for round in 0..100 {
            let records = round * 7 % 31;
            all += records;
            for (place, records) in dealer.deal(records, 10) {
                assert_eq!(records, 10);
                sums[place as usize] += records;
            }
        }
        for (place, records) in dealer.rest() {
            assert!(records <= 10);
            sums[place as usize] += records;
        }
        assert_eq!(sums.iter().sum::<u64>(), all);
        assert!(sums.is_sorted_by(|left, right| left > right) || sums[0] > 2 * sums[4], "{sums:?}");
        assert!(dealer.rest().is_empty());
    }
}
