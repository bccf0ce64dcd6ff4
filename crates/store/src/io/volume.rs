//! Append-only files, striped over one or several directories.
//!
//! A volume hands out places and knows its files; the requests themselves go through a
//! [`Queue`](super::Queue). Nothing is ever written twice to the same place, so readers need no
//! lock, and a place that was handed out stays true for as long as the files are there.
//!
//! Invariant: after a failed fsync every call fails. The kernel has dropped what it could not
//! write, and a second fsync would say that all is well. Tested by
//! `nothing_is_trusted_after_a_failed_sync`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::fs::Advice;
use rustix::io::Errno;

use super::faults::{self, Call, Faults};
use super::file;
use super::options::IoOptions;
use super::place::{ALIGN, Place};
use super::remote::Remote;
use super::requests::Requests;
use super::stats::{Counters, VolumeStats};
use crate::StoreError;

/// Append-only files, striped over one or several directories.
#[derive(Debug)]
pub struct Volume {
    files: Vec<Stripe>,
    /// File that gets the next bytes.
    turn: AtomicUsize,
    writable: bool,
    poisoned: AtomicBool,
    /// The first write that failed, and how: whatever was to be read from there is not.
    lost: OnceLock<Refusal>,
    counters: Counters,
    faults: Option<Arc<Faults>>,
    requests: Requests,
}

/// A call that the system refused, and what it said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Refusal {
    pub(super) place: Place,
    pub(super) wrote: bool,
    /// Where in the file the call began.
    pub(super) offset: u64,
    pub(super) error: Errno,
}

/// Where the bytes of a file are.
#[derive(Debug)]
enum Source {
    Here(File),
    Elsewhere(Arc<dyn Remote>),
}

impl Source {
    fn here(&self) -> Option<&File> {
        match self {
            Self::Here(file) => Some(file),
            Self::Elsewhere(_) => None,
        }
    }
}

/// File of a volume.
#[derive(Debug)]
struct Stripe {
    file: Source,
    /// Name of the file, or for a scratch file that of its directory.
    path: PathBuf,
    named: bool,
    direct: bool,
    /// Offset at which the next bytes are written.
    end: AtomicU64,
}

impl Stripe {
    fn new(file: File, path: &Path, named: bool, options: &IoOptions) -> io::Result<Self> {
        let direct = file::make_direct(&file, options)?;
        let end = AtomicU64::new(file.metadata()?.len().next_multiple_of(ALIGN as u64));
        let file = Source::Here(file);
        Ok(Self { file, path: path.to_owned(), named, direct, end })
    }

    /// A file that lies elsewhere, to be read. Nothing is asked yet.
    fn elsewhere(path: &Path, remote: &Arc<dyn Remote>) -> Self {
        let (file, end) = (Source::Elsewhere(Arc::clone(remote)), AtomicU64::new(0));
        Self { file, path: path.to_owned(), named: true, direct: true, end }
    }

    fn directory(&self) -> &Path {
        if self.named { super::file::parent(&self.path) } else { &self.path }
    }
}

impl Volume {
    /// Files without names, one in each directory, to be written and read again. Nothing is left
    /// of them when the volume is dropped, however the process ends.
    ///
    /// # Errors
    /// When a file cannot be made.
    pub fn scratch(directories: &[PathBuf], options: &IoOptions) -> Result<Self, StoreError> {
        let stripes = directories.iter().map(|directory| {
            file::scratch(directory, options)
                .and_then(|file| Stripe::new(file, directory, false, options))
                .map_err(|error| StoreError::create(&directory.join("(scratch file)"), error))
        });
        Self::new(stripes.collect::<Result<_, _>>()?, true, options)
    }

    /// New files with names, to be written and read.
    ///
    /// # Errors
    /// When one of the files is there already, or cannot be made. None of them is left then.
    pub fn create(paths: &[PathBuf], options: &IoOptions) -> Result<Self, StoreError> {
        let mut stripes = Vec::new();
        for path in paths {
            let made = file::create(path, options);
            let is_ours = made.is_ok();
            match made.and_then(|file| Stripe::new(file, path, true, options)) {
                Ok(stripe) => stripes.push(stripe),
                Err(error) => {
                    let ours = is_ours.then_some(path);
                    // The first error is the one to tell; what cannot be removed stays.
                    for path in stripes.iter().map(|stripe| &stripe.path).chain(ours) {
                        let _ = fs::remove_file(path);
                    }
                    return Err(StoreError::create(path, error));
                }
            }
        }
        Self::new(stripes, true, options)
    }

