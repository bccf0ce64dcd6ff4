//! The sums that every barrier is checked against, in production too.
//!
//! ```text
//! sum(S)                      = (|S|, sum of identities of the blocks in S)
//! consumed by all computation = handed out by all storage engines
//! handed out + proven inactive = all                      of each storage engine and partition
//! updates made by scatter      = updates stored = updates gathered
//! ```
//!
//! Updates are counted by who makes them, before they are combined; by what the records that are
//! stored say that they stand for; and by who gathers these. So one that is combined twice, or
//! dropped from a buffer, is seen at the end of the scatter phase.
//!
//! ```text
//! updates(record) = 1 + those that were merged into it
//! ```
//!
//! At the end of the ingest, edges are what is made:
//!
//! ```text
//! edges read                   = records of the chunks that were sent to storage
//! those chunks, as a sum       = sum of the chunks that storage engines have
//! edges read again             = edges read first, as the manifest says      when edges were lost
//! ```
//!
//! Where edges are split, that holds of them twice: of those that were read, and of those that were
//! streamed and stored anew, which are as many.
//!
//! Where edges are rewritten, none is lost on the way from one generation to the next:
//!
//! ```text
//! edges of chunks that were streamed = kept + dropped
//! edges kept                         = records of the chunks that were sent to storage
//! those chunks, as a sum             = sum of the chunks of the new generation
//! ```
//!
//! **Invariant:** a barrier opens only if all of these hold. Checked in `Coordinator::closed`.
//! Tested by `every_sum_is_looked_at`,
//! `every_edge_that_was_read_is_on_storage` and `every_edge_that_is_rewritten_is_kept_or_dropped`.

use crate::ids::Block;

/// A set of blocks, as their number and the sum of their identities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Number of blocks.
    pub count: u64,
    /// The sum, which wraps.
    pub hash: u64,
}

impl Sum {
    /// Adds a block.
    pub fn add(&mut self, block: &Block) {
        *self = self.and(Self { count: 1, hash: block.identity() });
    }

    /// The sum of two disjoint sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let hash = self.hash.wrapping_add(other.hash);
        Self { count: self.count + other.count, hash }
    }

    /// The sum of a set.
    pub fn of<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Self {
        let mut sum = Self::default();
        blocks.into_iter().for_each(|block| sum.add(block));
        sum
    }
}

/// Sums of a computation engine in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Chunks that were streamed.
    pub consumed: Sum,
    /// Updates that were made, or edges that were read.
    pub made: u64,
    /// Updates or edges that what was stored stands for.
    pub stored: u64,
    /// Chunks of edges that were sent to storage: while the input was read, or as rewritten.
    pub ingested: Sum,
    /// Edges of the chunks that were streamed, where the program rewrites them.
    pub streamed: u64,
    /// Edges of these that are in the next generation.
    pub kept: u64,
    /// Edges of these that are not.
    pub dropped: u64,
    /// Edges of the next generation that were sent to storage.
    pub rewritten: u64,
    /// Updates that were gathered.
    pub gathered: u64,
}

/// Sums of a storage engine in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Chunks that were handed out.
    pub handed: Sum,
    /// Chunks that had no active source.
    pub inactive: Sum,
    /// Chunks of the step, handed out or not.
    pub all: Sum,
}

/// Sums that an audit found unequal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Chunks were handed out and not streamed, or streamed more than once.
    Consumed,
    /// Chunks were neither handed out nor inactive.
    LeftOut,
    /// Stored records do not stand for the updates that were made.
    Stored,
    /// Updates that were gathered are not as many as were made.
    Updates,
    /// Chunks of edges that were sent to storage are not there, or others are.
    Ingested,
    /// Edges that were streamed are neither in the next generation nor dropped.
    Rewritten,
    /// Stored chunks do not have the edges that were kept.
    Kept,
}

/// The audit of one step; returns the updates that it made. `made`: those of the scatter before,
/// when this step gathered them.
///
/// # Errors
/// The first sum that is wrong.
pub fn audit(worked: &[Worked], served: &[Served], made: Option<u64>) -> Result<u64, Finding> {
    let consumed = worked.iter().fold(Sum::default(), |sum, one| sum.and(one.consumed));
    let handed = served.iter().fold(Sum::default(), |sum, one| sum.and(one.handed));
    if consumed != handed {
        return Err(Finding::Consumed);
    }
    if served.iter().any(|one| one.handed.and(one.inactive) != one.all) {
        return Err(Finding::LeftOut);
    }
    let sum = |of: fn(&Worked) -> u64| worked.iter().map(of).sum::<u64>();
    if sum(|one| one.made) != sum(|one| one.stored) {
        return Err(Finding::Stored);
    }
    if made.is_some_and(|made| made != sum(|one| one.gathered)) {
        return Err(Finding::Updates);
    }
    Ok(sum(|one| one.made))
}

/// The audit of the ingest: `edges` are those of all storage engines.
///
/// # Errors
/// The first sum that is wrong.
pub fn audit_ingest(worked: &[Worked], edges: &[Sum]) -> Result<(), Finding> {
    let sum = |of: fn(&Worked) -> u64| worked.iter().map(of).sum::<u64>();
    if sum(|one| one.made) != sum(|one| one.stored) {
        return Err(Finding::Stored);
    }
    audit_edges(worked, edges)
}

