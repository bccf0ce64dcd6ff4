//! The lanes of a machine: from each of its computation threads to each accumulator thread of the
//! cluster, by memory where both are its own.
//!
//! ```text
//! sub-range p           machine p mod m, its accumulator thread p / m
//! ends of a machine     0 .. e       computation threads, or sender threads (`outward`)
//!                       e .. e + s   accumulator threads
//! ```
//!
//! Machines send each other by the barrier the places where their ends are ([`Open::offer`]): a
//! port to connect to, ports of sockets, or descriptors of regions. The secret for seals comes the
//! same way, so it is as secret as the connections to rank 0 are.

use std::fs::OpenOptions;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use welter_transport::{
    Bounds, Clock, Datagrams, End, Endpoint, EndpointSettings, Faulty, Layout, Sender, SharedRx,
    SharedTx, StreamSettings, TcpRx, TcpTx, Udp, memory_lanes,
};

#[cfg(feature = "dpdk")]
use super::cards::{self, Cards};
use super::doors::{Common, accept, connect};
use super::ending::Ending;
use super::error::Stop;
use super::lane_ends::{Inward, Rx, Tx};
use super::outward::{Outward, dealt};
use super::position::{BUCKETS_OF_DATAGRAMS, MachinePosition};
use super::{Settings, Transport};
use crate::links::counts::Counts;

/// Source ports of a pair of machines, at least: clouds limit each, and cards spread by them.
const SOURCE_PORTS: usize = 8;

/// Source ports of a thread that sends, of which each pair of machines has several, each with
/// `sub_ranges` accumulator threads to send to.
fn source_ports(place: MachinePosition, at: IpAddr) -> usize {
    // A computer has no limit for itself.
    if at.is_loopback() { 1 } else { SOURCE_PORTS.div_ceil(place.sending() * place.sub_ranges) }
}

/// Buckets of a ring.
pub(super) const BUCKETS: usize = 4;

/// Bytes of a record in a bucket of several messages, at most: a first segment has room for one.
pub(super) fn short_bytes_max(settings: &Settings) -> usize {
    match settings.transport {
        Transport::Udp => 512,
        #[cfg(feature = "dpdk")]
        Transport::Dpdk if settings.card.is_some() => 1024,
        _ => 15 << 10,
    }
}

/// Buckets of a ring between machines, and their layout.
fn ring(settings: &Settings) -> (usize, Layout) {
    match settings.transport {
        Transport::Tcp | Transport::Shared => (BUCKETS, Layout::WHOLE),
        Transport::Udp => (BUCKETS_OF_DATAGRAMS, Layout::ETHERNET),
        #[cfg(feature = "dpdk")]
        Transport::Dpdk => (BUCKETS_OF_DATAGRAMS, cards::layout(settings.card.as_ref())),
    }
}

/// The end of a thread that sends.
fn sending(rank: usize, thread: usize) -> End {
    (rank as u16, thread as u16)
}

/// The end of an accumulator thread.
fn folding(place: MachinePosition, rank: usize, thread: usize) -> End {
    (rank as u16, (place.sending() + thread) as u16)
}

/// Ends that others may lead their lanes to, before these are there.
pub(super) enum Open {
    Tcp(TcpListener),
    Udp {
        sending: Vec<Udp>,
        folding: Vec<Udp>,
    },
    Shared(Vec<SharedTx>),
    #[cfg(feature = "dpdk")]
    Dpdk(Cards),
}

/// A place for the ends of lanes: an address for sockets of the network, a directory for others.
#[derive(Clone, Copy)]
pub(super) struct Site<'s> {
    pub(super) at: IpAddr,
    #[cfg_attr(not(feature = "dpdk"), expect(dead_code, reason = "no lanes have files"))]
    pub(super) directory: &'s Path,
    pub(super) common: &'s Common,
    pub(super) settings: &'s Settings,
    /// Counts of who came to the lanes and is no machine.
    pub(super) counts: &'s Arc<Counts>,
}

/// Lanes of all threads of a machine.
pub(super) struct Led {
    pub(super) tx: Vec<Tx>,
    pub(super) rx: Vec<Rx>,
    pub(super) senders: Vec<Sender<Outward>>,
    /// Devices, until all machines have ended their lanes.
    pub(super) kept: OpenDevices,
}

