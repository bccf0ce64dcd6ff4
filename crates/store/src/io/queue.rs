//! Requests in flight, of one thread.

use std::sync::Arc;
use std::time::Instant;

use super::blocking::Blocking;
use super::flights::Flights;
use super::joined::Joined;
use super::memory::Memory;
use super::options::{IoMode, IoOptions};
use super::place::Place;
use super::request::{Backend, Done, Outcome, Request};
use super::request_buffer::RequestBuffer;
use super::requests::IN_FLIGHT_MOST;
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
    backend: Box<dyn Backend<RequestBuffer<M>>>,
    only_reads: bool,
    /// Places whose requests are several.
    flights: Flights<M>,
    /// Neighbours that are one request, and wait for more of them: no longer than until the caller
    /// has nothing else to do.
    waiting: Option<Box<Request<RequestBuffer<M>>>>,
    /// Places of a request at most.
    joined_most: usize,
    /// Places that were begun and not handed back.
    places: usize,
}

/// Places of a request at most that the system takes (`UIO_MAXIOV`).
const JOINED_MOST: usize = 1024;
/// Requests that places of a caller are, where they are joined and no number is said: one is on its
/// way while the places of another are used.
const JOINED_IN_FLIGHT: usize = 2;

/// Threads of a queue at most, but where its settings state as many requests in flight.
const THREADS_MAX: usize = 16;

impl<M: Memory> Queue<M> {
    /// A queue that has up to `depth` requests at the device at a time, or as many as the options
    /// say; more of them wait in it.
    ///
    /// # Errors
    /// When `io_uring` was asked for and is refused.
    pub fn new(options: &IoOptions, depth: usize) -> Result<Self, StoreError> {
        let joined_most = joined_most(options, depth);
        let (all, (depth, threads)) = (depth, depths(options, depth));
        let backend: Box<dyn Backend<RequestBuffer<M>>> = match options.mode {
            _ if options.remote.is_some() => Box::new(Joined::new(options.requests.elsewhere(all))),
            // Writes that make a file longer are done by threads that the kernel starts for a ring,
            // and on a guest with Linux 6.18 two processes waited for ever for one of them.
            IoMode::Auto | IoMode::Threads => Box::new(Threads::new(threads)),
            IoMode::Ring => Box::new(Ring::new(depth)?),
            IoMode::Blocking => Box::new(Blocking::default()),
        };
        Ok(Self::of(backend, false, joined_most))
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
            IoMode::Auto if options.remote.is_none() => Ring::new(depths(options, depth).0).ok(),
            IoMode::Auto | IoMode::Ring | IoMode::Threads | IoMode::Blocking => None,
        };
        let queue = ring.map(|ring| Self::of(Box::new(ring), true, joined_most(options, depth)));
        queue.map_or_else(|| Ok(Self { only_reads: true, ..Self::new(options, depth)? }), Ok)
    }

    fn of(
        backend: Box<dyn Backend<RequestBuffer<M>>>,
        only_reads: bool,
        joined_most: usize,
    ) -> Self {
        let (flights, waiting) = (Flights::default(), None);
        Self { backend, only_reads, flights, waiting, joined_most, places: 0 }
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
        match volume.requests().bytes(to_write) {
            Some(most) if most < place.rounded_bytes() => {
                self.begin_parts(volume, memory, (tag, place, to_write), most)?;
            }
            most => {
                let (volume, memory) = (Arc::clone(volume), RequestBuffer::Whole(memory));
                let is_here = volume.file(place.file).is_some();
                let request = Request::new(volume, transfer, memory, tag);
                match most.filter(|most| is_here && *most > place.rounded_bytes()) {
                    Some(most) if self.joined_most > 1 => self.join(request, most)?,
                    _ => self.backend.submit(request)?,
                }
            }
        }
        self.places += 1;
        Ok(())
    }

    /// Puts a request behind those that wait, if it continues them, and begins what is complete.
    fn join(&mut self, request: Request<RequestBuffer<M>>, most: usize) -> Result<(), StoreError> {
        match &mut self.waiting {
            Some(waiting) if waiting.joins(&request, most) => waiting.join(request),
            _ => {
                self.begin_waiting()?;
                self.waiting = Some(Box::new(request));
            }
        }
        let is_full = |waiting: &Request<_>| {
            waiting.places() >= self.joined_most || waiting.transfer.place.rounded_bytes() >= most
        };
        match self.waiting.take_if(|waiting| is_full(waiting)) {
            Some(full) => self.begin_joined(*full, 1),
            None => Ok(()),
        }
    }

    /// Begins what waits.
    fn begin_waiting(&mut self) -> Result<(), StoreError> {
        self.waiting.take().map_or(Ok(()), |waiting| self.begin_joined(*waiting, 0))
    }

    /// Begins neighbours, of which the last `new` are not counted among the places. If they cannot
    /// be begun all are lost, with their memory.
    fn begin_joined(
        &mut self,
        request: Request<RequestBuffer<M>>,
        new: usize,
    ) -> Result<(), StoreError> {
        let lost = request.places() - new;
        self.backend.submit(request).inspect_err(|_| self.places -= lost)
    }

    /// A request that ended; what waits is begun where nothing else is left to wait for.
    fn outcome(&mut self, wait: bool) -> Result<Option<Outcome<RequestBuffer<M>>>, StoreError> {
        if let Some(waiting) = self.waiting.as_ref().map(|waiting| waiting.places()) {
            if let Some(outcome) = self.backend.next(false)? {
                return Ok(Some(outcome));
            }
            if wait || waiting == self.places {
                self.begin_waiting()?;
            }
        }
        self.backend.next(wait)
    }

    /// Begins the requests of a place, of at most `most` bytes each.
    fn begin_parts(
        &mut self,
        volume: &Arc<Volume>,
        memory: M,
        (tag, place, to_write): (u64, Place, bool),
        most: usize,
    ) -> Result<(), StoreError> {
        let bytes = place.rounded_bytes();
        let (lent, parts) = RequestBuffer::cut(memory, bytes, most);
        let mut left = bytes.div_ceil(most);
        let number = self.flights.begin((tag, place, to_write), lent, left);
        for ((place, _), memory) in place.parts(most).zip(parts) {
            let begun = Transfer::new(volume, place, to_write, memory.bytes());
            let begun = begun.and_then(|transfer| {
                let request = Request::new(Arc::clone(volume), transfer, memory, tag);
                self.backend.submit(Request { flight: Some(number), ..request })
            });
            if let Err(error) = begun {
                self.flights.give_up(number, left);
                return Err(error);
            }
            left -= 1;
        }
        Ok(())
    }

    /// Waits for any request to end, in any order. `None`: nothing is in flight.
    ///
    /// # Errors
    /// That of a request, which names its file and offset; its memory is dropped, and the others
    /// continue.
    pub fn wait(&mut self) -> Result<Option<Done<M>>, StoreError> {
        let began = Instant::now();
        let ended = self.next(true)?;
        if let Some((volume, _)) = &ended {
            volume.counters().waited(began.elapsed());
        }
        ended.map(|(_, result)| result).transpose()
    }

    /// A request that has ended already, if there is one.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn try_wait(&mut self) -> Result<Option<Done<M>>, StoreError> {
        self.next(false)?.map(|(_, result)| result).transpose()
    }

    /// A place that ended, and its volume.
    fn next(&mut self, wait: bool) -> Result<Option<Ended<M>>, StoreError> {
        while let Some(Outcome { volume, flight, result }) = self.outcome(wait)? {
            let ended = match flight {
                None => Some(result.and_then(whole)),
                // The part is gone before its place is asked for the memory.
                Some(number) => self.flights.landed(number, result.map(drop)),
            };
            if let Some(result) = ended {
                self.places -= 1;
                return Ok(Some((volume, result)));
            }
        }
        Ok(None)
    }

    /// Requests that were begun and not handed back.
    pub fn in_flight(&self) -> usize {
        self.places
    }
}

