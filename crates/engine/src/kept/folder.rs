//! The folder of a generation: `gen-0` in a directory, and `gen-0-NUMBER` in a bucket.
//!
//! Programs that copy files keep their names, so a graph may lie in a bucket as in a directory, and
//! the other way round. Where files lie elsewhere, the name that this program would have given is
//! asked for, and the other one only where nothing has that name; the first file that is found
//! decides for all others. So a graph that was sent there costs no request more, and neither does
//! one whose files a disk of this machine has: a cache in front knows each file by one name.
//!
//! Invariant: once a file was found, no file of the graph is looked for in the other folder.
//! Checked in `FolderElsewhere::named`. Tested by
//! `a_copy_is_found_by_either_name_and_asked_for_once`.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use welter_store::StoreError;
use welter_store::io::{Remote, RemoteVersion};

use super::manifest::Manifest;

/// Name of the folder of the only generation that there is today, in a directory.
pub(super) const GENERATION: &str = "gen-0";

/// Hexadecimal digits of the number of a graph.
const DIGITS: usize = 16;

/// Whether a name is that of a folder in a bucket.
pub(super) fn is_numbered(name: &str) -> bool {
    let rest = name.strip_prefix(GENERATION).and_then(|rest| rest.strip_prefix('-'));
    let is_hexadecimal = |number: &str| number.bytes().all(|digit| digit.is_ascii_hexdigit());
    rest.is_some_and(|number| number.len() == DIGITS && is_hexadecimal(number))
}

/// Whether a name is that of a folder, wherever it was made.
pub(super) fn is_generation(name: &str) -> bool {
    name == GENERATION || is_numbered(name)
}

/// Name of the folder of a graph in a directory of this machine: that of a bucket only where a copy
/// of one lies there.
pub(super) fn name_here(directory: &Path, manifest: &Manifest) -> String {
    let [here, numbered] = [manifest.folder_here(), manifest.folder_elsewhere()];
    let is_folder = |name: &str| directory.join(name).is_dir();
    if !is_folder(&here) && is_folder(&numbered) { numbered } else { here }
}

/// Files that lie elsewhere, among which those of a graph are in either of two folders.
#[derive(Debug)]
pub(super) struct FolderElsewhere {
    remote: Arc<dyn Remote>,
    /// Folder as it is named in a bucket, by which files are asked for, and as in a directory.
    folders: [PathBuf; 2],
    /// Place among `folders` of the one that has files, once one was found.
    found: OnceLock<usize>,
}

impl FolderElsewhere {
    /// The folder of the graph of this manifest, which lies at the URL `path`.
    pub(super) fn new(remote: &Arc<dyn Remote>, path: &Path, manifest: &Manifest) -> Self {
        let names = [manifest.folder_elsewhere(), manifest.folder_here()];
        let folders = names.map(|name| path.join(name));
        Self { remote: Arc::clone(remote), folders, found: OnceLock::new() }
    }

    /// The folder that files were found in, or that they are looked for in first.
    pub(super) fn path(&self) -> &Path {
        &self.folders[self.found.get().copied().unwrap_or(0)]
    }

    /// Looks for a file of the graph, so that the folder is known from then on, if it is there.
    pub(super) fn find(&self, name: &str) {
        // An error of the file is told where the file is used.
        let _ = self.named(&self.folders[0].join(name));
    }

    /// The name that a file has there. Others than those of the graph have their own.
    fn named(&self, file: &Path) -> Result<PathBuf, StoreError> {
        let Ok(name) = file.strip_prefix(&self.folders[0]) else { return Ok(file.to_owned()) };
        if let Some(found) = self.found.get() {
            return Ok(self.folders[*found].join(name));
        }
        // A store whose objects may not be listed refuses one that is not there.
        let error = match self.remote.bytes(file) {
            Ok(_) => {
                self.found.get_or_init(|| 0);
                return Ok(file.to_owned());
            }
            Err(error @ (StoreError::Missing { .. } | StoreError::Remote { .. })) => error,
            Err(error) => return Err(error),
        };
        let other = self.folders[1].join(name);
        match self.remote.bytes(&other) {
            Ok(_) => {
                self.found.get_or_init(|| 1);
                Ok(other)
            }
            Err(StoreError::Cancelled) => Err(StoreError::Cancelled),
            Err(_) => Err(error),
        }
    }
}

impl Remote for FolderElsewhere {
    fn behind(&self) -> Option<&dyn Remote> {
        Some(&*self.remote)
    }

    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        self.remote.bytes(&self.named(file)?)
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        let file = self.named(file).map_err(StoreError::of_listed_file)?;
        self.remote.read(&file, range, take)
    }

    fn load(&self, file: &Path, bytes_max: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        self.remote.load(&self.named(file)?, bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_by_their_names() {
        assert!(is_generation("gen-0") && !is_numbered("gen-0"));
        assert!(is_generation("gen-0-0123456789abcdef") && is_numbered("gen-0-0123456789abcdef"));
        for other in
            ["gen-1", "gen-0-", "gen-0-1", "gen-0-0123456789abcdeg", "gen-00123456789abcdef"]
        {
            assert!(!is_generation(other), "{other}");
        }
    }
}
