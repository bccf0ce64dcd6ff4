//! Directories that are not there, and disks without room: known before the run, or met in it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Once;

use tempfile::TempDir;
use welter_engine::EngineError;
use welter_model::edges::EdgeStream;

use crate::{Setup, Task, Watched, edges, folder, is_empty, skipped};
use welter_progress::FailureKind;

const EDGES: u32 = 1_500_000;
const SLOTS: u32 = 100_000;

#[test]
fn a_directory_that_is_not_there_is_named() {
    let there = folder();
    let missing = there.path().join("missing");
    for directories in [vec![missing.clone()], vec![there.path().to_owned(), missing.clone()]] {
        let way = Setup { directories, ..Setup::stored(0, &there) };
        let error = nothing_is_read(&way);
        assert_eq!(error.kind(), FailureKind::Output, "{error}");
        assert!(error.to_string().starts_with(&missing.display().to_string()), "{error}");
        assert!(is_empty(there.path()));
    }
    let none = Setup { directories: Vec::new(), ..Setup::stored(0, &there) };
    nothing_is_read(&none);
}

/// The error of a run that must end before it reads its input.
fn nothing_is_read(way: &Setup) -> EngineError {
    let list = edges(EDGES, SLOTS, false);
    let input = Watched::new(list, 0, || panic!("the input was read"));
    way.run(Task::Ranks32, Box::new(input)).map(drop).unwrap_err()
}

/// A file system of a few megabytes; unmounted on drop.
pub(super) struct Disk {
    kind: &'static str,
    folder: TempDir,
    /// Has the file that it lies in.
    image: TempDir,
}

impl Disk {
    pub(super) fn new(kind: &'static str, bytes: u64) -> Result<Self, String> {
        let disk = Self { kind, folder: folder(), image: folder() };
        let image = disk.image.path().join("disk");
        let size = format!("size={bytes}");
        let mut mount = Command::new("mount");
        if kind == "tmpfs" {
            mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]);
        } else {
            File::create(&image).unwrap().set_len(bytes).unwrap();
            let options = ["-q", "-m", "0", "-O", "^has_journal"];
            said(Command::new("mkfs.ext4").args(options).arg(&image))?;
            mount.args(["-o", "loop"]).arg(&image);
        }
        said(mount.arg(disk.folder.path()))?;
        Ok(disk)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Where nothing was mounted there is nothing to unmount.
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

fn said(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// The file systems of `bytes` bytes that can be mounted here.
fn disks(bytes: u64) -> Vec<Disk> {
    static SAID: Once = Once::new();
    let mut disks = Vec::new();
    for kind in ["tmpfs", "ext4"] {
        match Disk::new(kind, bytes) {
            Ok(disk) => disks.push(disk),
            Err(why) => skipped("mount", &why, &SAID),
        }
    }
    disks
}

#[test]
fn too_little_room_is_known_before_anything_is_read() {
    for disk in disks(5 << 20) {
        let plenty = folder();
        let (small, large) = (disk.path().to_owned(), plenty.path().to_owned());
        for directories in [vec![small.clone()], vec![large, small]] {
            let way = Setup { directories: directories.clone(), ..Setup::stored(0, &plenty) };
            let error = nothing_is_read(&way);
            assert_eq!(error.kind(), FailureKind::Storage, "{error}");
            let EngineError::Disk { need, free, directories: named } = error else {
                panic!("{error}")
            };
            assert!(need > free);
            assert_eq!(named, directories);
        }
    }
}

/// Names of files in a directory, without what a new ext4 has.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| !path.ends_with("lost+found")).collect()
}

#[test]
fn a_disk_that_others_fill_meanwhile_is_named() {
    for room in [0, 1 << 20, 5 << 20] {
        for disk in disks(64 << 20) {
            let others = disk.path().join("of others");
            let path = others.clone();
            let fill = move || {
                let mut file = File::create(&path).unwrap();
                let piece = vec![1; 64 << 10];
                while file.write_all(&piece).is_ok() {}
                let full = file.metadata().unwrap().len();
                file.set_len(full - room.min(full)).unwrap();
            };
            // The first batch of the second pass: bins are about to be written.
            let list = edges(EDGES, SLOTS, false);
            let input = Watched::new(list.clone(), list.parts(), fill);
            let way = Setup::stored(0, &disk.folder);
            let came = way.run(Task::Ranks32, Box::new(input)).map(|_| (room, disk.kind));
            let error = came.unwrap_err();
            assert_eq!(error.kind(), FailureKind::Storage, "{error}");
            // By the write, or by who asks for the rest of the room when bins are written.
            if let EngineError::Disk { need, free, directories } = &error {
                assert!(room > 0 && need > free && directories[..] == [disk.path()], "{error}");
            } else {
                let place = format!("{}: ", disk.path().display());
                assert!(error.to_string().starts_with(&place), "{error}");
                assert!(error.to_string().ends_with("file system is full"), "{error}");
            }
            assert_eq!(entries(disk.path()), [others]);
        }
    }
}
