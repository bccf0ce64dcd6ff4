//! Ring groups (Figure 4b of the paper): what a worker writes its messages into.
//!
//! A worker has a group of its own, with a ring of buckets for each destination, which is a machine
//! and a sub-range of it. It writes into the open bucket of the ring; a full one is handed to the
//! lane, and the next one taken. The lane is the worker's own, or a descriptor queue that a sender
//! thread serves (`queues`): the group does not ask.
//!
//! **Invariant:** messages of a ring are sent in the order in which they were written, and the last
//! bucket of an iteration after all others of it. Asserted in `RingGroup::wait_for`. Tested by
//! `each_ring_keeps_its_order_and_ends_with_its_last_bucket` and
//! `a_ring_may_end_its_iteration_before_others`.

use crate::bucket::Bucket;
use crate::lane::{LaneError, TxLane};
use crate::patience::Patience;

/// Destination of a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Destination {
    /// Machine.
    pub rank: u16,
    /// Range of its destinations, which one of its threads owns.
    pub sub_range: u16,
}

/// Rings of one worker.
pub struct RingGroup<L> {
    lanes: L,
    rings: Vec<Ring>,
    width: u16,
    iteration: u32,
    /// Done while a ring has no bucket: yields unless told otherwise.
    waits: u64,
}

struct Ring {
    destination: Destination,
    /// Bucket that is being filled: never a full one.
    open: Bucket,
    is_open: bool,
    /// Whether the last bucket of this iteration was sent.
    is_ended: bool,
    /// Updates beyond one a message, in the open bucket.
    more: u64,
}

impl<L: TxLane> RingGroup<L> {
    /// A group for messages of `width` bytes over these lanes, one a destination.
    pub fn new(lanes: L, destinations: &[Destination], width: u16) -> Self {
        let ring = |&destination: &Destination| {
            let open = Bucket::none();
            Ring { destination, open, is_open: false, is_ended: false, more: 0 }
        };
        let rings = destinations.iter().map(ring).collect();
        Self { lanes, rings, width, iteration: 0, waits: 0 }
    }

    /// Messages have another width from now on.
    ///
    /// # Panics
    /// If a bucket is open: widths change between iterations.
    pub fn set_width(&mut self, width: u16) {
        assert!(self.rings.iter().all(|ring| !ring.is_open), "a bucket has messages of one width");
        self.width = width;
    }

    /// Sends one message, which is one update.
    ///
    /// # Errors
    /// If the lane fails.
    ///
    /// # Panics
    /// If the group is for messages of another width.
    #[inline(always)]
    pub fn send<const WIDTH: usize>(
        &mut self,
        to: usize,
        message: &[u8; WIDTH],
    ) -> Result<(), LaneError> {
        debug_assert_eq!(WIDTH, usize::from(self.width));
        if self.rings[to].open.push(message) {
            return Ok(());
        }
        self.turn(to)?.push(message);
        Ok(())
    }

    /// Room for at least one message, in the bucket that travels. `filled` says how much of it was
    /// used.
    ///
    /// # Errors
    /// If the lane fails.
    #[inline]
    pub fn room(&mut self, to: usize) -> Result<&mut [u8], LaneError> {
        let width = usize::from(self.width);
        if self.rings[to].open.room(width).is_empty() {
            self.turn(to)?;
        }
        Ok(self.rings[to].open.room(width))
    }

    /// The first `bytes` of the room are messages, which stand for `updates` updates.
    ///
    /// # Panics
    /// If there was less room.
    pub fn filled(&mut self, to: usize, bytes: usize, updates: u64) {
        let ring = &mut self.rings[to];
        ring.open.advance(bytes);
        ring.more += updates - (bytes / usize::from(self.width)) as u64;
    }

    /// Messages of this iteration stand for `updates` updates more than was said.
    pub fn stand_for(&mut self, to: usize, updates: u64) {
        self.rings[to].more += updates;
    }

    /// Sends one message of any length, in linked buckets if one is too short for it. The other end
    /// puts it together with `Joined`.
    ///
    /// # Errors
    /// If the lane fails.
    pub fn send_long(&mut self, to: usize, message: &[u8]) -> Result<(), LaneError> {
        self.flush(to, false)?;
        let (mut rest, mut part) = (message, 0);
        loop {
            let mut bucket = self.wait_for(to)?;
            while !rest.is_empty() {
                let room = bucket.room(1);
                if room.is_empty() {
                    break;
                }
                let bytes = room.len().min(rest.len());
                room[..bytes].copy_from_slice(&rest[..bytes]);
                bucket.advance(bytes);
                rest = &rest[bytes..];
            }
            bucket.header.width = 0;
            bucket.header.part = part;
            bucket.header.linked = !rest.is_empty();
            bucket.header.updates = u64::from(rest.is_empty());
            self.lanes.commit(to, bucket)?;
            part += 1;
            if rest.is_empty() {
                return Ok(());
            }
        }
    }

