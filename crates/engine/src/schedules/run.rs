//! Running a program, by whatever route its plan says.

use welter_model::program::Program;
use welter_progress::{Progress, Unit};

use super::{iterate, ranges, spill};
use crate::EngineError;
use crate::checkpoint::Checkpoints;
use crate::columns::outcome::Outcome;
use crate::edges::graph::Graph;
use crate::machine::affinity::OwnCores;
use crate::machine::workers::Workers;
use crate::plan::Streamed;

/// Runs a program on a graph.
///
/// # Errors
/// When the program has a frontier and the graph has no index that serves it, when memory runs out,
/// storage fails, a chunk is damaged, or the run is cancelled.
pub fn run<P: Program>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    run_resumable(graph, program, workers, progress, None)
}

/// Runs a program. Where there are checkpoints, the run begins at the last one, and writes more.
///
/// # Errors
/// As [`run`]; also when a checkpoint cannot be written or read, or belongs to another graph or
/// program.
pub fn run_resumable<P: Program>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    if graph.input.is_some() {
        let what = "the graph was planned for a straight program, and stayed in its input";
        return Err(EngineError::internal(what));
    }
    if checkpoints.is_some() {
        // They may be where bins were.
        workers.settle();
    }
    let phase = progress.phase("iterate", Unit::Iterations, program.limit().stated());
    let way = graph.plan.streamed();
    let tools = (workers, progress, &phase);
    let own_cores = OwnCores::new(workers, graph.is_streamed());
    let outcome = match way {
        None => iterate::run(graph, program, workers, progress, &phase, checkpoints),
        Some(Streamed::Ranges(plan)) => ranges::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Spill(plan)) => spill::run(graph, program, plan, tools, checkpoints),
        Some(Streamed::Rows(_)) => {
            let what = "the graph was planned for a program over triangles";
            return Err(EngineError::internal(what));
        }
    };
    drop(own_cores);
    // So may results.
    workers.settle();
    let Outcome { values, iterations, total, totals, levels } = outcome?;
    Ok(Outcome { values: values.rows()?, iterations, total, totals, levels })
}
