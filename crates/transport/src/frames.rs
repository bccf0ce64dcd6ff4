//! Ethernet, IPv4 and UDP around a datagram (Figure 4a of the paper).
//!
//! ```text
//!  0 MAC to      6 MAC from     12 IPv4 (0x0800)
//! 14 version, length of the head     16 bytes from here      20 not in fragments     22 hops
//! 23 UDP (17)   24 checksum     26 IPv4 from   30 IPv4 to
//! 34 port from  36 port to      38 bytes from here       40 no checksum      42 the datagram
//! ```
//!
//! The checksum of UDP is left out, as IPv4 allows: the card has one of its own, and a bucket is
//! sealed. Fragments and options are not read, for none are sent.
//!
//! **Invariant:** `datagram(write(from, to, n)) = (to, n)`, and nothing outside the frame is named
//! whatever it holds. Tested by `frames_are_read_as_written` and `any_frame_is_read_safely`.

use std::net::Ipv4Addr;
use std::ops::Range;

/// Bytes before the datagram.
pub(crate) const FRAME_HEAD_BYTES: usize = 42;

/// Bytes of it that are payload of Ethernet.
pub(crate) const IP_HEAD_BYTES: usize = FRAME_HEAD_BYTES - ETHERNET_BYTES;

const ETHERNET_BYTES: usize = 14;
const UDP_AT: usize = 34;
const UDP_BYTES: usize = 8;

/// Place of a lane on a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Address of the card, or of the router on the way.
    pub mac: [u8; 6],
    /// Address of the machine.
    pub ip: Ipv4Addr,
    /// Port of the lane.
    pub port: u16,
}

/// Heads of frames between two places, but for lengths.
#[derive(Clone, Debug)]
pub(crate) struct FrameHead {
    bytes: [u8; FRAME_HEAD_BYTES],
    /// Sum of the words of the IPv4 head but its length.
    sum: u32,
}

impl FrameHead {
    pub(crate) fn new(from: &Address, to: &Address) -> Self {
        let mut bytes = [0; FRAME_HEAD_BYTES];
        bytes[..6].copy_from_slice(&to.mac);
        bytes[6..12].copy_from_slice(&from.mac);
        bytes[12..14].copy_from_slice(&[0x08, 0x00]);
        bytes[14] = 0x45;
        bytes[20] = 0x40;
        bytes[22] = 64;
        bytes[23] = 17;
        bytes[26..30].copy_from_slice(&from.ip.octets());
        bytes[30..34].copy_from_slice(&to.ip.octets());
        bytes[34..36].copy_from_slice(&from.port.to_be_bytes());
        bytes[36..38].copy_from_slice(&to.port.to_be_bytes());
        let words = bytes[ETHERNET_BYTES..UDP_AT].chunks_exact(2);
        let sum = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        Self { bytes, sum }
    }

    /// Writes the head of a datagram of `datagram_bytes` bytes, 65,507 at most.
    pub(crate) fn write(&self, head: &mut [u8], datagram_bytes: usize) {
        let udp = (UDP_BYTES + datagram_bytes) as u16;
        let ip = udp + (UDP_AT - ETHERNET_BYTES) as u16;
        let mut sum = self.sum + u32::from(ip);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        head[..FRAME_HEAD_BYTES].copy_from_slice(&self.bytes);
        head[16..18].copy_from_slice(&ip.to_be_bytes());
        head[24..26].copy_from_slice(&(!(sum as u16)).to_be_bytes());
        head[38..40].copy_from_slice(&udp.to_be_bytes());
    }
}

/// Port that a frame is for, and where its datagram lies, if it is one for this machine.
pub(crate) fn datagram(frame: &[u8], ip: Ipv4Addr) -> Option<(u16, Range<usize>)> {
    let head = frame.first_chunk::<FRAME_HEAD_BYTES>()?;
    let is_whole = matches!(head[20..22], [0x00 | 0x40, 0]);
    let is_udp = head[12..15] == [0x08, 0x00, 0x45] && head[23] == 17 && is_whole;
    if !is_udp || head[30..34] != ip.octets() {
        return None;
    }
    let port = u16::from_be_bytes([head[36], head[37]]);
    let end = UDP_AT + usize::from(u16::from_be_bytes([head[38], head[39]]));
    // Short frames are padded.
    (end >= FRAME_HEAD_BYTES && end <= frame.len()).then_some((port, FRAME_HEAD_BYTES..end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(machine: u8, port: u16) -> Address {
        Address { mac: [2, 0, 0, 0, 0, machine], ip: Ipv4Addr::new(10, 0, 0, machine), port }
    }

    proptest! {
        #[test]
        fn frames_are_read_as_written(
            port in any::<u16>(), bytes in 0..65_507_usize, pad in 0..30_usize,
        ) {
            let (from, to) = (address(1, 7), address(2, port));
            let mut frame = vec![0xaa; FRAME_HEAD_BYTES + bytes + pad];
            FrameHead::new(&from, &to).write(&mut frame, bytes);
            let place = FRAME_HEAD_BYTES..FRAME_HEAD_BYTES + bytes;
            prop_assert_eq!(datagram(&frame, to.ip), Some((port, place)));
            prop_assert_eq!(datagram(&frame, from.ip), None);
            let words = frame[14..34].chunks(2).map(|w| u32::from(w[0]) << 8 | u32::from(w[1]));
            let sum: u32 = words.sum();
            prop_assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
        }

        #[test]
        fn any_frame_is_read_safely(
            changes in proptest::collection::vec((0..42_usize, any::<u8>()), 0..4),
            cut in 0..101_usize,
        ) {
            let (from, to) = (address(1, 7), address(2, 9));
            let mut frame = vec![0; 100];
            FrameHead::new(&from, &to).write(&mut frame, 58);
            for (at, byte) in changes {
                frame[at] = byte;
            }
            if let Some((_, place)) = datagram(&frame[..cut], to.ip) {
                prop_assert!(place.start <= place.end && place.end <= cut);
            }
        }
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let ip = |last| Ipv4Addr::new(192, 168, 0, last);
        let from = Address { mac: [0; 6], ip: ip(1), port: 0 };
        let to = Address { mac: [0; 6], ip: ip(199), port: 0 };
        let mut frame = [0; FRAME_HEAD_BYTES];
        FrameHead::new(&from, &to).write(&mut frame, 0x73 - 28);
        // A known head: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7.
        assert_eq!(frame[24..26], [0xb8, 0x61]);
    }
}
