//! Where an output goes: through links, into a bucket, and only where it can go.
//!
//! Invariant: what is found here to be impossible would have failed after the work: a file that is
//! the root of a mount, or that its directory does not let this process replace. Checked in
//! `may_replace`. Tested by `a_file_that_is_mounted_is_refused_before_the_run`.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
use rustix::io::Errno;
use welter_objects::Location;

use crate::error::OutputError;

/// Links that are followed, one after the other.
const LINKS_MAX: usize = 40;

/// The bit of the mode of a directory in which only owners rename and remove.
const STICKY: u32 = 0o1000;

/// Destination of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A file that is made, or replaced; no link leads to it any more.
    File(PathBuf),
    /// An object in a bucket, which is made or replaced.
    Object(Location),
    /// File that is opened and written to: a pipe or a device.
    Direct(PathBuf),
    /// File that this process has open already, and that is added to.
    Descriptor(PathBuf),
}

impl Destination {
    /// Where a file called `path` goes.
    ///
    /// # Errors
    /// When nothing can be written there.
    pub(crate) fn of(path: &Path) -> Result<Self, OutputError> {
        if let Some(location) = Location::of(path) {
            return location.map(Self::Object).map_err(|error| OutputError::of_object(&error));
        }
        let name = || path.display().to_string();
        Self::of_local(path).map_err(|source| OutputError::Create { name: name(), source })
    }

    fn of_local(path: &Path) -> io::Result<Self> {
        if is_descriptor(path) {
            return Ok(Self::Descriptor(path.to_owned()));
        }
        if path.as_os_str().as_bytes().ends_with(b"/") {
            return Err(ErrorKind::IsADirectory.into());
        }
        let path = resolved(path)?;
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if !found.is_file() => Ok(Self::Direct(path)),
            Ok(found) => {
                may_replace(&path, &found)?;
                Ok(Self::File(path))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::File(path)),
            Err(error) => Err(error),
        }
    }

    /// Location of an input.
    pub fn of_input(path: &Path) -> Self {
        match Location::of(path) {
            Some(Ok(location)) => Self::Object(location),
            _ => Self::File(path.to_owned()),
        }
    }

    /// Whether what is written stays there under a name: not in a pipe or a device.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::File(_) | Self::Object(_))
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Object(_) | Self::Direct(_) | Self::Descriptor(_) => None,
        }
    }

    /// Whether two outputs would be one file or object.
    pub fn is(&self, other: &Self) -> bool {
        if let (Self::Object(one), Self::Object(two)) = (self, other) {
            return one.is(two);
        }
        let identity = |path: &Path| fs::metadata(path).map(|found| (found.dev(), found.ino()));
        let (Some(one), Some(two)) = (self.file(), other.file()) else { return false };
        one == two || identity(one).is_ok_and(|one| identity(two).is_ok_and(|two| one == two))
    }
}

/// Whether a path names what this process has open.
fn is_descriptor(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    let names = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];
    names.iter().any(|name| path == Path::new(name))
        || folders.iter().any(|folder| path.parent() == Some(Path::new(folder)))
}

/// The path without links. The last part of it need not be there, also behind a link.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::canonicalize(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        if let Ok(to) = fs::read_link(&path) {
            path = folder.join(to);
        } else {
            let Some(name) = path.file_name() else { break };
            return Ok(fs::canonicalize(folder)?.join(name));
        }
    }
    Err(ErrorKind::InvalidFilename.into())
}

/// Refuses a file that a rename would not replace.
fn may_replace(path: &Path, found: &Metadata) -> io::Result<()> {
    let has = |path: &Path, attribute| {
        let asked = statx(CWD, path, AtFlags::empty(), StatxFlags::BASIC_STATS);
        // An old kernel does not know; then the rename tells.
        asked.is_ok_and(|found| found.stx_attributes.contains(attribute))
    };
    if has(path, StatxAttributes::MOUNT_ROOT) {
        let what = "it is mounted by itself, so it cannot be replaced; mount its folder";
        return Err(io::Error::new(ErrorKind::ResourceBusy, what));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    if has(path, StatxAttributes::IMMUTABLE)
        || has(path, StatxAttributes::APPEND)
        || has(folder, StatxAttributes::APPEND)
        || is_of_others(folder, found)
    {
        return Err(Errno::PERM.into());
    }
    Ok(())
}

/// Whether a file lies in a directory, such as `/tmp`, in which only its owner may replace it.
fn is_of_others(folder: &Path, file: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    let mine = |owner: u32| owner == user.as_raw();
    !user.is_root()
        && !mine(file.uid())
        && fs::metadata(folder).is_ok_and(|it| it.mode() & STICKY != 0 && !mine(it.uid()))
}
