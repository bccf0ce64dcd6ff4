//! Lanes over datagrams: connections to the peers of one thread, and one lower layer for all.
//!
//! ```text
//! commit -> number, heads, tag -> lower layer         kept by the connection, sent again as it was
//! arrive -> sender known? epoch? new? -> tag holds? -> acknowledgement heard -> folded, or held
//! ```
//!
//! Datagrams that come as one whole bucket are folded from the buffer that they were received in.
//! Only parts of a bucket, where some were lost or overtaken, are put together first ([`parts`]). A
//! bucket that is ahead of others is folded at once, unless it is further ahead than `early_max`,
//! the last one of an iteration, or part of a long message: such ones are kept until those before
//! them have come.
//!
//! **Invariant:** a bucket is folded once, after its tag was verified, and in its epoch; then it is
//! acknowledged. Tested by `each_bucket_is_folded_once_whatever_the_network_does`,
//! `planted_bugs_are_found` and `a_flipped_bit_never_reaches_a_fold`.
//!
//! [`parts`]: crate::parts

use std::collections::VecDeque;

use crate::arrivals::{Arrivals, EndpointCounts, Fold, OWN, Peer};
use crate::bucket::{Arrived, Bucket, Layout};
use crate::connection::{Bounds, Connection, Nanos};
use crate::datagrams::{Clock, Datagrams};
use crate::guard::{End, Guard, Protection, Secret};
use crate::header::{HEAD_BYTES, Header};
use crate::lane::{LaneError, RxLane, TxLane};
use crate::parts::Parts;
use crate::queues::Carrier;

/// Settings of an endpoint.
#[derive(Clone)]
pub struct EndpointSettings {
    /// Machine and lane of this end.
    pub here: End,
    /// Ends that it has connections with, in the order of the lower layer.
    pub peers: Vec<End>,
    /// Membership of the cluster.
    pub epoch: u32,
    /// Layout of the segments of buckets that are sent.
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

impl<D: Datagrams> Endpoint<D> {
    /// Connections over this lower layer.
    pub fn new(mut lower: D, settings: EndpointSettings) -> Self {
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
            free: (0..buckets).map(|_| own_bucket(&mut lower, layout, index)).collect(),
            parts: Parts::new(bounds.window, layout.segment_bytes),
            bare_number: 0,
        };
        let peers: Vec<Peer> = peers.into_iter().enumerate().map(peer).collect();
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
        let Self { lower, arriving, clock, epoch, bounds, peers, done, counts, .. } = self;
        let mut arrivals = Arrivals { epoch: *epoch, bounds: *bounds, peers, done, counts };
        // Bounded, so that a sender sees its own work while much arrives.
        for _ in 0..64 {
            let Some((came, segment_bytes)) = lower.receive_in_place(arriving)? else { break };
            arrivals.arrived(came, segment_bytes, now, &mut fold);
            now = clock.now();
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

    fn send_again(&mut self, to: usize, now: Nanos) -> Result<(), LaneError> {
        let peer = &mut self.peers[to];
        while let Some((index, bucket)) = peer.connection.due(now) {
            if !self.lower.send_bucket(to, bucket)? {
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
        self.lower.send_bucket(to, &mut self.bare)?;
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
        let went = self.lower.send_bucket(to, &mut bucket)?;
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

fn own_bucket(lower: &mut impl Datagrams, layout: Layout, ring: usize) -> Bucket {
    let mut bucket = lower.bucket(layout);
    bucket.home = (OWN, ring as u16);
    bucket
}

impl<D: Datagrams> TxLane for Endpoint<D> {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        let mut bucket = self.peers[to].free.pop()?;
        if bucket.is_held() {
            // The peer has it, but the device is not done with it. Its memory goes back later.
            bucket = own_bucket(&mut self.lower, bucket.layout(), to);
        }
        Some(bucket)
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
