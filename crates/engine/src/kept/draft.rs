//! The directory of a graph that is being kept: under a temporary name until all of it is there.
//!
//! `DIR` is made as `.DIR.tmp-PID` beside it, and published by a rename. The process that makes it
//! holds a lock on the directory, which the system takes away when the process ends, however it
//! ends. So the next ingest into the same name can tell what a killed one left from what is still
//! being made, and removes the former.
//!
//! Invariant: nothing is removed but directories with such a name that no process has a lock on,
//! and in which there is nothing but files of ours. Checked in `draft::lock` and `is_ours`. Tested
//! by `what_is_there_or_not_ours_is_not_touched`.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use welter_store::io::Faults;
use welter_store::{StoreError, durable};

use super::disks;
use super::folder::is_generation;

/// Names that are tried before giving up.
const NAMES_MAX: u32 = 100;

/// A directory that is being filled; removed when it is dropped before it was published.
#[derive(Debug)]
pub(super) struct Draft {
    temporary: PathBuf,
    target: PathBuf,
    /// Holds the lock.
    _locked: File,
    published: bool,
    faults: Option<Arc<Faults>>,
}

/// Remains of an ingest that was killed before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleStaging {
    /// Directories that were removed.
    pub removed: Vec<PathBuf>,
    /// Directories that were left, because there is something else in them.
    pub left: Vec<PathBuf>,
}

impl Draft {
    /// Begins the directory `target`, which must not be there.
    pub(super) fn begin(target: &Path, faults: Option<&Arc<Faults>>) -> Result<Self, StoreError> {
        let failed = |source: io::Error| StoreError::Create { file: target.to_owned(), source };
        if fs::symlink_metadata(target).is_ok() {
            return Err(failed(io::ErrorKind::AlreadyExists.into()));
        }
        let prefix = prefix(target).ok_or_else(|| failed(io::ErrorKind::InvalidFilename.into()))?;
        for attempt in 0..NAMES_MAX {
            let mut name = prefix.clone();
            name.push(std::process::id().to_string());
            if attempt > 0 {
                name.push(format!("-{attempt}"));
            }
            let temporary = target.with_file_name(name);
            match durable::make_directory(&temporary, faults) {
                Ok(()) => {}
                Err(StoreError::Create { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists =>
                {
                    continue;
                }
                Err(StoreError::Create { source, .. }) => return Err(failed(source)),
                Err(other) => return Err(other),
            }
            // Another process may take it for left over until it is locked.
            let Some(locked) = lock(&temporary) else { continue };
            let target = target.to_owned();
            let faults = faults.cloned();
            return Ok(Self { temporary, target, _locked: locked, published: false, faults });
        }
        Err(failed(io::ErrorKind::AlreadyExists.into()))
    }

    /// Directory of its files.
    pub(super) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives it its name.
    pub(super) fn publish(mut self) -> Result<(), StoreError> {
        let published = durable::publish(&self.temporary, &self.target, self.faults.as_ref());
        // Once it has its name it is whole, whether or not the last sync said so.
        self.published = fs::symlink_metadata(&self.temporary).is_err();
        published
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // The error cannot be reported any more, and the next ingest removes what is left.
            let _ = remove_all(&self.temporary);
        }
    }
}

/// Beginning of the temporary names of a directory.
pub(super) fn prefix(target: &Path) -> Option<OsString> {
    let mut prefix = OsString::from(".");
    prefix.push(target.file_name()?);
    prefix.push(".tmp-");
    Some(prefix)
}

/// A lock on a directory, if no process has one and it is still there.
pub(super) fn lock(directory: &Path) -> Option<File> {
    let file = File::open(directory).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (held, found) = (file.metadata().ok()?, fs::symlink_metadata(directory).ok()?);
    ((held.dev(), held.ino()) == (found.dev(), found.ino())).then_some(file)
}

/// Removes what killed ingests into the same directory left.
pub(super) fn clear(target: &Path) -> StaleStaging {
    let (Some(prefix), Some(parent)) = (prefix(target), target.parent()) else {
        return StaleStaging::default();
    };
    clear_below(parent, &prefix, |path| is_ours(path, 0) && remove_all(path).is_ok())
}

/// Removes directories that killed processes left in another one, whose names begin so. `remove`
/// removes one if it is ours, and says whether.
pub(super) fn clear_below(
    parent: &Path,
    prefix: &OsStr,
    remove: impl Fn(&Path) -> bool,
) -> StaleStaging {
    let mut found = StaleStaging::default();
    let here = if parent == Path::new("") { Path::new(".") } else { parent };
    let Ok(entries) = fs::read_dir(here) else { return found };
    for entry in entries.flatten() {
        let path = parent.join(entry.file_name());
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_directory || !is_temporary(&entry.file_name(), prefix) {
            continue;
        }
        let Some(_locked) = lock(&path) else { continue };
        if remove(&path) {
            found.removed.push(path);
        } else {
            found.left.push(path);
        }
    }
    found
}

/// Whether a name is the prefix and numbers of processes and attempts.
pub(super) fn is_temporary(name: &OsStr, prefix: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    rest.is_some_and(|rest| {
        !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
    })
}

/// Removes a directory, with what lies of it on other disks.
pub(super) fn remove_all(directory: &Path) -> Result<(), StoreError> {
    disks::remove_parts(&directory.join(super::GENERATION), None)?;
    let failed = |source| StoreError::Io { what: "remove it", file: directory.to_owned(), source };
    fs::remove_dir_all(directory).map_err(failed)
}

/// Whether there is nothing in a directory but what an ingest writes.
pub(super) fn is_ours(directory: &Path, depth: usize) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let (Ok(kind), Some(name)) =
            (entry.file_type(), entry.file_name().to_str().map(str::to_owned))
        else {
            return false;
        };
        // A sealed file has a temporary name of its own before it is whole.
        let stem = name.strip_prefix('.').and_then(|name| Some(name.split_once(".tmp-")?.0));
        let stem = stem.unwrap_or(&name);
        match depth {
            0 if kind.is_dir() => is_generation(&name) && is_ours(&entry.path(), 1),
            0 => kind.is_file() && [super::MANIFEST, super::RATES].contains(&stem),
            _ if kind.is_symlink() => disks::part(&entry.path()).is_some(),
            _ => kind.is_file() && disks::is_of_generation(stem),
        }
    })
}
