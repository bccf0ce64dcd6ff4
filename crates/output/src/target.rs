//! Files that appear whole or not at all.
//!
//! A file is written under a temporary name beside its own (`.name.tmp-PID`) and renamed when it is
//! complete; until then what was there before stays. The temporary file is removed on every other
//! way out, panics included. It is not synchronised to the disk: a result can be computed again,
//! and waiting for the disk would take longer than computing it.
//!
//! Where the name is that of a pipe or a device (`/dev/null`), there is nothing to replace, and
//! bytes go there directly. A symbolic link is followed: what it points to is replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::error::OutputError;

/// Temporary names tried before giving up: others are left from killed processes of the same id.
const NAMES_MAX: u32 = 100;

/// An output file that is being written.
#[derive(Debug)]
pub(crate) struct Target {
    name: String,
    file: Option<File>,
    /// Temporary and final path; `None` when bytes go to the final path directly.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Target {
    /// Creates the file that will be called `path`.
    pub(crate) fn create(path: &Path) -> Result<Self, OutputError> {
        let name = path.display().to_string();
        let created = match open(path) {
            Ok((file, rename)) => Ok(Self { name: name.clone(), file: Some(file), rename }),
            Err(error) => Err(error),
        };
        created.map_err(|source| OutputError::Create { name, source })
    }

    /// The name that errors use.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where to write.
    pub(crate) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Gives the file its name.
    pub(crate) fn commit(mut self) -> Result<(), OutputError> {
        self.file = None;
        let Some((temporary, path)) = &self.rename else { return Ok(()) };
        fs::rename(temporary, path).map_err(|error| OutputError::write(&self.name, error))?;
        self.rename = None;
        Ok(())
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if let Some((temporary, _)) = &self.rename {
            // Nobody is left to be told, and the name says what the file is.
            let _removed = fs::remove_file(temporary);
        }
    }
}

/// Finds out whether a file can be created at `path`, before the work is done whose result it will
/// hold. Nothing is left behind, and what is there stays.
///
/// # Errors
/// [`OutputError::Create`] when it cannot.
pub fn probe(path: &Path) -> Result<(), OutputError> {
    let special = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    // Opening a pipe would wait for its reader, and closing it would tell the reader that all is
    // said.
    if fs::metadata(path).is_ok_and(special) {
        return Ok(());
    }
    Target::create(path).map(drop)
}

type Opened = (File, Option<(PathBuf, PathBuf)>);

fn open(path: &Path) -> io::Result<Opened> {
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let existing = match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Ok(metadata) if !metadata.is_file() => {
            return Ok((OpenOptions::new().write(true).open(&path)?, None));
        }
        existing => existing.ok(),
    };
    let (file, temporary) = create_beside(&path)?;
    let rename = Some((temporary, path));
    if let Some(metadata) = existing {
        file.set_permissions(metadata.permissions())?;
    }
    Ok((file, rename))
}

/// A new file in the directory of `path`.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    let Some(name) = path.file_name() else { return Err(ErrorKind::InvalidFilename.into()) };
    for attempt in 0..NAMES_MAX {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".tmp-{}", std::process::id()));
        if attempt > 0 {
            temporary.push(format!("-{attempt}"));
        }
        let temporary = path.with_file_name(temporary);
        match OpenOptions::new().write(true).create_new(true).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        fs::write(&path, "old").unwrap();
        let target = Target::create(&path).unwrap();
        target.file().unwrap().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        probe(&path).unwrap();
        target.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let first = Target::create(&path).unwrap();
        let second = Target::create(&path).unwrap();
        assert_eq!(names(directory.path()).len(), 2, "two writers have two temporary files");
        drop((first, second));
        assert!(names(directory.path()).is_empty());
    }

    #[test]
    fn links_are_followed_and_devices_written_directly() {
        let directory = tempfile::tempdir().unwrap();
        let (path, link) = (directory.path().join("out"), directory.path().join("link"));
        fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        Target::create(&link).unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        Target::create(Path::new("/dev/null")).unwrap().commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_created_says_so() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("no/such/place")] {
            let error = Target::create(&path).unwrap_err();
            assert_eq!(error.exit_code(), 73);
            assert_eq!(probe(&path).unwrap_err().to_string(), error.to_string());
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        }
    }
}
