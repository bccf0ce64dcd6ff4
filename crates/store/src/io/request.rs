//! A request, how it ends, and what a way of doing requests is.
//!
//! Invariant: neighbours that are one request lie side by side in their file, without a gap, so the
//! bytes of the request are those of their memory, one after the other. Checked in
//! `Request::joins`. Tested by `neighbours_are_one_request`.

use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use super::memory::Memory;
use super::place::Place;
use super::transfer::Transfer;
use super::volume::Volume;
use crate::StoreError;

/// A request that is done.
#[derive(Debug)]
pub struct Done<M> {
    /// Number that the caller gave the request.
    pub tag: u64,
    /// The memory, back.
    pub memory: M,
    /// Place that was read or written.
    pub place: Place,
    /// Whether the place was written.
    pub wrote: bool,
}

/// A request and all that it needs.
#[derive(Debug)]
pub(super) struct Request<M> {
    pub(super) volume: Arc<Volume>,
    /// Of all neighbours together.
    pub(super) transfer: Transfer,
    /// The first of them.
    pub(super) place: Place,
    pub(super) memory: M,
    pub(super) tag: u64,
    /// Number of the place that it is one of several requests of.
    pub(super) flight: Option<usize>,
    /// Places behind the first one that it moves as well.
    pub(super) more: Vec<Neighbour<M>>,
}

/// A place that is moved together with the one before.
#[derive(Debug)]
pub(super) struct Neighbour<M> {
    place: Place,
    memory: M,
    tag: u64,
}

/// Outcome of a request.
#[derive(Debug)]
pub(super) struct Outcome<M> {
    pub(super) volume: Arc<Volume>,
    pub(super) flight: Option<usize>,
    pub(super) result: Result<Done<M>, StoreError>,
}

impl<M: Memory> Request<M> {
    /// A request for one place.
    pub(super) fn new(volume: Arc<Volume>, transfer: Transfer, memory: M, tag: u64) -> Self {
        let place = transfer.place;
        Self { volume, transfer, place, memory, tag, flight: None, more: Vec::new() }
    }

    /// Places that it moves.
    pub(super) fn places(&self) -> usize {
        1 + self.more.len()
    }

    /// Whether another one continues where it ends, and both have at most `most` bytes.
    pub(super) fn joins(&self, next: &Self, most: usize) -> bool {
        let (place, behind) = (self.transfer.place, next.transfer.place);
        Arc::ptr_eq(&self.volume, &next.volume)
            && self.transfer.wrote == next.transfer.wrote
            && place.file == behind.file
            && place.offset + place.rounded_bytes() as u64 == behind.offset
            && place.rounded_bytes() + behind.rounded_bytes() <= most
    }

    /// Takes another one's place, which continues where it ends.
    pub(super) fn join(&mut self, next: Self) {
        let place = next.transfer.place;
        self.transfer.extend(place);
        self.more.push(Neighbour { place, memory: next.memory, tag: next.tag });
    }

    /// Memory that a range of its bytes is moved to or from, in their order.
    pub(super) fn slices(&mut self, range: Range<usize>) -> Vec<&mut [u8]> {
        let first = (self.place, &mut self.memory);
        let more = self.more.iter_mut().map(|next| (next.place, &mut next.memory));
        let mut begin = 0;
        let mut slices = Vec::with_capacity(1 + more.len());
        for (place, memory) in once(first).chain(more) {
            let end = begin + place.rounded_bytes();
            let (from, to) = (range.start.max(begin), range.end.min(end));
            if from < to {
                slices.push(&mut memory.bytes_mut()[from - begin..to - begin]);
            }
            begin = end;
        }
        slices
    }

    /// The ends of its places; the memory of a failed one is dropped.
    pub(super) fn ended(
        mut self,
        result: Result<(), StoreError>,
    ) -> impl Iterator<Item = Outcome<M>> {
        if let (Ok(()), Some((byte, mask))) = (&result, self.transfer.flipped()) {
            self.slices(byte..byte + 1).into_iter().for_each(|slice| slice[0] ^= mask);
        }
        let Self { volume, transfer, place, memory, tag, flight, more } = self;
        let wrote = transfer.wrote;
        let others: Vec<_> = more
            .into_iter()
            .map(|Neighbour { place, memory, tag }| {
                let result = result.as_ref().copied().map_err(StoreError::again);
                let result = result.map(|()| Done { tag, memory, place, wrote });
                Outcome { volume: Arc::clone(&volume), flight: None, result }
            })
            .collect();
        let result = result.map(|()| Done { tag, memory, place, wrote });
        once(Outcome { volume, flight, result }).chain(others)
    }
}

impl<M> Outcome<M> {
    pub(super) fn failed(volume: Arc<Volume>, flight: Option<usize>, error: StoreError) -> Self {
        Self { volume, flight, result: Err(error) }
    }
}

/// A way of doing requests.
pub(super) trait Backend<M: Memory>: Send {
    /// Begins a request, now or as soon as there is room.
    fn submit(&mut self, request: Request<M>) -> Result<(), StoreError>;

    /// A request that ended, and whether to wait until there is one. `None`: there is none, or,
    /// where it was to wait, nothing is in flight.
    fn next(&mut self, wait: bool) -> Result<Option<Outcome<M>>, StoreError>;
}
