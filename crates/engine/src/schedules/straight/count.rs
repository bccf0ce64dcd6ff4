//! Straight programs on a graph that stays in its input.
//!
//! The input is read some parts at a time. The worker that reads a part puts what its edges tell
//! into boxes, one for each range of slots; then the ranges are shared, and its worker empties
//! its boxes in the order of the parts. So each vertex is told in the order of the input, whatever
//! the number of workers, there is one column and no atomic operation, and a range stays in the
//! second-level cache while it is told.
//!
//! Invariant: a range's slots belong to one worker at a time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock, RwLockWriteGuard};

use welter_model::edges::EdgeStream;
use welter_model::program::Total;
use welter_model::straight::Straight;
use welter_progress::{Progress, Unit};

use super::boxes::{Boxes, Cut};
use super::{read, results};
use crate::EngineError;
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::edges::graph::Graph;
use crate::edges::graph::Input;
use crate::machine::arena::Buffer;
use crate::machine::sync::lock;
use crate::machine::workers::Workers;
use crate::plan::PART_BYTES;

impl Input {
    /// Parts whose edges go into boxes together: as many as workers may have at a time, by what
    /// was planned for each, and one at least.
    fn wave(&self, first: usize, threads: usize) -> Range<usize> {
        let room = (threads * PART_BYTES / size_of::<[u32; 2]>()) as u64;
        let (mut end, mut taken) = (first, 0);
        while let Some(edges) = self.edges.get(end) {
            if end > first && taken + edges > room {
                break;
            }
            (end, taken) = (end + 1, taken + edges);
        }
        first..end
    }
}

/// Runs a straight program on a graph that stays in its input.
///
/// # Errors
/// When the graph was made of its input ([`is_straight`](crate::plan::Plan::is_straight) says so),
/// the input cannot be read, or the run is cancelled.
pub fn count<P: Straight>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let Some(input) = &graph.input else {
        let what = "a straight program wants a graph that stays in its input";
        return Err(EngineError::internal(what));
    };
    input.with(|stream| count_of((graph, input, stream), program, workers, progress))
}

fn count_of<P: Straight>(
    (graph, input, stream): (&Graph, &Input, &dyn EdgeStream),
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let slots = graph.slots();
    let cut = Cut::of(slots);
    let mut accums = Buffer::<P::Accum>::zeroed(slots as usize)?;
    let ranges: Vec<_> = accums.chunks_mut(cut.width()).map(Mutex::new).collect();
    let idle = workers.states(|| Ok(()))?;
    let phase = progress.phase("count", Unit::Edges, Some(stream.edges()));
    let mut total = P::Total::default();
    let mut boxes: Vec<RwLock<Boxes<P>>> = Vec::new();
    let ways = if input.reading.undirected { 2 } else { 1 };
    let mut parts = 0..0;
    while parts.end < stream.parts() {
        parts = input.wave(parts.end, workers.threads());
        boxes.resize_with(boxes.len().max(parts.len()), || RwLock::new(Boxes::new(cut)));
        for (boxes, edges) in boxes.iter().zip(&input.edges[parts.clone()]) {
            held(boxes).reserve(*edges as usize * ways);
        }
        let (of, tools) = ((stream, slots), (workers, progress, &phase));
        read(of, parts.clone(), &idle, tools, |(), part, batch| {
            held(&boxes[part - parts.start]).put(program, input.reading, batch);
        })?;
        let full = &boxes[..parts.len()];
        workers.tasks(ranges.len(), progress, &idle, |(), range| {
            let accums = &mut *lock(&ranges[range]);
            for boxes in full {
                boxes.read().unwrap_or_else(PoisonError::into_inner).tell(program, range, accums);
            }
            Ok(())
        })?;
        total = full.iter().fold(total, |total, part| total.merge(held(part).emptied(program)));
    }
    drop((boxes, ranges, phase));
    let value = |slot: u32| program.value(slot, accums[slot as usize]);
    let (values, of_vertices) = results(graph, (workers, progress), value)?;
    let (values, total) = (Values::resident(values), total.merge(of_vertices));
    let totals = vec![P::Total::default(), total];
    Ok(Outcome { values, iterations: 1, total, totals, levels: Vec::new() })
}

/// Boxes that nobody else has.
fn held<P: Straight>(boxes: &RwLock<Boxes<P>>) -> RwLockWriteGuard<'_, Boxes<P>> {
    boxes.write().unwrap_or_else(PoisonError::into_inner)
}
