//! Places on their way whose requests are several.

use std::sync::Arc;

use super::memory::Memory;
use super::place::Place;
use super::request::Done;
use super::request_buffer::Lent;
use crate::StoreError;

/// Places on their way whose requests are several, by number.
pub(super) struct Flights<M> {
    all: Vec<Option<Flight<M>>>,
    free: Vec<usize>,
}

/// A place, and what of it is on its way.
struct Flight<M> {
    tag: u64,
    place: Place,
    wrote: bool,
    lent: Arc<Lent<M>>,
    /// Requests that were begun and have not ended.
    left: usize,
    /// Of the first one that failed.
    error: Option<StoreError>,
    /// Whether no one waits for its end.
    given_up: bool,
}

impl<M> Default for Flights<M> {
    fn default() -> Self {
        Self { all: Vec::new(), free: Vec::new() }
    }
}

impl<M: Memory> Flights<M> {
    /// A place of which `left` requests will be begun. Says its number.
    pub(super) fn begin(
        &mut self,
        (tag, place, wrote): (u64, Place, bool),
        lent: Arc<Lent<M>>,
        left: usize,
    ) -> usize {
        let flight = Flight { tag, place, wrote, lent, left, error: None, given_up: false };
        let Some(number) = self.free.pop() else {
            self.all.push(Some(flight));
            return self.all.len() - 1;
        };
        self.all[number] = Some(flight);
        number
    }

    /// Takes the end of a request. Says how its place ended, if this was the last one of it.
    pub(super) fn landed(
        &mut self,
        number: usize,
        result: Result<(), StoreError>,
    ) -> Option<Result<Done<M>, StoreError>> {
        let flight = self.all[number].as_mut()?;
        flight.left -= 1;
        if let Err(error) = result {
            flight.error.get_or_insert(error);
        }
        if flight.left > 0 {
            return None;
        }
        let Flight { tag, place, wrote, lent, error, given_up, .. } = self.all[number].take()?;
        self.free.push(number);
        if given_up {
            return None;
        }
        let lost = || StoreError::Request(format!("{place:?}: its memory is still lent"));
        let memory = error.map_or_else(|| Lent::back(lent).ok_or_else(lost), Err);
        Some(memory.map(|memory| Done { tag, memory, place, wrote }))
    }

    /// Gives up a place of which `not_begun` requests could not be begun.
    pub(super) fn give_up(&mut self, number: usize, not_begun: usize) {
        let Some(flight) = self.all[number].as_mut() else { return };
        flight.given_up = true;
        flight.left -= not_begun;
        if flight.left == 0 {
            self.all[number] = None;
            self.free.push(number);
        }
    }
}
