//! One exchange of messages, over every kind of lanes.
//!
//! Each source sends numbered messages of a few iterations to each sink, which folds them into two
//! sums that swap. A message that is lost, folded twice, or folded in another iteration shows.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exchange;
mod pagerank;
mod seeds;
mod sums;

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use exchange::{Case, exchange, exchange_by_senders};
use pagerank::Machine;
use welter_transport::{
    Arrived, Bounds, Clock, Destination, End, Endpoint, EndpointSettings, Layout, Protection,
    RingGroup, RxLane, Secret, SharedRx, SharedTx, StreamSettings, TcpRx, TcpTx, TxLane, Udp,
    memory_lanes,
};

const LAYOUTS: [Layout; 3] = [Layout::WHOLE, Layout::ETHERNET, Layout::DATAGRAM];

#[test]
fn memory() {
    for layout in LAYOUTS {
        for (sources, sinks) in [(1, 1), (2, 3)] {
            let (senders, receivers) = memory_lanes(sources, sinks, 3, layout);
            exchange(Case::default(), senders, receivers);
        }
    }
}

/// Threads 0 and up of machine 0 share memory with `sinks` threads.
fn shared_lanes(sources: u16, sinks: usize, layout: Layout) -> (Vec<SharedTx>, Vec<SharedRx>) {
    let mut senders: Vec<SharedTx> = (0..sources).map(|lane| SharedTx::of((0, lane))).collect();
    let mut receivers: Vec<SharedRx> = (0..sinks).map(|_| SharedRx::default()).collect();
    for sender in &mut senders {
        for receiver in &mut receivers {
            let file = sender.create(3, layout).unwrap().try_clone_to_owned().unwrap();
            receiver.open(file, 3, layout).unwrap();
        }
    }
    (senders, receivers)
}

#[test]
fn shared_memory() {
    for layout in LAYOUTS {
        let (senders, receivers) = shared_lanes(2, 2, layout);
        exchange(Case::default(), senders, receivers);
    }
}

const PROTECTIONS: [Protection; 2] = [Protection::Trusted, Protection::Sealed];

fn secret() -> Secret {
    Secret::new([42; 32])
}

/// Threads 0 and up of machine 0 send to those of machine 1, by `buckets` buckets of their own.
fn tcp_lanes(
    (sources, sinks): (u16, u16),
    buckets: usize,
    layout: Layout,
    protection: Protection,
) -> (Vec<TcpTx>, Vec<TcpRx>) {
    let settings = StreamSettings { epoch: 1, layout, protection, secret: secret() };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut senders: Vec<TcpTx> =
        (0..sources).map(|lane| TcpTx::new((0, lane), settings.clone())).collect();
    let mut receivers: Vec<TcpRx> =
        (0..sinks).map(|lane| TcpRx::new((1, lane), settings.clone())).collect();
    for (source, sender) in (0..).zip(&mut senders) {
        for (sink, receiver) in (0..).zip(&mut receivers) {
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            sender.push(stream, (1, sink), buckets).unwrap();
            receiver.push(listener.accept().unwrap().0, (0, source)).unwrap();
        }
    }
    (senders, receivers)
}

#[test]
fn tcp() {
    for layout in [Layout::WHOLE, Layout::DATAGRAM] {
        for protection in PROTECTIONS {
            let (senders, receivers) = tcp_lanes((2, 3), 4, layout, protection);
            exchange(Case::default(), senders, receivers);
        }
    }
}

/// Endpoints of `sources` threads of machine 0 and `sinks` of machine 1.
fn udp_lanes(
    sources: u16,
    sinks: u16,
    buckets: usize,
    layout: Layout,
    protection: Protection,
) -> (Vec<Endpoint<Udp>>, Vec<Endpoint<Udp>>) {
    let bind = |_| {
        let socket = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        socket.with_source_ports(3).unwrap()
    };
    let senders: Vec<Udp> = (0..sources).map(bind).collect();
    let receivers: Vec<Udp> = (0..sinks).map(bind).collect();
    let addresses = |sockets: &[Udp]| -> Vec<_> {
        sockets.iter().map(|socket| socket.address().unwrap()).collect()
    };
    let (of_senders, of_receivers) = (addresses(&senders), addresses(&receivers));
    let end = |(lane, mut socket): (usize, Udp), rank: u16| {
        let (count, peers) =
            if rank == 0 { (sinks, &of_receivers) } else { (sources, &of_senders) };
        socket.set_peers(peers.clone());
        let settings = EndpointSettings {
            here: (rank, lane as u16),
            peers: (0..count).map(|lane| -> End { (1 - rank, lane) }).collect(),
            epoch: 1,
            layout,
            buckets: if rank == 0 { buckets } else { 0 },
            bounds: Bounds { window: 16, ..Bounds::default() },
            protection,
            secret: secret(),
            clock: Clock::real(),
        };
        Endpoint::new(socket, settings)
    };
    let senders = senders.into_iter().enumerate().map(|socket| end(socket, 0)).collect();
    (senders, receivers.into_iter().enumerate().map(|socket| end(socket, 1)).collect())
}