    /// Ends the iteration: the open buckets go out, marked as the last ones. An iteration without
    /// messages sends an empty one.
    ///
    /// # Errors
    /// If the lane fails.
    pub fn end_iteration(&mut self) -> Result<(), LaneError> {
        (0..self.rings.len()).try_for_each(|to| self.end_ring(to))?;
        self.rings.iter_mut().for_each(|ring| ring.is_ended = false);
        self.iteration += 1;
        Ok(())
    }

    /// Ends the iteration of one ring, as [`Self::end_iteration`] does of those that are left: what
    /// folds there may be done with it while messages are written to others.
    ///
    /// # Errors
    /// If the lane fails.
    pub fn end_ring(&mut self, to: usize) -> Result<(), LaneError> {
        if self.rings[to].is_ended {
            return Ok(());
        }
        if !self.rings[to].is_open {
            self.turn(to)?;
        }
        self.flush(to, true)?;
        self.rings[to].is_ended = true;
        Ok(())
    }

    /// Does what waits on all lanes.
    ///
    /// # Errors
    /// If the other end of a lane is gone, or does not answer.
    pub fn poll(&mut self) -> Result<(), LaneError> {
        self.lanes.poll()
    }

    /// Polls until all that was sent has arrived.
    ///
    /// # Errors
    /// If the lane fails.
    pub fn drain(&mut self) -> Result<(), LaneError> {
        let mut patience = Patience::default();
        while !self.lanes.is_idle() {
            self.lanes.poll()?;
            patience.wait_unless(false);
        }
        Ok(())
    }

    /// Number of times that a ring had no bucket: 0 says that rings are large enough.
    pub fn waits(&self) -> u64 {
        self.waits
    }

    /// The lanes.
    pub fn lanes_mut(&mut self) -> &mut L {
        &mut self.lanes
    }

    /// Sends the open bucket, and opens the next one.
    #[cold]
    #[inline(never)]
    fn turn(&mut self, to: usize) -> Result<&mut Bucket, LaneError> {
        self.flush(to, false)?;
        let next = self.wait_for(to)?;
        let ring = &mut self.rings[to];
        (ring.open, ring.is_open) = (next, true);
        Ok(&mut ring.open)
    }

    fn flush(&mut self, to: usize, last: bool) -> Result<(), LaneError> {
        let ring = &mut self.rings[to];
        if !std::mem::take(&mut ring.is_open) {
            return Ok(());
        }
        let mut bucket = std::mem::replace(&mut ring.open, Bucket::none());
        bucket.header.updates = (bucket.message_bytes() / usize::from(self.width)) as u64
            + std::mem::take(&mut ring.more);
        bucket.header.last = last;
        self.lanes.commit(to, bucket)
    }