#[cfg(feature = "dpdk")]
pub(super) type OpenDevices = Vec<welter_transport::dpdk::OpenDevice>;
#[cfg(not(feature = "dpdk"))]
pub(super) type OpenDevices = [(); 0];

impl Open {
    /// The ends of a machine at this site, and what others must know of them.
    ///
    /// # Errors
    /// When sockets or memory cannot be had.
    pub(super) fn offer(place: MachinePosition, site: Site<'_>) -> Result<(Self, Vec<u64>), Stop> {
        let address = SocketAddr::new(site.at, 0);
        let bind = |_| Udp::bind(address);
        match site.settings.transport {
            Transport::Tcp => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                let port = listener.local_addr()?.port();
                Ok((Self::Tcp(listener), vec![port.into()]))
            }
            Transport::Udp => {
                let folding = (0..place.sub_ranges).map(bind).collect::<Result<Vec<_>, _>>()?;
                let ports = source_ports(place, site.at);
                let bind = |thread| bind(thread)?.with_source_ports(ports);
                let sending = (0..place.sending()).map(bind).collect::<Result<Vec<_>, _>>()?;
                let ports = sending.iter().chain(&folding);
                let ports = ports.map(|socket| Ok(socket.address()?.port().into()));
                let ports = ports.collect::<std::io::Result<_>>()?;
                Ok((Self::Udp { sending, folding }, ports))
            }
            Transport::Shared => {
                let mut senders = Vec::new();
                let mut offer = vec![u64::from(std::process::id())];
                for thread in 0..place.sending() {
                    let mut sender = SharedTx::of(sending(place.rank, thread));
                    for _ in place.others() {
                        let region = sender.create(BUCKETS, Layout::WHOLE)?;
                        offer.push(region.as_raw_fd() as u64);
                    }
                    senders.push(sender);
                }
                Ok((Self::Shared(senders), offer))
            }
            #[cfg(feature = "dpdk")]
            Transport::Dpdk => {
                let card = site.settings.card.as_ref();
                let (cards, offer) = Cards::offer(card, place, (site.directory, site.common))?;
                Ok((Self::Dpdk(cards), offer))
            }
        }
    }

    /// The lanes of a machine, once the addresses and offers of all are known: those of each
    /// computation thread, those of each accumulator thread, and its sender threads.
    ///
    /// # Errors
    /// When another machine is out of reach.
    pub(super) fn lanes(
        self,
        (place, site): (MachinePosition, Site<'_>),
        (addresses, offers): (&[IpAddr], &[Vec<u64>]),
        ending: &Ending,
    ) -> Result<Led, Stop> {
        let common = site.common;
        #[cfg_attr(not(feature = "dpdk"), expect(unused_mut, reason = "no lanes have devices"))]
        let mut kept = OpenDevices::default();
        let (away, in_reach) = match self {
            Self::Tcp(listener) => {
                let peers = Peers { place, addresses, offers };
                tcp(&listener, common, &peers, (ending, site.counts))?
            }
            Self::Udp { sending, folding } => {
                let peers = Peers { place, addresses, offers };
                let layout = Layout::ETHERNET;
                let others = place.others().map(|(rank, at)| (rank, place.sending() + at));
                let away = place.away(peers.sockets(sending, others), site, layout);
                let from = peers.sockets(folding, place.other_senders());
                let from = place.from(from, site, layout);
                let away = away.into_iter().map(|lanes| Outward::Udp(Box::new(lanes))).collect();
                (away, from.into_iter().map(|lanes| Inward::Udp(Box::new(lanes))).collect())
            }
            #[cfg(feature = "dpdk")]
            Self::Dpdk(cards) => {
                let layout = cards::layout(site.settings.card.as_ref());
                let opened = cards.lanes(common, offers)?;
                kept = opened.kept;
                let away = place.away(opened.sending, site, layout);
                let from = place.from(opened.folding, site, layout);
                let away = away.into_iter().map(|lanes| Outward::Dpdk(Box::new(lanes))).collect();
                (away, from.into_iter().map(|lanes| Inward::Dpdk(Box::new(lanes))).collect())
            }
            Self::Shared(senders) => {
                let receivers = regions(place, offers)?;
                let away = senders.into_iter().map(Outward::Shared).collect();
                (away, receivers.into_iter().map(Inward::Shared).collect())
            }
        };
        let at_home = place.sub_ranges;
        let (own, received) = memory_lanes(at_home, at_home, BUCKETS, Layout::WHOLE);
        let (ways, senders) = dealt(place, away, ring(site.settings));
        let tx = own.into_iter().zip(ways).map(|(own, away)| Tx {
            place,
            own,
            away,
            ending: ending.clone(),
            counts: site.counts.clone(),
        });
        let rx = received.into_iter().zip(in_reach).map(|(own, others)| Rx {
            own,
            others,
            ending: ending.clone(),
            counts: site.counts.clone(),
        });
        Ok(Led { tx: tx.collect(), rx: rx.collect(), senders, kept })
    }
}

