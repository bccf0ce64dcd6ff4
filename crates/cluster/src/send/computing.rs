//! The computation thread of a sub-range: it reads its share of the input, and then applies and
//! scatters, iteration by iteration.
//!
//! ```text
//! iteration 0    its share of the edges is sent to the owners of their sources; those that came
//!                here get degrees, and vertices their first values, or those of a checkpoint
//! iteration i    scatter: signals along edges, into buckets       last buckets
//!                the accumulator thread hands over a whole set
//!                apply: values of it; totals go to the barrier    the empty set goes back
//! ```
//!
//! **Invariant:** a set of accumulators is given back before the totals of its iteration are said,
//! so both sets are at the accumulator thread when the next iteration begins anywhere. Checked in
//! `Computing::iterate`, by its order.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use welter_engine::EngineError;
use welter_engine::chunks::{Column, FoldKernel, Kernel, VertexTotals, Vertices, apply, init};
use welter_protocol::partitions::Partitions;
use welter_transport::TxLane;
use welter_worker::Input;

use super::checkpoint::{Checkpoints, Due};
use super::combining::Combined;
use super::edges::record;
use super::error::Stop;
use super::folding::{Count, Whole};
use super::gathered::IncomingUpdates;
use super::messages::{Messages, Sent};
use super::processor::ProcessorTime;
use super::scattering::{Scattering, failed};
use super::seat::LOOK;
use crate::activity::Activity;

/// Edges that are read of the input at a time.
const PIECE_EDGES: usize = 1 << 16;

/// Next thing that a thread is to do.
pub(super) enum Order {
    /// The iteration after this number of them, the last of which had these totals, and a
    /// checkpoint before it.
    Iterate(u64, Arc<[u8]>, Option<Due>),
    /// Nothing more: the values are the result.
    End,
}

/// End of an iteration of a thread.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) sub_range: usize,
    pub(super) total: Vec<u8>,
    pub(super) active: u64,
    /// Counts of what was sent, by sub-range of the cluster.
    pub(super) sent: Sent,
    pub(super) folded: Count,
    pub(super) combined: Combined,
    /// Nanoseconds of work and of waiting.
    pub(super) times: [u64; 2],
    /// Nanoseconds of its processor time.
    pub(super) processor: u64,
    /// Bytes of the checkpoint that it has written, and how long that took.
    pub(super) kept: (u64, Duration),
    /// Chunks of edges that lie on the disk and that were read from there, with their bytes.
    pub(super) stored: [u64; 2],
    pub(super) read: [u64; 2],
}

impl Turn {
    /// Counts what the thread read and wrote; edges are written once, before the first turn ends.
    pub(super) fn count_disk(&self, activity: &mut Activity, is_first: bool) {
        let stored = if is_first { self.stored } else { [0; 2] };
        activity.reads += self.read[0];
        activity.read_bytes += self.read[1];
        activity.writes += stored[0] + u64::from(self.kept.0 > 0);
        activity.edge_bytes += stored[1];
        activity.written_bytes += stored[1] + self.kept.0;
    }
}

/// The result of a thread: values and flags of its vertices, and edges that left them.
pub(super) struct Ended {
    pub(super) sub_range: usize,
    pub(super) vertices: Vec<u8>,
    pub(super) edges: u64,
}

/// Word of a thread to its machine.
pub(super) enum Answer {
    Turn(Turn),
    Ended(Ended),
    Failed(Stop),
}

/// Ways of a thread to others.
pub(super) struct Channels {
    pub(super) orders: Receiver<Order>,
    pub(super) answers: Sender<Answer>,
    pub(super) whole: Receiver<Whole>,
    pub(super) empty: Sender<IncomingUpdates>,
}

/// The thread.
pub(super) struct Computing<L> {
    kernel: FoldKernel,
    cut: Arc<Partitions>,
    /// Number of the sub-range at its machine, and in the cluster.
    place: (usize, u32),
    messages: Messages<L>,
    ways: Channels,
    scattering: Scattering,
    values: Column,
    signals: Column,
    active: Vec<u8>,
    /// Accumulators that come of groups.
    grouped: Column,
    /// Bytes of updates that wait for their group, at most.
    room_bytes: u64,
    since: Instant,
    times: [u64; 2],
    processor: ProcessorTime,
    checkpoints: Checkpoints,
    kept: (u64, Duration),
}

