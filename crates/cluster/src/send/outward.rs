//! Ways of a machine to others: lanes of its computation threads, or of sender threads that these
//! give their buckets to.
//!
//! ```text
//! without senders   computation thread ---------------------- lanes ----> accumulator threads
//! with senders      computation threads --descriptor queues-> sender ---> accumulator threads
//! ```
//!
//! A sender thread serves every `n`th computation thread, where there are `n` senders, and has
//! the only lanes: of each pair of machines there are fewer then. Buckets are those of the
//! computation threads, and are sent from where they were written, but over shared memory, where a
//! slot of a region has one writer: there the sender copies them.
//!
//! **Invariant:** each computation thread has one sender, and each of them a group of its own
//! there, so parts of long messages are told apart. Tested by `senders_serve_each_thread_once`.

use welter_transport::{
    Bucket, Carrier, Endpoint, EndpointCounts, Faulty, LaneError, Layout, Queued, Sender, SharedTx,
    TcpTx, TxLane, Udp, queues,
};

#[cfg(feature = "dpdk")]
use welter_transport::dpdk::Cables;

use super::position::MachinePosition;

/// Lanes of a thread to the accumulator threads of other machines.
pub(super) enum Outward {
    Tcp(TcpTx),
    Udp(Box<Endpoint<Faulty<Udp>>>),
    Shared(SharedTx),
    #[cfg(feature = "dpdk")]
    Dpdk(Box<Endpoint<Faulty<Cables>>>),
}

impl Outward {
    fn lanes(&mut self) -> &mut dyn TxLane {
        match self {
            Self::Tcp(lanes) => lanes,
            Self::Udp(lanes) => &mut **lanes,
            Self::Shared(lanes) => lanes,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(lanes) => &mut **lanes,
        }
    }

    fn carrier(&mut self) -> &mut dyn Carrier {
        match self {
            Self::Tcp(lanes) => lanes,
            Self::Udp(lanes) => &mut **lanes,
            Self::Shared(lanes) => lanes,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(lanes) => &mut **lanes,
        }
    }

    /// Whether all buckets have arrived.
    fn has_arrived(&self) -> bool {
        match self {
            Self::Tcp(lanes) => TxLane::is_idle(lanes),
            Self::Udp(lanes) => TxLane::is_idle(&**lanes),
            Self::Shared(lanes) => TxLane::is_idle(lanes),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(lanes) => TxLane::is_idle(&**lanes),
        }
    }

    /// Datagrams that were of no machine.
    pub(super) fn strangers(&self) -> u64 {
        match self {
            Self::Udp(lanes) => foreign(lanes.counts()),
            Self::Tcp(_) | Self::Shared(_) => 0,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(lanes) => foreign(lanes.counts()),
        }
    }
}

/// Datagrams of no sender or of another epoch, and buckets whose seal does not hold.
pub(super) fn foreign(counts: EndpointCounts) -> u64 {
    counts.foreign + counts.forged
}

impl Carrier for Outward {
    fn carry(&mut self, to: usize, bucket: Bucket) -> Result<Option<Bucket>, LaneError> {
        self.carrier().carry(to, bucket)
    }

    fn done(&mut self) -> Option<Bucket> {
        self.carrier().done()
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        self.carrier().poll()
    }

    fn is_idle(&self) -> bool {
        self.has_arrived()
    }
}

/// Path of the buckets of a computation thread to other machines.
pub(super) enum SendPath {
    /// Lanes of its own.
    Own(Outward),
    /// Queues to the sender thread that serves it.
    Served(Queued),
}

impl SendPath {
    pub(super) fn lanes(&mut self) -> &mut dyn TxLane {
        match self {
            Self::Own(lanes) => lanes.lanes(),
            Self::Served(queues) => queues,
        }
    }

    /// Whether all buckets have arrived.
    pub(super) fn has_arrived(&self) -> bool {
        match self {
            Self::Own(lanes) => lanes.has_arrived(),
            Self::Served(queues) => TxLane::is_idle(queues),
        }
    }

    /// Datagrams that were of no machine; a sender thread counts those at its lanes.
    pub(super) fn strangers(&self) -> u64 {
        match self {
            Self::Own(lanes) => lanes.strangers(),
            Self::Served(_) => 0,
        }
    }
}

/// Ways of all computation threads of a machine with these lanes, one for each thread that sends,
/// and its sender threads. Rings to them have `buckets` buckets of this layout.
pub(super) fn dealt(
    place: MachinePosition,
    lanes: Vec<Outward>,
    (buckets, layout): (usize, Layout),
) -> (Vec<SendPath>, Vec<Sender<Outward>>) {
    if place.senders == 0 {
        return (lanes.into_iter().map(SendPath::Own).collect(), Vec::new());
    }
    let rings = place.others().count() as u16;
    let mut served: Vec<Vec<_>> = lanes.iter().map(|_| Vec::new()).collect();
    let ways = (0..place.sub_ranges).map(|thread| {
        let of_sender = &mut served[thread % place.senders];
        let (queued, end) = queues(of_sender.len() as u16, rings, buckets, layout);
        of_sender.push(end);
        SendPath::Served(queued)
    });
    let ways = ways.collect();
    let senders = lanes.into_iter().zip(served);
    (ways, senders.map(|(lanes, served)| Sender::new(lanes, served)).collect())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use welter_transport::{Destination, RingGroup, RxLane, SharedRx};

    use super::*;

    #[test]
    fn senders_serve_each_thread_once() {
        for (sub_ranges, senders) in [(1, 1), (3, 2), (4, 1), (5, 5)] {
            let place = MachinePosition { rank: 0, machines: 2, sub_ranges, senders };
            let mut receivers: Vec<_> = (0..sub_ranges).map(|_| SharedRx::default()).collect();
            let sending = |thread| {
                let mut lanes = SharedTx::of((0, thread));
                for receiver in &mut receivers {
                    let file = lanes.create(2, Layout::DATAGRAM).unwrap();
                    let file = file.try_clone_to_owned().unwrap();
                    receiver.open(file, 2, Layout::DATAGRAM).unwrap();
                }
                Outward::Shared(lanes)
            };
            let lanes = (0..place.sending() as u16).map(sending).collect();
            let (ways, mut threads) = dealt(place, lanes, (2, Layout::DATAGRAM));
            assert_eq!((ways.len(), threads.len()), (sub_ranges, senders));
            let to = vec![Destination::default(); sub_ranges];
            let mut groups: Vec<_> = ways
                .into_iter()
                .map(|way| match way {
                    SendPath::Served(queued) => RingGroup::new(queued, &to, 8),
                    SendPath::Own(_) => panic!("a thread without a sender"),
                })
                .collect();
            for group in &mut groups {
                group.end_iteration().unwrap();
            }
            let mut found = vec![Vec::new(); sub_ranges];
            let until = Instant::now() + Duration::from_mins(1);
            while found.iter().any(|found| found.len() < sub_ranges) && Instant::now() < until {
                for sender in &mut threads {
                    sender.poll().unwrap();
                }
                for (found, receiver) in found.iter_mut().zip(&mut receivers) {
                    let mut take = |bucket: &welter_transport::Arrived<'_>| {
                        found.push((bucket.header().lane, bucket.header().group));
                    };
                    receiver.poll(&mut take).unwrap();
                }
            }
            for mut found in found {
                found.sort_unstable();
                let all = (0..sub_ranges).map(|at| ((at % senders) as u16, (at / senders) as u16));
                let mut all: Vec<_> = all.collect();
                all.sort_unstable();
                assert_eq!(found, all, "{sub_ranges} threads, {senders} senders");
            }
        }
    }
}
