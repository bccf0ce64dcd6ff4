//! A disk behind a network: its server and its runner are in namespaces of their own, between which
//! a bucket filter of the kernel is the network that all disks of an array share.
//!
//! ```text
//! image, loop device, ext4 [blkio] ── nbdkit ── veth, tbf each way ── nbdfuse ── loop device, ext4
//! └──────────── namespace of storage ───────┘                     └─ namespace of the instance ──┘
//! ```
//!
//! `nbdkit` serves a file of the disk, and `nbdfuse` mounts it as a file again; a kernel needs FUSE
//! for that and no driver of network block devices. The file is asked past the page cache, at both
//! ends, so each byte that a run reads or writes is on the network and on the disk.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::disks::{Disk, Local, call, limit_requests};
use super::namespaces::{ADDRESSES, Cable};
use crate::outofcore::group::Limits;

/// Programs, and the packages of Debian that have them.
const PROGRAMS: [(&str, &str); 7] = [
    ("nbdkit", "nbdkit"),
    ("nbdfuse", "libnbd-bin"),
    ("losetup", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("nsenter", "util-linux"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
];
/// Time in which a program gets ready.
const READY: Duration = Duration::from_secs(20);
/// Port of the first disk.
const PORT: usize = 10809;
/// Connections to a disk whose operations are not counted: what `nbdfuse` has by itself. A request
/// that waits has a connection of its own.
const CONNECTIONS: u64 = 4;

/// Refuses to begin without the programs that disks behind a network need.
pub(super) fn ensure_programs() -> Result<()> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let missing = missing(&PROGRAMS, &folders);
    ensure!(
        missing.is_empty(),
        "no {} here; on Debian: apt-get install {}",
        missing.iter().map(|(program, _)| *program).collect::<Vec<_>>().join(", no "),
        missing.iter().map(|(_, package)| *package).collect::<Vec<_>>().join(" ")
    );
    Ok(())
}

/// Programs that are in none of the folders.
fn missing<'a>(programs: &[(&'a str, &'a str)], folders: &OsStr) -> Vec<(&'a str, &'a str)> {
    let is_there = |program: &str| env::split_paths(folders).any(|at| at.join(program).is_file());
    programs.iter().copied().filter(|(program, _)| !is_there(program)).collect()
}

/// A disk that is served over a cable, mounted at the other end; gone when this is dropped.
pub(super) struct Remote {
    /// Where its file system is mounted.
    folder: PathBuf,
    /// File that the client shows.
    shown: PathBuf,
    mounted: bool,
    // The client goes before the server, and that before its disk.
    client: Option<Served>,
    server: Option<Served>,
    _disk: Local,
}

