//! Files that are whole or not there, also after the power was cut.
//!
//! ```text
//! new name beside the old one ─► write ─► fsync file ─► rename ─► fsync directory
//! ```
//! Each step is needed: without the first fsync the new name may stand for an empty file, without
//! the second the old file may come back. Until the rename the old file stays what it was.
//!
//! Invariants: a failed fsync is never tried again, because the kernel has dropped what it could
//! not write and would say that all is well · whatever fails before the rename, the temporary file
//! is removed. Tested by `a_file_is_replaced_or_stays` and
//! `after_a_sync_that_failed_nothing_is_tried_again`.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::StoreError;
pub use crate::io::sync_directory;
use crate::io::{Call, Faults, check, parent, write_all};

/// Temporary names tried before giving up: others are left from killed processes of the same id.
const NAMES_MAX: u32 = 100;

/// A file that is being written. Most have no name of their own before they are whole, and are
/// removed when they are dropped.
#[derive(Debug)]
pub struct Draft {
    file: File,
    /// `None` where it has its own name.
    temporary: Option<PathBuf>,
    path: PathBuf,
    bytes: u64,
    faults: Option<Arc<Faults>>,
}

impl Draft {
    /// Begins the file that will be called `path`, under a temporary name beside it
    /// (`.name.tmp-PID`).
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path, faults: Option<&Arc<Faults>>) -> Result<Self, StoreError> {
        Self::begin(path, faults, create_beside)
    }

    /// Begins a file under its own name, which must be free, where something else says whether the
    /// file is whole. It stays when it is dropped.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create_named(path: &Path, faults: Option<&Arc<Faults>>) -> Result<Self, StoreError> {
        Self::begin(path, faults, |path| {
            let file = OpenOptions::new().write(true).create_new(true).open(path)?;
            Ok((file, None))
        })
    }

    /// Begins a file that `create` makes, which also says its temporary name, if it has one.
    fn begin(
        path: &Path,
        faults: Option<&Arc<Faults>>,
        create: impl FnOnce(&Path) -> io::Result<(File, Option<PathBuf>)>,
    ) -> Result<Self, StoreError> {
        let planned = Faults::of_process().filter(|_| faults.is_none());
        let faults = faults.or(planned.as_ref());
        let made = check(faults, Call::Create).map_err(io::Error::from);
        let (file, temporary) =
            made.and_then(|()| create(path)).map_err(|error| StoreError::create(path, error))?;
        Ok(Self { file, temporary, path: path.to_owned(), bytes: 0, faults: faults.cloned() })
    }

    /// The file, for what is not in its bytes, such as who may read it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        write_all(&self.file, &self.path, self.bytes, bytes, self.faults.as_ref())?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Makes the file durable and gives it its name; what had that name before is gone.
    ///
    /// # Errors
    /// When a step fails. The old file is untouched then, unless it was the very last step: after
    /// that one, either of the two may be found when the power is cut.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let faults = self.faults.clone();
        let failed = |what, error: Errno| StoreError::io(what, &self.path, error);
        check(faults.as_ref(), Call::Sync)
            .and_then(|()| rustix::fs::fsync(&self.file))
            .map_err(|error| failed("sync it", error))?;
        if let Some(temporary) = &self.temporary {
            check(faults.as_ref(), Call::Rename)
                .and_then(|()| rustix::fs::rename(temporary, &self.path))
                .map_err(|error| failed("give it its name", error))?;
            self.temporary = None;
        }
        match sync_directory(parent(&self.path), faults.as_ref()) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                // Names may be made in it and not be read. All of the file system has them too.
                rustix::fs::syncfs(&self.file).map_err(|error| failed("sync its directory", error))
            }
            synced => synced,
        }
    }
}

