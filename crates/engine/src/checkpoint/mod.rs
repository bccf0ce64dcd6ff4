//! Checkpoints: what a run has come to, kept in a directory, so that another process can continue.
//!
//! ```text
//! DIR/checkpoint    the manifest: what the run is, and its checkpoints with their checksums
//!     state-40      values, flags, levels and totals after 40 iterations
//!     state-32      the same, of the checkpoint before
//!     part-1        a link to a directory of another disk, which has parts of these (see `parts`)
//! ```
//! In a bucket these are objects, and names of states end with a number of their writer (`home`).
//! All are sealed files; `docs/format.md` draws them. A checkpoint is written at the end of an
//! iteration: its file under a new name, made durable, and then the manifest in place of the old
//! one. That is the commit point (Chaos, section 6.6, has two phases because it has many machines).
//! Signals are not kept: they follow from values.
//!
//! Nothing here knows a program, a plan or a schedule: columns, counts and levels come and go.
//!
//! Uses: `columns`, `edges`, `kernels`, `machine`.
//!
//! Invariants: a checkpoint is found through the manifest alone, never by looking for files · the
//! one before is kept until the next one is committed, and is resumed from when a file of the last
//! one is not what was written · after a call that failed nothing is written any more · one process
//! at a time: it holds a lock on the directory, or is the last that put the manifest. Checked in
//! `lock_directory` and `Home::put_manifest`. Tested by
//! `a_kill_leaves_the_old_checkpoint_or_the_new_one`, `only_the_last_two_are_kept`,
//! `every_route_falls_back` and `after_a_sync_that_failed_nothing_is_tried_again`.

mod columns;
mod files;
mod home;
mod manifest;
mod parts;
mod remains;
mod restore;
mod resume;
mod striped;
mod write;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytemuck::{Pod, pod_read_unaligned};
use welter_store::io::{Faults, Remote};
use welter_store::sealed::{Identity, SealedReader};
use welter_store::{StoreError, durable};

pub use self::files::Every;

pub(crate) use self::columns::{CheckpointColumns, Column, RunColumns, Settable};
pub(crate) use self::manifest::Shape;
pub(crate) use self::restore::{refuse_relaxing, restore_columns};
pub(crate) use self::resume::{BY_STRIPE, Resume, by_range};
pub use self::striped::PART_BYTES;
pub(crate) use self::write::write_columns;

use self::files::{MANIFEST, STATE_KIND, is_state, is_temporary, state_name};
use self::home::Home;
use self::manifest::{BYTES_MAX, Entry, KIND, Manifest, VERSION, version};
use crate::columns::levels::{IterationStats, Mode};
use crate::columns::outcome::Outcome;
use crate::columns::results::Values;
use crate::columns::totals::Totals;
use crate::machine::sync::lock;
use welter_store::random_number;

/// No checkpoint sooner than this after another, or after the begin, where time decides.
const PAUSE_LEAST: Duration = Duration::from_secs(10);
/// The run continues for `PAUSES` times as long as a checkpoint took.
const PAUSES: u32 = 19;
/// Bytes a second that a checkpoint is written with, before one was.
const RATE_GUESS: f64 = 5e8;

/// Where checkpoints are written, and how often.
#[derive(Clone, Debug)]
pub struct CheckpointOptions {
    /// The directory: not there yet, or empty.
    pub directory: PathBuf,
    /// Directories of other disks, each of which takes a share of each checkpoint.
    pub disks: Vec<PathBuf>,
    /// Interval at which checkpoints are written.
    pub every: Every,
    /// Number of the run, that all files bear; random where nothing is said, which is for tests
    /// only.
    pub run: Option<u64>,
    /// Calls that fail on purpose, for tests.
    pub faults: Option<Arc<Faults>>,
}

/// The checkpoints of one run.
#[derive(Debug)]
pub struct Checkpoints {
    directory: PathBuf,
    run: u64,
    every: Every,
    job: Mutex<Vec<u8>>,
    /// Sum of the edges of the input; 0 where it was not stated.
    edges: AtomicU64,
    home: Home,
    progress: Mutex<Written>,
}

/// Checkpoints that there are, and the time and bytes they took.
#[derive(Debug)]
struct Written {
    entries: Vec<Entry>,
    /// A call failed: what is on the device is not known.
    failed: bool,
    /// When the last checkpoint had been written, or the run began.
    since: Instant,
    /// Time of the last one.
    took: Option<Duration>,
    stats: CheckpointStats,
    notes: Vec<String>,
}