impl<L: TxLane> Computing<L> {
    /// A thread that sends by these rings, one a sub-range of the cluster.
    pub(super) fn new(
        kernel: FoldKernel,
        (cut, place): (Arc<Partitions>, (usize, u32)),
        messages: Messages<L>,
        ways: Channels,
        (scattering, checkpoints, room_bytes): (Scattering, Checkpoints, u64),
    ) -> Self {
        Self {
            kernel,
            cut,
            place,
            messages,
            ways,
            scattering,
            values: Column::default(),
            signals: Column::default(),
            active: Vec::new(),
            grouped: Column::default(),
            room_bytes,
            since: Instant::now(),
            times: [0; 2],
            processor: ProcessorTime::default(),
            checkpoints,
            kept: Default::default(),
        }
    }

    /// Works until there is a result, from the checkpoint of an iteration where there is one.
    pub(super) fn run(
        mut self,
        input: Box<dyn Input>,
        (edge_bytes, from): (usize, Option<u64>),
    ) -> Result<(), Stop> {
        self.begin(input, (edge_bytes, from))?;
        loop {
            let order = self.order()?;
            self.turn(1);
            match order {
                Order::Iterate(iteration, last, due) => {
                    self.keep(due.as_ref())?;
                    self.iterate((iteration, &last))?;
                }
                Order::End => {
                    self.messages.drain()?;
                    return self.say(Answer::Ended(self.ended()));
                }
            }
        }
    }

    /// The next order. Lanes are polled meanwhile: others may wait for buckets of this thread that
    /// the system took and a link that was cut since then has not delivered.
    fn order(&mut self) -> Result<Order, Stop> {
        loop {
            match self.ways.orders.recv_timeout(LOOK) {
                Ok(order) => return Ok(order),
                Err(RecvTimeoutError::Timeout) => self.messages.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            }
        }
    }

    /// From now on time is of the other kind: work is 0, waiting 1.
    fn turn(&mut self, spent: usize) {
        let now = Instant::now();
        let nanos = now.duration_since(self.since).as_nanos();
        self.times[spent] += u64::try_from(nanos).unwrap_or(u64::MAX);
        self.since = now;
    }

    fn say(&self, answer: Answer) -> Result<(), Stop> {
        self.ways.answers.send(answer).map_err(|_| Stop::Over)
    }

    fn whole(&mut self) -> Result<Whole, Stop> {
        self.turn(0);
        self.messages.drain()?;
        let whole = loop {
            match self.ways.whole.recv_timeout(LOOK) {
                Ok(whole) => break whole,
                // Others wait for buckets that a link which is cut has not delivered.
                Err(RecvTimeoutError::Timeout) => self.messages.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            }
        };
        self.turn(1);
        Ok(whole)
    }

    /// Sends the edges of its share to their owners, takes its own, and makes first values.
    fn begin(
        &mut self,
        mut input: Box<dyn Input>,
        (edge_bytes, from): (usize, Option<u64>),
    ) -> Result<(), Stop> {
        input.begin();
        let slots = self.cut.vertices();
        loop {
            let (edges, is_last) = input.piece(PIECE_EDGES)?;
            for &edge in edges {
                let end = edge.source.max(edge.target);
                if end >= slots {
                    return Err(EngineError::Vertex { vertex: end, slots }.into());
                }
                let (partition, place) = self.cut.place(edge.source);
                // Slots of the command take 32 bits, since its readers hand out such pairs.
                let record = &record(edge.target as u32, edge.weight)[..edge_bytes];
                let sent = self.messages.send(partition as usize, place as u32, record);
                sent.map_err(|error| failed(&mut self.messages, error))?;
            }
            if is_last {
                break;
            }
        }
        drop(input);
        let sent = self.messages.end_iteration()?;
        let Whole::Edges(edges, folded) = self.whole()? else {
            return Err(Stop::broken("updates before edges"));
        };
        self.messages.set_record_bytes(self.kernel.shape().record());
        self.scattering.edges = edges;
        let first = self.cut.range(self.place.1).start;
        let degrees = std::mem::take(&mut self.scattering.edges.degrees);
        let count = degrees.len();
        let kernel = Kernel::Fold(self.kernel.clone());
        let made = match from {
            None => init(&kernel, first, &degrees, self.vertices(count)),
            Some(iteration) => self.restored(iteration, count)?,
        };
        for set in IncomingUpdates::sets(&self.kernel, &self.values, self.room_bytes) {
            // The accumulator thread may have ended by now, and knows why.
            let _ = self.ways.empty.send(set);
        }
        self.done(made, sent, folded)
    }

