//! Control groups (version 1) of jobs: one that kills what takes more memory than it was given, and
//! one that slows a device down.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Where the controllers are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// A group in one controller; removed on drop.
struct Group(PathBuf);

impl Group {
    fn new(controller: &str) -> Result<Self> {
        let name = format!("welter-bench-{}", std::process::id());
        let folder = Path::new(ROOT).join(controller).join(name);
        match fs::create_dir(&folder) {
            // A group that the last job left behind, because it could not be removed yet.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.with_context(|| {
                format!("making {}; control groups of version 1 need root", folder.display())
            })?,
        }
        Ok(Self(folder))
    }

    fn set(&self, name: &str, value: &str) -> Result<()> {
        let path = self.0.join(name);
        fs::write(&path, value).with_context(|| format!("writing {value} to {}", path.display()))
    }

    fn procs(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A group that still has a process cannot go; it is empty then and does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Limits of a job.
pub(crate) struct Limits {
    memory: Option<Group>,
    devices: Option<Group>,
}

/// Limits by which the device that a folder lies on is slowed down.
#[derive(Clone, Debug)]
pub(crate) struct Throttle {
    pub(crate) folder: PathBuf,
    /// Bytes a second.
    pub(crate) read_bytes: u64,
    /// Bytes a second.
    pub(crate) write_bytes: u64,
    /// Requests a second of either kind.
    pub(crate) operations: Option<u64>,
}

impl Limits {
    /// A group with at most `memory_bytes` bytes of memory; where a `device` is given, with its
    /// bytes a second of reading and of writing on the device that a folder lies on.
    pub(super) fn new(memory_bytes: u64, device: Option<(&Path, u64)>) -> Result<Self> {
        let memory = Group::new("memory")?;
        memory.set("memory.limit_in_bytes", &memory_bytes.to_string())?;
        memory.set("memory.max_usage_in_bytes", "0")?;
        let devices = device.map(|(folder, rate)| {
            let folder = folder.to_owned();
            let (read_bytes, write_bytes) = (rate, rate);
            throttled(&[Throttle { folder, read_bytes, write_bytes, operations: None }])
        });
        Ok(Self { memory: Some(memory), devices: devices.transpose()? })
    }

    /// Devices that are slowed down, and all the memory there is.
    pub(crate) fn of_devices(throttles: &[Throttle]) -> Result<Self> {
        Ok(Self { memory: None, devices: Some(throttled(throttles)?) })
    }

    /// Command that runs another one in the groups.
    pub(crate) fn confine(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        let join = r#"for group in $0; do echo $$ > "$group" || exit 1; done; exec "$@""#;
        let groups = [&self.memory, &self.devices].map(Option::as_ref);
        let groups: Vec<String> =
            groups.into_iter().flatten().map(|group| group.procs().display().to_string()).collect();
        shell.args(["-c", join, &groups.join(" ")]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }

    /// The most memory that was in use at any time, bytes.
    pub(super) fn peak_bytes(&self) -> Result<u64> {
        let memory = self.memory.as_ref().context("a group without a limit of memory")?;
        let path = memory.0.join("memory.max_usage_in_bytes");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.trim().parse()?)
    }
}

fn throttled(throttles: &[Throttle]) -> Result<Group> {
    let group = Group::new("blkio")?;
    for Throttle { folder, read_bytes, write_bytes, operations } in throttles {
        let disk = disk(folder)?;
        for (what, bytes) in [("read", read_bytes), ("write", write_bytes)] {
            group.set(&format!("blkio.throttle.{what}_bps_device"), &format!("{disk} {bytes}"))?;
            // None is 0, which takes back what an earlier job was given.
            let operations = operations.unwrap_or(0);
            let line = format!("{disk} {operations}");
            group.set(&format!("blkio.throttle.{what}_iops_device"), &line)?;
        }
    }
    Ok(group)
}

/// Number of the disk that a folder lies on, such as `8:0`. A partition is slowed down as its disk.
pub(crate) fn disk(folder: &Path) -> Result<String> {
    let device = fs::metadata(folder).with_context(|| folder.display().to_string())?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let sys = PathBuf::from(format!("/sys/dev/block/{number}"));
    if !sys.join("partition").exists() {
        return Ok(number);
    }
    let disk = fs::read_to_string(sys.join("../dev")).context("finding the disk of a partition")?;
    Ok(disk.trim().to_owned())
}
