//! Lanes over datagrams: connections to the peers of one thread, and one lower layer for all.
//!
//! ```text
//! commit -> number, heads, tag -> lower layer         kept by the connection, sent again as it was
//! arrive -> sender known? epoch? new? -> tag holds? -> acknowledgement heard -> folded, or held
//! ```
//!
//! Datagrams that come as one whole bucket are folded from the buffer that they were received in.
//! Only parts of a bucket, where some were lost or overtaken, are put together first ([`parts`]).
//! A bucket that is ahead of others is folded at once, unless it is further ahead than `early_max`,
//! the last one of an iteration, or part of a long message: such ones are held until those before
//! them have come.
//!
//! **Invariant:** a bucket is folded once, after its tag held, and in its epoch; then it is
//! acknowledged. Tested by `each_bucket_is_folded_once_whatever_the_network_does`,
//! `planted_bugs_are_found` and `a_flipped_bit_never_reaches_a_fold`.
//!
//! [`parts`]: crate::parts

use std::collections::VecDeque;

use crate::bucket::{Arrived, Bucket, Layout};
use crate::connection::{Admission, Bounds, Connection, Nanos};
use crate::datagrams::{Clock, Datagrams};
use crate::guard::{End, Guard, Protection, Secret};
use crate::header::{HEAD_BYTES, Header, SegmentHead};
use crate::lane::{LaneError, RxLane, TxLane};
use crate::parts::Parts;
use crate::queues::Carrier;

/// Group of the buckets that an endpoint has of its own.
const OWN: u16 = u16::MAX;

/// Settings of an endpoint.
#[derive(Clone)]
pub struct EndpointSettings {
    /// Machine and lane of this end.
    pub here: End,
    /// Ends that it has connections with, in the order of the lower layer.
    pub peers: Vec<End>,
    /// Membership of the cluster.
    pub epoch: u32,
    /// How buckets that are sent are segmented.
    pub layout: Layout,
    /// Buckets of each ring, where workers send for themselves; 0 if they do not.
    pub buckets: usize,
    /// Settings of the connections.
    pub bounds: Bounds,
    /// Protection of buckets.
    pub protection: Protection,
    /// Secret of the run.
    pub secret: Secret,
    /// Time.
    pub clock: Clock,
}

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
    /// Datagrams of nobody, or of another epoch.
    pub foreign: u64,
}

/// Connections of one thread.
pub struct Endpoint<D> {
    lower: D,
    here: End,
    epoch: u32,
    clock: Clock,
    bounds: Bounds,
    peers: Vec<Peer>,
    /// Bytes that are received, until they are folded.
    arriving: Vec<u8>,
    bare: Bucket,
    /// Buckets of others that have arrived.
    done: VecDeque<Bucket>,
    counts: EndpointCounts,
}

struct Peer {
    end: End,
    connection: Connection<Bucket>,
    guard: Guard,
    /// Buckets that wait for the window.
    backlog: VecDeque<Bucket>,
    /// Own buckets, empty.
    free: Vec<Bucket>,
    parts: Parts,
    bare_number: u64,
}

type Fold<'a> = dyn FnMut(&Arrived<'_>) + 'a;

impl<D: Datagrams> Endpoint<D> {
    /// Connections over this lower layer.
    pub fn new(lower: D, settings: EndpointSettings) -> Self {
        let EndpointSettings {
            here,
            peers,
            epoch,
            layout,
            buckets,
            bounds,
            protection,
            secret,
            clock,
        } = settings;
        let peer = |(index, end): (usize, End)| Peer {
            end,
            connection: Connection::new(bounds),
            guard: Guard::new(protection, &secret, here, end, epoch),
            backlog: VecDeque::with_capacity(buckets),
            free: (0..buckets).map(|_| own_bucket(layout, index)).collect(),
            parts: Parts::new(bounds.window, layout.segment_bytes),
            bare_number: 0,
        };
        let peers = peers.into_iter().enumerate().map(peer).collect();
        let bare = Bucket::new(Layout { segment_bytes: HEAD_BYTES + 64, segments: 1 });
        let arriving = vec![0; ARRIVING_BYTES];
        let (counts, done) = (EndpointCounts::default(), VecDeque::new());
        Self { lower, here, epoch, clock, bounds, peers, arriving, bare, done, counts }
    }

    /// Counts so far.
    pub fn counts(&self) -> EndpointCounts {
        self.counts
    }

    /// The lower layer.
    pub fn lower_mut(&mut self) -> &mut D {
        &mut self.lower
    }

