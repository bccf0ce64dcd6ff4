//! Worker threads, and how they share tasks.
//!
//! Tasks are taken from a counter, one task to a worker at a time. What a task produces lands in a
//! place of its own, so results never depend on who did what.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_progress::Progress;

use crate::EngineError;
use crate::machine::arena::Arena;
use crate::machine::storage::Storage;
use crate::machine::sync::lock;
use crate::machine::throughput::Throughput;

/// A pool of worker threads, and the memory that ingests share: a second graph goes into what the
/// first one left.
#[derive(Debug)]
pub struct Workers {
    pool: ThreadPool,
    arena: Arena,
    storage: Option<Storage>,
}

impl Workers {
    /// Starts `threads` workers, or as many of them as the system lets be.
    ///
    /// # Errors
    /// When the system starts not even one thread.
    pub fn new(threads: usize) -> Result<Self, EngineError> {
        let start = |threads| {
            ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|index| format!("welter-{index}"))
                .build()
        };
        let mut fewer = threads;
        loop {
            match start(fewer) {
                Ok(pool) => return Ok(Self { pool, arena: Arena::default(), storage: None }),
                Err(error) if fewer <= 1 => return Err(EngineError::Threads(error.to_string())),
                Err(_) => fewer = fewer.div_ceil(2),
            }
        }
    }

    /// Starts a thread beside the workers.
    pub(crate) fn beside<'s, T: Send + 's>(
        scope: &'s Scope<'s, '_>,
        work: impl FnOnce() -> T + Send + 's,
    ) -> Result<ScopedJoinHandle<'s, T>, EngineError> {
        std::thread::Builder::new()
            .spawn_scoped(scope, work)
            .map_err(|error| EngineError::Threads(error.to_string()))
    }

    /// Says where what does not fit in memory may go.
    #[must_use]
    pub fn with_storage(self, storage: Storage) -> Self {
        Self { storage: Some(storage), ..self }
    }

    /// Where that is.
    pub fn storage(&self) -> Option<&Storage> {
        self.storage.as_ref()
    }

    /// Waits until the room of temporary files that are gone is free.
    pub(crate) fn settle(&self) {
        self.storage.iter().for_each(|storage| storage.io.closing.wait());
    }

    /// How fast this machine is, and the storage for what does not fit in memory, if that is so
    /// many bytes, from a short look.
    ///
    /// # Errors
    /// When storage fails, or is full.
    pub fn pace(&self, bytes: u64) -> Result<Throughput, EngineError> {
        let storage = self.storage.as_ref();
        let look = |storage: &Storage| storage.pace(bytes, self.threads(), &self.arena);
        storage.map_or_else(|| Ok(Throughput::of_core()), look)
    }

    /// Number of workers.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Gives memory that no graph uses back to the system.
    pub fn trim(&self) {
        self.arena.trim();
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    /// Runs `work` once on every worker, with the worker's number, and returns what they made.
    pub(crate) fn each<R: Send>(
        &self,
        work: impl Fn(usize) -> Result<R, EngineError> + Sync,
    ) -> Result<Vec<R>, EngineError> {
        self.all(work).into_iter().collect()
    }

    /// Runs `work` that cannot fail once on every worker.
    pub(crate) fn all<R: Send>(&self, work: impl Fn(usize) -> R + Sync) -> Vec<R> {
        self.pool.broadcast(|context| work(context.index()))
    }

    /// One state a worker, for [`Self::tasks`].
    pub(crate) fn states<S>(
        &self,
        make: impl Fn() -> Result<S, EngineError>,
    ) -> Result<Vec<Mutex<S>>, EngineError> {
        (0..self.threads()).map(|_| make().map(Mutex::new)).collect()
    }

    /// Runs tasks `0..tasks` in that order, each on whichever worker is free, with the state of
    /// that worker. Ends at the first error, or when `progress` is cancelled.
    pub(crate) fn tasks<S: Send>(
        &self,
        tasks: usize,
        progress: &Progress,
        states: &[Mutex<S>],
        work: impl Fn(&mut S, usize) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        self.take_tasks(tasks, progress, states, false, |state, task, _| work(state, task))
    }

    /// Runs tasks as [`Self::tasks`] does, but each worker knows the task that it will do next, so
    /// that it can prepare for it.
    pub(crate) fn tasks_ahead<S: Send>(
        &self,
        tasks: usize,
        progress: &Progress,
        states: &[Mutex<S>],
        work: impl Fn(&mut S, usize, Option<usize>) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        self.take_tasks(tasks, progress, states, true, work)
    }

    fn take_tasks<S: Send>(
        &self,
        tasks: usize,
        progress: &Progress,
        states: &[Mutex<S>],
        ahead: bool,
        work: impl Fn(&mut S, usize, Option<usize>) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let counter = AtomicUsize::new(0);
        let take = || {
            let task = counter.fetch_add(1, Ordering::Relaxed);
            (task < tasks).then_some(task)
        };
        let outcomes = self.pool.broadcast(|context| {
            let mut state = lock(&states[context.index()]);
            let mut task = take();
            while let Some(current) = task {
                let next = if ahead { take() } else { None };
                let done = if progress.cancelled() {
                    Err(EngineError::Cancelled)
                } else {
                    work(&mut state, current, next)
                };
                if done.is_err() {
                    counter.store(tasks, Ordering::Relaxed);
                    return done;
                }
                task = if ahead { next } else { take() };
            }
            Ok(())
        });
        outcomes.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn every_task_is_done_once() {
        let workers = Workers::new(3).unwrap();
        let states = workers.states(|| Ok(0_u64)).unwrap();
        let sum = AtomicU64::new(0);
        let add = |count: &mut u64, task: usize| {
            *count += 1;
            sum.fetch_add(1 << task, Ordering::Relaxed);
            Ok(())
        };
        workers.tasks(40, &Progress::new(), &states, add).unwrap();
        assert_eq!(sum.into_inner(), (1 << 40) - 1);
        assert_eq!(states.iter().map(|state| *lock(state)).sum::<u64>(), 40);
    }

    #[test]
    fn a_worker_knows_its_next_task() {
        let workers = Workers::new(3).unwrap();
        let states = workers.states(|| Ok((0_u64, None))).unwrap();
        let add = |(sum, promised): &mut (u64, Option<usize>), task: usize, next| {
            assert!(promised.is_none_or(|promised| promised == task));
            *promised = next;
            *sum += 1 << task;
            Ok(())
        };
        workers.tasks_ahead(40, &Progress::new(), &states, add).unwrap();
        assert_eq!(states.iter().map(|state| lock(state).0).sum::<u64>(), (1 << 40) - 1);
    }

    #[test]
    fn an_error_or_a_cancelled_run_ends_the_tasks() {
        let workers = Workers::new(2).unwrap();
        let states = workers.states(|| Ok(())).unwrap();
        let progress = Progress::new();
        let fail = |(): &mut (), task: usize| {
            if task == 3 { Err(EngineError::Unsupported("no".into())) } else { Ok(()) }
        };
        let error = workers.tasks(1000, &progress, &states, fail).unwrap_err();
        assert!(matches!(error, EngineError::Unsupported(_)));
        progress.cancel();
        let error = workers.tasks(2, &progress, &states, |(), _| Ok(())).unwrap_err();
        assert!(matches!(error, EngineError::Cancelled));
    }
}
