//! Requests for files that lie elsewhere, of which neighbours become one.
//!
//! ```text
//! places that are asked for   [0][1][2][3] [4][5]     [9]
//! requests that are made      [  0 to 3  ] [ 4, 5 ]   [9]
//! ```
//! A request over a network takes its latency whatever its size, and object stores are quickest
//! with 8 MiB, while a place is half a megabyte at most. So places wait for their neighbours until
//! half of what the queue may have in flight is one run, or as much as a request may hold, or the
//! next is no neighbour; and no longer than until the caller has nothing else to do. The other half
//! is on its way meanwhile. Where the settings state a size a run is as large as that, and where
//! they state a number of requests this is how many are on their way ([`RemoteRequests`]).
//!
//! Invariants: no place waits while its caller does · no run is larger than the settings say, nor
//! are more of them on their way. Checked in `Joined::next`, `Joined::goes_on` and
//! `Joined::begin`. Tested by `neighbours_come_by_one_request_and_gaps_are_left_out` and
//! `sizes_and_numbers_that_are_stated_are_those_of_the_store`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::blocking::fetch;
use super::memory::Memory;
use super::remote::joins;
use super::remote_requests::RemoteRequests;
use super::request::{Backend, Outcome, Request};
use crate::StoreError;

/// Places that were asked for together.
type Run<M> = Vec<Request<M>>;

/// Threads that do runs of requests.
pub(super) struct Joined<M> {
    /// Places that wait for their neighbours.
    run: Run<M>,
    /// Begin and end of these in their file.
    range: (u64, u64),
    /// Size of runs, and number of those on their way. A thread does one at a time.
    most: RemoteRequests,
    /// `None` once the queue is dropped.
    runs: Option<Sender<Run<M>>>,
    taken_from: Arc<Mutex<Receiver<Run<M>>>>,
    answers: Receiver<Outcome<M>>,
    answer: Sender<Outcome<M>>,
    workers: Vec<JoinHandle<()>>,
    /// Runs that were not begun shall not be done any more.
    given_up: Arc<AtomicBool>,
    /// Places at the threads.
    in_flight: usize,
}

impl<M: Memory> Joined<M> {
    /// For requests like these.
    pub(super) fn new(most: RemoteRequests) -> Self {
        let (runs, taken_from) = channel();
        let (answer, answers) = channel();
        Self {
            run: Vec::new(),
            range: (0, 0),
            most,
            runs: Some(runs),
            taken_from: Arc::new(Mutex::new(taken_from)),
            answers,
            answer,
            workers: Vec::new(),
            given_up: Arc::default(),
            in_flight: 0,
        }
    }

    /// Whether a request continues where the run ends.
    fn goes_on(&self, request: &Request<M>) -> bool {
        let Some(first) = self.run.first() else { return true };
        let is_read = |request: &Request<M>| {
            !request.transfer.wrote && request.volume.remote(request.transfer.place.file).is_some()
        };
        Arc::ptr_eq(&first.volume, &request.volume)
            && is_read(first)
            && is_read(request)
            && joins(self.range, first.transfer.place.file, request.transfer.place, self.most.bytes)
    }

    /// Hands the run to a thread.
    fn begin(&mut self) -> Result<(), StoreError> {
        let run = std::mem::take(&mut self.run);
        if run.is_empty() {
            return Ok(());
        }
        let places = run.len();
        if self.workers.len() < self.most.in_flight.min(self.in_flight + 1) {
            let (runs, answers) = (Arc::clone(&self.taken_from), self.answer.clone());
            let given_up = Arc::clone(&self.given_up);
            let work = move || serve(&runs, &answers, &given_up);
            match Builder::new().name("io".to_owned()).spawn(work) {
                Ok(thread) => self.workers.push(thread),
                Err(_) if !self.workers.is_empty() => {}
                // Where the system starts no more threads, this one does it.
                Err(_) => {
                    self.in_flight += places;
                    for outcome in done(run) {
                        // The queue holds a receiver itself.
                        let _ = self.answer.send(outcome);
                    }
                    return Ok(());
                }
            }
        }
        if self.runs.as_ref().is_none_or(|to| to.send(run).is_err()) {
            return Err(StoreError::Request("the threads of the queue are gone".to_owned()));
        }
        self.in_flight += places;
        Ok(())
    }
}

/// Does runs until there will be no more of them.
fn serve<M: Memory>(
    runs: &Mutex<Receiver<Run<M>>>,
    answers: &Sender<Outcome<M>>,
    given_up: &AtomicBool,
) {
    loop {
        let run = runs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(run) = run else { return };
        if given_up.load(Ordering::Relaxed) {
            continue;
        }
        let of: Vec<_> =
            run.iter().map(|request| (Arc::clone(&request.volume), request.flight)).collect();
        // A panic in memory of a caller must not leave the queue waiting for an answer.
        let outcomes = catch_unwind(AssertUnwindSafe(|| done(run))).unwrap_or_else(|_| {
            let failed = |(volume, flight)| {
                let error = StoreError::Request("its memory panicked".to_owned());
                Outcome::failed(volume, flight, error)
            };
            of.into_iter().map(failed).collect()
        });
        for outcome in outcomes {
            if answers.send(outcome).is_err() {
                return;
            }
        }
    }
}

/// Does a run: by one request, if it is of a file that lies elsewhere.
fn done<M: Memory>(mut run: Run<M>) -> Vec<Outcome<M>> {
    let Some(first) = run.first() else { return Vec::new() };
    if first.transfer.wrote || first.volume.remote(first.transfer.place.file).is_none() {
        return run.into_iter().flat_map(Request::run).collect();
    }
    let volume = Arc::clone(&first.volume);
    let places = run
        .iter_mut()
        .map(|request| (request.transfer.place, request.memory.bytes_mut()))
        .collect();
    let fetched = fetch(&volume, places);
    let result = || fetched.as_ref().copied().map_err(StoreError::again);
    run.into_iter().flat_map(|request| request.ended(result())).collect()
}

impl<M: Memory> Backend<M> for Joined<M> {
    fn submit(&mut self, request: Request<M>) -> Result<(), StoreError> {
        if !self.goes_on(&request) {
            self.begin()?;
        }
        let place = request.transfer.place;
        let from = if self.run.is_empty() { place.offset } else { self.range.0 };
        self.range = (from, place.offset + u64::from(place.bytes));
        self.run.push(request);
        let is_full = self.run.len() >= self.most.places || self.range.1 - from >= self.most.bytes;
        if is_full { self.begin() } else { Ok(()) }
    }

    fn next(&mut self, wait: bool) -> Result<Option<Outcome<M>>, StoreError> {
        if let Ok(outcome) = self.answers.try_recv() {
            self.in_flight -= 1;
            return Ok(Some(outcome));
        }
        if wait || self.in_flight == 0 {
            self.begin()?;
        }
        if self.in_flight == 0 || !wait {
            return Ok(None);
        }
        // The queue holds a sender itself, so it cannot find the channel closed.
        let outcome = self.answers.recv().ok();
        self.in_flight -= usize::from(outcome.is_some());
        Ok(outcome)
    }
}

impl<M> Drop for Joined<M> {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.runs = None;
        for thread in self.workers.drain(..) {
            // The thread catches panics itself.
            let _ = thread.join();
        }
    }
}
