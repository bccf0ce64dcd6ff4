//! Graphs that stay in their input.
//!
//! Such a graph knows its vertices, which a first reading of the input tells, and where its edges
//! come from. Programs read these once more, or a graph is made of them after all.

use std::sync::{OnceLock, PoisonError, RwLock};

use welter_model::edges::{Batch, EdgeStream, Pair, Reading};
use welter_model::ids::IdMap;
use welter_progress::{Phase, Progress, Unit};

use crate::EngineError;
use crate::edges::graph::{Graph, Input};
use crate::edges::out_edges::Noting;
use crate::footprints::schedules::REST_BYTES;
use crate::ingest::marks::Marks;
use crate::ingest::survey::{self, first_beyond};
use crate::kernels::vertices::Vertices;
use crate::machine::per_worker::PerWorker;
use crate::machine::workers::Workers;
use crate::plan::Plan;

/// Hands the edges of some parts to `visit`, a batch at a time, with what belongs to the worker and
/// to the part. `parts`: their numbers, and that.
pub(crate) fn read<S: Send, P: Send>(
    (stream, slots): (&dyn EdgeStream, u64),
    parts: impl IntoIterator<Item = (usize, P), IntoIter: Send>,
    states: &mut PerWorker<S>,
    (workers, progress, phase): (&Workers, &Progress, &Phase),
    visit: impl Fn(&mut S, &mut P, &Batch<'_>) + Sync,
) -> Result<(), EngineError> {
    workers.for_each(parts, progress, states, |state, (part, mut own)| {
        let mut wrong = None;
        stream.read(part, &mut |batch| {
            wrong = first_beyond(&batch, slots);
            if wrong.is_none() {
                visit(state, &mut own, &batch);
            }
            phase.add(batch.pairs.len() as u64);
            wrong.is_none() && !progress.cancelled()
        })?;
        wrong.map_or(Ok(()), |vertex| Err(EngineError::Vertex { vertex, slots }))
    })
}

/// Counts and marks of a worker in the first reading of the edges.
#[derive(Default)]
struct FirstReading {
    marks: Marks,
    loops: u64,
    /// Edges of parts.
    parts: Vec<(usize, u64)>,
    /// Edges that a search begins with.
    begun: Vec<Pair>,
}

/// The graph of a stream that the plan wants to be left where it is. `begins`: slots that a search
/// will begin at.
pub(super) fn leave(
    (stream, begins): (Box<dyn EdgeStream>, &[u64]),
    ids: &IdMap,
    reading: Reading,
    plan: &Plan,
    (workers, progress): (&Workers, &Progress),
) -> Result<Graph, EngineError> {
    // Memory that the plan does not need keeps the beginning of the input for the passes that
    // follow.
    stream.spare_memory(plan.free_bytes());
    let noting = Noting::new(begins, reading, plan.free_bytes() / REST_BYTES);
    let slots = survey::slots(&*stream, workers, progress)?;
    let marked = if ids.all_present() { 0 } else { slots };
    let found = first_reading((&*stream, slots), marked, &noting, (workers, progress))?;
    let (mut marks, mut loops, mut edges) = (Marks::default(), 0, vec![0; stream.parts()]);
    let mut begun = Vec::new();
    for found in found {
        loops += found.loops;
        found.parts.iter().for_each(|(part, more)| edges[*part] += more);
        begun.push(found.begun);
        if marks.is_empty() {
            marks = found.marks;
        } else {
            marks.merge(&found.marks);
        }
    }
    let vertices =
        if marked > 0 { Vertices::of_bitmap(marks.into_words()) } else { Vertices::all(slots) };
    let others = stream.edges() - loops;
    let arcs = others * if reading.undirected { 2 } else { 1 };
    let begun = noting.into_begun(begun.into_iter());
    let (stream, made) = (RwLock::new(Some(stream)), OnceLock::new());
    Ok(Graph {
        edges: arcs + if reading.drop_self_loops { 0 } else { loops },
        symmetric: reading.both_ways(),
        input: Some(Input { stream, made, reading, edges, begun }),
        ..Graph::without_edges((vertices, ids.others()), plan, workers.arena())?
    })
}

/// Reads all edges once: counts, notes and, of `marked` slots, marks of each worker.
fn first_reading(
    of: (&dyn EdgeStream, u64),
    marked: u64,
    noting: &Noting,
    (workers, progress): (&Workers, &Progress),
) -> Result<PerWorker<FirstReading>, EngineError> {
    let mut states = workers.per_worker(|| {
        Ok(FirstReading { marks: Marks::new(marked)?, ..FirstReading::default() })
    })?;
    let phase = progress.phase("mark", Unit::Edges, Some(of.0.edges()));
    let parts = (0..of.0.parts()).map(|part| (part, part));
    read(of, parts, &mut states, (workers, progress, &phase), |found, part, batch| {
        if marked > 0 {
            for slot in batch.pairs.as_flattened() {
                found.marks.set(*slot);
            }
        }
        found.loops +=
            batch.pairs.iter().filter(|[source, target]| source == target).count() as u64;
        found.parts.push((*part, batch.pairs.len() as u64));
        noting.note(&mut found.begun, batch.pairs);
    })?;
    Ok(states)
}

impl Graph {
    /// This graph, made of the input in which it stayed, as is planned for when passes over that
    /// turn out to be too many. The input is gone then.
    ///
    /// # Errors
    /// As [`Graph::ingest`], and when nothing is planned for that.
    pub fn make(
        &self,
        ids: &IdMap,
        workers: &Workers,
        progress: &Progress,
    ) -> Result<&Self, EngineError> {
        let Some(input) = &self.input else { return Ok(self) };
        if let Some(made) = input.made() {
            return Ok(made);
        }
        let stream = input.stream.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some((stream, plan)) = stream.zip(self.plan.instead()) else {
            let what = "nothing is planned for a graph that is made after all";
            return Err(EngineError::internal(what));
        };
        let made = Self::ingest(stream, ids, input.reading, plan, workers, progress)?;
        Ok(input.made.get_or_init(|| Box::new(made)))
    }
}
