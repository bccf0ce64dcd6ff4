//! Faults of machines that are processes, end to end: killed at random, paused, slowed down, cut
//! off for a while. `cargo xtask faults` names the other ones.
//!
//! `WELTER_KILLS=1000` makes as many kills at random, of which `WELTER_KILLS_FROM=7` makes others.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cgroup::skipped;
use crate::computers::{alike, ended, free_port, in_networks, ip, machine as computer, with_key};
use crate::sandbox::{Ended, Sandbox};

/// Number that the environment states.
pub(crate) fn stated(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
}

/// The process of a rank of a command, while there is one.
pub(crate) fn machine(command: u32, rank: usize) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{command}/task/{command}/children")).ok()?;
    let is_rank = |id: &&str| {
        let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        let at = words.iter().position(|word| *word == b"--cluster-machine");
        let seat = at.and_then(|at| words.get(at + 1)).copied().unwrap_or_default();
        seat.starts_with(format!("{rank}:").as_bytes())
    };
    let id = children.split_whitespace().find(is_rank)?.parse().ok()?;
    Pid::from_raw(id)
}

/// Folder of a machine below a scratch directory, once there is one.
pub(crate) fn folder(scratch: &Path, rank: usize) -> Option<PathBuf> {
    let mut names = fs::read_dir(scratch).ok()?.flatten().map(|it| it.path());
    let of_cluster = |path: &PathBuf| path.to_string_lossy().contains("welter-cluster-");
    Some(names.find(of_cluster)?.join(format!("machine-{rank}")))
}

/// Waits until a machine of a command has stored a manifest. False where the command has ended.
fn is_under_way(command: &mut Child, scratch: &Path) -> bool {
    let began = Instant::now();
    loop {
        let manifests = folder(scratch, 0).map(|it| it.join("manifests"));
        let stored = manifests.and_then(|it| fs::read_dir(it).ok()).map_or(0, Iterator::count);
        if stored > 0 {
            return true;
        }
        if command.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(began.elapsed() < Duration::from_mins(3), "it begins");
        std::thread::sleep(Duration::from_millis(1));
    }
}

const RUN: &str = "run pagerank rmat:11 --iterations 150 --tolerance 0 -q";

/// A run on machines with files in the sandbox, and the result of one process beside it.
pub(crate) fn begun(options: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    sandbox.must(&format!("{RUN} -o one.csv"));
    let line = format!("{RUN} --cluster {options} --scratch . -o many.csv --report r.json");
    (sandbox, line)
}

/// Waits for a run that must end well with the answer of one process, and reads its report.
fn answered(sandbox: &Sandbox, command: Child) -> Value {
    let ended = Ended::waited(command);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    alike(sandbox, ["one.csv", "many.csv"]);
    serde_json::from_slice(&sandbox.read("r.json")).unwrap()
}

#[test]
fn machines_that_are_killed_at_random_change_nothing() {
    let (kills, mut state) = (stated("WELTER_KILLS", 4), stated("WELTER_KILLS_FROM", 1));
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let (mut done, mut runs, mut restarts) = (0, 0, 0);
    let mut slowest = Duration::ZERO;
    while done < kills {
        let route = ["fold", "spill", "send"][runs % 3];
        let (sandbox, line) = begun(&format!("local:3 --route {route}"));
        let mut command = sandbox.command(&line).spawn().unwrap();
        let began = Instant::now();
        runs += 1;
        assert!(runs as u64 <= 20 * kills + 20, "runs are over before a machine is killed");
        // In the beginning too, when nothing is committed. Route `send` has no manifests.
        let is_early = random(4) == 0 || route == "send";
        if !is_early && !is_under_way(&mut command, sandbox.path()) {
            answered(&sandbox, command);
            continue;
        }
        // The second one may meet a recovery.
        for _ in 0..=random(2) {
            std::thread::sleep(Duration::from_millis(random(200)));
            if let Some(victim) = machine(command.id(), random(3) as usize) {
                // It may have ended in this moment.
                done += u64::from(kill_process(victim, Signal::KILL).is_ok());
            }
        }
        let report = answered(&sandbox, command);
        restarts += report["cluster"]["restarts"].as_u64().unwrap();
        slowest = slowest.max(began.elapsed());
    }
    println!("{done} kills in {runs} runs, {restarts} restarts, slowest {slowest:?}");
}

#[test]
fn a_machine_that_is_killed_while_it_reads_changes_nothing() {
    let sandbox = Sandbox::new();
    let row = |at: u64| format!("v{},v{}\n", at * at % 4_999, at * 7 % 5_003);
    sandbox.write("names.csv", (0..200_000).map(row).collect::<String>());
    let line = "run pagerank names.csv --iterations 5 -q --scratch .";
    sandbox.must(&format!("{line} -o one.csv"));
    for pause in [0, 30, 100, 300] {
        let line = format!("{line} --cluster local:3 -o many.csv --report r.json");
        let mut command = sandbox.command(&line).spawn().unwrap();
        let began = Instant::now();
        let victim = loop {
            if let Some(victim) = machine(command.id(), 1) {
                break Some(victim);
            }
            if command.try_wait().unwrap().is_some() {
                break None;
            }
            assert!(began.elapsed() < Duration::from_mins(3), "it begins");
            std::thread::sleep(Duration::from_millis(1));
        };
        std::thread::sleep(Duration::from_millis(pause));
        // It may have ended by now.
        let _ = victim.map(|victim| kill_process(victim, Signal::KILL));
        answered(&sandbox, command);
    }
}

