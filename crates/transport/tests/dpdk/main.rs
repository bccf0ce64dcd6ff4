//! Lanes over DPDK between two processes: memif, which wants no rights, and `af_packet` and
//! `af_xdp` over a pair of virtual cards, which want root.
//!
//! This process starts itself as a receiver for each kind of device, which starts itself as its
//! sender. Both go through the cases in step. Where a kind cannot be had, that is said, and
//! `WELTER_REQUIRE=dpdk` makes a failure of it, and of `af_xdp` if it names that.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../lanes/sums.rs"]
mod sums;

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sums::Case;
use welter_transport::dpdk::{Address, DeviceSettings, Dpdk, WITHOUT_RIGHTS, open};
use welter_transport::{
    Bounds, Clock, End, Endpoint, EndpointSettings, Faults, Faulty, Layout, Protection, Secret,
};

const KIND: &str = "WELTER_DPDK_KIND";
const ROLE: &str = "WELTER_DPDK_ROLE";
const PLACE: &str = "WELTER_DPDK_PLACE";

/// Lanes of each machine; senders use the first two.
const LANES: u16 = 3;
const SENDERS: u16 = 2;
const PORT: u16 = 7100;

/// Settings of an exchange over a device.
#[derive(Clone, Copy, Debug)]
struct Trial {
    layout: Layout,
    protection: Protection,
    /// Datagrams of 1,000 that are lost, that come twice, and of which a bit is flipped.
    faults: [u64; 3],
    messages: u64,
}

/// Settings that a kind of device has.
struct Kind {
    name: &'static str,
    trials: Vec<Trial>,
    wants_root: bool,
}

const LOSSY: [u64; 3] = [100, 50, 0];

/// Seals notice each bit; without them only memory is trusted so far.
const DAMAGED: [u64; 3] = [100, 50, 100];

fn kinds() -> Vec<Kind> {
    let large = Layout { segment_bytes: 16 << 10, segments: 1 };
    let (datagram, ethernet) = (Layout::DATAGRAM, Layout::ETHERNET);
    let (sealed, trusted) = (Protection::Sealed, Protection::Trusted);
    let trial =
        |layout, protection, faults, messages| Trial { layout, protection, faults, messages };
    let none = [0; 3];
    // Once: a socket of the kernel's queue is not free again at once.
    let over_cards = || vec![trial(datagram, sealed, DAMAGED, 10_000)];
    vec![
        Kind {
            name: "memif",
            trials: vec![
                trial(large, trusted, none, 200_000),
                trial(datagram, trusted, LOSSY, 20_000),
                trial(datagram, sealed, DAMAGED, 20_000),
                trial(ethernet, sealed, LOSSY, 20_000),
            ],
            wants_root: false,
        },
        Kind { name: "af_packet", trials: over_cards(), wants_root: true },
        Kind { name: "af_xdp", trials: over_cards(), wants_root: true },
    ]
}

/// Address of a machine's card.
fn address(machine: u16, lane: u16) -> Address {
    let mac = [2, 0, 0, 0, 0, machine as u8 + 1];
    Address { mac, ip: Ipv4Addr::new(10, 77, 1, machine as u8 + 1), port: PORT + lane }
}

