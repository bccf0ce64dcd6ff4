//! The rows of the range that is swept: as many entries as were counted, side by side, packed.

use std::ops::Range;

use super::TriangleRun;
use super::buckets::Waiting;
use super::worker::WorkerState;
use crate::EngineError;
use crate::columns::updates::UpdateChunk;
use crate::kernels::update_chunk::UpdateKind;
use crate::machine::arena::Buffer;
use crate::machine::per_worker::PerWorker;
use crate::schedules::intersect::counts::Counts;
use crate::schedules::intersect::rows::{self, Rows, Span};

/// The range that is swept.
pub(super) struct CurrentRange {
    /// The range of each bin.
    pub(super) range_of: Vec<usize>,
    pub(super) rows: Rows,
    /// Where the next entry of each rank goes, or how many it has.
    cursors: Buffer<u32>,
    /// Triangles that were counted of its ranks.
    pub(super) own: Counts,
    pub(super) ranks: Range<usize>,
}

impl CurrentRange {
    /// No range.
    pub(super) fn new(ranges: &[Range<usize>]) -> Result<Self, EngineError> {
        let range_of =
            ranges.iter().enumerate().flat_map(|(at, bins)| bins.clone().map(move |_| at));
        Ok(Self {
            range_of: range_of.collect(),
            rows: Rows::new(0, 0)?,
            cursors: Buffer::zeroed(0)?,
            own: Counts::new(0)?,
            ranks: 0..0,
        })
    }

    /// Gives back the memory of the range: low ranks are many and have short rows, high ones are
    /// few with long ones, so there is no place for the most ranks beside the most entries of all
    /// ranges (R-MAT 24 with 256 MiB took 278 so).
    pub(super) fn shut(&mut self) -> Result<(), EngineError> {
        let range_of = std::mem::take(&mut self.range_of);
        *self = Self { range_of, ..Self::new(&[])? };
        Ok(())
    }

    /// Begins a range, of these bins. None is in memory.
    pub(super) fn open(
        &mut self,
        run: &TriangleRun<'_>,
        bins: &Range<usize>,
        waiting: &Waiting,
    ) -> Result<(), EngineError> {
        let ranks = run.bins.ranks_of(bins);
        let entries: u64 = bins.clone().map(|bin| waiting.updates(UpdateKind::Entries, bin)).sum();
        // Each row has its length beside.
        self.rows = Rows::new(ranks.len(), ranks.len() + entries as usize)?;
        self.cursors = Buffer::zeroed(ranks.len())?;
        self.own = Counts::new(ranks.len())?;
        self.ranks = ranks;
        Ok(())
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
    fn fill(self, directed: bool, worker: &mut WorkerState) -> Result<(), EngineError> {
        let Self { spans, cursors, entries, first, chunks } = self;
        let gathered = worker.reader.read(&chunks, |targets, found| {
            targets.iter().zip(found).all(|(target, entry)| {
                let Some(cursor) = cursors.get_mut(*target as usize) else { return false };
                let place = entries.get_mut(*cursor as usize).map(|place| *place = *entry);
                *cursor += 1;
                place.is_some()
            })
        })?;
        // Their places are free for what travels on.
        drop(chunks);
        worker.gathered.gather(UpdateKind::Entries, gathered);
        let mut rest = entries;
        for start in spans.iter().rev().filter_map(Span::start) {
            let row;
            (rest, row) = std::mem::take(&mut rest).split_at_mut(start - first);
            rows::close(directed, row, &mut worker.packing);
        }
        Ok(())
    }
}

impl TriangleRun<'_> {
    /// Counts how many entries each row of the range has, where its cursor is.
    pub(super) fn measure(
        &self,
        bins: &Range<usize>,
        here: &mut CurrentRange,
        waiting: &Waiting,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let mut rest = &mut here.cursors[..here.ranks.len()];
        let tasks: Vec<_> = bins
            .clone()
            .map(|bin| {
                let lengths;
                (lengths, rest) =
                    std::mem::take(&mut rest).split_at_mut(self.bins.ranks(bin).len());
                (lengths, waiting.at(UpdateKind::Entries, bin))
            })
            .collect();
        self.workers.for_each(tasks, self.progress, worker_states, |worker, (lengths, chunks)| {
            lengths.fill(0);
            worker.reader.read(chunks, |targets, _: &[u32]| {
                targets.iter().all(|target| {
                    let length = lengths.get_mut(*target as usize);
                    length.map(|length| *length += 1).is_some()
                })
            })?;
            Ok(())
        })
    }

    /// Makes the rows of the range, bin by bin, whose lengths are where their cursors are.
    pub(super) fn build(
        &self,
        bins: &Range<usize>,
        here: &mut CurrentRange,
        waiting: &mut Waiting,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let CurrentRange { rows, cursors, ranks, .. } = here;
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
                let what = "rows of a range are as long as they were counted to be";
                return Err(EngineError::Invariant(what));
            };
            (own, entries) = split;
            let chunks = waiting.take(UpdateKind::Entries, bin);
            tasks.push(Task { spans, cursors: part, entries: own, first, chunks });
            first += words;
        }
        self.workers.for_each(tasks, self.progress, worker_states, |worker, task| {
            task.fill(self.directed, worker)
        })
    }
}
