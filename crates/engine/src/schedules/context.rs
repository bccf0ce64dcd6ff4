//! The context that all schedules of a run are given.

use welter_progress::{Phase, Progress};

use crate::EngineError;
use crate::checkpoint::Checkpoints;
use crate::edges::graph::Graph;
use crate::machine::workers::Workers;

/// The graph, workers and progress of a run, and its checkpoints, if it keeps any.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) workers: &'a Workers,
    pub(crate) progress: &'a Progress,
    pub(crate) phase: &'a Phase,
    pub(crate) checkpoints: Option<&'a Checkpoints>,
}

impl Context<'_> {
    /// Ends a run that was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<(), EngineError> {
        if self.progress.cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}
