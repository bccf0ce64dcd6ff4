//! Core numbers by peeling: each vertex with `k` neighbours left, or fewer, leaves, for `k` = 0, 1,
//! ... (Kabir and Madduri, Parallel k-core decomposition on multicore platforms, 2017.)
//!
//! Each vertex leaves once and updates its row then, so each edge is looked at once from either
//! end. That takes rows; where there is no room for them core numbers are made by a group program,
//! which reads edges in passes and looks at each many times.
//!
//! The list of remaining vertices is looked through once for each `k`: as often as a vertex has
//! core numbers below its own, which add up to no more than the edges from either end.
//!
//! Invariant: `left` of a vertex that left is its core number, and the thread that brought it down
//! to `k` is the only one to have it leave. So the answer is the same for any number of threads.
//! Tested by `core_numbers_are_those_of_peeling` and `many_leave_at_a_time`.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use welter_model::program::Value;
use welter_progress::{Phase, Progress, Unit};

use crate::EngineError;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::edges::row_layout::out_rows;
use crate::edges::rows::View;
use crate::kernels::kernel::fetch;
use crate::machine::arena::Buffer;
use crate::machine::per_worker::PerWorker;
use crate::machine::workers::Workers;

/// Shares that each worker takes of those who leave at a time.
const SHARES: usize = 16;
/// Edges that a worker looks at before what is left of its share is shared again.
const EDGES: usize = 1 << 18;
/// Edges that one thread looks at before others are woken.
const EDGES_ALONE: usize = 1 << 13;
/// Vertices, and edges, between asking memory for what they need and looking at it.
const AHEAD: usize = 8;

/// Makes the values of all vertices of their core numbers; `None` where the plan has no rows.
///
/// # Errors
/// When the graph was not read as undirected, memory runs out, a chunk is damaged, or the run is
/// cancelled.
pub fn peel<V: Value>(
    graph: &Graph,
    workers: &Workers,
    progress: &Progress,
    value: impl Fn(u32) -> V,
) -> Result<Option<Values<V>>, EngineError> {
    if !graph.plan.index().has_rows() {
        return Ok(None);
    }
    if !graph.symmetric {
        let what = "core numbers take a graph that was read as undirected";
        return Err(EngineError::Unsupported(what.to_owned()));
    }
    let phase = progress.phase("peel", Unit::Vertices, Some(graph.vertices()));
    let rows = out_rows(graph, workers, progress)?.view();
    let mut left = Buffer::<AtomicU32>::zeroed(graph.degrees.len())?;
    for (left, &degree) in left.iter_mut().zip(&*graph.degrees) {
        *left.get_mut() = degree;
    }
    let mut queues = workers.per_worker(|| Ok(Vec::new()))?;
    rounds(&left, &phase, |core, leaving| {
        if progress.cancelled() {
            return Err(EngineError::Cancelled);
        }
        Shell { rows, left: &left, core }.leave(leaving, workers, progress, &mut queues)
    })?;
    let mut values = Buffer::zeroed(left.len())?;
    for (value_of, left) in values.iter_mut().zip(&*left) {
        *value_of = value(left.load(Relaxed));
    }
    Ok(Some(Values::resident(values)))
}

/// Goes through the vertices that are left until none is, and says in how many rounds. `leave`
/// receives a core number, and the vertices that have this number of neighbours left.
///
/// Vertices that leave are out of the list, and a round in which none does finds a number at which
/// some will: two rounds a vertex at most, whatever `leave` does to the others. So this needs no
/// other limit, and ends for edges that no graph has.
fn rounds(
    left: &[AtomicU32],
    phase: &Phase,
    mut leave: impl FnMut(u32, Vec<u32>) -> Result<(), EngineError>,
) -> Result<u64, EngineError> {
    let mut rest: Vec<u32> = (0..left.len() as u32).collect();
    let (mut core, mut rounds) = (0, 0);
    while !rest.is_empty() {
        rounds += 1;
        let before = rest.len();
        let (mut leaving, mut least) = (Vec::new(), u32::MAX);
        rest.retain(|&vertex| {
            let left = left[vertex as usize].load(Relaxed);
            if left == core {
                leaving.push(vertex);
            } else if left > core {
                least = least.min(left);
            }
            left > core
        });
        phase.add((before - rest.len()) as u64);
        if leaving.is_empty() {
            core = least.max(core + 1);
        } else {
            leave(core, leaving)?;
            core += 1;
        }
    }
    Ok(rounds)
}

