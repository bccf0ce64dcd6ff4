//! Checkpoints over several disks: the same bits, whole or not there whatever fails, and parts that
//! are missing, damaged or in each other's place are found.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use welter_algorithms::Bfs;
use welter_engine::{CheckpointOptions, Checkpoints, EngineError};
use welter_progress::FailureKind;
use welter_store::io::{Fault, Faults};
use welter_testing::executors::Folder;
use welter_testing::graph::Graph;

use crate::{JOB, PLAIN, alone, ladder, names, options, place};

/// More calls than the run makes.
const CALLS_MOST: u64 = 1000;
/// Vertices whose values take some pieces.
const MANY: u32 = 700_000;

/// The folder itself.
fn root(folder: &Folder) -> PathBuf {
    place(folder).parent().unwrap().to_owned()
}

/// Checkpoints in a folder, over as many others as there are.
fn striped(folder: &Path, faults: Option<Arc<Faults>>) -> CheckpointOptions {
    let disks: Vec<PathBuf> = [1, 2].map(|disk| folder.join(format!("disk-{disk}"))).into();
    for disk in &disks {
        fs::create_dir_all(disk).unwrap();
    }
    CheckpointOptions { disks, ..options(&folder.join("run"), faults) }
}

fn go(graph: &Graph, checkpoints: &Checkpoints) -> Result<Vec<u8>, EngineError> {
    let program = Bfs::new(vec![7]);
    Ok(alone().run_resumable(graph, PLAIN, &program, Some(checkpoints))?.bits())
}

fn run(folder: &Path, faults: Option<Arc<Faults>>) -> Result<Vec<u8>, EngineError> {
    let begun = Checkpoints::begin(&striped(folder, faults), JOB)?;
    go(&ladder(300, 5), &begun)
}

/// The directory of a part.
fn part(folder: &Path, turn: u32) -> PathBuf {
    let disk = folder.join(format!("disk-{turn}"));
    disk.join(names(&disk).into_iter().next().unwrap())
}

/// Whole checkpoints, from which the run continues in silence to this answer, and which are removed
/// from all disks in the end.
fn is_whole(folder: &Path, expected: &[u8], what: &str) {
    let opened = Checkpoints::open(&folder.join("run"), None);
    let opened = opened.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(go(&ladder(300, 5), &opened).unwrap() == expected, "{what}: another answer");
    assert_eq!(opened.notes(), [""; 0], "{what}");
    opened.remove().unwrap();
    is_empty(folder, what);
}

fn is_empty(folder: &Path, what: &str) {
    let left: Vec<String> = names(folder)
        .into_iter()
        .flat_map(|name| {
            names(&folder.join(&name)).into_iter().chain((name == "run").then_some(name))
        })
        .collect();
    assert!(left.is_empty(), "{what} leaves {left:?}");
}

#[test]
fn a_call_that_fails_on_any_disk_leaves_the_checkpoint_before() {
    let expected = run(&root(&Folder::new()), None).unwrap();
    for fault in [Fault::Errno(5), Fault::Errno(28)] {
        let mut nth = 1;
        loop {
            let (folder, what) = (Folder::new(), format!("{fault:?} at call {nth}"));
            let faults = Faults::nth(nth, fault);
            let done = run(&root(&folder), Some(faults.clone()));
            if !faults.fired() {
                assert!(done.unwrap() == expected && nth > 60, "{what}");
                break;
            }
            let error = done.expect_err(&what);
            let kinds = [FailureKind::Output, FailureKind::Storage];
            assert!(kinds.contains(&error.kind()), "{what}: {error}");
            if root(&folder).join("run/checkpoint").exists() {
                is_whole(&root(&folder), &expected, &what);
            } else {
                is_empty(&root(&folder), &what);
            }
            nth += 1;
            assert!(nth < CALLS_MOST, "a run makes more than {CALLS_MOST} calls");
        }
    }
}

const KILLED_AT: &str = "WELTER_TEST_KILLED_AT";
const KILLED_IN: &str = "WELTER_TEST_KILLED_IN";

#[test]
fn a_kill_leaves_states_on_several_disks_whole() {
    if let (Ok(nth), Some(path)) = (std::env::var(KILLED_AT), std::env::var_os(KILLED_IN)) {
        let faults = Faults::nth(nth.parse().unwrap(), Fault::Kill);
        run(Path::new(&path), Some(faults)).unwrap();
        return;
    }
    let expected = run(&root(&Folder::new()), None).unwrap();
    for nth in 1..CALLS_MOST {
        let (folder, what) = (Folder::new(), format!("killed at call {nth}"));
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "disks::a_kill_leaves_states_on_several_disks_whole"]);
        child.env(KILLED_AT, nth.to_string()).env(KILLED_IN, root(&folder));
        if child.output().unwrap().status.success() {
            assert!(nth > 60, "{nth}");
            return;
        }
        if root(&folder).join("run/checkpoint").exists() {
            is_whole(&root(&folder), &expected, &what);
            continue;
        }
        // A run may begin there as if nothing had been.
        let begun = Checkpoints::begin(&striped(&root(&folder), None), JOB);
        let begun = begun.unwrap_or_else(|error| panic!("{what}: {error}"));
        begun.remove().unwrap();
        is_empty(&root(&folder), &what);
    }
    panic!("a run makes more than {CALLS_MOST} calls");
}