    fn wait_for(&mut self, to: usize) -> Result<Bucket, LaneError> {
        assert!(!self.rings[to].is_ended, "nothing follows the last bucket of an iteration");
        let mut patience = Patience::default();
        let mut bucket = loop {
            if let Some(bucket) = self.lanes.bucket(to) {
                break bucket;
            }
            self.waits += 1;
            self.lanes.poll()?;
            patience.wait_unless(false);
        };
        bucket.clear();
        bucket.header.width = self.width;
        bucket.header.group = bucket.home.0;
        bucket.header.iteration = self.iteration;
        bucket.header.sub_range = self.rings[to].destination.sub_range;
        Ok(bucket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bucket::Layout;

    /// Keeps what is committed; has `free` buckets at a time.
    struct Kept {
        free: usize,
        sent: Vec<(usize, Bucket)>,
    }

    impl TxLane for Kept {
        fn bucket(&mut self, _: usize) -> Option<Bucket> {
            self.free = self.free.checked_sub(1)?;
            Some(Bucket::new(Layout { segment_bytes: 144, segments: 2 }))
        }

        fn commit(&mut self, to: usize, mut bucket: Bucket) -> Result<(), LaneError> {
            bucket.seal_heads();
            self.sent.push((to, bucket));
            Ok(())
        }

        fn poll(&mut self) -> Result<(), LaneError> {
            self.free = 1;
            Ok(())
        }

        fn is_idle(&self) -> bool {
            true
        }
    }

    #[test]
    fn each_ring_keeps_its_order_and_ends_with_its_last_bucket() {
        let destinations =
            [Destination { rank: 1, sub_range: 0 }, Destination { rank: 1, sub_range: 7 }];
        let mut group = RingGroup::new(Kept { free: 2, sent: Vec::new() }, &destinations, 8);
        for number in 0..100_u64 {
            group.send((number % 2) as usize, &number.to_le_bytes()).unwrap();
        }
        group.end_iteration().unwrap();
        group.end_iteration().unwrap();
        assert!(group.waits() > 0);
        for to in 0..2 {
            let sent: Vec<&Bucket> =
                group.lanes.sent.iter().filter(|(at, _)| *at == to).map(|(_, b)| b).collect();
            let got: Vec<u64> = sent
                .iter()
                .flat_map(|b| b.view().messages::<8>())
                .map(|m| u64::from_le_bytes(*m))
                .collect();
            assert!(got.iter().copied().eq((0..100).filter(|n| n % 2 == to as u64)));
            let ends: Vec<u32> =
                sent.iter().filter(|b| b.header.last).map(|b| b.header.iteration).collect();
            assert_eq!(ends, [0, 1]);
            assert!(sent[sent.len() - 2].header.last && sent[sent.len() - 1].is_empty());
            assert_eq!(sent.iter().map(|b| b.header.updates).sum::<u64>(), 50);
            assert!(sent.iter().all(|b| b.header.sub_range == 7 * to as u16));
        }
    }

    #[test]
    fn a_ring_may_end_its_iteration_before_others() {
        let kept = Kept { free: 9, sent: Vec::new() };
        let mut group = RingGroup::new(kept, &[Destination::default(); 3], 8);
        for _ in 0..2 {
            group.send(0, &[1; 8]).unwrap();
            group.send(1, &[2; 8]).unwrap();
            group.end_ring(0).unwrap();
            group.end_ring(2).unwrap();
            let ends = |group: &RingGroup<Kept>, to: usize| {
                let sent = group.lanes.sent.iter().filter(|(at, _)| *at == to);
                let last = sent.filter(|(_, bucket)| bucket.header.last);
                last.map(|(_, bucket)| bucket.header.iteration).collect::<Vec<_>>()
            };
            let iteration = group.iteration;
            assert_eq!(ends(&group, 0), ends(&group, 2));
            assert_eq!(ends(&group, 0).last(), Some(&iteration));
            assert_eq!(ends(&group, 1).len(), iteration as usize, "it has not ended");
            group.send(1, &[3; 8]).unwrap();
            group.end_ring(0).unwrap();
            group.end_iteration().unwrap();
            assert!((0..3).all(|to| ends(&group, to) == (0..=iteration).collect::<Vec<_>>()));
        }
        let of = |to: usize| {
            let sent = group.lanes.sent.iter().filter(|(at, _)| *at == to);
            sent.map(|(_, bucket)| bucket.header.updates).sum::<u64>()
        };
        assert_eq!([of(0), of(1), of(2)], [2, 4, 0]);
    }

    #[test]
    fn runs_stand_for_the_updates_that_were_combined() {
        let mut group =
            RingGroup::new(Kept { free: 1, sent: Vec::new() }, &[Destination::default()], 16);
        let mut left = 100;
        while left > 0 {
            let room = group.room(0).unwrap();
            let messages = (room.len() / 16).min(left);
            room[..16 * messages].fill(9);
            group.filled(0, 16 * messages, 3 * messages as u64);
            left -= messages;
        }
        group.end_iteration().unwrap();
        let sent = &group.lanes.sent;
        assert_eq!(sent.iter().map(|(_, b)| b.view().messages::<16>().count()).sum::<usize>(), 100);
        assert_eq!(sent.iter().map(|(_, b)| b.header.updates).sum::<u64>(), 300);
    }

    #[test]
    fn long_messages_are_linked() {
        let mut group =
            RingGroup::new(Kept { free: 1, sent: Vec::new() }, &[Destination::default()], 8);
        let long: Vec<u8> = (0..1000).map(|i| (i % 251) as u8).collect();
        group.send(0, &[1; 8]).unwrap();
        group.send_long(0, &long).unwrap();
        group.end_iteration().unwrap();
        let sent = &group.lanes.sent[1..];
        let parts: Vec<&Bucket> =
            sent.iter().map(|(_, b)| b).filter(|b| b.header.width == 0).collect();
        let bytes: Vec<u8> =
            parts.iter().flat_map(|b| b.view().runs()).flatten().copied().collect();
        assert_eq!(bytes, long);
        assert!(parts.iter().enumerate().all(|(i, b)| b.header.part == i as u32));
        assert!(parts.iter().rev().skip(1).all(|b| b.header.linked) && parts.len() > 3);
    }
}
