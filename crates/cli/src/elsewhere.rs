//! Buckets as the place of kept graphs, and web servers as that of copies of them: what the engine
//! asks of files that lie elsewhere, answered with objects.
//!
//! Invariant: an object that is another one than when this process first read it is an error that
//! names it, since it is opened once and each request states its entity tag. Tested by
//!
//! `faults_of_the_store_end_a_run_or_make_no_difference`.
//!
//! Answers are waited for as long as their caller wants them. A command ends with a signal; callers
//! in this process end each run by a word of its own, which holds on all threads of that run.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use welter_engine::kept::KeptGraph;
use welter_objects::{
    Bucket, Cancellation, Listed, Location, Object, ObjectError, ObjectErrorKind, Scheme, Upload,
    Version, WriteRequests,
};
use welter_progress::FailureKind;
use welter_store::StoreError;
use welter_store::io::{IoOptions, Remote, RemoteVersion, RemoteWriter};

use crate::failure::Failure;
use crate::interrupt;

/// The bucket of a URL, whose files are named by URLs too.
#[derive(Debug)]
pub(crate) struct Elsewhere {
    bucket: Bucket,
    /// Requests by which objects are written.
    requests: WriteRequests,
    /// Objects that were opened.
    objects: Mutex<BTreeMap<PathBuf, Object>>,
    /// The word of the caller for whom this was made.
    caller: Cancellation,
}

/// The bucket that a directory lies in, if it is the URL of one, as a place that graphs, rates and
/// checkpoints are written to.
pub(crate) fn of(directory: &Path) -> Result<Option<Arc<dyn Remote>>, Failure> {
    to_write(directory, WriteRequests::default())
}

/// As [`of`], with objects that are written by these requests.
pub(crate) fn to_write(
    directory: &Path,
    requests: WriteRequests,
) -> Result<Option<Arc<dyn Remote>>, Failure> {
    if is_web(directory) {
        let what = format!("{}: nothing is written to a web server", directory.display());
        let hint = "name a directory of this machine, or one of s3://, az:// or gs://";
        return Err(Failure::usage(what).hint(hint));
    }
    by(directory, requests)
}

/// Whether it is the URL of a web server, which is only read.
pub(crate) fn is_web(path: &Path) -> bool {
    matches!(Location::of(path), Some(Ok(at)) if at.scheme == Scheme::Web)
}

/// The bucket or web server that a file or a directory lies on, if it is the URL of one, for who
/// only reads.
pub(crate) fn to_read(path: &Path) -> Result<Option<Arc<dyn Remote>>, Failure> {
    by(path, WriteRequests::default())
}

fn by(path: &Path, requests: WriteRequests) -> Result<Option<Arc<dyn Remote>>, Failure> {
    let Some(location) = Location::of(path) else { return Ok(None) };
    let failed = |error: ObjectError| Failure::usage(error.to_string());
    let bucket = Bucket::of(&location.map_err(failed)?).map_err(failed)?;
    let (objects, caller) = (Mutex::default(), Cancellation::here());
    Ok(Some(Arc::new(Elsewhere { bucket, requests, objects, caller })))
}

/// A graph that was opened before, as the caller of this thread asks for it: in a bucket its
/// objects are those that are open, and waited for as long as this caller wants them.
pub(crate) fn for_caller(kept: KeptGraph) -> KeptGraph {
    let Some(remote) = kept.io().remote.clone() else { return kept };
    kept.asked_of(Arc::new(ForCaller { remote, caller: Cancellation::here() }))
}

/// Options by which files of a directory are read, wherever it is.
pub(crate) fn io(directory: &Path) -> Result<IoOptions, Failure> {
    Ok(IoOptions { remote: to_read(directory)?, ..IoOptions::default() })
}

/// The directory without what may stand at its end.
pub(crate) fn trimmed(directory: &Path) -> PathBuf {
    let text = directory.to_str().filter(|_| Location::of(directory).is_some());
    text.map_or_else(|| directory.to_owned(), |text| text.trim_end_matches('/').into())
}

impl Elsewhere {
    /// The object of a name, opened by the first who asks for it.
    fn open(&self, file: &Path) -> Result<Object, StoreError> {
        let objects = || self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(object) = objects().get(file) {
            return Ok(object.clone());
        }
        let key = key(file)?;
        let opened = self.wanted(|| self.bucket.open(&key, 1));
        let opened = opened.map_err(|error| store_error(file, &error))?;
        opened.stop_when(interrupt::came);
        // Of two that open it at once, one object is read by both.
        Ok(objects().entry(file.to_owned()).or_insert(opened).clone())
    }

    /// The objects below a folder.
    fn listed(&self, folder: &Path) -> Result<Vec<Listed>, StoreError> {
        let key = format!("{}/", key(folder)?.trim_end_matches('/'));
        let listed = self.wanted(|| self.bucket.list(&key));
        listed.map_err(|error| store_error(folder, &error))
    }

    fn upload(&self, file: &Path) -> Result<Upload, StoreError> {
        let caller = Cancellation::here().or(&self.caller);
        let stopped = move || interrupt::came() || caller.ended();
        let upload = self.bucket.upload(&key(file)?, stopped);
        let upload = upload.map_err(|error| store_error(file, &error))?;
        Ok(upload.by(self.requests))
    }

