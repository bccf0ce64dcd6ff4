//! The door for lanes over TCP: who connects says which lane it is, and proves that it has the
//! secret of the run.
//!
//! ```text
//! 0 magic "wltrlane"   8 epoch u32   12 from rank, lane u16   16 to rank, lane u16
//! 20 HMAC-SHA256 of bytes 0 to 19, by the secret                                      52 bytes
//! ```
//!
//! Buckets have seals of their own, so this keeps strangers from taking the place of a lane, and no
//! more. They are counted.
//!
//! **Invariant:** each lane is led in once, by whom the secret was told, and connections that say
//! nothing keep none out. Checked in `accept`. Tested by `strangers_get_no_lane` and
//! `connections_that_say_nothing_keep_no_lane_out`.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::sleep;
use std::time::{Duration, Instant};

use ring::hmac;
use welter_transport::{End, Protection, Secret};

use super::ending::Ending;
use super::error::Stop;
use super::{Settings, Transport};
use crate::credentials::Trust;
use crate::links::counts::{Counted, Counts};

const MAGIC: &[u8; 8] = b"wltrlane";

/// Bytes that are proved.
const INTRODUCTION_BYTES: usize = 20;

const HELLO_BYTES: usize = INTRODUCTION_BYTES + 32;

/// Time for a connection to be made, or to say whose it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time in which all lanes are led in, less than machines are silent at most.
const ALL: Duration = Duration::from_secs(15);

/// Connections that have not said yet whose they are, at most, beyond the lanes that come.
const GUESTS_MAX: usize = if cfg!(test) { 16 } else { 256 };

/// Settings that all machines have in common.
#[derive(Clone)]
pub(super) struct Common {
    pub(super) epoch: u32,
    pub(super) protection: Protection,
    pub(super) secret: Secret,
    /// The secret as doors know it.
    pub(super) key: [u8; 32],
}

/// Protection of buckets. On one computer connections are between processes of the user as the
/// links are; datagrams may come from any process, so they have seals there too, but for those of
/// cables, which want the secret of the epoch.
pub(super) fn protection(trust: &Trust, settings: &Settings) -> Protection {
    let is_datagram = match settings.transport {
        Transport::Udp => true,
        #[cfg(feature = "dpdk")]
        Transport::Dpdk => settings.card.is_some(),
        Transport::Tcp | Transport::Shared => false,
    };
    match trust {
        Trust::Key(_) => Protection::Sealed,
        Trust::Loopback if is_datagram => Protection::Sealed,
        _ => Protection::Trusted,
    }
}

fn introduction(epoch: u32, from: End, to: End) -> [u8; INTRODUCTION_BYTES] {
    let mut introduction = [0; INTRODUCTION_BYTES];
    introduction[..8].copy_from_slice(MAGIC);
    introduction[8..12].copy_from_slice(&epoch.to_le_bytes());
    let places = introduction[12..].chunks_exact_mut(2);
    for (place, number) in places.zip([from.0, from.1, to.0, to.1]) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    introduction
}

fn key(common: &Common) -> hmac::Key {
    hmac::Key::new(hmac::HMAC_SHA256, &common.key)
}

/// Leads a lane to a machine.
///
/// # Errors
/// When the machine is out of reach.
pub(super) fn connect(
    address: SocketAddr,
    common: &Common,
    (from, to): (End, End),
) -> Result<TcpStream, Stop> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    let introduction = introduction(common.epoch, from, to);
    let tag = hmac::sign(&key(common), &introduction);
    stream.write_all(&introduction)?;
    stream.write_all(tag.as_ref())?;
    Ok(stream)
}

/// Both ends of a lane, if these bytes prove that it is one of this run to this machine.
fn ends(hello: &[u8], common: &Common, rank: usize) -> Option<(End, End)> {
    let (bytes, tag) = hello.split_at_checked(INTRODUCTION_BYTES)?;
    hmac::verify(&key(common), bytes, tag).ok()?;
    let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let (from, to) = ((number(12), number(14)), (number(16), number(18)));
    let is_ours = introduction(common.epoch, from, to) == bytes && usize::from(to.0) == rank;
    is_ours.then_some((from, to))
}

/// One who has connected, with what it said so far.
struct Guest {
    stream: TcpStream,
    received: Vec<u8>,
    until: Instant,
}

/// Connection of a lane, and where it comes from and leads to.
type Lane = (TcpStream, End, End);

