//! Envelopes on a stream of bytes: frames of [`wire`], one after the other.
//!
//! Heads and bodies are read through a buffer, and payloads, but for what is in that already,
//! straight into the pages in which they stay. A frame is written as its pieces, of which none is
//! copied.
//!
//! **Invariant:** however the bytes of a stream are cut, the envelopes are those that were written,
//! and what is no frame is an error, without a panic. Tested by
//! `however_bytes_are_cut_envelopes_are_those_that_were_written` and `any_bytes`. **Invariant:**
//! nothing is allocated in proportion to a number in a head that was not compared with its sum, and
//! for no payload above a limit. Checked in `read`.

use std::io::{self, ErrorKind, IoSlice, Read, Write};

use thiserror::Error;
use welter_protocol::messages::Envelope;
use welter_protocol::wire::{self, HEAD_BYTES, Malformed, Opening};

use crate::pool::Pool;

/// Bounds of what a peer may send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Number of machines, which ranks are below.
    pub(crate) machines: usize,
    /// Bytes of a payload.
    pub(crate) payload_bytes_max: usize,
}

/// Reason why no envelope could be read.
#[derive(Debug, Error)]
pub(crate) enum Unreadable {
    /// The stream ended in the middle of a frame, or failed.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// The bytes are no frame.
    #[error("{0:?}")]
    Malformed(Malformed),
}

impl From<Malformed> for Unreadable {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

/// The next envelope of a stream; none if it ends before.
pub(crate) fn read(
    stream: &mut impl Read,
    limits: &Limits,
    pool: &Pool,
) -> Result<Option<Envelope>, Unreadable> {
    let mut head = [0; HEAD_BYTES];
    if !begins(stream, &mut head)? {
        return Ok(None);
    }
    let length = wire::head_bytes(&head)?;
    debug_assert!(length >= HEAD_BYTES, "a head counts its own bytes");
    let mut bytes = head.to_vec();
    // Grows with what comes, whatever the head says.
    stream.by_ref().take((length - HEAD_BYTES) as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::Error::from(ErrorKind::UnexpectedEof).into());
    }
    let opening = Opening::of(&bytes)?;
    let payload_bytes = opening.payload_bytes();
    if payload_bytes > limits.payload_bytes_max {
        return Err(Malformed::TooLarge(payload_bytes as u64).into());
    }
    let mut payload = pool.buffer(payload_bytes);
    stream.read_exact(&mut payload)?;
    let envelope = opening.open(payload, limits.machines)?;
    let rank = envelope.from.max(envelope.to);
    debug_assert!(rank < limits.machines, "ranks are places in tables");
    Ok(Some(envelope))
}