fn mac_text(machine: u16) -> String {
    address(machine, 0).mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The device of a machine for this trial, as DPDK names it. Machine 0 sends. All trials have one
/// name, since a device that was closed must be there to be opened again.
fn device(kind: &str, place: &str, machine: u16, number: usize, layout: Layout) -> String {
    match kind {
        "memif" => {
            let role = ["client", "server"][usize::from(machine)];
            let bytes = (layout.segment_bytes + 64).next_multiple_of(64).max(2048);
            format!(
                "net_memif0,role={role},socket={place}/memif{number},socket-abstract=no,\
                 bsize={bytes},rsize=8,mac={}",
                mac_text(machine)
            )
        }
        "af_packet" => format!(
            "net_af_packet0,iface=card{machine},qpairs=1,blocksz=65536,\
             framesz=2048,framecnt=512"
        ),
        _ => format!("net_af_xdp0,iface=card{machine},force_copy=1"),
    }
}

fn opened(kind: &str, machine: u16, number: usize, trial: Trial) -> std::io::Result<Vec<Dpdk>> {
    let place = std::env::var(PLACE).unwrap();
    open(&DeviceSettings {
        device: device(kind, &place, machine, number, trial.layout),
        ip: address(machine, 0).ip,
        port: PORT,
        lanes: LANES,
        segment_bytes: trial.layout.segment_bytes,
        packets: 4096,
        patience: Duration::from_secs(20),
        options: WITHOUT_RIGHTS.iter().map(|&option| option.to_owned()).collect(),
    })
}

/// Lanes of one machine to all of the other one.
fn endpoints(
    lanes: Vec<Dpdk>,
    machine: u16,
    count: u16,
    peers: u16,
    trial: Trial,
) -> Vec<Endpoint<Faulty<Dpdk>>> {
    let endpoint = |(mut lower, lane): (Dpdk, u16)| {
        let addresses: Vec<Address> = (0..peers).map(|lane| address(1 - machine, lane)).collect();
        lower.set_peers(&addresses);
        assert_eq!(lower.address(), address(machine, lane));
        let seed = usize::from(machine * LANES + lane);
        let settings = EndpointSettings {
            here: (machine, lane),
            peers: (0..peers).map(|lane| -> End { (1 - machine, lane) }).collect(),
            epoch: 1,
            layout: trial.layout,
            buckets: if machine == 0 { 8 } else { 0 },
            bounds: Bounds { window: 16, ..Bounds::default() },
            protection: trial.protection,
            secret: Secret::new([42; 32]),
            clock: Clock::real(),
        };
        let [lost, repeated, damaged] = trial.faults;
        let faults = Faults { lost, repeated, damaged, ..Faults::default() };
        Endpoint::new(Faulty::new(lower, Some(&faults), seed), settings)
    };
    lanes.into_iter().zip(0..count).map(endpoint).collect()
}

/// Waits until both processes have opened the device.
fn wait_for_link(lanes: &[Dpdk]) {
    let until = Instant::now() + Duration::from_secs(20);
    while !lanes[0].is_up() {
        assert!(Instant::now() < until, "the other end is not there");
        thread::sleep(Duration::from_millis(2));
    }
}

fn case(trial: Trial) -> Case {
    Case { iterations: 2, messages: trial.messages }
}

/// Machine 1 folds, and starts machine 0.
fn receive(kind: &Kind) {
    let mut sender: Option<Child> = None;
    let mut lines = None;
    for (number, &trial) in kind.trials.iter().enumerate() {
        let lanes = match opened(kind.name, 1, number, trial) {
            Ok(lanes) => lanes,
            Err(why) if number == 0 => {
                println!("no device: {why}");
                return;
            }
            Err(why) => panic!("{} again: {why}", kind.name),
        };
        let lines = lines.get_or_insert_with(|| {
            let mut child = again(kind.name, "send").stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            sender = Some(child);
            lines
        });
        wait_for_link(&lanes);
        let receivers = endpoints(lanes, 1, LANES, SENDERS, trial);
        let receiving = sums::receiving(case(trial), usize::from(SENDERS), receivers);
        assert_eq!(lines.next().unwrap().unwrap(), "sent", "{trial:?}");
        let lanes = sums::check(case(trial), usize::from(SENDERS), receiving);
        let (mut handed_on, mut forged) = (0, 0);
        for mut lane in lanes {
            let (counts, lower) = (lane.counts(), lane.lower_mut().lower.counts());
            assert_eq!(lower.dropped, 0, "{trial:?}: {counts:?} {lower:?}");
            handed_on += lower.handed_on;
            forged += counts.forged;
        }
        // No flipped bit reaches a fold, or sums would be others.
        assert_eq!(forged > 0, trial.faults[2] > 0, "{trial:?}: {forged}");
        // There, datagrams come out of the queue of their lane.
        assert!(handed_on == 0 || kind.name != "memif", "{trial:?}: {handed_on}");
    }
    assert!(sender.unwrap().wait().unwrap().success(), "the sender fails");
    println!("done");
}

/// Machine 0 sends.
fn send(kind: &Kind) {
    for (number, &trial) in kind.trials.iter().enumerate() {
        let lanes = opened(kind.name, 0, number, trial).unwrap();
        wait_for_link(&lanes);
        let senders = endpoints(lanes, 0, SENDERS, LANES, trial);
        let sending: Vec<_> = senders
            .into_iter()
            .enumerate()
            .map(|(source, lanes)| {
                let sinks = usize::from(LANES);
                thread::spawn(move || sums::send(case(trial), source, sinks, lanes))
            })
            .collect();
        let groups: Vec<_> = sending.into_iter().map(|thread| thread.join().unwrap()).collect();
        let mut in_place = 0;
        let mut resent = 0;
        for mut group in groups {
            in_place += group.lanes_mut().lower_mut().lower.counts().in_place;
            resent += group.lanes_mut().counts().resent;
        }
        assert_eq!(in_place > 0, trial.layout.segments == 1, "{trial:?}");
        assert!(resent > 0 || trial.faults[0] == 0, "{trial:?}");
        println!("sent");
    }
}

fn again(kind: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(KIND, kind).env(ROLE, role);
    command
}

/// A network of its own with two cards and a cable.
struct Net(String);

fn ip(line: &str) -> Result<(), String> {
    let output = Command::new("ip").args(line.split(' ')).output();
    let output = output.map_err(|error| format!("`ip` cannot be run: {error}"))?;
    let error = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("`ip {line}`: {}", error.trim())) }
}

