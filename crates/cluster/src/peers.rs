//! A host whose machines are processes of several computers, which come to it by themselves.
//!
//! It is at the side of rank 0. Another program starts the machines, and others in their place: a
//! person by ssh, Slurm, Kubernetes. A machine that has ended may come again in the place of its
//! rank, and is waited for.
//!
//! Machines may read all edges before they listen, so all that are there are told to begin with the
//! first one. Where one comes in the place of another, all others hear that it is there, and do not
//! miss it before it listens.
//!
//! **Invariant:** a machine that makes its task, or is asked for its result, has as long as it is
//! heard of. Checked in `Peers::listening` and `Peers::answer`. Tested by
//! `a_machine_that_beats_has_as_long_as_it_needs` and `all_machines_begin_together`. **Invariant:**
//! a machine that has come in the place of another is not missed before it listens. Checked in
//! `Peers::beat`. Tested by `machines_hear_that_one_has_come_in_the_place_of_another`.

pub(crate) mod door;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use welter_progress::Progress;
use welter_protocol::Rank;

use self::door::{Arrival, Door, listener, say};

use crate::ask::{Answer, Ask};
use crate::attendance::attended;
use crate::control::{Request, Word, piece};
use crate::error::ClusterError;
use crate::host::{Host, Started};
use crate::links::stream::Stream;
use crate::meeting::{
    BEAT, Buffered, HANDSHAKE, READ_ALL, READ_SHARES, Seating, Verdict, verdict_line,
};
use crate::processes::hear;
use crate::report::Reported;

/// Time in which the end of a run is sent to machines that come too late to receive it otherwise.
const LATE: Duration = Duration::from_secs(5);

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
    /// Machines that were invited to begin and have no seat yet, by rank.
    begun: Vec<Option<Seat>>,
    seats: Vec<Option<Seat>>,
    /// Machines that were stopped and may listen still.
    stopped: Vec<Seat>,
    reports: (Sender<Reported>, Receiver<Reported>),
    /// Reason of a machine why it cannot take part.
    declined: Option<ClusterError>,
    /// A rank in whose place another machine has come, which makes its task.
    awaited: Option<Rank>,
    beaten: Instant,
}

struct Seat {
    rank: Rank,
    down: Stream,
    answers: Receiver<Word>,
    is_alive: Arc<AtomicBool>,
}

impl Peers {
    /// A host for the machines of a run, of this digest and contents, that is numbered `run`.
    ///
    /// # Errors
    /// When its place is not one of this computer, or machines would prove nothing there.
    pub fn new(
        seating: &Seating,
        of: (Option<[u64; 2]>, u64),
        progress: &Progress,
    ) -> Result<Self, ClusterError> {
        Self::with(seating, of, READ_ALL, progress)
    }

