//! The head of a bucket on a wire (Figure 4a of the paper), in little-endian numbers.
//!
//! ```text
//! each segment of a bucket (one datagram), 16 bytes:
//!   0 magic    1 index in the bucket    2 rank    4 lane    6 epoch, low bits    8 number
//! behind that of the first one, 80 bytes:
//!  16 tag     32 version   33 flags     34 bytes of a message      36 epoch
//!  40 received: all numbers up to it came        48 ahead: a bit for each of the 64 after the next
//!  56 updates that messages stand for         64 end of the bucket     68 bytes of a segment
//!  72 iteration   76 sub-range   78 first message      80 part of a long message
//!  84 ring group of the sender       86 zeros
//!  96 bytes that heads of other segments displaced (`guard`), 16 for each; then messages
//! ```
//!
//! Rank, lane and number of the sender are also the nonce of the tag, so that no attacker can move
//! a bucket to another place. Acknowledgements travel in every bucket, those without messages too.
//!
//! **Invariant:** `Header::read(write(header)) = header`, and anything else is refused. Tested by
//! `a_header_comes_back`; checked in `Header::read`.

/// Bytes before the messages of a segment that is not the first one.
pub const SEGMENT_HEAD_BYTES: usize = 16;

/// Bytes before the messages of a bucket.
pub const HEAD_BYTES: usize = 96;

/// Place of the tag, which is over all behind it.
pub(crate) const TAG: std::ops::Range<usize> = 16..32;

/// Largest number: the top bit of a nonce says whether it is of an acknowledgement alone.
const NUMBER_MAX: u64 = u64::MAX >> 1;

const MAGIC: u8 = 0xb1;
const VERSION: u8 = 1;

/// The last bucket of an iteration.
const LAST: u8 = 1;
/// More parts of the message follow in the next bucket.
const LINKED: u8 = 2;
/// An acknowledgement alone: numbered apart, never repeated.
const BARE: u8 = 4;
/// Sealed: encrypted, under a tag.
const SEALED: u8 = 8;

/// Numbers that have come from a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ack {
    /// All up to this one.
    pub received: u64,
    /// Bit `i` is `received + 2 + i`.
    pub ahead: u64,
}

impl Ack {
    /// Numbers beyond `received` that can be acknowledged.
    pub const REACH: u64 = 65;

    /// Whether this number has come.
    pub fn covers(self, number: u64) -> bool {
        number <= self.received
            || (number > self.received + 1
                && number <= self.received + Self::REACH
                && self.ahead >> (number - self.received - 2) & 1 == 1)
    }
}

/// Sender and number of a bucket: what each of its segments says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentHead {
    /// Index of the segment in its bucket.
    pub index: u8,
    /// Machine that sent it.
    pub rank: u16,
    /// Lane of that machine.
    pub lane: u16,
    /// Low bits of the epoch.
    pub epoch: u16,
    /// Number of the bucket on its lane.
    pub number: u64,
}

impl SegmentHead {
    /// Head of the segment that begins here, if one does.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let head = bytes.first_chunk::<SEGMENT_HEAD_BYTES>()?;
        (head[0] == MAGIC).then(|| Self {
            index: head[1],
            rank: u16_at(head, 2),
            lane: u16_at(head, 4),
            epoch: u16_at(head, 6),
            number: u64_at(head, 8),
        })
    }

    pub(crate) fn write(self, bytes: &mut [u8]) {
        (bytes[0], bytes[1]) = (MAGIC, self.index);
        bytes[2..4].copy_from_slice(&self.rank.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.lane.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
    }
}

/// Head of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "flags of the format")]
pub struct Header {
    /// Machine that sent it.
    pub rank: u16,
    /// Lane of that machine.
    pub lane: u16,
    /// Membership of the cluster; buckets of another one are dropped.
    pub epoch: u32,
    /// Number on its lane and in its epoch, from 1.
    pub number: u64,
    /// Numbers that the sender has received from the receiver.
    pub ack: Ack,
    /// Updates that the messages stand for.
    pub updates: u64,
    /// Bytes of a message; 0 is a part of one message of any length.
    pub width: u16,
    /// End of the bucket, in bytes from its beginning.
    pub end: u32,
    /// Bytes of each segment but the last.
    pub segment: u32,
    /// Iteration that the messages belong to.
    pub iteration: u32,
    /// Range of destinations at the receiver.
    pub sub_range: u16,
    /// Where the first message begins.
    pub first: u16,
    /// Index of this part of a long message.
    pub part: u32,
    /// Ring group of the sender, where several share a lane.
    pub group: u16,
    /// No bucket of this iteration follows on this lane.
    pub last: bool,
    /// The next bucket has the next part of the message.
    pub linked: bool,
    /// The bucket has an acknowledgement only.
    pub bare: bool,
    /// Messages are encrypted, and all is under a tag.
    pub sealed: bool,
}

