//! Worker threads, and how they share tasks.
//!
//! Parts wait in a queue, and a worker owns each that it takes. What a part produces lands in a
//! place of its own, which it brings along, so results never depend on who did what.
//!
//! A worker that prepares for later parts takes them before it begins them ([`Upcoming`]), and no
//! more than a share of those that are left, so that at the end no other worker waits for it.
//!
//! Invariants: the state of a worker is its own while parts are worked on; no lock but that of the
//! queue is ever waited for · each part that was taken is done by the worker that took it, once,
//! unless the work failed. Tested by `a_part_belongs_to_the_worker_that_takes_it` and
//! `parts_are_taken_ahead_up_to_a_share_of_what_is_left`.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread::{Scope, ScopedJoinHandle};

use rayon::{ThreadPool, ThreadPoolBuilder};
use welter_progress::Progress;
use welter_store::io::Requests;

use crate::EngineError;
use crate::machine::arena::Arena;
use crate::machine::per_worker::PerWorker;
use crate::machine::storage::Storage;
use crate::machine::sync::{into_inner, lock};
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

    /// Storage of temporary files.
    pub fn storage(&self) -> Option<&Storage> {
        self.storage.as_ref()
    }

    /// Settings of requests to it.
    pub(crate) fn requests(&self) -> Requests {
        self.storage.as_ref().map_or_else(Requests::default, |storage| storage.io.requests)
    }

    /// Waits until the room of temporary files that are gone is free.
    pub(crate) fn wait_for_closed_files(&self) {
        self.storage.iter().for_each(|storage| storage.io.closing.wait());
    }

    /// Throughput of this machine, and of the storage for what does not fit in memory, of which
    /// there are `bytes` bytes, from a short look.
    ///
    /// # Errors
    /// When storage fails, or is full.
    pub fn throughput(&self, bytes: u64) -> Result<Throughput, EngineError> {
        let storage = self.storage.as_ref();
        let look = |storage: &Storage| storage.throughput(bytes, self.threads(), &self.arena);
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
        let made: Vec<_> = (0..self.threads()).map(|_| Mutex::new(None)).collect();
        self.broadcast(&|worker| *lock(&made[worker]) = Some(work(worker)));
        made.into_iter().filter_map(into_inner).collect()
    }

    /// Runs `work` once on every worker. The pool's part in that is compiled here, once.
    fn broadcast(&self, work: &(dyn Fn(usize) + Sync)) {
        self.pool.broadcast(|context| work(context.index()));
    }

    /// Gives each worker a part of its own, the first one to the first worker, and returns what
    /// they made, in the same order.
    pub(crate) fn each_with<T: Send, R: Send>(
        &self,
        parts: impl IntoIterator<Item = T>,
        work: impl Fn(usize, T) -> Result<R, EngineError> + Sync,
    ) -> Result<Vec<R>, EngineError> {
        // The pool shares one function among its threads, so parts are taken out of it.
        let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        let made = self.all(|worker| {
            let part = parts.get(worker).and_then(|part| lock(part).take());
            part.map(|part| work(worker, part))
        });
        made.into_iter().flatten().collect()
    }

    /// One state a worker, for [`Self::for_each`].
    pub(crate) fn per_worker<S>(
        &self,
        make: impl Fn() -> Result<S, EngineError>,
    ) -> Result<PerWorker<S>, EngineError> {
        (0..self.threads()).map(|_| make()).collect()
    }

    /// Hands out parts in their order, each to whichever worker is free, which owns it from then
    /// on; with the state of that worker. Ends at the first error, or when `progress` is cancelled.
    pub(crate) fn for_each<'s, S: Send + 's, I: IntoIterator<IntoIter: Send, Item: Send>>(
        &self,
        parts: I,
        progress: &Progress,
        states: impl IntoIterator<Item = &'s mut S>,
        work: impl Fn(&mut S, I::Item) -> Result<(), EngineError> + Sync,
    ) -> Result<(), EngineError> {
        let queue = Queue::new(parts);
        let done = self.each_with(states, |_, state| {
            while let Some(part) = queue.next() {
                queue.end_on_error(check(progress).and_then(|()| work(state, part)))?;
            }
            Ok(())
        });
        done.map(drop)
    }

    /// Hands out parts as [`Self::for_each`] does, but each worker can take parts that it will do
    /// later, so that it can prepare for them.
    pub(crate) fn for_each_ahead<'s, S: Send + 's, I: IntoIterator<IntoIter: Send, Item: Send>, W>(
        &self,
        parts: I,
        progress: &Progress,
        states: impl IntoIterator<Item = &'s mut S>,
        work: W,
    ) -> Result<(), EngineError>
    where
        W: Fn(&mut S, I::Item, &mut Upcoming<'_, I::IntoIter>) -> Result<(), EngineError> + Sync,
    {
        let (queue, threads) = (Queue::new(parts), self.threads());
        let done = self.each_with(states, |_, state| {
            let mut upcoming = Upcoming { taken: VecDeque::new(), queue: &queue, threads };
            while let Some(part) = upcoming.begin() {
                let done = check(progress).and_then(|()| work(state, part, &mut upcoming));
                queue.end_on_error(done)?;
            }
            Ok(())
        });
        done.map(drop)
    }
}

