//! Body of the fuzz target for what machines say to each other, so that tests can replay its seeds;
//! no part of the interface.
//!
//! ```text
//! input = how (1 byte), then a stream: frames (0), frames that are given lengths and sums (1),
//!         words to a host (2), or the first bytes of a connection, whose sum is made
//!         right (3)
//! ```

use std::io::{self, Read, Write};

use welter_protocol::payload::checksum;
use welter_protocol::wire::{self, HEAD_BYTES};

use crate::control;
use crate::links::frames::{self, Limits};
use crate::links::handshake::welcome;
use crate::pool::Pool;

/// Machines of the cluster, and bytes of a payload.
const LIMITS: Limits = Limits { machines: 5, payload_bytes_max: 1 << 16 };

/// Bytes of the first ones of a connection that are summed.
const SUMMED_BYTES: usize = 40;

/// A peer that says this, and does not listen.
struct Peer<'a>(&'a [u8]);

impl Read for Peer<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to)
    }
}

impl Write for Peer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a stream as a peer of this machine may have sent it. Nothing may panic, no more is read
/// than came, and an envelope has one form: that which was read.
///
/// # Panics
/// When that does not hold.
pub fn frame(data: &[u8]) {
    let Some((&how, stream)) = data.split_first() else { return };
    match how % 4 {
        0 => read(stream),
        1 => read(&forged(stream)),
        2 => {
            let mut words = stream;
            while let Ok(Some(_)) = control::read(&mut words) {}
        }
        _ => {
            let mut hello = stream.to_vec();
            if let Some((summed, rest)) = hello.split_at_mut_checked(SUMMED_BYTES)
                && let Some(sum) = rest.first_chunk_mut()
            {
                *sum = checksum(summed).to_le_bytes();
            }
            // A peer that is let in is one of this run.
            let received = welcome(&mut Peer(&hello), (7, 0, LIMITS.machines));
            if let Ok(Ok(hello)) = received {
                assert!(hello.run == 7 && (1..LIMITS.machines).contains(&hello.from));
            }
        }
    }
}

fn read(stream: &[u8]) {
    let (mut left, pool) = (stream, Pool::new(0));
    loop {
        let before = left;
        let Ok(Some(envelope)) = frames::read(&mut left, &LIMITS, &pool) else { return };
        let mut written = Vec::new();
        let bytes = frames::write(&mut written, &envelope);
        assert!(bytes.is_ok_and(|bytes| bytes == written.len() as u64));
        assert!(written == before[..before.len() - left.len()], "an envelope has one form");
    }
}

/// Frames that begin as ours, are as long as they say, and whose sums are right.
fn forged(stream: &[u8]) -> Vec<u8> {
    let mut bytes = stream.to_vec();
    let mut at = 0;
    while let Some(room) = (bytes.len() - at).checked_sub(HEAD_BYTES) {
        let frame = &mut bytes[at..];
        let stated = |from: usize, most: usize, frame: &[u8]| {
            let number = u64::from_le_bytes(std::array::from_fn(|byte| frame[from + byte]));
            (number % (most as u64 + 1)) as usize
        };
        let body = stated(8, room, frame);
        let payload = stated(16, room - body, frame);
        let behind = HEAD_BYTES + body;
        frame[..4].copy_from_slice(b"wlt>");
        frame[4..8].copy_from_slice(&wire::VERSION.to_le_bytes());
        frame[8..16].copy_from_slice(&(body as u64).to_le_bytes());
        frame[16..24].copy_from_slice(&(payload as u64).to_le_bytes());
        let hash = checksum(&frame[behind..behind + payload]);
        frame[24..32].copy_from_slice(&hash.to_le_bytes());
        let sum = wire::sum(&frame[..behind]);
        frame[32..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        at += behind + payload;
    }
    bytes
}
