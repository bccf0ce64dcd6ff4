//! Disks of machines that hold other bytes than were written, or are full: a run that is resumed
//! has the answer of one process, or ends and says why.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::cluster_resume::{change, manifests};
use crate::computers::alike;
use crate::kept::Small;
use crate::sandbox::{Ended, Sandbox};

const RUN: &str = "run pagerank rmat:10 --iterations 4000 --tolerance 0 -q -o many.csv \
                   --cluster local:2 --checkpoint";

/// Iterations of the run that is compared: the words of the run that was begun are changed where
/// they are kept.
const ITERATIONS: &str = "60";

/// A sandbox with the answer of one process.
fn answered() -> Sandbox {
    let sandbox = Sandbox::new();
    let line = format!("run pagerank rmat:10 --iterations {ITERATIONS} --tolerance 0 -q");
    sandbox.must(&format!("{line} -o one.csv"));
    sandbox
}

/// Waits until there is a checkpoint in this directory.
fn is_kept(command: &mut Child, directory: &Path) {
    let until = Instant::now() + Duration::from_mins(2);
    while manifests(&directory.join("machine-0")) == 0 {
        assert!(command.try_wait().unwrap().is_none(), "it had checkpoints before it ended");
        assert!(Instant::now() < until, "it begins");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Files below a directory, ascending.
fn files_below(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files = Vec::new();
    for path in entries {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// A file of each kind of those that machines have stored, by kind: folder, and what the name
/// begins with. Kinds take turns with machines.
fn one_of_each(kept: &Path) -> BTreeMap<String, PathBuf> {
    let mut kinds = BTreeMap::<String, Vec<PathBuf>>::new();
    for machine in ["machine-0", "machine-1"] {
        for file in files_below(&kept.join(machine)) {
            let relative = file.strip_prefix(kept.join(machine)).unwrap().to_owned();
            let name = relative.to_string_lossy().into_owned();
            let is_manifest = name.starts_with("manifests");
            let kind = if is_manifest { "manifests" } else { name.split('-').next().unwrap() };
            if fs::metadata(&file).unwrap().len() > 0 {
                kinds.entry(kind.to_owned()).or_default().push(file);
            }
        }
    }
    let turns = kinds.into_iter().enumerate();
    let one = |(at, (kind, files)): (usize, (String, Vec<PathBuf>))| {
        let file = files[at % 2 * (files.len() - 1)].clone();
        (kind, file)
    };
    turns.map(one).collect()
}

#[test]
fn a_bit_that_flips_on_a_disk_changes_no_answer() {
    let sandbox = answered();
    let kept = sandbox.path().join("kept");
    let mut command = sandbox.command(&format!("{RUN} kept")).spawn().unwrap();
    is_kept(&mut command, &kept);
    command.kill().unwrap();
    command.wait().unwrap();
    // Machines end when they see the end of a pipe.
    let until = Instant::now() + Duration::from_mins(1);
    for machine in ["machine-0/lock", "machine-1/lock"] {
        while File::open(kept.join(machine)).unwrap().try_lock().is_err() {
            assert!(Instant::now() < until, "it ends");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    change(&kept, "4000", ITERATIONS);
    let whole = sandbox.path().join("whole");
    fs::rename(&kept, &whole).unwrap();
    let mut kinds = one_of_each(&whole);
    kinds.insert("cluster.json".to_owned(), whole.join("cluster.json"));
    let is_there = |kind: &str| kinds.keys().any(|of| of.contains(kind));
    assert!(
        ["edges", "vertices", "manifests", "incarnation"].into_iter().all(is_there),
        "{kinds:?}"
    );
    let mut right = 0;
    for (kind, file) in &kinds {
        let bytes = fs::metadata(file).unwrap().len() as usize;
        for at in [0, bytes / 2, bytes - 1] {
            let copied = Command::new("cp").arg("-r").args([&whole, &kept]).status().unwrap();
            assert!(copied.success());
            let flipped = kept.join(file.strip_prefix(&whole).unwrap());
            let mut bytes = fs::read(&flipped).unwrap();
            bytes[at] ^= 1 << (at % 8);
            fs::write(&flipped, bytes).unwrap();
            let ended = sandbox.run("resume kept -q");
            let what = format!("byte {at} of {}", flipped.display());
            if ended.code == Some(0) {
                alike(&sandbox, ["one.csv", "many.csv"]);
                fs::remove_file(sandbox.path().join("many.csv")).unwrap();
                assert!(!kept.exists(), "{what}");
                right += 1;
                continue;
            }
            // The number of a process and the words of the run have no second copy.
            assert!(["incarnation", "cluster.json"].contains(&&**kind), "{what}: {}", ended.stderr);
            assert!(ended.stderr.contains(&format!("{kind}: damaged")), "{what}: {}", ended.stderr);
            fs::remove_dir_all(&kept).unwrap();
        }
    }
    assert!(right > 0);
}

#[test]
fn a_disk_of_machines_that_is_full_is_told_and_the_run_goes_on() {
    let sandbox = answered();
    let small = sandbox.path().join("small");
    fs::create_dir(&small).unwrap();
    let Some(_mounted) = Small::mount(&small, 16 << 10) else {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "mount"), "WELTER_REQUIRE asks for mounts");
        eprintln!("SKIPPED: nobody lets this test mount a small file system");
        return;
    };
    let mut command = sandbox.command(&format!("{RUN} small/run")).spawn().unwrap();
    is_kept(&mut command, &small.join("run"));
    // Bit by bit: between two checkpoints there is room for a moment only.
    let path = small.join("of others");
    let mut others = File::create(&path).unwrap();
    let until = Instant::now() + Duration::from_mins(2);
    while command.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "the disk is full");
        while others.write_all(&[1; 4 << 10]).is_ok() {}
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = Ended::waited(command);
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(ended.stderr.contains("is full"), "{}", ended.stderr);
    assert!(ended.stderr.contains("`welter resume small/run` resumes it"), "{}", ended.stderr);
    drop(others);
    fs::remove_file(path).unwrap();
    change(&small.join("run"), "4000", ITERATIONS);
    let resumed = sandbox.run("resume small/run -q");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    alike(&sandbox, ["one.csv", "many.csv"]);
}
