//! Pairs of lanes of each kind, on loopback.

use std::net::{TcpListener, TcpStream};

#[cfg(feature = "dpdk")]
use welter_transport::dpdk::{self, DeviceSettings, Dpdk};
use welter_transport::{
    Bounds, Clock, Datagrams, Endpoint, EndpointSettings, LaneError, Layout, MemoryRx, MemoryTx,
    Protection, Secret, SharedRx, SharedTx, StreamSettings, TcpRx, TcpTx, Udp, memory_lanes,
};

/// Buckets of a ring: more than a turn fills.
const BUCKETS: usize = 40;

pub(crate) fn memory(layout: Layout) -> (MemoryTx, MemoryRx) {
    let (mut senders, mut receivers) = memory_lanes(1, 1, BUCKETS, layout);
    (senders.remove(0), receivers.remove(0))
}

pub(crate) fn shared(layout: Layout) -> Result<(SharedTx, SharedRx), LaneError> {
    let (mut sender, mut receiver) = (SharedTx::default(), SharedRx::default());
    let file = sender.create(BUCKETS, layout)?.try_clone_to_owned()?;
    receiver.open(file, BUCKETS, layout)?;
    Ok((sender, receiver))
}

pub(crate) fn tcp(layout: Layout, protection: Protection) -> Result<(TcpTx, TcpRx), LaneError> {
    let settings = StreamSettings { epoch: 1, layout, protection, secret: Secret::new([1; 32]) };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    let mut sender = TcpTx::new((0, 0), settings.clone());
    sender.push(stream, (1, 0), BUCKETS)?;
    let mut receiver = TcpRx::new((1, 0), settings);
    receiver.push(listener.accept()?.0, (0, 0))?;
    Ok((sender, receiver))
}

/// A pair of endpoints, of which the first sends.
fn endpoints<D: Datagrams>(
    from: D,
    to: D,
    layout: Layout,
    protection: Protection,
) -> (Endpoint<D>, Endpoint<D>) {
    let settings = |rank: u16| EndpointSettings {
        here: (rank, 0),
        peers: vec![(1 - rank, 0)],
        epoch: 1,
        layout,
        buckets: if rank == 0 { BUCKETS } else { 0 },
        bounds: Bounds::default(),
        protection,
        secret: Secret::new([1; 32]),
        clock: Clock::real(),
    };
    (Endpoint::new(from, settings(0)), Endpoint::new(to, settings(1)))
}

pub(crate) fn udp(
    layout: Layout,
    protection: Protection,
) -> Result<(Endpoint<Udp>, Endpoint<Udp>), LaneError> {
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut from, mut to) = (Udp::bind(any)?, Udp::bind(any)?);
    from.set_peers(vec![to.address()?]);
    to.set_peers(vec![from.address()?]);
    Ok(endpoints(from, to, layout, protection))
}

/// Two devices of DPDK with memory between them. Each call has a number of its own.
#[cfg(feature = "dpdk")]
pub(crate) fn memif(
    number: usize,
    layout: Layout,
    protection: Protection,
) -> Result<(Endpoint<Dpdk>, Endpoint<Dpdk>), LaneError> {
    let place = std::env::temp_dir().join(format!("welter-memif-{}-{number}", std::process::id()));
    let opened = |machine: usize| {
        let (role, socket) = (["client", "server"][machine], place.display());
        let name = 2 * number + machine;
        let bytes = (layout.segment_bytes + 64).next_multiple_of(64).max(2048);
        let lanes = dpdk::open(&DeviceSettings {
            device: format!(
                "net_memif{name},role={role},socket={socket},socket-abstract=no,\
                 bsize={bytes},rsize=8"
            ),
            ip: std::net::Ipv4Addr::new(10, 77, 1, 1 + machine as u8),
            port: 7100,
            lanes: 1,
            segment_bytes: layout.segment_bytes,
            packets: 1024,
            patience: std::time::Duration::from_secs(10),
            options: dpdk::WITHOUT_RIGHTS.iter().map(|&option| option.to_owned()).collect(),
        });
        lanes.map(|mut lanes| lanes.remove(0))
    };
    let (mut to, mut from) = (opened(1)?, opened(0)?);
    from.set_peers(&[to.address()]);
    to.set_peers(&[from.address()]);
    while !(from.is_up() && to.is_up()) {
        std::thread::yield_now();
    }
    Ok(endpoints(from, to, layout, protection))
}
