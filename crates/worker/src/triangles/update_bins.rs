//! Updates of programs over triangles on their way to partitions, until their chunk is full.
//!
//! ```text
//! counts    place u32, count u64: twice the vertex is how many edges are closed (or how many it
//!           has), the next place how many neighbours         combined, where that is wanted
//! shown     vertex u32, source u32, edges of the source u32
//! entries   vertex u32, entry u32
//! rows      words u32: the vertex, the entries of its row, these         of variable length
//! ```
//!
//! All are update chunks of the engine; words of rows stand where others have destinations, and no
//! accumulator is behind them.
//!
//! **Invariant:** chunks say how many records they stand for. Tested by
//! `chunks_stand_for_all_records`.

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{Column, UpdateKey, write_updates};
use welter_protocol::work::Filled;

use crate::other;

/// Kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    Counts { are_combined: bool },
    Shown,
    Entries,
    Rows,
}

/// Words of a row for each record that a chunk may have, so that all chunks are about as large.
const RECORD_WORDS: usize = 3;

impl Record {
    /// Bytes of a record behind its destination.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::Counts { .. } | Self::Shown => 8,
            Self::Entries => 4,
            Self::Rows => 0,
        }
    }
}

/// Records for one partition.
#[derive(Debug, Default)]
struct Bin {
    targets: Vec<u32>,
    records: Column,
    /// Number of records, before counts are added up.
    count: u64,
}

impl Bin {
    /// Adds up the counts for each place.
    fn combine(&mut self) {
        let counts = self.records.chunks_exact(8).map(pod_read_unaligned::<u64>);
        let mut all: Vec<(u32, u64)> = self.targets.iter().copied().zip(counts).collect();
        all.sort_unstable();
        all.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            kept.1 += if is_same { next.1 } else { 0 };
            is_same
        });
        self.targets.clear();
        self.records.clear();
        for (target, count) in all {
            self.targets.push(target);
            self.records.extend(&count.to_ne_bytes());
        }
    }
}

/// Records of one kind for all partitions.
#[derive(Debug)]
pub(crate) struct UpdateBins {
    kind: Record,
    at: (u64, UpdateKey),
    most: usize,
    bins: Vec<Bin>,
    filled: Vec<Filled>,
    /// Records that were made since the last look.
    made: u64,
}

impl UpdateBins {
    /// Empty bins for `partitions` partitions. A chunk has `most` records, or words of about as
    /// many.
    pub(crate) fn new(partitions: u32, most: u32) -> Self {
        Self {
            kind: Record::Rows,
            at: (0, UpdateKey::new(0, 0, 0)),
            most: most as usize,
            bins: (0..partitions).map(|_| Bin::default()).collect(),
            filled: Vec::new(),
            made: 0,
        }
    }

    /// Begins anew with records of this kind, for any partition.
    pub(crate) fn begin(&mut self, kind: Record, at: (u64, UpdateKey)) {
        (self.kind, self.at, self.made) = (kind, at, 0);
        self.filled.clear();
        for bin in &mut self.bins {
            bin.targets.clear();
            bin.records.clear();
            bin.count = 0;
        }
    }

    /// Adds a record for a partition: words, or a destination and bytes behind it.
    pub(crate) fn push(&mut self, partition: u32, targets: &[&[u32]], record: &[u8]) {
        let bin = &mut self.bins[partition as usize];
        for words in targets {
            bin.targets.extend_from_slice(words);
        }
        bin.records.extend(record);
        bin.count += 1;
        self.made += 1;
        let (most, are_rows) = (self.most, self.kind == Record::Rows);
        if bin.targets.len() < if are_rows { RECORD_WORDS * most } else { most }
            && bin.count < u32::MAX.into()
        {
            return;
        }
        if self.kind == (Record::Counts { are_combined: true }) {
            bin.combine();
            if 2 * bin.targets.len() < most && bin.count < u32::MAX.into() {
                return;
            }
        }
        self.fill(partition);
    }

    /// Makes a chunk of the records for a partition.
    fn fill(&mut self, partition: u32) {
        let bin = &mut self.bins[partition as usize];
        if bin.count == 0 {
            return;
        }
        if self.kind == (Record::Counts { are_combined: true }) {
            bin.combine();
        }
        let (graph, cell) = self.at;
        let at = (graph, UpdateKey { stripe: partition, ..cell });
        let written = (&bin.targets[..], &bin.records[..]);
        let payload = write_updates(self.kind.width(), at, written, bin.count).into();
        let combined = match self.kind {
            Record::Counts { .. } => bin.count as u32 - bin.targets.len() as u32,
            _ => 0,
        };
        let (records, source, sources) = (bin.count as u32, None, u64::MAX);
        self.filled.push(Filled { partition, source, records, combined, sources, payload });
        bin.targets.clear();
        bin.records.clear();
        bin.count = 0;
    }