#[test]
fn udp() {
    for layout in [Layout::ETHERNET, Layout::DATAGRAM] {
        for protection in PROTECTIONS {
            let (senders, receivers) = udp_lanes(2, 3, 8, layout, protection);
            exchange(Case::default(), senders, receivers);
        }
    }
}

/// Three workers write, one sender thread sends for them.
#[test]
fn sender_threads() {
    let case = Case::default();
    let (mut senders, receivers) = udp_lanes(1, 2, 0, Layout::ETHERNET, Protection::Sealed);
    exchange_by_senders(case, 3, Layout::ETHERNET, senders.remove(0), receivers);
    for layout in [Layout::WHOLE, Layout::DATAGRAM] {
        for protection in PROTECTIONS {
            let (mut senders, receivers) = tcp_lanes((1, 2), 0, layout, protection);
            exchange_by_senders(case, 3, layout, senders.remove(0), receivers);
        }
        let (mut senders, receivers) = shared_lanes(1, 2, layout);
        exchange_by_senders(case, 3, layout, senders.remove(0), receivers);
    }
}

/// Sources that heads of buckets name: machine, lane and ring group of each sender to one thread.
fn sources<T: TxLane, R: RxLane>((senders, mut receivers): (Vec<T>, Vec<R>)) -> BTreeSet<[u16; 3]> {
    let group = |lanes| RingGroup::new(lanes, &[Destination::default()], 8);
    let mut groups: Vec<RingGroup<T>> = senders.into_iter().map(group).collect();
    for group in &mut groups {
        group.end_iteration().unwrap();
    }
    let (mut found, mut came) = (BTreeSet::new(), 0);
    let until = Instant::now() + Duration::from_mins(1);
    while came < groups.len() && Instant::now() < until {
        let mut fold = |bucket: &Arrived<'_>| {
            let header = bucket.header();
            found.insert([header.rank, header.lane, header.group]);
        };
        came += receivers[0].poll(&mut fold).unwrap();
        for group in &mut groups {
            group.poll().unwrap();
        }
    }
    assert_eq!((came, found.len()), (groups.len(), groups.len()), "sources differ: {found:?}");
    found
}

/// A thread receives from threads of its own machine, and from those of others by one kind of
/// lanes: parts of long messages are put together by their source.
#[test]
fn sources_of_own_threads_are_none_of_other_machines() {
    let layout = Layout::DATAGRAM;
    let own = sources(memory_lanes(3, 1, 4, layout));
    let others = [
        sources(shared_lanes(3, 1, layout)),
        sources(tcp_lanes((3, 1), 4, layout, Protection::Trusted)),
        sources(udp_lanes(3, 1, 4, layout, Protection::Trusted)),
    ];
    for others in others {
        assert!(own.is_disjoint(&others), "{own:?} {others:?}");
    }
}

#[test]
fn heads_tell_threads_of_a_machine_from_those_of_others() {
    let layout = Layout::DATAGRAM;
    let mut receiver = SharedRx::default();
    let senders = [(0, 0), (0, 1), (1, 0)].map(|here| {
        let mut sender = SharedTx::of(here);
        let file = sender.create(3, layout).unwrap().try_clone_to_owned().unwrap();
        receiver.open(file, 3, layout).unwrap();
        sender
    });
    let others = sources((Vec::from(senders), vec![receiver]));
    let own = sources(memory_lanes(2, 1, 4, layout));
    assert_eq!((others.len(), own.len()), (3, 2));
    assert!(own.is_disjoint(&others), "{own:?} {others:?}");
}

/// Runs PageRank on as many machines as there are lanes, all in this process.
fn pagerank<T, R>((senders, receivers): (Vec<T>, Vec<R>))
where
    T: TxLane + Send + 'static,
    R: RxLane + Send + 'static,
{
    let machines = senders.len() as u32;
    let running: Vec<_> = (0..machines)
        .zip(senders.into_iter().zip(receivers))
        .map(|(rank, (sender, receiver))| {
            let machine = Machine { rank, machines };
            thread::spawn(move || machine.is_right(&machine.run(sender, receiver)))
        })
        .collect();
    for machine in running {
        assert!(machine.join().unwrap());
    }
}

#[test]
fn pagerank_is_that_of_one_thread() {
    let (whole, ethernet) = (Layout::WHOLE, Layout::ETHERNET);
    for machines in 2..5 {
        pagerank(memory_lanes(usize::from(machines), usize::from(machines), 3, whole));
        pagerank(tcp_lanes((machines, machines), 4, Layout::DATAGRAM, Protection::Sealed));
        pagerank(udp_lanes(machines, machines, 6, ethernet, Protection::Sealed));
    }
}
