//! The way to a peer: a bounded queue, and a thread that connects, and connects again.
//!
//! ```text
//! send -> queue -> connect, introduce -> frames -> (the connection breaks) -> pause -> connect ...
//! ```
//!
//! A message that finds no room, or was on its way when the connection broke, is lost: the
//! protocol's channel sends it again, or a new epoch makes it worthless.
//!
//! **Invariant:** who sends never waits, and no more than a number of bytes wait for a peer,
//! whether it is there or not. Checked and asserted in `Outgoing::send`. Tested by
//! `what_has_no_room_is_dropped_and_counted`.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use welter_protocol::messages::{Envelope, Message};

use super::counts::{Counted, Counts};
use super::frames;
use super::handshake::{Hello, introduce};
use super::stream::Stream;
use crate::credentials::Trust;

/// Pauses between attempts to connect: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(500)];

/// Time in which a peer must be reached, and answer a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Bytes that an envelope without its payload is taken to have.
const ENVELOPE_BYTES: usize = 256;

/// The queue to a peer, and its thread, which ends when this is dropped.
pub(super) struct Outgoing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    hello: Hello,
    trust: Trust,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Envelope>,
    bytes: usize,
    bytes_max: usize,
    /// Where the peer listens, and how often that has changed.
    address: Option<SocketAddr>,
    moves: u64,
    /// The connection of the moment, to be broken off from outside.
    stream: Option<TcpStream>,
    /// A message is being written.
    is_busy: bool,
    is_closed: bool,
}

impl Outgoing {
    /// A queue of at most `bytes_max` bytes to the peer that `hello` is for.
    pub(super) fn new(
        (hello, trust): (Hello, Trust),
        bytes_max: usize,
        counts: Arc<Counts>,
    ) -> io::Result<Self> {
        let state = Mutex::new(State { bytes_max, ..State::default() });
        let shared = Arc::new(Shared { state, changed: Condvar::new(), hello, trust, counts });
        let run = shared.clone();
        let thread = Builder::new().name(format!("to-{}", hello.to)).spawn(move || run.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Says where the peer listens, now that there is one, or another.
    pub(super) fn locate(&self, address: SocketAddr) {
        let mut state = self.shared.lock();
        if state.address.replace(address) != Some(address) {
            state.moves += 1;
            state.hang_up();
            self.shared.changed.notify_all();
        }
    }

    /// Puts a message into the queue, or drops it where there is no room.
    pub(super) fn send(&self, envelope: Envelope) {
        let bytes = bytes(&envelope.message);
        let mut state = self.shared.lock();
        // A single one is let through, however large.
        if state.bytes > 0 && state.bytes + bytes > state.bytes_max {
            return self.shared.counts.count(Counted::Dropped);
        }
        state.bytes += bytes;
        state.waiting.push_back(envelope);
        let is_bounded = state.bytes <= state.bytes_max || state.waiting.len() == 1;
        debug_assert!(is_bounded, "no more waits than there is room for");
        self.shared.changed.notify_all();
    }

    /// Whether a peer is connected that has not been sent everything.
    pub(super) fn is_sending(&self) -> bool {
        let state = self.shared.lock();
        state.stream.is_some() && (state.is_busy || !state.waiting.is_empty())
    }
}

impl Outgoing {
    /// Has its thread end, which is not waited for.
    pub(super) fn close(&self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        state.hang_up();
        self.shared.changed.notify_all();
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.close();
        // One that panicked has said so.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl State {
    fn hang_up(&mut self) {
        if let Some(stream) = self.stream.take() {
            // It may be broken already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut pause = PAUSES[0];
        while let Some((address, moves)) = self.address() {
            match self.connect(address, moves) {
                Ok(Some(stream)) => {
                    pause = PAUSES[0];
                    self.counts.count(Counted::Connected);
                    self.deliver(stream, moves);
                }
                Ok(None) => self.counts.count(Counted::RefusedByPeer),
                Err(_) => self.counts.count(Counted::Broken),
            }
            self.lock().hang_up();
            self.pause(pause, moves);
            pause = (2 * pause).min(PAUSES[1]);
        }
    }

    /// Where the peer listens, as soon as that is known; none when this ends.
    fn address(&self) -> Option<(SocketAddr, u64)> {
        let waits = |state: &mut State| state.address.is_none() && !state.is_closed;
        let state = self.changed.wait_while(self.lock(), waits);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.address.filter(|_| !state.is_closed).map(|address| (address, state.moves))
    }

    /// A connection that the peer has accepted; none where it refused.
    fn connect(&self, address: SocketAddr, moves: u64) -> io::Result<Option<Stream>> {
        let stream = TcpStream::connect_timeout(&address, HANDSHAKE)?;
        let mut state = self.lock();
        if state.is_closed || state.moves != moves {
            return Err(io::ErrorKind::Interrupted.into());
        }
        state.stream = Some(stream.try_clone()?);
        drop(state);
        let mut stream = Stream::connected(stream, &self.trust, HANDSHAKE)?;
        let refusal = introduce(&mut stream, &self.hello)?;
        stream.last()?;
        Ok(refusal.is_none().then_some(stream))
    }

    /// Sends what is in the queue, until the connection breaks or is of no use any more.
    fn deliver(&self, mut stream: Stream, moves: u64) {
        while let Some(envelope) = self.next(moves) {
            let written = frames::write(&mut stream, &envelope);
            self.lock().is_busy = false;
            if written.is_err() {
                return self.counts.count(Counted::Broken);
            }
            self.counts.count(Counted::Sent);
        }
    }

    /// The next message, as soon as there is one; none when this connection is of no use any more.
    fn next(&self, moves: u64) -> Option<Envelope> {
        let is_over = |state: &State| state.is_closed || state.moves != moves;
        let waits = |state: &mut State| state.waiting.is_empty() && !is_over(state);
        let state = self.changed.wait_while(self.lock(), waits);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if is_over(&state) {
            return None;
        }
        let envelope = state.waiting.pop_front()?;
        state.bytes -= bytes(&envelope.message);
        let are_counted = state.waiting.is_empty() == (state.bytes == 0);
        debug_assert!(are_counted, "bytes of a queue are those of its messages");
        state.is_busy = true;
        Some(envelope)
    }

    fn pause(&self, pause: Duration, moves: u64) {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        while !state.is_closed && state.moves == moves {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Bytes that a message takes in a queue, about.
fn bytes(message: &Message) -> usize {
    ENVELOPE_BYTES + message.payload().map_or(0, |payload| payload.len())
}