/// Parts that a worker will do after the one that it is at, in that order.
pub(crate) struct Upcoming<'q, I: Iterator> {
    /// Parts that are this worker's already.
    taken: VecDeque<I::Item>,
    queue: &'q Queue<I>,
    threads: usize,
}

impl<I: Iterator> Upcoming<'_, I> {
    /// The part that comes `place` parts after the next one, which is taken now if it was not
    /// before; `None` where no part is left, or the worker has its share of what is left.
    pub(crate) fn get(&mut self, place: usize) -> Option<&I::Item> {
        while self.taken.len() <= place {
            let part = self.queue.next_ahead(self.taken.len(), self.threads)?;
            self.taken.push_back(part);
        }
        self.taken.get(place)
    }

    /// The next part, to be done now. Parts that were taken are given up once a worker has failed.
    fn begin(&mut self) -> Option<I::Item> {
        if self.queue.has_ended() {
            return None;
        }
        self.taken.pop_front().or_else(|| self.queue.next())
    }
}

/// Parts that wait for a worker.
struct Queue<I>(Mutex<Option<I>>);

impl<I: Iterator> Queue<I> {
    fn new(parts: impl IntoIterator<IntoIter = I>) -> Self {
        Self(Mutex::new(Some(parts.into_iter())))
    }

    fn next(&self) -> Option<I::Item> {
        lock(&self.0).as_mut()?.next()
    }

    /// A part for a worker that has taken `taken` parts ahead. It gets one in any case, and beyond
    /// that half of an equal share of those that are left: parts differ, and who has the longest
    /// ones must not be the one whom all others wait for.
    fn next_ahead(&self, taken: usize, threads: usize) -> Option<I::Item> {
        let mut parts = lock(&self.0);
        let parts = parts.as_mut()?;
        let share = match threads {
            0 | 1 => usize::MAX,
            _ => (parts.size_hint().0 / (2 * threads)).max(1),
        };
        if taken < share { parts.next() } else { None }
    }

    /// Workers wait no more once a worker has failed.
    fn end_on_error(&self, done: Result<(), EngineError>) -> Result<(), EngineError> {
        if done.is_err() {
            *lock(&self.0) = None;
        }
        done
    }

    /// Whether a worker has failed.
    fn has_ended(&self) -> bool {
        lock(&self.0).is_none()
    }
}

