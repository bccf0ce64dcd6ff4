//! Disks of the experiments: files with file systems in them, which control groups slow down.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::outofcore::group::{Throttle, disk};

/// Bytes of an operation of a provisioned volume, KiB.
const OPERATION_KIB: u64 = 16;
/// Bytes of a request to a volume whose operations are not counted, KiB: the system's default.
const REQUEST_KIB: u64 = 1280;
/// Bytes that are read ahead, KiB: the system's default.
const AHEAD_KIB: u64 = 128;

/// Operations that must be outstanding for the peak rate, for each of a number of them a second.
const OUTSTANDING: (u64, u64) = (5, 200);
/// Milliseconds that an operation takes on its way to a disk and back, without any delay: one
/// outstanding at a time did 36 a second with a delay of 25 ms.
pub(super) const WAY_MILLIS: u64 = 3;

/// A disk, local or behind the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    pub(super) read: u64,
    pub(super) write: u64,
    pub(super) operations: Option<u64>,
}

impl Disk {
    /// The most bytes of a request, KiB.
    pub(super) fn request_kib(&self) -> u64 {
        if self.operations.is_some() { OPERATION_KIB } else { REQUEST_KIB }
    }

    /// Throttle by which the device that a folder lies on becomes this disk.
    pub(super) fn throttle(&self, folder: &Path) -> Throttle {
        Throttle {
            folder: folder.to_owned(),
            read_bytes: self.read,
            write_bytes: self.write,
            operations: self.operations,
        }
    }

    /// Operations that may be outstanding at a time, where they are counted: just as many as the
    /// peak rate needs.
    pub(super) fn outstanding(&self) -> Option<u64> {
        let (outstanding, rate) = OUTSTANDING;
        self.operations.map(|operations| operations * outstanding / rate)
    }

    /// Time that the server waits before an operation, where they are counted. By Little's law an
    /// operation takes the number of outstanding ones over the rate that they make.
    pub(super) fn delay(&self) -> Option<Duration> {
        let (outstanding, rate) = OUTSTANDING;
        let all = 1000 * outstanding / rate;
        self.operations.map(|_| Duration::from_millis(all - WAY_MILLIS))
    }
}

/// A file with a file system in it.
pub(super) struct Local {
    image: PathBuf,
    folder: PathBuf,
}

impl Local {
    pub(super) fn mount(folder: &Path, bytes: u64, features: &str) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let image = folder.with_extension("img");
        File::create(&image)?.set_len(bytes).with_context(|| image.display().to_string())?;
        let mut make = Command::new("mkfs.ext4");
        make.args(["-q", "-F", "-E", "lazy_itable_init=0", "-O", features]);
        call(make.arg(&image))?;
        call(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(folder))?;
        Ok(Self { image, folder: folder.to_owned() })
    }

    /// Folder where the file system is mounted.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        // A mount that stays makes the next run fail, which finds the file in use.
        let _ = call(Command::new("umount").arg(&self.folder));
        let _ = fs::remove_file(&self.image);
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Bounds requests to the device that a folder lies on, and what is read ahead of them, in KiB. An
/// earlier volume may have left other bounds.
pub(super) fn limit_requests(folder: &Path, most: u64) -> Result<()> {
    let device = disk(folder)?;
    for (name, kib) in [("max_sectors_kb", most), ("read_ahead_kb", most.min(AHEAD_KIB))] {
        let queue = format!("/sys/dev/block/{device}/queue/{name}");
        fs::write(&queue, kib.to_string()).with_context(|| queue.clone())?;
    }
    Ok(())
}

/// Output of a command, if it succeeds.
pub(super) fn call(command: &mut Command) -> Result<Vec<u8>> {
    let ended = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(ended.stdout)
}
