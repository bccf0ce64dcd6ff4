//! Files and objects that appear whole or not at all, and are on the device when that is said.
//!
//! A file is written as a [`Draft`]: under a temporary name beside its own (`.name.tmp-PID`), then
//! synchronised, then renamed, then its directory is synchronised; until the rename what was there
//! before stays. The temporary file is removed on every other way out, panics included. An object
//! is written as an [`Upload`], which is likewise. Writers add bytes at the end alone, and never go
//! back: so all formats can be written to both.
//!
//! Where the name is that of a pipe, a device (`/dev/null`) or something that this process has open
//! (`/dev/stdout`), there is nothing to replace, and bytes go there directly. A symbolic link is
//! followed, also one that dangles: what it points to is made or replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use welter_objects::{Bucket, Location, ObjectError, Upload, WriteRequests};
use welter_progress::Progress;
use welter_store::StoreError;
use welter_store::durable::Draft;

use crate::destination::Destination;
use crate::error::OutputError;

/// An output that is being written.
#[derive(Debug)]
pub(crate) struct Target {
    name: String,
    sink: Sink,
}

/// Destination of the bytes of an output.
#[derive(Debug)]
enum Sink {
    Draft(Draft),
    Direct(File),
    Upload(Box<Upload>),
}

impl Target {
    /// Creates what will be called `path`; an object is sent by these requests.
    pub(crate) fn create(
        path: &Path,
        requests: WriteRequests,
        progress: &Progress,
    ) -> Result<Self, OutputError> {
        let name = path.display().to_string();
        let sink = match Destination::of(path)? {
            Destination::Object(location) => {
                let progress = progress.clone();
                upload(&location, move || progress.cancelled())
                    .map(|upload| Sink::Upload(Box::new(upload.by(requests))))
                    .map_err(|error| OutputError::of_object(&error))?
            }
            place => Sink::open(&place)
                .map_err(|source| OutputError::Create { name: name.clone(), source })?,
        };
        Ok(Self { name, sink })
    }

    /// Waits until what was written of a file is on the device. An object is there when it is
    /// complete.
    pub(crate) fn sync(&self) -> Result<(), OutputError> {
        let synced = match &self.sink {
            Sink::Draft(draft) => draft.file().sync_all(),
            Sink::Direct(file) => sync_direct(file),
            Sink::Upload(_) => Ok(()),
        };
        synced.map_err(|error| OutputError::write(&self.name, error))
    }

    /// Waits until all is on the device, and gives it its name, if it was written; leaves nothing
    /// of it otherwise.
    pub(crate) fn end(self, written: Result<(), OutputError>) -> Result<(), OutputError> {
        match (written, self.sink) {
            (Ok(()), sink) => sink.commit().map_err(|error| OutputError::write(&self.name, error)),
            (Err(error), sink) => Err(sink.give_up(error)),
        }
    }

    /// Leaves nothing of it, because of an error.
    pub(crate) fn give_up(self, error: OutputError) -> OutputError {
        self.sink.give_up(error)
    }

