//! Requests by `io_uring`: the kernel does them and says when they are done.
//!
//! Invariant: the kernel knows addresses only inside memory that `flights` owns, and an entry of
//! `flights` is emptied after the kernel's last word on it, as is one of `vectors`. If the ring
//! cannot be asked any more, what is in flight is leaked rather than freed. Tested by
//! `a_queue_that_is_dropped_has_written_what_it_began`; checked in `Ring::drop`.
#![expect(unsafe_code, reason = "hands addresses of memory that is owned here to the kernel")]

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, squeue, types};
use rustix::io::Errno;

use super::memory::Memory;
use super::request::{Backend, Outcome, Request};
use crate::StoreError;

/// Longest single call, as for `read` and `write`.
const CALL_BYTES_MAX: usize = 1 << 30;

/// Number of times that the kernel is reminded, a second after the other, before it is given up. On
/// Linux 6.18 writes were never answered, in several rings at the same time: calls that the kernel
/// does by threads waited, and there was no such thread. One more call makes it start one.
const REMINDERS: u32 = 300;
/// Number of the answer to a reminder.
const REMINDER: u64 = u64::MAX;

/// A piece of memory, as the kernel takes lists of them (`struct iovec`).
#[repr(C)]
struct Vector {
    begin: *mut u8,
    bytes: usize,
}

// SAFETY: an address that is looked at by the kernel alone.
unsafe impl Send for Vector {}

impl Vector {
    fn of(slice: &mut [u8]) -> Self {
        Self { begin: slice.as_mut_ptr(), bytes: slice.len() }
    }
}

/// Requests in the kernel, and those that wait for their turn.
pub(super) struct Ring<M: Memory> {
    kernel: IoUring,
    /// Requests that the kernel works on, by the number that it got.
    flights: Vec<Option<Request<M>>>,
    /// Memory of the neighbours of each of them, for their next call.
    vectors: Vec<Vec<Vector>>,
    free: Vec<usize>,
    waiting: VecDeque<Request<M>>,
    ended: VecDeque<Outcome<M>>,
    /// Answers of the kernel, on their way.
    answers: Vec<(u64, i32)>,
}

impl<M: Memory> Ring<M> {
    /// A ring for `depth` requests at a time.
    pub(super) fn new(depth: usize) -> Result<Self, StoreError> {
        let entries = depth.next_power_of_two() as u32;
        // Without interrupting the thread when a request is done: it will ask.
        let gentle = IoUring::builder().setup_coop_taskrun().setup_taskrun_flag().build(entries);
        let kernel = gentle.or_else(|_| IoUring::new(entries)).map_err(StoreError::Ring)?;
        Ok(Self {
            kernel,
            flights: (0..depth).map(|_| None).collect(),
            vectors: (0..depth).map(|_| Vec::new()).collect(),
            free: (0..depth).rev().collect(),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            answers: Vec::with_capacity(depth),
        })
    }

    fn in_kernel(&self) -> usize {
        self.flights.len() - self.free.len()
    }

