//! Descriptor queues between workers and the threads that send for them.
//!
//! ```text
//! worker   ring group --full buckets--> descriptor queue --+--> sender thread --> its lanes
//!             ^                                            |       (serves several groups)
//!             +------- empty buckets, a queue a group <----+
//! ```
//!
//! A descriptor is the bucket itself, which is a pointer with its length: handing it over copies
//! nothing, and it comes back when the lane has no more use for its bytes. Queues have one producer
//! and one consumer and no lock ([`rtrb`]), and room for all buckets of a group, so a push cannot
//! fail while the other end is there. Buckets are made here, once.
//!
//! **Invariant:** a group has as many buckets at the end as at the beginning. Tested by
//! `buckets_circulate`.

use rtrb::{Consumer, Producer, RingBuffer};

use crate::bucket::{Bucket, Layout};
use crate::lane::{LaneError, TxLane};
use crate::patience::Patience;

/// A full bucket and its destination.
struct Descriptor {
    to: u16,
    bucket: Bucket,
}

/// End of the worker.
pub struct Queued {
    full: Producer<Descriptor>,
    empty: Consumer<Bucket>,
    /// Buckets of each ring that are here.
    free: Vec<Vec<Bucket>>,
    buckets: usize,
}

/// End of the sender thread.
pub struct Served {
    full: Consumer<Descriptor>,
    empty: Producer<Bucket>,
}

/// Queues for one group of `rings` rings with `buckets` buckets each. `group` is the number of the
/// group at its sender thread.
pub fn queues(group: u16, rings: u16, buckets: usize, layout: Layout) -> (Queued, Served) {
    let all = usize::from(rings) * buckets;
    let (full, full_out) = RingBuffer::new(all.max(1));
    let (empty, empty_out) = RingBuffer::new(all.max(1));
    let ring = |ring: u16| {
        let bucket = || {
            let mut bucket = Bucket::new(layout);
            bucket.home = (group, ring);
            bucket
        };
        std::iter::repeat_with(bucket).take(buckets).collect()
    };
    let free = (0..rings).map(ring).collect();
    let queued = Queued { full, empty: empty_out, free, buckets: all };
    (queued, Served { full: full_out, empty })
}

impl Queued {
    fn take_back(&mut self) {
        while let Ok(bucket) = self.empty.pop() {
            self.free[usize::from(bucket.home.1)].push(bucket);
        }
    }
}

impl TxLane for Queued {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        if self.free[to].is_empty() {
            self.take_back();
        }
        self.free[to].pop()
    }

    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError> {
        let descriptor = Descriptor { to: to as u16, bucket };
        self.full.push(descriptor).map_err(|_| LaneError::Closed(to))
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        self.take_back();
        // An end that has given all back before it went has lost nothing.
        let is_lost = self.full.is_abandoned() && !self.is_idle();
        if is_lost { Err(LaneError::Closed(0)) } else { Ok(()) }
    }

    fn is_idle(&self) -> bool {
        let here: usize = self.free.iter().map(Vec::len).sum();
        here + self.empty.slots() == self.buckets
    }
}

impl Served {
    /// The next full bucket and its destination.
    pub fn pop(&mut self) -> Option<(usize, Bucket)> {
        self.full.pop().ok().map(|descriptor| (usize::from(descriptor.to), descriptor.bucket))
    }

    /// Whether the worker is gone, and has left nothing.
    pub fn is_done(&self) -> bool {
        self.full.is_abandoned() && self.full.is_empty()
    }

    /// Gives a bucket back to its worker, or drops it where that is gone.
    pub fn give_back(&mut self, bucket: Bucket) {
        drop(self.empty.push(bucket));
    }
}

/// Lanes that send buckets of others, and give them back.
pub trait Carrier {
    /// Takes a bucket if there is room under way for it.
    ///
    /// # Errors
    /// If the other end is gone.
    fn carry(&mut self, to: usize, bucket: Bucket) -> Result<Option<Bucket>, LaneError>;

    /// A bucket whose bytes are of no more use.
    fn done(&mut self) -> Option<Bucket>;

    /// Does what waits.
    ///
    /// # Errors
    /// If the other end is gone, or does not answer.
    fn poll(&mut self) -> Result<(), LaneError>;

    /// Whether all buckets have arrived.
    fn is_idle(&self) -> bool;
}

/// A sender thread: several descriptor queues, and the lanes that it sends them by.
pub struct Sender<C> {
    lanes: C,
    served: Vec<Served>,
    /// Buckets that found no room, one a queue, so that each queue stays in order.
    waiting: Vec<Option<(usize, Bucket)>>,
}

impl<C: Carrier> Sender<C> {
    /// Serves these queues, in the order of their groups' numbers.
    pub fn new(lanes: C, served: Vec<Served>) -> Self {
        let waiting = served.iter().map(|_| None).collect();
        Self { lanes, served, waiting }
    }

    /// Sends all buckets that wait, and says how many.
    ///
    /// # Errors
    /// If a lane fails.
    pub fn poll(&mut self) -> Result<usize, LaneError> {
        let mut sent = 0;
        for (served, waiting) in self.served.iter_mut().zip(&mut self.waiting) {
            while let Some((to, bucket)) = waiting.take().or_else(|| served.pop()) {
                if let Some(back) = self.lanes.carry(to, bucket)? {
                    *waiting = Some((to, back));
                    break;
                }
                sent += 1;
            }
        }
        self.lanes.poll()?;
        while let Some(bucket) = self.lanes.done() {
            self.served[usize::from(bucket.home.0)].give_back(bucket);
        }
        Ok(sent)
    }

    /// Sends until all workers are gone and all they sent has arrived.
    ///
    /// # Errors
    /// If a lane fails.
    pub fn run(&mut self) -> Result<(), LaneError> {
        let mut patience = Patience::default();
        loop {
            let sent = self.poll()?;
            let is_done = self.served.iter().all(Served::is_done);
            if is_done && self.waiting.iter().all(Option::is_none) && self.lanes.is_idle() {
                return Ok(());
            }
            patience.wait_unless(sent > 0);
        }
    }

    /// The lanes.
    pub fn lanes_mut(&mut self) -> &mut C {
        &mut self.lanes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_circulate() {
        let (mut queued, mut served) = queues(0, 2, 3, Layout::DATAGRAM);
        for round in 0..10 {
            let to = round % 2;
            let buckets: Vec<Bucket> = std::iter::from_fn(|| queued.bucket(to)).collect();
            assert_eq!(buckets.len(), 3);
            assert!(!queued.is_idle());
            for bucket in buckets {
                queued.commit(to, bucket).unwrap();
            }
            while let Some((at, bucket)) = served.pop() {
                assert_eq!(at, to);
                served.give_back(bucket);
            }
            queued.poll().unwrap();
            assert!(queued.is_idle());
        }
        drop(served);
        queued.poll().unwrap();
        let _bucket = queued.bucket(0);
        assert!(matches!(queued.poll(), Err(LaneError::Closed(_))));
    }
}
