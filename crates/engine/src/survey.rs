//! The first look at an edge list: which slots are vertices, and where edges are dense.
//!
//! Two things must be known before edges can be binned: the vertices (all edges are looked at,
//! unless the input states them) and about how many edges begin and end in each segment of slots (a
//! sample tells). A stream whose edges were all read when it was made has been looked at already; a
//! stream that is costly to read (a generator) states its vertices and is only sampled.

use std::borrow::Cow;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use welter_model::edges::{Batch, EdgeStream};
use welter_model::look::Look;
use welter_progress::{Progress, Unit};

use crate::EngineError;
use crate::dispatch::dispatched;
use crate::vertices::Vertices;
use crate::workers::Workers;

/// Of a costly stream one part in so many is looked at.
const SAMPLE: usize = 8;

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
    let look = match stream.look() {
        Some(look) if look.slots() == slots => Cow::Borrowed(look),
        _ => Cow::Owned(look_at(stream, slots, all_present, workers, progress)?),
    };
    let (sources, targets) = look.histograms();
    let (sources, targets) = (sources.to_vec(), targets.to_vec());
    let vertices = if all_present { Vertices::all(slots) } else { Vertices::seen(&look) };
    Ok(Survey { vertices, sources, targets })
}

fn look_at(
    stream: &dyn EdgeStream,
    slots: u64,
    all_present: bool,
    workers: &Workers,
    progress: &Progress,
) -> Result<Look, EngineError> {
    let parts = stream.parts();
    let phase = progress.phase("survey", Unit::Edges, Some(stream.edges()));
    // A stream is read whole where that is cheap, or marks are needed. Then every part gives to the
    // sample: in a sorted input no part is like another.
    let all = !all_present || !stream.costly() || parts < SAMPLE * SAMPLE;
    let stride = if all { Look::stride(stream.edges()) } else { 1 };
    let looks = workers.states(|| Ok(Look::new(!all_present, stride)))?;
    let chosen: Vec<usize> =
        (0..parts).filter(|&part| all || part.is_multiple_of(SAMPLE)).collect();
    workers.tasks(chosen.len(), progress, &looks, |look, task| {
        let mut wrong = None;
        stream.read(chosen[task], &mut |batch| {
            wrong = look.add(batch.pairs, slots).err();
            phase.add(batch.pairs.len() as u64);
            wrong.is_none()
        })?;
        let beyond = |slot| EngineError::Vertex { vertex: u64::from(slot), slots };
        wrong.map_or(Ok(()), |slot| Err(beyond(slot)))
    })?;
    let mut all = Look::new(!all_present, stride);
    for look in looks {
        all.merge(look.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    Ok(all.of_slots(slots))
}

/// A slot that does not exist. The maximum is found first, because that runs over vectors.
pub(crate) fn first_beyond(batch: &Batch<'_>, slots: u64) -> Option<u64> {
    let largest = dispatched(
        #[inline(always)]
        || batch.pairs.iter().fold(0, |largest, pair| pair[0].max(pair[1]).max(largest)),
    );
    (!batch.pairs.is_empty() && u64::from(largest) >= slots).then_some(largest.into())
}