/// Machines and their ends.
struct Peers<'p> {
    place: MachinePosition,
    addresses: &'p [IpAddr],
    offers: &'p [Vec<u64>],
}

impl Peers<'_> {
    /// A port that a machine has offered.
    fn address(&self, rank: usize, index: usize) -> SocketAddr {
        let port = self.offers[rank].get(index).copied().unwrap_or(0);
        SocketAddr::new(self.addresses[rank], port as u16)
    }

    /// Sockets of threads of this machine, which know these of others: machine and number.
    fn sockets(
        &self,
        mut sockets: Vec<Udp>,
        others: impl Iterator<Item = (usize, usize)>,
    ) -> Vec<Udp> {
        let addresses: Vec<SocketAddr> =
            others.map(|(rank, index)| self.address(rank, index)).collect();
        for socket in &mut sockets {
            socket.set_peers(addresses.clone());
        }
        sockets
    }
}

impl MachinePosition {
    /// Buckets that lanes have of their own: none where those of computation threads come.
    fn own_buckets(self, buckets: usize) -> usize {
        if self.senders == 0 { buckets } else { 0 }
    }

    /// Connections of threads that send with the accumulator threads of others.
    fn away<D: Datagrams>(self, lower: Vec<D>, site: Site<'_>, layout: Layout) -> Endpoints<D> {
        let ends: Vec<End> = self.others().map(|(rank, at)| folding(self, rank, at)).collect();
        let away = lower.into_iter().enumerate().map(|(thread, lower)| {
            let here = sending(self.rank, thread);
            let lower = site.faulty(lower, here);
            let settings = (layout, self.own_buckets(BUCKETS_OF_DATAGRAMS));
            Endpoint::new(lower, endpoint(site.common, (here, ends.clone()), settings))
        });
        away.collect()
    }

    /// Connections of accumulator threads with the threads of others that send.
    fn from<D: Datagrams>(self, lower: Vec<D>, site: Site<'_>, layout: Layout) -> Endpoints<D> {
        let ends: Vec<End> = self.other_senders().map(|(rank, at)| sending(rank, at)).collect();
        let from = lower.into_iter().enumerate().map(|(thread, lower)| {
            let here = folding(self, self.rank, thread);
            let lower = site.faulty(lower, here);
            Endpoint::new(lower, endpoint(site.common, (here, ends.clone()), (layout, 0)))
        });
        from.collect()
    }
}

type Endpoints<D> = Vec<Endpoint<Faulty<D>>>;

impl Site<'_> {
    /// The lower layer of an end, with the faults that tests plant.
    fn faulty<D>(self, lower: D, (rank, lane): End) -> Faulty<D> {
        let thread = usize::from(rank) << 16 | usize::from(lane);
        Faulty::new(lower, self.settings.faults.as_ref(), thread)
    }
}

fn endpoint(
    common: &Common,
    (here, peers): (End, Vec<End>),
    (layout, buckets): (Layout, usize),
) -> EndpointSettings {
    EndpointSettings {
        here,
        peers,
        epoch: common.epoch,
        layout,
        buckets,
        bounds: Bounds::of_rings(BUCKETS_OF_DATAGRAMS),
        protection: common.protection,
        secret: common.secret.clone(),
        clock: Clock::real(),
    }
}

