//! Storage types of the paper, as volumes of this machine: files with a file system of their own,
//! mounted by loop devices that a control group slows down, and behind a network ([`remote`]) where
//! the type is remote.
//!
//! [`remote`]: super::remote

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::disks::{Disk, Local, limit_requests};
use super::namespaces::Cable;
use super::remote::{Remote, ensure_programs};
use crate::outofcore::group::{Limits, Throttle};

/// Assumptions about the paper's machines, for readers of the figures.
pub(crate) const ASSUMED: &str = "\
The text of the paper gives few rates, and its figures are pictures. Assumed here: a disk of the \
instance does 180 MB/s (\"as much as 180 MB/s\"); a standard volume reads 90 and writes 20 MB/s, \
faster than the network in reads and slower in writes, as the paper found; a provisioned one does \
500 operations a second of at most 16 KB (30 a GB), and that only with 12 outstanding (5 for 200): \
one takes 25 ms. The network of an instance gives 62.5 MB/s each way to its volumes where that is \
reserved (500 Mb/s, *EBS-optimised*), and 45 MB/s where not (a quarter of the instance's disk: the \
paper found remote storage up to 4 times slower). Volumes of an array are directories that welter \
stripes. S2S: two standard volumes, network not reserved; P2S: network reserved; S2P and P2P: two \
provisioned volumes.\n\n\
A remote volume is a file that `nbdkit` serves in a network namespace, from a disk that a control \
group slows down, and that `nbdfuse` mounts in another one, with a loop device on it; all volumes \
of an array share the cable between the two, which `tc` holds to the rate of the network in each \
direction (a token bucket). Requests go past the page cache at both ends.";

const MB: u64 = 1_000_000;

/// A storage type: disks that are alike, and the network before them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    pub(crate) name: &'static str,
    disk: Disk,
    /// Megabits a second of all volumes together, each way.
    network: Option<u32>,
}

const LOCAL: Disk = Disk { read: 180 * MB, write: 180 * MB, operations: None };
const STANDARD: Disk = Disk { read: 90 * MB, write: 20 * MB, operations: None };
const PROVISIONED: Disk = Disk { read: 90 * MB, write: 90 * MB, operations: Some(500) };
const SHARED: Option<u32> = Some(360);
const RESERVED: Option<u32> = Some(500);

pub(crate) const INSTANCE: Storage = Storage { name: "Instance", disk: LOCAL, network: None };
pub(crate) const S2S: Storage = Storage { name: "S2S", disk: STANDARD, network: SHARED };
pub(crate) const S2P: Storage = Storage { name: "S2P", disk: PROVISIONED, network: SHARED };
pub(crate) const P2S: Storage = Storage { name: "P2S", disk: STANDARD, network: RESERVED };
pub(crate) const P2P: Storage = Storage { name: "P2P", disk: PROVISIONED, network: RESERVED };

/// Local disk of another cloud, whose external disk reads a sixth of this and writes half.
pub(crate) const AZURE_LOCAL: Storage = Storage {
    name: "local",
    disk: Disk { read: 180 * MB, write: 90 * MB, operations: None },
    network: None,
};
pub(crate) const AZURE_REMOTE: Storage = Storage {
    name: "external",
    disk: Disk { read: 30 * MB, write: 45 * MB, operations: None },
    network: Some(264),
};

/// A device of this rate, bytes a second, in both directions.
pub(crate) const fn device(name: &'static str, rate: u64) -> Storage {
    Storage { name, disk: Disk { read: rate, write: rate, operations: None }, network: None }
}

/// Volumes of a storage type, mounted; they go when this is dropped.
pub(crate) struct Volumes {
    mounted: Vec<Volume>,
    /// Groups that slow the disks down.
    disks: Limits,
    /// Network before the disks. It goes when they have.
    network: Option<Cable>,
}

/// A volume, here or behind the network.
enum Volume {
    Local(Local),
    Remote(Remote),
}

impl Volumes {
    /// `count` volumes below a folder, each with room for `bytes`.
    pub(crate) fn mount(storage: Storage, count: usize, bytes: u64, folder: &Path) -> Result<Self> {
        let Storage { disk, network, .. } = storage;
        if network.is_some() {
            ensure_programs()?;
        }
        let network = network.map(Cable::new).transpose().context("a network")?;
        let (room, features) = match network {
            // A file of the size and what the file system around it takes; what it keeps of the
            // file's state is no operation of the volume.
            Some(_) => (bytes + bytes / 8, "^has_journal"),
            None => (bytes, "has_journal"),
        };
        let locals: Vec<Local> = (0..count)
            .map(|place| Local::mount(&folder.join(format!("volume-{place}")), room, features))
            .collect::<Result<_>>()?;
        for local in &locals {
            limit_requests(local.folder(), disk.request_kib())?;
        }
        let throttles: Vec<Throttle> = locals.iter().map(|it| disk.throttle(it.folder())).collect();
        let disks = Limits::of_devices(&throttles)?;
        let volume = |(place, local)| {
            Ok(match &network {
                None => Volume::Local(local),
                Some(cable) => {
                    Volume::Remote(Remote::mount(local, (disk, place), bytes, cable, &disks)?)
                }
            })
        };
        let mounted = locals.into_iter().enumerate().map(volume).collect::<Result<_>>()?;
        Ok(Self { mounted, disks, network })
    }

