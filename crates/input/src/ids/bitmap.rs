//! Ranks of integers that are sparse, but not so sparse that a bit for each possible one would take
//! more memory than the edges: a bit for each id, and how many bits are set before each word.
//!
//! Invariant: at most [`BITS_PER_EDGE_MAX`] bits an edge, so at most 12 bytes an edge in all.
//! Checked in `Bitmap::bytes_for`.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

/// Possible ids per edge up to which a bitmap is taken.
const BITS_PER_EDGE_MAX: u64 = 64;
/// Words that are counted or listed at once.
const CHUNK_WORDS: usize = 16 << 10;

/// Ids that occur.
pub(super) struct Bitmap(Vec<AtomicU64>);

impl Bitmap {
    /// No id yet, and room for those up to `max`; `None` if that is too much for `edges` edges.
    pub(super) fn new(max: u64, edges: u64) -> Option<Self> {
        Self::bytes_for(max, edges)?;
        let words = usize::try_from(max / 64 + 1).ok()?;
        Some(Self((0..words).into_par_iter().map(|_| AtomicU64::new(0)).collect()))
    }

    /// Bytes that the bitmap and its ranks take, with the copy that is made on the way; `None` if
    /// that is too much for `edges` edges.
    pub(super) fn bytes_for(max: u64, edges: u64) -> Option<u64> {
        (max / BITS_PER_EDGE_MAX < edges).then_some((max / 64 + 1).saturating_mul(20))
    }

    /// Marks an id. From any thread.
    #[inline]
    pub(super) fn add(&self, id: u64) {
        let bit = 1 << (id % 64);
        let word = &self.0[(id / 64) as usize];
        // Most ids occur often; reading leaves the line of memory shared among threads.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The ranks of the ids that were marked; their count if there are more than `count_max`.
    pub(super) fn into_ranks(self, count_max: usize) -> Result<Ranks, usize> {
        let words: Vec<u64> = self.0.into_par_iter().map(AtomicU64::into_inner).collect();
        let ones = |words: &[u64]| words.iter().map(|word| word.count_ones() as usize).sum();
        let counts: Vec<usize> = words.par_chunks(CHUNK_WORDS).map(ones).collect();
        let count = counts.iter().sum();
        if count > count_max {
            return Err(count);
        }
        let starts: Vec<usize> = counts
            .iter()
            .scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count)))
            .collect();
        let mut before = vec![0; words.len()];
        before.par_chunks_mut(CHUNK_WORDS).zip(words.par_chunks(CHUNK_WORDS)).zip(starts).for_each(
            |((before, words), start)| {
                let mut sum = start as u32;
                for (before, word) in before.iter_mut().zip(words) {
                    *before = sum;
                    sum += word.count_ones();
                }
            },
        );
        Ok(Ranks { words, before, count })
    }
}

/// Ids that occur, each with the number of lower ones.
pub(super) struct Ranks {
    words: Vec<u64>,
    /// Ids that occur below those of each word.
    before: Vec<u32>,
    count: usize,
}

impl Ranks {
    /// The rank of an id that occurs.
    #[inline]
    pub(super) fn of(&self, id: u64) -> u32 {
        let word = (id / 64) as usize;
        let lower = self.words[word] & ((1 << (id % 64)) - 1);
        self.before[word] + lower.count_ones()
    }

    /// Number of ids that occur.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// All ids that occur, ascending.
    pub(super) fn ids(&self) -> Vec<u64> {
        let mut ids = Vec::with_capacity(self.count);
        for (place, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                ids.push(place as u64 * 64 + u64::from(left.trailing_zeros()));
                left &= left - 1;
            }
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_ascend_with_the_ids() {
        let ids: Vec<u64> = (0..30_000u64).map(|step| step * step / 8).collect();
        let max = ids[ids.len() - 1];
        assert!(Bitmap::new(max, 10).is_none());
        let bitmap = Bitmap::new(max, max / 32).unwrap();
        ids.par_iter().for_each(|id| bitmap.add(*id));
        let mut expected = ids;
        expected.dedup();
        let ranks = bitmap.into_ranks(expected.len()).ok().unwrap();
        assert_eq!(ranks.ids(), expected);
        assert!(expected.iter().enumerate().all(|(rank, id)| ranks.of(*id) == rank as u32));
        let bitmap = Bitmap::new(200, 100).unwrap();
        (0..=200).for_each(|id| bitmap.add(id));
        assert_eq!(bitmap.into_ranks(200).err(), Some(201));
    }
}
