//! The message bucket: room for messages to one range of destinations, with all that a lower layer
//! needs around them.
//!
//! ```text
//! memory:  headroom  segment  segment  ...                     (a segment travels in one datagram)
//! segment: head      messages of one width, side by side       pad (less than a message)
//! ```
//!
//! A worker writes messages into it, the lower layer sends from it, and at the other end the
//! accumulator folds from the buffer that the bytes arrived in: no message is copied in between. A
//! bucket is made once and circulates; how it is segmented is fixed when it is made.
//!
//! **Invariant:** no message crosses the end of a segment. Tested by
//! `messages_come_back_in_order_for_any_layout`. **Invariant:** `runs` never leaves the bucket,
//! whatever its head says. Checked in `Arrived::open`; tested by `any_bytes_are_read_safely`.

use crate::header::{HEAD_BYTES, Header, SEGMENT_HEAD_BYTES, SegmentHead};
use crate::memory::Memory;

/// Bytes before the first segment, for headers of Ethernet, IP and UDP.
pub const HEADROOM_BYTES: usize = 96;

/// Bytes of a bucket and of its segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a segment: of a datagram, or of the whole bucket where the lower layer is a stream.
    pub segment_bytes: usize,
    /// Segments of a full bucket, 255 at most.
    pub segments: usize,
}

impl Layout {
    /// One segment of 64 KiB: for memory and for streams.
    pub const WHOLE: Self = Self { segment_bytes: 64 << 10, segments: 1 };

    /// 46 datagrams that are a little smaller than the MTU of Ethernet and of clouds.
    pub const ETHERNET: Self = Self { segment_bytes: 1408, segments: 46 };

    /// One such datagram, as in the paper.
    pub const DATAGRAM: Self = Self { segment_bytes: 1408, segments: 1 };

    /// Where messages begin: behind the head, and room for what heads of segments displace.
    pub(crate) const fn first(self) -> usize {
        HEAD_BYTES + SEGMENT_HEAD_BYTES * self.segments.saturating_sub(1)
    }

    /// Bytes of a full bucket, without headroom.
    pub const fn bytes(self) -> usize {
        self.segment_bytes * self.segments
    }

    /// Messages of this width that a full bucket has.
    pub const fn messages(self, width: usize) -> usize {
        (self.segment_bytes - self.first()) / width
            + (self.segments - 1) * ((self.segment_bytes - SEGMENT_HEAD_BYTES) / width)
    }
}

/// Messages on their way, and where the bucket belongs.
pub struct Bucket {
    memory: Memory,
    layout: Layout,
    /// Kept in this form until the bucket is sent, or read from what arrived.
    pub(crate) header: Header,
    /// Where the next message goes, from the beginning of the first segment.
    at: usize,
    /// Where the segment ends that it goes to.
    segment_end: usize,
    /// Group of rings, and ring of it, that the bucket goes back to.
    pub(crate) home: (u16, u16),
}

impl Bucket {
    /// An empty bucket.
    ///
    /// # Panics
    /// If a segment has no room for its head, or there are none or more than 255.
    pub fn new(layout: Layout) -> Self {
        Self::in_memory(Memory::on_heap(HEADROOM_BYTES + layout.bytes()), layout)
    }

    pub(crate) fn in_memory(memory: Memory, layout: Layout) -> Self {
        assert!(layout.segment_bytes > layout.first() && (1..256).contains(&layout.segments));
        assert!(memory.len() >= HEADROOM_BYTES + layout.bytes());
        let mut bucket =
            Self { memory, layout, header: Header::default(), at: 0, segment_end: 0, home: (0, 0) };
        bucket.clear();
        bucket
    }

    /// No bucket: it is full.
    pub(crate) fn none() -> Self {
        let layout = Layout { segment_bytes: 0, segments: 0 };
        let memory = Memory::on_heap(HEADROOM_BYTES);
        Self { memory, layout, header: Header::default(), at: 0, segment_end: 0, home: (0, 0) }
    }

