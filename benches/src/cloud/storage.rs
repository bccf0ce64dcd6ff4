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

/// Another cloud: its external disk reads a sixth of what the local one does, and writes half.
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
    use super::super::disks::WAY_MILLIS;
    use super::*;

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
