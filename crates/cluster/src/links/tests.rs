//! Links between two machines of one process: order, strangers, other runs, bounds.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use welter_protocol::Payload;
use welter_protocol::ack::Ack;
use welter_protocol::ids::Epoch;
use welter_protocol::messages::Message;

use super::counts::Counted;
use super::*;
use crate::credentials::Credentials;

const BOUNDS: Bounds = Bounds { queue_bytes_max: 1 << 20, payload_bytes_max: 1 << 20 };

struct Harness {
    links: Links,
    events: Receiver<Event>,
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn harness(rank: Rank, incarnation: u32, run: u64) -> Harness {
    trusting(rank, incarnation, run, Trust::Loopback)
}

fn trusting(rank: Rank, incarnation: u32, run: u64, trust: Trust) -> Harness {
    let (sender, events) = sync_channel(1000);
    let me = Identity { run, rank, incarnation, machines: 2 };
    let links =
        Links::new(listen(any_port(), &trust).unwrap(), (me, trust), (BOUNDS, 0), sender).unwrap();
    Harness { links, events }
}

fn envelope([from, to]: [Rank; 2], number: u64, bytes: usize) -> Envelope {
    let payload = Payload::from(vec![number as u8; bytes]);
    let message = Message::Degrees { partition: 0, payload };
    let (epoch, ack) = (Epoch::default(), Ack::default());
    Envelope { from, from_incarnation: 1, to, to_incarnation: 0, epoch, number, ack, message }
}

/// Waits for something that other threads bring about.
fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Harness {
    fn next(&self) -> (u64, usize) {
        match self.events.recv_timeout(Duration::from_secs(30)).unwrap() {
            Event::Message(Envelope {
                number, message: Message::Degrees { payload, .. }, ..
            }) => (number, payload.len()),
            other => panic!("{other:?}"),
        }
    }

    fn count(&self, event: Counted) -> u64 {
        self.links.counts().get(event)
    }
}

#[test]
fn messages_come_in_their_order_before_and_after_a_peer_is_replaced() {
    let (one, two) = (harness(0, 1, 7), harness(1, 1, 7));
    // Messages that are sent before the peer is there wait.
    (0..5).for_each(|number| one.links.send(envelope([0, 1], number, 3000 * number as usize)));
    one.links.locate(1, two.links.address()).unwrap();
    two.links.locate(0, one.links.address()).unwrap();
    two.links.send(envelope([1, 0], 99, 200_000));
    for number in 0..5 {
        assert_eq!(two.next(), (number, 3000 * number as usize));
    }
    assert_eq!(one.next(), (99, 200_000));
    until("all was sent", || !one.links.is_sending());
    let Harness { links, events } = two;
    drop(events);
    drop(links);
    let two = harness(1, 2, 7);
    one.links.locate(1, two.links.address()).unwrap();
    one.links.send(envelope([0, 1], 6, 1));
    assert_eq!(two.next(), (6, 1));
    assert_eq!(one.count(Counted::Connected), 2);
}

#[test]
fn strangers_are_counted_and_peers_are_heard_all_the_same() {
    let (one, two) = (harness(0, 1, 7), harness(1, 1, 7));
    let strange = [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], b"wltrlink", b""];
    for (number, bytes) in (1..).zip(strange) {
        let mut stream = TcpStream::connect(one.links.address()).unwrap();
        // It may be reset at any time, with what was sent and not read.
        let _ = stream
            .write_all(bytes)
            .and_then(|()| stream.shutdown(std::net::Shutdown::Write))
            .and_then(|()| stream.read_to_end(&mut Vec::new()));
        until("it is counted", || one.count(Counted::Stranger) == number);
    }
    // One that introduces itself, and then says what is no frame, or is of another.
    let frames = [vec![7; 500], {
        let mut bytes = Vec::new();
        frames::write(&mut bytes, &envelope([0, 1], 1, 10)).unwrap();
        bytes
    }];
    for (number, bytes) in (1..).zip(frames) {
        let mut stream = TcpStream::connect(one.links.address()).unwrap();
        let hello = Hello { run: 7, from: 1, incarnation: 1, to: 0 };
        assert_eq!(handshake::introduce(&mut stream, &hello).unwrap(), None);
        stream.write_all(&bytes).unwrap();
        until("it is counted", || one.count(Counted::Malformed) == number);
    }
    two.links.locate(0, one.links.address()).unwrap();
    two.links.send(envelope([1, 0], 3, 10));
    assert_eq!(one.next(), (3, 10));
}

#[test]
fn connections_that_say_nothing_keep_no_peer_out() {
    let (one, two) = (harness(0, 1, 7), harness(1, 1, 7));
    // All places of a listener of two machines.
    let places = 2 * 2 + incoming::STRANGERS_MAX;
    let connect = |_| TcpStream::connect(one.links.address()).unwrap();
    let idle: Vec<TcpStream> = (0..places).map(connect).collect();
    two.links.locate(0, one.links.address()).unwrap();
    two.links.send(envelope([1, 0], 3, 10));
    assert_eq!(one.next(), (3, 10));
    until("one of them has made room", || one.count(Counted::Stranger) >= 1);
    drop(idle);
}

