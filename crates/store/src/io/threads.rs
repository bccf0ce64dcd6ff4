//! Requests that a few plain threads do, for systems that refuse `io_uring`.
//!
//! Each queue has threads of its own, as many as it had requests in flight at a time. They own the
//! memory of a request while they do it, and end when the queue is dropped, after what they are at.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::memory::Memory;
use super::request::{Backend, Outcome, Request};
use crate::StoreError;

/// Threads that do requests, and what they answered.
pub(super) struct Threads<M> {
    /// `None` once the queue is dropped.
    requests: Option<Sender<Request<M>>>,
    taken_from: Arc<Mutex<Receiver<Request<M>>>>,
    answers: Receiver<Outcome<M>>,
    answer: Sender<Outcome<M>>,
    workers: Vec<JoinHandle<()>>,
    workers_max: usize,
    /// Requests that were not begun shall not be done any more.
    given_up: Arc<AtomicBool>,
    /// Places of the requests.
    in_flight: usize,
}

impl<M: Memory> Threads<M> {
    /// A backend of up to `workers_max` threads.
    pub(super) fn new(workers_max: usize) -> Self {
        let (requests, taken_from) = channel();
        let (answer, answers) = channel();
        Self {
            requests: Some(requests),
            taken_from: Arc::new(Mutex::new(taken_from)),
            answers,
            answer,
            workers: Vec::new(),
            workers_max,
            given_up: Arc::default(),
            in_flight: 0,
        }
    }

    fn spawn(&self) -> std::io::Result<JoinHandle<()>> {
        let (requests, answers) = (Arc::clone(&self.taken_from), self.answer.clone());
        let given_up = Arc::clone(&self.given_up);
        let work = move || serve(&requests, &answers, &given_up);
        Builder::new().name("io".to_owned()).spawn(work)
    }
}

/// Does requests until there will be no more of them.
fn serve<M: Memory>(
    requests: &Mutex<Receiver<Request<M>>>,
    answers: &Sender<Outcome<M>>,
    given_up: &AtomicBool,
) {
    loop {
        // One thread waits for a request, the others for the lock: either way they sleep.
        let request = requests.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(request) = request else { return };
        if given_up.load(Ordering::Relaxed) {
            continue;
        }
        let (volume, flight) = (Arc::clone(&request.volume), request.flight);
        let places = request.places();
        // A panic in memory of a caller must not leave the queue waiting for an answer.
        let run = AssertUnwindSafe(|| request.run().collect());
        let outcomes: Vec<_> = catch_unwind(run).unwrap_or_else(|_| {
            let error = || StoreError::Request("its memory panicked".to_owned());
            let failed = || Outcome::failed(Arc::clone(&volume), flight, error());
            std::iter::repeat_with(failed).take(places).collect()
        });
        for outcome in outcomes {
            if answers.send(outcome).is_err() {
                return;
            }
        }
    }
}

impl<M: Memory> Backend<M> for Threads<M> {
    fn submit(&mut self, request: Request<M>) -> Result<(), StoreError> {
        if self.workers.len() < self.workers_max.min(self.in_flight + 1) {
            match self.spawn() {
                Ok(thread) => self.workers.push(thread),
                // The threads that are there will do it.
                Err(_) if !self.workers.is_empty() => {}
                // Where the system starts no more threads, this one does it.
                Err(_) => {
                    self.in_flight += request.places();
                    for outcome in request.run() {
                        // The queue holds a receiver itself.
                        let _ = self.answer.send(outcome);
                    }
                    return Ok(());
                }
            }
        }
        let places = request.places();
        let sent = self.requests.as_ref().is_some_and(|to| to.send(request).is_ok());
        if !sent {
            return Err(StoreError::Request("the threads of the queue are gone".to_owned()));
        }
        self.in_flight += places;
        Ok(())
    }

    fn next(&mut self, wait: bool) -> Result<Option<Outcome<M>>, StoreError> {
        if self.in_flight == 0 {
            return Ok(None);
        }
        // The queue holds a sender itself, so neither of the two can find the channel closed.
        let outcome = if wait { self.answers.recv().ok() } else { self.answers.try_recv().ok() };
        self.in_flight -= usize::from(outcome.is_some());
        Ok(outcome)
    }
}

impl<M> Drop for Threads<M> {
    fn drop(&mut self) {
        self.given_up.store(true, Ordering::Relaxed);
        self.requests = None;
        for thread in self.workers.drain(..) {
            // The thread catches panics itself.
            let _ = thread.join();
        }
    }
}
