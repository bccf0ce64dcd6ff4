//! Objects in a bucket of processes that were killed: nothing names them, and nothing leads to
//! them.
//!
//! Ingests and probes put theirs into folders with a number. One that is at work looks like one
//! that was killed, but that it puts another object every now and then. So a folder is taken for
//! one that was left when the youngest object in it is older than [`AGE`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::StoreError;
use crate::io::Remote;

/// Age of the youngest object of a folder from which on the folder is left of a process. Nothing
/// that puts objects pauses as long.
pub const AGE: Duration = Duration::from_hours(24);

/// Objects of processes that did not end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrphanedObjects {
    /// Number of objects that were removed.
    pub removed: u64,
    /// Number of objects that stay, since a process may be at work on them.
    pub young: u64,
}

/// Removes the objects of folders that were left, among these, each with its age. `folder_of` says
/// in which folder an object lies, if it is named as one of ours.
///
/// # Errors
/// When an object cannot be removed.
pub fn clear(
    remote: &dyn Remote,
    listed: Vec<(PathBuf, Duration)>,
    folder_of: impl Fn(&Path) -> Option<PathBuf>,
) -> Result<OrphanedObjects, StoreError> {
    let mut folders: BTreeMap<PathBuf, Vec<(PathBuf, Duration)>> = BTreeMap::new();
    for (file, age) in listed {
        if let Some(folder) = folder_of(&file) {
            folders.entry(folder).or_default().push((file, age));
        }
    }
    let mut left = OrphanedObjects::default();
    for files in folders.into_values() {
        let youngest = files.iter().map(|(_, age)| *age).min().unwrap_or_default();
        if youngest < AGE {
            left.young += files.len() as u64;
            continue;
        }
        for (file, _) in files {
            remote.delete(&file)?;
            left.removed += 1;
        }
    }
    Ok(left)
}
