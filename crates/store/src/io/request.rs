//! A request, how it ends, and what a way of doing requests is.

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
    /// Whether it was written.
    pub wrote: bool,
}

/// A request and all that it needs.
#[derive(Debug)]
pub(super) struct Request<M> {
    pub(super) volume: Arc<Volume>,
    pub(super) transfer: Transfer,
    pub(super) memory: M,
    pub(super) tag: u64,
    /// Number of the place that it is one of several requests of.
    pub(super) flight: Option<usize>,
}

/// How a request ended.
#[derive(Debug)]
pub(super) struct Outcome<M> {
    pub(super) volume: Arc<Volume>,
    pub(super) flight: Option<usize>,
    pub(super) result: Result<Done<M>, StoreError>,
}

impl<M: Memory> Request<M> {
    /// The end of it; the memory of a failed one is dropped.
    pub(super) fn ended(mut self, result: Result<(), StoreError>) -> Outcome<M> {
        let result = result.map(|()| {
            self.transfer.damage(self.memory.bytes_mut());
            let Transfer { place, wrote, .. } = self.transfer;
            Done { tag: self.tag, memory: self.memory, place, wrote }
        });
        Outcome { volume: self.volume, flight: self.flight, result }
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