#[test]
fn a_machine_that_is_paused_is_suspected_and_goes_on() {
    let (sandbox, line) = begun("local:3 --route fold");
    let mut command = sandbox.command(&line).spawn().unwrap();
    assert!(is_under_way(&mut command, sandbox.path()), "a pause is for a run that is under way");
    let paused = machine(command.id(), 1).expect("a machine of a run that is under way");
    kill_process(paused, Signal::STOP).unwrap();
    std::thread::sleep(Duration::from_secs(5));
    kill_process(paused, Signal::CONT).unwrap();
    let report = answered(&sandbox, command);
    assert!(report["cluster"]["suspicions"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn a_computer_that_is_paused_for_long_is_missed_and_ends_as_all_do() {
    let sandbox = with_key();
    let line = "run pagerank rmat:10 --iterations 200000 --tolerance 0 -q --credentials key \
                --route fold --scratch . -o many.csv";
    let port = free_port();
    let begin = |rank| computer(&sandbox, line, (rank, 3, port)).spawn().unwrap();
    let mut all: Vec<Child> = (0..3).map(begin).collect();
    let began = Instant::now();
    let stored = || {
        let mut names = sandbox.files().into_iter();
        let first = names.find(|it| it.starts_with("welter-cluster") && it.ends_with("-0"));
        let manifests = first.map(|it| sandbox.path().join(it).join("manifests"));
        manifests.and_then(|it| fs::read_dir(it).ok()).map_or(0, Iterator::count)
    };
    while stored() == 0 {
        assert!(began.elapsed() < Duration::from_mins(2), "it begins");
        std::thread::sleep(Duration::from_millis(5));
    }
    let paused = all.pop().unwrap();
    let process = Pid::from_child(&paused);
    kill_process(process, Signal::STOP).unwrap();
    for (rank, ended) in ended(all).iter().enumerate() {
        assert_eq!(ended.code, Some(75), "{rank}: {}", ended.stderr);
        assert!(ended.stderr.contains("machine 2"), "{rank}: {}", ended.stderr);
    }
    kill_process(process, Signal::CONT).unwrap();
    let ended = Ended::waited(paused);
    assert_eq!(ended.code, Some(75), "{}", ended.stderr);
    assert!(!sandbox.files().contains(&"many.csv".to_owned()));
}

/// A control group (version 1) whose processes get a fifth of a core.
struct Fifth(PathBuf);

impl Fifth {
    fn new() -> Result<Self, String> {
        let name = format!("welter-test-{}", std::process::id());
        let folder = PathBuf::from("/sys/fs/cgroup/cpu").join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        fs::create_dir(&folder).map_err(failed)?;
        let group = Self(folder.clone());
        fs::write(folder.join("cpu.cfs_period_us"), "100000").map_err(failed)?;
        fs::write(folder.join("cpu.cfs_quota_us"), "20000").map_err(failed)?;
        Ok(group)
    }
}

impl Drop for Fifth {
    fn drop(&mut self) {
        // A group that still has a process cannot go; it does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_machine_of_a_fifth_of_a_core_has_its_answer() {
    let group = match Fifth::new() {
        Ok(group) => group,
        Err(why) => return skipped(&why),
    };
    for bias in ["", "--steal-bias 0"] {
        let (sandbox, line) = begun(&format!("local:2 --route fold {bias}"));
        let command = sandbox.command(&line).spawn().unwrap();
        let began = Instant::now();
        let slow = loop {
            if let Some(slow) = machine(command.id(), 1) {
                break slow;
            }
            assert!(began.elapsed() < Duration::from_mins(1), "it begins");
        };
        let processes = group.0.join("cgroup.procs");
        fs::write(processes, slow.as_raw_nonzero().to_string()).unwrap();
        let report = answered(&sandbox, command);
        let helped = report["cluster"]["machines"][0]["partitions_helped"].as_u64().unwrap();
        assert!(bias.is_empty() || helped == 0, "{bias}: {helped} partitions");
    }
}

#[test]
fn a_cut_that_heals_changes_nothing() {
    let Some((net, sandbox)) = in_networks() else { return };
    sandbox.must(&format!("{RUN} -o one.csv"));
    let name = &net.name;
    // Nothing comes to the third computer and from it, and then nothing of the second one to it.
    let both_ways = ["b link set v2 down", "b link set v2 up"];
    let nowhere = "1 neigh replace 10.77.0.3 lladdr 02:00:00:00:00:99 dev e";
    for [cut, heal] in [both_ways, [nowhere, "1 neigh del 10.77.0.3 dev e"]] {
        let all = net.start(&sandbox, &format!("{RUN} --scratch . -o many.csv"));
        let began = Instant::now();
        while !sandbox.files().iter().any(|name| name.starts_with("welter-cluster")) {
            assert!(began.elapsed() < Duration::from_mins(1), "it begins");
            std::thread::sleep(Duration::from_millis(5));
        }
        ip(&format!("-n {name}{cut}")).unwrap();
        // Less than the silence after which a machine is taken to be gone.
        std::thread::sleep(Duration::from_secs(3));
        ip(&format!("-n {name}{heal}")).unwrap();
        for (rank, ended) in ended(all).iter().enumerate() {
            assert_eq!(ended.code, Some(0), "{cut}, {rank}: {}", ended.stderr);
        }
        alike(&sandbox, ["one.csv", "many.csv"]);
        fs::remove_file(sandbox.path().join("many.csv")).unwrap();
    }
}
