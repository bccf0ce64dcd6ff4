//! The door of a host of several computers: connections that come to it, until both of a machine of
//! this run are there.
//!
//! **Invariant:** whatever a stranger sends, nothing but a count becomes of it, and it takes one of
//! a bounded number of connections for a bounded time. Checked in `Door::let_in` and `Door::hear`.
//! Tested by `a_machine_that_is_killed_comes_again_and_strangers_change_nothing` and
//! `connections_that_say_nothing_keep_no_machine_of_a_host_out`.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::Duration;

use welter_progress::FailureKind;
use welter_protocol::Rank;

use crate::credentials::Trust;
use crate::error::ClusterError;
use crate::guests::{Guests, Place};
use crate::links::stream::Stream;
use crate::meeting::{
    Buffered, HANDSHAKE, Joining, Purpose, SILENCE, Seating, Verdict, line, verdict_line,
    verdict_of,
};

/// Connections that are at the door at a time, and halves of machines.
pub(crate) const GUESTS_MAX: usize = 64;

/// Machine that connected, or verdict of one that failed.
pub(crate) enum Arrival {
    Machine {
        rank: Rank,
        down: Stream,
        up: Buffered,
    },
    /// A machine that reads together with others, before there is a run.
    Reader {
        rank: Rank,
        down: Stream,
        up: Buffered,
    },
    Failed {
        rank: Rank,
        verdict: Verdict,
    },
}

/// The listener of a host, and those who came to it.
pub(crate) struct Door {
    /// Digest of the run and number of its contents, where they are known, and of machines.
    expected: (Option<[u64; 2]>, usize),
    /// Way in which machines have read the input; none where they are about to.
    read: Option<String>,
    trust: Trust,
    /// Where arrivals go, and a rank whose machine is not waited for any more.
    arrivals: Mutex<(Sender<Arrival>, Option<Rank>)>,
    halves: Mutex<BTreeMap<(Rank, u64), Half>>,
    guests: Arc<Guests>,
    strangers: AtomicU64,
    is_closed: AtomicBool,
}

/// A connection of a machine whose other one did not come yet.
enum Half {
    Down(Stream),
    Up(Buffered),
}

/// A listener where the first machine is reached, and its address.
///
/// # Errors
/// When the place is not one of this computer, or machines would prove nothing there.
pub(crate) fn listener(seating: &Seating) -> Result<(TcpListener, SocketAddr), ClusterError> {
    let socket = |source| ClusterError::Socket { what: "listen for machines", source };
    let mut address = seating.address().map_err(socket)?;
    seating.trust.check(address)?;
    if !seating.apart && !matches!(seating.trust, Trust::Loopback) {
        // A name of this computer may be one of loopback, here and nowhere else.
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        });
    }
    let listener = TcpListener::bind(address).map_err(socket)?;
    let address = listener.local_addr().map_err(socket)?;
    Ok((listener, address))
}

/// Says a line, and whether the other side may have received it.
pub(crate) fn say(to: &mut Stream, line: &str) -> bool {
    to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_ok()
}

