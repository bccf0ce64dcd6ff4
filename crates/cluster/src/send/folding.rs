//! The accumulator thread of a sub-range: it folds what arrives, from the buffer that it arrived
//! in, and does nothing else.
//!
//! ```text
//! iteration 0      edges       --> chunks (`edges`)
//! iteration 1 ..   messages    --> a set of the program ([`Gather`]): accumulators, or what waits
//!                                  for them (`gathered`), signals, or corners of triangles
//! last buckets     of all computation threads: the set is whole, and goes to the computation
//!                  thread of the sub-range; the other one, where there are two, receives
//! ```
//!
//! Iterations here are those of lanes: a run that begins may take several.
//!
//! Sets themselves go from thread to thread, so no lock is on them. Messages of the next
//! iteration may come while others of this one are missing, since computation threads do not wait
//! for the barrier where there are two sets (`computing`); of the one after that none is sent
//! before this set was given back empty.
//!
//! **Invariant:** a message of an iteration comes when its set was given back, and none of the
//! second next iteration. Checked in `Set::gathered` and `State::fold_into_set`.
//!
//! **Invariant:** a set is handed on when each computation thread of the cluster has sent its last
//! bucket of the iteration, with the number of updates that all messages in it stood for. Checked
//! in `Folding::end`. Tested by `a_bucket_that_is_folded_twice_is_found`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use welter_transport::{Arrived, Faults, Joined, Patience, RxLane};

use super::cores::bind;
use super::edges::{Edges, Gathering};
use super::error::Stop;
use super::message_runs::Reader;
use super::messages::width;
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

/// A set of what a sub-range gathers in an iteration.
pub(super) trait Gather: Send {
    /// Bytes of the records that come; none where messages are bundles of any length.
    fn record_bytes(&self) -> Option<usize>;

    /// Gathers messages: destinations, and as many records.
    ///
    /// # Errors
    /// When they are not what is sent to the sub-range, or have no room.
    fn gather(&mut self, messages: (&[u32], &[u8])) -> Result<(), Stop>;

    /// Gathers a bundle.
    ///
    /// # Errors
    /// As [`Self::gather`].
    fn gather_bundle(&mut self, _bundle: &[u8]) -> Result<(), Stop> {
        Err(Stop::broken("a bundle among messages"))
    }
}

/// An iteration that is whole.
pub(super) enum Whole<S> {
    Edges(Edges, Count),
    Set(S, Count),
}

/// A set of what is gathered, and how far it is.
struct Set<S> {
    gathered: Option<S>,
    count: Count,
    /// Threads that have sent their last bucket.
    ends: usize,
}

impl<S> Default for Set<S> {
    fn default() -> Self {
        Self { gathered: None, count: Count::default(), ends: 0 }
    }
}

impl<S> Set<S> {
    /// The set, which was given back empty.
    fn gathered(&mut self, empty: &Receiver<S>) -> Result<&mut S, Stop> {
        match &mut self.gathered {
            Some(gathered) => Ok(gathered),
            none => match empty.try_recv() {
                Ok(set) => Ok(none.insert(set)),
                Err(TryRecvError::Empty) => Err(Stop::broken("updates before their set is empty")),
                Err(TryRecvError::Disconnected) => Err(Stop::Over),
            },
        }
    }
}

/// The thread, with the lanes that lead to it.
pub(super) struct Folding<R, S> {
    pub(super) lanes: R,
    /// Core of the thread, if it has one of its own.
    pub(super) core: Option<usize>,
    /// Threads that send to it.
    pub(super) sources: usize,
    pub(super) edges: Gathering,
    pub(super) edge_bytes: usize,
    /// Bytes of a message at most.
    pub(super) message_bytes_max: usize,
    /// Sets that are empty.
    pub(super) empty: Receiver<S>,
    pub(super) whole: Sender<Whole<S>>,
    /// Whether nothing more will come.
    pub(super) is_over: Arc<AtomicBool>,
    /// Faults that tests plant.
    pub(super) faults: Option<Faults>,
}

