//! The rows of the range that is swept: as many entries as were counted, side by side, packed.

use std::ops::Range;
use std::sync::Mutex;

use welter_model::intersect::Intersect;

use super::Driver;
use super::boxes::{ENTRIES, Waiting};
use super::sweep::Bench;
use crate::EngineError;
use crate::arena::Buffer;
use crate::intersect::counts::Counts;
use crate::intersect::rows::{self, Rows, Span};
use crate::updates::UpdateChunk;
use crate::workers::lock;

/// The range that is swept.
pub(super) struct Here {
    /// The range of each bin.
    pub(super) range_of: Vec<usize>,
    pub(super) rows: Rows,
    /// Where the next entry of each rank goes, or how many it has.
    cursors: Buffer<u32>,
    /// What was counted of its ranks.
    pub(super) own: Counts,
    pub(super) ranks: Range<usize>,
}

impl Here {
    pub(super) fn new(
        driver: &Driver<'_>,
        ranges: &[Range<usize>],
        waiting: &Waiting,
    ) -> Result<Self, EngineError> {
        let ranks = |range: &Range<usize>| driver.bins.ranks_of(range).len();
        let widest = ranges.iter().map(ranks).max().unwrap_or(0);
        let bins = |range: &Range<usize>| range.clone().map(|bin| waiting.updates(ENTRIES, bin));
        // Each has its length beside.
        let words = |range| ranks(range) as u64 + bins(range).sum::<u64>();
        let words = ranges.iter().map(words).max().unwrap_or(0);
        let range_of =
            ranges.iter().enumerate().flat_map(|(at, bins)| bins.clone().map(move |_| at));
        Ok(Self {
            range_of: range_of.collect(),
            rows: Rows::new(widest, words as usize)?,
            cursors: Buffer::zeroed(widest)?,
            own: Counts::new(widest)?,
            ranks: 0..0,
        })
    }
}

/// Lays the rows of a bin side by side, each behind its length, from a place of the block on, and
/// says how many words they take. Cursors hold how many entries each has, and then where the first
/// goes.
fn lay(spans: &[Span], cursors: &mut [u32], first: usize) -> usize {
    let mut end = 0;
    for (cursor, span) in cursors.iter_mut().zip(spans) {
        let length = std::mem::replace(cursor, end as u32 + 1);
        if length == 0 {
            span.set_length(0);
        } else {
            span.set_start(first + end);
            end += 1 + length as usize;
        }
    }
    end
}

/// The rows of a bin that are to be made.
struct Task<'a> {
    spans: &'a [Span],
    cursors: &'a mut [u32],
    entries: &'a mut [u32],
    /// Where its entries begin in the block.
    first: usize,
    chunks: Vec<UpdateChunk>,
}

impl Task<'_> {
    /// Puts all entries into their rows, and closes these.
    fn fill<I: Intersect>(&mut self, bench: &mut Bench) -> Result<(), EngineError> {
        let Self { spans, cursors, entries, first, chunks } = self;
        let met = bench.reader.read(chunks, |targets, found| {
            targets.iter().zip(found).all(|(target, entry)| {
                let Some(cursor) = cursors.get_mut(*target as usize) else { return false };
                let place = entries.get_mut(*cursor as usize).map(|place| *place = *entry);
                *cursor += 1;
                place.is_some()
            })
        })?;
        // Their places are free for what travels on.
        chunks.clear();
        bench.gathered.gathered[ENTRIES as usize] += met;
        let mut rest = &mut **entries;
        for start in spans.iter().rev().filter_map(Span::start) {
            let row;
            (rest, row) = std::mem::take(&mut rest).split_at_mut(start - *first);
            rows::close::<I>(row, &mut bench.packing);
        }
        Ok(())
    }
}

impl Driver<'_> {
    /// Counts how many entries each row of the range has, where its cursor is.
    pub(super) fn measure(
        &self,
        bins: &Range<usize>,
        here: &mut Here,
        waiting: &Waiting,
        benches: &[Mutex<Bench>],
    ) -> Result<(), EngineError> {
        let mut rest = &mut here.cursors[..here.ranks.len()];
        let tasks: Vec<_> = bins
            .clone()
            .map(|bin| {
                let lengths;
                (lengths, rest) =
                    std::mem::take(&mut rest).split_at_mut(self.bins.ranks(bin).len());
                Mutex::new((lengths, waiting.at(ENTRIES, bin)))
            })
            .collect();
        self.workers.tasks(tasks.len(), self.progress, benches, |bench, task| {
            let (lengths, chunks) = &mut *lock(&tasks[task]);
            lengths.fill(0);
            bench.reader.read(chunks, |targets, _: &[u32]| {
                targets.iter().all(|target| {
                    let length = lengths.get_mut(*target as usize);
                    length.map(|length| *length += 1).is_some()
                })
            })?;
            Ok(())
        })
    }

    /// Makes the rows of the range, bin by bin, whose lengths are where their cursors are.
    pub(super) fn build<I: Intersect>(
        &self,
        bins: &Range<usize>,
        here: &mut Here,
        waiting: &mut Waiting,
        benches: &[Mutex<Bench>],
    ) -> Result<(), EngineError> {
        let Here { rows, cursors, ranks, .. } = here;
        rows.first = ranks.start;
        let mut tasks = Vec::with_capacity(bins.len());
        let (mut rest, mut entries) = (&mut cursors[..ranks.len()], &mut rows.entries[..]);
        let mut first = 0;
        for bin in bins.clone() {
            let Range { start, end } = self.bins.ranks(bin);
            let spans = &rows.spans[start - ranks.start..end - ranks.start];
            let (part, own);
            (part, rest) = std::mem::take(&mut rest).split_at_mut(spans.len());
            let words = lay(spans, part, first);
            let Some(split) = std::mem::take(&mut entries).split_at_mut_checked(words) else {
                let what = "rows of a range are longer than they were counted to be";
                return Err(EngineError::Configuration(what.to_owned()));
            };
            (own, entries) = split;
            let chunks = waiting.take(ENTRIES, bin);
            tasks.push(Mutex::new(Task { spans, cursors: part, entries: own, first, chunks }));
            first += words;
        }
        self.workers.tasks(tasks.len(), self.progress, benches, |bench, task| {
            lock(&tasks[task]).fill::<I>(bench)
        })
    }
}
