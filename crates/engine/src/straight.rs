//! Graphs that stay in their input, and straight programs, which are run on them.
//!
//! Such a graph knows its vertices, which a first reading of the input tells, and where its edges
//! come from. A program reads them once more. Each worker counts in a column of its own, which
//! takes four bytes a slot and no atomic operation; the columns are added up at the end.

use std::ops::Range;
use std::sync::{Mutex, OnceLock};

use welter_model::edges::{Batch, EdgeStream, Reading};
use welter_model::ids::IdMap;
use welter_model::program::Total;
use welter_model::straight::Straight;
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::arena::Buffer;
use crate::graph::Graph;
use crate::iterate::Outcome;
use crate::marks::Marks;
use crate::plan::Plan;
use crate::renew::repeated;
use crate::results::Values;
use crate::state::Column;
use crate::survey::{self, first_beyond};
use crate::vertices::{SEGMENT_BITS, Vertices};
use crate::workers::{Workers, lock};

/// Segments of slots whose results are made at once.
const RUN: usize = 16;

/// Edges that are looked at before their targets are counted: which of them count is as good as
/// random, so it is added up and not branched on, and the counts are asked of memory side by side.
const TOGETHER: usize = 512;

/// Where the edges of a graph are that stays in its input.
pub(crate) struct Input {
    stream: Box<dyn EdgeStream>,
    reading: Reading,
}