    /// Files that are there, to be read. Whether those that lie elsewhere are is found out by who
    /// reads them.
    ///
    /// # Errors
    /// When one of them is not there or cannot be opened.
    pub fn open(paths: &[PathBuf], options: &IoOptions) -> Result<Self, StoreError> {
        if let Some(remote) = &options.remote {
            let stripes = paths.iter().map(|path| Stripe::elsewhere(path, remote));
            return Self::new(stripes.collect(), false, options);
        }
        let stripes = paths.iter().map(|path| {
            file::open(path, options)
                .and_then(|file| Stripe::new(file, path, true, options))
                .map_err(|error| StoreError::open(path, error))
        });
        Self::new(stripes.collect::<Result<_, _>>()?, false, options)
    }

    fn new(files: Vec<Stripe>, writable: bool, options: &IoOptions) -> Result<Self, StoreError> {
        if files.is_empty() || files.len() > usize::from(u16::MAX) {
            return Err(StoreError::Request(format!("a volume of {} files", files.len())));
        }
        Ok(Self {
            files,
            turn: AtomicUsize::new(0),
            writable,
            poisoned: AtomicBool::new(false),
            lost: OnceLock::new(),
            counters: Counters::new(&options.totals),
            faults: options.faults.clone(),
            requests: options.requests,
        })
    }

    /// Alignment of places and memory in bytes: a power of two, the same everywhere.
    pub fn align(&self) -> usize {
        ALIGN
    }

    /// Whether all files are read and written past the page cache.
    pub fn is_direct(&self) -> bool {
        self.files.iter().all(|stripe| stripe.direct)
    }

    /// Size and number of requests for its places.
    pub(super) fn requests(&self) -> Requests {
        self.requests
    }

    /// A place at the end of one of the files, by turns. Nothing is written yet.
    pub fn reserve(&self, bytes: u32) -> Place {
        let file = self.turn.fetch_add(1, Ordering::Relaxed) % self.files.len();
        let mut place = Place { file: file as u16, offset: 0, bytes };
        let rounded = place.rounded_bytes() as u64;
        place.offset = self.files[file].end.fetch_add(rounded, Ordering::Relaxed);
        place
    }

    /// Bytes in all files, with those that were reserved.
    pub fn bytes(&self) -> u64 {
        self.lengths().sum()
    }