/// Reads a head. False where the stream has ended before it.
fn begins(stream: &mut impl Read, head: &mut [u8]) -> io::Result<bool> {
    let first = loop {
        match stream.read(head) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    if first > 0 {
        stream.read_exact(&mut head[first..])?;
    }
    Ok(first > 0)
}

/// Writes an envelope as a frame. How many bytes it has.
pub(crate) fn write(stream: &mut impl Write, envelope: &Envelope) -> io::Result<u64> {
    let frame = wire::seal(envelope);
    debug_assert!(frame.head.len() >= HEAD_BYTES, "a frame begins with a head");
    let mut pieces = frame.parts().map(IoSlice::new);
    let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut left = &mut pieces[..];
    while !left.is_empty() {
        match stream.write_vectored(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use welter_protocol::Payload;
    use welter_protocol::ack::Ack;
    use welter_protocol::ids::{Block, BlockName, Epoch, Kind, Role};
    use welter_protocol::messages::Message;

    use super::*;

    const LIMITS: Limits = Limits { machines: 3, payload_bytes_max: 20_000 };

    /// A stream that hands out and takes at most as many bytes at a time as its list of cuts says,
    /// by turns.
    struct Cut {
        bytes: Vec<u8>,
        at: usize,
        cuts: Vec<usize>,
        turn: usize,
    }

    impl Cut {
        fn new(bytes: Vec<u8>, cuts: Vec<usize>) -> Self {
            Self { bytes, at: 0, cuts, turn: 0 }
        }

        fn next(&mut self, wanted: usize) -> usize {
            self.turn += 1;
            self.cuts[self.turn % self.cuts.len()].min(wanted)
        }
    }

    impl Read for Cut {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            let count = self.next(to.len()).min(self.bytes.len() - self.at);
            to[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
            self.at += count;
            Ok(count)
        }
    }

    impl Write for Cut {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = self.next(bytes.len());
            self.bytes.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            self.write(&pieces.iter().flat_map(|piece| piece.to_vec()).collect::<Vec<u8>>())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn envelope(number: u64, payload: Option<Vec<u8>>) -> Envelope {
        let name = BlockName {
            kind: Kind::Edges,
            role: Role::Primary,
            epoch: Epoch { coordinator: 1, count: 2 },
            iteration: 3,
            partition: 4,
            source: None,
            number,
        };
        let message = match payload {
            Some(bytes) => {
                let payload = Payload::from(bytes);
                Message::Store { block: Block::of(name, 1, 1, &payload), payload }
            }
            None if number.is_multiple_of(2) => Message::Stored(name),
            None => Message::Ping,
        };
        let (from, to, epoch, ack) = (1, 2, name.epoch, Ack::default());
        Envelope { from, from_incarnation: 7, to, to_incarnation: 8, epoch, number, ack, message }
    }

    /// The bytes of an envelope, by which two are compared.
    fn bytes(envelope: &Envelope) -> Vec<u8> {
        wire::seal(envelope).parts().concat()
    }

    fn envelopes() -> impl Strategy<Value = Vec<Envelope>> {
        let payload = prop::option::of(prop::collection::vec(any::<u8>(), 0..9000));
        prop::collection::vec((any::<u64>(), payload), 1..6).prop_map(|all| {
            all.into_iter().map(|(number, payload)| envelope(number, payload)).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn however_bytes_are_cut_envelopes_are_those_that_were_written(
            envelopes in envelopes(),
            cuts in prop::collection::vec(1_usize..5000, 1..20),
            missing in 1_usize..200,
        ) {
            let mut written = Cut::new(Vec::new(), cuts.clone());
            for envelope in &envelopes {
                write(&mut written, envelope).unwrap();
            }
            let whole = envelopes.iter().flat_map(bytes).collect::<Vec<u8>>();
            prop_assert_eq!(&written.bytes, &whole);
            let mut stream = Cut::new(whole.clone(), cuts.clone());
            for envelope in &envelopes {
                let found = read(&mut stream, &LIMITS, &Pool::new(0)).unwrap().unwrap();
                prop_assert_eq!(bytes(&found), bytes(envelope));
            }
            prop_assert!(read(&mut stream, &LIMITS, &Pool::new(0)).unwrap().is_none());

            // A peer that dies in the middle of the last frame.
            let last = bytes(envelopes.last().unwrap()).len();
            let short = whole[..whole.len() - missing.min(last - 1)].to_vec();
            let mut stream = Cut::new(short, cuts);
            for _ in 1..envelopes.len() {
                prop_assert!(read(&mut stream, &LIMITS, &Pool::new(0)).unwrap().is_some());
            }
            let cut = read(&mut stream, &LIMITS, &Pool::new(0));
            prop_assert!(matches!(cut, Err(Unreadable::Stream(_))));
        }

        #[test]
        fn any_bytes(noise in prop::collection::vec(any::<u8>(), 0..300), at in 0_usize..60) {
            // As they are, and behind the beginning of a good frame.
            let good = bytes(&envelope(1, Some(noise.clone())));
            for begin in [&good[..0], &good[..at.min(good.len())]] {
                let mut stream = Cut::new([begin, &noise].concat(), vec![7]);
                while let Ok(Some(_)) = read(&mut stream, &LIMITS, &Pool::new(0)) {}
            }
        }
    }

    #[test]
    fn a_payload_above_the_limit_is_refused_before_there_is_room_for_it() {
        let large = envelope(1, Some(vec![1; LIMITS.payload_bytes_max + 1]));
        let head = wire::seal(&large).head;
        let found = read(&mut Cut::new(head, vec![1000]), &LIMITS, &Pool::new(0));
        assert!(matches!(found, Err(Unreadable::Malformed(Malformed::TooLarge(20_001)))));
    }
}
