//! Thousands of small schedules: all clean, all paths taken, every planted bug seen, every seed
//! repeatable.

#![expect(clippy::disallowed_macros, reason = "figures are for those who run a test by hand")]

use welter_protocol::planted::Bug;
use welter_sim::campaign::run;
use welter_sim::hunt::find;
use welter_sim::planted::BUGS;
use welter_sim::schedule::{Overrides, Schedule};
use welter_sim::world::World;

/// Seeds on every change; `cargo xtask campaign` runs more.
const SEEDS: u64 = 10_000;

#[test]
fn seeds_are_clean_and_every_path_is_taken() {
    let tally = run(0, SEEDS, 2, &Overrides::default());
    println!("{}", tally.table());
    assert!(tally.failures.is_empty(), "{:?}", tally.failures);
    assert_eq!(tally.too_rare(), [""; 0]);
}

#[test]
fn a_seed_does_again_what_it_did() {
    let hashes = |overrides: &Overrides| -> Vec<u64> {
        (0..150).map(|seed| World::run(&Schedule::of(seed, overrides), false).hash).collect()
    };
    let first = hashes(&Overrides::default());
    assert_eq!(first, hashes(&Overrides::default()));
    let mut different = first.clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), first.len(), "and another one something else");
}

#[test]
fn a_trace_changes_nothing_and_tells_what_happened() {
    let overrides = Overrides { calm: true, machines: Some(3), ..Overrides::default() };
    let schedule = Schedule::of(7, &overrides);
    let (plain, traced) = (World::run(&schedule, false), World::run(&schedule, true));
    assert_eq!(plain.hash, traced.hash);
    assert!(plain.trace.is_empty());
    let trace = traced.trace.join("\n");
    for what in ["Summon", "install", "begin Ingest 0", "pull", "persists version 0", "finish"] {
        assert!(trace.contains(what), "{what} in\n{trace}");
    }
}

#[test]
fn every_planted_bug_is_found() {
    for bug in BUGS {
        for unaudited in [false, true] {
            let found = find(bug, unaudited, 0..1000);
            assert!(found.is_some(), "{bug:?} was not found, by checkers alone: {unaudited}");
        }
    }
}

/// A checker of how much a machine or a message has, or asks for, looks at what no answer shows.
#[test]
fn shares_that_are_too_large_are_found_by_their_checker() {
    for (bug, says) in [
        (Bug::DegreesOfAll, "bytes of degrees of a partition"),
        (Bug::UpdatesHandedOver, "bytes of accumulators"),
        (Bug::KeptUnbounded, "updates in memory, more than"),
        (Bug::PullsUnbounded, "pulls open"),
    ] {
        let (_, failure) = find(bug, true, 0..100).expect("it is found");
        assert!(failure.contains(says), "{bug:?}: {failure}");
    }
}

/// Findings are the bug, and not the way in which it was planted.
#[test]
fn bugs_that_need_a_fault_are_not_seen_without_one() {
    for bug in [
        Bug::NoDedup,
        Bug::StaleEpoch,
        Bug::StaleTotals,
        Bug::NoChecksum,
        Bug::KeptUpdates,
        Bug::NoFrameSum,
        Bug::NoPayloadSum,
        Bug::PieceSkipped,
        Bug::NotRestored,
        Bug::OlderProcess,
        Bug::OrphansLeft,
        Bug::EffectsOvertake,
        Bug::WorksOverlap,
    ] {
        let overrides = Overrides { bug: Some(bug), calm: true, ..Overrides::default() };
        let failures = run(0, 200, 2, &overrides).failures;
        assert!(failures.is_empty(), "{bug:?}: {failures:?}");
    }
}