/// A place that ended, and its volume.
type Ended<M> = (Arc<Volume>, Result<Done<M>, StoreError>);

/// A place that was moved by one request.
fn whole<M>(done: Done<RequestBuffer<M>>) -> Result<Done<M>, StoreError> {
    let Done { tag, memory, place, wrote } = done;
    match memory {
        RequestBuffer::Whole(memory) => Ok(Done { tag, memory, place, wrote }),
        RequestBuffer::Cut { .. } => {
            Err(StoreError::Request(format!("{place:?}: a part of no place")))
        }
    }
}

/// Places of a request at most, for a caller that has up to `depth` of them in flight.
fn joined_most(options: &IoOptions, depth: usize) -> usize {
    let requests = options.requests.in_flight.map_or(JOINED_IN_FLIGHT, |stated| stated as usize);
    (depth / requests.max(1)).clamp(1, JOINED_MOST)
}

/// Requests at the device at a time, and threads that do them where it is done by threads.
fn depths(options: &IoOptions, depth: usize) -> (usize, usize) {
    match options.requests.in_flight {
        Some(stated) => {
            (stated.clamp(1, IN_FLIGHT_MOST) as usize, stated.clamp(1, IN_FLIGHT_MOST) as usize)
        }
        None => (depth.clamp(1, 1024), depth.clamp(1, THREADS_MAX)),
    }
}

impl<M: Memory> std::fmt::Debug for Queue<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} in flight)", self.in_flight())
    }
}
