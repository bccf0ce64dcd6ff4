//! Programs that contract the graph, on a cluster.

use std::sync::Arc;

use welter_algorithms::{ForestContraction, LocalContraction, StrongContraction};
use welter_engine::EngineError;
use welter_model::contract::Contract;
use welter_worker::{ContractWorker, Input, Partitioning, Worker};

/// A program that contracts and is compiled.
pub trait CompiledContraction: Contract + Send + Sized + 'static {
    /// The worker of a machine that reads this share of a graph of this number, as
    /// [`ContractWorker::new`] makes it.
    ///
    /// # Errors
    /// As there.
    fn worker(
        program: Arc<Self>,
        cut: Partitioning,
        graph: u64,
        input: Box<dyn Input>,
    ) -> Result<Box<dyn Worker>, EngineError>;
}

macro_rules! compiled {
    ($($program:ty),* $(,)?) => {$(
        impl CompiledContraction for $program {
            #[inline(never)]
            fn worker(
                program: Arc<Self>,
                cut: Partitioning,
                graph: u64,
                input: Box<dyn Input>,
            ) -> Result<Box<dyn Worker>, EngineError> {
                Ok(Box::new(ContractWorker::new(program, cut, graph, input)?))
            }
        }
    )*};
}

compiled!(ForestContraction, LocalContraction, StrongContraction);
