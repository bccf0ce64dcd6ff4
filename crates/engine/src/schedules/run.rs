//! Running a program, by whatever route its plan says.

use bytemuck::{Pod, TransparentWrapper};
use welter_model::extended::Extended;
use welter_model::program::{Program, Value};
use welter_progress::{Progress, Unit};

use super::context::Context;
use super::dense::{self, Shortcuts};
use super::group_by_rows::GroupByRows;
use super::traversal::Monotone;
use super::{ranges, spill};
use crate::EngineError;
use crate::checkpoint::{Checkpoints, RunProgress};
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::columns::state::State;
use crate::columns::striped::StripedColumn;
use crate::edges::graph::Graph;
use crate::edges::index::IndexedTiles;
use crate::kernels::extension::Extension;
use crate::kernels::folded::Folded;
use crate::kernels::seam::AnyKernel;
use crate::machine::affinity::PinnedWorkers;
use crate::machine::workers::Workers;
use crate::plan::OutOfCore;

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
        let what = "the graph was planned for an input scan, and stayed in its input";
        return Err(EngineError::internal(what));
    }
    let any = AnyKernel::Fold(Folded::wrap_ref(program));
    let stated = program.limit().stated();
    let (reached, values) =
        by_route((graph, workers, progress, checkpoints), any, stated, &|context| {
            let by_rows = P::MONOTONE && graph.out_rows.get().is_some();
            if P::FRONTIER && graph.index.is_none() && graph.stored.is_none() && !by_rows {
                let what = "the graph was ingested for programs that need no index of bands";
                return Err(EngineError::internal(what));
            }
            let index = graph.index.as_ref().filter(|_| P::FRONTIER);
            let tiles = |index| IndexedTiles::new(graph, index, P::WEIGHTED);
            let tiles = index.map(tiles).transpose()?;
            let mut shortcuts = Shortcuts::default();
            // Code behind a false constant is not compiled for that program.
            if P::MONOTONE {
                let traversal = Monotone::new(context, program, tiles.as_ref());
                shortcuts.traversal = Some(Box::new(traversal));
            }
            if P::GROUPS
                && let Some(by_rows) = GroupByRows::new(context, program)?
            {
                shortcuts.by_rows = Some(Box::new(by_rows));
            }
            dense::run(context, any, tiles.as_ref(), shortcuts)
        })?;
    outcome(graph, reached, values)
}

/// Runs an extended program on a graph.
///
/// # Errors
/// When the program needs the reverse of each edge and the graph was not read as undirected, when
/// memory runs out, storage fails, a chunk is damaged, or the run is cancelled.
pub fn extend<E: Extended>(
    graph: &Graph,
    program: &E,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    extend_resumable(graph, program, workers, progress, None)
}

/// Runs an extended program. Where there are checkpoints, the run begins at the last one, and
/// writes more.
///
/// # Errors
/// As [`extend`]; also when a checkpoint cannot be written or read, or belongs to another graph,
/// program or plan.
pub fn extend_resumable<E: Extended>(
    graph: &Graph,
    program: &E,
    workers: &Workers,
    progress: &Progress,
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<E::Value, E::Total>, EngineError> {
    if E::SYMMETRIC && !graph.symmetric {
        let what = "the program needs the reverse of each edge, and the graph was not read as \
                    undirected";
        return Err(EngineError::Unsupported(what.to_owned()));
    }
    let any = AnyKernel::Extended(Extension::wrap_ref(program));
    let stated = program.limit().stated();
    let tools = (graph, workers, progress, checkpoints);
    let in_memory = |context: &Context<'_>| dense::run(context, any, None, Shortcuts::default());
    let (reached, values) = by_route(tools, any, stated, &in_memory)?;
    outcome(graph, reached, values)
}

/// A function that runs a kernel in memory.
type InMemory<'f> = dyn Fn(&Context<'_>) -> Result<(RunProgress, State), EngineError> + 'f;

/// Runs a kernel by the route of its plan, in memory by `in_memory`. `stated`: the number of
/// iterations, where it is known.
fn by_route(
    (graph, workers, progress, checkpoints): (&Graph, &Workers, &Progress, Option<&Checkpoints>),
    kernel: AnyKernel<'_>,
    stated: Option<u64>,
    in_memory: &InMemory<'_>,
) -> Result<(RunProgress, StripedColumn), EngineError> {
    if checkpoints.is_some() {
        // Checkpoints may lie on the device whose files of bins are still being closed.
        workers.wait_for_closed_files();
    }
    let phase = progress.phase("iterate", Unit::Iterations, stated);
    let context = Context { graph, workers, progress, phase: &phase, checkpoints };
    let pinned = PinnedWorkers::new(workers, graph.is_streamed());
    let ended = match graph.plan.out_of_core() {
        None => in_memory(&context).map(|(reached, state)| (reached, values(state, graph))),
        Some(OutOfCore::Ranges(plan)) => ranges::run(&context, kernel, plan)
            .map(|(reached, values)| (reached, StripedColumn::Storage(values))),
        Some(OutOfCore::Spill(plan)) => spill::run(&context, kernel, plan)
            .map(|(reached, values)| (reached, StripedColumn::Storage(values))),
        Some(OutOfCore::Triangles(_)) => {
            Err(EngineError::internal("the graph was planned for a program over triangles"))
        }
    };
    drop(pinned);
    // Results may be written where bins and states of edges were.
    workers.wait_for_closed_files();
    ended
}

/// The outcome of a run whose values these are.
fn outcome<V: Value, T: Pod>(
    graph: &Graph,
    reached: RunProgress,
    values: StripedColumn,
) -> Result<Outcome<V, T>, EngineError> {
    Ok(reached.outcome(Values::of(values, graph).rows()?))
}

/// The values of all vertices; all other columns go first.
fn values(state: State, graph: &Graph) -> StripedColumn {
    let State { values, signals, active, accums, .. } = state;
    if values.is_stored() {
        drop((signals, active, accums));
        graph.arena.drop_columns();
    }
    values
}
