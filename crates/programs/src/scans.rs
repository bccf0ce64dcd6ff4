//! Input scans: programs that meet each edge once, in the input itself.

use welter_algorithms::Conductance;
use welter_algorithms::spmv::Product;
use welter_engine::{EngineError, Graph, Outcome, Workers, count};
use welter_model::input_scan::InputScan;
use welter_progress::Progress;

/// An input scan that is compiled.
pub trait CompiledScan: InputScan + Sized {
    /// Runs it on a graph that stays in its input, as [`count`] does.
    ///
    /// # Errors
    /// As there.
    fn scan(
        &self,
        graph: &Graph,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<Outcome<Self::Value, Self::Total>, EngineError>;
}

macro_rules! compiled {
    ($($program:ty),* $(,)?) => {$(
        impl CompiledScan for $program {
            #[inline(never)]
            fn scan(
                &self,
                graph: &Graph,
                workers: &Workers,
                progress: &Progress,
            ) -> Result<Outcome<Self::Value, Self::Total>, EngineError> {
                count(graph, self, workers, progress)
            }
        }
    )*};
}

compiled!(Conductance<u32>, Product<f32>, Product<f64>);
