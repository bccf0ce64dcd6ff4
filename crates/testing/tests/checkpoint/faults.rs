//! Calls that fail, disks that are full, and a process that is killed, at every step of a run that
//! writes checkpoints.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use welter_algorithms::Bfs;
use welter_engine::{Checkpoints, EngineError};
use welter_store::io::{Call, Fault, Faults};
use welter_testing::executors::{Executor, Folder};

use crate::{JOB, PLAIN, alone, ladder, names, options, place, routes, stored};
use welter_progress::FailureKind;

/// More calls than the run makes.
const CALLS_MOST: u64 = 1000;

/// The bytes of the answer of a run from its begin.
fn run(
    executor: &Executor,
    directory: &Path,
    faults: Option<Arc<Faults>>,
) -> Result<Vec<u8>, EngineError> {
    let begun = Checkpoints::begin(&options(directory, faults), JOB)?;
    go(executor, &begun)
}

fn go(executor: &Executor, checkpoints: &Checkpoints) -> Result<Vec<u8>, EngineError> {
    let (graph, program) = (ladder(300, 5), Bfs::new(vec![7]));
    Ok(executor.run_resumable(&graph, PLAIN, &program, Some(checkpoints))?.bits())
}

/// Whole checkpoints in a directory, from which the run continues in silence to this answer.
fn is_whole(directory: &Path, expected: &[u8], what: &str) -> Option<u64> {
    let opened =
        Checkpoints::open(directory, None).unwrap_or_else(|error| panic!("{what}: {error}"));
    let last = opened.last();
    assert!(go(&alone(), &opened).unwrap() == expected, "{what}: another answer");
    assert_eq!(opened.stats().resumed_at, last, "{what}");
    assert_eq!(opened.notes(), [""; 0], "{what}");
    last
}

/// Every call of a run fails once in this way: the run ends with 73 or 74, and continues from what
/// it has committed.
fn every_call(executor: &Executor, fault: Fault) {
    let expected = run(executor, &place(&Folder::new()), None).unwrap();
    for nth in 1..CALLS_MOST {
        let (folder, what) = (Folder::new(), format!("{fault:?} at call {nth}"));
        let faults = Faults::nth(nth, fault);
        let done = run(executor, &place(&folder), Some(faults.clone()));
        if !faults.fired() {
            assert!(done.unwrap() == expected && nth > 30, "{what}");
            return;
        }
        let error = done.expect_err(&what);
        assert!(
            [FailureKind::Output, FailureKind::Storage].contains(&error.kind()),
            "{what}: {error}"
        );
        if place(&folder).join("checkpoint").exists() {
            is_whole(&place(&folder), &expected, &what);
        } else {
            let left = names(place(&folder).parent().unwrap());
            assert!(left.is_empty(), "{what} leaves {left:?}");
        }
    }
    panic!("a run makes more than {CALLS_MOST} calls");
}

#[test]
fn a_call_that_fails_leaves_the_checkpoint_before() {
    every_call(&alone(), Fault::Errno(5));
    every_call(&stored(), Fault::Errno(5));
    routes().for_each(|executor| every_call(&executor, Fault::Errno(5)));
}

#[test]
fn a_disk_that_is_full_leaves_the_checkpoint_before() {
    let expected = run(&alone(), &place(&Folder::new()), None).unwrap();
    let mut iterations = Vec::new();
    for nth in 1..CALLS_MOST {
        let (folder, what) = (Folder::new(), format!("full at write {nth}"));
        let faults = Faults::from(Call::Write, nth, Fault::Errno(28));
        let done = run(&alone(), &place(&folder), Some(faults.clone()));
        if !faults.fired() {
            assert!(iterations.len() > 5, "{iterations:?}");
            return;
        }
        assert_eq!(done.expect_err(&what).kind(), FailureKind::Storage, "{what}");
        if !place(&folder).exists() {
            continue;
        }
        let files = names(&place(&folder));
        assert!(files.iter().all(|name| !name.contains("tmp")), "{what} leaves {files:?}");
        iterations.extend(is_whole(&place(&folder), &expected, &what));
    }
    panic!("a run makes more writes");
}

#[test]
fn after_a_sync_that_failed_nothing_is_tried_again() {
    let folder = Folder::new();
    // The first manifest, its directory, the one around that; then the file of a checkpoint.
    let faults = Faults::nth_of(Call::Sync, 4, Fault::Errno(5));
    let begun = Checkpoints::begin(&options(&place(&folder), Some(faults.clone())), JOB).unwrap();
    assert_eq!(go(&alone(), &begun).unwrap_err().kind(), FailureKind::Storage);
    let calls = faults.seen();
    let error = go(&alone(), &begun).unwrap_err();
    assert!(error.to_string().contains("a sync failed before"), "{error}");
    assert_eq!((error.kind(), faults.seen()), (FailureKind::Storage, calls));
}

/// Set in a process that shall be killed at this call, of a run in this way, in a folder.
const KILLED_AT: &str = "WELTER_TEST_KILLED_AT";
const KILLED_BY: &str = "WELTER_TEST_KILLED_BY";
const KILLED_IN: &str = "WELTER_TEST_KILLED_IN";

#[test]
fn a_kill_leaves_the_old_checkpoint_or_the_new_one() {
    if let (Ok(nth), Some(path)) = (std::env::var(KILLED_AT), std::env::var_os(KILLED_IN)) {
        let faults = Faults::nth(nth.parse().unwrap(), Fault::Kill);
        let by = std::env::var(KILLED_BY).unwrap().parse().unwrap();
        run(&killed(by), Path::new(&path), Some(faults)).unwrap();
        return;
    }
    (0..=routes().count()).for_each(every_kill);
}

/// In memory, or by one of the routes.
fn killed(by: usize) -> Executor {
    [alone()].into_iter().chain(routes()).nth(by).unwrap()
}

fn every_kill(by: usize) {
    let expected = run(&killed(by), &place(&Folder::new()), None).unwrap();
    let mut found = Vec::new();
    for nth in 1..CALLS_MOST {
        let (folder, what) = (Folder::new(), format!("killed at call {nth}"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "faults::a_kill_leaves_the_old_checkpoint_or_the_new_one"]);
        child.env(KILLED_AT, nth.to_string()).env(KILLED_IN, place(&folder));
        child.env(KILLED_BY, by.to_string());
        let ended = child.output().unwrap();
        if ended.status.success() {
            // Every iteration was the last one that was committed, one after the other.
            found.dedup();
            let all: Vec<_> = (0..found.len() as u64).collect();
            assert!(found == all && all.len() > 5, "{found:?}");
            return;
        }
        if place(&folder).join("checkpoint").exists() {
            found.push(is_whole(&place(&folder), &expected, &what).unwrap_or(0));
        }
    }
    panic!("a run makes more than {CALLS_MOST} calls");
}
