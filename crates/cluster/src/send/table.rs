//! The barrier: machines send a word to rank 0, which answers all of them when it has received all.
//!
//! ```text
//! machine r   ── hello ──>          ── word, as long as it says ──>    rank 0
//!             <── the answer of rank 0, the same for all ──
//! ```
//!
//! Connections are those of links: the same handshake, and TLS where machines have a key. Ahead of
//! a word stands its length. Machines that wait send a beat each second, so one that is gone is
//! noticed by the end of its connection or by its silence, also while all work between barriers
//! (`seat`). Rank 0 beats too while its answer takes long ([`Table::attended`]).
//!
//! **Invariant:** no machine receives an answer before all have sent their word. Checked in
//! `Table::barrier`. Tested by `answers_follow_all_words`. **Invariant:** connections that say
//! nothing keep no machine out. Checked in `Doorkeeper::let_in`. Tested by
//! `connections_that_say_nothing_keep_no_machine_out`. **Invariant:** machines hear rank 0 while it
//! makes an answer that takes long. Tested by `rank_0_beats_while_its_answer_takes_long`.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::error::Stop;
use super::seat::{LOOK, Seat};
use crate::attendance::attended;
use crate::credentials::Trust;
use crate::guests::Guests;
use crate::links::counts::{Counted, Counts};
use crate::links::handshake::{Hello, introduce, welcome};
use crate::links::stream::Stream;

/// Time for a handshake. In tests it is longer than they wait, so that none passes by its end.
const HANDSHAKE: Duration = Duration::from_secs(if cfg!(test) { 100 } else { 5 });

/// Connections that are at the door of rank 0 at a time.
const GUESTS_MAX: usize = 64;

/// Looks at the own threads of a machine that waits for others.
pub(super) type Watch<'w> = &'w dyn Fn() -> Result<(), Stop>;

/// One who came to rank 0.
pub(super) struct Arrival {
    pub(super) hello: Hello,
    pub(super) stream: Stream,
}

/// The listener of a machine. Where it is that of rank 0, others come to it.
pub(super) struct Entrance {
    address: SocketAddr,
    arrivals: Receiver<Arrival>,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// State of the thread of an entrance.
struct Doorkeeper {
    me: (u64, usize, usize),
    trust: Trust,
    arrivals: Sender<Arrival>,
    guests: Arc<Guests>,
    counts: Arc<Counts>,
}

impl Entrance {
    /// Lets in machines of this run (digest, rank, machines), and counts who is none.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(super) fn new(
        listener: TcpListener,
        me: (u64, usize, usize),
        trust: Trust,
        counts: Arc<Counts>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, arrivals) = channel();
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = is_closed.clone();
        let guests = Guests::new(GUESTS_MAX);
        let keeper = Doorkeeper { me, trust, arrivals: sender, guests, counts };
        let thread = Builder::new().name("entrance".to_owned()).spawn(move || {
            loop {
                let accepted = listener.accept();
                if closed.load(Ordering::Acquire) {
                    return;
                }
                match accepted {
                    Ok((stream, from)) => keeper.let_in(stream, from),
                    // Too many files are open, for how long is not known.
                    Err(_) => sleep(Duration::from_millis(10)),
                }
            }
        })?;
        Ok(Self { address, arrivals, is_closed, thread: Some(thread) })
    }

    /// Address of the table.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next one who comes, if that is soon.
    pub(super) fn next(&self) -> Option<Arrival> {
        self.arrivals.recv_timeout(LOOK).ok()
    }
}

impl Doorkeeper {
    /// Receives from a machine that comes, on a thread of its own, if there is room for it.
    fn let_in(&self, stream: TcpStream, from: SocketAddr) {
        let Self { me, ref trust, ref arrivals, ref guests, ref counts } = *self;
        if trust.check(from).is_err() {
            return counts.count(Counted::Stranger);
        }
        let Some(place) = guests.enter(&stream) else { return counts.count(Counted::Crowded) };
        let (trust, arrivals, counts) = (trust.clone(), arrivals.clone(), counts.clone());
        // Without a thread the connection ends, and the machine comes again.
        let _ = Builder::new().name("guest".to_owned()).spawn(move || {
            let received = Stream::accepted(stream, &trust, HANDSHAKE).and_then(|mut stream| {
                let hello = welcome(&mut stream, me)?;
                stream.last_while(LOOK)?;
                Ok((hello, stream))
            });
            match received {
                Ok((Ok(hello), stream)) if place.leave() => {
                    // One who comes to a machine that has ended is let go.
                    let _ = arrivals.send(Arrival { hello, stream });
                }
                Ok((Ok(_), _)) => {}
                Ok((Err(_), _)) => counts.count(Counted::Refused),
                Err(_) => counts.count(Counted::Stranger),
            }
        });
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        let thread = self.thread.take();
        // Wakes it. Where it cannot be reached it ends with the process.
        if TcpStream::connect_timeout(&self.address, HANDSHAKE).is_ok() {
            let _ = thread.map(JoinHandle::join);
        }
    }
}

