//! Machines that come to a host: one that beats is waited for, and one that says nothing is not.

use std::thread::spawn;

use super::*;
use crate::control::write;
use crate::parts::busy;

const MINUTE: Duration = Duration::from_mins(1);

/// A host of one machine.
fn host() -> Peers {
    let seating = Seating {
        rank: 0,
        machines: 1,
        first: "127.0.0.1:0".to_owned(),
        port: 0,
        trust: Trust::Loopback,
        patience: MINUTE,
        apart: false,
    };
    Peers::new(&seating, (None, 7), &Progress::new()).unwrap()
}

/// Connections of a machine that its host has taken, which come again until it has.
fn taken(address: SocketAddr) -> (BufReader<TcpStream>, TcpStream) {
    let until = Instant::now() + 2 * MINUTE;
    for nonce in 0.. {
        assert!(Instant::now() < until, "no host takes this machine");
        let [down, up] = [Purpose::Down, Purpose::Up].map(|purpose| {
            let mut stream = TcpStream::connect(address).unwrap();
            let joining = Joining { digest: 1, contents: 2, rank: 0, nonce, purpose };
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
            let (mut down, mut up) = taken(address);
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
        let (down, mut up) = taken(address);
        begin(&mut up, address);
        (down, up)
    });
    assert!(peers.start(0, 0).is_ok());
    drop(idle);
    machine.join().unwrap();
}
