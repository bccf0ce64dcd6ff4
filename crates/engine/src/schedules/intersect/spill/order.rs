//! The order of vertices by degree, then by number, where no column of all vertices is in memory.
//!
//! There are few degrees that differ, at most twice the square root of the arcs, and degrees ascend
//! with ranks: where each degree begins tells the degree of any rank. So ranks are assigned vertex
//! by vertex in a pass over the degrees, and lie on storage by vertex; and before any row is known,
//! it is known how long it may be. By that ranks are cut into *bins* whose rows fit in memory.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::EngineError;
use crate::edges::graph::Graph;
use crate::edges::values::{ColumnIo, StoredColumn};
use crate::footprints::schedules::{ENTRY_BYTES, RANK_BYTES};
use crate::machine::storage::Storage;

/// Degrees that have a counter of their own; others are looked up.
const FEW: usize = 1 << 12;

/// A number for each degree.
struct ByDegree {
    few: Vec<u32>,
    many: BTreeMap<u32, u32>,
}

impl ByDegree {
    fn new() -> Self {
        Self { few: vec![0; FEW], many: BTreeMap::new() }
    }

    #[inline(always)]
    fn of(&mut self, degree: u32) -> &mut u32 {
        match self.few.get_mut(degree as usize) {
            Some(number) => number,
            None => self.many.entry(degree).or_default(),
        }
    }

    /// Numbers that are not zero, each behind its degree; degrees ascend.
    fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut u32)> {
        let few = (0..).zip(&mut self.few);
        let many = self.many.iter_mut().map(|(degree, number)| (*degree, number));
        few.chain(many).filter(|(_, number)| **number > 0)
    }
}

/// Order of the ranks by their degrees.
pub(super) struct Order {
    /// Each degree that there is, and where its ranks begin, both ascending.
    begins: Vec<(u32, u32)>,
    /// Number of ranks.
    ranks: u32,
}

impl Order {
    /// Ranks all vertices, and puts their ranks on storage.
    pub(super) fn new(
        graph: &Graph,
        storage: &Storage,
        degrees: &StoredColumn,
    ) -> Result<(Self, StoredColumn), EngineError> {
        let mut next = ByDegree::new();
        degrees.each::<u32>(|degrees| {
            for degree in degrees {
                *next.of(*degree) += 1;
            }
            Ok(())
        })?;
        let (mut begins, mut ranks) = (Vec::new(), 0);
        for (degree, number) in next.iter_mut() {
            begins.push((degree, ranks));
            ranks += std::mem::replace(number, ranks);
        }
        let stored = graph.column(storage, size_of::<u32>())?;
        let (mut degrees, mut io) = (ColumnIo::<u32>::new(degrees)?, ColumnIo::new(&stored)?);
        for (number, stripe) in graph.stripes.iter().enumerate() {
            degrees.fetch(number)?;
            let (column, mut made) = (degrees.take(number)?, io.blank()?);
            for (rank, degree) in made.iter_mut().zip(&column[..stripe.width()]) {
                let place = next.of(*degree);
                *rank = *place;
                *place += 1;
            }
            degrees.done(column);
            io.put(number, made)?;
        }
        io.finish()?;
        drop(io);
        Ok((Self { begins, ranks }, stored))
    }

    /// Number of ranks.
    pub(super) fn ranks(&self) -> usize {
        self.ranks as usize
    }

    /// Ranks, and how many entries their rows have at most: as many as there are neighbours, or as
    /// there are higher ranks. (So at most the square root of the arcs: the vertices of at least
    /// some degree have no more arcs than there are.)
    fn rows(&self) -> impl Iterator<Item = (u32, u32)> {
        let ends = self.begins.iter().skip(1).map(|(_, begin)| *begin).chain([self.ranks]);
        let (degrees, last) = (self.begins.iter().zip(ends), self.ranks.saturating_sub(1));
        degrees.flat_map(move |(&(degree, begin), end)| {
            (begin..end).map(move |rank| (rank, degree.min(last - rank)))
        })
    }

    /// Entries of the longest row, at most.
    pub(super) fn longest(&self) -> usize {
        self.rows().map(|(_, entries)| entries).max().unwrap_or(0) as usize
    }

