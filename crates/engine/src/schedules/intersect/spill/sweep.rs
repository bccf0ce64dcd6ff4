//! Range after range: rows are made, closed, and travel on.

use std::ops::Range;
use std::sync::Mutex;

use welter_model::intersect::Intersect;

use super::block::Here;
use super::boxes::{Boxes, COUNTS, Ledger, ROWS, Waiting};
use super::worker::{Outgoing, WorkerState};
use super::{TriangleRun, sum};
use crate::EngineError;
use crate::columns::updates::{Reader, UpdateChunk, Writer};
use crate::machine::sync::lock;
use crate::schedules::footprint::{ROW_HEAD, SLACK};
use crate::schedules::intersect::counts::{Counts, Tell};
use crate::schedules::intersect::marks::Marks;

/// Ranks whose rows are a task.
const TASK_RANKS: usize = 1 << 10;
/// Chunks of rows that are a task.
const TASK_CHUNKS: usize = 16;

/// Where the corners of the triangles of one row are counted.
struct Corners<'a, 'd> {
    driver: &'a TriangleRun<'d>,
    here: &'a Here,
    road: &'a mut Outgoing,
    /// Triangles counted of a row from elsewhere.
    carried: u64,
    written: Result<(), EngineError>,
}

impl Tell for Corners<'_, '_> {
    #[inline(always)]
    fn tell(&mut self, rank: usize, more: u64) {
        if rank >= self.driver.line {
            self.driver.top.add(rank - self.driver.line, more);
        } else if self.here.ranks.contains(&rank) {
            self.here.own.add(rank - self.here.ranks.start, more);
        } else if rank < self.here.ranks.start {
            self.carried += more;
        } else if self.written.is_ok() {
            self.written = self.driver.told(rank, more, self.road);
        }
    }
}

