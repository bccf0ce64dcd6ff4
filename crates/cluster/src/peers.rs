//! A host whose machines are processes of several computers, which come to it by themselves.
//!
//! It is at the side of rank 0. Another program starts the machines, and others in their place: a
//! person by ssh, Slurm, Kubernetes. A machine that has ended may come again in the place of its
//! rank, and is waited for.
//!
//! **Invariant:** whatever a stranger sends, nothing but a count becomes of it, and it takes one of
//! a bounded number of connections for a bounded time. Checked in `Door::let_in` and `Door::hear`.
//! Tested by `a_machine_that_is_killed_comes_again_and_strangers_change_nothing` and
//! `connections_that_say_nothing_keep_no_machine_of_a_host_out`. **Invariant:** a machine that is
//! asked for its result has as long as it is heard of. Checked in `Peers::answer`. Tested by
//! `a_machine_that_beats_has_as_long_as_it_needs`.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_progress::{FailureKind, Progress};
use welter_protocol::Rank;

use crate::ask::{Answer, Ask};
use crate::attendance::attended;
use crate::control::{Request, Word, piece};
use crate::credentials::Trust;
use crate::error::ClusterError;
use crate::guests::{Guests, Place};
use crate::host::{Host, Started};
use crate::links::stream::Stream;
use crate::meeting::{
    BEAT, Buffered, HANDSHAKE, Joining, Purpose, SILENCE, Seating, Verdict, line, verdict_line,
    verdict_of,
};
use crate::processes::hear;
use crate::report::Reported;

/// Connections that are at the door at a time, and halves of machines.
const GUESTS_MAX: usize = 64;

/// Time in which the end of a run is sent to machines that come too late to receive it otherwise.
const LATE: Duration = Duration::from_secs(5);

/// Time in which a machine that is told to begin must say where it listens.
const ANSWER: Duration = Duration::from_mins(1);

/// Machine that connected, or verdict of one that failed.
enum Arrival {
    Machine { rank: Rank, down: Stream, up: Buffered },
    Failed { rank: Rank, verdict: Verdict },
}

/// Machines as processes of several computers.
pub struct Peers {
    machines: usize,
    run: u64,
    patience: Duration,
    progress: Progress,
    address: SocketAddr,
    door: Arc<Door>,
    arrivals: Receiver<Arrival>,
    /// Machines that came and have no seat yet, by rank.
    waiting: Vec<VecDeque<(Stream, Buffered)>>,
    seats: Vec<Option<Seat>>,
    /// Machines that were stopped and may listen still.
    stopped: Vec<Seat>,
    reports: (Sender<Reported>, Receiver<Reported>),
    /// Reason of a machine why it cannot take part.
    declined: Option<ClusterError>,
    beaten: Instant,
}

struct Seat {
    rank: Rank,
    down: Stream,
    answers: Receiver<Word>,
    is_alive: Arc<AtomicBool>,
}

struct Door {
    /// Digest of the run and number of its contents, where they are known, and of machines.
    expected: (Option<[u64; 2]>, usize),
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

impl Peers {
    /// A host for the machines of a run, of this digest and contents, that is numbered `run`.
    ///
    /// # Errors
    /// When its place is not one of this computer, or machines would prove nothing there.
    pub fn new(
        seating: &Seating,
        (expected, run): (Option<[u64; 2]>, u64),
        progress: &Progress,
    ) -> Result<Self, ClusterError> {
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
        let (sender, arrivals) = channel();
        let door = Arc::new(Door {
            expected: (expected, seating.machines),
            trust: seating.trust.clone(),
            arrivals: Mutex::new((sender, None)),
            halves: Mutex::default(),
            guests: Guests::new(GUESTS_MAX),
            strangers: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        });
        let listens = door.clone();
        let thread = Builder::new().name("door".to_owned());
        thread.spawn(move || listens.listen(&listener)).map_err(ClusterError::Start)?;
        let empty = |_| VecDeque::new();
        Ok(Self {
            machines: seating.machines,
            run,
            patience: seating.patience,
            progress: progress.clone(),
            address,
            door,
            arrivals,
            waiting: (0..seating.machines).map(empty).collect(),
            seats: (0..seating.machines).map(|_| None).collect(),
            stopped: Vec::new(),
            reports: channel(),
            declined: None,
            beaten: Instant::now(),
        })
    }