/// Bytes that are written are added at the end.
impl Write for Draft {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(StoreError::into_io)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // The error cannot be reported any more, and the name says what the file is.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A new file in the directory of `path`, under a temporary name.
fn create_beside(path: &Path) -> io::Result<(File, Option<PathBuf>)> {
    let Some(name) = path.file_name() else { return Err(ErrorKind::InvalidFilename.into()) };
    for attempt in 0..NAMES_MAX {
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".tmp-{}", std::process::id()));
        if attempt > 0 {
            temporary.push(format!("-{attempt}"));
        }
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, Some(temporary))),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Writes a whole file, in place of what had its name before.
///
/// ```
/// use welter_store::durable;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("manifest");
/// durable::replace(&path, b"first", None)?;
/// durable::replace(&path, b"second", None)?;
/// assert_eq!(std::fs::read(&path)?, b"second");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Draft::create`], [`Draft::append`] and [`Draft::commit`].
pub fn replace(path: &Path, bytes: &[u8], faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let mut draft = Draft::create(path, faults)?;
    draft.append(bytes)?;
    draft.commit()
}

/// Makes a directory, and waits until its name is on the device.
///
/// # Errors
/// When it is there already, or cannot be made; it is not left then.
pub fn make_directory(path: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    check(faults, Call::Create)
        .map_err(io::Error::from)
        .and_then(|()| fs::create_dir(path))
        .map_err(|error| StoreError::create(path, error))?;
    sync_directory(parent(path), faults).inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_dir(path);
    })
}

/// Makes a link that leads to `file`, which need not be there. Its name is on the device once its
/// directory is synced.
///
/// # Errors
/// When its name is taken, or it cannot be made.
pub fn link(path: &Path, file: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    check(faults, Call::Create)
        .map_err(io::Error::from)
        .and_then(|()| std::os::unix::fs::symlink(file, path))
        .map_err(|error| StoreError::create(path, error))
}

/// Gives a directory, with all that was made durable in it, the name under which it is looked for.
/// Both names lie on one file system.
///
/// # Errors
/// When something has that name, or a step fails. After the last step, the fsync of the directory
/// around it, the new name is there but may be gone when the power is cut.
pub fn publish(from: &Path, to: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    sync_directory(from, faults)?;
    check(faults, Call::Rename)
        .and_then(|()| rename_if_free(from, to))
        .map_err(|error| StoreError::create(to, error.into()))?;
    sync_directory(parent(to), faults)?;
    if parent(from) != parent(to) {
        sync_directory(parent(from), faults)?;
    }
    Ok(())
}

/// Removes a file. One that is not there is no error.
///
/// # Errors
/// When it cannot be removed.
pub fn remove(path: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let removed = check(faults, Call::Remove).map_err(io::Error::from);
    match removed.and_then(|()| fs::remove_file(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StoreError::io("remove it", path, error))
        }
        _ => Ok(()),
    }
}

/// Removes a directory, unless something is in it or it is not there.
///
/// # Errors
/// When it cannot be removed.
pub fn remove_directory(path: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let kept = [ErrorKind::NotFound, ErrorKind::DirectoryNotEmpty];
    let removed = check(faults, Call::Remove).map_err(io::Error::from);
    match removed.and_then(|()| fs::remove_dir(path)) {
        Err(error) if !kept.contains(&error.kind()) => {
            Err(StoreError::io("remove it", path, error))
        }
        _ => Ok(()),
    }
}

/// Refuses a directory whose file system cannot take `need` more bytes.
///
/// # Errors
/// [`StoreError::Space`] then, and when the file system does not say.
pub fn check_space(directory: &Path, need: u64) -> Result<(), StoreError> {
    let found = rustix::fs::statvfs(directory)
        .map_err(|error| StoreError::io("ask for the space left on", directory, error))?;
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    if need <= free {
        return Ok(());
    }
    Err(StoreError::Space { directory: directory.to_owned(), need, free })
}

fn rename_if_free(from: &Path, to: &Path) -> Result<(), Errno> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not all file systems know the flag. Without it only an empty directory is replaced.
        Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::rename(from, to),
        other => other,
    }
}
