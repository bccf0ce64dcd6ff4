//! Stream programs: passes over a graph, from their last checkpoint, or over the input.

use welter_algorithms::{Levels, Mcst, Scc, Wcc};
use welter_engine::{
    Checkpoints, EngineError, Graph, StreamOutcome, Workers, pass, pass_over, pass_resumable,
};
use welter_model::checkpointable::Checkpointable;
use welter_model::stream::{OverInput, Stream};
use welter_progress::Progress;

/// A stream program that is compiled.
pub trait CompiledStream: Stream + Sized {
    /// Runs it on a graph, as [`welter_engine::pass`] does.
    ///
    /// # Errors
    /// As there.
    fn pass(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<StreamOutcome<Self::Value>, EngineError>;
}

/// A stream program that is compiled, with its checkpoints.
pub trait CompiledPasses: Checkpointable + Sized {
    /// Runs it on a graph, as [`pass_resumable`] does.
    ///
    /// # Errors
    /// As there.
    fn pass_resumable(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<StreamOutcome<Self::Value>, EngineError>;
}

/// A stream program that is compiled for passes over the input.
pub trait CompiledOverInput: OverInput + Sized {
    /// Runs it on a graph that stays in its input, as [`pass_over`] does.
    ///
    /// # Errors
    /// As there.
    fn pass_over(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Option<StreamOutcome<Self::Value>>, EngineError>;
}

impl CompiledStream for Wcc {
    #[inline(never)]
    fn pass(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<StreamOutcome<Self::Value>, EngineError> {
        pass(graph, self, workers, progress)
    }
}

macro_rules! passes {
    ($($program:ty),* $(,)?) => {$(
        impl CompiledPasses for $program {
            #[inline(never)]
            fn pass_resumable(
                &self,
                graph: &Graph,
                workers: &Workers,
                progress: &Progress,
                checkpoints: Option<&Checkpoints>,
            ) -> Result<StreamOutcome<Self::Value>, EngineError> {
                pass_resumable(graph, self, workers, progress, checkpoints)
            }
        }
    )*};
}

macro_rules! over_input {
    ($($program:ty),* $(,)?) => {$(
        impl CompiledOverInput for $program {
            #[inline(never)]
            fn pass_over(
                &self,
                graph: &Graph,
                workers: &Workers,
                progress: &Progress,
            ) -> Result<Option<StreamOutcome<Self::Value>>, EngineError> {
                pass_over(graph, self, workers, progress)
            }
        }
    )*};
}

passes!(Mcst, Scc);
over_input!(Levels, Wcc);
