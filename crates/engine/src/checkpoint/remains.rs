//! Files in a directory of checkpoints that were left by a run that was killed as it began or
//! ended.
//!
//! Without a manifest nothing is found by it any more: files that were being written, and states
//! whose manifest was removed because the results are there. So a run may begin in such a directory
//! as in an empty one.
//!
//! Invariant: what is removed is ours: a file that was being written is named so, and one that is
//! named as a state is opened and says that it is one. The directory is locked. Checked in
//! `is_left`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_store::io::Faults;
use welter_store::sealed::SealedReader;
use welter_store::{StoreError, durable};

use super::files::{STATE_KIND, is_state, is_temporary};
use super::parts;

/// Empties a directory, unless something is in it that is not left of a run.
pub(super) fn clear(directory: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let failed = |source| StoreError::Create { file: directory.to_owned(), source };
    let mut left = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if !is_left(&path) {
            return Err(failed(ErrorKind::DirectoryNotEmpty.into()));
        }
        left.push(path);
    }
    parts::remove(directory, faults)?;
    left.iter().try_for_each(|path: &PathBuf| durable::remove(path, faults))
}

fn is_left(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let is_link = parts::of(path).is_some();
    is_temporary(name)
        || is_link
        || is_state(name) && SealedReader::open(path, STATE_KIND, None).is_ok()
}