    /// Empties the bucket.
    pub fn clear(&mut self) {
        self.header = Header::default();
        self.at = self.layout.first();
        self.segment_end = self.layout.segment_bytes;
    }

    /// Becomes a copy of another bucket, but for where it belongs.
    ///
    /// # Panics
    /// If the two are not segmented alike.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        assert_eq!(self.layout, other.layout, "buckets of a lane are segmented alike");
        self.header = other.header;
        (self.at, self.segment_end) = (other.at, other.segment_end);
        self.image_mut().copy_from_slice(other.image());
    }

    /// Layout of the segments of the bucket.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Head of the bucket.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Whether no message is in it.
    pub fn is_empty(&self) -> bool {
        self.at == self.layout.first()
    }

    /// Writes a message, unless the bucket is full.
    #[inline(always)]
    pub fn push<const WIDTH: usize>(&mut self, message: &[u8; WIDTH]) -> bool {
        if self.at + WIDTH > self.segment_end && !self.next_segment(WIDTH) {
            return false;
        }
        let from = HEADROOM_BYTES + self.at;
        self.memory[from..from + WIDTH].copy_from_slice(message);
        self.at += WIDTH;
        true
    }

    /// Room for a run of messages of `width` bytes, a whole number of them: none if it is full.
    #[inline]
    pub fn room(&mut self, width: usize) -> &mut [u8] {
        if self.at + width > self.segment_end {
            self.next_segment(width);
        }
        let whole = (self.segment_end - self.at) / width * width;
        let from = HEADROOM_BYTES + self.at;
        &mut self.memory[from..from + whole]
    }

    /// The next `bytes` bytes of the room are messages now.
    ///
    /// # Panics
    /// If there was less room.
    #[inline]
    pub fn advance(&mut self, bytes: usize) {
        assert!(self.at + bytes <= self.segment_end);
        self.at += bytes;
    }

    /// Continues to the next segment, if there is one with room for a message.
    #[cold]
    fn next_segment(&mut self, width: usize) -> bool {
        let next = self.segment_end;
        let is_left = next + self.layout.segment_bytes <= self.layout.bytes();
        if is_left && SEGMENT_HEAD_BYTES + width <= self.layout.segment_bytes {
            self.at = next + SEGMENT_HEAD_BYTES;
            self.segment_end = next + self.layout.segment_bytes;
            return true;
        }
        false
    }

    /// Writes the heads of all segments: the bucket is as it will be sent.
    pub(crate) fn seal_heads(&mut self) {
        self.header.end = self.at as u32;
        self.header.segment = self.layout.segment_bytes as u32;
        self.header.first = self.layout.first() as u16;
        let header = self.header;
        let image = self.image_mut();
        header.write(image);
        let others = image.chunks_mut(header.segment as usize).enumerate().skip(1);
        others.for_each(|(index, segment)| header.segment_head(index as u8).write(segment));
    }

    /// Bytes that travel.
    pub fn image(&self) -> &[u8] {
        &self.memory[HEADROOM_BYTES..HEADROOM_BYTES + self.at]
    }

    pub(crate) fn image_mut(&mut self) -> &mut [u8] {
        &mut self.memory[HEADROOM_BYTES..HEADROOM_BYTES + self.at]
    }

    /// Room for bytes that arrive, as many as a full bucket has.
    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        let bytes = self.layout.bytes();
        &mut self.memory[HEADROOM_BYTES..HEADROOM_BYTES + bytes]
    }

    /// Whether a device still sends what is in it, so that it may not be written.
    pub(crate) fn is_held(&self) -> bool {
        self.memory.is_held()
    }

    /// The packet that it lies in.
    #[cfg(feature = "dpdk")]
    pub(crate) fn packet(&mut self) -> Option<&mut crate::dpdk::Packet> {
        self.memory.as_packet()
    }

    /// The bucket as the other end will see it, once its heads are written.
    pub fn view(&self) -> Arrived<'_> {
        let header = Header { first: self.layout.first() as u16, ..self.header };
        Arrived { header, segment_bytes: self.layout.segment_bytes, image: self.image() }
    }

    /// Bytes of all messages.
    pub(crate) fn message_bytes(&self) -> usize {
        self.view().runs().map(<[u8]>::len).sum()
    }
}

