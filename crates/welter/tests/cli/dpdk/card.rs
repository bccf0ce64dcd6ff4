//! Computers with a network card each (`--dpdk-device`): network namespaces on a bridge, whose
//! cards are those of the kernel (`af_packet`). A real card differs in its rings and in how it
//! spreads; names, addresses, seals and what becomes of a lost machine are the same.

use std::fs;
use std::io::Write;
use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::computers::{Net, alike, ended, in_networks};
use crate::sandbox::{Ended, Sandbox};

/// Computers of `in_networks`.
const MACHINES: usize = 4;

/// The card of each, as DPDK names it.
const CARD: &str = "net_af_packet0,iface=e,qpairs=1,blocksz=65536,framesz=2048,framecnt=512";

/// Faults of datagrams, of which all kinds are noticed: cards have seals.
const FAULTS: &str = "lost=50,repeated=50,late=50,damaged=50,seed=5";

/// Starts a machine of a run over cards, with these faults.
fn started(net: &Net, sandbox: &Sandbox, (of, faults): (&str, &str), rank: usize) -> Child {
    let line = format!(
        "run {of} -q --route send --transport dpdk --dpdk-device {CARD} --scratch . \
         -o many.csv --report r.json"
    );
    let mut command = net.command(sandbox, &line, rank);
    if !faults.is_empty() {
        command.env("WELTER_TEST_FAULTS", faults);
    }
    command.spawn().unwrap()
}

/// Whether all have ended well with the answer of one. Where cards of the kernel cannot be had,
/// that is said, and `WELTER_REQUIRE=dpdk` makes a failure of it.
fn answered(sandbox: &Sandbox, machines: Vec<Child>) -> bool {
    let all: Vec<Ended> = ended(machines);
    let missing = |it: &Ended| {
        it.stderr.lines().find(|line| line.contains("--transport dpdk: ")).map(str::to_owned)
    };
    if let Some(why) = all.iter().find_map(missing) {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|name| name != "dpdk"), "{why}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: runs over cards of the kernel: {why}");
        return false;
    }
    for (rank, ended) in all.iter().enumerate() {
        assert_eq!(ended.code, Some(0), "{rank}: {}", ended.stderr);
    }
    alike(sandbox, ["one.csv", "many.csv"]);
    true
}

#[test]
fn computers_with_cards_find_what_one_does() {
    let Some((net, sandbox)) = in_networks() else { return };
    for run in [
        ("pagerank graph.mtx --iterations 5", ""),
        ("pagerank graph.mtx --iterations 5", FAULTS),
        ("bfs graph.mtx --source 1", FAULTS),
    ] {
        sandbox.must(&format!("run {} -q -o one.csv", run.0));
        let machines = (0..MACHINES).map(|rank| started(&net, &sandbox, run, rank));
        if !answered(&sandbox, machines.collect()) {
            return;
        }
        fs::remove_file(sandbox.path().join("many.csv")).unwrap();
    }
}

/// Whether the machine of rank 0 has written a checkpoint.
fn has_checkpoint(sandbox: &Sandbox) -> bool {
    let files = sandbox.files();
    let is_first = |name: &&String| name.starts_with("welter-cluster") && name.ends_with("-0");
    let folder = files.iter().find(is_first).map(|name| sandbox.path().join(name));
    let files = folder.and_then(|it| fs::read_dir(it.join("messages")).ok());
    let mut names = files.into_iter().flatten().flatten().map(|file| file.file_name());
    names.any(|name| name.to_string_lossy().starts_with(|first: char| first.is_ascii_digit()))
}

/// The others continue, by cards that they have closed and opened again.
#[test]
fn a_computer_with_a_card_that_is_lost_comes_again() {
    let Some((net, sandbox)) = in_networks() else { return };
    let of = "pagerank rmat:10 --iterations 3000 --tolerance 0";
    sandbox.must(&format!("run {of} -q -o one.csv"));
    let begin = |rank| started(&net, &sandbox, (of, ""), rank);
    let mut machines: Vec<Child> = (0..MACHINES).map(begin).collect();
    let began = Instant::now();
    while !has_checkpoint(&sandbox) {
        assert!(began.elapsed() < Duration::from_mins(2), "it begins");
        if machines.iter_mut().any(|it| it.try_wait().unwrap().is_some()) {
            assert!(
                !answered(&sandbox, machines),
                "a run is longer than what is between checkpoints"
            );
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    machines[2].kill().unwrap();
    machines[2].wait().unwrap();
    machines[2] = begin(2);
    if answered(&sandbox, machines) {
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["cluster"]["restarts"], 1, "{report}");
    }
}