impl Door {
    /// The door for machines of a run of this digest and contents, where they are known, and this
    /// number of machines. What comes is sent to `arrivals`. `read`: the word to machines that want
    /// to read together with others, where the run has begun.
    pub(crate) fn new(
        expected: (Option<[u64; 2]>, usize),
        read: Option<String>,
        trust: Trust,
        arrivals: Sender<Arrival>,
    ) -> Self {
        Self {
            expected,
            read,
            trust,
            arrivals: Mutex::new((arrivals, None)),
            halves: Mutex::default(),
            guests: Guests::new(GUESTS_MAX),
            strangers: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Connections that were none of a machine of this run.
    pub(crate) fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// Lets the machine of a rank go from now on when it comes.
    pub(crate) fn release(&self, rank: Rank) {
        self.arrivals().1 = Some(rank);
    }

    /// Ends with the next connection.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
    }

    /// Lets in who comes, until it is closed.
    pub(crate) fn listen(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.is_closed.load(Ordering::Acquire) {
                return;
            }
            let Ok((stream, from)) = accepted else {
                // Too many files are open: for how long is not known.
                sleep(Duration::from_millis(10));
                continue;
            };
            if self.let_in(stream, from).is_none() {
                self.strangers.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Gives a connection a thread, if there is room for it.
    fn let_in(self: &Arc<Self>, stream: TcpStream, from: SocketAddr) -> Option<()> {
        self.trust.check(from).ok()?;
        let place = self.guests.enter(&stream)?;
        let door = self.clone();
        let guest = move || {
            let is_one = door.hear(stream, &place).is_some();
            door.strangers.fetch_add(u64::from(!is_one), Ordering::Relaxed);
        };
        Builder::new().name("guest".to_owned()).spawn(guest).ok().map(drop)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Rank, u64), Half>> {
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The machine at the other end. None where it is no machine of this run.
    fn hear(&self, stream: TcpStream, place: &Place) -> Option<()> {
        let stream = Stream::accepted(stream, &self.trust, HANDSHAKE).ok()?;
        let mut stream = BufReader::new(stream);
        let Joining { digest, contents, rank, nonce, purpose } = Joining::read(&mut stream).ok()?;
        if purpose == Purpose::Failed && rank < self.expected.1 {
            let verdict = verdict_of(&line(&mut stream).ok()?)?;
            self.hand_on(Arrival::Failed { rank, verdict });
            return Some(());
        }
        let is_reader = purpose.is_reading() && rank < self.expected.1;
        if let Some(word) = self.read.as_ref().filter(|_| is_reader) {
            if purpose == Purpose::ReadDown {
                say(stream.get_mut(), &format!("{word}\n"));
            }
            return Some(());
        }
        if self.expected.0.is_some_and(|[known, _]| known != digest) || rank >= self.expected.1 {
            let what = "this machine has another command, input or version than machine 0";
            let verdict = Some((FailureKind::Usage, what.to_owned()));
            say(stream.get_mut(), &format!("verdict {}\n", verdict_line(&verdict)));
            return None;
        }
        if self.expected.0.is_some_and(|[_, known]| known != contents) {
            let what = "its copy of the input has other contents than that of machine 0";
            let verdict = Some((FailureKind::Input, format!("machine {rank}: {what}")));
            say(stream.get_mut(), &format!("verdict {}\n", verdict_line(&verdict)));
            let verdict = Some((FailureKind::Input, what.to_owned()));
            self.hand_on(Arrival::Failed { rank, verdict });
            return Some(());
        }
        if !place.leave() {
            return None;
        }
        stream.get_mut().last_while(SILENCE).ok()?;
        let half = if matches!(purpose, Purpose::Down | Purpose::ReadDown) {
            Half::Down(stream.into_inner())
        } else {
            Half::Up(stream)
        };
        let mut halves = self.lock();
        match (halves.remove(&(rank, nonce)), half) {
            (Some(Half::Down(down)), Half::Up(up)) | (Some(Half::Up(up)), Half::Down(down)) => {
                drop(halves);
                self.hand_on(if is_reader {
                    Arrival::Reader { rank, down, up }
                } else {
                    Arrival::Machine { rank, down, up }
                });
            }
            (_, half) => {
                if halves.len() >= GUESTS_MAX {
                    // Machines whose other half did not come are gone.
                    halves.clear();
                }
                halves.insert((rank, nonce), half);
            }
        }
        Some(())
    }

    fn arrivals(&self) -> MutexGuard<'_, (Sender<Arrival>, Option<Rank>)> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hand_on(&self, arrival: Arrival) {
        let arrivals = self.arrivals();
        match arrival {
            Arrival::Machine { rank, mut down, .. } if arrivals.1 == Some(rank) => {
                say(&mut down, &format!("verdict {}\n", verdict_line(&None)));
            }
            // The host may be gone by now.
            arrival => drop(arrivals.0.send(arrival)),
        }
    }
}