/// The barrier of a machine.
pub(super) enum Table {
    /// Of rank 0, with those of the other ranks, from 1.
    First(Vec<Seat>),
    Other(Box<Seat>),
}

impl Table {
    /// Connects to rank 0.
    ///
    /// # Errors
    /// When it is out of reach, or takes this for another run.
    pub(super) fn come(address: SocketAddr, trust: &Trust, hello: &Hello) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, HANDSHAKE)?;
        let mut stream = Stream::connected(stream, trust, HANDSHAKE)?;
        if let Some(refusal) = introduce(&mut stream, hello)? {
            return Err(io::Error::other(format!("refused: {refusal:?}")));
        }
        stream.last_while(LOOK)?;
        Ok(Self::Other(Box::new(Seat::new(stream))))
    }

    /// Waits at rank 0 until all other machines are there; the newest process of a rank counts.
    ///
    /// The time for which a machine reads its input before it comes is not known here. Its host
    /// ends one that is silent, and its watch (`call_watch`) one whose threads do not end because a
    /// call does not: either way the run is over, or another process comes. Tested by
    /// `rank_0_does_not_wait_for_a_machine_that_hangs`.
    ///
    /// # Errors
    /// When the run is over.
    pub(super) fn wait(
        entrance: &Entrance,
        machines: usize,
        ending: &Ending,
    ) -> Result<Self, Stop> {
        let mut seats: Vec<Option<(u32, Seat)>> = (1..machines).map(|_| None).collect();
        while seats.iter().any(Option::is_none) {
            if ending.is_set() {
                return Err(Stop::Over);
            }
            let Some(Arrival { hello, stream }) = entrance.next() else {
                // Machines that wait must know that rank 0 is there; one that has left is missed.
                for seat in &mut seats {
                    let is_there = seat.as_mut().is_some_and(|(_, seat)| seat.look().is_ok());
                    *seat = seat.take().filter(|_| is_there);
                }
                continue;
            };
            let Some(seat) = seats.get_mut(hello.from - 1) else { continue };
            if seat.as_ref().is_none_or(|(incarnation, _)| *incarnation <= hello.incarnation) {
                *seat = Some((hello.incarnation, Seat::new(stream)));
            }
        }
        Ok(Self::First(seats.into_iter().flatten().map(|(_, seat)| seat).collect()))
    }

    /// Sends a word and receives the answer, which rank 0 makes of all words, by rank. `watch` is
    /// asked meanwhile whether there is a reason here to wait no longer.
    ///
    /// # Errors
    /// When a machine is gone, the run is over, or rank 0 has no answer; those of `watch`.
    pub(super) fn barrier(
        &mut self,
        word: Vec<u8>,
        (ending, watch): (&Ending, Watch<'_>),
        decide: impl FnOnce(&[Vec<u8>]) -> Result<Vec<u8>, Stop>,
    ) -> Result<Vec<u8>, Stop> {
        self.long_barrier(word, (ending, watch), |_, words| decide(words))
    }

    /// As [`Self::barrier`], where `decide` has the table, to be attended while it takes long.
    ///
    /// # Errors
    /// As of [`Self::barrier`].
    pub(super) fn long_barrier(
        &mut self,
        word: Vec<u8>,
        (ending, watch): (&Ending, Watch<'_>),
        decide: impl FnOnce(&mut Self, &[Vec<u8>]) -> Result<Vec<u8>, Stop>,
    ) -> Result<Vec<u8>, Stop> {
        if let Self::Other(seat) = self {
            seat.say(&word, ending).map_err(gone(0))?;
            return self.hear(0, (ending, watch));
        }
        let mut words = vec![word];
        for place in 0..self.seats().len() {
            words.push(self.hear(place, (ending, watch))?);
        }
        let answer = decide(self, &words)?;
        for (rank, seat) in self.ranks() {
            seat.say(&answer, ending).map_err(gone(rank))?;
        }
        Ok(answer)
    }

    /// The next word of the machine at a seat. All other machines are looked at meanwhile.
    fn hear(
        &mut self,
        place: usize,
        (ending, watch): (&Ending, Watch<'_>),
    ) -> Result<Vec<u8>, Stop> {
        let first = usize::from(matches!(self, Self::First(_)));
        loop {
            let received = self.seats()[place].hear().map_err(gone(place + first))?;
            if let Some(word) = received {
                return Ok(word);
            }
            self.look()?;
            watch()?;
            if ending.is_set() {
                return Err(Stop::Over);
            }
        }
    }

    /// Finds out whether all are there, and shows them that this machine is.
    ///
    /// # Errors
    /// When one is gone, or silent for long.
    pub(super) fn look(&mut self) -> Result<(), Stop> {
        self.ranks().try_for_each(|(rank, seat)| seat.look().map_err(gone(rank)))
    }

    /// Does something that may take long, while all hear that this machine is there.
    ///
    /// # Errors
    /// When one is gone by then, or silent for long.
    pub(super) fn attended<T>(&mut self, work: impl FnOnce() -> T) -> Result<T, Stop> {
        let mut looked = Ok(());
        let look = || {
            if looked.is_ok() {
                looked = self.look();
            }
        };
        let done = attended(LOOK, look, work);
        looked.map(|()| done)
    }

    fn seats(&mut self) -> &mut [Seat] {
        match self {
            Self::First(seats) => seats,
            Self::Other(seat) => std::slice::from_mut(seat),
        }
    }

    /// Ranks of those that this machine is connected to.
    fn ranks(&mut self) -> impl Iterator<Item = (usize, &mut Seat)> {
        let first = usize::from(matches!(self, Self::First(_)));
        (first..).zip(self.seats())
    }
}

fn gone(rank: usize) -> impl Fn(io::Error) -> Stop {
    move |error| match error.kind() {
        ErrorKind::Interrupted => Stop::Over,
        _ => Stop::Gone(format!("machine {rank} is gone: {error}")),
    }
}

/// Connects to rank 0, wherever that is by then, until it is there. Until its address is known,
/// rank 0 reads its input, and the host hears of that.
///
/// # Errors
/// When the run is over, or it is out of reach for so long.
pub(super) fn come(
    first: impl Fn() -> Option<SocketAddr>,
    (trust, hello): (&Trust, &Hello),
    (patience, ending): (Duration, &Ending),
) -> Result<(Table, SocketAddr), Stop> {
    let mut since = Instant::now();
    loop {
        if ending.is_set() {
            return Err(Stop::Over);
        }
        let come = first().map(|address| (address, Table::come(address, trust, hello)));
        match come {
            Some((address, Ok(table))) => return Ok((table, address)),
            Some((address, Err(error))) if since.elapsed() > patience => {
                return Err(Stop::absent(format!("machine 0 ({address}): {error}")));
            }
            Some(_) => {}
            None => since = Instant::now(),
        }
        sleep(LOOK / 5);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::*;

    const RUN: u64 = 9;

    /// The entrance of rank 0 of this number of machines.
    fn entrance_of(machines: usize) -> Entrance {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Entrance::new(listener, (RUN, 0, machines), Trust::Loopback, Arc::default()).unwrap()
    }

    #[test]
    fn answers_follow_all_words() {
        let entrance = entrance_of(3);
        let address = entrance.address();
        let other = |from: usize| {
            thread::spawn(move || {
                let hello = Hello { run: RUN, from, incarnation: 1, to: 0 };
                let (mut table, _) = come(
                    || Some(address),
                    (&Trust::Loopback, &hello),
                    (HANDSHAKE, &Ending::default()),
                )
                .unwrap();
                let none = |_: &[Vec<u8>]| unreachable!("rank 0 decides");
                let word = vec![from as u8; from * 100_000];
                let ending = Ending::default();
                let quiet: (_, Watch<'_>) = (&ending, &|| Ok(()));
                (0..3)
                    .map(|_| table.barrier(word.clone(), quiet, none).unwrap())
                    .collect::<Vec<_>>()
            })
        };
        let others = [other(1), other(2)];
        let mut table = Table::wait(&entrance, 3, &Ending::default()).unwrap();
        for round in 0..3 {
            let decide = |words: &[Vec<u8>]| {
                let lengths: Vec<usize> = words.iter().map(Vec::len).collect();
                assert_eq!(lengths, [1, 100_000, 200_000]);
                Ok(vec![round])
            };
            let quiet: (_, Watch<'_>) = (&Ending::default(), &|| Ok(()));
            assert_eq!(table.barrier(vec![0], quiet, decide).unwrap(), [round]);
        }
        for other in others {
            assert_eq!(other.join().unwrap(), [[0], [1], [2]]);
        }
        assert!(table.look().is_err(), "they are gone");
    }

    #[test]
    fn a_barrier_ends_for_a_reason_of_its_own_machine() {
        let entrance = entrance_of(2);
        let address = entrance.address();
        let hello = Hello { run: RUN, from: 1, incarnation: 1, to: 0 };
        let other = thread::spawn(move || Table::come(address, &Trust::Loopback, &hello).unwrap());
        let ending = Ending::default();
        let mut tables = [Table::wait(&entrance, 2, &ending).unwrap(), other.join().unwrap()];
        let failed: Watch<'_> = &|| Err(Stop::Gone("a lane".to_owned()));
        // Rank 0 has not received a word by then, and the other one no answer.
        for table in &mut tables {
            let ended = table.barrier(Vec::new(), (&ending, failed), |_| unreachable!());
            assert!(matches!(ended, Err(Stop::Gone(why)) if why == "a lane"));
        }
    }

    #[test]
    fn rank_0_beats_while_its_answer_takes_long() {
        let entrance = entrance_of(2);
        let address = entrance.address();
        let (beaten, beats) = channel();
        let other = thread::spawn(move || {
            let hello = Hello { run: RUN, from: 1, incarnation: 1, to: 0 };
            let stream = TcpStream::connect(address).unwrap();
            let mut stream = Stream::connected(stream, &Trust::Loopback, HANDSHAKE).unwrap();
            assert!(introduce(&mut stream, &hello).unwrap().is_none());
            // A word of no bytes, and then its length and bytes are those of the answer.
            stream.write_all(&0_u64.to_le_bytes()).unwrap();
            let mut length = [0; 8];
            loop {
                stream.read_exact(&mut length).unwrap();
                if u64::from_le_bytes(length) != u64::MAX {
                    return u64::from_le_bytes(length);
                }
                // Rank 0 waits for some of them alone.
                let _ = beaten.send(());
            }
        });
        let ending = Ending::default();
        let mut table = Table::wait(&entrance, 2, &ending).unwrap();
        let quiet: (_, Watch<'_>) = (&ending, &|| Ok(()));
        let answer = table.long_barrier(Vec::new(), quiet, |table, words| {
            assert_eq!(words.len(), 2);
            let minute = Duration::from_mins(1);
            let is_heard = table.attended(|| (0..3).all(|_| beats.recv_timeout(minute).is_ok()))?;
            assert!(is_heard, "others hear nothing of rank 0");
            Ok(vec![7; 5])
        });
        assert_eq!((answer.unwrap(), other.join().unwrap()), (vec![7; 5], 5));
        // One that leaves meanwhile is missed.
        let gone = (0..600).map(|_| table.attended(|| thread::sleep(LOOK))).find(Result::is_err);
        assert!(matches!(gone, Some(Err(Stop::Gone(_)))), "{gone:?}");
    }

    #[test]
    fn machines_of_other_runs_are_refused_and_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let counts = Arc::new(Counts::default());
        let own = (RUN, 0, 2);
        let entrance = Entrance::new(listener, own, Trust::Loopback, counts.clone()).unwrap();
        let hello = Hello { run: 8, from: 1, incarnation: 1, to: 0 };
        assert!(Table::come(entrance.address(), &Trust::Loopback, &hello).is_err());
        let mut noise = TcpStream::connect(entrance.address()).unwrap();
        noise.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let until = Instant::now() + Duration::from_mins(1);
        while counts.strangers() < 2 {
            assert!(Instant::now() < until, "{counts:?}");
            sleep(Duration::from_millis(1));
        }
        assert_eq!(counts.get(Counted::Refused), 1);
    }

    #[test]
    fn rank_0_is_waited_for_until_its_address_is_known() {
        let entrance = entrance_of(2);
        let address = entrance.address();
        let hello = Hello { run: RUN, from: 1, incarnation: 1, to: 0 };
        let (patience, ending) = (Duration::from_millis(200), Ending::default());
        let known = Instant::now() + 5 * patience;
        let first = || (Instant::now() > known).then_some(address);
        assert!(come(first, (&Trust::Loopback, &hello), (patience, &ending)).is_ok());
    }

    #[test]
    fn connections_that_say_nothing_keep_no_machine_out() {
        let entrance = entrance_of(2);
        let address = entrance.address();
        let idle: Vec<_> = (0..GUESTS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
        let hello = Hello { run: RUN, from: 1, incarnation: 1, to: 0 };
        let patience = Duration::from_mins(1);
        let ending = Ending::default();
        let came = come(|| Some(address), (&Trust::Loopback, &hello), (patience, &ending));
        assert!(came.is_ok());
        assert!(Table::wait(&entrance, 2, &ending).unwrap().look().is_ok());
        drop(idle);
    }
}
