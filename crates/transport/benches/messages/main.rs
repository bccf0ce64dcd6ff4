//! Processor time of a message, by every kind of lanes and by the designs that the paper compares
//! with, in one run: `cargo xtask bench messages`.
//!
//! Both ends take turns on one thread, so that waiting is not in the times; data lies in the caches
//! as it does where a receiver keeps up. Loopback does the receiver's part of the kernel's work in
//! the call of the sender. Times are the least of seven repetitions of 4 million messages.
//!
//! `--numbers FILE` puts what was measured into a file, by name ([`numbers`]).

mod generation;
mod interrupts;
mod lanes;
mod measure;
#[path = "../shared/numbers.rs"]
mod numbers;
mod pipe;
mod roles;

use measure::{Cost, measured};
use numbers::Numbers;
use pipe::{Lanes, Overheads, Pipe, VERTICES};
use welter_transport::{LaneError, Layout, Protection};

fn main() -> Result<(), LaneError> {
    // Two full buckets of 64 KiB, which every socket has room for.
    let targets = random_targets(2 * Layout::WHOLE.messages(8));
    let none = Overheads::default();
    let (sealed, trusted) = (Protection::Sealed, Protection::Trusted);
    let (whole, ethernet, datagram) = (Layout::WHOLE, Layout::ETHERNET, Layout::DATAGRAM);
    let mut numbers = Numbers::of_arguments();
    let mut table = Table::new("lanes, bucket of 64 KiB", "", &targets, &mut numbers);
    let (tx, rx) = lanes::memory(whole);
    table.row("memory", &mut Lanes::new(tx, rx, none));
    let (tx, rx) = lanes::shared(whole)?;
    table.row("shared", &mut Lanes::new(tx, rx, none));
    for (protection, [udp, tcp]) in
        [(trusted, ["udp", "tcp"]), (sealed, ["udp-sealed", "tcp-sealed"])]
    {
        // 46 datagrams a bucket.
        let (tx, rx) = lanes::udp(ethernet, protection)?;
        table.row(udp, &mut Lanes::new(tx, rx, none));
        let (tx, rx) = lanes::tcp(whole, protection)?;
        table.row(tcp, &mut Lanes::new(tx, rx, none));
    }

    #[cfg(feature = "dpdk")]
    memif(&mut table)?;

    // Fewer buckets than a window has.
    let targets = random_targets(30 * datagram.messages(8));
    let title = "overheads of the paper, bucket of 1,408 bytes";
    let mut table = Table::new(title, "-1408", &targets, &mut numbers);
    let lanes = || lanes::memory(datagram);
    let overheads = [
        ("none", none),
        ("copies", Overheads { copies: true, ..none }),
        // No other thread wants them.
        ("locks", Overheads { locks: true, ..none }),
        // A queue a vertex, a parser, a gather stage.
        ("queues", Overheads { queues: true, ..none }),
    ];
    for (name, overheads) in overheads {
        let (tx, rx) = lanes();
        table.row(name, &mut Lanes::new(tx, rx, overheads));
    }
    // A thread is woken for each bucket.
    table.print("interrupts", interrupts::woken(datagram, &targets)?);
    let (tx, rx) = lanes::tcp(datagram, trusted)?;
    table.row("kernel-tcp", &mut Lanes::new(tx, rx, none));
    let (tx, rx) = lanes::udp(datagram, trusted)?;
    table.row("kernel-udp", &mut Lanes::new(tx, rx, none));
    let (tx, rx) = lanes::tcp(datagram, trusted)?;
    let all = Overheads { copies: true, locks: true, queues: true };
    // But interrupts.
    table.row("all", &mut Lanes::new(tx, rx, all));

    roles::measure(&random_targets(2 * whole.messages(8)), &mut numbers)?;

    println!("\ngeneration, millions of messages a second and core (singly, in runs of a tile)");
    for destinations in [1, 4, 16, 64] {
        let (singly, by_runs) = generation::rates(destinations, whole)?;
        println!("{destinations:>6} destinations {singly:>8.0} {by_runs:>8.0}");
        numbers.put(&format!("generate-singly-{destinations}"), singly);
        numbers.put(&format!("generate-runs-{destinations}"), by_runs);
    }
    numbers.write()?;
    Ok(())
}

/// DPDK's memif, by buckets of one datagram.
#[cfg(feature = "dpdk")]
fn memif(table: &mut Table<'_>) -> Result<(), LaneError> {
    let large = |segment_bytes| Layout { segment_bytes, segments: 1 };
    let layouts = [large(60 << 10), large(16 << 10), large(8 << 10), Layout::DATAGRAM];
    for (number, layout) in layouts.into_iter().enumerate() {
        // Messages of a turn must find room in the window.
        let turn = random_targets((2 * Layout::WHOLE.messages(8)).min(30 * layout.messages(8)));
        let mut turns =
            Table { targets: &turn, first: table.first, numbers: table.numbers, kind: "" };
        for (seals, protection) in [Protection::Trusted, Protection::Sealed].into_iter().enumerate()
        {
            let (tx, rx) = lanes::memif(2 * number + seals, layout, protection)?;
            let name = format!("memif-{}{}", layout.segment_bytes, ["", "-sealed"][seals]);
            turns.row(&name, &mut Lanes::new(tx, rx, Overheads::default()));
        }
    }
    Ok(())
}

fn random_targets(count: usize) -> Vec<u32> {
    let mut state = 7_u64;
    let mut target = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as u32 % VERTICES as u32
    };
    (0..count).map(|_| target()).collect()
}

/// Rows beside the first one.
struct Table<'a> {
    targets: &'a [u32],
    first: Option<Cost>,
    numbers: &'a mut Numbers,
    /// Behind the name of each number.
    kind: &'static str,
}

impl<'a> Table<'a> {
    fn new(title: &str, kind: &'static str, targets: &'a [u32], numbers: &'a mut Numbers) -> Self {
        println!("\n{title}: ns an 8-byte message");
        println!("{:<36}{:>8}{:>9}{:>8}{:>8}", "", "send", "receive", "both", "ratio");
        Self { targets, first: None, numbers, kind }
    }

    fn row(&mut self, name: &str, pipe: &mut dyn Pipe) {
        let cost = measured(pipe, self.targets);
        self.print(name, cost);
    }

    fn print(&mut self, name: &str, cost: Cost) {
        let Cost { send, receive } = cost;
        let both = cost.both();
        let ratio = both / self.first.get_or_insert(cost).both();
        println!("{name:<36}{send:>8.2}{receive:>9.2}{both:>8.2}{ratio:>8.1}");
        self.numbers.put(&format!("{name}{}.send", self.kind), send);
        self.numbers.put(&format!("{name}{}.receive", self.kind), receive);
    }
}