    /// Whether a chunk is full.
    pub(crate) fn is_filled(&self) -> bool {
        !self.filled.is_empty()
    }

    /// Number of records that were added since the last look, and the chunks that are full.
    pub(crate) fn take(&mut self) -> (u64, Vec<Filled>) {
        (std::mem::take(&mut self.made), std::mem::take(&mut self.filled))
    }

    /// Makes chunks of all that is left.
    pub(crate) fn flush(&mut self) {
        for partition in 0..self.bins.len() as u32 {
            self.fill(partition);
        }
    }
}

/// Shows the rows of a chunk: the vertex, and the entries of its row.
///
/// # Errors
/// When words are not rows, or not as many as the chunk says, of vertices below `vertices`.
pub fn each_row(
    (words, rows): (&[u32], u64),
    vertices: u64,
    mut show: impl FnMut(u32, &[u32]) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let wrong = || other(format!("{} words are not {rows} rows", words.len()));
    let (mut rest, mut count) = (words, 0);
    while let [vertex, length, after @ ..] = rest {
        let (row, left) = after.split_at_checked(*length as usize).ok_or_else(wrong)?;
        let ascends = row.windows(2).all(|two| two[0] >> 1 < two[1] >> 1);
        let last = row.last().map_or(0, |entry| entry >> 1).max(*vertex);
        if !ascends || u64::from(last) >= vertices {
            return Err(wrong());
        }
        show(*vertex, row)?;
        (rest, count) = (left, count + 1);
    }
    if rest.is_empty() && count == rows { Ok(()) } else { Err(wrong()) }
}

/// A number, as words of a record.
pub(crate) fn bytes_of(words: &[u32]) -> &[u8] {
    cast_slice(words)
}

#[cfg(test)]
mod tests {
    use welter_engine::chunks::open_updates;

    use super::*;

    const AT: (u64, UpdateKey) = (7, UpdateKey::new(3, 0, 1));

    #[test]
    fn chunks_stand_for_all_records() {
        for (are_combined, chunks, records) in [(false, vec![8, 1], 9), (true, vec![9], 2)] {
            let mut bins = UpdateBins::new(2, 8);
            bins.begin(Record::Counts { are_combined }, AT);
            for place in 0..9 {
                bins.push(1, &[&[place % 2]], &1_u64.to_ne_bytes());
            }
            bins.flush();
            let (made, filled) = bins.take();
            let stand_for: Vec<_> = filled.iter().map(|chunk| chunk.records).collect();
            assert_eq!((made, stand_for), (9, chunks));
            let at = (AT.0, UpdateKey { stripe: 1, ..AT.1 });
            let mut sum = 0;
            let mut count = 0;
            for chunk in &filled {
                let found = open_updates(8, at, &chunk.payload).unwrap();
                let counts = found.accums.chunks_exact(8).map(pod_read_unaligned::<u64>);
                sum += counts.sum::<u64>();
                count += found.targets.len();
                assert_eq!(chunk.combined, chunk.records - found.targets.len() as u32);
            }
            assert_eq!((sum, count), (9, records));
        }
    }

    #[test]
    fn rows_come_back_and_words_that_are_none_are_errors() {
        let mut bins = UpdateBins::new(1, 1);
        bins.begin(Record::Rows, AT);
        // One record has three words: the second row fills the chunk.
        bins.push(0, &[&[6, 0], &[]], &[]);
        assert!(!bins.is_filled());
        bins.push(0, &[&[5, 2], &[14, 17]], &[]);
        assert!(bins.is_filled());
        let (made, filled) = bins.take();
        let words = open_updates(0, AT, &filled[0].payload).unwrap();
        assert_eq!((made, filled.len(), words.updates), (2, 1, 2));
        let mut rows = Vec::new();
        let mut keep = |vertex: u32, row: &[u32]| {
            rows.push((vertex, row.to_vec()));
            Ok(())
        };
        each_row((words.targets, 2), 9, &mut keep).unwrap();
        assert_eq!(rows, [(6, vec![]), (5, vec![14, 17])]);
        let nothing = |_: u32, _: &[u32]| Ok(());
        let cases: [(&[u32], u64); 6] = [
            (&[5, 2, 14, 17], 2),
            (&[5, 2, 14], 1),
            (&[5], 1),
            (&[5, 2, 14, 15], 1),
            (&[5, 1, 18], 1),
            (&[9, 0], 1),
        ];
        for (words, count) in cases {
            each_row((words, count), 9, nothing).expect_err("no rows");
        }
        each_row((&[8, 1, 17], 1), 9, nothing).expect("a row");
    }
}