#[test]
fn states_of_several_pieces_lie_on_all_disks_and_come_back() {
    let folder = Folder::new();
    let graph = ladder(MANY, 5);
    let plain = Folder::new();
    let expected = go(&graph, &crate::begin(&place(&plain))).unwrap();
    let begun = Checkpoints::begin(&striped(&root(&folder), None), JOB).unwrap();
    assert!(go(&graph, &begun).unwrap() == expected);
    drop(begun);
    let directory = root(&folder).join("run");
    let state = names(&directory).into_iter().rfind(|name| name.starts_with("state-")).unwrap();
    let bytes = |file: PathBuf| fs::metadata(file).unwrap().len();
    let parts = [1, 2].map(|turn| part(&root(&folder), turn));
    let lengths = [bytes(directory.join(&state)), bytes(parts[0].join(&state))];
    assert!(lengths.iter().all(|bytes| *bytes >= 1 << 20), "{lengths:?}");
    let whole = bytes(place(&plain).join(&state));
    let all = lengths.iter().sum::<u64>() + bytes(parts[1].join(&state));
    assert!(all.abs_diff(whole) < 1000, "{all} {whole}");
    let opened = Checkpoints::open(&directory, None).unwrap();
    assert!(go(&graph, &opened).unwrap() == expected);
    assert_eq!(opened.notes(), [""; 0]);
}

#[test]
fn parts_that_are_damaged_or_missing_are_named() {
    let folder = Folder::new();
    let expected = run(&root(&folder), None).unwrap();
    let directory = root(&folder).join("run");
    let go_on = || -> Result<(Vec<u8>, Vec<String>), EngineError> {
        let opened = Checkpoints::open(&directory, None)?;
        Ok((go(&ladder(300, 5), &opened)?, opened.notes()))
    };
    let last = part(&root(&folder), 1);
    let mut states = names(&last);
    states.sort_by_key(|name| (name.len(), name.clone()));
    let file = last.join(&states[1]);
    let whole = fs::read(&file).unwrap();
    for place in [0, 30, 63] {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        fs::write(&file, bytes).unwrap();
        // Of a run that goes on for some iterations other states are written.
        let copy = copied(&root(&folder));
        let opened = Checkpoints::open(&root(&copy).join("run"), None).unwrap();
        let found = go(&ladder(300, 5), &opened).unwrap();
        assert!(found == expected, "{place}");
        assert!(opened.notes()[0].contains("the one before"), "{:?}", opened.notes());
    }
    fs::remove_file(&file).unwrap();
    fs::rename(&last, root(&folder).join("elsewhere")).unwrap();
    let error = go_on().unwrap_err();
    assert_eq!(error.kind(), FailureKind::Damaged, "{error}");
    let text = error.to_string();
    assert!(text.contains("is its disk there?") && text.contains(".parts"), "{text}");
    // Made anew, the link leads there again.
    fs::write(root(&folder).join("elsewhere").join(&states[1]), whole).unwrap();
    fs::remove_file(directory.join("part-1")).unwrap();
    std::os::unix::fs::symlink(root(&folder).join("elsewhere"), directory.join("part-1")).unwrap();
    let (found, notes) = go_on().unwrap();
    assert!(found == expected && notes.is_empty(), "{notes:?}");
}

/// A copy of all, with links that lead to where they led.
fn copied(folder: &Path) -> Folder {
    let copy = Folder::new();
    let done = Command::new("cp").arg("-a").arg(folder.join(".")).arg(root(&copy)).status();
    assert!(done.unwrap().success());
    let [directory, disk] = [root(&copy).join("run"), root(&copy).join("disk-1")];
    fs::remove_file(directory.join("part-1")).unwrap();
    let target = disk.join(names(&disk).into_iter().next().unwrap());
    std::os::unix::fs::symlink(target, directory.join("part-1")).unwrap();
    let disk = root(&copy).join("disk-2");
    fs::remove_file(directory.join("part-2")).unwrap();
    let target = disk.join(names(&disk).into_iter().next().unwrap());
    std::os::unix::fs::symlink(target, directory.join("part-2")).unwrap();
    copy
}
