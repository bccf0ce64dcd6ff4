//! Objects in a bucket of ingests that were killed: no manifest names them, and nothing leads to
//! them.
//!
//! A sender puts its objects into a folder with the number of its graph, and then the manifest. A
//! folder is taken for one that was left by the age of what is in it ([`welter_store::orphans`]);
//! and a sender that took half as long looks whether all is there before it puts the manifest
//! ([`whole`]), so that even one that was stopped meanwhile makes no graph of objects that are
//! gone.
//!
//! Invariant: nothing is removed that a manifest names, or that is not named as an object of ours.
//! Checked in `clear_elsewhere`. Tested by `what_a_killed_ingest_left_in_a_bucket_is_removed`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use welter_store::StoreError;
use welter_store::io::{IoOptions, Remote};
use welter_store::orphans::{self, AGE};

use super::folder::is_numbered;
use super::{GENERATION, KeptGraph, disks};

pub use welter_store::orphans::OrphanedObjects;

/// Removes objects below the URL `target` that ingests left which were killed.
///
/// # Errors
/// When objects cannot be listed or removed, or there is a manifest that cannot be read.
pub fn clear_elsewhere(
    remote: &Arc<dyn Remote>,
    target: &Path,
) -> Result<OrphanedObjects, crate::EngineError> {
    // The list comes first: what is named later was young then. Whatever else lies in the bucket
    // is not listed, which may be a million objects.
    let listed = remote.ages(&target.join(format!("{GENERATION}-")))?;
    let io = IoOptions { remote: Some(Arc::clone(remote)), ..IoOptions::default() };
    let named = match KeptGraph::open(target, &io) {
        Ok(kept) => Some(kept.folder()),
        Err(crate::EngineError::Store(StoreError::Missing { .. })) => None,
        Err(error) => return Err(error),
    };
    let orphaned =
        |file: &Path| folder_of(file, target).filter(|folder| Some(folder) != named.as_ref());
    Ok(orphans::clear(&**remote, listed, orphaned)?)
}

/// The folder of an object, if both are named as of a graph that is kept at `target`.
fn folder_of(file: &Path, target: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let is_number = is_numbered(folder.file_name()?.to_str()?);
    let name = file.file_name()?.to_str()?;
    let is_file = is_number && disks::is_of_generation(name);
    (is_file && folder.parent() == Some(target)).then(|| folder.to_owned())
}

/// Makes sure that all objects of a folder are there that are about to be named, after a sender
/// took `took`. Who may not list them believes it.
pub(super) fn whole(
    remote: &Arc<dyn Remote>,
    folder: &Path,
    names: impl Iterator<Item = String>,
    took: Duration,
) -> Result<(), StoreError> {
    if took < AGE / 2 {
        return Ok(());
    }
    let Ok(there) = remote.list(folder) else { return Ok(()) };
    let files = names.map(|name| folder.join(name));
    let mut gone = files.filter(|file| !there.contains(file));
    gone.next().map_or(Ok(()), |file| Err(StoreError::Missing { file }.of_listed_file()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_ours_are_known_by_their_names() {
        let target = Path::new("s3://box/graph");
        let folder = |file: &str| folder_of(Path::new(file), target);
        let ours = "s3://box/graph/gen-0-0123456789abcdef";
        for name in ["edges-0", "edges-17", "chunks", "ids", "ids-2", "vertices"] {
            assert_eq!(folder(&format!("{ours}/{name}")), Some(ours.into()));
        }
        for other in [
            "s3://box/graph/manifest",
            "s3://box/graph/gen-0-0123456789abcdef/notes.txt",
            "s3://box/graph/gen-0-0123456789abcdef/notes-1",
            "s3://box/graph/gen-0-0123456789abcdef/ids-0",
            "s3://box/graph/gen-0-0123456789abcdef/more/chunks",
            "s3://box/graph/gen-0/chunks",
            "s3://box/graph/gen-0-1/chunks",
            "s3://box/graph/more/gen-0-0123456789abcdef/chunks",
            "s3://box/other/gen-0-0123456789abcdef/chunks",
        ] {
            assert_eq!(folder(other), None, "{other}");
        }
    }
}
