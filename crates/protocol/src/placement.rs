//! Placement of chunks.
//!
//! ```text
//! edges, updates   Random:    engine ~ uniform over all m             (Chaos, section 6.3)
//!                  Weighted:  engine ~ proportional to its bandwidth
//!                  Owner:     engine = master of the partition
//!                  Even:      engine = argmin over e of bytes that this machine sent to e
//! vertices         engine = (hash(partition) + chunk) mod m           (Chaos, section 6.4: a hash)
//! mirrors          one machine further
//! ```
//!
//! Of edges and updates only the engine that has a chunk knows where it is: no directory. Pulls
//! therefore name a partition, and never a chunk. (But for [`Placement::Directory`], an ablation.)
//!
//! Disks that were drawn have unequal shares: of `n` chunks a disk has `n / m`, give or take
//! `sqrt(n / m)`, and the fullest one of many is at work when all others rest. Each machine can
//! level what it sends itself, without a word to another: then shares differ by a chunk a machine.
//!
//! Chunks of a vertex set are dealt out in turn, from a machine on that a hash says: engines wait
//! for all of one, so the fullest disk is what counts, and a hash would fill one of 32 by half
//! more than the mean where a disk has twenty.
//!
//! Random placement needs a network that is faster than storage. Where it is not, owner placement
//! keeps reads local, at the price of storage that is idle when its owner is.

use crate::ids::Rank;
use crate::partitions::Partitions;
use crate::random::{Random, mix};

/// Rule by which the engine of a chunk of edges or updates is chosen.
///
/// ```
/// use welter_protocol::partitions::Partitions;
/// use welter_protocol::placement::Placement;
/// use welter_protocol::random::Random;
///
/// let cut = Partitions::fitting(3, 300, 8, 800).ok_or("no vertex fits")?;
/// let mut random = Random::new(1);
/// // No chunk of edges goes to a machine without storage; bandwidth of 2 gets twice as many as 1.
/// let weighted = Placement::Weighted(vec![0, 1, 2]);
/// let mut chunks = [0; 3];
/// for _ in 0..3000 {
///     chunks[weighted.engine(&cut, 0, &[0; 3], &mut random)] += 1;
/// }
/// assert_eq!(chunks[0], 0);
/// assert!((1900..2100).contains(&chunks[2]), "{chunks:?}");
/// // The remainder on all engines is estimated from the remainder on one, or on those that told.
/// assert_eq!(weighted.remaining([(2, 20)], 3), 30);
/// assert_eq!(weighted.remaining([(2, 20), (1, 4)], 3), 24);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Uniformly at random.
    Random,
    /// At random in proportion to these weights, one a machine, not all 0.
    Weighted(Vec<u32>),
    /// The machine of the master.
    Owner,
    /// At the engine that this machine has sent the fewest bytes to; of several, at random.
    Even,
    /// Where a central directory says, which also says who has what. For comparison.
    Directory,
}

impl Placement {
    /// The engine for a new chunk of a partition, by a machine with the bytes that it has sent to
    /// each.
    pub fn engine(
        &self,
        partitions: &Partitions,
        partition: u32,
        sent: &[u64],
        random: &mut Random,
    ) -> Rank {
        match self {
            Self::Random | Self::Directory => random.below(partitions.machines() as u64) as Rank,
            Self::Even => fewest(sent, random),
            Self::Owner => partitions.master(partition),
            Self::Weighted(weights) => {
                let all = weights.iter().map(|&weight| u64::from(weight)).sum();
                let mut at = random.below(all);
                let chosen = weights.iter().position(|&weight| {
                    let here = at < u64::from(weight);
                    at = at.saturating_sub(u64::from(weight));
                    here
                });
                chosen.unwrap_or(0)
            }
        }
    }

    /// `D` of the steal criterion: bytes that remain of a partition on all engines, guessed from
    /// those that remain on some, each named once.
    ///
    /// ```text
    /// D = known * (weight of all engines) / (weight of those that are known)
    /// ```
    pub fn remaining(&self, known: impl IntoIterator<Item = (Rank, u64)>, machines: usize) -> u64 {
        let weight = |rank: Rank| match self {
            Self::Random | Self::Even | Self::Directory => 1,
            // All that there is lies at one.
            Self::Owner => 0,
            Self::Weighted(weights) => u64::from(weights[rank]),
        };
        let known = known.into_iter().map(|(rank, bytes)| (bytes, weight(rank)));
        let (bytes, of) = known.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let all: u64 = (0..machines).map(weight).sum();
        let guess = u128::from(bytes) * u128::from(all.max(1)) / u128::from(of.max(1));
        u64::try_from(guess).unwrap_or(u64::MAX)
    }
}

/// One of those with the least number, at random.
fn fewest(numbers: &[u64], random: &mut Random) -> Rank {
    let least = numbers.iter().min();
    let those: Vec<Rank> = (0..numbers.len()).filter(|&rank| numbers.get(rank) == least).collect();
    those.get(random.below(those.len().max(1) as u64) as usize).copied().unwrap_or(0)
}

