//! Programs whose edges have states.

use std::sync::Arc;

use welter_algorithms::SumProduct;
use welter_engine::chunks::ExtendedKernel;
use welter_engine::{Checkpoints, EngineError, Graph, Outcome, Workers, extend_resumable};
use welter_model::extended::Extended;
use welter_progress::Progress;

/// An extended program that is compiled.
pub trait CompiledExtended: Extended + Send + Sized + 'static {
    /// Runs it on a graph, as [`extend_resumable`] does.
    ///
    /// # Errors
    /// As there.
    fn run(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
        checkpoints: Option<&Checkpoints>,
    ) -> Result<Outcome<Self::Value, Self::Total>, EngineError>;

    /// Kernel of the program, for workers of a cluster.
    fn kernel(program: Arc<Self>) -> ExtendedKernel;
}

compiled_on_graphs!(
    CompiledExtended, extend_resumable, ExtendedKernel:
    SumProduct<2, 1>, SumProduct<3, 2>, SumProduct<4, 3>, SumProduct<8, 7>
);