    /// As [`Self::new`], of machines that have read a share of the input each. `deal`: how shares
    /// were dealt out, in words of a line, for a machine that comes later; none where that follows
    /// from its rank.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn of_shares(
        seating: &Seating,
        of: (Option<[u64; 2]>, u64),
        deal: &str,
        progress: &Progress,
    ) -> Result<Self, ClusterError> {
        Self::with(seating, of, format!("{READ_SHARES} {deal}").trim_end(), progress)
    }

    fn with(
        seating: &Seating,
        (expected, run): (Option<[u64; 2]>, u64),
        read: &str,
        progress: &Progress,
    ) -> Result<Self, ClusterError> {
        let (listener, address) = listener(seating)?;
        let (sender, arrivals) = channel();
        let expected = (expected, seating.machines);
        let read = Some(read.to_owned());
        let door = Arc::new(Door::new(expected, read, seating.trust.clone(), sender));
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
            begun: (0..seating.machines).map(|_| None).collect(),
            seats: (0..seating.machines).map(|_| None).collect(),
            stopped: Vec::new(),
            reports: channel(),
            declined: None,
            awaited: None,
            beaten: Instant::now(),
        })
    }

    /// Address at which the machine listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections that were none of a machine of this run.
    pub fn strangers(&self) -> u64 {
        self.door.strangers()
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
        for down in self.downs() {
            say(down, &line);
        }
    }

    /// Ways to all machines that are there.
    fn downs(&mut self) -> impl Iterator<Item = &mut Stream> {
        let seats = self.seats.iter_mut().chain(&mut self.begun).flatten();
        let seats = seats.chain(&mut self.stopped).map(|seat| &mut seat.down);
        seats.chain(self.waiting.iter_mut().flatten().map(|(down, _)| down))
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
        for mut seat in std::mem::take(&mut self.begun).into_iter().flatten() {
            sent[seat.rank] |= say(&mut seat.down, &line);
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
            // The door says to one who reads that the run has begun.
            Arrival::Failed { .. } | Arrival::Reader { .. } => {}
        }
    }

    /// Lets the process of a rank end, whatever becomes of the others, also where it comes later.
    pub fn release(&mut self, rank: Rank) {
        self.door.release(rank);
        let line = format!("verdict {}\n", verdict_line(&None));
        self.beat();
        self.take_arrivals();
        let seats = self.seats.iter_mut().chain(&mut self.begun).flatten();
        let seats = seats.chain(&mut self.stopped);
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
        // One that is gone is noticed by its reader.
        for down in self.downs() {
            say(down, "beat\n");
        }
        if let Some(rank) = self.awaited {
            let line = Request::Await(rank).line();
            for seat in self.seats.iter_mut().flatten() {
                say(&mut seat.down, &line);
            }
        }
    }

    /// The process of a rank, invited to begin; none where it is gone. It must be there by `until`.
    fn invited(
        &mut self,
        rank: Rank,
        (above, until): (u32, Instant),
    ) -> Result<Option<Seat>, ClusterError> {
        if let Some(seat) = self.begun[rank].take()
            && above == 0
        {
            return Ok(Some(seat));
        }
        self.wait_for(rank, until)?;
        let invited = self.invite(rank, above)?;
        // At the beginning of a run all others make their tasks meanwhile.
        for other in (rank + 1..self.machines).filter(|_| above == 0) {
            if self.begun[other].is_none() && self.seats[other].is_none() {
                self.begun[other] = self.invite(other, 0)?;
            }
        }
        Ok(invited)
    }

    /// Invites the process of a rank that waits to begin. None where there is none.
    fn invite(&mut self, rank: Rank, above: u32) -> Result<Option<Seat>, ClusterError> {
        let Some((mut down, up)) = self.waiting[rank].pop_front() else { return Ok(None) };
        if !say(&mut down, &format!("begin {:016x} {above}\n", self.run)) {
            return Ok(None);
        }
        let (answers, words) = channel();
        let reports = self.reports.0.clone();
        let is_alive = Arc::new(AtomicBool::new(true));
        let alive = is_alive.clone();
        let thread = Builder::new().name(format!("machine-{rank}"));
        let spawned = thread.spawn(move || {
            // One that is silent for long is heard no more.
            hear(rank, up, &answers, &reports);
            alive.store(false, Ordering::Release);
        });
        spawned.map_err(ClusterError::Start)?;
        Ok(Some(Seat { rank, down, answers: words, is_alive }))
    }

    /// The first word of a machine, for which it has as long as it is heard; none where it is gone.
    fn listening(&mut self, seat: &mut Seat) -> Result<Option<Started>, ClusterError> {
        while seat.is_alive.load(Ordering::Acquire) {
            self.take_arrivals();
            if let Some(declined) = self.declined.take() {
                return Err(declined);
            }
            if self.progress.cancelled() {
                return Err(ClusterError::Cancelled);
            }
            self.beat();
            match seat.answers.recv_timeout(BEAT) {
                Ok(Word::Listening { incarnation, address }) => {
                    return Ok(Some(Started { incarnation, address }));
                }
                Err(RecvTimeoutError::Timeout) => {
                    say(&mut seat.down, "beat\n");
                }
                _ => break,
            }
        }
        Ok(None)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        self.door.close();
        // Wakes the listener, which ends with the process otherwise.
        let _ = TcpStream::connect_timeout(&self.address, HANDSHAKE);
    }
}

impl Host for Peers {
    fn start(&mut self, rank: Rank, above: u32) -> Result<Started, ClusterError> {
        let mut until = Instant::now() + self.patience;
        loop {
            let Some(mut seat) = self.invited(rank, (above, until))? else { continue };
            let asked = Instant::now();
            // Machines that have begun miss one that does not come, and not one that is there.
            self.awaited = (above > 0).then_some(rank);
            let listening = self.listening(&mut seat);
            self.awaited = None;
            match listening {
                Ok(Some(started)) => {
                    self.seats[rank] = Some(seat);
                    return Ok(started);
                }
                // It died before it said a word: another one may come, and has as long as it had.
                Ok(None) => until += asked.elapsed(),
                Err(error) => {
                    // It wants to hear of the end.
                    self.stopped.push(seat);
                    return Err(error);
                }
            }
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
        let seat = self.seats[rank].take().or_else(|| self.begun[rank].take());
        self.stopped.extend(seat.filter(|seat| seat.is_alive.load(Ordering::Acquire)));
    }
}

#[cfg(test)]
mod tests;
