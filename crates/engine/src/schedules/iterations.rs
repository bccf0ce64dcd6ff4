//! The loop of a run: iterations until its program or its frontier says that it is over.
//!
//! A schedule does one iteration at a time, by whatever route. All else is here: the limit of
//! iterations, totals and levels, progress, checkpoints, and where a run begins that has some.
//! Relaxing part by part has passes in place of iterations, each of which ends as an iteration does
//! ([`Step::finish`]); stream programs have a loop of their own, and why is in decision 146.

use welter_model::program::Next;

use crate::EngineError;
use crate::checkpoint::{CheckpointColumns, Resume, RunProgress};
use crate::columns::levels::IterationStats;
use crate::kernels::seam::Kernel;
use crate::schedules::context::Context;
use crate::schedules::limit::check_limit;

/// Outcome of an iteration.
pub(crate) struct Step {
    /// The totals of its vertices.
    pub(crate) total: Vec<u8>,
    pub(crate) level: IterationStats,
    /// Bytes of edges that it met.
    pub(crate) bytes: u64,
}

impl Step {
    /// Ends the iteration: it counts among those that were reached and in the phase, and a
    /// checkpoint of these columns is written if one is due.
    pub(crate) fn finish<'c>(
        self,
        (kernel, context): (&dyn Kernel, &Context<'_>),
        resume: &Resume<'_>,
        reached: &mut RunProgress,
        columns: impl FnOnce() -> CheckpointColumns<'c>,
    ) -> Result<(), EngineError> {
        let Self { total, level, bytes } = self;
        reached.note(&total);
        if kernel.shape().capabilities.frontier {
            level.note(&mut reached.levels);
        }
        context.phase.add(1);
        context.phase.add_bytes(bytes);
        resume.write(columns, reached)
    }
}

/// An order in which edges meet columns.
pub(crate) trait Schedule {
    /// Whether no vertex is active, so that nothing can change any more.
    fn is_idle(&self) -> bool;

    /// Does an iteration after `iterations` others, of which the last one had these totals.
    fn step(&mut self, iterations: u64, last: &[u8]) -> Result<Step, EngineError>;

    /// Columns that a checkpoint is made of.
    fn columns(&mut self) -> CheckpointColumns<'_>;

    /// Counts of lookups so far, for a checkpoint.
    fn lookups(&self) -> [u64; 2] {
        [0; 2]
    }

    /// Whether [`Self::relax`] is the only way on.
    fn must_relax(&self) -> bool {
        false
    }

    /// Ends the run in another way than by iterations, where that pays by now, and says so.
    fn relax(&mut self, _reached: &mut RunProgress) -> Result<bool, EngineError> {
        Ok(false)
    }
}

/// Iterates from what was reached on, until the run is over.
pub(crate) fn iterate(
    kernel: &dyn Kernel,
    context: &Context<'_>,
    resume: &Resume<'_>,
    schedule: &mut dyn Schedule,
    mut reached: RunProgress,
) -> Result<RunProgress, EngineError> {
    context.phase.add(reached.iterations);
    let goes_on = |reached: &RunProgress| {
        kernel.next(reached.iterations, reached.totals.last()) == Next::Iterate
    };
    while schedule.must_relax() || goes_on(&reached) && !schedule.is_idle() {
        context.check_cancelled()?;
        check_limit(kernel.limit(), context.graph, reached.iterations)?;
        if schedule.relax(&mut reached)? {
            break;
        }
        let step = schedule.step(reached.iterations, reached.totals.last())?;
        reached.lookups = schedule.lookups();
        let schedule = &mut *schedule;
        step.finish((kernel, context), resume, &mut reached, move || schedule.columns())?;
    }
    Ok(reached)
}
