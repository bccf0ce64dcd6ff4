//! A worker of programs over triangles with a planted bug: rows that are not sent, corners that
//! count twice, rows that meet twice.

use bytemuck::{cast_slice, pod_read_unaligned};
use welter_engine::EngineError;
use welter_engine::chunks::{UpdateKey, open_updates, write_updates};
use welter_protocol::ids::{Phase, Step};
use welter_protocol::planted::Bug;
use welter_protocol::work::Filled;
use welter_protocol::{Outcome, Work};
use welter_worker::{BufferedUpdates, TriangleWorker, Worker};

/// The worker of a program over triangles.
pub(crate) struct TamperedRows {
    inner: TriangleWorker,
    bug: Option<Bug>,
    graph: u64,
    step: Option<Step>,
}

/// Iterations of a round, of which the second sends rows, and the third lets them meet.
const ROUND: u32 = 4;

impl TamperedRows {
    /// A bug in a worker, on a graph of this number.
    pub(crate) fn new(inner: TriangleWorker, bug: Option<Bug>, graph: u64) -> Self {
        Self { inner, bug, graph, step: None }
    }

    /// Whether this is the gather of an iteration that is so far in its round.
    fn is_at(&self, place: u32) -> bool {
        let gathers = |step: Step| step.phase == Phase::Gather && step.iteration % ROUND == place;
        self.step.is_some_and(gathers)
    }

    /// The name of updates that wait for the next iteration.
    fn at(&self, filled: &Filled) -> (u64, UpdateKey) {
        let iteration = self.step.map_or(0, |step| step.iteration + 1).into();
        (self.graph, UpdateKey::new(iteration, filled.partition, 0))
    }

    /// Leaves out the first row of a chunk, as if it had been sent to one partition less. It was
    /// not made then either.
    fn leave_out(&self, filled: &mut Filled, made: &mut u64) -> Result<(), EngineError> {
        let at = self.at(filled);
        let rows = open_updates(0, at, &filled.payload)?;
        let [_, length, ..] = rows.targets else { return Ok(()) };
        if *made == 0 || filled.records < 2 || filled.records % 3 == 1 {
            return Ok(());
        }
        let left = &rows.targets[2 + *length as usize..];
        let bytes = write_updates(0, (self.graph, rows.key), (left, &[]), rows.updates - 1);
        (filled.payload, filled.records) = (bytes.into(), filled.records - 1);
        *made -= 1;
        Ok(())
    }

    /// Doubles the count of the first corner of a chunk.
    fn double(&self, filled: &mut Filled) -> Result<(), EngineError> {
        let found = open_updates(8, self.at(filled), &filled.payload)?;
        let mut counts: Vec<u64> = found.accums.chunks_exact(8).map(pod_read_unaligned).collect();
        if let Some(first) = counts.first_mut() {
            *first *= 2;
        }
        let at = (self.graph, found.key);
        let bytes = write_updates(8, at, (found.targets, cast_slice(&counts)), found.updates);
        filled.payload = bytes.into();
        Ok(())
    }

    /// Lets a chunk meet what it has met before.
    fn meet_again(&mut self, work: &Work, outcome: &mut Outcome) -> Result<(), EngineError> {
        let Outcome::Streamed { made, filled, .. } = outcome else { return Ok(()) };
        if let Outcome::Streamed { made: more, filled: others, .. } = self.inner.work(work)? {
            *made += more;
            filled.extend(others);
        }
        Ok(())
    }
}

impl Worker for TamperedRows {
    fn work(&mut self, work: &Work) -> Result<Outcome, EngineError> {
        if let Work::Open { step, .. } = work {
            self.step = Some(*step);
        }
        let mut outcome = self.inner.work(work)?;
        match (self.bug, &mut outcome) {
            (Some(Bug::RowNotSent), Outcome::Applied { made, filled }) => {
                filled.iter_mut().try_for_each(|filled| self.leave_out(filled, made))?;
            }
            (
                Some(Bug::CornerTwice),
                Outcome::Streamed { filled, .. } | Outcome::Flushed { filled, .. },
            ) if self.is_at(3) => {
                filled.iter_mut().try_for_each(|filled| self.double(filled))?;
            }
            (Some(Bug::RowsMeetTwice), outcome) if self.is_at(3) => {
                self.meet_again(work, outcome)?;
            }
            _ => {}
        }
        Ok(outcome)
    }

    fn looked_at(&self) -> u64 {
        self.inner.looked_at()
    }

    fn held(&self) -> BufferedUpdates {
        self.inner.held()
    }
}
