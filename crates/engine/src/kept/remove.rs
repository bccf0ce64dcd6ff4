//! Removing a kept graph with all that belongs to it, on whatever disks that lies.
//!
//! Invariants: a directory in which there is anything that is not of a graph is left as it is · the
//! manifest goes first, so that what is left of a removal that was cut short opens for no reader,
//! and is removed by the next one. Checked in `remove`. Tested by
//! `a_graph_is_removed_from_all_disks_and_nothing_else_is`.

use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use welter_store::io::Remote;
use welter_store::{StoreError, durable};

use super::draft::{is_ours, remove_all};
use super::folder::is_generation;
use super::{CHUNKS, KeptGraph, MANIFEST, RATES};

/// Removes the graph of a directory, or what is left of one.
///
/// # Errors
/// [`StoreError::Missing`] where there is none; when something else is in the directory, and when
/// something cannot be removed.
pub fn remove(directory: &Path) -> Result<(), StoreError> {
    let manifest = directory.join(MANIFEST);
    if !manifest.is_file() && !has_generation(directory) {
        return Err(StoreError::Missing { file: manifest });
    }
    if !is_ours(directory, 0) {
        let what = "remove it, since not all in it is of a kept graph";
        let source = ErrorKind::DirectoryNotEmpty.into();
        return Err(StoreError::Io { what, file: directory.to_owned(), source });
    }
    durable::remove(&manifest, None)?;
    durable::sync_directory(directory, None)?;
    remove_all(directory)?;
    let parent = directory.parent().filter(|parent| *parent != Path::new(""));
    durable::sync_directory(parent.unwrap_or(Path::new(".")), None)
}

/// Whether the folder of a generation is in a directory.
fn has_generation(directory: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(directory) else { return false };
    let is_folder = |entry: &DirEntry| {
        let is_named = entry.file_name().to_str().is_some_and(is_generation);
        is_named && entry.path().is_dir()
    };
    entries.any(|entry| entry.is_ok_and(|entry| is_folder(&entry)))
}

/// Removes the directory of an ingest that is ended at once, with what lies of it on other disks.
///
/// # Errors
/// When something cannot be removed.
pub fn remove_draft(directory: &Path) -> std::io::Result<()> {
    remove_all(directory).map_err(StoreError::into_io)
}

impl KeptGraph {
    /// Removes the graph from a bucket: first its manifest, then what that lists, in the folder
    /// where the directory of its chunks lies.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove_from(self, remote: &Arc<dyn Remote>) -> Result<(), StoreError> {
        if let Some(elsewhere) = &self.elsewhere {
            elsewhere.find(CHUNKS.0);
        }
        let folder = self.folder();
        remote.delete(&self.path.join(MANIFEST))?;
        remote.delete(&self.path.join(RATES))?;
        self.manifest.files.iter().try_for_each(|file| remote.delete(&folder.join(&file.name)))
    }
}