/// The audit of a step that rewrites edges: `edges` are those of the new generation, of all storage
/// engines.
///
/// # Errors
/// The first sum that is wrong.
pub fn audit_rewritten(worked: &[Worked], edges: &[Sum]) -> Result<(), Finding> {
    let sum = |of: fn(&Worked) -> u64| worked.iter().map(of).sum::<u64>();
    let kept = sum(|one| one.kept);
    if kept + sum(|one| one.dropped) != sum(|one| one.streamed) {
        return Err(Finding::Rewritten);
    }
    if kept != sum(|one| one.rewritten) {
        return Err(Finding::Kept);
    }
    audit_edges(worked, edges)
}

/// Whether the chunks of edges that were sent to storage are there.
fn audit_edges(worked: &[Worked], edges: &[Sum]) -> Result<(), Finding> {
    let sent = worked.iter().fold(Sum::default(), |sum, one| sum.and(one.ingested));
    let there = edges.iter().fold(Sum::default(), |sum, one| sum.and(*one));
    if sent == there { Ok(()) } else { Err(Finding::Ingested) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[u64]) -> Sum {
        Sum { count: numbers.len() as u64, hash: numbers.iter().sum() }
    }

    fn worked(numbers: &[u64], gathered: u64) -> Worked {
        Worked { consumed: sum(numbers), made: 4, stored: 4, gathered, ..Worked::default() }
    }

    fn served(handed: &[u64], inactive: &[u64], all: &[u64]) -> Served {
        Served { handed: sum(handed), inactive: sum(inactive), all: sum(all) }
    }

    #[test]
    fn every_sum_is_looked_at() {
        let clean = [served(&[1, 2], &[9], &[1, 2, 9]), served(&[5], &[], &[5])];
        let both = [worked(&[1, 5], 3), worked(&[2], 4)];
        assert_eq!(audit(&both, &clean, Some(7)), Ok(8));
        assert_eq!(audit(&both, &clean, None), Ok(8));
        assert_eq!(audit(&both, &clean, Some(8)), Err(Finding::Updates));
        let dropped = [Worked { stored: 3, ..both[0] }, both[1]];
        assert_eq!(audit(&dropped, &clean, Some(7)), Err(Finding::Stored));
        let made_up = [both[0], Worked { stored: 5, ..both[1] }];
        assert_eq!(audit(&made_up, &clean, None), Err(Finding::Stored));
        let twice = [worked(&[1, 5], 3), worked(&[2, 5], 4)];
        assert_eq!(audit(&twice, &clean, Some(7)), Err(Finding::Consumed));
        let another = [worked(&[1, 5], 3), worked(&[3], 4)];
        assert_eq!(audit(&another, &clean, Some(7)), Err(Finding::Consumed));
        let forgotten = [served(&[1, 2], &[], &[1, 2, 9]), served(&[5], &[], &[5])];
        assert_eq!(audit(&both, &forgotten, Some(7)), Err(Finding::LeftOut));
    }

    #[test]
    fn every_edge_that_was_read_is_on_storage() {
        let read = |numbers: &[u64]| Worked { ingested: sum(numbers), ..worked(&[], 0) };
        let both = [read(&[3, 4]), read(&[8])];
        assert_eq!(audit_ingest(&both, &[sum(&[8, 3]), sum(&[4])]), Ok(()));
        assert_eq!(audit_ingest(&both, &[sum(&[8]), sum(&[4])]), Err(Finding::Ingested));
        assert_eq!(audit_ingest(&both, &[sum(&[8, 2]), sum(&[4])]), Err(Finding::Ingested));
        let dropped = [Worked { made: 5, ..both[0] }, both[1]];
        assert_eq!(audit_ingest(&dropped, &[sum(&[8, 3, 4])]), Err(Finding::Stored));
    }

    #[test]
    fn every_edge_that_is_rewritten_is_kept_or_dropped() {
        let work = |streamed, kept, dropped, rewritten| {
            let ingested = sum(&[3, 4]);
            [Worked { ingested, streamed, kept, dropped, rewritten, ..Worked::default() }]
        };
        let there = [sum(&[4]), sum(&[3])];
        for (work, found) in [
            (work(5, 3, 2, 3), Ok(())),
            (work(5, 5, 0, 5), Ok(())),
            (work(5, 0, 5, 0), Ok(())),
            (work(6, 3, 2, 3), Err(Finding::Rewritten)),
            (work(4, 3, 2, 3), Err(Finding::Rewritten)),
            (work(5, 3, 2, 2), Err(Finding::Kept)),
            (work(5, 3, 2, 4), Err(Finding::Kept)),
        ] {
            assert_eq!(audit_rewritten(&work, &there), found, "{work:?}");
        }
        let work = work(5, 3, 2, 3);
        assert_eq!(audit_rewritten(&work, &[sum(&[4, 2])]), Err(Finding::Ingested));
        assert_eq!(audit_rewritten(&work, &there[..1]), Err(Finding::Ingested));
    }
}