    /// Vertices as they are in the checkpoint of an iteration. Totals are those of its barrier,
    /// which all machines have heard.
    fn restored(&mut self, iteration: u64, count: usize) -> Result<VertexTotals, Stop> {
        let shape = *self.kernel.shape();
        let expected = [count * shape.value, count * shape.signal, count];
        let most = expected.iter().sum::<usize>() as u64;
        let kept = self.checkpoints.read(iteration, self.place.0, most)?;
        if kept.columns.each_ref().map(Vec::len) != expected {
            return Err(Stop::broken("a checkpoint of other vertices"));
        }
        let [values, signals, active] = kept.columns;
        let vertices = self.vertices(count);
        vertices.values.copy_from_slice(&values);
        vertices.signals.copy_from_slice(&signals);
        self.active = active;
        let active = self.active.iter().filter(|active| **active != 0).count() as u64;
        Ok(VertexTotals { total: vec![0; shape.total], active })
    }

    /// Writes the checkpoint that is due.
    fn keep(&mut self, due: Option<&Due>) -> Result<(), Stop> {
        let Some(due) = due else { return Ok(()) };
        let since = Instant::now();
        let columns = [&self.values[..], &self.signals[..], &self.active[..]];
        let bytes = self.checkpoints.write(self.place.0, due, columns)?;
        self.kept = (bytes, since.elapsed());
        Ok(())
    }

    /// Columns of its vertices, of which all are active until a kernel says otherwise.
    fn vertices(&mut self, count: usize) -> Vertices<'_> {
        let shape = *self.kernel.shape();
        self.values.resize(count * shape.value);
        self.signals.resize(count * shape.signal);
        self.active.clear();
        self.active.resize(count, 1);
        let frontier = shape.capabilities.frontier;
        let active = if frontier { &mut self.active[..] } else { &mut [] };
        Vertices { values: &mut self.values, signals: &mut self.signals, active }
    }

    fn iterate(&mut self, (iteration, last): (u64, &[u8])) -> Result<(), Stop> {
        self.scattering.scatter((&self.signals, &self.active), &mut self.messages)?;
        let sent = self.messages.end_iteration()?;
        let Whole::Updates(mut gathered, folded) = self.whole()? else {
            return Err(Stop::broken("edges among updates"));
        };
        let kernel = Kernel::Fold(self.kernel.clone());
        let (count, at) = (self.active.len(), (iteration, self.place.1));
        let mut grouped = std::mem::take(&mut self.grouped);
        let accums = gathered.accumulators(&self.kernel, at, &self.values, &mut grouped)?;
        let made = apply(&kernel, last, accums, self.vertices(count));
        self.grouped = grouped;
        gathered.clear(&self.kernel, &self.values);
        // As before.
        let _ = self.ways.empty.send(gathered);
        self.done(made, sent, folded)
    }

    /// Says what an iteration came to.
    fn done(&mut self, made: VertexTotals, sent: Sent, folded: Count) -> Result<(), Stop> {
        let frontier = self.kernel.shape().capabilities.frontier;
        let active = if frontier { made.active } else { self.active.len() as u64 };
        self.turn(0);
        let kept = std::mem::take(&mut self.kept);
        let sub_range = self.place.0;
        let combined = self.scattering.take_combined();
        let edges = &self.scattering.edges;
        let (stored, read) = (edges.stored(), edges.take_read());
        let turn = Turn {
            sub_range,
            total: made.total,
            active,
            sent,
            folded,
            combined,
            times: std::mem::take(&mut self.times),
            processor: self.processor.take(),
            kept,
            stored,
            read,
        };
        self.say(Answer::Turn(turn))
    }

    /// Vertices of the sub-range, as machines hand out results.
    fn ended(&self) -> Ended {
        let width = self.kernel.shape().value;
        let mut vertices = Vec::with_capacity(self.active.len() * (width + 1));
        for (value, active) in self.values.chunks_exact(width).zip(&self.active) {
            vertices.extend_from_slice(value);
            vertices.push(*active);
        }
        Ended { sub_range: self.place.0, vertices, edges: self.scattering.edges.count }
    }
}
