//! The iteration driver, route `fold`: scatter, gather and apply in one pass over the chunks.
//!
//! Each iteration is *dense* or *sparse*. In a dense one a worker takes a stripe, folds all its
//! edges into its own accumulators, and applies them while they are in the cache; values change in
//! place, and signals have two columns that swap roles, because other stripes still read what this
//! one said last. Of a stripe that no active source reaches a monotone program leaves the values
//! alone, wherever they lie, and what it said last is copied. A monotone program whose active
//! vertices have few edges gets sparse iterations, which touch only what is reached: by bands
//! ([`crate::schedules::sparse`]) or, where there are rows, by these ([`crate::schedules::push`]).
//! Where one update is enough for a vertex and there are rows of its sources, vertices look for it
//! themselves instead of a dense iteration ([`crate::schedules::pull`]).

use bytemuck::{bytes_of, pod_read_unaligned};
use welter_model::program::{Next, Program};
use welter_progress::{Phase, Progress};

use crate::EngineError;
use crate::checkpoint::must_relax;
use crate::checkpoint::{self, Checkpoints, Reached, Resident};
use crate::columns::outcome::Outcome;
use crate::columns::state::State;
use crate::columns::totals::Totals;
use crate::edges::graph::Graph;
use crate::edges::index::IndexedTiles;
use crate::kernels::kernel::Scratch;
use crate::machine::workers::Workers;
use crate::schedules::dense::Driver;
use crate::schedules::fixpoint::{self, Cut};
use crate::schedules::frontier::Frontier;
use crate::schedules::limit::check_limit;
use crate::schedules::lookups::Lookups;
use crate::schedules::pull;
use crate::schedules::push;
use crate::schedules::regroup::Regroup;
use crate::schedules::sparse;

/// Runs a program on a graph whose signals are in memory.
///
/// # Errors
/// As [`crate::run_resumable`].
pub(crate) fn run<P: Program>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
    phase: &Phase,
    checkpoints: Option<&Checkpoints>,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let by_rows = P::MONOTONE && graph.out_rows.get().is_some();
    if P::FRONTIER && graph.index.is_none() && graph.stored.is_none() && !by_rows {
        let what = "the graph was ingested for programs that need no index of bands";
        return Err(EngineError::internal(what));
    }
    let index = graph.index.as_ref().filter(|_| P::FRONTIER);
    let tiles = index.map(|index| IndexedTiles::new::<P>(graph, index)).transpose()?;
    let scratches = workers.states(|| Ok(Scratch::new()))?;
    let driver = Driver { graph, program, workers, progress, tiles, scratches };
    let mut state = State::<P>::new(graph, workers.storage())?;
    let mut lookups = Lookups::new::<P>(graph);
    let reached = match checkpoints {
        Some(checkpoints) => {
            checkpoints.check_space::<P>(graph)?;
            let columns = Resident::new(graph, program, &mut state)?;
            checkpoint::restore::<P>(checkpoints, graph, columns)?
        }
        None => None,
    };
    let out_of_step = reached.as_ref().is_some_and(Reached::out_of_step);
    let (mut totals, mut levels, mut iterations) = match reached {
        Some(Reached { iterations, totals, levels, active, lookups: counts }) => {
            state.active_count = active;
            lookups.resume(counts, workers, progress)?;
            phase.add(iterations);
            (totals, levels, iterations)
        }
        None => (Totals::of(bytes_of(&driver.init(&mut state)?)), Vec::new(), 0),
    };
    let mut total: P::Total = pod_read_unaligned(totals.last());
    let mut frontier = Frontier::new(state.active_count);
    // Accumulators of a stripe: a search by rows never needs them.
    let mut benches = Vec::new();
    let mut regroup = Regroup::new::<P>(graph, workers, progress)?;
    let mut due = fixpoint::due(graph, program, out_of_step);
    let must = must_relax::<P>(out_of_step);
    let mut looked = 0;
    while must || program.next(iterations, &total) == Next::Iterate && state.active_count > 0 {
        if progress.cancelled() {
            return Err(EngineError::Cancelled);
        }
        check_limit(program.limit(), graph, iterations)?;
        // Capabilities come first: what follows a false one is not compiled for that program.
        if P::RELAXES && due.is_some_and(|due| looked >= due) {
            if let Some(cut) = Cut::new(graph, &state, must)? {
                drop(benches);
                let (active, lookups) = (state.active_count, lookups.counts());
                let reached = Reached { iterations, totals, levels, active, lookups };
                return fixpoint::finish(&driver, &cut, state, reached, phase, checkpoints);
            }
            due = None;
        }
        let level;
        let selected = if lookups.out_rows.is_some() || driver.tiles.is_some() {
            frontier.select(graph, program, &mut state, lookups.edges_most())
        } else {
            None
        };
        if selected.is_none() && lookups.out_rows.is_some() {
            frontier.show(program, &mut state);
        }
        (total, level) = match (selected, lookups.out_rows, &driver.tiles) {
            (Some(selected), Some(rows), _) if P::MONOTONE => {
                push::iterate(&driver, rows.view(), &mut state, &mut frontier, &selected, &total)?
            }
            (Some(selected), None, Some(tiles)) if P::FRONTIER => {
                lookups.count::<P>(&selected, workers, progress)?;
                sparse::iterate(&driver, tiles, &mut state, &mut frontier, &selected, &total)?
            }
            _ => match lookups.in_rows {
                Some(rows) if P::ONE_IS_ENOUGH => {
                    pull::iterate(&driver, rows.view(), &mut state, &mut frontier, &total)?
                }
                _ => {
                    let benches = (&mut benches, &mut regroup);
                    let (done, bytes) = driver.meet_all(&mut state, &total, benches)?;
                    frontier.scattered_all(state.active_count);
                    looked += bytes;
                    lookups.pass::<P>(done.1, workers, progress)?;
                    done
                }
            },
        };
        if P::FRONTIER {
            level.note(&mut levels);
        }
        totals.note(bytes_of(&total));
        iterations += 1;
        phase.add(1);
        let looked_up = P::FRONTIER || regroup.is_some();
        phase.add_bytes(if looked_up { level.edges * 4 } else { graph.chunk_bytes() });
        if let Some(checkpoints) = checkpoints.filter(|all| all.is_due::<P>(iterations, graph)) {
            frontier.show(program, &mut state);
            let (active, lookups) = (state.active_count, lookups.counts());
            let reached = Reached { iterations, totals, levels, active, lookups };
            checkpoint::write::<P>(checkpoints, graph, state.columns(graph), &reached)?;
            (totals, levels) = (reached.totals, reached.levels);
        }
    }
    drop(benches);
    let (values, totals) = (state.into_values(graph), totals.into_listed());
    Ok(Outcome { values, iterations, total, totals, levels })
}