/// State of the thread between two buckets.
struct State<'f, S> {
    empty: &'f Receiver<S>,
    edges: Option<Gathering>,
    edge_bytes: usize,
    /// The iteration that receives, and the sets of it and of the next one.
    iteration: u32,
    sets: [Set<S>; 2],
    reader: Reader,
    /// Messages of linked buckets.
    joined: Joined,
    processor: ProcessorTime,
    failed: Option<Stop>,
}

impl<R: RxLane, S: Gather> Folding<R, S> {
    /// Folds until nothing more will come.
    pub(super) fn run(mut self) -> Result<(), Stop> {
        bind(self.core);
        let mut state = State {
            empty: &self.empty,
            edges: Some(self.edges),
            edge_bytes: self.edge_bytes,
            iteration: 0,
            sets: Default::default(),
            reader: Reader::default(),
            joined: Joined::new(self.message_bytes_max),
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

impl<S: Gather> State<'_, S> {
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
        let ahead = header.iteration.checked_sub(self.iteration);
        let set = ahead.and_then(|ahead| self.sets.get_mut(ahead as usize));
        let set = set.ok_or_else(|| {
            Stop::broken(format!(
                "messages of iteration {} in {}",
                header.iteration, self.iteration
            ))
        })?;
        set.count.updates += header.updates;
        let is_short = header.width != 0;
        if is_short && bucket.runs().all(<[u8]>::is_empty) {
            return Ok(());
        }
        let wrong = || Stop::broken(format!("messages of {} bytes", header.width));
        if header.iteration == 0 {
            if header.width != width(self.edge_bytes) {
                return Err(wrong());
            }
            let edges = self.edges.as_mut().ok_or_else(|| Stop::broken("edges again"))?;
            for run in bucket.runs().filter(|run| !run.is_empty()) {
                let (ends, records) = self.reader.read(run, self.edge_bytes);
                set.count.messages += ends.len() as u64;
                edges.take(ends, records);
            }
            return Ok(());
        }
        let message = if is_short { None } else { self.joined.add(bucket)? };
        if message.is_none() && !is_short {
            return Ok(());
        }
        let gathered = set.gathered(self.empty)?;
        let messages = match (message, gathered.record_bytes()) {
            (Some(bundle), None) => {
                gathered.gather_bundle(bundle)?;
                1
            }
            (Some(message), Some(record_bytes)) => {
                if message.len() != record_bytes + size_of::<u32>() {
                    return Err(Stop::broken(format!("a message of {} bytes", message.len())));
                }
                gathered.gather(self.reader.read(message, record_bytes))?;
                1
            }
            (None, Some(record_bytes)) if header.width == width(record_bytes) => {
                let mut messages = 0;
                for run in bucket.runs().filter(|run| !run.is_empty()) {
                    let (targets, records) = self.reader.read(run, record_bytes);
                    messages += targets.len() as u64;
                    gathered.gather((targets, records))?;
                }
                messages
            }
            (None, _) => return Err(wrong()),
        };
        set.count.messages += messages;
        Ok(())
    }

    /// Ends the iteration that receives.
    fn end(&mut self) -> Result<Whole<S>, Stop> {
        let mut set = std::mem::take(&mut self.sets[0]);
        set.count.processor = self.processor.take();
        self.sets.swap(0, 1);
        let iteration = self.iteration;
        self.iteration += 1;
        if iteration == 0 {
            let edges = self.edges.take().ok_or_else(|| Stop::broken("edges again"))?;
            return Ok(Whole::Edges(edges.whole()?, set.count));
        }
        set.gathered(self.empty)?;
        let gathered = set.gathered.ok_or_else(|| Stop::broken("a set was given"))?;
        Ok(Whole::Set(gathered, set.count))
    }
}