/// Ends work that was cancelled.
fn check(progress: &Progress) -> Result<(), EngineError> {
    if progress.cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn every_task_is_done_once() {
        let workers = Workers::new(3).unwrap();
        let mut counts = workers.per_worker(|| Ok(0_u64)).unwrap();
        let sum = AtomicU64::new(0);
        let add = |count: &mut u64, task: usize| {
            *count += 1;
            sum.fetch_add(1 << task, Ordering::Relaxed);
            Ok(())
        };
        workers.for_each(0..40, &Progress::new(), &mut counts, add).unwrap();
        assert_eq!(sum.into_inner(), (1 << 40) - 1);
        assert_eq!(counts.into_iter().sum::<u64>(), 40);
    }

    #[test]
    fn a_part_belongs_to_the_worker_that_takes_it() {
        let workers = Workers::new(3).unwrap();
        let mut column = [0_u64; 1000];
        let mut own = workers.per_worker(|| Ok(Vec::new())).unwrap();
        let parts = column.chunks_mut(7).enumerate();
        workers
            .for_each_ahead(parts, &Progress::new(), &mut own, |own, (number, part), upcoming| {
                part.fill(number as u64 + 1);
                own.push((number, upcoming.get(0).map(|next| next.0)));
                Ok(())
            })
            .unwrap();
        assert!(column.iter().zip(0..).all(|(&value, place)| value == place / 7 + 1));
        for own in &own {
            // The part that was announced came next, and parts came in their order.
            assert!(own.windows(2).all(|pair| pair[0].1 == Some(pair[1].0)));
            assert!(own.is_sorted() && own.last().is_none_or(|last| last.1.is_none()));
        }
        assert_eq!(own.iter().map(Vec::len).sum::<usize>(), 1000_usize.div_ceil(7));
    }

    #[test]
    fn parts_are_taken_ahead_up_to_a_share_of_what_is_left() {
        const PARTS: usize = 200;
        for threads in 1..=4 {
            let workers = Workers::new(threads).unwrap();
            // Parts that a worker has taken, and those that it did, with how many it had ahead.
            let own = || Ok((VecDeque::<usize>::new(), Vec::<(usize, usize)>::new()));
            let mut own = workers.per_worker(own).unwrap();
            workers
                .for_each_ahead(0..PARTS, &Progress::new(), &mut own, |own, part, upcoming| {
                    let (taken, done) = own;
                    assert_eq!(taken.pop_front().unwrap_or(part), part, "{threads} threads");
                    let ahead: Vec<usize> =
                        (0..).map_while(|place| upcoming.get(place).copied()).collect();
                    // Parts that were taken stay, in their order.
                    assert!(ahead.iter().take(taken.len()).eq(taken.iter()), "{threads} threads");
                    done.push((part, ahead.len()));
                    *taken = ahead.into();
                    Ok(())
                })
                .unwrap();
            let mut all = Vec::new();
            for (taken, done) in &own {
                assert!(taken.is_empty(), "{threads} threads");
                let most = if threads == 1 { PARTS } else { PARTS / (2 * threads) };
                assert!(done.iter().all(|(_, ahead)| *ahead <= most), "{threads} threads");
                all.extend(done.iter().map(|(part, _)| *part));
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..PARTS), "{threads} threads");
            // All that is left is one worker's where it is alone.
            let most = own.iter().flat_map(|(_, done)| done).map(|(_, ahead)| *ahead).max();
            assert!(most > Some(if threads == 1 { PARTS - 2 } else { 1 }), "{threads}: {most:?}");
        }
    }

    #[test]
    fn parts_that_were_taken_ahead_are_given_up_after_an_error() {
        let workers = Workers::new(1).unwrap();
        let mut counts = workers.per_worker(|| Ok(0_usize)).unwrap();
        let done = workers.for_each_ahead(
            0..40,
            &Progress::new(),
            &mut counts,
            |count, part, upcoming| {
                *count += 1;
                assert_eq!(upcoming.get(5).copied(), Some(part + 6).filter(|part| *part < 40));
                if part == 3 { Err(EngineError::internal("no")) } else { Ok(()) }
            },
        );
        assert!(matches!(done, Err(EngineError::Internal(_))));
        assert_eq!(counts.iter().sum::<usize>(), 4);
        // Another worker's error is no reason to begin more, either.
        let queue = Queue::new(0..40);
        let mut upcoming = Upcoming { taken: VecDeque::new(), queue: &queue, threads: 2 };
        assert_eq!(upcoming.get(8), None);
        assert_eq!(upcoming.get(7), Some(&7));
        assert_eq!(upcoming.begin(), Some(0));
        let failed = queue.end_on_error(Err(EngineError::internal("no")));
        assert!(failed.is_err() && upcoming.begin().is_none());
    }

    #[test]
    fn parts_after_an_error_are_given_up() {
        let workers = Workers::new(2).unwrap();
        let mut counts = workers.per_worker(|| Ok(0)).unwrap();
        let fail = |count: &mut u64, part: u64| {
            *count += 1;
            if part == 3 { Err(EngineError::internal("no")) } else { Ok(()) }
        };
        // A queue without end: who fails ends it for all.
        let error = workers.for_each(0.., &Progress::new(), &mut counts, fail).unwrap_err();
        assert!(matches!(error, EngineError::Internal(_)));
        assert!(counts.iter().sum::<u64>() > 3);
    }

    #[test]
    fn each_worker_gets_the_part_with_its_number() {
        let workers = Workers::new(3).unwrap();
        let made = workers.each_with(["a", "b"], |worker, part| Ok((worker, part))).unwrap();
        assert_eq!(made, [(0, "a"), (1, "b")]);
    }

    #[test]
    fn a_cancelled_run_ends_the_tasks() {
        let workers = Workers::new(2).unwrap();
        let mut counts = workers.per_worker(|| Ok(0)).unwrap();
        let progress = Progress::new();
        let cancel = |count: &mut u64, task: u64| {
            *count += 1;
            if task == 3 {
                progress.cancel();
            }
            Ok(())
        };
        let error = workers.for_each(0.., &progress, &mut counts, cancel).unwrap_err();
        assert!(matches!(error, EngineError::Cancelled));
        assert!(counts.into_iter().sum::<u64>() > 3);
    }
}
