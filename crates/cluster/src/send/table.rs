//! The barrier: machines say a word to rank 0, which answers all of them when it has heard all.
//!
//! ```text
//! machine r   ── hello ──>          ── word, as long as it says ──>    rank 0
//!             <── the answer of rank 0, the same for all ──
//! ```
//!
//! Connections are those of links: the same handshake, and TLS where machines have a key. Ahead of
//! a word stands its length. A machine that is gone is noticed by its connection.
//!
//! **Invariant:** nobody hears an answer before all have said their word. Checked in
//! `Table::barrier`. Tested by `answers_follow_all_words`.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use super::ending::Ending;
use super::error::Stop;
use crate::credentials::Trust;
use crate::links::handshake::{Hello, introduce, welcome};
use crate::links::stream::Stream;

/// Time for a handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Time after which one who waits looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Connections that are at the door of rank 0 at a time.
const GUESTS_MAX: usize = 64;

/// Bytes of a word, at most.
const WORD_BYTES_MAX: u64 = 1 << 30;

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
    guests: Arc<AtomicUsize>,
}

impl Entrance {
    /// Lets in machines of this run: digest, rank, machines.
    ///
    /// # Errors
    /// When the system has no thread.
    pub(super) fn new(
        listener: TcpListener,
        me: (u64, usize, usize),
        trust: Trust,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (sender, arrivals) = channel();
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = is_closed.clone();
        let keeper = Doorkeeper { me, trust, arrivals: sender, guests: Arc::default() };
        let thread = Builder::new().name("entrance".to_owned()).spawn(move || {
            loop {
                let accepted = listener.accept();
                if closed.load(Ordering::Acquire) {
                    return;
                }
                match accepted {
                    Ok((stream, from)) => keeper.let_in(stream, from),
                    // Too many files are open, for how long nobody knows.
                    Err(_) => sleep(Duration::from_millis(10)),
                }
            }
        })?;
        Ok(Self { address, arrivals, is_closed, thread: Some(thread) })
    }

    /// Where it is.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next one who comes, if that is soon.
    pub(super) fn next(&self) -> Option<Arrival> {
        self.arrivals.recv_timeout(LOOK).ok()
    }
}

impl Doorkeeper {
    /// Hears one who comes, on a thread of its own, if there is room for it.
    fn let_in(&self, stream: TcpStream, from: SocketAddr) {
        let Self { me, ref trust, ref arrivals, ref guests } = *self;
        if trust.check(from).is_err() || guests.fetch_add(1, Ordering::AcqRel) >= GUESTS_MAX {
            guests.fetch_sub(usize::from(trust.check(from).is_ok()), Ordering::AcqRel);
            return;
        }
        let (trust, arrivals, leaves) = (trust.clone(), arrivals.clone(), guests.clone());
        let spawned = Builder::new().name("guest".to_owned()).spawn(move || {
            let heard = Stream::accepted(stream, &trust, HANDSHAKE).and_then(|mut stream| {
                let hello = welcome(&mut stream, me)?;
                stream.last_while(LOOK)?;
                Ok((hello, stream))
            });
            if let Ok((Ok(hello), stream)) = heard {
                // One who comes to a machine that has ended is let go.
                let _ = arrivals.send(Arrival { hello, stream });
            }
            leaves.fetch_sub(1, Ordering::AcqRel);
        });
        if spawned.is_err() {
            guests.fetch_sub(1, Ordering::AcqRel);
        }
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
    First(Vec<Stream>),
    Other(Box<Stream>),
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
        Ok(Self::Other(Box::new(stream)))
    }

    /// Waits at rank 0 until all other machines are there; the newest process of a rank counts. One
    /// that has left again meanwhile is missed when it is to say its first word.
    ///
    /// # Errors
    /// When the run is over.
    pub(super) fn wait(
        entrance: &Entrance,
        machines: usize,
        ending: &Ending,
    ) -> Result<Self, Stop> {
        let mut seats: Vec<Option<Arrival>> = (1..machines).map(|_| None).collect();
        while seats.iter().any(Option::is_none) {
            if ending.is_told() {
                return Err(Stop::Over);
            }
            let Some(arrival) = entrance.next() else { continue };
            let Some(seat) = seats.get_mut(arrival.hello.from - 1) else { continue };
            let is_newer =
                seat.as_ref().is_none_or(|it| it.hello.incarnation <= arrival.hello.incarnation);
            if is_newer {
                *seat = Some(arrival);
            }
        }
        Ok(Self::First(seats.into_iter().flatten().map(|arrival| arrival.stream).collect()))
    }

