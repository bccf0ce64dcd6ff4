//! The end of a run that takes longer than its program does on any graph: edges that contradict a
//! graph, or a program that is wrong, would let it run for ever.

use welter_model::limit::Limit;

use crate::EngineError;
use crate::edges::graph::Graph;

/// Refuses to begin another iteration, or pass, after as many as its limit allows.
pub(crate) fn check_limit(limit: Limit, graph: &Graph, iterations: u64) -> Result<(), EngineError> {
    if iterations < limit.iterations(graph.vertices()) {
        return Ok(());
    }
    Err(match limit {
        Limit::Stated(_) => EngineError::internal("a program exceeds the iterations it was given"),
        Limit::Proved { invariant, .. } => EngineError::Invariant(invariant),
    })
}
