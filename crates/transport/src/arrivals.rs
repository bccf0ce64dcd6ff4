//! Arrivals at an endpoint: from datagrams to folded buckets.
//!
//! ```text
//! datagrams -> one whole bucket, or parts that are put together -> sender known? epoch? new?
//!           -> tag holds? -> acknowledgement heard -> folded, or held until others have come
//! ```
//!
//! Bytes are borrowed from the lower layer, and this is all of an endpoint but that layer.
//!
//! **Invariant:** a bucket is folded before its number counts as received, or is kept for later.
//! Tested by `planted_bugs_are_found`.

use std::collections::VecDeque;

use crate::bucket::{Arrived, Bucket};
use crate::connection::{Admission, Bounds, Connection, Nanos};
use crate::guard::{End, Guard};
use crate::header::{Header, SegmentHead};
use crate::parts::Parts;

/// Group of the buckets that an endpoint has of its own.
pub(crate) const OWN: u16 = u16::MAX;

/// Folds one bucket.
pub(crate) type Fold<'a> = dyn FnMut(&Arrived<'_>) + 'a;

/// Counts of an endpoint, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounts {
    /// Buckets that were sent, each once.
    pub sent: u64,
    /// Buckets that were sent again.
    pub resent: u64,
    /// Acknowledgements that were sent alone.
    pub bare: u64,
    /// Buckets that were folded.
    pub folded: u64,
    /// Buckets that came again.
    pub repeated: u64,
    /// Buckets that waited for others.
    pub held: u64,
    /// Buckets that came in parts.
    pub in_parts: u64,
    /// Buckets whose tag did not hold.
    pub forged: u64,
    /// Datagrams of no sender, or of another epoch.
    pub foreign: u64,
}

/// A peer of an endpoint.
pub(crate) struct Peer {
    pub(crate) end: End,
    pub(crate) connection: Connection<Bucket>,
    pub(crate) guard: Guard,
    /// Buckets that wait for the window.
    pub(crate) backlog: VecDeque<Bucket>,
    /// Own buckets, empty.
    pub(crate) free: Vec<Bucket>,
    pub(crate) parts: Parts,
    pub(crate) bare_number: u64,
}

/// The receiving side of an endpoint, without its lower layer.
pub(crate) struct Arrivals<'a> {
    pub(crate) epoch: u32,
    pub(crate) bounds: Bounds,
    pub(crate) peers: &'a mut [Peer],
    /// Buckets of others that have arrived.
    pub(crate) done: &'a mut VecDeque<Bucket>,
    pub(crate) counts: &'a mut EndpointCounts,
}

impl Arrivals<'_> {
    /// Datagrams side by side, all of `segment_bytes` but the last.
    pub(crate) fn arrived(
        &mut self,
        came: &mut [u8],
        segment_bytes: usize,
        now: Nanos,
        fold: &mut Option<&mut Fold<'_>>,
    ) {
        let is_one = Header::read(came).is_some_and(|header| {
            header.end as usize == came.len() && header.segment as usize >= segment_bytes
        });
        if is_one {
            self.whole(came, now, fold);
        } else {
            for segment in came.chunks_mut(segment_bytes.max(1)) {
                let is_whole = Header::read(segment)
                    .is_some_and(|header| header.end as usize == segment.len());
                if is_whole {
                    self.whole(segment, now, fold);
                } else {
                    self.part(segment, now, fold);
                }
            }
        }
    }

    /// Index of the peer that this segment is of, if it is of this epoch.
    fn peer_of(&mut self, head: SegmentHead) -> Option<usize> {
        let end = (head.rank, head.lane);
        let is_current = head.epoch == self.epoch as u16;
        #[cfg(test)]
        let is_current = is_current || self.bounds.has(crate::connection::Bug::StaleEpoch);
        let found = self.peers.iter().position(|peer| peer.end == end).filter(|_| is_current);
        self.counts.foreign += u64::from(found.is_none());
        found
    }

    /// Part of a bucket: the bucket is whole when all parts are there.
    fn part(&mut self, segment: &[u8], now: Nanos, fold: &mut Option<&mut Fold<'_>>) {
        let Some(head) = SegmentHead::read(segment) else {
            self.counts.foreign += 1;
            return;
        };
        let Some(from) = self.peer_of(head) else { return };
        match self.peers[from].connection.admit(head.number) {
            Admission::New => {}
            Admission::Repeated => return self.peers[from].connection.owe(now),
            Admission::TooFar => return,
        }
        if let Some(mut image) = self.peers[from].parts.add(head, segment) {
            self.counts.in_parts += 1;
            self.whole(&mut image, now, fold);
            self.peers[from].parts.give_back(image);
        }
    }

    fn whole(&mut self, image: &mut [u8], now: Nanos, fold: &mut Option<&mut Fold<'_>>) {
        let Some(header) = Header::read(image) else { return };
        let Some(from) = self.peer_of(header.segment_head(0)) else { return };
        let peer = &mut self.peers[from];
        if !header.bare {
            match peer.connection.admit(header.number) {
                Admission::New => {}
                Admission::Repeated => {
                    self.counts.repeated += 1;
                    return peer.connection.owe(now);
                }
                Admission::TooFar => return,
            }
        }
        #[cfg(test)]
        if self.bounds.has(crate::connection::Bug::AckBeforeFold) && !header.bare {
            peer.connection.take(now, header.number);
        }
        let holds = peer.guard.open(image);
        #[cfg(test)]
        let holds = holds || self.bounds.has(crate::connection::Bug::NoTag);
        let is_current = header.epoch == self.epoch;
        #[cfg(test)]
        let is_current = is_current || self.bounds.has(crate::connection::Bug::StaleEpoch);
        let Some(arrived) = Arrived::open(image).filter(|_| holds && is_current) else {
            self.counts.forged += 1;
            return;
        };
        let (free, done) = (&mut peer.free, &mut *self.done);
        peer.connection.hear(now, header.ack, &mut |bucket: Bucket| {
            if bucket.home.0 == OWN { free.push(bucket) } else { done.push_back(bucket) }
        });
        let Some(fold) = fold else { return };
        if header.bare {
            return;
        }
        let ahead = header.number.saturating_sub(peer.connection.received().received + 1);
        let in_order = header.last || header.width == 0;
        #[cfg(test)]
        let in_order = in_order && !self.bounds.has(crate::connection::Bug::LastAtOnce);
        if ahead > self.bounds.early_max || (in_order && ahead > 0) {
            if peer.parts.hold(header.number, image) {
                peer.connection.take(now, header.number);
                peer.parts.forget(header.number);
                self.counts.held += 1;
            }
            return;
        }
        fold(&arrived);
        peer.connection.take(now, header.number);
        peer.parts.forget(header.number);
        self.counts.folded += 1;
        self.fold_held(from, &mut **fold);
    }

    /// Folds buckets that were kept, once all before them have come.
    fn fold_held(&mut self, from: usize, fold: &mut Fold<'_>) {
        let peer = &mut self.peers[from];
        while let Some(image) = peer.parts.next_held(peer.connection.received().received) {
            if let Some(arrived) = Arrived::open(&image) {
                fold(&arrived);
                self.counts.folded += 1;
            }
            peer.parts.give_back(image);
        }
    }
}
