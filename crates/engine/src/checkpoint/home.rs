//! Where checkpoints are kept: a directory of this machine, or a folder of a bucket.
//!
//! A directory is locked by the one process that writes to it. A bucket has no locks: there the
//! manifest is put only in the place of the version that this process put or read last, so of two
//! that resume one run the first to write a checkpoint continues, and the other ends. Files of
//! states bear a number of their process there, so that neither touches those of the other.
//!
//! Invariant: what another process has written since is never replaced or removed. Checked in
//! `Home::put_manifest` and `Home::is_ours`. Tested by
//! `of_two_runs_one_goes_on_and_the_other_ends_without_a_trace`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use welter_progress::FailureKind;
use welter_store::io::{Faults, Remote, RemoteVersion};
use welter_store::sealed::{self, Identity, SealedReader, SealedWriter, part_bytes};
use welter_store::{StoreError, durable, random_number};

use super::files::{MANIFEST, STATE, STATE_KIND};
use super::manifest::{BYTES_MAX, KIND};
use super::striped::StripedWriter;
use crate::machine::sync::lock;

/// A lock is asked for so often, with a pause in between.
const LOCK_ATTEMPTS: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of the file of a manifest at most.
const FILE_BYTES_MAX: u64 = BYTES_MAX + (1 << 20);

/// Place of the checkpoints of a run.
#[derive(Debug)]
pub(super) enum Home {
    /// In a directory, which is locked for as long.
    Here {
        faults: Option<Arc<Faults>>,
        /// Directories of other disks, each of which has a part of each state.
        parts: Vec<PathBuf>,
        _locked: File,
    },
    /// In a folder of a bucket.
    Elsewhere {
        remote: Arc<dyn Remote>,
        /// Number of this process, which is not 0.
        writer: u32,
        /// Version of the manifest that was put or read last.
        version: Mutex<Option<RemoteVersion>>,
    },
}

impl Home {
    /// A directory of this machine.
    pub(super) fn here(directory: &Path, faults: Option<&Arc<Faults>>) -> Result<Self, StoreError> {
        let locked = lock_directory(directory)?;
        Ok(Self::Here { faults: faults.cloned(), parts: Vec::new(), _locked: locked })
    }

    /// A folder of a bucket, of which nothing is known yet.
    pub(super) fn elsewhere(remote: &Arc<dyn Remote>) -> Self {
        let writer = random_number() as u32 | 1;
        Self::Elsewhere { remote: Arc::clone(remote), writer, version: Mutex::new(None) }
    }

    /// This home, with its bucket asked by another remote from now on.
    pub(super) fn through(mut self, other: &Arc<dyn Remote>) -> Self {
        if let Self::Elsewhere { remote, .. } = &mut self {
            *remote = Arc::clone(other);
        }
        self
    }

    /// Number that files of states bear; 0 where a lock makes it needless.
    pub(super) fn writer(&self) -> u32 {
        if let Self::Elsewhere { writer, .. } = self { *writer } else { 0 }
    }

    pub(super) fn faults(&self) -> Option<&Arc<Faults>> {
        if let Self::Here { faults, .. } = self { faults.as_ref() } else { None }
    }

    /// This home, with parts of states in these directories.
    pub(super) fn with_parts(mut self, found: Vec<PathBuf>) -> Self {
        if let Self::Here { parts, .. } = &mut self {
            *parts = found;
        }
        self
    }

    /// Directories of other disks.
    pub(super) fn parts(&self) -> &[PathBuf] {
        if let Self::Here { parts, .. } = self { parts } else { &[] }
    }

    /// Files of the state whose first one this is.
    fn files(&self, path: &Path) -> Vec<PathBuf> {
        let name = path.file_name().unwrap_or_default();
        let others = self.parts().iter().map(|part| part.join(name));
        [path.to_owned()].into_iter().chain(others).collect()
    }

    /// Begins the files of a state.
    pub(super) fn create(
        &self,
        path: &Path,
        identity: &Identity,
        bytes: u64,
    ) -> Result<StripedWriter, StoreError> {
        let Self::Elsewhere { remote, .. } = self else {
            let paths = self.files(path);
            let count = paths.len();
            let begin = |(part, path): (usize, PathBuf)| {
                let bytes = part_bytes(bytes, part, count);
                Ok((SealedWriter::create(&path, identity, bytes, self.faults())?, path))
            };
            let files = paths.into_iter().enumerate().map(begin);
            return StripedWriter::new(files.collect::<Result<_, StoreError>>()?);
        };
        let file = SealedWriter::create_elsewhere(&**remote, path, identity, bytes)?;
        StripedWriter::new(vec![(file, path.to_owned())])
    }

