//! Machines of one computer, with cables of memory (memif) between them.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};

use crate::cluster::write_tables;
use crate::cluster_faults::{begun, folder, machine};
use crate::computers::alike;
use crate::sandbox::{Ended, Sandbox};
use crate::sending::{CASES, LOSSES, a_second_fold_is_found, answers};

#[test]
fn messages_over_dpdk_have_the_answers_of_one_process() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, case) in CASES.iter().enumerate() {
        let machines = 2 + number % 3;
        let options = format!("--cluster local:{machines} --transport dpdk");
        answers(&sandbox, case, (&options, ""));
    }
    let files = ["priors.csv", "ratings.mtx", "some.csv"];
    assert_eq!(sandbox.files(), files, "machines leave nothing");
}

#[test]
fn lost_packets_of_dpdk_change_no_answer() {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, case) in CASES.iter().enumerate() {
        let machines = 2 + number % 3;
        let options = format!("--cluster local:{machines} --transport dpdk");
        answers(&sandbox, case, (&options, LOSSES[1 + number % 2]));
    }
}

#[test]
fn a_bucket_that_is_folded_twice_ends_the_run() {
    let sandbox = Sandbox::new();
    a_second_fold_is_found(&sandbox, "--cluster local:2 --transport dpdk");
}

/// Waits until a machine has its end of a cable. False where the command has ended.
fn has_cables(command: &mut Child, scratch: &Path) -> bool {
    let began = Instant::now();
    loop {
        let files = folder(scratch, 0).and_then(|it| fs::read_dir(it.join("messages")).ok());
        let mut names = files.into_iter().flatten().flatten().map(|file| file.file_name());
        if names.any(|name| name.to_string_lossy().starts_with("cable-")) {
            return true;
        }
        if command.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "it begins");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// DPDK takes the memory of a cable away when its other end is gone, so the system may kill those
/// who look into it at this moment. They are started again as well, or the run ends for later.
#[test]
fn machines_with_cables_that_are_killed_change_no_answer() {
    let mut kills = 0;
    for run in 0..20 {
        let (sandbox, line) = begun("local:3 --route send --transport dpdk");
        let mut command = sandbox.command(&line).spawn().unwrap();
        if has_cables(&mut command, sandbox.path()) {
            // Later in each run: while edges travel, and between iterations.
            std::thread::sleep(Duration::from_millis(60 * run));
            let victim = machine(command.id(), run as usize % 3);
            // It may have ended in this moment.
            let is_killed = victim.is_some_and(|it| kill_process(it, Signal::KILL).is_ok());
            kills += u32::from(is_killed);
        }
        let ended = Ended::waited(command);
        match ended.code {
            Some(0) => alike(&sandbox, ["one.csv", "many.csv"]),
            Some(75) => assert!(!sandbox.files().contains(&"many.csv".to_owned())),
            code => panic!("{code:?}: {}", ended.stderr),
        }
        if kills == 4 {
            return;
        }
    }
    panic!("runs are over before a machine is killed: {kills} kills");
}