    /// Cuts ranks into bins that take up to `bytes_most` bytes, or have one rank.
    pub(super) fn bins(&self, bytes_most: u64) -> Bins {
        let (mut starts, mut held) = (vec![0], 0);
        for (rank, entries) in self.rows() {
            let bytes = RANK_BYTES + ENTRY_BYTES * u64::from(entries);
            if held > 0 && held + bytes > bytes_most {
                starts.push(rank);
                held = 0;
            }
            held += bytes;
        }
        starts.push(self.ranks);
        Bins::new(starts)
    }
}

/// Runs of ranks.
pub(super) struct Bins {
    /// The first rank of each, and the number of ranks.
    starts: Vec<u32>,
    /// For each run of 2^`shift` ranks, the bin of the first.
    begins: Vec<u32>,
    shift: u32,
}

impl Bins {
    fn new(starts: Vec<u32>) -> Self {
        let ranks = starts.last().copied().unwrap_or(0);
        let shift = (u32::BITS - ranks.leading_zeros()).saturating_sub(12);
        let mut bin = 0;
        let begins = (0..=ranks >> shift).map(|run| {
            while bin + 2 < starts.len() && starts[bin + 1] <= run << shift {
                bin += 1;
            }
            bin as u32
        });
        let begins = begins.collect();
        Self { starts, begins, shift }
    }

    /// Number of bins: one at least.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The ranks of one.
    pub(super) fn ranks(&self, bin: usize) -> Range<usize> {
        self.starts[bin] as usize..self.starts[bin + 1] as usize
    }

    /// The ranks of some that follow each other.
    pub(super) fn ranks_of(&self, bins: &Range<usize>) -> Range<usize> {
        self.starts[bins.start] as usize..self.starts[bins.end] as usize
    }

    /// The bin of a rank.
    #[inline(always)]
    pub(super) fn of(&self, rank: u32) -> usize {
        let mut bin = self.begins[(rank >> self.shift) as usize] as usize;
        while bin + 2 < self.starts.len() && self.starts[bin + 1] <= rank {
            bin += 1;
        }
        bin
    }
}

/// Puts what follows each other together, up to `most` bytes, or what takes more alone.
pub(super) fn together(bytes: impl Iterator<Item = u64>, most: u64) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut held = 0;
    for (number, bytes) in bytes.enumerate() {
        match runs.last_mut() {
            Some(run) if held + bytes <= most => {
                run.end = number + 1;
                held += bytes;
            }
            _ => {
                runs.push(number..number + 1);
                held = bytes;
            }
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_found_in_their_bins() {
        let starts = vec![0, 1, 2, 500, 501, 90_000, 90_001, 100_000];
        let bins = Bins::new(starts.clone());
        assert_eq!(bins.len(), 7);
        for rank in 0..100_000 {
            let expected = starts.iter().filter(|start| **start <= rank).count() - 1;
            assert_eq!(bins.of(rank), expected, "{rank}");
        }
        let nothing = Bins::new(vec![0, 0]);
        assert_eq!((nothing.len(), nothing.ranks(0)), (1, 0..0));
    }

    #[test]
    fn bins_are_as_full_as_rows_may_be_long() {
        // Degrees 0, 0, 1, 1, 3, 3 in the order of ranks: rows of at most 0, 0, 1, 1, 1, 0.
        let order = Order { begins: vec![(0, 0), (1, 2), (3, 4)], ranks: 6 };
        let rows: Vec<u32> = order.rows().map(|(_, entries)| entries).collect();
        assert_eq!((rows, order.longest()), (vec![0, 0, 1, 1, 1, 0], 1));
        assert_eq!(order.bins(32).starts, [0, 2, 3, 4, 5, 6]);
        assert_eq!(order.bins(36).starts, [0, 2, 3, 4, 6]);
        assert_eq!(order.bins(1).starts, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(order.bins(1 << 20).starts, [0, 6]);
    }

    #[test]
    fn neighbours_are_put_together() {
        let runs = |bytes: &[u64], most| together(bytes.iter().copied(), most);
        assert_eq!(runs(&[3, 4, 5, 9, 1], 8), [0..2, 2..3, 3..4, 4..5]);
        assert_eq!(runs(&[3, 4, 5, 9, 1], 100), std::slice::from_ref(&(0..5)));
        assert!(runs(&[], 8).is_empty());
    }
}