    /// Receives, folds if there is something to fold with, acknowledges and sends again.
    fn poll_with(&mut self, mut fold: Option<&mut Fold<'_>>) -> Result<usize, LaneError> {
        let before = self.counts.folded;
        let mut now = self.clock.now();
        // Bounded, so that a sender sees its own work while much arrives.
        for _ in 0..64 {
            let Some(came) = self.lower.receive(&mut self.arriving)? else { break };
            self.arrived(came.bytes, came.segment_bytes, now, &mut fold);
            now = self.clock.now();
        }
        for to in 0..self.peers.len() {
            self.send_again(to, now)?;
            self.send_backlog(to, now)?;
            self.acknowledge(to, now)?;
            if let Some(silence) = self.peers[to].connection.silence(now) {
                let (rank, lane) = self.peers[to].end;
                return Err(LaneError::Silent { rank, lane, millis: silence / 1_000_000 });
            }
        }
        Ok((self.counts.folded - before) as usize)
    }

    fn arrived(
        &mut self,
        bytes: usize,
        segment_bytes: usize,
        now: Nanos,
        fold: &mut Option<&mut Fold<'_>>,
    ) {
        let mut arriving = std::mem::take(&mut self.arriving);
        let came = &mut arriving[..bytes];
        let is_one = Header::read(came).is_some_and(|header| {
            header.end as usize == bytes && header.segment as usize >= segment_bytes
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
        self.arriving = arriving;
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
        let (free, done) = (&mut peer.free, &mut self.done);
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

    /// Folds held buckets that all before them have come of.
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

    fn send_again(&mut self, to: usize, now: Nanos) -> Result<(), LaneError> {
        let peer = &mut self.peers[to];
        while let Some((index, bucket)) = peer.connection.due(now) {
            if !self.lower.send(to, bucket.image(), bucket.layout().segment_bytes)? {
                break;
            }
            peer.connection.resent(index, now);
            self.counts.resent += 1;
        }
        Ok(())
    }

    fn send_backlog(&mut self, to: usize, now: Nanos) -> Result<(), LaneError> {
        while self.peers[to].connection.is_open() {
            let Some(bucket) = self.peers[to].backlog.pop_front() else { break };
            self.transmit(to, bucket, now)?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, to: usize, now: Nanos) -> Result<(), LaneError> {
        let peer = &mut self.peers[to];
        if !peer.connection.owes(now) {
            return Ok(());
        }
        peer.bare_number += 1;
        self.bare.clear();
        let (rank, lane) = self.here;
        let ack = peer.connection.acknowledge();
        self.bare.header = Header {
            rank,
            lane,
            epoch: self.epoch,
            number: peer.bare_number,
            ack,
            ..Header::default()
        };
        self.bare.header.bare = true;
        self.bare.header.sealed = peer.guard.seals();
        self.bare.seal_heads();
        peer.guard.seal(self.bare.image_mut());
        self.counts.bare += 1;
        // One that finds no room is lost, as one on the network may be.
        self.lower.send(to, self.bare.image(), self.bare.layout().segment_bytes)?;
        Ok(())
    }

    fn transmit(&mut self, to: usize, mut bucket: Bucket, now: Nanos) -> Result<(), LaneError> {
        let peer = &mut self.peers[to];
        let header = &mut bucket.header;
        (header.rank, header.lane) = self.here;
        header.epoch = self.epoch;
        header.number = peer.connection.next_number();
        header.ack = peer.connection.acknowledge();
        header.sealed = peer.guard.seals();
        bucket.seal_heads();
        peer.guard.seal(bucket.image_mut());
        let went = self.lower.send(to, bucket.image(), bucket.layout().segment_bytes)?;
        peer.connection.keep(now, bucket, went);
        self.counts.sent += 1;
        Ok(())
    }

    fn has_arrived(&self) -> bool {
        self.peers.iter().all(|peer| peer.connection.is_idle() && peer.backlog.is_empty())
    }
}

/// Room for what the kernel gives at once.
const ARRIVING_BYTES: usize = 64 << 10;

fn own_bucket(layout: Layout, ring: usize) -> Bucket {
    let mut bucket = Bucket::new(layout);
    bucket.home = (OWN, ring as u16);
    bucket
}

impl<D: Datagrams> TxLane for Endpoint<D> {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        self.peers[to].free.pop()
    }

    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError> {
        if self.peers[to].connection.is_open() && self.peers[to].backlog.is_empty() {
            return self.transmit(to, bucket, self.clock.now());
        }
        self.peers[to].backlog.push_back(bucket);
        Ok(())
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        self.poll_with(None).map(|_| ())
    }

    fn is_idle(&self) -> bool {
        self.has_arrived()
    }
}

impl<D: Datagrams> Carrier for Endpoint<D> {
    fn carry(&mut self, to: usize, bucket: Bucket) -> Result<Option<Bucket>, LaneError> {
        if !self.peers[to].connection.is_open() {
            return Ok(Some(bucket));
        }
        self.transmit(to, bucket, self.clock.now()).map(|()| None)
    }

    fn done(&mut self) -> Option<Bucket> {
        self.done.pop_front()
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        self.poll_with(None).map(|_| ())
    }

    fn is_idle(&self) -> bool {
        self.has_arrived()
    }
}

impl<D: Datagrams> RxLane for Endpoint<D> {
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError> {
        self.poll_with(Some(fold))
    }
}

#[cfg(test)]
mod tests;
