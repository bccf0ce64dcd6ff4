//! Storage types of the paper, as volumes of this machine: files with a file system of their own,
//! mounted by loop devices that a control group slows down.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::outofcore::group::Throttle;

/// Assumptions about the paper's machines, for readers of the figures.
pub(crate) const ASSUMED: &str = "\
The text of the paper gives few rates, and its figures are pictures. Assumed here: a disk of the \
instance does 180 MB/s (\"as much as 180 MB/s\"); a standard volume reads 90 and writes 20 MB/s, \
faster than the network in reads and slower in writes, as the paper found; a provisioned one does \
500 operations a second of at most 16 KB (30 a GB). The network of an instance gives 62.5 MB/s to \
its volumes where that is reserved (500 Mb/s, *EBS-optimised*), and 45 MB/s where not (a quarter \
of the instance's disk: the paper found remote storage up to 4 times slower). Volumes of an array \
are directories that welter stripes; each has its share of the network, which is even because \
stripes are. S2S: two standard volumes, network not reserved; P2S: network reserved; S2P and P2P: \
two provisioned volumes.";

const MB: u64 = 1_000_000;
/// Bytes of an operation of a provisioned volume, KiB.
const OPERATION_KIB: u64 = 16;
/// Bytes of a request to a volume whose operations are not counted, KiB: the system's default.
const REQUEST_KIB: u64 = 1280;

/// A disk, local or behind the network.
#[derive(Clone, Copy, Debug)]
struct Disk {
    read: u64,
    write: u64,
    operations: Option<u64>,
}

/// A storage type: disks that are alike, and the network before them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Storage {
    pub(crate) name: &'static str,
    disk: Disk,
    /// Bytes a second of all volumes together.
    network: Option<u64>,
}

const LOCAL: Disk = Disk { read: 180 * MB, write: 180 * MB, operations: None };
const STANDARD: Disk = Disk { read: 90 * MB, write: 20 * MB, operations: None };
const PROVISIONED: Disk = Disk { read: 90 * MB, write: 90 * MB, operations: Some(500) };
const SHARED: Option<u64> = Some(45 * MB);
const RESERVED: Option<u64> = Some(62_500_000);

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
    network: Some(33 * MB),
};

/// A device of this rate, bytes a second, in both directions.
pub(crate) const fn device(name: &'static str, rate: u64) -> Storage {
    Storage { name, disk: Disk { read: rate, write: rate, operations: None }, network: None }
}

/// Volumes of a storage type, mounted; they go when this is dropped.
pub(crate) struct Volumes {
    storage: Storage,
    volumes: Vec<Volume>,
}

impl Volumes {
    /// `count` volumes below a folder, each with room for `bytes`.
    pub(crate) fn mount(storage: Storage, count: usize, bytes: u64, folder: &Path) -> Result<Self> {
        let mount = |place| {
            let volume = Volume::mount(&folder.join(format!("volume-{place}")), bytes)?;
            volume.limit_requests(match storage.disk.operations {
                Some(_) => OPERATION_KIB,
                None => REQUEST_KIB,
            })?;
            Ok(volume)
        };
        let volumes = (0..count).map(mount).collect::<Result<_>>()?;
        Ok(Self { storage, volumes })
    }

    /// Directories that runs stripe their files over.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.volumes.iter().map(|volume| &*volume.folder)
    }

    /// How each volume is slowed down.
    pub(crate) fn throttles(&self) -> Vec<Throttle> {
        let Storage { disk, network, .. } = self.storage;
        let share = network.map_or(u64::MAX, |network| network / self.volumes.len() as u64);
        let throttle = |volume: &Volume| Throttle {
            folder: volume.folder.clone(),
            read_bytes: disk.read.min(share),
            write_bytes: disk.write.min(share),
            operations: disk.operations,
        };
        self.volumes.iter().map(throttle).collect()
    }
}

/// A file with a file system in it.
struct Volume {
    image: PathBuf,
    folder: PathBuf,
}

impl Volume {
    fn mount(folder: &Path, bytes: u64) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let image = folder.with_extension("img");
        File::create(&image)?.set_len(bytes).with_context(|| image.display().to_string())?;
        call(Command::new("mkfs.ext4").args(["-q", "-F", "-E", "lazy_itable_init=0"]).arg(&image))?;
        call(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(folder))?;
        Ok(Self { image, folder: folder.to_owned() })
    }

    /// Bounds requests to the device, in KiB. It is what an earlier volume was told otherwise.
    fn limit_requests(&self, most: u64) -> Result<()> {
        let device = crate::outofcore::group::disk(&self.folder)?;
        let queue = format!("/sys/dev/block/{device}/queue/max_sectors_kb");
        fs::write(&queue, most.to_string()).with_context(|| queue.clone())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // A mount that stays makes the next run fail, which finds the file in use.
        let _ = call(Command::new("umount").arg(&self.folder));
        let _ = fs::remove_file(&self.image);
        let _ = fs::remove_dir(&self.folder);
    }
}

fn call(command: &mut Command) -> Result<()> {
    let ended = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(ended.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttles(storage: Storage, count: usize) -> Vec<Throttle> {
        let volume = |place: usize| Volume {
            image: PathBuf::new(),
            folder: PathBuf::from(format!("no-such-volume-{place}")),
        };
        let volumes = Volumes { storage, volumes: (0..count).map(volume).collect() };
        volumes.throttles()
    }

    #[test]
    fn volumes_have_their_share_of_the_network_and_no_more_than_their_disk() {
        let reads = |storage, count| throttles(storage, count)[0].read_bytes;
        assert_eq!([1, 2, 4].map(|count| reads(INSTANCE, count)), [180 * MB; 3]);
        assert_eq!([1, 2, 4].map(|count| reads(S2S, count) * count as u64), [45 * MB; 3]);
        assert_eq!(reads(P2S, 2), 31_250_000);
        assert_eq!(throttles(P2S, 1)[0].write_bytes, 20 * MB);
        assert_eq!(throttles(P2S, 4)[0].write_bytes, 15_625_000);
        assert!(throttles(P2P, 2).iter().all(|it| it.operations == Some(500)));
    }
}
