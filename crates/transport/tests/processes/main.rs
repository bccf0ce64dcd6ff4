//! PageRank by two processes over shared memory: this one, and itself again as the other machine.
//!
//! Each opens the regions that the other one made, by the descriptors of that process.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use pagerank::Machine;
use welter_transport::{Layout, SharedRx, SharedTx};

#[path = "../lanes/pagerank.rs"]
mod pagerank;

/// Variable by which the parent passes to the child `process descriptor`.
const OTHER: &str = "WELTER_LANES_OTHER";

const BUCKETS: usize = 3;
const LAYOUT: Layout = Layout::DATAGRAM;

/// Lanes of one machine to both, and the descriptors of their regions.
fn senders() -> (SharedTx, [i32; 2]) {
    let mut sender = SharedTx::default();
    let descriptors = [0; 2].map(|_| sender.create(BUCKETS, LAYOUT).unwrap().as_raw_fd());
    (sender, descriptors)
}

/// The region of a process, here or elsewhere.
fn open(receiver: &mut SharedRx, process: u32, descriptor: i32) {
    let path = format!("/proc/{process}/fd/{descriptor}");
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    receiver.open(OwnedFd::from(file), BUCKETS, LAYOUT).unwrap();
}

fn run(rank: u32, sender: SharedTx, regions: [(u32, i32); 2]) {
    let mut receiver = SharedRx::default();
    for (process, descriptor) in regions {
        open(&mut receiver, process, descriptor);
    }
    let machine = Machine { rank, machines: 2 };
    assert!(machine.is_right(&machine.run(sender, receiver)), "machine {rank} is wrong");
}

fn main() {
    let (sender, mine) = senders();
    let here = std::process::id();
    if let Ok(other) = std::env::var(OTHER) {
        let (process, descriptor) = other.split_once(' ').unwrap();
        let region = (process.parse().unwrap(), descriptor.parse().unwrap());
        println!("{}", mine[0]);
        return run(1, sender, [region, (here, mine[1])]);
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(OTHER, format!("{here} {}", mine[1]))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    run(0, sender, [(here, mine[0]), (child.id(), line.trim().parse().unwrap())]);
    assert!(child.wait().unwrap().success());
    println!("PageRank by two processes over shared memory: ok");
}