/// Time and bytes that checkpoints took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckpointStats {
    /// Checkpoints that were written.
    pub written: u64,
    /// Bytes of their files.
    pub bytes: u64,
    /// The run waited so long for them.
    pub elapsed: Duration,
    /// Iterations that had been done when the run continued from a checkpoint.
    pub resumed_at: Option<u64>,
}

/// Progress of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunProgress {
    pub(crate) iterations: u64,
    /// Of `init`, and of each iteration.
    pub(crate) totals: Totals,
    pub(crate) levels: Vec<IterationStats>,
    /// Vertices that are active now; counted when it is read.
    pub(crate) active: u64,
    /// Counts of lookups so far (see [`crate::schedules::access_path`]).
    pub(crate) lookups: [u64; 2],
}

impl RunProgress {
    /// A run before its first iteration.
    pub(crate) fn begun(init: &[u8]) -> Self {
        Self { totals: Totals::of(init), ..Self::default() }
    }

    /// Notes the end of an iteration.
    pub(crate) fn note(&mut self, total: &[u8]) {
        self.totals.note(total);
        self.iterations += 1;
    }

    /// The totals that the next iteration receives.
    pub(crate) fn total<T: Pod>(&self) -> T {
        pod_read_unaligned(self.totals.last())
    }

    /// The outcome of the run, with its values.
    pub(crate) fn outcome<V: Pod + Send, T: Pod>(self, values: Values<V>) -> Outcome<V, T> {
        let total = self.total();
        let Self { iterations, totals, levels, .. } = self;
        Outcome { values, iterations, total, totals: totals.into_listed(), levels }
    }

    /// Whether values are those of no level, because edges were relaxed.
    pub(crate) fn is_asynchronous(&self) -> bool {
        self.levels.iter().any(|level| level.mode == Mode::Asynchronous)
    }
}