/// A bucket where it has arrived: its head, and the buffer of the lower layer.
#[derive(Clone, Copy)]
pub struct Arrived<'a> {
    header: Header,
    segment_bytes: usize,
    image: &'a [u8],
}

impl<'a> Arrived<'a> {
    /// The bucket that these bytes are, if they are one, and no more than that.
    pub fn open(image: &'a [u8]) -> Option<Self> {
        let header = Header::read(image)?;
        let segment_bytes = header.segment as usize;
        let mut others = image.chunks(segment_bytes).enumerate().skip(1);
        let is_whole = header.end as usize == image.len()
            && others.all(|(index, segment)| {
                SegmentHead::read(segment) == Some(header.segment_head(index as u8))
            });
        is_whole.then_some(Self { header, segment_bytes, image })
    }

    /// Head of the bucket.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Messages, one run of whole ones a segment. Of a long message: its bytes.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let width = usize::from(self.header.width).max(1);
        let first = usize::from(self.header.first);
        let segments = self.image.chunks(self.segment_bytes).enumerate();
        segments.map(move |(index, segment)| {
            let head = if index == 0 { first } else { SEGMENT_HEAD_BYTES };
            let messages = segment.get(head..).unwrap_or_default();
            &messages[..messages.len() / width * width]
        })
    }

    /// Each message of this width.
    #[inline]
    pub fn messages<const WIDTH: usize>(
        &self,
    ) -> impl Iterator<Item = &'a [u8; WIDTH]> + use<'a, WIDTH> {
        self.runs().flat_map(|run| run.as_chunks::<WIDTH>().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<const WIDTH: usize>(layout: Layout, count: usize) {
        let mut bucket = Bucket::new(layout);
        bucket.header.width = WIDTH as u16;
        let messages: Vec<[u8; WIDTH]> =
            (0..count).map(|i| [i as u8 ^ WIDTH as u8; WIDTH]).collect();
        let taken = messages.iter().take_while(|message| bucket.push(message)).count();
        assert_eq!(taken, count.min(layout.messages(WIDTH)));
        bucket.seal_heads();
        let other = Arrived::open(bucket.image()).unwrap();
        assert!(other.messages::<WIDTH>().eq(&messages[..taken]));
    }

    proptest! {
        #[test]
        fn messages_come_back_in_order_for_any_layout(
            segment_bytes in 176..400_usize, segments in 1..5_usize, count in 0..400_usize,
        ) {
            let layout = Layout { segment_bytes, segments };
            round_trip::<8>(layout, count);
            round_trip::<12>(layout, count);
            round_trip::<16>(layout, count);
            round_trip::<5>(layout, count);
        }

        #[test]
        fn any_bytes_are_read_safely(
            flips in proptest::collection::vec((0..500_usize, any::<u8>()), 0..6),
            cut in 0..601_usize,
        ) {
            let layout = Layout { segment_bytes: 200, segments: 3 };
            let mut bucket = Bucket::new(layout);
            bucket.header.width = 12;
            while bucket.push(&[7; 12]) {}
            bucket.seal_heads();
            for (at, to) in flips {
                bucket.buffer()[at] = to;
            }
            let image = &bucket.buffer()[..cut];
            if let Some(arrived) = Arrived::open(image) {
                prop_assert!(arrived.runs().map(<[u8]>::len).sum::<usize>() <= cut);
            }
        }
    }

    #[test]
    fn runs_are_filled_in_place() {
        let mut bucket = Bucket::new(Layout { segment_bytes: 144, segments: 2 });
        assert_eq!(bucket.room(12).len(), 24);
        bucket.room(12)[..12].fill(1);
        bucket.advance(12);
        assert_eq!(bucket.room(12).len(), 12);
        bucket.advance(12);
        assert_eq!(bucket.room(12).len(), 120);
        bucket.advance(120);
        assert!(bucket.room(12).is_empty());
    }
}
