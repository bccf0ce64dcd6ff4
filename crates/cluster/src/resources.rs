//! Threads and memory of a machine, which its worker is lent.
//!
//! Threads that stream chunks wait while the worker does anything else, so as many as these are
//! started for a piece of work that is cut into parts, and end with it: a start takes some tens of
//! microseconds, and parts are of thousands of vertices at least.

use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, scope};

use welter_protocol::payload::Buffer;
use welter_worker::{Resources, WorkPart};

use crate::pool::Pool;

/// Threads, of which the caller's is one, and pages of payloads that are gone.
pub(crate) struct HostResources {
    threads: usize,
    pool: Pool,
}

impl HostResources {
    pub(crate) fn new(threads: usize, pool: Pool) -> Self {
        Self { threads, pool }
    }
}

impl Resources for HostResources {
    fn run(&self, parts: Vec<WorkPart<'_>>) {
        let threads = self.threads.min(parts.len());
        if threads <= 1 {
            return parts.into_iter().for_each(|part| part());
        }
        let left = Mutex::new(parts.into_iter());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some(part) = next() {
                part();
            }
        };
        scope(|scope| {
            for number in 1..threads {
                let thread = Builder::new().name(format!("part-{number}"));
                // Without it others have its parts.
                let _ = thread.spawn_scoped(scope, work);
            }
            work();
        });
    }

    fn buffer(&self, bytes: usize) -> Buffer {
        self.pool.buffer(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn all_parts_are_run_and_side_by_side() {
        for (threads, count) in [(1, 5), (3, 0), (3, 1), (3, 20)] {
            let mut done = vec![0; count];
            let mut parts: Vec<WorkPart<'_>> = Vec::new();
            for (number, done) in done.iter_mut().enumerate() {
                parts.push(Box::new(move || *done = number + 1));
            }
            HostResources::new(threads, Pool::new(0)).run(parts);
            assert_eq!(done, (1..=count).collect::<Vec<_>>(), "{threads} threads");
        }
        // Were they run one after the other, the first would wait for ever.
        let meeting = Barrier::new(3);
        let mut parts: Vec<WorkPart<'_>> = Vec::new();
        for _ in 0..3 {
            parts.push(Box::new(|| {
                meeting.wait();
            }));
        }
        HostResources::new(3, Pool::new(0)).run(parts);
    }
}
