//! The first look at an edge list: which slots are vertices, and where edges are dense.
//!
//! Two things must be known before edges can be binned: the vertices (all edges are looked at,
//! unless the input states them) and about how many edges begin and end in each segment of slots (a
//! sample tells). A stream that is costly to read (a generator) states its vertices and is only
//! sampled.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_model::edges::{Batch, EdgeStream};
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::dispatch::dispatched;
use crate::vertices::{Marks, SEGMENT_BITS, Vertices};
use crate::workers::Workers;

/// One edge in so many is counted in histograms; of a costly stream, one part in so many.
const SAMPLE: usize = 8;
/// Streams with fewer edges are counted whole.
const SMALL: u64 = 1 << 20;

/// What the survey found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) vertices: Vertices,
    /// Sampled number of edges that begin in each segment.
    pub(crate) sources: Vec<u64>,
    /// Sampled number of edges that end in each segment.
    pub(crate) targets: Vec<u64>,
}

/// Largest slot of a stream, plus one.
pub(crate) fn slots(
    stream: &dyn EdgeStream,
    workers: &Workers,
    progress: &Progress,
) -> Result<u64, EngineError> {
    if let Some(slots) = stream.slots() {
        return Ok(slots);
    }
    let slots = AtomicU64::new(0);
    workers.tasks(stream.parts(), progress, &workers.states(|| Ok(()))?, |(), part| {
        let mut largest = None;
        stream.read(part, &mut |batch| {
            let batch_max = batch.pairs.iter().map(|pair| pair[0].max(pair[1])).max();
            largest = largest.max(batch_max);
            true
        })?;
        slots.fetch_max(largest.map_or(0, |slot| u64::from(slot) + 1), Ordering::Relaxed);
        Ok(())
    })?;
    Ok(slots.into_inner())
}

/// Looks at a stream. `all_present`: every slot is a vertex.
pub(crate) fn survey(
    stream: &dyn EdgeStream,
    slots: u64,
    all_present: bool,
    workers: &Workers,
    progress: &Progress,
) -> Result<Survey, EngineError> {
    let parts = stream.parts();
    let phase = progress.phase("survey", Unit::Edges, Some(stream.edges()));
    let notes = workers.states(|| {
        let marks = if all_present { None } else { Some(Marks::new(slots)?) };
        Ok((Histogram::new(slots), marks))
    })?;
    // A stream is read whole where that is cheap, or marks are needed. Then every part gives to the
    // sample: in a sorted input no part is like another.
    let all = !all_present || !stream.costly() || parts < SAMPLE * SAMPLE;
    let stride = if all && stream.edges() >= SMALL { SAMPLE } else { 1 };
    let look: Vec<usize> = (0..parts).filter(|&part| all || part.is_multiple_of(SAMPLE)).collect();
    workers.tasks(look.len(), progress, &notes, |(histogram, marks), task| {
        let part = look[task];
        let mut wrong = None;
        stream.read(part, &mut |batch| {
            wrong = first_beyond(&batch, slots);
            if wrong.is_some() {
                return false;
            }
            if let Some(marks) = marks.as_mut() {
                for &[source, target] in batch.pairs {
                    marks.set(source);
                    marks.set(target);
                }
            }
            histogram.add(&batch, stride);
            phase.add(batch.pairs.len() as u64);
            true
        })?;
        wrong.map_or(Ok(()), |vertex| Err(EngineError::Vertex { vertex, slots }))
    })?;
    let mut total = Histogram::new(slots);
    let mut marks = Vec::new();
    for note in notes {
        let (histogram, own) = note.into_inner().unwrap_or_else(PoisonError::into_inner);
        total.merge(&histogram);
        marks.extend(own);
    }
    Ok(Survey {
        vertices: if all_present { Vertices::all(slots) } else { Vertices::marked(marks) },
        sources: total.sources,
        targets: total.targets,
    })
}

/// A slot that does not exist. The maximum is found first, because that runs over vectors.
pub(crate) fn first_beyond(batch: &Batch<'_>, slots: u64) -> Option<u64> {
    let largest = dispatched(
        #[inline(always)]
        || batch.pairs.iter().fold(0, |largest, pair| pair[0].max(pair[1]).max(largest)),
    );
    (!batch.pairs.is_empty() && u64::from(largest) >= slots).then_some(largest.into())
}

/// Number of edges by segment.
struct Histogram {
    sources: Vec<u64>,
    targets: Vec<u64>,
}

impl Histogram {
    fn new(slots: u64) -> Self {
        let segments = slots.div_ceil(1 << SEGMENT_BITS) as usize;
        Self { sources: vec![0; segments], targets: vec![0; segments] }
    }

    fn add(&mut self, batch: &Batch<'_>, stride: usize) {
        for &[source, target] in batch.pairs.iter().step_by(stride) {
            self.sources[(source >> SEGMENT_BITS) as usize] += 1;
            self.targets[(target >> SEGMENT_BITS) as usize] += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        let pairs = [(&mut self.sources, &other.sources), (&mut self.targets, &other.targets)];
        for (into, from) in pairs {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += from);
        }
    }
}