impl Input {
    /// Hands edges to `visit`, a batch at a time, with what belongs to the worker.
    fn read<S: Send>(
        &self,
        (phase, slots): (&'static str, u64),
        states: &[Mutex<S>],
        (workers, progress): (&Workers, &Progress),
        visit: impl Fn(&mut S, &Batch<'_>) + Sync,
    ) -> Result<(), EngineError> {
        let phase = progress.phase(phase, Unit::Edges, Some(self.stream.edges()));
        workers.tasks(self.stream.parts(), progress, states, |state, part| {
            let mut wrong = None;
            self.stream.read(part, &mut |batch| {
                wrong = first_beyond(&batch, slots);
                if wrong.is_none() {
                    visit(state, &batch);
                }
                phase.add(batch.pairs.len() as u64);
                wrong.is_none() && !progress.cancelled()
            })?;
            wrong.map_or(Ok(()), |vertex| Err(EngineError::Vertex { vertex, slots }))
        })
    }
}

/// The graph of a stream that the plan wants to be left where it is.
pub(crate) fn leave(
    stream: Box<dyn EdgeStream>,
    ids: &IdMap,
    reading: Reading,
    plan: &Plan,
    tools: (&Workers, &Progress),
) -> Result<Graph, EngineError> {
    let (workers, progress) = tools;
    let slots = survey::slots(&*stream, workers, progress)?;
    let input = Input { stream, reading };
    let marked = if ids.all_present() { 0 } else { slots };
    let marks = workers.states(|| Ok((Marks::new(marked)?, 0_u64)))?;
    input.read(("mark", slots), &marks, tools, |(marks, loops), batch| {
        if marked > 0 {
            for slot in batch.pairs.as_flattened() {
                marks.set(*slot);
            }
        }
        *loops += batch.pairs.iter().filter(|[source, target]| source == target).count() as u64;
    })?;
    let mut all = (Marks::default(), 0);
    for worker in marks {
        let (marks, loops) = worker.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.1 += loops;
        if all.0.is_empty() {
            all.0 = marks;
        } else {
            all.0.merge(&marks);
        }
    }
    let (marks, loops) = all;
    let vertices =
        if marked > 0 { Vertices::marked(marks.into_words()) } else { Vertices::all(slots) };
    let others = input.stream.edges() - loops;
    let arcs = others * if reading.undirected { 2 } else { 1 };
    Ok(Graph {
        edges: arcs + if reading.drop_self_loops { 0 } else { loops },
        others: ids.others(),
        chunk_bytes: 0,
        vertices,
        degree_max: 0,
        degrees: Buffer::zeroed(0)?,
        degrees_stored: None,
        stripes: Vec::new(),
        plan: plan.clone(),
        arena: workers.arena().clone(),
        id: (0, 0),
        wide_tiles: false,
        symmetric: reading.both_ways(),
        index: None,
        partitions: Vec::new(),
        out_rows: OnceLock::new(),
        in_rows: None,
        stored: None,
        input: Some(input),
    })
}

/// Runs a straight program on a graph that stays in its input.
///
/// # Errors
/// When the graph was made of its input ([`Plan::straight`] says so), the input cannot be read, or
/// the run is cancelled.
pub fn count<P: Straight>(
    graph: &Graph,
    program: &P,
    workers: &Workers,
    progress: &Progress,
) -> Result<Outcome<P::Value, P::Total>, EngineError> {
    let Some(input) = &graph.input else {
        let what = "a straight program wants a graph that stays in its input";
        return Err(EngineError::Configuration(what.to_owned()));
    };
    let slots = graph.slots();
    let counters = workers.states(|| Ok((Buffer::zeroed(slots as usize)?, P::Sums::default())))?;
    let Reading { undirected, reversed, drop_self_loops, .. } = input.reading;
    input.read(("count", slots), &counters, (workers, progress), |(counts, sums), batch| {
        for pairs in batch.pairs.chunks(TOGETHER) {
            let (mut targets, mut counted) = ([0; 2 * TOGETHER], 0);
            let mut meet = |source: u32, target: u32| {
                targets[counted] = target;
                counted += usize::from(program.edge(source, target, sums));
            };
            for &[source, target] in pairs {
                let is_loop = source == target;
                if is_loop && drop_self_loops {
                    continue;
                }
                if undirected || !reversed {
                    meet(source, target);
                }
                if (undirected && !is_loop) || (reversed && !undirected) {
                    meet(target, source);
                }
            }
            for target in &targets[..counted] {
                counts[*target as usize] += 1;
            }
        }
    })?;
    let counters: Vec<_> = counters
        .into_iter()
        .map(|worker| worker.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        .collect();
    let sums = counters.iter().map(|(_, sums)| program.total(*sums));
    let total = sums.fold(P::Total::default(), Total::merge);
    let columns: Vec<&[u32]> = counters.iter().map(|(counts, _)| &counts[..]).collect();
    let (values, of_vertices) = results(graph, program, &columns, (workers, progress))?;
    let total = total.merge(of_vertices);
    let totals = vec![P::Total::default(), total];
    Ok(Outcome { values, iterations: 1, total, totals, levels: Vec::new() })
}

/// The results of all vertices, by what was counted in each of some columns.
fn results<P: Straight>(
    graph: &Graph,
    program: &P,
    columns: &[&[u32]],
    (workers, progress): (&Workers, &Progress),
) -> Result<(Values<P::Value>, P::Total), EngineError> {
    let vertices = &graph.vertices;
    let mut values = Buffer::<P::Value>::zeroed(vertices.count() as usize)?;
    let mut column = Column(&mut values[..]);
    let runs = vertices.segments().div_ceil(RUN);
    let start = |run: usize| vertices.segment_start((run * RUN).min(vertices.segments()));
    let parts: Vec<_> = (0..runs)
        .map(|run| Mutex::new((column.take((start(run + 1) - start(run)) as usize), None)))
        .collect();
    workers.tasks(runs, progress, &workers.states(|| Ok(()))?, |(), run| {
        let (values, total) = &mut *lock(&parts[run]);
        let width = (RUN as u64) << SEGMENT_BITS;
        let slots = run as u64 * width..vertices.slots().min((run as u64 + 1) * width);
        let (mut sum, mut last) = (P::Total::default(), P::Total::default());
        for (value, slot) in values.iter_mut().zip(present(vertices, slots)) {
            let count = columns.iter().map(|counts| counts[slot as usize]).sum();
            (*value, last) = program.value(slot as u32, count);
            sum = sum.merge(last);
        }
        let alike = graph.alike(&(start(run)..start(run + 1)));
        *total = Some(sum.merge(repeated(last, alike - 1)));
        Ok(())
    })?;
    let totals = parts
        .into_iter()
        .filter_map(|part| part.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner).1);
    let total = totals.fold(P::Total::default(), Total::merge);
    Ok((Values::resident(values), total))
}

/// The slots of a range that are vertices.
fn present(vertices: &Vertices, slots: Range<u64>) -> impl Iterator<Item = u64> {
    slots.filter(|slot| vertices.number(*slot).is_some())
}