/// The engine of a chunk of a vertex set.
pub fn vertex_engine(machines: usize, partition: u32, chunk: u64) -> Rank {
    let machines = machines as u64;
    ((mix(mix(u64::from(partition) + 1)) % machines + chunk % machines) % machines) as Rank
}

/// Machine that keeps the mirror of the blocks at `rank`.
pub fn mirror(machines: usize, rank: Rank) -> Rank {
    (rank + 1) % machines
}

/// Machine of which `rank` keeps the mirror.
pub fn mirrored(machines: usize, rank: Rank) -> Rank {
    (rank + machines - 1) % machines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(placement: &Placement, machines: usize) -> Vec<f64> {
        let partitions = Partitions::fitting(machines, 100, 1, 100).unwrap();
        let mut random = Random::new(5);
        let mut counts = vec![0.0; machines];
        for _ in 0..10_000 {
            counts[placement.engine(&partitions, 2, &vec![0; machines], &mut random)] += 1e-4;
        }
        counts
    }

    #[test]
    fn chunks_lie_as_the_policy_says() {
        for share in shares(&Placement::Random, 5) {
            assert!((share - 0.2).abs() < 0.02, "{share}");
        }
        let weighted = shares(&Placement::Weighted(vec![0, 1, 3]), 3);
        assert!(weighted[0] == 0.0 && (weighted[2] - 0.75).abs() < 0.02, "{weighted:?}");
        assert!((shares(&Placement::Owner, 3)[2] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn even_shares_differ_by_a_chunk_at_most() {
        let partitions = Partitions::fitting(5, 100, 1, 100).unwrap();
        let mut random = Random::new(5);
        let mut sent = [0; 5];
        let mut order = Vec::new();
        for _ in 0..1000 {
            let engine = Placement::Even.engine(&partitions, 2, &sent, &mut random);
            order.push(engine);
            sent[engine] += 1 + random.below(9);
            let [least, most] = [sent.iter().min(), sent.iter().max()].map(|one| *one.unwrap());
            assert!(most - least < 10, "{sent:?}");
        }
        // No round of engines comes again and again.
        assert!(order.chunks(5).any(|five| five != &order[..5]));
    }

    #[test]
    fn the_guess_of_what_remains_undoes_the_placement() {
        // (placement, known, machines) -> D
        type Case<'a> = (Placement, &'a [(Rank, u64)], usize, u64);
        let weighted = |weights: &[u32]| Placement::Weighted(weights.to_vec());
        let cases: &[Case<'_>] = &[
            (Placement::Random, &[(0, 10)], 4, 40),
            (Placement::Directory, &[(0, 10)], 4, 40),
            (Placement::Even, &[(0, 10)], 4, 40),
            (Placement::Owner, &[(0, 10)], 4, 10),
            (Placement::Owner, &[(0, 10), (1, 0)], 4, 10),
            (weighted(&[1, 3]), &[(1, 30)], 2, 40),
            (weighted(&[0, 3]), &[(0, 0)], 2, 0),
            // One's own disk is empty, and two have reported.
            (Placement::Random, &[(0, 0), (1, 10), (2, 20)], 4, 40),
            (Placement::Random, &[(0, 0), (1, 10), (2, 20), (3, 0)], 4, 30),
            (Placement::Random, &[(0, 0), (1, 0)], 4, 0),
            (weighted(&[1, 3, 2]), &[(0, 0), (2, 6)], 3, 12),
            (weighted(&[0, 3, 1]), &[(0, 0), (2, 5)], 3, 20),
            (Placement::Random, &[(0, u64::MAX / 2)], 4, u64::MAX),
            (Placement::Random, &[], 4, 0),
        ];
        for (placement, known, machines, expected) in cases {
            let found = placement.remaining(known.iter().copied(), *machines);
            assert_eq!(found, *expected, "{placement:?}, {known:?} of {machines}");
        }
    }

    #[test]
    fn vertex_chunks_are_dealt_out_in_turn_and_mirrors_lie_elsewhere() {
        // (machines, partitions, chunks): no disk has two more of a set.
        for (machines, partitions, chunks) in [(1, 3, 2), (4, 40, 25), (5, 7, 1), (32, 32, 128)] {
            for partition in 0..partitions {
                let mut counts = vec![0_u32; machines];
                for chunk in 0..chunks {
                    counts[vertex_engine(machines, partition, chunk)] += 1;
                }
                let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
                assert!(spread <= 1, "{counts:?}");
            }
        }
        // Sets of one chunk lie anywhere.
        let mut firsts = [0; 4];
        (0..1000).for_each(|partition| firsts[vertex_engine(4, partition, 0)] += 1);
        assert!(firsts.iter().all(|count| (200..300).contains(count)), "{firsts:?}");
        assert!(vertex_engine(3, u32::MAX, u64::MAX) < 3, "nothing overflows");
        for machines in 2..6 {
            for rank in 0..machines {
                assert_ne!(mirror(machines, rank), rank);
                assert_eq!(mirrored(machines, mirror(machines, rank)), rank);
            }
        }
    }
}
