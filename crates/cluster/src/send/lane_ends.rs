//! Ends of the lanes of a machine's threads: those by which one sends, and those at which another
//! one receives, of other machines and of its own.
//!
//! **Invariant:** datagrams that are of no machine are counted, and no more becomes of them.
//! Checked in `Rx::drop`, `Tx::drop` and `SenderThread::drop`. Tested by
//! `datagrams_of_strangers_are_counted`.

use std::sync::Arc;

#[cfg(feature = "dpdk")]
use welter_transport::dpdk::Cables;
use welter_transport::{
    Arrived, Bucket, Endpoint, Faulty, LaneError, MemoryRx, MemoryTx, RxLane, SharedRx, TcpRx,
    TxLane, Udp,
};

use super::ending::Ending;
use super::outward::{SendPath, foreign};
use super::position::MachinePosition;
use crate::links::counts::{Counted, Counts};

/// Lanes of a computation thread, by the number of the sub-range that they lead to.
pub(super) struct Tx {
    pub(super) place: MachinePosition,
    pub(super) own: MemoryTx,
    pub(super) away: SendPath,
    pub(super) ending: Ending,
    pub(super) counts: Arc<Counts>,
}

impl Drop for Tx {
    fn drop(&mut self) {
        self.counts.add(Counted::Stranger, self.away.strangers());
    }
}

impl Tx {
    /// The lane to a sub-range, and its number there.
    fn lane(&mut self, to: usize) -> (&mut dyn TxLane, usize) {
        let MachinePosition { rank, machines, .. } = self.place;
        let (of, at) = (to % machines, to / machines);
        if of == rank {
            return (&mut self.own, at);
        }
        // Of others, in their order, without those of this machine.
        let others = at * (machines - 1) + of - usize::from(of > rank);
        (self.away.lanes(), others)
    }
}

impl TxLane for Tx {
    fn bucket(&mut self, to: usize) -> Option<Bucket> {
        let (lanes, at) = self.lane(to);
        lanes.bucket(at)
    }

    fn commit(&mut self, to: usize, bucket: Bucket) -> Result<(), LaneError> {
        let (lanes, at) = self.lane(to);
        lanes.commit(at, bucket)
    }

    fn poll(&mut self) -> Result<(), LaneError> {
        if self.ending.is_set() {
            return Err(LaneError::Closed(0));
        }
        self.own.poll()?;
        self.away.lanes().poll()
    }

    fn is_idle(&self) -> bool {
        self.own.is_idle() && self.away.has_arrived()
    }
}

/// Ways from other machines.
pub(super) enum Inward {
    Tcp(TcpRx),
    Udp(Box<Endpoint<Faulty<Udp>>>),
    Shared(SharedRx),
    #[cfg(feature = "dpdk")]
    Dpdk(Box<Endpoint<Faulty<Cables>>>),
}

/// Lanes of an accumulator thread.
pub(super) struct Rx {
    pub(super) own: MemoryRx,
    pub(super) others: Inward,
    pub(super) ending: Ending,
    pub(super) counts: Arc<Counts>,
}

impl Inward {
    /// Datagrams that were of no machine.
    fn strangers(&self) -> u64 {
        match self {
            Self::Udp(lanes) => foreign(lanes.counts()),
            Self::Tcp(_) | Self::Shared(_) => 0,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(lanes) => foreign(lanes.counts()),
        }
    }
}

impl Drop for Rx {
    fn drop(&mut self) {
        self.counts.add(Counted::Stranger, self.others.strangers());
    }
}

impl RxLane for Rx {
    fn poll(&mut self, fold: &mut dyn FnMut(&Arrived<'_>)) -> Result<usize, LaneError> {
        if self.ending.is_set() {
            return Err(LaneError::Closed(0));
        }
        let own = self.own.poll(fold)?;
        let others = match &mut self.others {
            Inward::Tcp(lanes) => lanes.poll(fold),
            Inward::Udp(lanes) => RxLane::poll(&mut **lanes, fold),
            Inward::Shared(lanes) => lanes.poll(fold),
            #[cfg(feature = "dpdk")]
            Inward::Dpdk(lanes) => RxLane::poll(&mut **lanes, fold),
        };
        others.map(|others| own + others)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::time::{Duration, Instant};

    use welter_transport::{
        Bounds, Clock, EndpointSettings, Layout, Protection, Secret, memory_lanes,
    };

    use super::*;

    #[test]
    fn datagrams_of_strangers_are_counted() {
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        let mut socket = Udp::bind(at).unwrap();
        let address = socket.address().unwrap();
        socket.set_peers(vec![address]);
        let settings = EndpointSettings {
            here: (0, 1),
            peers: vec![(1, 0)],
            epoch: 1,
            layout: Layout::ETHERNET,
            buckets: 0,
            bounds: Bounds::of_rings(8),
            protection: Protection::Sealed,
            secret: Secret::new([7; 32]),
            clock: Clock::real(),
        };
        let lanes = Endpoint::new(Faulty::new(socket, None, 0), settings);
        let (_own, mut received) = memory_lanes(1, 1, 4, Layout::WHOLE);
        let counts = Arc::new(Counts::default());
        let mut rx = Rx {
            own: received.remove(0),
            others: Inward::Udp(Box::new(lanes)),
            ending: Ending::default(),
            counts: counts.clone(),
        };
        let stranger = UdpSocket::bind(at).unwrap();
        for _ in 0..3 {
            stranger.send_to(&[b'x'; 700], address).unwrap();
        }
        let until = Instant::now() + Duration::from_mins(1);
        while rx.others.strangers() < 3 {
            assert!(Instant::now() < until, "{} came", rx.others.strangers());
            rx.poll(&mut |_| unreachable!("it is of no machine")).unwrap();
        }
        drop(rx);
        assert_eq!(counts.strangers(), 3);
    }
}
