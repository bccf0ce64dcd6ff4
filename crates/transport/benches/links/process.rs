//! A process at an end of the cable: it makes messages and sends them, or folds those that come.

use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use welter_transport::{
    Arrived, Bounds, Clock, Destination, Endpoint, EndpointSettings, LaneError, Layout, Protection,
    RingGroup, RxLane, Secret, StreamSettings, TcpRx, TcpTx, TxLane, Udp,
};

use crate::measure::processor_nanos;
use crate::namespaces::{ADDRESSES, Cable};
use crate::pipe::{Sums, fold_run, message};

/// Variable by which a process knows what it is.
const ROLE: &str = "WELTER_LINK";

/// Ports of the two ends.
const PORTS: [u16; 2] = [7001, 7002];

/// Buckets of a ring.
const BUCKETS: usize = 16;

/// Messages that are made at a time.
const RUN: usize = 1 << 12;

/// Kind of lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tcp,
    Udp,
    UdpSealed,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::UdpSealed];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::UdpSealed => "udp-sealed",
        }
    }

    fn protection(self) -> Protection {
        if self == Self::UdpSealed { Protection::Sealed } else { Protection::Trusted }
    }
}

/// Messages that were exchanged, the seconds that they took to come, and processor time of both
/// threads in ns a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    pub(crate) messages: f64,
    pub(crate) seconds: f64,
    pub(crate) send: f64,
    pub(crate) receive: f64,
}

/// Runs two processes for `seconds` seconds.
pub(crate) fn exchanged(cable: &Cable, kind: Kind, seconds: u32) -> io::Result<Outcome> {
    let started = |end: usize, role: &str| -> io::Result<Child> {
        let program = std::env::current_exe()?;
        let mut command = cable.at(end, &program.to_string_lossy());
        let role = format!("{role} {} {seconds}", kind.name());
        command.env(ROLE, role).stdout(Stdio::piped()).spawn()
    };
    let receiver = started(1, "receive")?;
    let sender = started(0, "send")?;
    let [sent, _, send] = said(sender)?;
    let [folded, seconds, receive] = said(receiver)?;
    if (sent - folded).abs() > 0.5 {
        return Err(io::Error::other(format!("{sent} messages were sent, and {folded} folded")));
    }
    Ok(Outcome { messages: folded, seconds, send: send / sent, receive: receive / sent })
}

/// Numbers that a process says at its end.
fn said(mut child: Child) -> io::Result<[f64; 3]> {
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        BufReader::new(out).read_line(&mut line)?;
    }
    let ended = child.wait()?;
    let numbers: Vec<f64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let numbers = <[f64; 3]>::try_from(numbers);
    numbers.map_err(|_| io::Error::other(format!("a process said {line:?}, and ended: {ended}")))
}

/// Role of this process, if it was started for one.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Does so.
pub(crate) fn run(role: &str) -> Result<(), LaneError> {
    let mut words = role.split(' ');
    let is_sender = words.next() == Some("send");
    let name = words.next().unwrap_or_default();
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or(Kind::Tcp);
    let seconds = words.next().and_then(|text| text.parse().ok()).unwrap_or(1);
    let until = Duration::from_secs(seconds);
    match (kind, is_sender) {
        (Kind::Tcp, true) => send(tcp_sender()?, until),
        (Kind::Tcp, false) => receive(tcp_receiver()?),
        (_, true) => send(endpoint(0, kind)?, until),
        (_, false) => receive(endpoint(1, kind)?),
    }
}

fn stream_settings() -> StreamSettings {
    let (protection, secret) = (Protection::Trusted, Secret::new([1; 32]));
    StreamSettings { epoch: 1, layout: Layout::WHOLE, protection, secret }
}

fn address(end: usize) -> SocketAddr {
    let address = ADDRESSES[end].parse().map(|ip| SocketAddr::new(ip, PORTS[end]));
    address.expect("addresses are written as such")
}

fn tcp_sender() -> Result<TcpTx, LaneError> {
    let stream = loop {
        match TcpStream::connect(address(1)) {
            Ok(stream) => break stream,
            // The other process listens soon.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    };
    let mut sender = TcpTx::new((0, 0), stream_settings());
    sender.push(stream, (1, 0), BUCKETS)?;
    Ok(sender)
}

fn tcp_receiver() -> Result<TcpRx, LaneError> {
    let listener = TcpListener::bind(address(1))?;
    let mut receiver = TcpRx::new((1, 0), stream_settings());
    receiver.push(listener.accept()?.0, (0, 0))?;
    Ok(receiver)
}

fn endpoint(end: usize, kind: Kind) -> Result<Endpoint<Udp>, LaneError> {
    let mut socket = Udp::bind(address(end))?;
    socket.set_peers(vec![address(1 - end)]);
    let settings = EndpointSettings {
        here: (end as u16, 0),
        peers: vec![(1 - end as u16, 0)],
        epoch: 1,
        layout: Layout::ETHERNET,
        buckets: if end == 0 { BUCKETS } else { 0 },
        bounds: Bounds::default(),
        protection: kind.protection(),
        secret: Secret::new([1; 32]),
        clock: Clock::real(),
    };
    Ok(Endpoint::new(socket, settings))
}

/// Makes messages for so long, as tiles do: targets and values lie side by side.
fn send<L: TxLane>(lanes: L, long: Duration) -> Result<(), LaneError> {
    let mut group = RingGroup::new(lanes, &[Destination { rank: 1, sub_range: 0 }], 8);
    let targets: Vec<u32> = (0..RUN as u32).map(|place| place.wrapping_mul(40_503)).collect();
    let (begin, since, mut sent) = (processor_nanos(), Instant::now(), 0);
    while since.elapsed() < long {
        let mut left = &targets[..];
        while !left.is_empty() {
            let room = group.room(0)?.as_chunks_mut::<8>().0;
            let count = room.len().min(left.len());
            let (now, later) = left.split_at(count);
            room.iter_mut().zip(now).for_each(|(slot, &target)| *slot = message(target, 0.5));
            group.filled(0, 8 * count, count as u64);
            sent += count;
            left = later;
        }
    }
    group.end_iteration()?;
    group.drain()?;
    let seconds = since.elapsed().as_secs_f64();
    println!("{sent} {seconds} {}", processor_nanos() - begin);
    Ok(())
}

/// Folds until the last bucket has come.
fn receive<L: RxLane>(mut lanes: L) -> Result<(), LaneError> {
    let (mut sums, mut folded, mut is_last) = (Sums::new(), 0, false);
    let mut since: Option<Instant> = None;
    let begin = processor_nanos();
    while !is_last {
        let mut fold = |bucket: &Arrived<'_>| {
            for run in bucket.runs() {
                fold_run(run, &mut sums);
                folded += run.len() / 8;
            }
            is_last |= bucket.header().last;
        };
        let came = lanes.poll(&mut fold)?;
        if came > 0 {
            since.get_or_insert_with(Instant::now);
        } else {
            std::thread::yield_now();
        }
    }
    let seconds = since.map_or(0.0, |since| since.elapsed().as_secs_f64());
    let nanos = processor_nanos() - begin;
    // Acknowledgements may be lost, and are asked for again.
    let ended = Instant::now();
    while ended.elapsed() < Duration::from_millis(300) {
        // The sender may be gone by then.
        let _ = lanes.poll(&mut |_| {});
        std::thread::yield_now();
    }
    println!("{folded} {seconds} {nanos}");
    Ok(())
}