    /// Ends several in their order, each if those before it could be.
    pub(crate) fn end_all(
        targets: impl IntoIterator<Item = Self>,
        written: Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        targets.into_iter().fold(written, |written, target| target.end(written))
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Draft(draft) => draft.write(bytes),
            Sink::Direct(file) => file.write(bytes),
            Sink::Upload(upload) => upload.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    /// Opens a place on this machine.
    fn open(place: &Destination) -> io::Result<Self> {
        match place {
            Destination::Direct(path) => {
                Ok(Self::Direct(OpenOptions::new().write(true).open(path)?))
            }
            // The text that was in it before it was opened for us, as by `>> all.csv`, stays.
            Destination::Descriptor(path) => {
                Ok(Self::Direct(OpenOptions::new().append(true).open(path)?))
            }
            Destination::File(path) => {
                let draft = Draft::create(path, None).map_err(StoreError::into_io)?;
                if let Ok(found) = fs::metadata(path) {
                    draft.file().set_permissions(found.permissions())?;
                }
                Ok(Self::Draft(draft))
            }
            Destination::Object(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn give_up(self, error: OutputError) -> OutputError {
        match self {
            Self::Upload(upload) => error.leaving(upload.give_up()),
            Self::Draft(_) | Self::Direct(_) => error,
        }
    }

    fn commit(self) -> io::Result<()> {
        match self {
            Self::Draft(draft) => draft.commit().map_err(StoreError::into_io),
            Self::Direct(file) => sync_direct(&file),
            Self::Upload(upload) => Ok(upload.complete()?),
        }
    }
}

/// An upload to the bucket of a location.
fn upload(
    location: &Location,
    stopped: impl Fn() -> bool + Send + Sync + 'static,
) -> Result<Upload, ObjectError> {
    Bucket::of(location)?.upload(&location.key, stopped)
}

/// Waits until what was written to a file is on the device, as far as it has one: a pipe or a
/// terminal has none.
///
/// # Errors
/// Requests at the device.
pub fn sync_direct(file: &File) -> io::Result<()> {
    let found = file.metadata()?;
    if !found.is_file() && !found.file_type().is_block_device() {
        return Ok(());
    }
    file.sync_all()
}

/// Writes a small file or object, whole or not at all.
///
/// # Errors
/// See [`OutputError`]. What was at `path` before is untouched then.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), OutputError> {
    let mut target = Target::create(path, WriteRequests::default(), &Progress::new())?;
    let written = target.write_all(bytes);
    let written = written.map_err(|error| OutputError::write(&target.name, error));
    target.end(written)
}

/// Finds out whether a file or an object can be created at `path`, before the work is done whose
/// result it will hold, and where that is. Nothing is left behind, and what is there stays.
///
/// # Errors
/// [`OutputError::Create`] when it cannot, and [`OutputError::Format`] when nothing could ever be.
pub fn probe(path: &Path) -> Result<Destination, OutputError> {
    let place = Destination::of(path)?;
    match &place {
        Destination::File(_) => {
            let name = || path.display().to_string();
            Sink::open(&place).map_err(|source| OutputError::Create { name: name(), source })?;
        }
        Destination::Object(location) => {
            let asked = upload(location, || false).and_then(Upload::probe);
            asked.map_err(|error| OutputError::of_object(&error))?;
        }
        // Opening a pipe would wait for its reader, and closing it would tell the reader that all
        // is said.
        Destination::Direct(_) | Destination::Descriptor(_) => {}
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use welter_progress::FailureKind;

    fn create(path: &Path) -> Result<Target, OutputError> {
        Target::create(path, WriteRequests::default(), &Progress::new())
    }

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
        let mut target = create(&path).unwrap();
        target.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        probe(&path).unwrap();
        target.end(Ok(())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(directory.path()), ["out"]);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        let first = create(&path).unwrap();
        let second = create(&path).unwrap();
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
        create(&link).unwrap().end(Ok(())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let (far, dangling) = (directory.path().join("far"), directory.path().join("dangling"));
        std::os::unix::fs::symlink("far", &dangling).unwrap();
        write_file(&dangling, b"behind").unwrap();
        assert_eq!(fs::read(&far).unwrap(), b"behind");
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
        create(Path::new("/dev/null")).unwrap().end(Ok(())).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_cannot_be_created_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        std::os::unix::fs::symlink("round", folder.join("round")).unwrap();
        for name in ["", "no/such/place", "new/", "round"] {
            let path = if name.is_empty() { folder.to_owned() } else { folder.join(name) };
            let error = create(&path).unwrap_err();
            assert_eq!(error.kind(), FailureKind::Output);
            assert_eq!(probe(&path).unwrap_err().to_string(), error.to_string());
            assert!(error.to_string().starts_with(path.to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn outputs_that_are_one_file_are_known() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("there"), "").unwrap();
        fs::hard_link(at("there"), at("hard")).unwrap();
        std::os::unix::fs::symlink("new", at("soft")).unwrap();
        let place = |name: &str| probe(&at(name)).unwrap();
        for (one, other) in [("new", "./new"), ("there", "hard"), ("soft", "new")] {
            assert!(place(one).is(&place(other)), "{one} {other}");
        }
        assert!(!place("new").is(&place("newer")) && !place("there").is(&place("new")));
        let null = probe(Path::new("/dev/null")).unwrap();
        assert!(!null.is(&null), "a device takes the bytes of both");
    }
}