    /// Puts the next call of a flight into the ring; one that needs none has ended.
    fn advance(&mut self, slot: usize) {
        loop {
            let Some(request) = self.flights[slot].as_mut() else { return };
            let error = match request.transfer.step(&request.volume) {
                Ok(part) => match self.push(slot, part.start, part.len()) {
                    Ok(()) => return,
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.take_answer(slot, Err(error));
        }
    }

    fn push(&mut self, slot: usize, start: usize, bytes: usize) -> Result<(), Errno> {
        let Some(request) = self.flights[slot].as_mut() else { return Err(Errno::INVAL) };
        let transfer = &request.transfer;
        let Some(file) = request.volume.file(transfer.place.file) else { return Err(Errno::BADF) };
        let file = types::Fd(file.as_raw_fd());
        let (offset, bytes) = (transfer.offset(), bytes.min(CALL_BYTES_MAX));
        let entry: squeue::Entry = if !request.more.is_empty() {
            let wrote = transfer.wrote;
            let vectors = &mut self.vectors[slot];
            vectors.clear();
            vectors.extend(request.slices(start..start + bytes).into_iter().map(Vector::of));
            let (first, count) = (vectors.as_ptr().cast(), vectors.len() as u32);
            if wrote {
                opcode::Writev::new(file, first, count).offset(offset).build()
            } else {
                opcode::Readv::new(file, first, count).offset(offset).build()
            }
        } else if transfer.wrote {
            let memory = &request.memory.bytes()[start..start + bytes];
            opcode::Write::new(file, memory.as_ptr(), bytes as u32).offset(offset).build()
        } else {
            let memory = &mut request.memory.bytes_mut()[start..start + bytes];
            opcode::Read::new(file, memory.as_mut_ptr(), bytes as u32).offset(offset).build()
        };
        let entry = entry.user_data(slot as u64);
        // SAFETY: the range lies in memory that stays where it is and belongs to this flight, as
        // does the file, until the kernel has answered: see the head of this file and `Memory`.
        let pushed = unsafe { self.kernel.submission().push(&entry) };
        // Each slot has one entry at most, so there is always room.
        pushed.map_err(|_| Errno::NOBUFS)
    }

    /// Takes the answer to the call of a flight.
    fn take_answer(&mut self, slot: usize, answer: Result<usize, Errno>) {
        let Some(request) = self.flights[slot].as_mut() else { return };
        let result = match request.transfer.answer(&request.volume, answer) {
            Ok(false) => return,
            Ok(true) => Ok(()),
            Err(error) => Err(error),
        };
        if let Some(request) = self.flights[slot].take() {
            self.free.push(slot);
            self.ended.extend(request.ended(result));
        }
    }

    /// Takes all answers that are there, and begins what can begin now. Whether the kernel has new
    /// entries to look at.
    fn reap(&mut self) -> bool {
        let mut answers = std::mem::take(&mut self.answers);
        let entries = self.kernel.completion().map(|entry| (entry.user_data(), entry.result()));
        answers.extend(entries.filter(|(slot, _)| *slot != REMINDER));
        for (slot, result) in answers.drain(..) {
            let answer = usize::try_from(result);
            let answer = answer.map_err(|_| Errno::from_raw_os_error(-result));
            self.take_answer(slot as usize, answer);
            self.advance(slot as usize);
        }
        self.answers = answers;
        while let Some(slot) = self.free.pop_if(|_| !self.waiting.is_empty()) {
            self.flights[slot] = self.waiting.pop_front();
            self.advance(slot);
        }
        !self.kernel.submission().is_empty()
    }

    /// Submits new entries to the kernel.
    fn enter(&self) -> Result<(), StoreError> {
        entered(self.kernel.submitter().submit()).map(drop)
    }

    /// Enters the kernel, and waits up to a second for an answer. Whether there may be one.
    fn enter_and_wait(&self) -> Result<bool, StoreError> {
        let submitter = self.kernel.submitter();
        if !self.kernel.params().is_feature_ext_arg() {
            return entered(submitter.submit_and_wait(1));
        }
        let second = types::Timespec::new().sec(1);
        entered(submitter.submit_with_args(1, &types::SubmitArgs::new().timespec(&second)))
    }

    /// Gives the kernel something to do for a thread.
    fn remind(&mut self) {
        let flags = squeue::Flags::ASYNC;
        let entry = opcode::Nop::new().build().flags(flags).user_data(REMINDER);
        // SAFETY: it knows no memory. Where there is no room for it, others are waiting to be seen.
        let _ = unsafe { self.kernel.submission().push(&entry) };
    }
}

/// Whether the kernel may have answered, or did not in time.
fn entered(entered_with: io::Result<usize>) -> Result<bool, StoreError> {
    match entered_with {
        Ok(_) => Ok(true),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::TIME) => Ok(false),
        Err(error) if transient(&error) => {
            std::thread::yield_now();
            Ok(true)
        }
        Err(error) => Err(StoreError::Ring(error)),
    }
}

/// Whether the kernel takes the same entries a little later.
fn transient(error: &io::Error) -> bool {
    let later = [Errno::INTR, Errno::AGAIN, Errno::BUSY];
    Errno::from_io_error(error).is_some_and(|error| later.contains(&error))
}

impl<M: Memory> Backend<M> for Ring<M> {
    fn submit(&mut self, request: Request<M>) -> Result<(), StoreError> {
        let Some(slot) = self.free.pop() else {
            self.waiting.push_back(request);
            return Ok(());
        };
        self.flights[slot] = Some(request);
        self.advance(slot);
        if self.kernel.submission().is_empty() { Ok(()) } else { self.enter() }
    }

    fn next(&mut self, wait: bool) -> Result<Option<Outcome<M>>, StoreError> {
        let mut reminders = 0;
        loop {
            if self.reap() {
                self.enter()?;
            }
            if let Some(outcome) = self.ended.pop_front() {
                return Ok(Some(outcome));
            }
            if self.in_kernel() == 0 && self.waiting.is_empty() {
                return Ok(None);
            }
            if wait {
                if !self.enter_and_wait()? {
                    reminders += 1;
                    if reminders > REMINDERS {
                        return Err(StoreError::Ring(Errno::TIME.into()));
                    }
                    self.remind();
                }
            } else if self.kernel.submission().taskrun() {
                self.enter()?;
            } else if self.kernel.completion().is_empty() {
                return Ok(None);
            }
        }
    }
}

impl<M: Memory> Drop for Ring<M> {
    fn drop(&mut self) {
        self.waiting.clear();
        while self.in_kernel() > 0 {
            if self.next(true).is_err() {
                std::mem::forget(std::mem::take(&mut self.flights));
                std::mem::forget(std::mem::take(&mut self.vectors));
                return;
            }
        }
    }
}
