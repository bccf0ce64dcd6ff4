//! Faults, end to end: which test shows which scenario, and all of them in one go.
//!
//! Tests are those of `cargo test`, so the short set runs on every change; `faults` runs them by
//! their scenarios, and makes what needs rights a must. `faults --kills 1000` is the long set: it
//! kills as many machines at random, and a machine in each call that makes something durable.

use crate::run::{Outcome, cargo, step};
use std::path::Path;

/// A scenario: its name, the test target, and the tests.
type Scenario = (&'static str, &'static str, &'static [&'static str]);

/// Scenarios that have tests of processes. Those of virtual machines alone are `cargo xtask sim`,
/// and power cuts are `cargo xtask powercuts`.
const SCENARIOS: &[Scenario] = &[
    (
        "machines killed at random, rank 0 among them, and again while others go back",
        "cli",
        &["cluster_faults::machines_that_are_killed", "computers::a_machine_that_is_killed"],
    ),
    ("the process that started the run killed, and the run resumed", "cli", &["cluster_resume"]),
    ("machines killed or refused by the system in durable calls", "cli", &["cluster_kills"]),
    ("a machine paused", "cli", &["cluster_faults::a_machine_that_is_paused"]),
    ("a computer paused for longer", "cli", &["cluster_faults::a_computer_that_is_paused"]),
    ("a link cut for a while, both ways and one way", "cli", &["cluster_faults::a_cut_that_heals"]),
    ("links cut for good, strangers at the door", "cli", &["computers::four_computers"]),
    ("bits that flip on disks of machines, and one that is full", "cli", &["cluster_storage"]),
    ("a machine that lost its disk", "cli", &["computers::a_machine_without_its_disk"]),
    ("datagrams lost, repeated, late and damaged", "cli", &["sending::lost", "sending::damaged"]),
    ("a machine of a fifth of a core", "cli", &["cluster_faults::a_machine_of_a_fifth"]),
    ("budgets of memory, kept and refused", "cli", &["cluster_budget", "cgroup"]),
    ("calls of files that kill or fail, disks that are full", "cli", &["kills", "scratch"]),
    ("inputs that are hostile", "cli", &["bombs", "hostile", "bad_input"]),
    ("two that write one manifest in a bucket", "cli", &["bucket_checkpoints"]),
    ("hostile peers, reasons that all machines share", "faults", &[]),
    ("words of machines that were changed", "seeds", &[]),
];

/// `faults [--kills N]`.
pub(crate) fn faults(root: &Path, arguments: &[String]) -> Outcome {
    let kills = match arguments {
        [] => None,
        [option, kills] if option == "--kills" => Some(kills),
        _ => return Err("usage: cargo xtask faults [--kills N]".to_owned()),
    };
    let mut failed = Vec::new();
    for (name, target, tests) in SCENARIOS {
        let done = step(name, || {
            let mut command = cargo(root).args(["test", "--workspace", "--test", target, "--"]);
            command = command.args(*tests).arg("--nocapture");
            command = command.env("WELTER_REQUIRE", "netns,cgroup,mount");
            if let Some(kills) = kills {
                command = command.env("WELTER_KILLS", kills).env("WELTER_STRIDE", "1");
            }
            command.finish()
        });
        failed.extend(done.err());
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ")) }
}
