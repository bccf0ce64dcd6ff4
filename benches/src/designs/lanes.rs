//! The design of `BlitzG` and of route `send`: messages are written into the bucket that travels,
//! and folded from it.

use welter_transport::{
    Arrived, Destination, Layout, MemoryRx, MemoryTx, RingGroup, RxLane, memory_lanes,
};

use super::buffers::Outgoing;
use super::carriers::Incoming;
use super::program::Message;

/// Buckets of a ring, as route `send` has them.
const BUCKETS: usize = 4;

/// Rings of a worker.
pub(super) struct Rings(RingGroup<MemoryTx>);

impl Outgoing for Rings {
    #[inline(always)]
    fn put(&mut self, worker: usize, message: Message) {
        self.0.send(worker, &message).expect("lanes hold");
    }

    fn end(&mut self) {
        self.0.end_iteration().expect("lanes hold");
    }
}

/// Accumulator thread of a worker, which polls.
struct Polled {
    receiver: MemoryRx,
    workers: usize,
}

impl Incoming for Polled {
    fn superstep(&mut self, arrived: &mut dyn FnMut(&[Message])) {
        let mut left = self.workers;
        while left > 0 {
            let mut fold = |bucket: &Arrived<'_>| {
                bucket.runs().for_each(|run| arrived(run.as_chunks::<8>().0));
                left -= usize::from(bucket.header().last);
            };
            if self.receiver.poll(&mut fold).expect("lanes hold") == 0 {
                std::thread::yield_now();
            }
        }
    }
}

/// Rings from each worker to each.
pub(super) fn memory(workers: usize) -> Vec<(Rings, Box<dyn Incoming>)> {
    let (senders, receivers) = memory_lanes(workers, workers, BUCKETS, Layout::WHOLE);
    let to: Vec<Destination> =
        (0..workers as u16).map(|rank| Destination { rank, sub_range: 0 }).collect();
    let ends = |(sender, receiver): (MemoryTx, MemoryRx)| {
        let rings = Rings(RingGroup::new(sender, &to, size_of::<Message>() as u16));
        let polled: Box<dyn Incoming> = Box::new(Polled { receiver, workers });
        (rings, polled)
    };
    senders.into_iter().zip(receivers).map(ends).collect()
}
