//! Copies of checkpoints elsewhere, such as in a bucket, from which a run is resumed by machines
//! that have nothing.
//!
//! ```text
//! FOLDER/manifest             the newest manifest, put by rank 0 in the place of the version that
//!                             it put or read last
//!       /machine-RANK/NAME    a block of a checkpoint as it lies on the disk of that machine: of
//!                             vertex sets, and of edges that are in no input any more
//! ```
//!
//! Blocks are put when they are written, those that are left when they are synced; so all that a
//! manifest names is there before the manifest. Edges of the input are not: they are read again.
//!
//! Nothing is locked: of two clusters that resume one run, the first to put a manifest goes on, and
//! the other fails. Their epochs begin at numbers drawn by chance, so that their blocks have other
//! names, and a process removes what it has put itself alone.
//!
//! **Invariant:** blocks of the manifest that is there stay until a newer one is there. Checked in
//! `MachineCopies::forget`, which is asked after that. Tested by
//! `machines_that_have_nothing_resume_from_copies`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use welter_progress::FailureKind;
use welter_protocol::Rank;
use welter_protocol::checkpoint::Manifest;
use welter_protocol::ids::{BlockName, Kind, Role};
use welter_store::io::{Remote, RemoteVersion};
use welter_store::{StoreError, durable};

/// Name of the newest manifest.
const MANIFEST: &str = "manifest";

/// Bytes of a manifest at most.
const MANIFEST_BYTES_MAX: u64 = 1 << 30;

/// Place of the copies of a run.
#[derive(Clone, Debug)]
pub struct Copies {
    remote: Arc<dyn Remote>,
    folder: PathBuf,
    every: u32,
}

/// Copies of the checkpoints of a machine.
pub(crate) struct MachineCopies {
    copies: Copies,
    rank: Rank,
    /// Names of blocks that are there, and whether this process has put them.
    there: Mutex<BTreeMap<String, bool>>,
    /// Version of the newest manifest, as it was put or read last.
    version: Mutex<Option<RemoteVersion>>,
}

impl Copies {
    /// Copies in this folder, of checkpoints that are made after each `every` iterations.
    pub fn new(remote: Arc<dyn Remote>, folder: PathBuf, every: u32) -> Self {
        Self { remote, folder, every: every.max(1) }
    }

    /// Copies of the machine of a rank.
    pub(crate) fn of(&self, rank: Rank) -> MachineCopies {
        let (there, version) = (Mutex::default(), Mutex::default());
        MachineCopies { copies: self.clone(), rank, there, version }
    }
}

/// Whether a block is copied where a checkpoint has it.
pub(crate) fn is_copied(name: &BlockName) -> bool {
    let is_kept = match name.kind {
        Kind::Vertices => true,
        Kind::Edges => name.iteration > 0,
        _ => false,
    };
    is_kept && name.role == Role::Primary
}

impl MachineCopies {
    /// Whether a block is of a checkpoint, as far as that is known when it is written.
    pub(crate) fn is_due(&self, name: &BlockName) -> bool {
        is_copied(name) && name.iteration.is_multiple_of(self.copies.every)
    }

    fn place(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn folder(&self) -> PathBuf {
        self.copies.folder.join(format!("machine-{}", self.rank))
    }

    fn there(&self) -> MutexGuard<'_, BTreeMap<String, bool>> {
        // Nothing is done under the lock that may leave it half done.
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a block that lies in a file, unless it is there.
    ///
    /// # Errors
    /// When the file cannot be read, or the copy not be put.
    pub(crate) fn put(&self, name: &str, file: &Path) -> Result<(), StoreError> {
        if self.there().contains_key(name) {
            return Ok(());
        }
        let place = self.place(name);
        let unread = |source| StoreError::Io { what: "read it", file: file.to_owned(), source };
        let mut bytes = File::open(file).map_err(unread)?;
        let mut writer = self.copies.remote.create(&place)?;
        let copied = io::copy(&mut bytes, &mut writer);
        copied.map_err(|error| StoreError::of_writer(&place, error))?;
        writer.complete()?;
        self.there().insert(name.to_owned(), true);
        Ok(())
    }

    /// Removes a block that this process has put, as far as that can be done: what is left goes
    /// with the folder.
    pub(crate) fn forget(&self, name: &str) {
        let is_own = self.there().remove(name) == Some(true);
        if is_own {
            let _ = self.copies.remote.delete(&self.place(name));
        }
    }

    /// Puts a manifest, if this is the machine that does.
    ///
    /// # Errors
    /// When it cannot be put, or another process has put one.
    pub(crate) fn commit(&self, manifest: &Manifest) -> Result<(), StoreError> {
        if self.rank != 0 {
            return Ok(());
        }
        let file = self.copies.folder.join(MANIFEST);
        let mut version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        let put = self.copies.remote.put_if(&file, &manifest.encode(), version.as_ref())?;
        let Some(now) = put else {
            let what = "another process has resumed this run".to_owned();
            return Err(StoreError::Remote { file, what, kind: FailureKind::Storage });
        };
        *version = Some(now);
        Ok(())
    }

    /// The newest manifest, if there is one.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub(crate) fn newest(&self) -> Result<Option<Manifest>, StoreError> {
        let file = self.copies.folder.join(MANIFEST);
        let (bytes, found) = match self.copies.remote.load(&file, MANIFEST_BYTES_MAX) {
            Err(StoreError::Missing { .. }) => return Ok(None),
            loaded => loaded?,
        };
        let mut version = self.version.lock().unwrap_or_else(PoisonError::into_inner);
        *version = Some(found);
        let damaged =
            || StoreError::Damaged { file, offset: 0, what: "it is no manifest".to_owned() };
        Manifest::decode(&bytes).map(Some).ok_or_else(damaged)
    }

    /// Fetches blocks into a directory: those of these names, and all whose names begin so. One
    /// that is not there is found lacking by who needs it.
    ///
    /// # Errors
    /// When one cannot be read or kept.
    pub(crate) fn fetch(
        &self,
        mut names: Vec<String>,
        beginning: Option<&str>,
        directory: &Path,
    ) -> Result<(), StoreError> {
        if let Some(beginning) = beginning {
            let listed = self.copies.remote.list(&self.folder())?;
            let listed = listed.iter().filter_map(|path| path.file_name()?.to_str());
            let wanted = listed.filter(|name| name.starts_with(beginning));
            names.extend(wanted.map(str::to_owned));
        }
        for name in names {
            let place = self.place(&name);
            let length = match self.copies.remote.bytes(&place) {
                Err(StoreError::Missing { .. }) => continue,
                length => length?,
            };
            let mut bytes = Vec::new();
            let mut take = |piece: &[u8]| bytes.extend_from_slice(piece);
            self.copies.remote.read(&place, 0..length, &mut take)?;
            durable::replace(&directory.join(&name), &bytes, None)?;
            self.there().insert(name, false);
        }
        Ok(())
    }
}
