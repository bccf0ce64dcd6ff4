//! The turns of a computation thread: what all programs have alike of its work with its machine and
//! with the accumulator thread of its sub-range.
//!
//! ```text
//! order   from the machine: an iteration, or the end        answer   what the iteration came to
//! whole   from the accumulator thread: a set that is full   give     the set, empty again
//! ```
//!
//! A thread may send what the next iteration will need before it is ordered ([`Orders::is_end`]
//! says whether that is in vain by now), but waits for the order before it takes the next set.
//!
//! **Invariant:** a set that an iteration needs is given before the totals of the one before are
//! said, and before this thread sends anything of it, so it is at the accumulator thread when the
//! iteration begins anywhere. Checked in `Set::gathered`.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use welter_protocol::partitions::Partitions;
use welter_transport::TxLane;
use welter_worker::Input;

use super::checkpoint::Due;
use super::combining::Combined;
use super::cores::bind;
use super::edge_sender::EdgeSender;
use super::edges::{Edges, OwnedEnd};
use super::error::Stop;
use super::folding::{Count, Whole};
use super::messages::{Messages, Sent};
use super::processor::ProcessorTime;
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
    /// Edges of the sub-range, where these have just come.
    pub(super) edges: u64,
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
    /// Chunks of edges that lie on the disk and that were read from there, and states of edges that
    /// were written again, with their bytes.
    pub(super) stored: [u64; 2],
    pub(super) read: [u64; 2],
    pub(super) written: [u64; 2],
}

impl Turn {
    /// Counts what the thread read and wrote; edges are written once, before the first turn ends.
    pub(super) fn count_disk(&self, activity: &mut Activity, is_first: bool) {
        let stored = if is_first { self.stored } else { [0; 2] };
        let edge_bytes = stored[1] + self.written[1];
        activity.reads += self.read[0];
        activity.read_bytes += self.read[1];
        activity.writes += stored[0] + self.written[0] + u64::from(self.kept.0 > 0);
        activity.edge_bytes += edge_bytes;
        activity.written_bytes += edge_bytes + self.kept.0;
    }

    /// The turn with what was read and written of these edges.
    pub(super) fn with_edges(self, edges: &Edges) -> Self {
        let (stored, read, written) = (edges.stored(), edges.take_read(), edges.take_written());
        Self { stored, read, written, ..self }
    }
}

/// The result of a thread: its vertices as machines hand out results, and edges of the sub-range.
pub(super) struct Ended {
    pub(super) sub_range: usize,
    pub(super) vertices: Vec<u8>,
    pub(super) edges: u64,
}

/// Word of a thread to its machine.
pub(super) enum Answer {
    Turn(Box<Turn>),
    Ended(Ended),
    Failed(Stop),
}

/// Ways of a thread to others, with the sets that it has in turns with the accumulator thread.
pub(super) struct Channels<S> {
    pub(super) orders: Receiver<Order>,
    pub(super) answers: Sender<Answer>,
    pub(super) whole: Receiver<Whole<S>>,
    pub(super) empty: Sender<S>,
    /// Core of the thread, if it has one of its own.
    pub(super) core: Option<usize>,
}

/// Orders that come to a thread.
pub(super) struct Orders {
    coming: Receiver<Order>,
    /// The one that has come, and was not asked for yet.
    next: Option<Order>,
}

impl Orders {
    /// Whether the run is at its end.
    pub(super) fn is_end(&mut self) -> bool {
        if self.next.is_none() {
            self.next = self.coming.try_recv().ok();
        }
        matches!(self.next, Some(Order::End))
    }
}

/// The turns of a thread.
pub(super) struct Turns<L, S> {
    pub(super) cut: Arc<Partitions>,
    /// Number of the sub-range at its machine, and in the cluster.
    pub(super) place: (usize, u32),
    pub(super) messages: Messages<L>,
    pub(super) orders: Orders,
    answers: Sender<Answer>,
    full: Receiver<Whole<S>>,
    empty: Sender<S>,
    core: Option<usize>,
    since: Instant,
    times: [u64; 2],
    processor: ProcessorTime,
}