    /// Says a word and hears the answer, which rank 0 makes of all words, by rank.
    ///
    /// # Errors
    /// When a machine is gone, the run is over, or rank 0 has no answer.
    pub(super) fn barrier(
        &mut self,
        word: Vec<u8>,
        ending: &Ending,
        decide: impl FnOnce(&[Vec<u8>]) -> Result<Vec<u8>, Stop>,
    ) -> Result<Vec<u8>, Stop> {
        let gone = |rank: usize| {
            move |error: io::Error| match error.kind() {
                ErrorKind::Interrupted => Stop::Over,
                _ => Stop::Gone(format!("machine {rank} is gone: {error}")),
            }
        };
        match self {
            Self::Other(stream) => {
                say(stream, &word, ending).map_err(gone(0))?;
                hear(stream, ending).map_err(gone(0))
            }
            Self::First(streams) => {
                let mut words = vec![word];
                for (rank, stream) in (1..).zip(streams.iter_mut()) {
                    words.push(hear(stream, ending).map_err(gone(rank))?);
                }
                let answer = decide(&words)?;
                for (rank, stream) in (1..).zip(streams.iter_mut()) {
                    say(stream, &answer, ending).map_err(gone(rank))?;
                }
                Ok(answer)
            }
        }
    }

    /// Whether all are there that have nothing to say.
    pub(super) fn is_whole(&mut self) -> bool {
        match self {
            Self::First(streams) => streams.iter_mut().all(is_there),
            Self::Other(stream) => is_there(stream),
        }
    }
}

/// Whether one who has nothing to say is still there.
fn is_there(stream: &mut Stream) -> bool {
    let heard = stream.read(&mut [0]).map(|_heard| ());
    heard.is_err_and(|error| is_late(&error))
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Does a call until it is done in time.
fn patiently<T>(ending: &Ending, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if is_late(&error) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
        if ending.is_told() {
            return Err(ErrorKind::Interrupted.into());
        }
    }
}

fn say(stream: &mut Stream, word: &[u8], ending: &Ending) -> io::Result<()> {
    let all = [&(word.len() as u64).to_le_bytes(), word].concat();
    let mut rest = &all[..];
    while !rest.is_empty() {
        let written = patiently(ending, || stream.write(rest))?;
        if written == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
        rest = &rest[written..];
    }
    patiently(ending, || stream.flush())
}

fn fill(stream: &mut Stream, bytes: &mut [u8], ending: &Ending) -> io::Result<()> {
    let mut filled = 0;
    while filled < bytes.len() {
        let read = patiently(ending, || stream.read(&mut bytes[filled..]))?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        filled += read;
    }
    Ok(())
}

/// The next word, which takes memory as it comes, whatever its length is said to be.
fn hear(stream: &mut Stream, ending: &Ending) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    fill(stream, &mut length, ending)?;
    let length = u64::from_le_bytes(length);
    if length > WORD_BYTES_MAX {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut word = Vec::new();
    while (word.len() as u64) < length {
        let have = word.len();
        let more = (length as usize - have).min(1 << 16);
        word.resize(have + more, 0);
        fill(stream, &mut word[have..], ending)?;
    }
    Ok(word)
}

/// Connects to rank 0, wherever that is by then, until it is there.
///
/// # Errors
/// When the run is over, or it is out of reach for so long.
pub(super) fn come(
    first: impl Fn() -> Option<SocketAddr>,
    (trust, hello): (&Trust, &Hello),
    (patience, ending): (Duration, &Ending),
) -> Result<(Table, SocketAddr), Stop> {
    let since = Instant::now();
    loop {
        if ending.is_told() {
            return Err(Stop::Over);
        }
        let come = first().map(|address| (address, Table::come(address, trust, hello)));
        match come {
            Some((address, Ok(table))) => return Ok((table, address)),
            Some((address, Err(error))) if since.elapsed() > patience => {
                return Err(Stop::absent(format!("machine 0 ({address}): {error}")));
            }
            None if since.elapsed() > patience => {
                return Err(Stop::absent("nobody says where machine 0 is"));
            }
            _ => sleep(LOOK / 5),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    const RUN: u64 = 9;

    #[test]
    fn answers_follow_all_words() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = Entrance::new(listener, (RUN, 0, 3), Trust::Loopback).unwrap();
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
                let said = vec![from as u8; from * 100_000];
                (0..3)
                    .map(|_| table.barrier(said.clone(), &Ending::default(), none).unwrap())
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
            assert_eq!(table.barrier(vec![0], &Ending::default(), decide).unwrap(), [round]);
        }
        for other in others {
            assert_eq!(other.join().unwrap(), [[0], [1], [2]]);
        }
        assert!(!table.is_whole(), "they are gone");
    }

    #[test]
    fn machines_of_other_runs_are_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let entrance = Entrance::new(listener, (RUN, 0, 2), Trust::Loopback).unwrap();
        let hello = Hello { run: 8, from: 1, incarnation: 1, to: 0 };
        assert!(Table::come(entrance.address(), &Trust::Loopback, &hello).is_err());
    }
}
