//! One exchange of messages, over every kind of lanes.
//!
//! Each source sends numbered messages of a few iterations to each sink, which folds them into two
//! sums that swap. A message that is lost, folded twice, or folded in another iteration shows.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exchange;
mod pagerank;
mod seeds;
mod sums;

use std::net::{TcpListener, TcpStream};
use std::thread;

use exchange::{Case, exchange, exchange_by_senders};
use pagerank::Machine;
use welter_transport::{
    Bounds, Clock, End, Endpoint, EndpointSettings, Layout, Protection, RxLane, Secret, SharedRx,
    SharedTx, StreamSettings, TcpRx, TcpTx, TxLane, Udp, memory_lanes,
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

#[test]
fn shared_memory() {
    for layout in LAYOUTS {
        let mut senders: Vec<SharedTx> = (0..2).map(|_| SharedTx::default()).collect();
        let mut receivers: Vec<SharedRx> = (0..2).map(|_| SharedRx::default()).collect();
        for sender in &mut senders {
            for receiver in &mut receivers {
                let file = sender.create(3, layout).unwrap().try_clone_to_owned().unwrap();
                receiver.open(file, 3, layout).unwrap();
            }
        }
        exchange(Case::default(), senders, receivers);
    }
}

const PROTECTIONS: [Protection; 2] = [Protection::Trusted, Protection::Sealed];

fn secret() -> Secret {
    Secret::new([42; 32])
}

/// Threads 0 and up of machine 0 send to those of machine 1.
fn tcp_lanes(
    sources: u16,
    sinks: u16,
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
            sender.push(stream, (1, sink), 4).unwrap();
            receiver.push(listener.accept().unwrap().0, (0, source)).unwrap();
        }
    }
    (senders, receivers)
}

#[test]
fn tcp() {
    for layout in [Layout::WHOLE, Layout::DATAGRAM] {
        for protection in PROTECTIONS {
            let (senders, receivers) = tcp_lanes(2, 3, layout, protection);
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
    let bind = |_| Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
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
    let (mut senders, receivers) = udp_lanes(1, 2, 0, Layout::ETHERNET, Protection::Sealed);
    exchange_by_senders(Case::default(), 3, Layout::ETHERNET, senders.remove(0), receivers);
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
        pagerank(tcp_lanes(machines, machines, Layout::DATAGRAM, Protection::Sealed));
        pagerank(udp_lanes(machines, machines, 6, ethernet, Protection::Sealed));
    }
}
