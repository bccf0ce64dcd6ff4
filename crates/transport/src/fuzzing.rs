//! Body of the fuzz target for buckets and their heads, so that tests can replay its seeds; no part
//! of the interface.
//!
//! ```text
//! input = settings (1 byte), then datagrams: length (2 bytes, little-endian), bytes
//! ```

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::bucket::{Arrived, Layout};
use crate::connection::Bounds;
use crate::datagrams::{Came, Clock, Datagrams};
use crate::endpoint::{Endpoint, EndpointSettings};
use crate::guard::{Protection, Secret};
use crate::header::{HEAD_BYTES, Header, SEGMENT_HEAD_BYTES, SegmentHead};
use crate::joined::Joined;
use crate::lane::RxLane;

/// Datagrams that come one by one, and an end that receives nothing.
struct Arriving(VecDeque<Vec<u8>>);

impl Datagrams for Arriving {
    fn send(&mut self, _: usize, _: &[u8], _: usize) -> io::Result<bool> {
        Ok(true)
    }

    fn receive(&mut self, into: &mut [u8]) -> io::Result<Option<Came>> {
        let Some(datagram) = self.0.pop_front() else { return Ok(None) };
        let bytes = datagram.len().min(into.len());
        into[..bytes].copy_from_slice(&datagram[..bytes]);
        Ok(Some(Came { bytes, segment_bytes: bytes.max(1) }))
    }
}

/// Gives datagrams to an endpoint: as they are, and, if the settings say so, with the heads of our
/// peer. Nothing may panic, each number is folded once, and messages are no more than came.
pub fn bucket(data: &[u8]) {
    let Some((&settings, mut rest)) = data.split_first() else { return };
    let (sealed, forged) = (settings & 1 == 1, settings & 2 == 2);
    let mut datagrams = VecDeque::new();
    let mut number = 0_u64;
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let bytes = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let mut datagram = behind[..bytes].to_vec();
        rest = &behind[bytes..];
        look(&datagram);
        if forged {
            number += forge(&mut datagram, number);
            look(&datagram);
        }
        datagrams.push_back(datagram);
    }
    let came: usize = datagrams.iter().map(Vec::len).sum();
    let count = datagrams.len();
    let protection = if sealed { Protection::Sealed } else { Protection::Trusted };
    let settings = EndpointSettings {
        here: (1, 0),
        peers: vec![(0, 0)],
        epoch: 1,
        layout: Layout { segment_bytes: 176, segments: 3 },
        buckets: 0,
        bounds: Bounds::default(),
        protection,
        secret: Secret::new([7; 32]),
        clock: Clock::Set(Arc::new(AtomicU64::new(0))),
    };
    let mut endpoint = Endpoint::new(Arriving(datagrams), settings);
    let (mut folded, mut bytes, mut joined) = (BTreeSet::new(), 0, Joined::new(1 << 16));
    let mut fold = |arrived: &Arrived<'_>| {
        assert!(folded.insert(arrived.header().number), "a number is folded once");
        bytes += arrived.runs().map(<[u8]>::len).sum::<usize>();
        if let Ok(Some(message)) = joined.add(arrived) {
            assert!(message.len() <= came);
        }
    };
    for _ in 0..count / 64 + 2 {
        endpoint.poll(&mut fold).expect("nobody is silent who was not sent anything");
    }
    assert!(bytes <= came);
}

/// Reads bytes as all that they could be.
fn look(bytes: &[u8]) {
    let _ = SegmentHead::read(bytes);
    if let Some(arrived) = Arrived::open(bytes) {
        let runs: usize = arrived.runs().map(<[u8]>::len).sum();
        assert!(runs <= bytes.len() && arrived.messages::<8>().count() <= runs / 8);
    }
}

/// Makes a head that our peer could have sent, as far as there is one, and says whether the bucket
/// has the next number.
fn forge(datagram: &mut [u8], last: u64) -> u64 {
    let Some(head) = datagram.first_chunk_mut::<SEGMENT_HEAD_BYTES>() else { return 0 };
    let (index, ahead) = (head[1], u64::from(head[8] & 3));
    // Segments other than the first belong to a bucket that was begun.
    let number = if index == 0 { last + 1 } else { last + 1 - last.min(ahead) };
    SegmentHead { index, rank: 0, lane: 0, epoch: 1, number }.write(head);
    if index != 0 {
        return 0;
    }
    let bytes = datagram.len();
    let Some(head) = datagram.get_mut(..HEAD_BYTES) else { return 0 };
    (head[32], head[33]) = (1, head[33] & 0xf);
    head[36..40].copy_from_slice(&1_u32.to_le_bytes());
    head[68..72].copy_from_slice(&176_u32.to_le_bytes());
    let first = u16::from_le_bytes([head[78], head[79]]).clamp(96, 176);
    head[78..80].copy_from_slice(&first.to_le_bytes());
    if head[64] & 1 == 0 {
        head[64..68].copy_from_slice(&(bytes as u32).to_le_bytes());
    }
    u64::from(Header::read(datagram).is_some())
}
