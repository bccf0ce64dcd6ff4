//! All records looked at once, before anybody relies on them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use welter_model::edges::{EdgeStream, Pair};
use welter_model::look::Look;

use super::first_error;
use super::stream::RawStream;
use crate::collect::SLOTS_MAX;
use crate::error::InputError;
use crate::reader::Context;

/// The share of the memory that the looks of all threads may take.
const LOOK_SHARE: u64 = 8;

/// The largest id, and what was seen on the way where its memory allowed that. Finds everything
/// that can be wrong with a file.
pub(super) fn scan(
    stream: &RawStream,
    context: &Context<'_>,
) -> Result<(u64, Option<Look>), InputError> {
    let threads = context.pool.current_num_threads() as u64;
    let memory = context.options.limits.memory_bytes_max.unwrap_or(u64::MAX);
    let most = (memory / LOOK_SHARE / threads).saturating_mul(8).min(SLOTS_MAX);
    let scan = Scan {
        stride: Look::stride(stream.edges()),
        most,
        largest: AtomicU64::new(0),
        is_lost: AtomicBool::new(false),
        looks: Mutex::default(),
    };
    first_error(stream, context, |part| scan.part(stream, context, part))?;
    let (is_lost, largest) = (scan.is_lost.into_inner(), scan.largest.into_inner());
    let looks = scan.looks.into_inner().unwrap_or_else(PoisonError::into_inner);
    let all = looks.into_iter().filter(|_| !is_lost).reduce(|mut all, look| {
        all.merge(look);
        all
    });
    Ok((largest, all.map(|look| look.of_slots(largest + 1))))
}

struct Scan {
    stride: usize,
    /// Slots that looks may have.
    most: u64,
    largest: AtomicU64,
    /// Whether there was one beyond.
    is_lost: AtomicBool,
    /// Those that no thread has at the moment.
    looks: Mutex<Vec<Look>>,
}

impl Scan {
    fn part(
        &self,
        stream: &RawStream,
        context: &Context<'_>,
        part: usize,
    ) -> Result<(), InputError> {
        let mut look = self.looks().pop().unwrap_or_else(|| Look::new(true, self.stride));
        let mut narrowed = Vec::new();
        let mut largest = 0;
        stream.pieces(part, &mut |batch, place| {
            context.advance(place.bytes)?;
            let batch_max = batch.pairs.max();
            largest = batch_max.max(largest);
            if batch_max >= self.most {
                self.is_lost.store(true, Ordering::Relaxed);
            }
            if !self.is_lost.load(Ordering::Relaxed) {
                let pairs: &[Pair] = batch.pairs.truncate(&mut narrowed);
                // Below `most`, so that there is nothing to refuse.
                self.is_lost.fetch_or(look.add(pairs, self.most).is_err(), Ordering::Relaxed);
            }
            Ok(true)
        })?;
        self.largest.fetch_max(largest, Ordering::Relaxed);
        self.looks().push(look);
        Ok(())
    }

    fn looks(&self) -> MutexGuard<'_, Vec<Look>> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
