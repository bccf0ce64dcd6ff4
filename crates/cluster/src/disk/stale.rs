//! Folders that machines left which were killed and never came again.
//!
//! ```text
//! SCRATCH/welter-cluster-NUMBER-RANK/lock ..         of a machine of several computers
//!        /welter-cluster-PID/machine-RANK/lock ..    of a command with machines of its own
//! ```
//!
//! A machine may be dead and come again in a moment, so a folder is stale only if nothing in it has
//! changed for an hour. Invariant: a folder that a process uses is left alone. Checked in
//! `is_stale`, by its lock. Tested by `folders_that_nobody_uses_for_long_are_removed`.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time after which a machine that was killed is not expected any more.
const STALE: Duration = Duration::from_hours(1);

/// Beginning of the names of folders of clusters.
const BEGIN: &str = "welter-cluster-";

/// Removes folders of clusters in `scratch` that are not in use any more: those of the user who has
/// `own`, which is left alone. Where that fails they stay.
pub fn sweep(scratch: &Path, own: &Path) {
    let Ok(owner) = own.symlink_metadata().map(|it| it.uid()) else { return };
    for path in folders(scratch, BEGIN) {
        if path != own && is_stale(&path, owner) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Whether a process uses the folder of a machine.
pub fn is_used(machine: &Path) -> bool {
    let lock: Result<File, _> = OpenOptions::new().write(true).open(machine.join("lock"));
    lock.is_ok_and(|lock| lock.try_lock().is_err())
}

/// Directories of a directory whose names begin so.
fn folders(directory: &Path, begin: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let named = entries.filter(|it| it.file_name().to_string_lossy().starts_with(begin));
    // The target of a link is none.
    named.filter(|it| it.file_type().is_ok_and(|kind| kind.is_dir())).map(|it| it.path()).collect()
}

/// Whether all machines that have a folder there are gone for long.
fn is_stale(path: &Path, owner: u32) -> bool {
    let machines = folders(path, "machine-");
    let machines = if machines.is_empty() { vec![path.to_owned()] } else { machines };
    is_old(path, owner) && machines.iter().all(|machine| is_left(machine, owner))
}

/// Whether the folder of a machine is used by no process.
fn is_left(machine: &Path, owner: u32) -> bool {
    let parts = ["blocks", "manifests"].map(|part| machine.join(part));
    let is_quiet = |path: &PathBuf| !path.exists() || is_old(path, owner);
    let lock: Result<File, _> = OpenOptions::new().write(true).open(machine.join("lock"));
    let is_free = lock.is_ok_and(|lock| lock.try_lock().is_ok());
    is_free && is_old(machine, owner) && parts.iter().all(is_quiet)
}

fn is_old(path: &Path, owner: u32) -> bool {
    let Ok(about) = path.symlink_metadata() else { return false };
    let changed = about.modified().ok();
    let age = changed.and_then(|at| SystemTime::now().duration_since(at).ok());
    about.uid() == owner && age.is_some_and(|age| age > STALE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::folder::Folder;

    /// Makes all directories below a path as old as this.
    fn age(path: &Path, by: Duration) {
        for inner in folders(path, "") {
            age(&inner, by);
        }
        File::open(path).unwrap().set_modified(SystemTime::now() - by).unwrap();
    }

    #[test]
    fn folders_that_nobody_uses_for_long_are_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let all = [
            "welter-cluster-1-0",
            "welter-cluster-2-0",
            "welter-cluster-3-0",
            "welter-cluster-7/machine-0",
            "welter-cluster-7/machine-1",
            "welter-cluster-8/machine-0",
            "welter-cluster-8/machine-1",
            "other-1-0",
        ];
        let long = STALE + Duration::from_mins(1);
        for name in all {
            drop(Folder::open(&at(name), None).unwrap());
        }
        let used = [all[1], all[6]].map(|name| Folder::open(&at(name), None).unwrap());
        for name in ["welter-cluster-1-0", "welter-cluster-2-0", "welter-cluster-7", "other-1-0"] {
            age(&at(name), long);
        }
        age(&at("welter-cluster-8"), long);
        age(&at("welter-cluster-3-0"), STALE / 2);
        let own = at("welter-cluster-9-0");
        fs::create_dir(&own).unwrap();
        age(&own, long);
        sweep(scratch.path(), &own);
        let left: Vec<bool> = all.iter().map(|name| at(name).exists()).collect();
        assert_eq!(left, [false, true, true, false, false, true, true, true]);
        assert!(own.exists());
        drop(used);
        sweep(scratch.path(), &own);
        assert!(!at("welter-cluster-2-0").exists() && !at("welter-cluster-8").exists());
    }
}