    /// Bytes of each of the files, likewise.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        self.files.iter().map(|stripe| stripe.end.load(Ordering::Relaxed))
    }

    /// Names of the files; of scratch files, of their directories.
    pub fn names(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|stripe| stripe.path.as_path())
    }

    /// Bytes and requests to and from the volume since it was opened.
    pub fn stats(&self) -> VolumeStats {
        self.counters.read()
    }

    /// Bytes that can still be written: the files grow alike, so this is what the fullest file
    /// system has for each of the files on it, times the number of files.
    ///
    /// # Errors
    /// When a file system does not say.
    pub fn free_bytes(&self) -> Result<u64, StoreError> {
        let mut systems: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for stripe in &self.files {
            let Some(file) = stripe.file.here() else { continue };
            let failed =
                |error: Errno| StoreError::io("ask for the space left on", &stripe.path, error);
            let device = rustix::fs::fstat(file).map_err(failed)?.st_dev;
            let found = rustix::fs::fstatvfs(file).map_err(failed)?;
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            systems.entry(device).or_insert((free, 0)).1 += 1;
        }
        let each = systems.values().map(|(free, files)| free / files).min().unwrap_or(0);
        Ok(each.saturating_mul(self.files.len() as u64))
    }

    /// Refuses a volume that cannot take `bytes` more bytes.
    ///
    /// # Errors
    /// [`StoreError::Space`] then, and when a file system does not say.
    pub fn check_space(&self, bytes: u64) -> Result<(), StoreError> {
        let free = self.free_bytes()?;
        if bytes <= free {
            return Ok(());
        }
        let directory = self.files[0].directory().to_owned();
        Err(StoreError::Space { directory, need: bytes, free })
    }

    /// Asks the system to drop what it has of the files in its cache. Past the cache there is
    /// nothing to drop.
    pub(crate) fn forget(&self) -> Result<(), StoreError> {
        for stripe in self.files.iter().filter(|stripe| !stripe.direct) {
            let Some(file) = stripe.file.here() else { continue };
            rustix::fs::fadvise(file, 0, None, Advice::DontNeed)
                .map_err(|error| StoreError::io("empty the cache of", &stripe.path, error))?;
        }
        Ok(())
    }

    /// Waits until all that was written is on the devices, and the names of new files too.
    ///
    /// # Errors
    /// When a device says no. The volume is of no use from then on.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.healthy()?;
        let synced = self.files.iter().try_for_each(|stripe| {
            let Some(file) = stripe.file.here() else { return Ok(()) };
            faults::check(self.faults.as_ref(), Call::Sync)
                .and_then(|()| rustix::fs::fsync(file))
                .map_err(|error| StoreError::io("sync", &stripe.path, error))?;
            if self.writable && stripe.named {
                file::sync_directory(stripe.directory(), self.faults.as_ref())?;
            }
            Ok(())
        });
        if synced.is_err() {
            self.poisoned.store(true, Ordering::Relaxed);
        }
        synced
    }

    /// The error of a place that was read and is not what was written: that of a write that failed
    /// before, if one did, since those who read may see it sooner than those who wrote.
    pub fn damaged(&self, place: Place, what: impl Into<String>) -> StoreError {
        if let Some(refusal) = self.lost.get() {
            return self.refused(*refusal);
        }
        if let Some((remote, path)) = self.remote(place.file) {
            remote.distrust(path, place.offset..place.offset + u64::from(place.bytes));
        }
        StoreError::Damaged {
            file: self.files[usize::from(place.file)].path.clone(),
            offset: place.offset,
            what: what.into(),
        }
    }

    pub(super) fn faults(&self) -> Option<&Arc<Faults>> {
        self.faults.as_ref()
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A file of this machine.
    pub(super) fn file(&self, number: u16) -> Option<&File> {
        self.files[usize::from(number)].file.here()
    }

    /// Where a file lies that is not of this machine, and its name there.
    pub(super) fn remote(&self, number: u16) -> Option<(&Arc<dyn Remote>, &Path)> {
        let stripe = self.files.get(usize::from(number))?;
        match &stripe.file {
            Source::Here(_) => None,
            Source::Elsewhere(remote) => Some((remote, &stripe.path)),
        }
    }

    /// Whether a file of this number may be read or written now.
    pub(super) fn usable(&self, number: u16, to_write: bool) -> Result<(), StoreError> {
        self.healthy()?;
        let Some(stripe) = self.files.get(usize::from(number)) else {
            let all = self.files.len();
            return Err(StoreError::Request(format!("file {number} of a volume of {all} files")));
        };
        if to_write && !self.writable {
            let path = stripe.path.display();
            return Err(StoreError::Request(format!("{path} was opened to be read, not written")));
        }
        Ok(())
    }

    fn healthy(&self) -> Result<(), StoreError> {
        if self.poisoned.load(Ordering::Relaxed) {
            return Err(StoreError::Poisoned { file: self.files[0].path.clone() });
        }
        Ok(())
    }

    /// The error of a request that the system refused.
    pub(super) fn failed(&self, refusal: Refusal) -> StoreError {
        if refusal.wrote {
            self.lost.get_or_init(|| refusal);
        }
        self.refused(refusal)
    }

    fn refused(&self, Refusal { place, wrote, offset, error }: Refusal) -> StoreError {
        let stripe = &self.files[usize::from(place.file)];
        if wrote && matches!(error, Errno::NOSPC | Errno::DQUOT) {
            return StoreError::Full { directory: stripe.directory().to_owned() };
        }
        StoreError::Transfer {
            what: if wrote { "write" } else { "read" },
            file: stripe.path.clone(),
            offset,
            bytes: place.bytes,
            source: error.into(),
        }
    }

    /// The error of a read that met the end of its file.
    pub(super) fn ended(&self, place: Place, have: usize) -> StoreError {
        if let Some(refusal) = self.lost.get() {
            return self.refused(*refusal);
        }
        StoreError::Ended {
            file: self.files[usize::from(place.file)].path.clone(),
            offset: place.offset,
            need: u64::from(place.bytes),
            have: have as u64,
        }
    }
}
