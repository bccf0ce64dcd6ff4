//! Directories of temporary files for graphs on their way to a bucket.
//!
//! A graph is made in `welter-graph-PID-N/graph`, below the directory of temporary files, and goes
//! from there to its bucket. The process holds a lock on the directory meanwhile, which the system
//! takes away when the process ends, however it ends; so the next one that makes such a directory
//! removes what a killed one left.
//!
//! Invariant: nothing is removed but directories with such a name that no process has a lock on,
//! and in which there is nothing but a graph of ours. Checked in `draft::clear_below` and
//! `is_ours`. Tested by `what_a_killed_ingest_left_among_temporary_files_is_removed`.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use welter_store::StoreError;

use super::draft::{self, StaleStaging, is_temporary, lock};

/// Beginning of the names of these directories.
const PREFIX: &str = "welter-graph-";
/// Name of the graph in there.
const GRAPH: &str = "graph";
/// Names that are tried before giving up.
const NAMES_MAX: u32 = 100;

/// A directory for a graph on its way to a bucket, removed when it is dropped.
#[derive(Debug)]
pub struct Staging {
    directory: PathBuf,
    /// Holds the lock.
    _locked: File,
}

impl Staging {
    /// Makes one below a directory of temporary files. Also says what of killed processes was there
    /// and is removed.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn begin(scratch: &Path) -> Result<(Self, StaleStaging), StoreError> {
        let remove = |path: &Path| is_ours(path) && fs::remove_dir_all(path).is_ok();
        let stale = draft::clear_below(scratch, OsStr::new(PREFIX), remove);
        for attempt in 0..NAMES_MAX {
            let directory = scratch.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            match fs::create_dir(&directory) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(source) => return Err(StoreError::Create { file: directory, source }),
            }
            // Another process may take it for left over until it is locked.
            if let Some(locked) = lock(&directory) {
                return Ok((Self { directory, _locked: locked }, stale));
            }
        }
        let source = io::ErrorKind::AlreadyExists.into();
        Err(StoreError::Create { file: scratch.join(PREFIX), source })
    }

    /// Directory that the graph goes to.
    pub fn graph(&self) -> PathBuf {
        self.directory.join(GRAPH)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // The next one removes what cannot be removed now.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Whether there is nothing in a directory but a graph of ours, whole or not.
fn is_ours(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    let draft = draft::prefix(Path::new(GRAPH)).unwrap_or_default();
    entries.all(|entry| {
        let Ok(entry) = entry else { return false };
        let name = entry.file_name();
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && (name == GRAPH || is_temporary(&name, &draft))
            && draft::is_ours(&entry.path(), 0)
    })
}
