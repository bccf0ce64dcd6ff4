//! Calls that fail, and a process that is killed, at every step of an ingest.

use std::path::Path;
use std::process::Command;

use welter_engine::kept::{KeptGraph, is_kept};
use welter_model::ids::IdMap;
use welter_progress::{FailureKind, Progress};
use welter_store::io::{Call, Fault, Faults, IoMode, IoOptions};
use welter_testing::executors::{Folder, workers};

use crate::Input;

/// More calls than an ingest of the small graph makes.
const CALLS_MOST: u64 = 400;

fn input() -> Input {
    let mut input = Input::random(9000, 800, true, 6);
    input.settings.threads = Some(1);
    input.ids = IdMap::Same;
    input
}

fn io(faults: std::sync::Arc<Faults>) -> IoOptions {
    IoOptions {
        mode: IoMode::Blocking,
        direct: false,
        faults: Some(faults),
        ..IoOptions::default()
    }
}

/// Names in the folder around a kept graph.
fn beside(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.graph().parent().unwrap()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn whole(directory: &Path) -> bool {
    let kept = KeptGraph::open(directory, &IoOptions::default()).unwrap();
    kept.check(workers(1), &Progress::new()).is_ok()
}

#[test]
fn a_call_that_fails_leaves_nothing_or_all() {
    let input = input();
    for nth in 1..CALLS_MOST {
        let folder = Folder::new();
        let faults = Faults::nth(nth, Fault::Errno(5));
        let done = input.keep(folder.graph(), &io(faults.clone()), None);
        if !faults.fired() {
            assert!(done.is_ok() && nth > 30, "{nth} calls: {done:?}");
            return;
        }
        let error = done.expect_err("a call failed");
        assert!(
            [FailureKind::Output, FailureKind::Storage].contains(&error.kind()),
            "call {nth}: {error}"
        );
        // The very last sync comes after the name.
        let left = beside(&folder);
        assert!(
            left.is_empty() || (left == ["graph"] && whole(&folder.graph())),
            "{nth}: {left:?}"
        );
    }
    panic!("an ingest makes more than {CALLS_MOST} calls");
}

#[test]
fn a_disk_that_is_full_leaves_nothing() {
    let input = input();
    for nth in 1..60 {
        let folder = Folder::new();
        let faults = Faults::from(Call::Write, nth, Fault::Errno(28));
        let done = input.keep(folder.graph(), &io(faults.clone()), None);
        if !faults.fired() {
            assert!(done.is_ok() && nth > 5, "{nth}");
            return;
        }
        assert_eq!(done.unwrap_err().kind(), FailureKind::Storage, "write {nth}");
        assert!(beside(&folder).is_empty());
    }
    panic!("an ingest makes more writes");
}

/// Set in a process that shall be killed at this call, in a folder.
const KILLED_AT: &str = "WELTER_TEST_KILLED_AT";
const KILLED_IN: &str = "WELTER_TEST_KILLED_IN";

#[test]
fn a_kill_leaves_nothing_that_opens_and_the_next_ingest_clears_it() {
    if let (Ok(nth), Some(path)) = (std::env::var(KILLED_AT), std::env::var_os(KILLED_IN)) {
        let faults = Faults::nth(nth.parse().unwrap(), Fault::Kill);
        input().keep(path.into(), &io(faults), None).unwrap();
        return;
    }
    for nth in 1..CALLS_MOST {
        let folder = Folder::new();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "faults::a_kill_leaves_nothing_that_opens_and_the_next_ingest_clears_it",
        ]);
        child.env(KILLED_AT, nth.to_string()).env(KILLED_IN, folder.graph());
        let ended = child.output().unwrap();
        if ended.status.success() {
            assert!(nth > 30 && whole(&folder.graph()), "killed at call {nth}");
            return;
        }
        if is_kept(&folder.graph()) {
            assert!(whole(&folder.graph()), "killed at call {nth}");
            continue;
        }
        assert!(!folder.graph().exists(), "killed at call {nth}");
        input().keep(folder.graph(), &IoOptions::default(), None).unwrap();
        assert_eq!(beside(&folder), ["graph"], "killed at call {nth}");
    }
    panic!("an ingest makes more than {CALLS_MOST} calls");
}

#[test]
fn what_is_there_or_not_ours_is_not_touched() {
    let folder = Folder::new();
    let parent = folder.graph().parent().unwrap().to_owned();
    std::fs::create_dir_all(parent.join(".graph.tmp-1/gen-0")).unwrap();
    std::fs::write(parent.join(".graph.tmp-1/gen-0/letters.txt"), "mine").unwrap();
    std::fs::create_dir_all(parent.join(".graph.tmp-2/gen-0")).unwrap();
    std::fs::create_dir_all(parent.join(".graph.tmp-x")).unwrap();
    let kept = input().kept(&folder);
    let again = input().keep(folder.graph(), &IoOptions::default(), None).unwrap_err();
    assert_eq!(again.kind(), FailureKind::Output, "{again}");
    assert!(kept.check(workers(1), &Progress::new()).is_ok());
    let mut left = beside(&folder);
    left.sort();
    assert_eq!(left, [".graph.tmp-1", ".graph.tmp-x", "graph"]);
}