/// Properties that all vertices share which leave at a time.
struct Shell<'a> {
    rows: View<'a>,
    /// Neighbours that each vertex has left, or had when it left.
    left: &'a [AtomicU32],
    core: u32,
}

impl Shell<'_> {
    /// Lets some vertices leave, and those whom that leaves with too few neighbours.
    fn leave(
        &self,
        mut leaving: Vec<u32>,
        workers: &Workers,
        progress: &Progress,
        queues: &mut PerWorker<Vec<u32>>,
    ) -> Result<(), EngineError> {
        while !leaving.is_empty() {
            // Waking others takes as long as a few edges.
            self.drain(&mut leaving, EDGES_ALONE);
            if leaving.is_empty() {
                break;
            }
            let share = leaving.len().div_ceil(SHARES * workers.threads());
            workers.for_each(leaving.chunks(share), progress, &mut *queues, |queue, share| {
                queue.extend_from_slice(share);
                self.drain(queue, EDGES);
                Ok(())
            })?;
            leaving.clear();
            for queue in &mut *queues {
                leaving.append(queue);
            }
        }
        Ok(())
    }

    /// Lets the vertices of a queue leave, and those whom that leaves with too few neighbours,
    /// until there are none or `edges` edges were looked at.
    fn drain(&self, queue: &mut Vec<u32>, edges: usize) {
        let (mut first, mut looked) = (0, 0);
        while looked < edges && first < queue.len() {
            let vertex = queue[first];
            if let Some(&ahead) = queue.get(first + 2 * AHEAD) {
                self.rows.fetch_start(ahead);
            }
            if let Some(&ahead) = queue.get(first + AHEAD) {
                self.rows.fetch_row(ahead);
            }
            first += 1;
            for (end, ahead) in self.rows.ends_ahead(vertex, AHEAD) {
                fetch(self.left, ahead as usize);
                let stays = |left: u32| (left > self.core).then(|| left - 1);
                let degree_before = self.left[end as usize].fetch_update(Relaxed, Relaxed, stays);
                if degree_before == Ok(self.core + 1) {
                    queue.push(end);
                }
                looked += 1;
            }
        }
        queue.drain(..first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of vertices with these degrees; `wrong` is what becomes of others when some leave.
    fn rounds_of(degrees: &[u32], wrong: impl Fn(u32) -> u32) -> u64 {
        let left: Vec<AtomicU32> = degrees.iter().map(|&degree| degree.into()).collect();
        let phase = Progress::new().phase("peel", Unit::Vertices, None);
        let mut gone = 0;
        let rounds = rounds(&left, &phase, |_, leaving| {
            gone += leaving.len();
            for left in &left {
                left.store(wrong(left.load(Relaxed)), Relaxed);
            }
            Ok(())
        });
        assert!(gone <= degrees.len());
        rounds.ok().unwrap()
    }

    #[test]
    fn no_edges_let_it_go_on_for_ever() {
        let degrees: Vec<u32> = (0..1000).map(|vertex| vertex * 7 % 613).collect();
        let most = 2 * degrees.len() as u64;
        // Degrees of the vertices that stay: unchanged, ever larger, and ever others.
        assert!(rounds_of(&degrees, |left| left) <= most);
        assert!(rounds_of(&degrees, |left| left.saturating_add(1) % (1 << 30)) <= most);
        assert!(rounds_of(&degrees, |left| left.wrapping_mul(0x9e37_79b1) >> 4) <= most);
        assert_eq!(rounds_of(&[5, 5, 5], |left| left), 2);
        assert_eq!(rounds_of(&[], |left| left), 0);
    }
}
