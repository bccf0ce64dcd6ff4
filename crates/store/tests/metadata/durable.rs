//! The Nth call of a durable write fails, for each N: the old file or the new one, nothing else.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use welter_store::StoreError;
use welter_store::durable::{Draft, make_directory, publish, replace};
use welter_store::io::{Call, Fault, Faults};

use crate::entries;
use welter_progress::FailureKind;

/// Does some work on a fresh folder with a fault in the Nth call, for each N, and hands the folder
/// over with what came of it and how many calls there were.
fn for_each_call(
    errno: i32,
    prepare: impl Fn(&Path),
    work: impl Fn(&Path, &Arc<Faults>) -> Result<(), StoreError>,
    check: impl Fn(&Path, Result<(), StoreError>, u64),
) -> u64 {
    for nth in 1.. {
        let folder = tempfile::tempdir().unwrap();
        prepare(folder.path());
        let faults = Faults::nth(nth, Fault::Errno(errno));
        let came = work(folder.path(), &faults);
        if !faults.fired() {
            came.unwrap();
            return nth - 1;
        }
        check(folder.path(), came, nth);
    }
    unreachable!()
}

#[test]
fn a_file_is_replaced_or_stays() {
    for errno in [5, 28] {
        let calls = for_each_call(
            errno,
            |folder| fs::write(folder.join("manifest"), "old").unwrap(),
            |folder, faults| replace(&folder.join("manifest"), b"new", Some(faults)),
            |folder, came, nth| {
                let error = came.unwrap_err();
                let refused = errno == 5 && nth == 1;
                assert_eq!(
                    error.kind(),
                    if refused { FailureKind::Output } else { FailureKind::Storage },
                    "{error}"
                );
                assert_eq!(entries(folder), [folder.join("manifest")], "no temporary is left");
                // Create, write, fsync, rename; only the fsync of the directory comes after.
                let expected: &[u8] = if nth <= 4 { b"old" } else { b"new" };
                assert_eq!(fs::read(folder.join("manifest")).unwrap(), expected, "call {nth}");
            },
        );
        assert_eq!(calls, 5);
    }
}

#[test]
fn a_full_disk_is_told_by_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults::from(Call::Write, 1, Fault::Errno(28));
    let error = replace(&folder.path().join("manifest"), b"new", Some(&faults)).unwrap_err();
    let StoreError::Full { directory } = &error else { panic!("{error}") };
    assert_eq!(directory, folder.path());
    assert!(entries(folder.path()).is_empty());
}

#[test]
fn short_and_interrupted_writes_are_continued() {
    for (call, fault) in [(Call::Write, Fault::Short), (Call::Write, Fault::Errno(4))] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest");
        let faults = Faults::nth_of(call, 1, fault);
        replace(&path, b"a whole manifest", Some(&faults)).unwrap();
        assert!(faults.fired());
        assert_eq!(fs::read(&path).unwrap(), b"a whole manifest");
    }
}

#[test]
fn a_draft_that_is_dropped_was_never_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("manifest");
    // A file that a killed process of the same id left is in no other's way.
    let left = folder.path().join(format!(".manifest.tmp-{}", std::process::id()));
    fs::write(&left, "left").unwrap();
    let mut draft = Draft::create(&path, None).unwrap();
    draft.append(b"half of it").unwrap();
    assert_eq!(entries(folder.path()).len(), 2);
    drop(draft);
    assert_eq!(entries(folder.path()), [left]);
}

#[test]
fn a_draft_under_its_name_stays_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids-1");
    let mut draft = Draft::create_named(&path, None).unwrap();
    draft.append(b"half of it").unwrap();
    drop(draft);
    let error = Draft::create_named(&path, None).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Output, "{error}");
    assert_eq!(entries(folder.path()), std::slice::from_ref(&path));
    assert_eq!(fs::read(&path).unwrap(), b"half of it");
    let calls = for_each_call(
        5,
        |_| {},
        |folder, faults| {
            let mut draft = Draft::create_named(&folder.join("ids-1"), Some(faults))?;
            draft.append(b"new")?;
            draft.commit()
        },
        |folder, came, nth| {
            assert!(came.is_err(), "call {nth}");
            assert!(entries(folder).iter().all(|entry| *entry == folder.join("ids-1")));
        },
    );
    // Create, write, fsync; then the fsync of the directory.
    assert_eq!(calls, 4);
}

