//! The loop of a stream program: steps until it says that it is over.
//!
//! It is not the loop of iterations ([`super::iterations`]), and why is in decision 146: a step
//! need not be a pass, and what comes next the kernel knows, not a column of totals.
//!
//! Invariant: passes are counted, and no other step is; so the limit of a program bounds them, and
//! checkpoints are numbered by them. Checked in `check_limit`. Tested by
//! `a_stream_program_that_never_stops_is_ended_over_a_graph_and_over_its_input`.

mod state;

use welter_model::stream::{Next, RevisitPolicy, StepStats};

use crate::EngineError;
use crate::kernels::stream::StreamKernel;
use crate::machine::arena::Buffer;
use crate::schedules::context::Context;
use crate::schedules::limit::check_limit;

pub(crate) use self::state::{CELLS, add_up, init, values};

/// Edges that are read instead of the graph, or of an older generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Number of edges.
    pub edges: u64,
    /// Of contracted ones, edges that were still candidates and are not among these, because better
    /// ones lie between the same two components; `None` where edges are as they were.
    pub parallel: Option<u64>,
}

/// Outcome of a run, of which values are bytes.
pub(crate) struct StepsOutcome {
    pub(crate) values: Buffer<u8>,
    pub(crate) passes: u64,
    /// Each generation that was made of the edges that were left.
    pub(crate) left: Vec<Generation>,
}

/// A step in which edges are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Showing {
    /// When edges can be candidates again in it.
    pub(crate) again: RevisitPolicy,
    /// Whether a few edges of each vertex are shown, and the others in the next pass.
    pub(crate) few: bool,
    /// Passes so far, with this one.
    pub(crate) passes: u64,
}

/// Edges of a stream program, wherever they are.
pub(crate) trait Passes {
    fn kernel(&self) -> &dyn StreamKernel;

    fn kernel_mut(&mut self) -> &mut dyn StreamKernel;

    /// Shows edges that may be candidates.
    fn show(&mut self, step: Showing) -> Result<(), EngineError>;

    /// Hands over all edges that are candidates.
    fn rest(&mut self, step: Showing) -> Result<(), EngineError>;

    /// Places of vertices that are finalized.
    fn places(&self) -> usize;

    /// Called when vertices were finalized.
    fn finalized(&mut self) {}

    /// Counts since they were asked for last.
    fn stats(&mut self) -> StepStats<()>;

    /// Whether the run ends without an answer after a step in which this was seen.
    fn falls_back(&mut self, _seen: &StepStats<()>, _passes: u64) -> Result<bool, EngineError> {
        Ok(false)
    }

    /// Called at the end of a pass, when what comes next is known.
    fn passed(&mut self, _passes: u64) -> Result<(), EngineError> {
        Ok(())
    }
}

/// Makes steps, after as many passes as were made before, to the end. Number of all passes; `None`
/// where the run gives up.
pub(crate) fn make_steps(
    context: &Context<'_>,
    run: &mut dyn Passes,
    before: u64,
) -> Result<Option<u64>, EngineError> {
    let Context { graph, workers, progress, .. } = *context;
    let mut passes = before;
    loop {
        let step = run.kernel().step();
        let is_pass = matches!(step, Next::Pass(_) | Next::FinishInMemory(_));
        if is_pass {
            check_limit(run.kernel().limit(), graph, passes)?;
            passes += 1;
        }
        match step {
            Next::SamplePass(again) => run.show(Showing { again, few: true, passes })?,
            Next::Pass(again) => run.show(Showing { again, few: false, passes })?,
            Next::FinishInMemory(again) => run.rest(Showing { again, few: false, passes })?,
            Next::Finalize(_) => {
                state::finalize(run.kernel(), run.places(), (workers, progress))?;
                run.finalized();
            }
            Next::Stop => return Ok(Some(passes)),
        }
        let stats = run.stats();
        if run.falls_back(&stats, passes)? {
            return Ok(None);
        }
        run.kernel_mut().end_step(stats)?;
        if is_pass {
            run.passed(passes)?;
        }
    }
}
