//! The first bytes of a connection: who speaks, and whether both mean the same run.
//!
//! ```text
//! hello   0 magic "wltrlink"   8 version   12 version of frames   16 digest of the run
//!         24 from   28 incarnation   32 to   36 zeros   40 sum of bytes 0 to 39        48 bytes
//! answer  0 magic "wltrlink"   8 0, or why not                                         16 bytes
//! ```
//!
//! The digest is of all that machines agree on beforehand: configuration, program, options, graph.
//! What does not begin like a hello gets no answer. Who speaks is proved
//! below it, where links leave a computer ([`super::stream`]).
//!
//! **Invariant:** only a peer of the same run, for this rank, is let in. Checked in
//! `Hello::refusal`. Tested by `peers_of_other_runs_are_refused_with_the_reason`.

use std::io::{self, ErrorKind, Read, Write};

use welter_protocol::payload::checksum;
use welter_protocol::{Rank, wire};

const MAGIC: &[u8; 8] = b"wltrlink";

/// Version of the handshake.
const VERSION: u32 = 1;

const HELLO_BYTES: usize = 48;
const ANSWER_BYTES: usize = 16;
const SUM_AT: usize = HELLO_BYTES - 8;

/// Place of a machine in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Digest of what all agree on.
    pub(crate) run: u64,
    pub(crate) from: Rank,
    pub(crate) incarnation: u32,
    pub(crate) to: Rank,
}

/// Reason why a peer is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The peer has another version of the protocol.
    Version = 1,
    /// The peer has another configuration, program or graph.
    Run = 2,
    /// The peer takes this machine for another one, or has a rank that there is not.
    Rank = 3,
    /// No reason that is known here.
    Other = 4,
}

/// Bytes with a version, which is looked at first: all else may have another form then.
struct VersionedHello {
    versions: [u32; 2],
    hello: Hello,
}

impl Hello {
    fn bytes(&self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &wire::VERSION.to_le_bytes());
        put(16, &self.run.to_le_bytes());
        put(24, &(self.from as u32).to_le_bytes());
        put(28, &self.incarnation.to_le_bytes());
        put(32, &(self.to as u32).to_le_bytes());
        let sum = checksum(&bytes[..SUM_AT]);
        bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reason why a peer that says this is not let in by machine `rank` of a run.
    fn refusal(
        received: &VersionedHello,
        (run, rank, machines): (u64, Rank, usize),
    ) -> Option<Refusal> {
        let VersionedHello { versions, hello } = received;
        let is_other = hello.to != rank || hello.from >= machines || hello.from == rank;
        if *versions != [VERSION, wire::VERSION] {
            Some(Refusal::Version)
        } else if hello.run != run {
            Some(Refusal::Run)
        } else {
            is_other.then_some(Refusal::Rank)
        }
    }
}

/// Introduces a machine to a peer. The peer's reason where it refuses.
///
/// # Errors
/// When the stream fails, or the peer speaks no handshake.
pub(crate) fn introduce(
    stream: &mut (impl Read + Write),
    hello: &Hello,
) -> io::Result<Option<Refusal>> {
    stream.write_all(&hello.bytes())?;
    let mut answer = [0; ANSWER_BYTES];
    stream.read_exact(&mut answer)?;
    if &answer[..8] != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    Ok(match answer[8] {
        0 => None,
        1 => Some(Refusal::Version),
        2 => Some(Refusal::Run),
        3 => Some(Refusal::Rank),
        _ => Some(Refusal::Other),
    })
}

/// Receives the greeting of a peer and answers. The reason where it was refused.
///
/// # Errors
/// When the stream fails, or the peer speaks no handshake.
pub(crate) fn welcome(
    stream: &mut (impl Read + Write),
    me: (u64, Rank, usize),
) -> io::Result<Result<Hello, Refusal>> {
    let mut bytes = [0; HELLO_BYTES];
    // Strangers are told apart by their first bytes: they may send no more.
    stream.read_exact(&mut bytes[..8])?;
    if &bytes[..8] != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    stream.read_exact(&mut bytes[8..])?;
    let received = versioned_hello(&bytes).ok_or(ErrorKind::InvalidData)?;
    let refusal = Hello::refusal(&received, me);
    let mut answer = [0; ANSWER_BYTES];
    answer[..8].copy_from_slice(MAGIC);
    answer[8] = refusal.map_or(0, |refusal| refusal as u8);
    stream.write_all(&answer)?;
    Ok(refusal.map_or(Ok(received.hello), Err))
}

fn versioned_hello(bytes: &[u8; HELLO_BYTES]) -> Option<VersionedHello> {
    let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
    (long(SUM_AT) == checksum(&bytes[..SUM_AT])).then(|| VersionedHello {
        versions: [short(8), short(12)],
        hello: Hello {
            run: long(16),
            from: short(24) as Rank,
            incarnation: short(28),
            to: short(32) as Rank,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both directions of a connection, of which one is there already.
    struct Ends {
        comes: io::Cursor<Vec<u8>>,
        goes: Vec<u8>,
    }

    impl Read for Ends {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.comes.read(to)
        }
    }

    impl Write for Ends {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.goes.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const HELLO: Hello = Hello { run: 77, from: 1, incarnation: 5, to: 2 };
    const ME: (u64, Rank, usize) = (77, 2, 4);

    /// The outcome on both sides, when a peer says these bytes.
    fn shake(
        bytes: &[u8],
        me: (u64, Rank, usize),
    ) -> io::Result<(Result<Hello, Refusal>, Option<Refusal>)> {
        let mut server = Ends { comes: io::Cursor::new(bytes.to_vec()), goes: Vec::new() };
        let welcomed = welcome(&mut server, me)?;
        let mut client = Ends { comes: io::Cursor::new(server.goes), goes: Vec::new() };
        Ok((welcomed, introduce(&mut client, &HELLO)?))
    }

    #[test]
    fn peers_of_other_runs_are_refused_with_the_reason() {
        assert_eq!(shake(&HELLO.bytes(), ME).unwrap(), (Ok(HELLO), None));
        let refused = |hello: Hello| shake(&hello.bytes(), ME).unwrap();
        let by = |refusal| (Err(refusal), Some(refusal));
        assert_eq!(refused(Hello { run: 78, ..HELLO }), by(Refusal::Run));
        assert_eq!(refused(Hello { to: 3, ..HELLO }), by(Refusal::Rank));
        assert_eq!(refused(Hello { from: 4, ..HELLO }), by(Refusal::Rank));
        assert_eq!(refused(Hello { from: 2, ..HELLO }), by(Refusal::Rank));
        for at in [8, 12] {
            let mut bytes = HELLO.bytes();
            bytes[at] += 1;
            let sum = checksum(&bytes[..SUM_AT]);
            bytes[SUM_AT..].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(shake(&bytes, ME).unwrap(), by(Refusal::Version));
        }
    }

    #[test]
    fn strangers_and_damage_get_no_answer() {
        let bytes = HELLO.bytes();
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(shake(&flipped, ME).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(shake(&bytes[..length], ME).is_err(), "{length} bytes");
        }
        assert!(shake(b"GET / HTTP/1.1\r\n\r\n", ME).is_err());
        let mut client = Ends { comes: io::Cursor::new(vec![b'x'; 64]), goes: Vec::new() };
        assert!(introduce(&mut client, &HELLO).is_err());
    }
}