impl Net {
    fn new() -> Result<Self, String> {
        let net = Self(format!("welter-dpdk-{}", std::process::id()));
        let Self(name) = &net;
        ip(&format!("netns add {name}"))?;
        ip(&format!("-n {name} link add card0 type veth peer name card1"))?;
        for machine in 0..2 {
            let mac = mac_text(machine);
            ip(&format!("-n {name} link set card{machine} address {mac} up"))?;
        }
        Ok(net)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.0));
    }
}

/// Runs a process of this kind in its network, or says why it did not try.
fn tried(kind: &Kind, place: &str) -> Result<(), String> {
    let inner = again(kind.name, "receive");
    let (mut command, _net) = if kind.wants_root {
        let net = Net::new()?;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &net.0]).arg(inner.get_program());
        command.env(KIND, kind.name).env(ROLE, "receive");
        (command, Some(net))
    } else {
        (inner, None)
    };
    let output = command.env(PLACE, place).stderr(Stdio::inherit()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}: {text}", kind.name);
    // The library prints as well.
    let none = text.lines().find(|line| line.starts_with("no device"));
    if text.lines().any(|line| line == "done") {
        return Ok(());
    }
    Err(none.unwrap_or("it says nothing").to_owned())
}

fn main() {
    if let (Ok(name), Ok(role)) = (std::env::var(KIND), std::env::var(ROLE)) {
        let kind = kinds().into_iter().find(|kind| kind.name == name).unwrap();
        return if role == "send" { send(&kind) } else { receive(&kind) };
    }
    let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
    let place = tempfile::tempdir().unwrap();
    for kind in kinds() {
        let began = Instant::now();
        match tried(&kind, place.path().to_str().unwrap()) {
            Ok(()) => println!("{}: ok, {:.1} s", kind.name, began.elapsed().as_secs_f64()),
            Err(why) => {
                // Kernels of containers may have no such sockets.
                let name = kind.name;
                let wanted = if name == "af_xdp" { name } else { "dpdk" };
                assert!(required.split(',').all(|name| name != wanted), "{name}: {why}");
                let _ = writeln!(std::io::stderr(), "SKIPPED: lanes over DPDK's {name}: {why}");
            }
        }
    }
}
