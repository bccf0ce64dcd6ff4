//! Work in parallel, results in order.
//!
//! Blocks are numbered. Each thread takes the next number, makes that block into its own state (a
//! buffer that it uses again and again), waits for its turn and hands the state on. So at most one
//! block a thread exists, results leave in the order of the numbers, and the error that is reported
//! is that of the lowest number, whatever the scheduling.
//!
//! A block that grows too large is handed on in pieces: [`Turn::hand_on`] waits for the turn, and
//! the thread whose turn it is never waits for another, so there is always progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use welter_progress::{Phase, Progress};

use crate::error::OutputError;

/// Settings of a writer, beside its data.
pub(crate) struct Job<'a> {
    /// Name of the output, for errors.
    pub(crate) name: &'a str,
    /// Threads to make blocks with, at least 1.
    pub(crate) threads: usize,
    /// Asked for cancellation once a block.
    pub(crate) progress: &'a Progress,
    /// Counts rows or edges.
    pub(crate) phase: Phase,
}

/// Bytes of a block beyond which it is handed on in pieces.
pub(crate) const PIECE_BYTES: usize = 32 << 20;

type Write<'a, S> = &'a mut (dyn FnMut(&mut S) -> Result<(), OutputError> + Send);

struct Queue<'a, S> {
    inner: Mutex<Inner<'a, S>>,
    changed: Condvar,
}

struct Inner<'a, S> {
    /// The block whose turn it is.
    turn: u64,
    stopped: bool,
    error: Option<OutputError>,
    write: Write<'a, S>,
}

/// The place of a block in the order.
pub(crate) struct Turn<'a, 'w, S> {
    queue: &'a Queue<'w, S>,
    index: u64,
}

impl<'w, S> Turn<'_, 'w, S> {
    /// Waits for the turn of this block and writes what was made of it so far.
    pub(crate) fn hand_on(&self, state: &mut S) -> Result<(), OutputError> {
        let mut inner = self.wait();
        if inner.stopped {
            return Err(OutputError::Cancelled);
        }
        assert_eq!(inner.turn, self.index, "a block is written in its turn");
        (inner.write)(state)
    }

    fn wait(&self) -> MutexGuard<'_, Inner<'w, S>> {
        let early = |inner: &mut Inner<'w, S>| inner.turn != self.index && !inner.stopped;
        let inner = self.queue.lock();
        self.queue.changed.wait_while(inner, early).unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self, result: Result<(), OutputError>) {
        let mut inner = self.wait();
        if inner.stopped {
            return;
        }
        assert_eq!(inner.turn, self.index, "a block ends in its turn");
        inner.turn += 1;
        if let Err(error) = result {
            inner.stopped = true;
            inner.error = Some(error);
        }
        self.queue.changed.notify_all();
    }
}

impl<S> Drop for Turn<'_, '_, S> {
    /// A panicking thread ends the others instead of leaving them waiting for its turn.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.queue.lock().stopped = true;
            self.queue.changed.notify_all();
        }
    }
}

impl<'w, S> Queue<'w, S> {
    fn lock(&self) -> MutexGuard<'_, Inner<'w, S>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the blocks `0..count` in parallel, and writes them in order. `make` finds the state as
/// `write` left it.
pub(crate) fn run<S>(
    job: &Job<'_>,
    count: u64,
    state: impl Fn() -> S + Sync,
    make: impl Fn(&mut S, u64, &Turn<'_, '_, S>) -> Result<(), OutputError> + Sync,
    write: Write<'_, S>,
) -> Result<(), OutputError> {
    let inner = Mutex::new(Inner { turn: 0, stopped: false, error: None, write });
    let queue = Queue { inner, changed: Condvar::new() };
    let next = AtomicU64::new(0);
    let work = || {
        let mut state = state();
        loop {
            let turn = Turn { queue: &queue, index: next.fetch_add(1, Ordering::Relaxed) };
            if turn.index >= count || queue.lock().stopped {
                break;
            }
            turn.end(check(job).and_then(|()| {
                make(&mut state, turn.index, &turn)?;
                turn.hand_on(&mut state)
            }));
        }
    };
    let helpers = (job.threads as u64).min(count).saturating_sub(1);
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            // Where the system starts no more threads, those that are there do it all.
            let started = std::thread::Builder::new().spawn_scoped(scope, work);
            if started.is_err() {
                break;
            }
        }
        work();
    });
    let inner = queue.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(inner.stopped || inner.turn == count, "each block is written");
    inner.error.map_or(Ok(()), Err)
}

/// Ends the work where that was asked for.
pub(crate) fn check(job: &Job<'_>) -> Result<(), OutputError> {
    if job.progress.cancelled() { Err(OutputError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use welter_progress::Unit;

    use super::*;

    fn job(progress: &Progress, threads: usize) -> Job<'_> {
        Job { name: "out", threads, progress, phase: progress.phase("write", Unit::Vertices, None) }
    }

    #[test]
    fn blocks_leave_in_order_and_in_pieces() {
        let progress = Progress::new();
        for threads in [1, 2, 5] {
            let mut written = Vec::new();
            let make = |state: &mut Vec<u64>, index, turn: &Turn<'_, '_, _>| {
                state.push(2 * index);
                if index % 3 == 0 {
                    turn.hand_on(state)?;
                }
                state.push(2 * index + 1);
                Ok(())
            };
            let mut write = |state: &mut Vec<u64>| {
                written.append(state);
                Ok(())
            };
            run(&job(&progress, threads), 100, Vec::new, make, &mut write).unwrap();
            assert!(written.into_iter().eq(0..200));
        }
    }

    #[test]
    fn the_first_error_in_order_is_reported() {
        let progress = Progress::new();
        for _ in 0..50 {
            let make = |(): &mut (), index: u64, _: &Turn<'_, '_, ()>| {
                if index < 3 { Ok(()) } else { Err(OutputError::unfit("out", index.to_string())) }
            };
            let error = run(&job(&progress, 3), 9, || (), make, &mut |()| Ok(())).unwrap_err();
            assert_eq!(error.to_string(), "out: 3");
        }
    }

    #[test]
    fn cancelling_ends_the_work() {
        let progress = Progress::new();
        let mut written = 0;
        let mut write = |(): &mut ()| {
            written += 1;
            progress.cancel();
            Ok(())
        };
        let error = run(&job(&progress, 2), 1_000, || (), |(), _, _| Ok(()), &mut write);
        assert!(matches!(error, Err(OutputError::Cancelled)));
        assert!(written < 4, "{written}");
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let progress = Progress::new();
        let make = |(): &mut (), index, _: &Turn<'_, '_, ()>| {
            assert!(index != 7, "planted");
            Ok(())
        };
        let end = || run(&job(&progress, 3), 100, || (), make, &mut |()| Ok(()));
        assert!(catch_unwind(AssertUnwindSafe(end)).is_err());
    }
}