    /// Directories that runs stripe their files over.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.mounted.iter().map(|volume| match volume {
            Volume::Local(local) => local.folder(),
            Volume::Remote(remote) => remote.folder(),
        })
    }

    /// The command on an instance with these volumes: where they are local, their disks are as slow
    /// as they are for what runs in the groups; else it is their servers that do.
    pub(crate) fn confine(&self, command: Command) -> Command {
        if self.network.is_some() { command } else { self.disks.confine(&command) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::PathBuf;
    use std::process::{Child, Stdio};

    use super::super::disks::WAY_MILLIS;
    use super::*;

    /// Bytes of a file on a volume.
    const FILE_BYTES: u32 = 20 << 20;

    /// A volume of a storage type, and two files on it, which this process writes at full speed.
    fn filled(storage: Storage, folder: &Path) -> Result<(Volumes, [PathBuf; 2])> {
        let volumes = Volumes::mount(storage, 1, 96 << 20, folder)?;
        let there = volumes.folders().next().context("no volume")?.to_owned();
        let files = ["one", "other"].map(|name| there.join(name));
        for file in &files {
            fs::write(file, vec![7_u8; FILE_BYTES as usize])?;
            File::open(file)?.sync_all()?;
        }
        Ok((volumes, files))
    }

    /// Begins `dd` with these words, as slow as the volumes are.
    fn begin(volumes: &Volumes, words: &str) -> Child {
        let mut dd = Command::new("dd");
        dd.args(words.split(' '));
        let mut confined = volumes.confine(dd);
        confined.env("LC_ALL", "C").stdout(Stdio::null()).stderr(Stdio::piped());
        confined.spawn().unwrap()
    }

    /// Seconds that `dd` took, as it says itself.
    fn seconds(dd: Child) -> f64 {
        let ended = dd.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{text}");
        let (_, behind) = text.split_once("copied, ").unwrap_or_else(|| panic!("{text}"));
        behind.split(' ').next().unwrap().parse().unwrap()
    }

    /// Says that disks cannot be slowed down here, or fails where the environment wants groups.
    fn skipped(why: &anyhow::Error) {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|name| name != "cgroup"), "cgroup: {why:#}");
        // Not `eprintln!`: of a test that passes, that would be swallowed.
        let _ = writeln!(std::io::stderr(), "SKIPPED: the rates of disks: {why:#}");
    }

    /// A machine with other work may be slower than a disk, so that only its rate is a bound. The
    /// system lets a tenth of a second pass at once.
    #[test]
    fn disks_are_no_faster_than_their_rates() {
        const BYTES: u64 = 20 * MB;
        let folder = tempfile::tempdir().unwrap();
        let (volumes, [one, other]) = match filled(device("slow", BYTES), folder.path()) {
            Ok(filled) => filled,
            Err(why) => return skipped(&why),
        };
        let (one, other) = (one.display(), other.display());
        let read = format!("if={one} of=/dev/null iflag=direct bs=1M count=20");
        let write = format!("if=/dev/zero of={other} oflag=direct conv=notrunc bs=1M count=20");
        // Reads and writes have a rate each.
        for dd in [read, write].map(|words| begin(&volumes, &words)) {
            let rate = f64::from(FILE_BYTES) / seconds(dd);
            assert!(rate <= 1.3 * BYTES as f64, "{rate} bytes a second");
        }
        drop(volumes);
        let disk = Disk { operations: Some(100), ..STANDARD };
        let counted = Storage { name: "counted", disk, network: None };
        let (volumes, [one, _]) = filled(counted, folder.path()).unwrap();
        let one = one.display();
        let read = format!("if={one} of=/dev/null iflag=direct bs=16K count=100");
        let rate = 100.0 / seconds(begin(&volumes, &read));
        assert!(rate <= 130.0, "{rate} operations a second");
    }

    #[test]
    fn operations_that_are_counted_are_small_and_take_their_time() {
        assert_eq!((PROVISIONED.request_kib(), STANDARD.request_kib()), (16, 1280));
        assert_eq!((PROVISIONED.outstanding(), STANDARD.outstanding()), (Some(12), None));
        assert_eq!(STANDARD.delay(), None);
        // The number outstanding over the time of one is the peak rate, but for less than one.
        let seconds = PROVISIONED.delay().unwrap().as_secs_f64() + WAY_MILLIS as f64 / 1e3;
        let rate = PROVISIONED.outstanding().unwrap() as f64 / seconds;
        assert!((460.0..=500.0).contains(&rate), "{rate}");
    }

    #[test]
    fn remote_types_have_the_network_of_the_paper_and_local_ones_have_none() {
        let bytes = |storage: Storage| storage.network.map(|megabits| u64::from(megabits) * MB / 8);
        assert_eq!([INSTANCE, AZURE_LOCAL, device("any", MB)].map(bytes), [None; 3]);
        assert_eq!([S2S, S2P].map(bytes), [Some(45 * MB); 2]);
        assert_eq!([P2S, P2P].map(bytes), [Some(62_500_000); 2]);
    }
}