impl<L: TxLane, S> Turns<L, S> {
    /// Turns of a thread that sends by these rings, one a sub-range of the cluster.
    pub(super) fn new(
        (cut, place): (Arc<Partitions>, (usize, u32)),
        messages: Messages<L>,
        ways: Channels<S>,
    ) -> Self {
        let Channels { orders, answers, whole, empty, core } = ways;
        Self {
            cut,
            place,
            messages,
            orders: Orders { coming: orders, next: None },
            answers,
            full: whole,
            empty,
            core,
            since: Instant::now(),
            times: [0; 2],
            processor: ProcessorTime::default(),
        }
    }

    /// The first vertex of the sub-range.
    pub(super) fn first(&self) -> u64 {
        self.cut.range(self.place.1).start
    }

    /// The next order, once all that was sent has arrived. Lanes are polled meanwhile: others may
    /// wait for buckets of this thread that the system took and a link that was cut since then has
    /// not delivered.
    pub(super) fn order(&mut self) -> Result<Order, Stop> {
        self.turn(0);
        self.messages.drain()?;
        let order = loop {
            if let Some(order) = self.orders.next.take() {
                break order;
            }
            match self.orders.coming.recv_timeout(LOOK) {
                Ok(order) => break order,
                Err(RecvTimeoutError::Timeout) => self.messages.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            }
        };
        self.turn(1);
        Ok(order)
    }

    /// From now on time is of the other kind: work is 0, waiting 1.
    fn turn(&mut self, spent: usize) {
        let now = Instant::now();
        let nanos = now.duration_since(self.since).as_nanos();
        self.times[spent] += u64::try_from(nanos).unwrap_or(u64::MAX);
        self.since = now;
    }

    fn say(&self, answer: Answer) -> Result<(), Stop> {
        self.answers.send(answer).map_err(|_| Stop::Over)
    }

    fn whole(&mut self) -> Result<Whole<S>, Stop> {
        self.turn(0);
        self.messages.drain()?;
        let whole = loop {
            match self.full.recv_timeout(LOOK) {
                Ok(whole) => break whole,
                // Others wait for buckets that a link which is cut has not delivered.
                Err(RecvTimeoutError::Timeout) => self.messages.poll()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Stop::Over),
            }
        };
        self.turn(1);
        Ok(whole)
    }

    /// Gives the accumulator thread an empty set.
    pub(super) fn give(&self, set: S) {
        // The thread may have ended by now, and knows why.
        let _ = self.empty.send(set);
    }

    /// The set of an iteration in which all has been sent, and what came to it.
    pub(super) fn gathered(&mut self) -> Result<(S, Count), Stop> {
        match self.whole()? {
            Whole::Set(set, count) => Ok((set, count)),
            Whole::Edges(..) => Err(Stop::broken("edges among updates")),
        }
    }

    /// Sends the edges of its share to the owners of this end of them. What was sent, and the edges
    /// that came here, with their number.
    pub(super) fn edges(
        &mut self,
        mut input: Box<dyn Input>,
        (end, weighted): (OwnedEnd, bool),
    ) -> Result<(Sent, Edges, Count), Stop> {
        let mut sending = EdgeSender::new(&self.cut, weighted);
        let (messages, mut sent) = (&mut self.messages, Ok(()));
        input.each(PIECE_EDGES, &mut |edges| {
            sent = sending.send(edges, end, messages);
            sent.is_ok()
        })?;
        sent?;
        sending.flush(messages)?;
        drop(input);
        // Threads that read for it would have got its core too.
        bind(self.core);
        let sent = self.messages.end_iteration()?;
        match self.whole()? {
            Whole::Edges(edges, folded) => Ok((sent, edges, folded)),
            Whole::Set(..) => Err(Stop::broken("updates before edges")),
        }
    }

    /// Says what an iteration came to.
    pub(super) fn done(&mut self, turn: Turn) -> Result<(), Stop> {
        self.turn(0);
        let (sub_range, times) = (self.place.0, std::mem::take(&mut self.times));
        let processor = self.processor.take();
        let turn = Turn { sub_range, times, processor, ..turn };
        self.say(Answer::Turn(Box::new(turn)))
    }

    /// Says its vertices, as machines hand out results, once all that it sent has arrived.
    pub(super) fn end(&mut self, vertices: Vec<u8>, edges: u64) -> Result<(), Stop> {
        self.messages.drain()?;
        self.say(Answer::Ended(Ended { sub_range: self.place.0, vertices, edges }))
    }
}