impl TriangleRun<'_> {
    /// Sweeps all ranges. What is counted waits by bin in the end, but for the highest ranks.
    pub(super) fn sweep<I: Intersect>(
        &self,
        ranges: &[Range<usize>],
        waiting: &mut Waiting,
    ) -> Result<Ledger, EngineError> {
        let arena = &self.graph.arena;
        let worker_states = self.workers.states(|| {
            let bytes = self.plan.box_bytes;
            Ok(WorkerState {
                reader: Reader::new(&self.pool, arena)?,
                marks: Marks::new(self.graph.vertices() as usize)?,
                row: Vec::new(),
                packing: Vec::new(),
                road: Outgoing {
                    writer: Writer::new(&self.pool, arena)?,
                    rows: Boxes::new(ROWS, ranges.len(), bytes),
                    counts: Boxes::new(COUNTS, self.bins.len(), bytes),
                },
                gathered: Ledger::default(),
            })
        })?;
        let mut here = Here::new(ranges)?;
        for (number, bins) in ranges.iter().enumerate() {
            for worker in &worker_states {
                let Outgoing { writer, rows, counts } = &mut lock(worker).road;
                rows.write(number, writer)?;
                bins.clone().try_for_each(|bin| counts.write(bin, writer))?;
                waiting.put(writer.finish()?);
                counts.window = 2 * number as u32;
            }
            here.open(self, bins, waiting)?;
            self.measure(bins, &mut here, waiting, &worker_states)?;
            self.build::<I>(bins, &mut here, waiting, &worker_states)?;
            self.meet(bins, &here, waiting, &worker_states)?;
            self.close::<I>(&here, &worker_states)?;
            self.close_arrivals::<I>(waiting.take(ROWS, number), &here, &worker_states)?;
            self.tell_own(bins, &here, &worker_states)?;
            here.shut()?;
            self.settle(2 * number as u32 + 1, waiting, &worker_states)?;
        }
        for worker in &worker_states {
            let Outgoing { writer, counts, .. } = &mut lock(worker).road;
            counts.finish(writer)?;
            waiting.put(writer.finish()?);
        }
        Ok(sum(&worker_states, |worker| {
            let mut ledger = worker.gathered;
            ledger.produced[ROWS as usize] = worker.road.rows.take_produced();
            ledger.produced[COUNTS as usize] = worker.road.counts.take_produced();
            ledger
        }))
    }

    /// Closes the rows of the range against each other, and lets them travel on.
    fn close<I: Intersect>(
        &self,
        here: &Here,
        worker_states: &[Mutex<WorkerState>],
    ) -> Result<(), EngineError> {
        let tasks = here.ranks.len().div_ceil(TASK_RANKS);
        self.workers.tasks(tasks, self.progress, worker_states, |worker, task| {
            let first = here.ranks.start + task * TASK_RANKS;
            for rank in first..here.ranks.end.min(first + TASK_RANKS) {
                let Some(packed) = here.rows.get(rank) else { continue };
                let WorkerState { marks, row, road, .. } = worker;
                row.clear();
                packed.unpack::<I>(row);
                self.pass::<I>((rank, 0), row, here, (marks, road))?;
            }
            Ok(())
        })
    }

    /// Closes the rows that have come from lower ranges.
    fn close_arrivals<I: Intersect>(
        &self,
        chunks: Vec<UpdateChunk>,
        here: &Here,
        worker_states: &[Mutex<WorkerState>],
    ) -> Result<(), EngineError> {
        let mut tasks = Vec::new();
        let mut rest = chunks.into_iter().peekable();
        while rest.peek().is_some() {
            tasks.push(Mutex::new(rest.by_ref().take(TASK_CHUNKS).collect::<Vec<_>>()));
        }
        self.workers.tasks(tasks.len(), self.progress, worker_states, |worker, task| {
            let chunks = std::mem::take(&mut *lock(&tasks[task]));
            let mut passed = Ok(());
            let WorkerState { reader, marks, road, .. } = worker;
            let rows = reader.read(&chunks, |mut words, _: &[()]| {
                while passed.is_ok() && !words.is_empty() {
                    let Some((head, rest)) = words.split_at_checked(ROW_HEAD) else { return false };
                    let Some((row, rest)) = rest.split_at_checked(head[2] as usize) else {
                        return false;
                    };
                    let at = (head[0] as usize, u64::from(head[1]));
                    passed = self.pass::<I>(at, row, here, (marks, road));
                    words = rest;
                }
                true
            })?;
            worker.gathered.gathered[ROWS as usize] += rows;
            passed
        })
    }

    /// Closes a row, and lets what of it lies behind the range travel on. `rank`, and what was
    /// counted of that on the way.
    fn pass<I: Intersect>(
        &self,
        (rank, carried): (usize, u64),
        row: &[u32],
        here: &Here,
        (marks, road): (&mut Marks, &mut Outgoing),
    ) -> Result<(), EngineError> {
        let middles = row.partition_point(|entry| ((entry >> 1) as usize) < here.ranks.end);
        let mut corners = Corners { driver: self, here, road, carried, written: Ok(()) };
        if middles > 0 {
            marks.close::<I>(rank, (row, middles), &here.rows, &mut corners);
        }
        let Corners { mut carried, written, .. } = corners;
        written?;
        let Some([next, _, ..]) = row.get(middles..) else {
            return self.told(rank, carried, road);
        };
        if carried > u32::MAX.into() {
            self.told(rank, carried - u64::from(u32::MAX), road)?;
            carried = u32::MAX.into();
        }
        let range = here.range_of[self.bins.of(next >> 1)];
        road.rows.put_row(range, (rank as u32, carried as u32), &row[middles..], &mut road.writer)
    }

    /// Tells a rank that has its counter elsewhere, or nobody where that is nothing.
    fn told(&self, rank: usize, mut more: u64, road: &mut Outgoing) -> Result<(), EngineError> {
        if rank >= self.line {
            self.top.add(rank - self.line, more);
            return Ok(());
        }
        let Outgoing { writer, counts, .. } = road;
        let bin = self.bins.of(rank as u32);
        let target = (rank - self.bins.ranks(bin).start) as u32;
        while more > 0 {
            let part = more.min(u32::MAX.into()) as u32;
            counts.tell(bin, (target, part), writer)?;
            more -= u64::from(part);
        }
        Ok(())
    }

    /// Adds what the ranks of the range were told to what they count.
    fn meet(
        &self,
        bins: &Range<usize>,
        here: &Here,
        waiting: &mut Waiting,
        worker_states: &[Mutex<WorkerState>],
    ) -> Result<(), EngineError> {
        let tasks: Vec<_> = bins.clone().map(|bin| Mutex::new(waiting.take(COUNTS, bin))).collect();
        self.workers.tasks(tasks.len(), self.progress, worker_states, |worker, task| {
            let ranks = self.bins.ranks(bins.start + task);
            let first = ranks.start - here.ranks.start;
            let chunks = std::mem::take(&mut *lock(&tasks[task]));
            worker.meet(&chunks, first..first + ranks.len(), &here.own)
        })
    }

    /// Tells the ranks of the range what was counted of them.
    fn tell_own(
        &self,
        bins: &Range<usize>,
        here: &Here,
        worker_states: &[Mutex<WorkerState>],
    ) -> Result<(), EngineError> {
        self.workers.tasks(bins.len(), self.progress, worker_states, |worker, task| {
            for rank in self.bins.ranks(bins.start + task) {
                self.told(rank, here.own.of(rank - here.ranks.start), &mut worker.road)?;
            }
            Ok(())
        })
    }

    /// Adds up what ranks were told where twice as much waits as there are ranks. `window`: one in
    /// which nothing else is written. No range is in memory.
    fn settle(
        &self,
        window: u32,
        waiting: &mut Waiting,
        worker_states: &[Mutex<WorkerState>],
    ) -> Result<(), EngineError> {
        let slack = SLACK * self.plan.box_bytes as u64 / 8;
        for bin in 0..self.bins.len() {
            let ranks = self.bins.ranks(bin);
            if waiting.updates(COUNTS, bin) <= 2 * ranks.len() as u64 + slack {
                continue;
            }
            let told = Counts::new(ranks.len())?;
            let worker = &mut *lock(&worker_states[0]);
            worker.road.counts.window = window;
            worker.meet(&waiting.take(COUNTS, bin), 0..ranks.len(), &told)?;
            for rank in ranks.clone() {
                self.told(rank, told.of(rank - ranks.start), &mut worker.road)?;
            }
            let Outgoing { writer, counts, .. } = &mut worker.road;
            counts.write(bin, writer)?;
            waiting.put(writer.finish()?);
        }
        Ok(())
    }
}