#[test]
fn peers_of_another_run_are_not_heard() {
    let (one, two) = (harness(0, 1, 7), harness(1, 1, 8));
    two.links.locate(0, one.links.address()).unwrap();
    two.links.send(envelope([1, 0], 3, 10));
    until("it is refused again", || two.count(Counted::RefusedByPeer) > 1);
    assert!(one.count(Counted::Refused) > 1);
    assert_eq!(one.count(Counted::Received), 0);
}

#[test]
fn what_has_no_room_is_dropped_and_counted() {
    let (one, two) = (harness(0, 1, 7), harness(1, 1, 7));
    (0..5).for_each(|number| one.links.send(envelope([0, 1], number, 300_000)));
    assert_eq!(one.count(Counted::Dropped), 2);
    one.links.locate(1, two.links.address()).unwrap();
    assert_eq!([two.next(), two.next(), two.next()].map(|(number, _)| number), [0, 1, 2]);
    one.links.send(envelope([0, 1], 7, 300_000));
    assert_eq!(two.next(), (7, 300_000), "there is room again");
}

#[test]
fn other_addresses_than_loopback_are_refused() {
    let one = harness(0, 1, 7);
    for address in ["0.0.0.0:0", "10.0.0.7:80", "[::]:0", "[2001:db8::1]:80"] {
        let address: SocketAddr = address.parse().unwrap();
        let outcome = listen(address, &Trust::Loopback);
        assert!(matches!(outcome, Err(ClusterError::Address(found)) if found == address));
        assert!(matches!(one.links.locate(1, address), Err(ClusterError::Address(_))));
    }
}

fn key(name: &str) -> Trust {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    Credentials::create(&path).unwrap();
    Trust::Key(Credentials::read(&path).unwrap())
}

#[test]
fn only_who_has_the_key_is_heard() {
    let (ours, theirs) = (key("ours"), key("theirs"));
    let one = trusting(0, 1, 7, ours.clone());
    // Another key, none at all, what is no TLS, and the beginning of TLS alone.
    for (number, trust) in (1..).zip([theirs, Trust::Loopback]) {
        let stranger = trusting(1, 1, 7, trust);
        stranger.links.locate(0, one.links.address()).unwrap();
        stranger.links.send(envelope([1, 0], 3, 10));
        until("it is counted", || one.count(Counted::Stranger) >= number);
    }
    let hello = [&[22, 3, 1, 0xff, 0xff, 1][..], &[0; 3000]].concat();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0; 4096], b"", &hello] {
        let before = one.count(Counted::Stranger);
        let mut stream = TcpStream::connect(one.links.address()).unwrap();
        let _ = stream
            .write_all(bytes)
            .and_then(|()| stream.shutdown(std::net::Shutdown::Write))
            .and_then(|()| stream.read_to_end(&mut Vec::new()));
        until("it is counted", || one.count(Counted::Stranger) > before);
    }
    assert_eq!(one.count(Counted::Received), 0);
    let two = trusting(1, 1, 7, ours);
    two.links.locate(0, one.links.address()).unwrap();
    (0..9).for_each(|number| two.links.send(envelope([1, 0], number, 10_000 * number as usize)));
    for number in 0..9 {
        assert_eq!(one.next(), (number, 10_000 * number as usize));
    }
}

#[test]
fn a_recording_of_a_peer_is_none() {
    // The bytes of a peer, sent again by a listener that recorded them.
    let ours = key("ours");
    let recorder = TcpListener::bind(any_port()).unwrap();
    let (one, two) = (trusting(0, 1, 7, ours.clone()), trusting(1, 1, 7, ours));
    two.links.locate(0, recorder.local_addr().unwrap()).unwrap();
    two.links.send(envelope([1, 0], 3, 10));
    let (mut from, _) = recorder.accept().unwrap();
    let mut to = TcpStream::connect(one.links.address()).unwrap();
    let (mut back, mut answers) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 1000];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            to.write_all(&bytes[..count]).unwrap();
            sender.send(bytes[..count].to_vec()).unwrap();
        }
    });
    assert_eq!(one.next(), (3, 10), "who only hands on is no matter");
    let recording: Vec<u8> = receiver.try_iter().flatten().collect();
    let before = one.count(Counted::Stranger);
    let mut replayed = TcpStream::connect(one.links.address()).unwrap();
    replayed.write_all(&recording).unwrap();
    until("it is counted", || one.count(Counted::Stranger) > before);
    assert_eq!(one.count(Counted::Received), 1);
}

#[test]
fn who_says_nothing_or_little_is_gone_after_a_while() {
    for trust in [Trust::Network, key("ours")] {
        let listener = TcpListener::bind(any_port()).unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let drip = std::thread::spawn(move || {
            // The beginning of a record of TLS, a byte at a time.
            let bytes = [22, 3, 1, 0x3f, 0xff, 1].into_iter().chain(std::iter::repeat(0));
            for byte in bytes {
                if slow.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let began = Instant::now();
        let stream = stream::Stream::accepted(stream, &trust, Duration::from_millis(100));
        let received = stream.and_then(|mut stream| stream.read_exact(&mut vec![0; 1 << 20]));
        assert!(received.is_err() && began.elapsed() < Duration::from_secs(30));
        drip.join().unwrap();
    }
}