    /// Address at which the machine listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that were none of a machine of this run.
    pub fn strangers(&self) -> u64 {
        self.door.strangers.load(Ordering::Relaxed)
    }

    /// Waits until a process of each rank is there.
    ///
    /// # Errors
    /// When one does not come, or one says that it cannot.
    pub fn gather(&mut self) -> Result<(), ClusterError> {
        let until = Instant::now() + self.patience;
        (0..self.machines).try_for_each(|rank| self.wait_for(rank, until))
    }

    /// Shows machines that their host is there, those too that come meanwhile, while it does
    /// something that may take long.
    pub fn attended<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let look = || {
            self.beat();
            self.take_arrivals();
        };
        attended(Duration::from_millis(50), look, work)
    }

    /// Sends a failure to all machines that are there, before those of this process are ended,
    /// which may take long.
    pub fn announce(&mut self, verdict: &Verdict) {
        let line = format!("verdict {}\n", verdict_line(verdict));
        self.take_arrivals();
        let seats = self.seats.iter_mut().flatten().chain(&mut self.stopped);
        let waiting = self.waiting.iter_mut().flatten().map(|(down, _)| down);
        for down in seats.map(|seat| &mut seat.down).chain(waiting) {
            say(down, &line);
        }
    }

    fn take_arrivals(&mut self) {
        while let Ok(arrival) = self.arrivals.try_recv() {
            self.came(arrival);
        }
    }

    /// Sends the end of the run to all machines, those too that come now.
    pub fn end(mut self, verdict: &Verdict) {
        self.take_arrivals();
        let line = format!("verdict {}\n", verdict_line(verdict));
        let mut sent = [false].repeat(self.machines);
        let seats = std::mem::take(&mut self.seats).into_iter().enumerate();
        for (rank, mut seat) in seats.filter_map(|(rank, seat)| Some((rank, seat?))) {
            sent[rank] |= say(&mut seat.down, &line);
        }
        for mut seat in std::mem::take(&mut self.stopped) {
            say(&mut seat.down, &line);
        }
        let until = Instant::now() + LATE;
        loop {
            for (rank, sent) in sent.iter_mut().enumerate() {
                for (mut down, _) in self.waiting[rank].drain(..) {
                    *sent |= say(&mut down, &line);
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            if verdict.is_none() || sent.iter().all(|&it| it) || left.is_zero() {
                return;
            }
            self.hear_arrival(left.min(Duration::from_millis(50)));
        }
    }

    fn wait_for(&mut self, rank: Rank, until: Instant) -> Result<(), ClusterError> {
        while self.waiting[rank].is_empty() {
            if let Some(declined) = self.declined.take() {
                return Err(declined);
            }
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ClusterError::Absent { rank, seconds: self.patience.as_secs() });
            }
            self.hear_arrival(left.min(Duration::from_millis(100)));
        }
        Ok(())
    }

    fn hear_arrival(&mut self, wait: Duration) {
        self.beat();
        match self.arrivals.recv_timeout(wait) {
            Ok(arrival) => self.came(arrival),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => sleep(wait),
        }
    }

    fn came(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Machine { rank, down, up } => {
                // A later process of a rank is the one that lives.
                self.waiting[rank].push_front((down, up));
                self.waiting[rank].truncate(2);
            }
            Arrival::Failed { rank, verdict: Some((kind, what)) } => {
                self.declined = Some(ClusterError::Declined { rank, kind, what });
            }
            Arrival::Failed { .. } => {}
        }
    }

    /// Lets the process of a rank end, whatever becomes of the others, also where it comes later.
    pub fn release(&mut self, rank: Rank) {
        self.door.arrivals().1 = Some(rank);
        let line = format!("verdict {}\n", verdict_line(&None));
        self.beat();
        self.take_arrivals();
        let seats = self.seats.iter_mut().flatten().chain(&mut self.stopped);
        let seats = seats.filter(|seat| seat.rank == rank).map(|seat| &mut seat.down);
        for down in seats.chain(self.waiting[rank].iter_mut().map(|(down, _)| down)) {
            say(down, &line);
        }
    }

    /// Says that it is there still, once a while.
    fn beat(&mut self) {
        if self.beaten.elapsed() < BEAT {
            return;
        }
        self.beaten = Instant::now();
        let seats = self.seats.iter_mut().flatten().chain(&mut self.stopped);
        let waiting = self.waiting.iter_mut().flatten().map(|(down, _)| down);
        // One that is gone is noticed by its reader.
        for down in seats.map(|seat| &mut seat.down).chain(waiting) {
            say(down, "beat\n");
        }
    }
}