    /// Opens the files of a state.
    pub(super) fn open(&self, path: &Path) -> Result<Vec<SealedReader>, StoreError> {
        let open = |path: &PathBuf| match self {
            Self::Here { faults, .. } => SealedReader::open(path, STATE_KIND, faults.as_ref()),
            Self::Elsewhere { remote, .. } => {
                SealedReader::open_elsewhere(remote, path, STATE_KIND)
            }
        };
        self.files(path).iter().map(open).collect()
    }

    /// Opens the manifest, of which the version is noted.
    pub(super) fn manifest(&self, file: &Path) -> Result<SealedReader, StoreError> {
        match self {
            Self::Here { faults, .. } => SealedReader::open(file, KIND, faults.as_ref()),
            Self::Elsewhere { remote, version, .. } => {
                let (bytes, found) = remote.load(file, FILE_BYTES_MAX)?;
                *lock(version) = Some(found);
                SealedReader::of_bytes(bytes, file, KIND)
            }
        }
    }

    /// Opens the manifest as it is now, without the faults that are planned, to look at it.
    pub(super) fn named(&self, file: &Path) -> Result<SealedReader, StoreError> {
        match self {
            Self::Here { .. } => SealedReader::open(file, KIND, None),
            Self::Elsewhere { remote, .. } => {
                SealedReader::of_bytes(remote.load(file, FILE_BYTES_MAX)?.0, file, KIND)
            }
        }
    }

    /// Removes the files of a state that take room and are of no use, without the faults that are
    /// planned.
    pub(super) fn discard(&self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::Here { .. } => {
                self.files(path).iter().try_for_each(|file| durable::remove(file, None))
            }
            Self::Elsewhere { remote, .. } => remote.delete(path),
        }
    }

    /// Writes the manifest in place of the one before.
    pub(super) fn put_manifest(
        &self,
        file: &Path,
        identity: &Identity,
        payload: &[u8],
    ) -> Result<(), StoreError> {
        let Self::Elsewhere { remote, version, .. } = self else {
            return sealed::seal(file, identity, payload, self.faults());
        };
        let bytes = sealed::sealed_bytes(identity, payload)?;
        let mut version = lock(version);
        match remote.put_if(file, &bytes, version.as_ref())? {
            Some(now) => {
                *version = Some(now);
                Ok(())
            }
            None if version.is_none() => {
                let source = io::Error::new(ErrorKind::AlreadyExists, "a run is kept there");
                Err(StoreError::Create { file: parent(file), source })
            }
            None => Err(StoreError::Remote {
                file: file.to_owned(),
                what: "another process went on with this run, or ended it, since this one began"
                    .to_owned(),
                kind: FailureKind::Storage,
            }),
        }
    }

    /// Whether the manifest is that which this process put or read last. Of a directory it is.
    pub(super) fn is_ours(&self, file: &Path) -> Result<bool, StoreError> {
        let Self::Elsewhere { remote, version, .. } = self else { return Ok(true) };
        match remote.load(file, FILE_BYTES_MAX) {
            Ok((_, found)) => Ok(lock(version).as_ref() == Some(&found)),
            Err(StoreError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the files of a state, or another file; one that is gone already was not needed.
    pub(super) fn remove(&self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::Here { faults, .. } => {
                let remove = |file: &PathBuf| durable::remove(file, faults.as_ref());
                self.files(path).iter().try_for_each(remove)
            }
            Self::Elsewhere { remote, .. } => remote.delete(path),
        }
    }

    /// Files of states in a folder of a bucket, those included that processes left which were
    /// killed. Who may not list it sees none.
    pub(super) fn states(&self, folder: &Path) -> Vec<PathBuf> {
        let Self::Elsewhere { remote, .. } = self else { return Vec::new() };
        let mut found = remote.list(folder).unwrap_or_default();
        let is_state = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            path.parent() == Some(folder) && name.is_some_and(|name| name.starts_with(STATE))
        };
        found.retain(is_state);
        found
    }
}

/// The folder of a manifest.
fn parent(file: &Path) -> PathBuf {
    debug_assert!(file.ends_with(MANIFEST));
    file.parent().unwrap_or(file).to_owned()
}

/// A lock on a directory, unless another process has it; the system takes it away when the process
/// ends, however it ends.
fn lock_directory(directory: &Path) -> Result<File, StoreError> {
    let failed = |what, source: io::Error| StoreError::Io { what, file: directory.into(), source };
    let file = File::open(directory).map_err(|error| failed("open it", error))?;
    // A process that is just ending, or about to become another one, has it a moment longer.
    let mut attempts = 0..LOCK_ATTEMPTS;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if attempts.next().is_some() => std::thread::sleep(LOCK_PAUSE),
            Err(error) => {
                let what = "lock it (is another run at work on these checkpoints?)";
                return Err(failed(what, error.into()));
            }
        }
    }
}
