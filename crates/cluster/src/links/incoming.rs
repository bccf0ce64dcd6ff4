//! The ways from peers: a listener, and a thread for each connection that hands on what comes.
//!
//! **Invariant:** whatever a stranger sends, nothing but a count becomes of it, and it takes one of
//! a bounded number of connections for a bounded time. Checked in `Shared::accept` and
//! `Shared::receive`. Tested by `strangers_are_counted_and_peers_are_heard_all_the_same` and
//! `connections_that_say_nothing_keep_no_peer_out`.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::Duration;

use welter_protocol::messages::Envelope;
use welter_protocol::{Event, Rank};

use super::counts::{Counted, Counts};
use super::frames::{Limits, Unreadable, read};
use super::handshake::{Hello, welcome};
use super::stream::Stream;
use crate::credentials::Trust;
use crate::guests::{Guests, Place};
use crate::pool::Pool;

/// Time in which a peer must introduce itself. In tests it is longer than they wait, so that none
/// passes by its end.
const HANDSHAKE: Duration = Duration::from_secs(if cfg!(test) { 100 } else { 5 });

/// Connections of no peer that have a place, beyond two of each peer.
pub(super) const STRANGERS_MAX: usize = 16;

/// The listener of a machine and its connections, which end when this is dropped. Who receives
/// the events must be gone by then.
pub(super) struct Incoming {
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Digest of the run, rank, machines.
    me: (u64, Rank, usize),
    trust: Trust,
    limits: Limits,
    pool: Pool,
    events: SyncSender<Event>,
    counts: Arc<Counts>,
    guests: Arc<Guests>,
    connections: Mutex<Connections>,
    is_stopped: AtomicBool,
}

#[derive(Default)]
struct Connections {
    made: u64,
    open: BTreeMap<u64, TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Incoming {
    /// Hands on what peers of a run send to this rank.
    pub(super) fn new(
        listener: TcpListener,
        (run, rank, trust): (u64, Rank, Trust),
        (limits, pool): (Limits, Pool),
        (events, counts): (SyncSender<Event>, Arc<Counts>),
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            me: (run, rank, limits.machines),
            trust,
            limits,
            pool,
            events,
            counts,
            guests: Guests::new(2 * limits.machines + STRANGERS_MAX),
            connections: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        });
        let accepts = shared.clone();
        let thread = Builder::new().name("listener".to_owned());
        let thread = Some(thread.spawn(move || accepts.listen(&listener))?);
        Ok(Self { shared, address, thread })
    }

    /// Address at which it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Release);
        // Wakes the listener, which is the only one that adds connections. Where it cannot be
        // reached it ends with the process.
        let thread = self.thread.take();
        if TcpStream::connect_timeout(&self.address, HANDSHAKE).is_ok() {
            let _ = thread.map(JoinHandle::join);
        }
        let mut connections = self.shared.lock();
        for stream in connections.open.values() {
            // It may be broken already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let threads = std::mem::take(&mut connections.threads);
        drop(connections);
        for thread in threads {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.is_stopped.load(Ordering::Acquire) {
                return;
            }
            if accepted.and_then(|(stream, from)| self.accept(stream, from)).is_err() {
                // Too many files are open, or threads are running: for how long is not known.
                self.counts.count(Counted::Crowded);
                sleep(Duration::from_millis(10));
            }
        }
    }

    /// Gives a connection a thread, if there is room for it.
    fn accept(self: &Arc<Self>, stream: TcpStream, from: SocketAddr) -> io::Result<()> {
        if self.trust.check(from).is_err() {
            self.counts.count(Counted::Stranger);
            return Ok(());
        }
        let mut connections = self.lock();
        connections.threads.retain(|thread| !thread.is_finished());
        // Room for as many peers as guests.
        let is_full = connections.open.len() >= 2 * (2 * self.limits.machines + STRANGERS_MAX);
        let place = if is_full { None } else { self.guests.enter(&stream) };
        let Some(place) = place else {
            self.counts.count(Counted::Crowded);
            return Ok(());
        };
        connections.made += 1;
        let number = connections.made;
        connections.open.insert(number, stream.try_clone()?);
        let shared = self.clone();
        let thread = Builder::new().name(format!("from-{number}")).spawn(move || {
            shared.receive(stream, place);
            shared.lock().open.remove(&number);
        });
        match thread {
            Ok(thread) => connections.threads.push(thread),
            Err(error) => {
                connections.open.remove(&number);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Hands on what a peer says, until it has nothing more to say or says what it must not.
    fn receive(&self, stream: TcpStream, place: Place) {
        let Ok(mut stream) = Stream::accepted(stream, &self.trust, HANDSHAKE) else {
            return self.counts.count(Counted::Stranger);
        };
        let hello = match welcome(&mut stream, self.me) {
            Ok(Ok(hello)) => hello,
            Ok(Err(_)) => return self.counts.count(Counted::Refused),
            Err(_) => return self.counts.count(Counted::Stranger),
        };
        if !place.leave() || stream.last().is_err() {
            return;
        }
        drop(place);
        loop {
            match read(&mut stream, &self.limits, &self.pool) {
                Ok(Some(envelope)) if self.is_of(&envelope, &hello) => {
                    self.counts.count(Counted::Received);
                    if self.events.send(Event::Message(envelope)).is_err() {
                        return;
                    }
                }
                Ok(Some(_)) | Err(Unreadable::Malformed(_)) => {
                    return self.counts.count(Counted::Malformed);
                }
                Ok(None) | Err(Unreadable::Stream(_)) => return,
            }
        }
    }

    /// Whether an envelope is of the peer that introduced itself, and for this machine.
    fn is_of(&self, envelope: &Envelope, hello: &Hello) -> bool {
        let stated = (envelope.from, envelope.from_incarnation, envelope.to);
        stated == (hello.from, hello.incarnation, self.me.1)
    }
}
