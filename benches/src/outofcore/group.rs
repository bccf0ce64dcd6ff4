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
        // A group that still has a process cannot go; it is empty then and harms nobody.
        let _ = fs::remove_dir(&self.0);
    }
}

/// Limits of a job.
pub(super) struct Limits {
    memory: Group,
    device: Option<Group>,
}

impl Limits {
    /// At most so many bytes of memory; where `device` says so, so many bytes a second of reading
    /// and of writing on the device that a folder lies on.
    pub(super) fn new(memory_bytes: u64, device: Option<(&Path, u64)>) -> Result<Self> {
        let memory = Group::new("memory")?;
        memory.set("memory.limit_in_bytes", &memory_bytes.to_string())?;
        memory.set("memory.max_usage_in_bytes", "0")?;
        let device = device.map(|(folder, rate)| throttled(folder, rate)).transpose()?;
        Ok(Self { memory, device })
    }

    /// Command that runs another one in the groups.
    pub(super) fn confine(&self, command: &Command) -> Command {
        let mut shell = Command::new("sh");
        let join = r#"for group in $0; do echo $$ > "$group" || exit 1; done; exec "$@""#;
        let groups = [Some(&self.memory), self.device.as_ref()];
        let groups: Vec<String> =
            groups.into_iter().flatten().map(|group| group.procs().display().to_string()).collect();
        shell.args(["-c", join, &groups.join(" ")]);
        shell.arg(command.get_program()).args(command.get_args());
        shell
    }

    /// The most memory that was in use at any time, bytes.
    pub(super) fn peak_bytes(&self) -> Result<u64> {
        let path = self.memory.0.join("memory.max_usage_in_bytes");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(text.trim().parse()?)
    }
}

fn throttled(folder: &Path, rate: u64) -> Result<Group> {
    let group = Group::new("blkio")?;
    let device = fs::metadata(folder).with_context(|| folder.display().to_string())?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition is slowed down as the disk that it is on.
    let sys = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let disk = if sys.join("partition").exists() {
        fs::read_to_string(sys.join("../dev")).context("finding the disk of a partition")?
    } else {
        format!("{major}:{minor}")
    };
    for what in ["read", "write"] {
        let line = format!("{} {rate}", disk.trim());
        group.set(&format!("blkio.throttle.{what}_bps_device"), &line)?;
    }
    Ok(group)
}
