//! Programs over triangles.

use std::sync::Arc;

use welter_algorithms::{Lcc, Triangles};
use welter_engine::chunks::IntersectKernel;
use welter_engine::{EngineError, Graph, Values, Workers, intersect};
use welter_model::intersect::Intersect;
use welter_progress::Progress;

/// A program over triangles that is compiled.
pub trait CompiledTriangles: Intersect + Send + Sized + 'static {
    /// Runs it on a graph, as [`welter_engine::intersect`] does.
    ///
    /// # Errors
    /// As there.
    fn intersect(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Values<Self::Value>, EngineError>;

    /// Kernel of the program, for workers of a cluster.
    fn kernel(program: Arc<Self>) -> IntersectKernel;
}

macro_rules! compiled {
    ($($program:ty),* $(,)?) => {$(
        impl CompiledTriangles for $program {
            #[inline(never)]
            fn intersect(
                &self,
                graph: &Graph,
                workers: &Workers,
                progress: &Progress,
            ) -> Result<Values<Self::Value>, EngineError> {
                intersect(graph, self, workers, progress)
            }

            #[inline(never)]
            fn kernel(program: Arc<Self>) -> IntersectKernel {
                IntersectKernel::of(program)
            }
        }
    )*};
}

compiled!(Lcc, Triangles);
