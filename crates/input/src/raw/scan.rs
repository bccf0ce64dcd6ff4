//! Records looked at before edges are read: a sample of them, or all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;
use welter_model::edge_sample::{EdgeSample, ROUNDS, Round, SEGMENT_BITS, Sample};
use welter_model::edges::{EdgeStream, Pair};

use super::records::Batch;
use super::stream::{RawStream, first_error};
use crate::collect::SLOTS_MAX;
use crate::error::InputError;
use crate::reader::Context;

/// The share of the memory that the looks of all threads may take.
const LOOK_SHARE: u64 = 8;

/// The largest id of all records. Finds everything that can be wrong with a file.
pub(super) fn largest(stream: &RawStream, context: &Context<'_>) -> Result<u64, InputError> {
    let largest = AtomicU64::new(0);
    first_error(stream, context, |part| {
        stream.pieces(part, &mut |batch, place| {
            context.advance(place.bytes)?;
            largest.fetch_max(batch.pairs.max(), Ordering::Relaxed);
            Ok(true)
        })
    })?;
    Ok(largest.into_inner())
}

/// Largest id and edges of a sample.
pub(super) struct Sampled {
    /// The largest id.
    pub(super) largest: u64,
    /// The edges, if all ids can be slots.
    pub(super) look: Option<EdgeSample>,
}

/// Looks at a sample of the records.
pub(super) fn sample(stream: &RawStream, context: &Context<'_>) -> Result<Sampled, InputError> {
    let threads = context.pool.current_num_threads() as u64;
    let memory = context.options.limits.memory_bytes_max.unwrap_or(u64::MAX);
    let scan = Scan {
        stream,
        context,
        sample: Sample::of(stream.edges()),
        marked_most: (memory / LOOK_SHARE / threads).saturating_mul(8),
        largest: AtomicU64::new(0),
        is_lost: AtomicBool::new(false),
    };
    let mut all = EdgeSample::new(true);
    for round in 0..ROUNDS {
        let looks = Mutex::new(Vec::new());
        let part = |part| scan.part(part, round, &looks).err();
        let failed = || (0..stream.parts()).into_par_iter().find_map_first(part);
        context.pool.install(failed).map_or(Ok(()), Err)?;
        for look in looks.into_inner().unwrap_or_else(PoisonError::into_inner) {
            all.merge(look);
        }
        all.end_round();
    }
    let look = (!scan.is_lost.into_inner()).then_some(all);
    Ok(Sampled { largest: scan.largest.into_inner(), look })
}

/// A sample that is being taken.
struct Scan<'a> {
    stream: &'a RawStream,
    context: &'a Context<'a>,
    sample: Sample,
    /// Slots up to which vertices can be counted.
    marked_most: u64,
    largest: AtomicU64,
    /// Whether there was an id that can be no slot.
    is_lost: AtomicBool,
}

impl Scan<'_> {
    /// Looks at what of a part belongs to a round, with a look that no thread has at the moment.
    fn part(
        &self,
        part: usize,
        round: usize,
        looks: &Mutex<Vec<EdgeSample>>,
    ) -> Result<(), InputError> {
        let taken = || looks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut look = taken().pop().unwrap_or_else(|| EdgeSample::new(true));
        let mut narrowed = Vec::new();
        let done = self.stream.sampled(part, (self.sample, round), &mut |batch, place| {
            self.context.advance(place.bytes)?;
            self.batch(batch, &mut look, &mut narrowed);
            Ok(true)
        });
        taken().push(look);
        match done {
            // The reader of all records finds the first that is wrong, which may not be this one.
            Err(InputError::Byte { .. }) => Ok(()),
            done => done,
        }
    }

    fn batch(&self, batch: Batch<'_>, look: &mut EdgeSample, narrowed: &mut Vec<Pair>) {
        let largest = batch.pairs.max();
        self.largest.fetch_max(largest, Ordering::Relaxed);
        if largest >= SLOTS_MAX || self.is_lost.load(Ordering::Relaxed) {
            self.is_lost.store(true, Ordering::Relaxed);
            return;
        }
        if largest >= self.marked_most {
            look.forget_marks();
        }
        // Below the number of slots that there can be, so that there is nothing to refuse.
        let refused = look.add(batch.pairs.truncate(narrowed), SLOTS_MAX).is_err();
        self.is_lost.fetch_or(refused, Ordering::Relaxed);
    }
}

/// The number of slots that the ids of all `edges` edges are most likely to be below, by those of a
/// sample.
///
/// The largest of a number of ids that were drawn at random is as far from the largest of all as
/// ids are apart, or a few times that. If ids ascend with their places, the last rounds saw larger
/// ones than the first.
pub(super) fn slots_likely(look: &EdgeSample, edges: u64) -> u64 {
    let slots = look.slots();
    if look.edges() == edges {
        return slots;
    }
    let grown = slots - look.rounds().get(1).map_or(slots, |round| round.slots);
    let seen = |round: &Round| round.vertices.iter().map(|count| u64::from(*count)).sum();
    let vertices: u64 = look.rounds().last().map_or(0, seen);
    let apart = slots / vertices.max(look.edges().isqrt()).max(1);
    let likely = slots + 4 * grown + 16 * apart;
    likely.next_multiple_of(1 << SEGMENT_BITS).min(SLOTS_MAX)
}
