//! Machines that come to a host: one that beats is waited for, and one that says nothing is not.

use std::io::BufReader;
use std::thread::spawn;

use super::door::GUESTS_MAX;
use super::*;
use crate::control::write;
use crate::credentials::Trust;
use crate::meeting::{Joining, Purpose, SILENCE, line};
use crate::parts::busy;

const MINUTE: Duration = Duration::from_mins(1);

/// A host of one machine.
fn host() -> Peers {
    host_of(1, &Progress::new())
}

/// A host of this number of machines.
fn host_of(machines: usize, progress: &Progress) -> Peers {
    let seating = Seating {
        rank: 0,
        machines,
        first: "127.0.0.1:0".to_owned(),
        port: 0,
        trust: Trust::Loopback,
        patience: MINUTE,
        apart: false,
    };
    Peers::new(&seating, (None, 7), progress).unwrap()
}

/// Connections of the machine of a rank that its host has taken, which come again until it has.
fn taken(address: SocketAddr, rank: Rank) -> (BufReader<TcpStream>, TcpStream) {
    let until = Instant::now() + 2 * MINUTE;
    for nonce in 0.. {
        assert!(Instant::now() < until, "no host takes this machine");
        let [down, up] = [Purpose::Down, Purpose::Up].map(|purpose| {
            let mut stream = TcpStream::connect(address).unwrap();
            let joining = Joining { digest: 1, contents: 2, rank, nonce, purpose };
            // It may be closed at any time.
            let _ = joining.write(&mut stream);
            stream
        });
        down.set_read_timeout(Some(SILENCE)).unwrap();
        let mut down = BufReader::new(down);
        while let Ok(line) = line(&mut down) {
            if line.starts_with("begin ") {
                down.get_ref().set_read_timeout(Some(MINUTE)).unwrap();
                return (down, up);
            }
        }
        sleep(Duration::from_millis(20));
    }
    unreachable!("it is taken, or fails")
}

/// Says that it listens.
fn begin(up: &mut TcpStream, address: SocketAddr) {
    write(up, &Word::Listening { incarnation: 1, address }).unwrap();
}

#[test]
fn a_machine_that_beats_has_as_long_as_it_needs() {
    for is_heard in [true, false] {
        let mut peers = host();
        let address = peers.address();
        let (over, ends) = channel::<()>();
        let machine = spawn(move || {
            let (mut down, mut up) = taken(address, 0);
            begin(&mut up, address);
            while line(&mut down).unwrap() != "name" {}
            let mut say = |word| {
                let said = write(&mut up, &word);
                said.map_err(|source| ClusterError::Socket { what: "speak", source })
            };
            if is_heard {
                busy(&mut say, || sleep(SILENCE * 3 / 2)).unwrap();
                say(Word::PartsEnd).unwrap();
            }
            assert!(ends.recv().is_err());
        });
        peers.start(0, 0).unwrap();
        peers.ask(0, Ask::Name).unwrap();
        let answered = peers.answer(0);
        assert_eq!(matches!(answered, Ok(Answer::End)), is_heard, "{answered:?}");
        assert_eq!(matches!(answered, Err(ClusterError::Silent { .. })), !is_heard);
        drop(over);
        machine.join().unwrap();
    }
}

#[test]
fn connections_that_say_nothing_keep_no_machine_of_a_host_out() {
    let mut peers = host();
    let address = peers.address();
    let idle: Vec<_> = (0..GUESTS_MAX).map(|_| TcpStream::connect(address).unwrap()).collect();
    let machine = spawn(move || {
        let (down, mut up) = taken(address, 0);
        begin(&mut up, address);
        (down, up)
    });
    assert!(peers.start(0, 0).is_ok());
    drop(idle);
    machine.join().unwrap();
}

#[test]
fn all_machines_begin_together() {
    let mut peers = host_of(2, &Progress::new());
    let address = peers.address();
    let (began, begins) = channel();
    let first = spawn(move || {
        let (down, mut up) = taken(address, 0);
        let mut say = |word| {
            let said = write(&mut up, &word);
            said.map_err(|source| ClusterError::Socket { what: "speak", source })
        };
        // It makes its task until the other one does.
        let is_begun = busy(&mut say, || begins.recv_timeout(MINUTE / 2).is_ok()).unwrap();
        begin(&mut up, address);
        (down, up, is_begun)
    });
    let other = spawn(move || {
        let (down, mut up) = taken(address, 1);
        // The first one may have waited long enough.
        let _ = began.send(());
        begin(&mut up, address);
        (down, up)
    });
    peers.gather().unwrap();
    assert!((0..2).all(|rank| peers.start(rank, 0).is_ok()));
    assert!(first.join().unwrap().2, "machine 1 is told to begin while machine 0 is busy");
    drop(other.join().unwrap());
}

#[test]
fn a_host_that_is_cancelled_waits_for_no_machine_that_makes_its_task() {
    let progress = Progress::new();
    let mut peers = host_of(1, &progress);
    let address = peers.address();
    let machine = spawn(move || {
        let (mut down, mut up) = taken(address, 0);
        progress.cancel();
        // Its connection ends with its host.
        while write(&mut up, &Word::Alive).is_ok() && line(&mut down).is_ok() {}
    });
    let since = Instant::now();
    let started = peers.start(0, 0);
    assert!(matches!(started, Err(ClusterError::Cancelled)), "{started:?}");
    assert!(since.elapsed() < MINUTE, "it has waited for the machine");
    drop(peers);
    machine.join().unwrap();
}

#[test]
fn machines_hear_that_one_has_come_in_the_place_of_another() {
    let mut peers = host_of(2, &Progress::new());
    let address = peers.address();
    let ((heard, hears), (kill, killed)) = (channel(), channel());
    let first = spawn(move || {
        let (mut down, mut up) = taken(address, 0);
        begin(&mut up, address);
        while line(&mut down).unwrap() != "await 1" {}
        heard.send(()).unwrap();
        (down, up)
    });
    let other = spawn(move || {
        let (down, mut up) = taken(address, 1);
        begin(&mut up, address);
        killed.recv_timeout(MINUTE).unwrap();
        drop((down, up));
        let (down, mut up) = taken(address, 1);
        hears.recv_timeout(MINUTE).unwrap();
        begin(&mut up, address);
        (down, up)
    });
    peers.gather().unwrap();
    assert!((0..2).all(|rank| peers.start(rank, 0).is_ok()));
    peers.stop(1);
    kill.send(()).unwrap();
    assert!(peers.start(1, 1).is_ok());
    drop((first.join().unwrap(), other.join().unwrap()));
}
