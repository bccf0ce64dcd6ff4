//! The accumulator thread of a sub-range: it folds what arrives, from the buffer that it arrived
//! in, and does nothing else.
//!
//! ```text
//! iteration 0      edges       --> chunks (`edges`)
//! iteration 1 ..   updates     --> the accumulators of the sub-range, or what waits for them
//!                                  (`gathered`)
//! last buckets     of all computation threads: the set is whole, and goes to the computation
//!                  thread of the sub-range; the other one, where there are two, receives
//! ```
//!
//! Sets themselves go from thread to thread, so no lock is on them. Messages of the next
//! iteration may come while others of this one are missing; of the one after that none is sent
//! before this set was given back empty.
//!
//! **Invariant:** a set is handed on when each computation thread of the cluster has sent its last
//! bucket of the iteration, with the number of updates that all messages in it stood for. Checked
//! in `Folding::end`. Tested by `a_bucket_that_is_folded_twice_is_found`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use welter_engine::chunks::FoldKernel;
use welter_transport::{Arrived, Faults, Joined, RxLane};

use super::edges::{Edges, Gathering};
use super::error::Stop;
use super::gathered::IncomingUpdates;
use super::messages::{Reader, width};
use super::patience::Patience;
use super::processor::ProcessorTime;

/// Messages of an iteration that were folded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Updates that they stood for.
    pub(super) updates: u64,
    /// Messages.
    pub(super) messages: u64,
    /// Nanoseconds of processor time of the thread until they were whole.
    pub(super) processor: u64,
}

/// An iteration that is whole.
pub(super) enum Whole {
    Edges(Edges, Count),
    Updates(IncomingUpdates, Count),
}

/// A set of what is gathered, and how far it is.
#[derive(Default)]
struct Set {
    gathered: Option<IncomingUpdates>,
    count: Count,
    /// Threads that have sent their last bucket.
    ends: usize,
}

impl Set {
    fn gather(
        &mut self,
        kernel: &FoldKernel,
        empty: &Receiver<IncomingUpdates>,
        messages: (&[u32], &[u8]),
    ) -> Result<(), Stop> {
        let gathered = match &mut self.gathered {
            Some(gathered) => gathered,
            none => none.insert(empty.recv().map_err(|_| Stop::Over)?),
        };
        gathered.gather(kernel, messages)
    }
}

/// The thread, with the lanes that lead to it.
pub(super) struct Folding<R> {
    pub(super) lanes: R,
    pub(super) kernel: FoldKernel,
    /// Threads that send to it.
    pub(super) sources: usize,
    pub(super) edges: Gathering,
    pub(super) edge_bytes: usize,
    /// Sets that are empty.
    pub(super) empty: Receiver<IncomingUpdates>,
    pub(super) whole: Sender<Whole>,
    /// Whether nothing more will come.
    pub(super) is_over: Arc<AtomicBool>,
    /// Faults that tests plant.
    pub(super) faults: Option<Faults>,
}

/// State of the thread between two buckets.
struct State<'f> {
    kernel: &'f FoldKernel,
    empty: &'f Receiver<IncomingUpdates>,
    edges: Option<Gathering>,
    edge_bytes: usize,
    /// The iteration that receives, and the sets of it and of the next one.
    iteration: u32,
    sets: [Set; 2],
    reader: Reader,
    /// Messages of linked buckets.
    joined: Joined,
    processor: ProcessorTime,
    failed: Option<Stop>,
}

impl<R: RxLane> Folding<R> {
    /// Folds until nothing more will come.
    pub(super) fn run(mut self) -> Result<(), Stop> {
        let mut state = State {
            kernel: &self.kernel,
            empty: &self.empty,
            edges: Some(self.edges),
            edge_bytes: self.edge_bytes,
            iteration: 0,
            sets: Default::default(),
            reader: Reader::default(),
            joined: Joined::new(self.kernel.shape().record() + size_of::<u32>()),
            processor: ProcessorTime::default(),
            failed: None,
        };
        let mut patience = Patience::default();
        while !self.is_over.load(Ordering::Acquire) {
            let mut fold = |bucket: &Arrived<'_>| {
                state.fold(bucket);
                if self.faults.as_ref().is_some_and(|it| it.refolds(bucket.header())) {
                    state.fold_messages(bucket);
                }
            };
            let folded = self.lanes.poll(&mut fold)?;
            if let Some(failed) = state.failed.take() {
                return Err(failed);
            }
            while state.sets[0].ends == self.sources {
                let whole = state.end()?;
                // A thread that is gone has said why.
                let _ = self.whole.send(whole);
            }
            patience.wait_unless(folded > 0);
        }
        Ok(())
    }
}

impl State<'_> {
    fn fold(&mut self, bucket: &Arrived<'_>) {
        self.fold_messages(bucket);
        let header = bucket.header();
        if header.last
            && let Some(ahead) = header.iteration.checked_sub(self.iteration)
            && let Some(set) = self.sets.get_mut(ahead as usize)
        {
            set.ends += 1;
        }
    }

    fn fold_messages(&mut self, bucket: &Arrived<'_>) {
        let folded = self.fold_into_set(bucket);
        if let (Err(stop), None) = (folded, &self.failed) {
            self.failed = Some(stop);
        }
    }

    fn fold_into_set(&mut self, bucket: &Arrived<'_>) -> Result<(), Stop> {
        let header = bucket.header();
        let is_edges = header.iteration == 0;
        let shape = self.kernel.shape();
        let record_bytes = if is_edges { self.edge_bytes } else { shape.record() };
        let is_empty = bucket.runs().all(<[u8]>::is_empty);
        if header.width != 0 && header.width != width(record_bytes) && !is_empty {
            return Err(Stop::broken(format!("messages of {} bytes", header.width)));
        }
        let ahead = header.iteration.checked_sub(self.iteration);
        let set = ahead.and_then(|ahead| self.sets.get_mut(ahead as usize));
        let set = set.ok_or_else(|| {
            Stop::broken(format!(
                "messages of iteration {} in {}",
                header.iteration, self.iteration
            ))
        })?;
        set.count.updates += header.updates;
        if header.width == 0 {
            let Some(message) = self.joined.add(bucket)? else { return Ok(()) };
            if message.len() != record_bytes + size_of::<u32>() || is_edges {
                return Err(Stop::broken(format!("a message of {} bytes", message.len())));
            }
            let read = self.reader.read(message, record_bytes);
            set.count.messages += 1;
            return set.gather(self.kernel, self.empty, read);
        }
        for run in bucket.runs().filter(|run| !run.is_empty()) {
            let (targets, records) = self.reader.read(run, record_bytes);
            set.count.messages += targets.len() as u64;
            if is_edges {
                let edges = self.edges.as_mut().ok_or_else(|| Stop::broken("edges again"))?;
                edges.take(targets, records);
                continue;
            }
            set.gather(self.kernel, self.empty, (targets, records))?;
        }
        Ok(())
    }

    /// Ends the iteration that receives.
    fn end(&mut self) -> Result<Whole, Stop> {
        let mut set = std::mem::take(&mut self.sets[0]);
        set.count.processor = self.processor.take();
        self.sets.swap(0, 1);
        let iteration = self.iteration;
        self.iteration += 1;
        if iteration == 0 {
            let edges = self.edges.take().ok_or_else(|| Stop::broken("edges again"))?;
            return Ok(Whole::Edges(edges.whole()?, set.count));
        }
        let gathered = match set.gathered {
            Some(gathered) => gathered,
            None => self.empty.recv().map_err(|_| Stop::Over)?,
        };
        Ok(Whole::Updates(gathered, set.count))
    }
}
