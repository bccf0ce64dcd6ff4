//! Frames of an exchange before a run.
//!
//! ```text
//! kind u8 | peer u32 | length u32 | bytes      little endian
//! ```
//!
//! A frame of a member names who is to have it; the hub puts who has sent it in that place.
//!
//! **Invariant:** a frame takes no more memory than [`PIECE_BYTES`], whatever its length says.
//! Checked in `read`. Tested by `frames_come_back_and_others_are_errors`.

use std::io::{self, ErrorKind, Read, Write};

/// Bytes of a frame, at most.
pub(super) const PIECE_BYTES: usize = 256 << 10;

/// Bytes before those of a frame.
const HEADER_BYTES: usize = 9;

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Nothing: the sender is there.
    Beat,
    /// Bytes of a message.
    Piece(u32, Vec<u8>),
    /// End of a message, with the checksum of all of it.
    End(u32, u64),
    /// Nothing more is to come.
    Done,
}

/// Writes the bytes of a message.
pub(super) fn write_piece(to: &mut impl Write, peer: u32, bytes: &[u8]) -> io::Result<()> {
    put(to, (1, peer), bytes)
}

/// Writes a frame.
pub(super) fn write(to: &mut impl Write, frame: &Frame) -> io::Result<()> {
    match frame {
        Frame::Beat => put(to, (0, 0), &[]),
        Frame::Piece(peer, bytes) => write_piece(to, *peer, bytes),
        Frame::End(peer, sum) => put(to, (2, *peer), &sum.to_le_bytes()),
        Frame::Done => put(to, (3, 0), &[]),
    }
}

fn put(to: &mut impl Write, (kind, peer): (u8, u32), bytes: &[u8]) -> io::Result<()> {
    let mut header = [kind; HEADER_BYTES];
    header[1..5].copy_from_slice(&peer.to_le_bytes());
    header[5..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    to.write_all(&header)?;
    to.write_all(bytes)?;
    to.flush()
}

/// The next frame.
pub(super) fn read(from: &mut impl Read) -> io::Result<Frame> {
    let mut header = [0; HEADER_BYTES];
    from.read_exact(&mut header)?;
    let [kind, p0, p1, p2, p3, l0, l1, l2, l3] = header;
    let (peer, length) =
        (u32::from_le_bytes([p0, p1, p2, p3]), u32::from_le_bytes([l0, l1, l2, l3]) as usize);
    if length > PIECE_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    match (kind, <[u8; 8]>::try_from(&bytes[..])) {
        (0, _) => Ok(Frame::Beat),
        (1, _) => Ok(Frame::Piece(peer, bytes)),
        (2, Ok(sum)) => Ok(Frame::End(peer, u64::from_le_bytes(sum))),
        (3, _) => Ok(Frame::Done),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_and_others_are_errors() {
        let frames = [
            Frame::Beat,
            Frame::Piece(7, b"some".to_vec()),
            Frame::Piece(0, Vec::new()),
            Frame::End(3, u64::MAX - 1),
            Frame::Done,
        ];
        let mut bytes = Vec::new();
        for frame in &frames {
            write(&mut bytes, frame).unwrap();
        }
        let mut rest = &bytes[..];
        for frame in &frames {
            assert_eq!(read(&mut rest).unwrap(), *frame);
        }
        assert!(read(&mut rest).is_err());
        let long = [1, 0, 0, 0, 0, 255, 255, 255, 255];
        for wrong in
            [&long[..], &[2, 0, 0, 0, 0, 1, 0, 0, 0, 9], &[4; 9], &[1, 0, 0, 0, 0, 1, 0, 0, 0]]
        {
            assert!(read(&mut &wrong[..]).is_err(), "{wrong:?}");
        }
    }
}