#[test]
fn directories_are_made_and_published_whole() {
    let calls = for_each_call(
        5,
        |_| {},
        |folder, faults| {
            let [hidden, graph] = [".graph.tmp", "graph"].map(|name| folder.join(name));
            make_directory(&hidden, Some(faults))?;
            replace(&hidden.join("manifest"), b"new", Some(faults))?;
            publish(&hidden, &graph, Some(faults))
        },
        |folder, came, nth| {
            assert!(
                matches!(came.unwrap_err().kind(), FailureKind::Output | FailureKind::Storage),
                "call {nth}"
            );
            let graph = folder.join("graph");
            assert!(!graph.exists() || fs::read(graph.join("manifest")).unwrap() == b"new");
        },
    );
    // Make, fsync; five of the file; fsync, rename, fsync.
    assert_eq!(calls, 10);
}

#[test]
fn what_has_the_name_stays() {
    let folder = tempfile::tempdir().unwrap();
    let [hidden, graph] = [".graph.tmp", "graph"].map(|name| folder.path().join(name));
    make_directory(&hidden, None).unwrap();
    make_directory(&graph, None).unwrap();
    assert_eq!(make_directory(&graph, None).unwrap_err().kind(), FailureKind::Output);
    let error = publish(&hidden, &graph, None).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Output);
    assert!(error.to_string().starts_with(graph.to_str().unwrap()));
    assert!(hidden.exists());
}

/// Set in the process that is killed: the folder that it writes to.
const FOLDER: &str = "WELTER_TEST_KILLED_IN";
/// Variable that says in which call.
const NTH: &str = "WELTER_TEST_KILLED_AT";

/// Work of the process that is killed.
fn write_until_killed(folder: &Path) {
    let nth = std::env::var(NTH).unwrap().parse().unwrap();
    let faults = Faults::nth(nth, Fault::Kill);
    replace(&folder.join("manifest"), b"new", Some(&faults)).unwrap();
    let hidden = folder.join(".graph.tmp");
    make_directory(&hidden, Some(&faults)).unwrap();
    replace(&hidden.join("manifest"), b"whole", Some(&faults)).unwrap();
    publish(&hidden, &folder.join("graph"), Some(&faults)).unwrap();
}

#[test]
fn a_kill_at_any_call_leaves_nothing_half_done_under_its_name() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(Path::new(&folder));
    }
    let name = "durable::a_kill_at_any_call_leaves_nothing_half_done_under_its_name";
    for nth in 1.. {
        let folder = tempfile::tempdir().unwrap();
        let [manifest, graph] = ["manifest", "graph"].map(|name| folder.path().join(name));
        fs::write(&manifest, "old").unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name]).env(FOLDER, folder.path()).env(NTH, nth.to_string());
        let ended = child.output().unwrap().status;
        // Create, write, sync, rename; then it is the new one.
        let expected: &[u8] = if nth <= 4 { b"old" } else { b"new" };
        assert_eq!(fs::read(&manifest).unwrap(), expected, "call {nth}");
        assert_eq!(graph.exists(), nth > 14, "call {nth}");
        if graph.exists() {
            assert_eq!(fs::read(graph.join("manifest")).unwrap(), b"whole");
        }
        let hidden = |path: &PathBuf| path.file_name().unwrap().as_encoded_bytes()[0] == b'.';
        let known = |path: &PathBuf| [&manifest, &graph].contains(&path);
        assert!(entries(folder.path()).iter().all(|path| hidden(path) || known(path)));
        if ended.success() {
            assert_eq!(nth, 16);
            return;
        }
        assert_eq!(ended.signal(), Some(9));
    }
}
