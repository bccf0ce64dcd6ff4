//! Opening the files of a volume.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, MemfdFlags, OFlags, StatxFlags, memfd_create};
use rustix::io::Errno;

use super::faults::{self, Call, Faults};
use super::options::IoOptions;
use super::place::ALIGN;
use crate::StoreError;

/// A file without a name in `directory`, or in memory; gone when it is closed, however the process
/// ends.
pub(super) fn scratch(directory: &Path, options: &IoOptions) -> io::Result<File> {
    faults::check(options.faults.as_ref(), Call::Create)?;
    if options.in_memory {
        let file = memfd_create("welter", MemfdFlags::CLOEXEC)?;
        return Ok(file.into());
    }
    let flags = OFlags::TMPFILE.bits() as i32;
    let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(directory);
    match opened {
        Ok(file) => Ok(file),
        Err(error) if without_tmpfile(&error) => unlinked(directory),
        Err(error) => Err(error),
    }
}

/// Whether the file system knows no files without a name. An old kernel takes the request for one
/// to write to a directory.
fn without_tmpfile(error: &io::Error) -> bool {
    let answers = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL, Errno::NOENT];
    Errno::from_io_error(error).is_some_and(|error| answers.contains(&error))
}

/// A file whose name is taken from it at once.
fn unlinked(directory: &Path) -> io::Result<File> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".welter-scratch-{}-{number}", std::process::id()));
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// A new file.
pub(super) fn create(path: &Path, options: &IoOptions) -> io::Result<File> {
    faults::check(options.faults.as_ref(), Call::Create)?;
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
}

/// A file that is there, to be read.
pub(super) fn open(path: &Path, options: &IoOptions) -> io::Result<File> {
    faults::check(options.faults.as_ref(), Call::Open)?;
    File::open(path)
}

/// Makes reads and writes of a file go past the page cache. Whether they do.
pub(super) fn make_direct(file: &File, options: &IoOptions) -> io::Result<bool> {
    if !options.direct || options.requests.cached || !aligned_enough(file) {
        return Ok(false);
    }
    let flags = rustix::fs::fcntl_getfl(file)?;
    match rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file system takes direct requests at multiples of [`ALIGN`].
fn aligned_enough(file: &File) -> bool {
    let asked = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
    let Ok(found) = asked else { return true };
    if found.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        // The kernel or the file system does not say; most are content with pages.
        return true;
    }
    let fits = |align: u32| align != 0 && (ALIGN as u32).is_multiple_of(align);
    fits(found.stx_dio_mem_align) && fits(found.stx_dio_offset_align)
}

/// The directory that a file lies in.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Waits until the names in a directory are on the device. Some file systems of other machines know
/// no such call, and have them there as soon as they are made.
///
/// # Errors
/// When the directory cannot be opened, or the device says no.
pub fn sync_directory(directory: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let failed = |error: io::Error| StoreError::io("sync", directory, error);
    let opened = File::open(directory).map_err(failed)?;
    faults::check(faults, Call::Sync).map_err(|error| failed(error.into()))?;
    match opened.sync_all() {
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        synced => synced.map_err(failed),
    }
}
