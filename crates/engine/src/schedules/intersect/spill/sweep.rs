//! Range after range: rows are made, closed, and travel on.

use std::ops::Range;

use super::block::CurrentRange;
use super::buckets::{RecordAudit, RowBuckets, Waiting};
use super::worker::{Outgoing, WorkerState};
use super::{TriangleRun, sum};
use crate::EngineError;
use crate::columns::updates::{Reader, UpdateChunk, Writer};
use crate::footprints::schedules::{ROW_HEAD, SLACK};
use crate::kernels::update_chunk::UpdateKind;
use crate::machine::per_worker::PerWorker;
use crate::schedules::intersect::counts::{CornerSink, Counts};
use crate::schedules::intersect::marks::Marks;

/// Ranks whose rows are a task.
const TASK_RANKS: usize = 1 << 10;
/// Chunks of rows that are a task.
const TASK_CHUNKS: usize = 16;

/// Where the corners of the triangles of one row are counted.
struct CornerCounts<'a, 'd> {
    run: &'a TriangleRun<'d>,
    here: &'a CurrentRange,
    outgoing: &'a mut Outgoing,
    /// Triangles counted of a row from elsewhere.
    carried: u64,
    written: Result<(), EngineError>,
}

impl CornerSink for CornerCounts<'_, '_> {
    #[inline(always)]
    fn add_closed(&mut self, rank: usize, more: u64) {
        if rank >= self.run.line {
            self.run.top.add(rank - self.run.line, more);
        } else if self.here.ranks.contains(&rank) {
            self.here.own.add(rank - self.here.ranks.start, more);
        } else if rank < self.here.ranks.start {
            self.carried += more;
        } else if self.written.is_ok() {
            self.written = self.run.put_count(rank, more, self.outgoing);
        }
    }
}