fn say(to: &mut Stream, line: &str) -> bool {
    to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_ok()
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.door.is_closed.store(true, Ordering::Release);
        // Wakes the listener, which ends with the process otherwise.
        let _ = TcpStream::connect_timeout(&self.address, HANDSHAKE);
    }
}

impl Host for Peers {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        let until = Instant::now() + self.patience;
        loop {
            self.wait_for(rank, until)?;
            let Some((mut down, up)) = self.waiting[rank].pop_front() else { continue };
            if !say(&mut down, &format!("begin {:016x} {above}\n", self.run)) {
                continue;
            }
            let (answers, words) = channel();
            let reports = self.reports.0.clone();
            let is_alive = Arc::new(AtomicBool::new(true));
            let alive = is_alive.clone();
            let thread = Builder::new().name(format!("machine-{rank}"));
            let spawned = thread.spawn(move || {
                hear(rank, up, &answers, &reports);
                alive.store(false, Ordering::Release);
            });
            spawned.map_err(ClusterError::Start)?;
            let mut seat = Seat { rank, down, answers: words, is_alive };
            let asked = Instant::now();
            while seat.is_alive.load(Ordering::Acquire) && asked.elapsed() < ANSWER {
                self.beat();
                match seat.answers.recv_timeout(BEAT) {
                    Ok(Word::Listening { incarnation, address }) => {
                        self.seats[rank] = Some(seat);
                        return Ok(Started { incarnation, address });
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        say(&mut seat.down, "beat\n");
                    }
                    _ => break,
                }
            }
            // It died before it said a word: another one may come.
        }
    }

    fn locate(&mut self, rank: Rank, peer: Rank, address: SocketAddr) -> Result<(), ClusterError> {
        if let Some(seat) = &mut self.seats[rank] {
            // One that has died is replaced, and receives it again.
            say(&mut seat.down, &Request::Peer(peer, address).line());
        }
        Ok(())
    }

    fn next(&mut self, wait: Duration) -> Option<Reported> {
        self.beat();
        self.take_arrivals();
        self.reports.1.recv_timeout(wait).ok()
    }

    fn ask(&mut self, rank: Rank, ask: Ask) -> Result<(), ClusterError> {
        let seat = self.seats[rank].as_mut().ok_or(ClusterError::Silent { rank })?;
        if say(&mut seat.down, &Request::Result(ask).line()) {
            return Ok(());
        }
        self.seats[rank] = None;
        Err(ClusterError::Silent { rank })
    }

    fn answer(&mut self, rank: Rank) -> Result<Answer, ClusterError> {
        loop {
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            self.beat();
            let seat = self.seats[rank].as_mut().ok_or(ClusterError::Silent { rank })?;
            match seat.answers.recv_timeout(BEAT) {
                Ok(word) => return piece(rank, word),
                // A machine that is silent for long is heard no more, which ends its answers.
                Err(RecvTimeoutError::Timeout) => {
                    say(&mut seat.down, "beat\n");
                }
                Err(RecvTimeoutError::Disconnected) => {
                    self.seats[rank] = None;
                    return Err(ClusterError::Silent { rank });
                }
            }
        }
    }

    fn stop(&mut self, rank: Rank) {
        let seat = self.seats[rank].take();
        self.stopped.extend(seat.filter(|seat| seat.is_alive.load(Ordering::Acquire)));
    }
}

impl Door {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
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
        let half = if purpose == Purpose::Down {
            Half::Down(stream.into_inner())
        } else {
            Half::Up(stream)
        };
        let mut halves = self.lock();
        match (halves.remove(&(rank, nonce)), half) {
            (Some(Half::Down(down)), Half::Up(up)) | (Some(Half::Up(up)), Half::Down(down)) => {
                drop(halves);
                self.hand_on(Arrival::Machine { rank, down, up });
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

#[cfg(test)]
mod tests;
