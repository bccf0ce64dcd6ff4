//! Pairs of lanes of each kind, on loopback.

use std::net::{TcpListener, TcpStream};

use welter_transport::{
    Bounds, Clock, Endpoint, EndpointSettings, LaneError, Layout, MemoryRx, MemoryTx, Protection,
    Secret, SharedRx, SharedTx, StreamSettings, TcpRx, TcpTx, Udp, memory_lanes,
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

pub(crate) fn udp(
    layout: Layout,
    protection: Protection,
) -> Result<(Endpoint<Udp>, Endpoint<Udp>), LaneError> {
    let any = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut from, mut to) = (Udp::bind(any)?, Udp::bind(any)?);
    from.set_peers(vec![to.address()?]);
    to.set_peers(vec![from.address()?]);
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
    Ok((Endpoint::new(from, settings(0)), Endpoint::new(to, settings(1))))
}