    /// Does something whose requests are given up once the caller, or that of this thread, does not
    /// want it any more.
    fn wanted<T>(&self, work: impl FnOnce() -> T) -> T {
        Cancellation::here().or(&self.caller).during(work)
    }
}

impl Remote for Elsewhere {
    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        Ok(self.open(file)?.bytes())
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        let object = self.open(file).map_err(StoreError::of_listed_file)?;
        let read = self.wanted(|| object.read_through(range, take));
        read.map_err(|error| store_error(file, &error))
    }

    fn create(&self, file: &Path) -> Result<Box<dyn RemoteWriter>, StoreError> {
        Ok(Box::new(Writer { upload: self.upload(file)?, file: file.to_owned() }))
    }

    fn put_if(
        &self,
        file: &Path,
        bytes: &[u8],
        then: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        let then = then.map(|RemoteVersion { tag, number }| Version {
            tag: tag.clone(),
            number: number.clone(),
        });
        let put = self.upload(file)?.put_if(bytes, then.as_ref());
        Ok(put.map_err(|error| store_error(file, &error))?.map(version))
    }

    fn load(&self, file: &Path, bytes_max: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        let key = key(file)?;
        let loaded = self.wanted(|| self.bucket.load(&key, bytes_max));
        let (bytes, found) = loaded.map_err(|error| store_error(file, &error))?;
        Ok((bytes, version(found)))
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        let listed = self.listed(folder)?;
        Ok(listed.into_iter().map(|it| it.location.to_string().into()).collect())
    }

    fn ages(&self, beginning: &Path) -> Result<Vec<(PathBuf, Duration)>, StoreError> {
        let key = key(beginning)?;
        let listed = self.wanted(|| self.bucket.list_behind(&key));
        let listed = listed.map_err(|error| store_error(beginning, &error))?;
        let now = SystemTime::now();
        // One of a clock that is ahead was just written.
        let age = |modified| now.duration_since(modified).unwrap_or_default();
        let aged = |it: Listed| (it.location.to_string().into(), age(it.modified));
        Ok(listed.into_iter().map(aged).collect())
    }

    fn delete(&self, file: &Path) -> Result<(), StoreError> {
        self.bucket.delete(&key(file)?).map_err(|error| store_error(file, &error))
    }
}

fn version(Version { tag, number }: Version) -> RemoteVersion {
    RemoteVersion { tag, number }
}

/// Files that lie elsewhere, as one of several callers asks for them.
#[derive(Debug)]
struct ForCaller {
    remote: Arc<dyn Remote>,
    caller: Cancellation,
}

impl Remote for ForCaller {
    fn behind(&self) -> Option<&dyn Remote> {
        Some(&*self.remote)
    }

    fn bytes(&self, file: &Path) -> Result<u64, StoreError> {
        self.caller.during(|| self.remote.bytes(file))
    }

    fn read(
        &self,
        file: &Path,
        range: Range<u64>,
        take: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        self.caller.during(|| self.remote.read(file, range, take))
    }

    fn create(&self, file: &Path) -> Result<Box<dyn RemoteWriter>, StoreError> {
        self.caller.during(|| self.remote.create(file))
    }

    fn put_if(
        &self,
        file: &Path,
        bytes: &[u8],
        then: Option<&RemoteVersion>,
    ) -> Result<Option<RemoteVersion>, StoreError> {
        self.caller.during(|| self.remote.put_if(file, bytes, then))
    }

    fn load(&self, file: &Path, bytes_max: u64) -> Result<(Vec<u8>, RemoteVersion), StoreError> {
        self.caller.during(|| self.remote.load(file, bytes_max))
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
        self.caller.during(|| self.remote.list(folder))
    }

    fn ages(&self, folder: &Path) -> Result<Vec<(PathBuf, Duration)>, StoreError> {
        self.caller.during(|| self.remote.ages(folder))
    }
}

/// An object that is being written.
struct Writer {
    upload: Upload,
    file: PathBuf,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.upload.write(bytes).map_err(|error| match welter_objects::fault(&error) {
            Some(fault) => io::Error::other(store_error(&self.file, fault)),
            None => error,
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl RemoteWriter for Writer {
    fn complete(self: Box<Self>) -> Result<(), StoreError> {
        let Self { upload, file } = *self;
        upload.complete().map_err(|error| store_error(&file, &error))
    }
}

/// The key of a file that is named by its URL.
fn key(file: &Path) -> Result<String, StoreError> {
    match Location::of(file) {
        Some(Ok(location)) => Ok(location.key),
        _ => Err(StoreError::Request(format!("{}: is no URL of an object", file.display()))),
    }
}

/// The error of an object, as that of a file that lies elsewhere.
fn store_error(file: &Path, error: &ObjectError) -> StoreError {
    let (file, what) = (file.to_owned(), error.what().to_owned());
    let kind = match error.kind() {
        ObjectErrorKind::Missing if error.is_of_bucket() => FailureKind::Missing,
        ObjectErrorKind::Missing => return StoreError::Missing { file },
        ObjectErrorKind::Stopped => return StoreError::Cancelled,
        ObjectErrorKind::Address => FailureKind::Usage,
        _ => FailureKind::Storage,
    };
    StoreError::Remote { file, what, kind }
}