impl TriangleRun<'_> {
    /// Sweeps all ranges. What is counted waits by bin in the end, but for the highest ranks.
    pub(super) fn sweep(
        &self,
        ranges: &[Range<usize>],
        waiting: &mut Waiting,
    ) -> Result<RecordAudit, EngineError> {
        let arena = &self.graph.arena;
        let mut worker_states = self.workers.per_worker(|| {
            let bytes = self.plan.bucket_bytes;
            Ok(WorkerState {
                reader: Reader::new(&self.pool, arena)?,
                marks: Marks::new(self.graph.vertices() as usize, self.directed)?,
                row: Vec::new(),
                packing: Vec::new(),
                outgoing: Outgoing {
                    writer: Writer::new(&self.pool, arena)?,
                    rows: RowBuckets::new(UpdateKind::Rows, ranges.len(), bytes),
                    counts: RowBuckets::new(UpdateKind::Counts, self.bins.len(), bytes),
                },
                gathered: RecordAudit::default(),
            })
        })?;
        let mut here = CurrentRange::new(ranges)?;
        for (number, bins) in ranges.iter().enumerate() {
            for worker in &mut worker_states {
                let Outgoing { writer, rows, counts } = &mut worker.outgoing;
                rows.write(number, writer)?;
                bins.clone().try_for_each(|bin| counts.write(bin, writer))?;
                waiting.put(writer.finish()?);
                counts.window = 2 * number as u32;
            }
            here.open(self, bins, waiting)?;
            self.measure(bins, &mut here, waiting, &mut worker_states)?;
            self.build(bins, &mut here, waiting, &mut worker_states)?;
            self.merge(bins, &here, waiting, &mut worker_states)?;
            self.close(&here, &mut worker_states)?;
            self.close_arrivals(waiting.take(UpdateKind::Rows, number), &here, &mut worker_states)?;
            self.send_own(bins, &here, &mut worker_states)?;
            here.shut()?;
            self.gather_counts(2 * number as u32 + 1, waiting, &mut worker_states)?;
        }
        for worker in &mut worker_states {
            let Outgoing { writer, counts, .. } = &mut worker.outgoing;
            counts.finish(writer)?;
            waiting.put(writer.finish()?);
        }
        Ok(sum(&mut worker_states, |worker| {
            let mut audit = worker.gathered;
            audit.produce(UpdateKind::Rows, worker.outgoing.rows.take_produced());
            audit.produce(UpdateKind::Counts, worker.outgoing.counts.take_produced());
            audit
        }))
    }

    /// Closes the rows of the range against each other, and lets them travel on.
    fn close(
        &self,
        here: &CurrentRange,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let tasks = 0..here.ranks.len().div_ceil(TASK_RANKS);
        self.workers.for_each(tasks, self.progress, worker_states, |worker, task| {
            let first = here.ranks.start + task * TASK_RANKS;
            for rank in first..here.ranks.end.min(first + TASK_RANKS) {
                let Some(packed) = here.rows.get(rank) else { continue };
                let WorkerState { marks, row, outgoing, .. } = worker;
                row.clear();
                packed.unpack(self.directed, row);
                self.pass((rank, 0), row, here, (marks, outgoing))?;
            }
            Ok(())
        })
    }

    /// Closes the rows that have come from lower ranges.
    fn close_arrivals(
        &self,
        chunks: Vec<UpdateChunk>,
        here: &CurrentRange,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let mut tasks = Vec::new();
        let mut rest = chunks.into_iter().peekable();
        while rest.peek().is_some() {
            tasks.push(rest.by_ref().take(TASK_CHUNKS).collect::<Vec<_>>());
        }
        self.workers.for_each(tasks, self.progress, worker_states, |worker, chunks| {
            let mut passed = Ok(());
            let WorkerState { reader, marks, outgoing, .. } = worker;
            let rows = reader.read(&chunks, |mut words, _: &[()]| {
                while passed.is_ok() && !words.is_empty() {
                    let Some((head, rest)) = words.split_at_checked(ROW_HEAD) else { return false };
                    let Some((row, rest)) = rest.split_at_checked(head[2] as usize) else {
                        return false;
                    };
                    let at = (head[0] as usize, u64::from(head[1]));
                    passed = self.pass(at, row, here, (marks, outgoing));
                    words = rest;
                }
                true
            })?;
            worker.gathered.gather(UpdateKind::Rows, rows);
            passed
        })
    }

    /// Closes a row, and lets what of it lies behind the range travel on. `rank`, and what was
    /// counted of that on the way.
    fn pass(
        &self,
        (rank, carried): (usize, u64),
        row: &[u32],
        here: &CurrentRange,
        (marks, outgoing): (&mut Marks, &mut Outgoing),
    ) -> Result<(), EngineError> {
        let middles = row.partition_point(|entry| ((entry >> 1) as usize) < here.ranks.end);
        let mut corners = CornerCounts { run: self, here, outgoing, carried, written: Ok(()) };
        if middles > 0 {
            marks.close(rank, (row, middles), &here.rows, &mut corners);
        }
        let CornerCounts { mut carried, written, .. } = corners;
        written?;
        let Some([next, _, ..]) = row.get(middles..) else {
            return self.put_count(rank, carried, outgoing);
        };
        if carried > u32::MAX.into() {
            self.put_count(rank, carried - u64::from(u32::MAX), outgoing)?;
            carried = u32::MAX.into();
        }
        let range = here.range_of[self.bins.of(next >> 1)];
        outgoing.rows.put_row(
            range,
            (rank as u32, carried as u32),
            &row[middles..],
            &mut outgoing.writer,
        )
    }

    /// Sends a count to a rank that has its counter elsewhere, or none where it is zero.
    fn put_count(
        &self,
        rank: usize,
        mut more: u64,
        outgoing: &mut Outgoing,
    ) -> Result<(), EngineError> {
        if rank >= self.line {
            self.top.add(rank - self.line, more);
            return Ok(());
        }
        let Outgoing { writer, counts, .. } = outgoing;
        let bin = self.bins.of(rank as u32);
        let target = (rank - self.bins.ranks(bin).start) as u32;
        while more > 0 {
            let part = more.min(u32::MAX.into()) as u32;
            counts.put_merged(bin, (target, part), writer)?;
            more -= u64::from(part);
        }
        Ok(())
    }

    /// Adds the counts that the ranks of the range received to their own.
    fn merge(
        &self,
        bins: &Range<usize>,
        here: &CurrentRange,
        waiting: &mut Waiting,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let take = |bin| (bin, waiting.take(UpdateKind::Counts, bin));
        let tasks: Vec<_> = bins.clone().map(take).collect();
        self.workers.for_each(tasks, self.progress, worker_states, |worker, (bin, chunks)| {
            let ranks = self.bins.ranks(bin);
            let first = ranks.start - here.ranks.start;
            worker.merge(&chunks, first..first + ranks.len(), &here.own)
        })
    }

    /// Delivers what was counted of the ranks of the range.
    fn send_own(
        &self,
        bins: &Range<usize>,
        here: &CurrentRange,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        self.workers.for_each(bins.clone(), self.progress, worker_states, |worker, bin| {
            for rank in self.bins.ranks(bin) {
                self.put_count(rank, here.own.of(rank - here.ranks.start), &mut worker.outgoing)?;
            }
            Ok(())
        })
    }

    /// Adds up counts of ranks where twice as much waits as there are ranks. `window`: one in which
    /// nothing else is written. No range is in memory.
    fn gather_counts(
        &self,
        window: u32,
        waiting: &mut Waiting,
        worker_states: &mut PerWorker<WorkerState>,
    ) -> Result<(), EngineError> {
        let slack = SLACK * self.plan.bucket_bytes as u64 / 8;
        let Some(worker) = worker_states.iter_mut().next() else {
            return Err(EngineError::internal("there is no worker"));
        };
        for bin in 0..self.bins.len() {
            let ranks = self.bins.ranks(bin);
            if waiting.updates(UpdateKind::Counts, bin) <= 2 * ranks.len() as u64 + slack {
                continue;
            }
            let sums = Counts::new(ranks.len())?;
            worker.outgoing.counts.window = window;
            worker.merge(&waiting.take(UpdateKind::Counts, bin), 0..ranks.len(), &sums)?;
            for rank in ranks.clone() {
                self.put_count(rank, sums.of(rank - ranks.start), &mut worker.outgoing)?;
            }
            let Outgoing { writer, counts, .. } = &mut worker.outgoing;
            counts.write(bin, writer)?;
            waiting.put(writer.finish()?);
        }
        Ok(())
    }
}