impl Checkpoints {
    /// Begins a run that nothing is kept of yet. `job`: what the run is, for the process that will
    /// continue with it.
    ///
    /// # Errors
    /// When the directory is not empty, cannot be made or written to.
    pub fn begin(options: &CheckpointOptions, job: &[u8]) -> Result<Self, StoreError> {
        let CheckpointOptions { directory, disks, every, run, faults } = options;
        let planned = Faults::of_process().filter(|_| faults.is_none());
        let faults = &faults.clone().or(planned);
        let is_made = match fs::metadata(directory) {
            Ok(_) => false,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                durable::make_directory(directory, faults.as_ref())?;
                true
            }
            Err(source) => return Err(StoreError::Create { file: directory.clone(), source }),
        };
        let begun = Home::here(directory, faults.as_ref()).and_then(|home| {
            remains::clear(directory, faults.as_ref())?;
            let run = run.unwrap_or_else(random_number);
            let laid = parts::lay(directory, run, disks, faults.as_ref());
            let begun = laid.and_then(|parts| {
                let manifest = Manifest::new(*every, parts.len() as u32, job);
                let begun = Self::new(directory, run, manifest, home.with_parts(parts));
                begun.put_manifest(&[])?;
                Ok(begun)
            });
            if begun.is_err() && !directory.join(MANIFEST).exists() {
                // The first error is the one to tell.
                let _ = parts::remove(directory, None);
            }
            begun
        });
        if begun.is_err() && is_made {
            // The first error is the one to tell.
            let _ = fs::remove_dir(directory);
        }
        begun
    }

    /// Opens the checkpoints of a run that did not end, to resume it, and removes what is left
    /// of a checkpoint that was not committed.
    ///
    /// # Errors
    /// When there are none ([`StoreError::Missing`]), when the manifest is damaged or of another
    /// version, or another process is at work on it.
    pub fn open(directory: &Path, faults: Option<&Arc<Faults>>) -> Result<Self, StoreError> {
        let file = directory.join(MANIFEST);
        if !file.exists() {
            return Err(StoreError::Missing { file });
        }
        let planned = Faults::of_process().filter(|_| faults.is_none());
        let faults = faults.or(planned.as_ref());
        let home = Home::here(directory, faults)?;
        let (run, manifest) = read_manifest(&home, file)?;
        let home = home.with_parts(parts::found(directory, manifest.parts));
        let opened = Self::new(directory, run, manifest, home);
        opened.clear()?;
        Ok(opened)
    }

    /// As [`Self::begin`], in a folder of a bucket, which the directory of the options names.
    ///
    /// # Errors
    /// When a run is kept there, or nothing can be put there.
    pub fn begin_elsewhere(
        options: &CheckpointOptions,
        remote: &Arc<dyn Remote>,
        job: &[u8],
    ) -> Result<Self, StoreError> {
        let CheckpointOptions { directory, every, run, .. } = options;
        let manifest = Manifest::new(*every, 0, job);
        let run = run.unwrap_or_else(random_number);
        let begun = Self::new(directory, run, manifest, Home::elsewhere(remote));
        begun.put_manifest(&[])?;
        Ok(begun)
    }

    /// As [`Self::open`], of a folder of a bucket. Nothing is written before the next checkpoint.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_elsewhere(directory: &Path, remote: &Arc<dyn Remote>) -> Result<Self, StoreError> {
        let home = Home::elsewhere(remote);
        let (run, manifest) = read_manifest(&home, directory.join(MANIFEST))?;
        Ok(Self::new(directory, run, manifest, home))
    }

    /// Checkpoints that are asked for and written by another remote of their bucket from now on, if
    /// they lie in one.
    #[must_use]
    pub fn through(self, remote: &Arc<dyn Remote>) -> Self {
        Self { home: self.home.through(remote), ..self }
    }

    fn new(directory: &Path, run: u64, manifest: Manifest, home: Home) -> Self {
        let Manifest { every, entries, job, .. } = manifest;
        let (stats, notes) = (CheckpointStats::default(), Vec::new());
        let since = Instant::now();
        let written = Written { entries, failed: false, since, took: None, stats, notes };
        let directory = directory.to_owned();
        let progress = Mutex::new(written);
        let (job, edges) = (Mutex::new(job), AtomicU64::new(0));
        Self { directory, run, every, job, edges, home, progress }
    }

    /// Description of the run, as it was given when the run began.
    pub fn job(&self) -> Vec<u8> {
        lock(&self.job).clone()
    }

    /// Says more of what the run is, from the next checkpoint on.
    pub fn set_job(&self, job: Vec<u8>) {
        *lock(&self.job) = job;
    }

    /// Says what the edges that were read add up to, in whatever order and parts, so that the run
    /// continues with the same ones only.
    pub fn read_edges(&self, sum: u64) {
        self.edges.store(sum, Ordering::Relaxed);
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Iterations of the last checkpoint, if there is one.
    pub fn last(&self) -> Option<u64> {
        lock(&self.progress).entries.first().map(|entry| entry.iterations)
    }

    /// Time and bytes that checkpoints took so far.
    pub fn stats(&self) -> CheckpointStats {
        lock(&self.progress).stats
    }

    /// Notes for a person, such as that the last checkpoint is damaged.
    pub fn notes(&self) -> Vec<String> {
        lock(&self.progress).notes.clone()
    }

    /// Removes the checkpoints of a run that has ended, or that will not be resumed, and the
    /// directory if nothing else is in it.
    ///
    /// # Errors
    /// When files cannot be removed.
    pub fn remove(self) -> Result<(), StoreError> {
        // First the manifest, for good: whatever comes after, no checkpoint is found that is not
        // whole.
        let manifest = self.directory.join(MANIFEST);
        let Home::Here { faults, .. } = &self.home else {
            // As long as the manifest is ours, others that wrote states have lost or are gone.
            let mut states = self.home.states(&self.directory);
            if !self.home.is_ours(&manifest)? {
                return Ok(());
            }
            let named = lock(&self.progress).entries.clone();
            states.extend(named.iter().map(|entry| self.state_path(entry)));
            states.sort();
            states.dedup();
            self.home.remove(&manifest)?;
            return states.iter().try_for_each(|state| self.home.remove(state));
        };
        durable::remove(&manifest, faults.as_ref())?;
        durable::sync_directory(&self.directory, faults.as_ref())?;
        lock(&self.progress).entries.clear();
        self.clear()?;
        parts::remove(&self.directory, faults.as_ref())?;
        durable::remove_directory(&self.directory, faults.as_ref())
    }

    /// Whether a checkpoint of columns of `bytes` bytes is to be written after `iterations`
    /// iterations.
    pub(crate) fn is_due_of(&self, iterations: u64, bytes: u64) -> bool {
        let written = lock(&self.progress);
        match self.every {
            Every::Iterations(count) => iterations.is_multiple_of(count.get()),
            Every::Share => {
                let guess = || Duration::from_secs_f64(bytes as f64 / RATE_GUESS);
                let took = written.took.unwrap_or_else(guess);
                written.since.elapsed() >= PAUSE_LEAST.max(took * PAUSES)
            }
        }
    }

    /// Notes what is known once a checkpoint was committed.
    fn committed(&self, entries: Vec<Entry>, bytes: u64, took: Duration) {
        let mut written = lock(&self.progress);
        written.entries = entries;
        written.failed = false;
        written.since = Instant::now();
        written.took = Some(took);
        written.stats.written += 1;
        written.stats.bytes += bytes;
        written.stats.elapsed += took;
    }

    /// The file of a checkpoint.
    fn state_path(&self, entry: &Entry) -> PathBuf {
        self.directory.join(state_name(entry.iterations, entry.writer))
    }

    /// Identity of the file of a checkpoint after `iterations` iterations.
    fn identity(&self, iterations: u64) -> Identity {
        // A run has fewer iterations than 2^32 between checkpoints that could be confused.
        let generation = iterations as u32;
        Identity { kind: STATE_KIND, version: VERSION, graph: self.run, generation }
    }

    /// Writes the manifest, in place of the one before.
    fn put_manifest(&self, entries: &[Entry]) -> Result<(), StoreError> {
        let (entries, job) = (entries.to_vec(), self.job());
        let parts = self.home.parts().len() as u32;
        let payload = Manifest { every: self.every, parts, entries, job }.encode();
        let identity = Identity { kind: KIND, version: VERSION, graph: self.run, generation: 0 };
        self.home.put_manifest(&self.directory.join(MANIFEST), &identity, &payload)
    }

    /// Removes the file of a checkpoint that could not be committed, so that it takes no room on a
    /// device that may be full. Whether the manifest names it only the manifest can tell: what
    /// failed may have been to make a new one durable that is in its place already.
    fn abandon(&self, entry: &Entry) {
        let name = |entry: &Entry| (entry.iterations, entry.writer);
        let named = self.home.named(&self.directory.join(MANIFEST)).and_then(|reader| {
            let (_, manifest) = decoded(reader, &self.directory.join(MANIFEST))?;
            Ok(manifest.entries.iter().any(|it| name(it) == name(entry)))
        });
        // In a bucket what is not there names nothing: another process has ended the run.
        let is_gone = matches!(named, Err(StoreError::Missing { .. })) && self.home.writer() > 0;
        if is_gone || matches!(named, Ok(false)) {
            // The first error is the one to tell, and what is left is removed when the run
            // continues.
            let _ = self.home.discard(&self.state_path(entry));
        }
    }

    /// Removes files of ours that the manifest does not name.
    fn clear(&self) -> Result<(), StoreError> {
        let names = |entry: &Entry| state_name(entry.iterations, entry.writer);
        let kept: Vec<String> = lock(&self.progress).entries.iter().map(names).collect();
        let read = |source| {
            let (what, file) = ("list it", self.directory.clone());
            StoreError::Io { what, file, source }
        };
        for entry in fs::read_dir(&self.directory).map_err(read)? {
            let name = entry.map_err(read)?.file_name();
            let is_left = name.to_str().is_some_and(|name| {
                is_temporary(name) || (is_state(name) && !kept.iter().any(|kept| kept == name))
            });
            if is_left {
                durable::remove(&self.directory.join(name), self.home.faults())?;
            }
        }
        let is_named = |name: &str| kept.iter().any(|kept| kept == name);
        let mut parts = self.home.parts().iter();
        parts.try_for_each(|part| parts::clear(part, is_named, self.home.faults()))
    }
}

/// Reads a manifest; also says of which run it is.
fn read_manifest(home: &Home, file: PathBuf) -> Result<(u64, Manifest), StoreError> {
    let (run, manifest) = decoded(home.manifest(&file)?, &file)?;
    // Names of states are those of where they lie.
    let is_elsewhere = home.writer() > 0;
    match manifest.entries.iter().position(|entry| (entry.writer > 0) != is_elsewhere) {
        None => Ok((run, manifest)),
        Some(number) => {
            let what = format!("the entry of checkpoint {number} is of another kind of place");
            Err(StoreError::Damaged { file, offset: 0, what })
        }
    }
}

/// The manifest that a reader has.
fn decoded(mut reader: SealedReader, file: &Path) -> Result<(u64, Manifest), StoreError> {
    version(&reader)?;
    let payload = reader.read_rest(BYTES_MAX)?;
    let manifest = Manifest::decode(&payload).map_err(|(offset, what)| {
        let offset = welter_store::sealed::offset_in_file(offset as u64);
        StoreError::Damaged { file: file.to_owned(), offset, what }
    })?;
    Ok((reader.identity().graph, manifest))
}