/// Regions of all other machines' threads for those of this one.
fn regions(place: MachinePosition, offers: &[Vec<u64>]) -> Result<Vec<SharedRx>, Stop> {
    let mut receivers: Vec<SharedRx> = (0..place.sub_ranges).map(|_| SharedRx::default()).collect();
    for rank in (0..place.machines).filter(|&rank| rank != place.rank) {
        let offer = &offers[rank];
        let process = offer.first().copied().unwrap_or(0);
        let descriptors = offer.get(1..).unwrap_or_default();
        let of_thread = descriptors.chunks((place.machines - 1) * place.sub_ranges);
        for descriptors in of_thread {
            let to = MachinePosition { rank, ..place }.others().zip(descriptors);
            for ((_, thread), descriptor) in to.filter(|((rank, _), _)| *rank == place.rank) {
                let path = format!("/proc/{process}/fd/{descriptor}");
                let file = OpenOptions::new().read(true).write(true).open(path)?;
                receivers[thread].open(OwnedFd::from(file), BUCKETS, Layout::WHOLE)?;
            }
        }
    }
    Ok(receivers)
}

/// Lanes over TCP: each thread that sends connects to all others' accumulator threads.
fn tcp(
    listener: &TcpListener,
    common: &Common,
    peers: &Peers<'_>,
    (ending, counts): (&Ending, &Counts),
) -> Result<(Vec<Outward>, Vec<Inward>), Stop> {
    let place = peers.place;
    let Common { epoch, protection, ref secret, .. } = *common;
    let layout = Layout::WHOLE;
    let settings = StreamSettings { epoch, layout, protection, secret: secret.clone() };
    std::thread::scope(|scope| {
        let accepted = scope.spawn(|| {
            let expected = place.other_senders().count() * place.sub_ranges;
            accept(listener, common, (place.rank, expected), (ending, counts))
        });
        let connected = |thread| -> Result<Outward, Stop> {
            let here = sending(place.rank, thread);
            let mut lanes = TcpTx::new(here, settings.clone());
            for (rank, at) in place.others() {
                let to = folding(place, rank, at);
                let stream = connect(peers.address(rank, 0), common, (here, to))?;
                lanes.push(stream, to, place.own_buckets(BUCKETS))?;
            }
            Ok(Outward::Tcp(lanes))
        };
        let away: Result<Vec<_>, Stop> = (0..place.sending()).map(connected).collect();
        // Without it no lane is waited for.
        let away = away.inspect_err(|_| ending.end_epoch())?;
        let accepted = accepted.join().map_err(|_| Stop::broken("a door that panicked"))??;
        let mut from: Vec<TcpRx> = (0..place.sub_ranges)
            .map(|thread| TcpRx::new(folding(place, place.rank, thread), settings.clone()))
            .collect();
        for (stream, peer, (_, lane)) in accepted {
            let thread = usize::from(lane).checked_sub(place.sending());
            let lanes = thread.and_then(|thread| from.get_mut(thread));
            let lanes = lanes.ok_or_else(|| Stop::broken("a lane to a thread there is not"))?;
            lanes.push(stream, peer)?;
        }
        Ok((away, from.into_iter().map(Inward::Tcp).collect()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(sub_ranges: usize) -> MachinePosition {
        MachinePosition { rank: 0, machines: 2, sub_ranges, senders: 0 }
    }

    #[test]
    fn machines_have_several_ports_to_send_from() {
        let ports = |sub_ranges, at: [u8; 4]| source_ports(place(sub_ranges), at.into());
        assert_eq!([1, 2, 3, 16].map(|sub_ranges| ports(sub_ranges, [10, 0, 0, 1])), [8, 2, 1, 1]);
        assert_eq!(ports(1, [127, 0, 0, 1]), 1);
        let served = [1, 2, 3].map(|senders| MachinePosition { senders, ..place(4) });
        assert_eq!(served.map(|it| source_ports(it, [10, 0, 0, 1].into())), [2, 1, 1]);
    }
}