impl Header {
    /// Head of the bucket that these bytes begin with, if it is a possible one: its end may be
    /// further than the bytes are.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let segment = SegmentHead::read(bytes)?;
        let head = bytes.first_chunk::<HEAD_BYTES>()?;
        let (flags, epoch) = (head[33], u32_at(head, 36));
        let header = Self {
            rank: segment.rank,
            lane: segment.lane,
            epoch,
            number: segment.number,
            ack: Ack { received: u64_at(head, 40), ahead: u64_at(head, 48) },
            updates: u64_at(head, 56),
            width: u16_at(head, 34),
            end: u32_at(head, 64),
            segment: u32_at(head, 68),
            iteration: u32_at(head, 72),
            sub_range: u16_at(head, 76),
            first: u16_at(head, 78),
            part: u32_at(head, 80),
            group: u16_at(head, 84),
            last: flags & LAST != 0,
            linked: flags & LINKED != 0,
            bare: flags & BARE != 0,
            sealed: flags & SEALED != 0,
        };
        let is_possible = segment.index == 0
            && head[32] == VERSION
            && flags <= LAST | LINKED | BARE | SEALED
            && segment.epoch == epoch as u16
            && segment.number <= NUMBER_MAX
            && usize::from(header.first) >= HEAD_BYTES
            && header.end >= u32::from(header.first)
            && header.segment >= u32::from(header.first) + u32::from(header.width);
        is_possible.then_some(header)
    }

    pub(crate) fn write(&self, bytes: &mut [u8]) {
        self.segment_head(0).write(bytes);
        let flag = |is, bit| if is { bit } else { 0 };
        bytes[32] = VERSION;
        bytes[33] = flag(self.last, LAST)
            | flag(self.linked, LINKED)
            | flag(self.bare, BARE)
            | flag(self.sealed, SEALED);
        bytes[34..36].copy_from_slice(&self.width.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.ack.received.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.ack.ahead.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.updates.to_le_bytes());
        bytes[64..68].copy_from_slice(&self.end.to_le_bytes());
        bytes[68..72].copy_from_slice(&self.segment.to_le_bytes());
        bytes[72..76].copy_from_slice(&self.iteration.to_le_bytes());
        bytes[76..78].copy_from_slice(&self.sub_range.to_le_bytes());
        bytes[78..80].copy_from_slice(&self.first.to_le_bytes());
        bytes[80..84].copy_from_slice(&self.part.to_le_bytes());
        bytes[84..86].copy_from_slice(&self.group.to_le_bytes());
        bytes[86..96].fill(0);
    }

    /// Head of another segment of the bucket.
    pub(crate) fn segment_head(&self, index: u8) -> SegmentHead {
        let Self { rank, lane, number, epoch, .. } = *self;
        SegmentHead { index, rank, lane, epoch: epoch as u16, number }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_comes_back(
            (rank, lane, epoch) in any::<(u16, u16, u32)>(), number in 0..=NUMBER_MAX,
            (received, ahead, updates) in any::<(u64, u64, u64)>(),
            (width, first, more, room) in (0..5000_u16, 96..5000_u16, 0..70000_u32, 0..70000_u32),
            (iteration, sub_range, part, group) in any::<(u32, u16, u32, u16)>(),
            (last, linked, bare, sealed) in any::<(bool, bool, bool, bool)>(),
        ) {
            let end = u32::from(first) + more;
            let segment = u32::from(first) + u32::from(width) + room;
            let ack = Ack { received, ahead };
            let header = Header {
                rank, lane, epoch, number, ack, updates, width, end, segment, iteration, sub_range,
                first, part, group, last, linked, bare, sealed,
            };
            let mut bytes = [0x55; HEAD_BYTES];
            header.write(&mut bytes);
            prop_assert_eq!(Header::read(&bytes), Some(header));
            prop_assert_eq!(Header::read(&bytes[1..]), None);
            bytes[32] ^= 2;
            prop_assert_eq!(Header::read(&bytes), None);
        }
    }

    #[test]
    fn acknowledgements_cover_what_came() {
        let ack = Ack { received: 10, ahead: 0b101 };
        let covered: Vec<u64> = (1..100).filter(|&number| ack.covers(number)).collect();
        assert_eq!(covered, (1..=10).chain([12, 14]).collect::<Vec<_>>());
    }
}
