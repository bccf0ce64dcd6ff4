//! Requests in flight, of one thread.

use std::sync::Arc;
use std::time::Instant;

use super::blocking::Blocking;
use super::memory::Memory;
use super::options::{IoMode, IoOptions};
use super::place::Place;
use super::request::{Backend, Done, Request};
use super::ring::Ring;
use super::threads::Threads;
use super::transfer::Transfer;
use super::volume::Volume;
use crate::StoreError;

/// Requests in flight, of one thread.
///
/// Dropping it waits for those that were begun, since their memory must not be freed under the
/// kernel, and gives up the others.
pub struct Queue<M: Memory> {
    backend: Box<dyn Backend<M>>,
    only_reads: bool,
}

impl<M: Memory> Queue<M> {
    /// A queue that has up to `depth` requests at the device at a time; more of them wait in it.
    ///
    /// # Errors
    /// When `io_uring` was asked for and is refused.
    pub fn new(options: &IoOptions, depth: usize) -> Result<Self, StoreError> {
        let depth = depth.clamp(1, 1024);
        let backend: Box<dyn Backend<M>> = match options.mode {
            // Writes that make a file longer are done by threads that the kernel starts for a ring,
            // and on a guest with Linux 6.18 two processes waited for ever for one of them.
            IoMode::Auto | IoMode::Threads => Box::new(Threads::new(depth)),
            IoMode::Ring => Box::new(Ring::new(depth)?),
            IoMode::Blocking => Box::new(Blocking::default()),
        };
        Ok(Self { backend, only_reads: false })
    }

    /// A queue for reads alone: by `io_uring` where the system allows that. What has arrived is
    /// seen without a switch to another thread, which counts where all cores are busy with what
    /// came before: ten iterations of R-MAT 24 with all edges on storage, 2 threads on 2 cores,
    /// took a median of 3.3 s (3.1 to 4.5), by threads 4.3 (3.5 to 5.2; nine and twelve runs in
    /// turns, 2.8 to 3.4 in memory).
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn reading(options: &IoOptions, depth: usize) -> Result<Self, StoreError> {
        let ring = match options.mode {
            IoMode::Auto => Ring::new(depth.clamp(1, 1024)).ok(),
            IoMode::Ring | IoMode::Threads | IoMode::Blocking => None,
        };
        let queue = ring.map(|ring| Self { backend: Box::new(ring), only_reads: true });
        queue.map_or_else(|| Ok(Self { only_reads: true, ..Self::new(options, depth)? }), Ok)
    }

    /// Begins to read `place.bytes`, rounded up, to the beginning of `memory`.
    ///
    /// # Errors
    /// When the request makes no sense or cannot be begun. The memory is dropped then.
    pub fn read(
        &mut self,
        volume: &Arc<Volume>,
        place: Place,
        memory: M,
        tag: u64,
    ) -> Result<(), StoreError> {
        self.begin(volume, place, memory, tag, false)
    }

    /// Begins to write `place.bytes`, rounded up, from the beginning of `memory`. What lies behind
    /// them in the last [`ALIGN`](super::ALIGN) bytes is written too: zero it before.
    ///
    /// # Errors
    /// When the request makes no sense or cannot be begun. The memory is dropped then.
    pub fn write(
        &mut self,
        volume: &Arc<Volume>,
        place: Place,
        memory: M,
        tag: u64,
    ) -> Result<(), StoreError> {
        self.begin(volume, place, memory, tag, true)
    }

    fn begin(
        &mut self,
        volume: &Arc<Volume>,
        place: Place,
        memory: M,
        tag: u64,
        to_write: bool,
    ) -> Result<(), StoreError> {
        if to_write && self.only_reads {
            let what = format!("{place:?}: a write, in a queue that was made to read");
            return Err(StoreError::Request(what));
        }
        let transfer = Transfer::new(volume, place, to_write, memory.bytes())?;
        self.backend.submit(Request { volume: Arc::clone(volume), transfer, memory, tag })
    }

    /// Waits for any request to end, in any order. `None`: nothing is in flight.
    ///
    /// # Errors
    /// That of a request, which names its file and offset; its memory is dropped, and the others
    /// go on.
    pub fn wait(&mut self) -> Result<Option<Done<M>>, StoreError> {
        let began = Instant::now();
        let Some(outcome) = self.backend.next(true)? else { return Ok(None) };
        outcome.volume.counters().waited(began.elapsed());
        outcome.result.map(Some)
    }

    /// A request that has ended already, if there is one.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Result<Option<Done<M>>, StoreError> {
        self.backend.next(false)?.map(|outcome| outcome.result).transpose()
    }

    /// Requests that were begun and not handed back.
    pub fn in_flight(&self) -> usize {
        self.backend.in_flight()
    }
}

impl<M: Memory> std::fmt::Debug for Queue<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} in flight)", self.in_flight())
    }
}