/// Lets in `expected` lanes, to the machine of this rank, and counts connections that are none.
///
/// # Errors
/// When they do not come, or the run is over.
pub(super) fn accept(
    listener: &TcpListener,
    common: &Common,
    (rank, expected): (usize, usize),
    (ending, counts): (&Ending, &Counts),
) -> Result<Vec<Lane>, Stop> {
    let until = Instant::now() + ALL;
    let (mut guests, mut lanes, mut taken) = (Vec::new(), Vec::new(), BTreeSet::new());
    while lanes.len() < expected {
        if ending.is_set() {
            return Err(Stop::Over);
        }
        if Instant::now() > until {
            return Err(Stop::Gone(format!("{} lanes of {expected} came", lanes.len())));
        }
        let newcomers = std::iter::from_fn(|| listener.accept().ok()).take(GUESTS_MAX);
        for (stream, _) in newcomers {
            stream.set_nonblocking(true)?;
            let until = Instant::now() + PATIENCE;
            guests.push(Guest { stream, received: Vec::new(), until });
        }
        for guest in std::mem::take(&mut guests) {
            match guest.hear() {
                GuestWords::All(stream, hello) => {
                    let ends = ends(&hello, common, rank);
                    match ends.filter(|ends| taken.insert(*ends)) {
                        Some((from, to)) => lanes.push((stream, from, to)),
                        None => counts.count(Counted::Stranger),
                    }
                }
                GuestWords::Part(guest) => guests.push(guest),
                GuestWords::Nothing => counts.count(Counted::Stranger),
            }
        }
        // Lanes say at once whose they are, so the oldest connections that have not make room.
        let crowd = guests.len().saturating_sub(GUESTS_MAX + expected);
        counts.add(Counted::Stranger, guests.drain(..crowd).count() as u64);
        sleep(Duration::from_millis(1));
    }
    // All lanes are there, so connections that have not said whose they are are of none.
    counts.add(Counted::Stranger, guests.len() as u64);
    Ok(lanes)
}

/// Words of a guest.
enum GuestWords {
    All(TcpStream, Vec<u8>),
    Part(Guest),
    /// No words: the guest is gone, or late.
    Nothing,
}

impl Guest {
    fn hear(mut self) -> GuestWords {
        let mut bytes = [0; HELLO_BYTES];
        let rest = &mut bytes[self.received.len()..];
        match self.stream.read(rest) {
            Ok(0) => return GuestWords::Nothing,
            Ok(count) => self.received.extend_from_slice(&rest[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return GuestWords::Nothing,
        }
        if self.received.len() == HELLO_BYTES {
            return GuestWords::All(self.stream, self.received);
        }
        if Instant::now() > self.until { GuestWords::Nothing } else { GuestWords::Part(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn common(byte: u8, epoch: u32) -> Common {
        let key = [byte; 32];
        Common { epoch, protection: Protection::Sealed, secret: Secret::new(key), key }
    }

    #[test]
    fn strangers_get_no_lane() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, place) = (common(1, 3), ((0, 1), (1, 2)));
        let mut others = vec![TcpStream::connect(address).unwrap()];
        others[0].write_all(&[b'x'; 100]).unwrap();
        // Another secret, another epoch, another machine, and silence.
        others.push(connect(address, &common(2, 3), place).unwrap());
        others.push(connect(address, &common(1, 4), place).unwrap());
        others.push(connect(address, &ours, ((0, 1), (2, 2))).unwrap());
        others.push(TcpStream::connect(address).unwrap());
        let first = connect(address, &ours, place).unwrap();
        others.push(connect(address, &ours, place).unwrap());
        others.push(connect(address, &ours, ((0, 0), (1, 2))).unwrap());
        let (ending, counts) = (Ending::default(), Counts::default());
        let lanes = accept(&listener, &ours, (1, 2), (&ending, &counts)).unwrap();
        // One lane came twice.
        assert_eq!(counts.strangers(), 6);
        let found: BTreeSet<_> = lanes.iter().map(|(_, from, to)| (*from, *to)).collect();
        assert_eq!(found, BTreeSet::from([place, ((0, 0), (1, 2))]));
        let peers = lanes.iter().map(|(stream, ..)| stream.peer_addr().unwrap());
        assert!(peers.collect::<Vec<_>>().contains(&first.local_addr().unwrap()));
    }

    #[test]
    fn connections_that_say_nothing_keep_no_lane_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        // As many as would take all the time that lanes have, if each had its own.
        let rounds = ALL.as_secs().div_ceil(PATIENCE.as_secs()) + 1;
        let idle = (0..rounds as usize * GUESTS_MAX).map(|_| TcpStream::connect(address).unwrap());
        let idle: Vec<TcpStream> = idle.collect();
        let (ours, place) = (common(1, 3), ((0, 1), (1, 2)));
        let lane = connect(address, &ours, place).unwrap();
        let (ending, counts) = (Ending::default(), Counts::default());
        let lanes = accept(&listener, &ours, (1, 1), (&ending, &counts)).unwrap();
        assert_eq!(counts.strangers(), idle.len() as u64);
        assert_eq!(lanes[0].0.peer_addr().unwrap(), lane.local_addr().unwrap());
        drop(idle);
    }
}
