//! Lanes between threads of one process: the bucket itself goes over, and comes back empty.
//!
//! For destinations of the own machine, which are sub-ranges like others, so that no two threads
//! touch one accumulator. Buckets name their thread in place of a machine, and a ring group that
//! no other lanes have, so that parts of long messages are none of another machine's.
//!
//! **Invariant:** each bucket is folded once, in the order of its lane. Asserted in
//! `MemoryRx::poll`.

use crate::bucket::{Arrived, Bucket, Layout};
use crate::lane::{LaneError, RxLane, TxLane};
use crate::queues::{Queued, Served, queues};

/// Ring group of these buckets.
const GROUP: u16 = u16::MAX - 1;

/// Sending ends, one bucket ring a destination.
pub struct MemoryTx {
    lanes: Vec<Queued>,
    numbers: Vec<u64>,
    rank: u16,
}

/// Receiving ends, one a source.
#[derive(Default)]
pub struct MemoryRx {
    lanes: Vec<(Served, u64)>,
}

/// Lanes from each of `sources` threads to each of `sinks`, with `buckets` buckets a ring.
pub fn memory_lanes(
    sources: usize,
    sinks: usize,
    buckets: usize,
    layout: Layout,
) -> (Vec<MemoryTx>, Vec<MemoryRx>) {
    let mut receivers: Vec<MemoryRx> = (0..sinks).map(|_| MemoryRx::default()).collect();
    let mut lanes_of = |rank| {
        let lane = |receiver: &mut MemoryRx| {
            let (queued, served) = queues(GROUP, 1, buckets, layout);
            receiver.lanes.push((served, 0));
            queued
        };
        let lanes = receivers.iter_mut().map(lane).collect();
        MemoryTx { lanes, numbers: vec![0; sinks], rank }
    };
    let senders = (0..sources as u16).map(&mut lanes_of).collect();
    (senders, receivers)
}

impl TxLane for MemoryTx {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        self.lanes[to].bucket(0)
    }

    fn commit(&mut self, to: usize, mut bucket: Bucket) -> Result<(), LaneError> {
        self.numbers[to] += 1;
        bucket.header.number = self.numbers[to];
        bucket.header.rank = self.rank;
        self.lanes[to].commit(0, bucket).map_err(|_| LaneError::Closed(to))
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        let closed = |to| move |_| LaneError::Closed(to);
        self.lanes.iter_mut().enumerate().try_for_each(|(to, lane)| lane.poll().map_err(closed(to)))
    }

    fn is_idle(&self) -> bool {
        self.lanes.iter().all(TxLane::is_idle)
    }
}

impl RxLane for MemoryRx {
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError> {
        let mut folded = 0;
        for (served, number) in &mut self.lanes {
            while let Some((_, bucket)) = served.pop() {
                *number += 1;
                assert_eq!(bucket.header.number, *number, "a queue keeps its order");
                fold(&bucket.view());
                served.give_back(bucket);
                folded += 1;
            }
        }
        Ok(folded)
    }
}