impl Remote {
    /// The disk in this place of an array, with room for `bytes`, whose server is in the groups.
    pub(super) fn mount(
        local: Local,
        (kind, place): (Disk, usize),
        bytes: u64,
        cable: &Cable,
        groups: &Limits,
    ) -> Result<Self> {
        let base = local.folder();
        let folder = base.with_extension("remote");
        let shown = base.with_extension("nbd");
        for folder in [&folder, &shown] {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        let image = base.join("disk");
        call(Command::new("fallocate").args(["-l", &bytes.to_string()]).arg(&image))?;
        call(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "lazy_itable_init=0"]).arg(&image))?;
        call(Command::new("sync").arg("-f").arg(&image))?;
        let port = PORT + place;
        let address = ADDRESSES[0];
        let [serve, show] = [0, 1].map(|end| within(cable, end));
        let mut serving = serve;
        serving.args(["nbdkit", "--foreground", "--ipaddr", address, "--port", &port.to_string()]);
        serving.args(server_arguments(kind)).arg(format!("file={}", image.display()));
        let mut remote = Self {
            folder,
            shown: shown.join("disk"),
            mounted: false,
            client: None,
            server: None,
            _disk: local,
        };
        let ready = remote.shown.with_file_name("server.pid");
        serving.arg("--pidfile").arg(&ready);
        remote.server = Some(Served::start(&mut groups.confine(&serving), &ready)?);
        remote.attach(show, kind, port)?;
        Ok(remote)
    }

    /// Shows the served file here, and mounts what is in it.
    fn attach(&mut self, mut show: Command, kind: Disk, port: usize) -> Result<()> {
        let ready = self.shown.with_file_name("client.pid");
        let at = self.shown.clone();
        // A file that is there is what is mounted on, and else the folder of that name.
        File::create(&at).with_context(|| at.display().to_string())?;
        show.args(["nbdfuse", "--connections", &outstanding(kind).to_string(), "--pidfile"]);
        show.arg(&ready).arg(&at).arg(format!("nbd://{}:{port}", ADDRESSES[0]));
        self.client = Some(Served::start(&mut show, &ready)?);
        let losetup = ["--find", "--show", "--direct-io=on"];
        let found = call(Command::new("losetup").args(losetup).arg(&at))?;
        let device = String::from_utf8_lossy(&found).trim().to_owned();
        let name = device.trim_start_matches("/dev/");
        let mounted = call(Command::new("mount").arg(&device).arg(&self.folder));
        self.mounted = mounted.is_ok();
        // A device that is mounted goes when it no longer is.
        call(Command::new("losetup").args(["--detach", &device]))?;
        mounted?;
        let direct = fs::read_to_string(format!("/sys/block/{name}/loop/dio"))?;
        ensure!(direct.trim() == "1", "{device}: requests go through the page cache");
        limit_requests(&self.folder, kind.request_kib())
    }

    /// Where its file system is mounted.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.mounted {
            // A mount that stays makes the next run fail, which finds the file in use.
            let _ = call(Command::new("umount").arg(&self.folder));
        }
        if self.client.is_some() {
            // Lazily, since its loop device may still be about to go.
            let _ = call(Command::new("umount").arg("--lazy").arg(&self.shown));
        }
        drop(self.client.take());
        drop(self.server.take());
        let _ = fs::remove_dir(&self.folder);
        if let Some(folder) = self.shown.parent() {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Requests that are outstanding at a disk at most.
fn outstanding(disk: Disk) -> u64 {
    disk.outstanding().unwrap_or(CONNECTIONS)
}

/// Options of the server of a disk.
fn server_arguments(disk: Disk) -> Vec<String> {
    // Bytes that were served are not kept in memory, nor are those that came.
    let [filter, file, cache] = ["--filter=delay", "file", "cache=none"].map(str::to_owned);
    match disk.delay() {
        None => vec![file, cache],
        Some(delay) => {
            let [reads, writes] =
                ["rdelay", "wdelay"].map(|it| format!("{it}={}ms", delay.as_millis()));
            vec![filter, file, cache, reads, writes]
        }
    }
}

/// A command at an end of a cable. Mounts that it makes are seen outside.
fn within(cable: &Cable, end: usize) -> Command {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/run/netns/{}", cable.names[end]));
    command
}

/// A program that runs beside; it ends when this is dropped.
struct Served(Child);

impl Served {
    /// Starts a program, and waits until it has written its file `ready`.
    fn start(command: &mut Command, ready: &Path) -> Result<Self> {
        let log_path = ready.with_extension("log");
        let log = File::create(&log_path).with_context(|| log_path.display().to_string())?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut program = Self(command.spawn().with_context(|| format!("starting {command:?}"))?);
        let started = Instant::now();
        while !ready.exists() {
            if let Some(status) = program.0.try_wait()? {
                let printed = fs::read_to_string(&log_path).unwrap_or_default();
                bail!("{command:?}: {status}: {printed}");
            }
            ensure!(started.elapsed() < READY, "{command:?}: not ready after {READY:?}");
            sleep(Duration::from_millis(10));
        }
        Ok(program)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A program that has ended by itself need not be told.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("here"), "").unwrap();
        let programs = [("here", "one"), ("gone", "two")];
        assert_eq!(missing(&programs, folder.path().as_os_str()), [("gone", "two")]);
    }

    #[test]
    fn an_end_that_dies_is_an_error_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such disk >&2; exit 3"]);
        let error = Served::start(&mut command, &folder.path().join("ready.pid")).err().unwrap();
        let message = format!("{error:#}");
        assert!(
            message.contains("no such disk") && message.contains("exit status: 3"),
            "{message}"
        );
    }
}
