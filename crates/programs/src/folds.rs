//! Fold programs, those that group included.

use std::sync::Arc;

use welter_algorithms::kcore::Core;
use welter_algorithms::{
    Als, BeliefPropagation, Bfs, BfsTree, Cdlp, Conductance, ForestLabels, HyperBall, KCore,
    LabelPropagation, Mis, MultigraphCore, PageRank, Spmv, Sssp, SsspTree, StrongLabels, Walk,
};
use welter_engine::chunks::FoldKernel;
use welter_engine::{
    Checkpoints, EngineError, Graph, Outcome, Values, Workers, peel as peel_as, run_resumable,
};
use welter_model::group::Grouped;
use welter_model::program::Program;
use welter_progress::Progress;

/// A fold program that is compiled.
pub trait CompiledFold: Program + Send + Sized + 'static {
    /// Runs it on a graph, as [`run_resumable`] does.
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
    fn kernel(program: Arc<Self>) -> FoldKernel;
}

compiled_on_graphs! {
    CompiledFold, run_resumable, FoldKernel:
    Als<4, 16>,
    Als<8, 46>,
    Als<16, 154>,
    BeliefPropagation<2>,
    BeliefPropagation<3>,
    BeliefPropagation<4>,
    BeliefPropagation<8>,
    Bfs,
    BfsTree,
    Conductance<f64>,
    Conductance<u32>,
    ForestLabels,
    Grouped<Cdlp>,
    Grouped<KCore>,
    Grouped<MultigraphCore>,
    HyperBall<16>,
    HyperBall<64>,
    HyperBall<256>,
    LabelPropagation,
    Mis,
    PageRank<f32>,
    PageRank<f64>,
    Spmv<f32>,
    Spmv<f64>,
    Sssp<f32>,
    Sssp<f64>,
    SsspTree,
    StrongLabels,
    Walk,
}

/// Core numbers of all vertices by peeling, as [`welter_engine::peel`] finds them.
///
/// # Errors
/// As there.
#[inline(never)]
pub fn peel(
    graph: &Graph,
    workers: &Workers,
    progress: &Progress,
) -> Result<Option<Values<Core>>, EngineError> {
    peel_as(graph, workers, progress, Core::of)
}
