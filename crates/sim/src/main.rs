//! Runs seeds: `welter-sim --seeds N [--first S]`, or one with `--seed S [--trace]`.

#![expect(clippy::disallowed_macros, reason = "this is the command")]

use std::process::ExitCode;

use welter_protocol::planted::{ARE_PLANTED, Bug};
use welter_sim::campaign::{CampaignTotals, RELEASE, run};
use welter_sim::hunt::find;
use welter_sim::planted::BUGS;
use welter_sim::replay::{arguments as arguments_of, command, overrides};
use welter_sim::schedule::{Overrides, Schedule};
use welter_sim::world::World;

/// Memory of the heap: messages, blocks and their queues are many and small, and the system's
/// allocator takes an eighth longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "\
usage: cargo xtask sim [OPTION...]

  --seeds N     runs N seeds (1000), prints which paths they took, and fails if a checker
                found something or a path was never taken
  --campaign    runs the seeds of a release (100000), and fails too if a path was taken, or a
                kind of fault happened, in too few of them
  --first S     begins with this seed (0)
  --threads T   on T threads (2)
  --seed S      runs one seed, twice, and compares the hashes of all events
  --trace       with --seed: prints what happened
  --calm        no faults
  --algorithm A, --route R, --machines M
                this algorithm, route (fold, spill) or number of machines alone
  --bug B       with this bug; --unaudited: without the protocol's own audits, and assertions that
                would find it
  --planted N   looks for each planted bug, or that of --bug alone, in N seeds, with audits and
                by checkers alone, and fails if one is not found
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str| -> Option<u64> {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse().ok()
    };
    if has("--help") || arguments.is_empty() {
        print!("{USAGE}");
        return if has("--help") { ExitCode::SUCCESS } else { ExitCode::from(2) };
    }
    let overrides = match overrides(&arguments) {
        Ok(overrides) => overrides,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let plants = overrides.bug.is_some() || has("--planted");
    if plants && !ARE_PLANTED {
        eprintln!("a release has no planted bugs: build the simulator for development");
        return ExitCode::from(2);
    }
    if let Some(seed) = value("--seed") {
        return one(seed, has("--trace"), &overrides);
    }
    if let Some(seeds) = value("--planted") {
        return planted(seeds, overrides.bug);
    }
    let of_release = has("--campaign");
    let usual = if of_release { RELEASE } else { 1000 };
    let (first, count) = (value("--first").unwrap_or(0), value("--seeds").unwrap_or(usual));
    let threads = value("--threads").unwrap_or(2);
    // Of the sources that this was built from, if who calls knows.
    let commit = arguments.iter().skip_while(|argument| *argument != "--commit").nth(1);
    let commit = commit.map_or("unknown", String::as_str);
    println!(
        "commit {commit}, {count} seeds from {first} on, {threads} threads{}",
        arguments_of(&overrides)
    );
    let tally = many([first, count, threads], &overrides, commit);
    // Some paths are not for all.
    let of_all = arguments_of(&overrides).is_empty();
    let (never, rare) = match (of_all, of_release) {
        (false, _) => (Vec::new(), Vec::new()),
        (true, false) => (tally.never(), Vec::new()),
        (true, true) => (Vec::new(), tally.too_rare()),
    };
    verdict(&tally, &never, &rare)
}

#[expect(
    clippy::disallowed_types,
    reason = "how long it took is told to people, and to no machine"
)]
fn many([first, count, threads]: [u64; 3], overrides: &Overrides, commit: &str) -> CampaignTotals {
    let began = std::time::Instant::now();
    let tally = run(first, count, threads as usize, overrides);
    println!("{}", tally.table());
    println!("{:.0} schedules a second", tally.schedules as f64 / began.elapsed().as_secs_f64());
    for (seed, failure) in tally.failures.iter().take(10) {
        println!("seed {seed}: {failure}\n  replay: {}", command(*seed, overrides, commit));
    }
    tally
}

/// Says whether all was as it should be, at the end, where it is seen.
fn verdict(tally: &CampaignTotals, never: &[String], rare: &[String]) -> ExitCode {
    for path in never {
        println!("never happened: {path}");
    }
    for path in rare {
        println!("too rare: {path}");
    }
    if tally.failures.is_empty() && never.is_empty() && rare.is_empty() {
        println!("PASSED: {} schedules", tally.schedules);
        return ExitCode::SUCCESS;
    }
    let wanting = never.len() + rare.len();
    println!(
        "FAILED: {} of {} schedules, {wanting} paths and kinds of faults wanting",
        tally.failures.len(),
        tally.schedules
    );
    ExitCode::FAILURE
}

fn one(seed: u64, traced: bool, overrides: &Overrides) -> ExitCode {
    let schedule = Schedule::of(seed, overrides);
    println!(
        "seed {seed}: {} on {} machines, {} partitions, {:?}\n{:?}\nfaults: {:?}",
        schedule.job.name(),
        schedule.config.machines(),
        schedule.cut.partitions.count(),
        schedule.cut.route,
        schedule.config,
        schedule.faults
    );
    let report = World::run(&schedule, traced);
    for line in &report.trace {
        println!("{line}");
    }
    let again = World::run(&Schedule::of(seed, overrides), false);
    println!(
        "{:?} after {:.3} ms and {} events, hash {:016x}",
        report.end,
        report.time as f64 / 1e6,
        report.events,
        report.hash
    );
    if again.hash != report.hash {
        println!("another hash the second time: {:016x}", again.hash);
        return ExitCode::FAILURE;
    }
    match report.failure {
        None => ExitCode::SUCCESS,
        Some(failure) => {
            println!("failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Looks for each planted bug, or for the only one that is wanted.
fn planted(seeds: u64, only: Option<Bug>) -> ExitCode {
    let mut all = true;
    for bug in BUGS.into_iter().filter(|bug| only.is_none_or(|one| one == *bug)) {
        for unaudited in [false, true] {
            let name = format!("{bug:?}{}", if unaudited { ", by checkers" } else { "" });
            if let Some((seed, failure)) = find(bug, unaudited, 0..seeds) {
                println!("{name:<34}{:>6} seeds: {failure}", seed + 1);
            } else {
                all = false;
                println!("{name:<34} not found in {seeds} seeds");
            }
        }
    }
    if all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
