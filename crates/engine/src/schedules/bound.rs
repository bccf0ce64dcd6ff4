//! Iterations beyond those that any graph takes: edges that contradict a graph end a run.

use welter_model::program::Program;

use crate::EngineError;
use crate::edges::graph::Graph;

/// Ends a run that goes on for longer than any graph lets it. Where edges may be relaxed in any
/// order, whoever waits with the smallest value is done once its edges were, so vertices are as
/// many as iterations at least; those that a checkpoint tells again are told once.
pub(crate) fn check_bound<P: Program>(graph: &Graph, iterations: u64) -> Result<(), EngineError> {
    if P::RELAXES && iterations > 2 * graph.vertices() + 64 {
        let what = "each iteration settles the smallest value of those that wait";
        return Err(EngineError::Invariant(what));
    }
    Ok(())
}
