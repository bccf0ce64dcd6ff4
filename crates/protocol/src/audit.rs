//! The sums that every barrier is held against, in production too.
//!
//! ```text
//! sum(S)                      = (|S|, sum of identities of the blocks in S)
//! consumed by all computation = handed out by all storage engines
//! handed out + proven inactive = all                      of each storage engine and partition
//! updates produced by scatter  = updates gathered         combined ones count what they stand for
//! ```
//!
//! **Invariant:** a barrier opens only if all of these hold.

use crate::names::Block;

/// A set of blocks, as their number and the sum of their identities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
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

/// What a computation engine did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Chunks that were streamed.
    pub consumed: Sum,
    /// Updates that were produced (in scatter) or gathered (in gather). Else 0.
    pub updates: u64,
}

/// What a storage engine did in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Chunks that were handed out.
    pub handed: Sum,
    /// Chunks that had no active source.
    pub inactive: Sum,
    /// All chunks.
    pub all: Sum,
}

/// What an audit found wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Chunks were handed out and not streamed, or streamed more than once.
    Consumed,
    /// Chunks were neither handed out nor inactive.
    LeftOut,
    /// Not as many updates were gathered as produced.
    Updates,
}

/// The audit of one step. `produced`: updates of the scatter before, when this step gathered them.
///
/// # Errors
/// The first sum that is wrong.
pub fn audit(worked: &[Worked], served: &[Served], produced: Option<u64>) -> Result<u64, Finding> {
    let consumed = worked.iter().fold(Sum::default(), |sum, one| sum.and(one.consumed));
    let handed = served.iter().fold(Sum::default(), |sum, one| sum.and(one.handed));
    if consumed != handed {
        return Err(Finding::Consumed);
    }
    if served.iter().any(|one| one.handed.and(one.inactive) != one.all) {
        return Err(Finding::LeftOut);
    }
    let updates = worked.iter().map(|one| one.updates).sum();
    if produced.is_some_and(|produced| produced != updates) {
        return Err(Finding::Updates);
    }
    Ok(updates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(numbers: &[u64]) -> Sum {
        Sum { count: numbers.len() as u64, hash: numbers.iter().sum() }
    }

    fn worked(numbers: &[u64], updates: u64) -> Worked {
        Worked { consumed: sum(numbers), updates }
    }

    fn served(handed: &[u64], inactive: &[u64], all: &[u64]) -> Served {
        Served { handed: sum(handed), inactive: sum(inactive), all: sum(all) }
    }

    #[test]
    fn every_sum_is_looked_at() {
        let clean = [served(&[1, 2], &[9], &[1, 2, 9]), served(&[5], &[], &[5])];
        let both = [worked(&[1, 5], 3), worked(&[2], 4)];
        assert_eq!(audit(&both, &clean, Some(7)), Ok(7));
        assert_eq!(audit(&both, &clean, None), Ok(7));
        assert_eq!(audit(&both, &clean, Some(8)), Err(Finding::Updates));
        let twice = [worked(&[1, 5], 3), worked(&[2, 5], 4)];
        assert_eq!(audit(&twice, &clean, Some(7)), Err(Finding::Consumed));
        let another = [worked(&[1, 5], 3), worked(&[3], 4)];
        assert_eq!(audit(&another, &clean, Some(7)), Err(Finding::Consumed));
        let forgotten = [served(&[1, 2], &[], &[1, 2, 9]), served(&[5], &[], &[5])];
        assert_eq!(audit(&both, &forgotten, Some(7)), Err(Finding::LeftOut));
    }
}
