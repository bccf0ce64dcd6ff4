//! Measuring a bucket: objects that are put, and one that is read in ranges, by size and by number
//! of requests at a time.
//!
//! Each request has a thread that waits for it, as in runs. Objects lie in a folder of their own,
//! one a thread, which are put again and again; all are removed in the end. They have names as the
//! edges of a kept graph, so that what a killed ingest leaves of them is known for its own; those
//! of a probe that was killed the next one of the folder removes ([`clear`]).
//!
//! Invariant: nothing is removed that is not named as an object of a probe. Checked in
//! `folder_of`. Tested by `objects_of_probes_are_known_by_their_names`.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use welter_progress::{FailureKind, Phase, Progress, Unit};

use super::figures::{Latency, Probe, ProbeOptions, REQUEST_BITS, Rate};
use super::measure::{latency_of, processor_time};
use super::sweep::sweep;
use crate::StoreError;
use crate::io::Remote;
use crate::orphans::{self, OrphanedObjects};

/// Beginning of the names of folders that probes put objects into; behind it is a number.
const FOLDER: &str = "welter-probe-";
/// Hexadecimal digits of that number.
const DIGITS: usize = 16;
/// Beginning of the names of objects; behind it is a number, too.
const OBJECT: &str = "edges-";
/// Bytes that may lie there at a time where nothing is said.
const BYTES: u64 = 256 << 20;
/// Bytes of the object that is read, at most.
const BYTES_READ: u64 = 64 << 20;
/// The fewest bytes that anything can be learnt from.
const BYTES_LEAST: u64 = 64 << 10;
/// Small reads whose latency is looked at, at most.
const LATENCY_READS: u64 = 100;
/// Bytes of each of them.
const LATENCY_BYTES: u64 = 4096;
/// Objects that are removed at a time, at most.
const REMOVERS: u64 = 32;
/// Ways of asking that a short look tries: bytes of a request, and how many at a time.
///
/// The first way tells little of a store that is far off, whose requests take their time however
/// few bytes they want; the second moves as little, and tells the two apart.
const LOOKS: [(u32, u32); 4] = [(256 << 10, 1), (256 << 10, 4), (1 << 20, 4), (4 << 20, 4)];
/// Time of each way of asking.
const LOOK: Duration = Duration::from_millis(250);
/// Time that the requests of a way may take by what is known, or it is not tried.
const PATIENCE: Duration = Duration::from_secs(1);
/// Parts of the time, of which writing and reading have 9 each.
const PARTS: u32 = 20;

/// All that a measurement needs.
struct Bench<'a> {
    remote: &'a dyn Remote,
    /// Folder that objects are put into; none where an object is only read.
    folder: Option<PathBuf>,
    /// The object that is read.
    whole: PathBuf,
    /// Bytes that lie there at a time, and that are moved in one measurement, at most.
    bytes: u64,
    progress: &'a Progress,
    phase: Phase,
    /// Objects that were begun.
    made: AtomicU64,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        if self.folder.is_none() {
            return;
        }
        let (made, next) = (self.made.load(Ordering::Relaxed), AtomicU64::new(0));
        let remove = || loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let file = match number.cmp(&made) {
                Less => self.object(number),
                Equal => self.whole.clone(),
                Greater => return,
            };
            // The error that may have led here is the one to tell.
            let _ = self.remote.delete(&file);
        };
        thread::scope(|scope| {
            for _ in 1..REMOVERS.min(made) {
                let _ = thread::Builder::new().spawn_scoped(scope, remove);
            }
            remove();
        });
    }
}

/// Removes objects in a folder of a bucket that probes left which were killed.
pub(super) fn clear(remote: &dyn Remote, folder: &Path) -> Result<OrphanedObjects, StoreError> {
    let listed = remote.ages(&folder.join(FOLDER))?;
    orphans::clear(remote, listed, |file| folder_of(file, folder))
}

/// The folder of an object, if both are named as of a probe of `target`.
fn folder_of(file: &Path, target: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| folder.parent() == Some(target))?;
    let number = folder.file_name()?.to_str()?.strip_prefix(FOLDER)?;
    let object = file.file_name()?.to_str()?.strip_prefix(OBJECT)?;
    let is_folder = number.len() == DIGITS && number.bytes().all(|it| it.is_ascii_hexdigit());
    let is_object = !object.is_empty() && object.bytes().all(|it| it.is_ascii_digit());
    (is_folder && is_object).then(|| folder.to_owned())
}

pub(super) fn measure(
    remote: &dyn Remote,
    folder: &Path,
    options: &ProbeOptions,
    progress: &Progress,
) -> Result<(Probe, Latency), StoreError> {
    let bytes = options.bytes.unwrap_or(BYTES);
    if bytes < BYTES_LEAST {
        return Err(StoreError::Request(format!("a probe with {bytes} bytes")));
    }
    let sizes = sizes(bytes);
    let phase = progress.phase("probe", Unit::Bytes, None);
    let number = crate::random_number();
    let folder = folder.join(format!("{FOLDER}{number:016x}"));
    let bench = Bench::putting((remote, &folder), bytes, progress, phase);
    let part = options.time / PARTS;
    let write = sweep(&sizes, 9 * part, |bytes, depth, time| bench.write(bytes, depth, time))?;
    // As much as comes there in a part of the time.
    let fastest = write.iter().map(|rate| rate.bytes_per_second).fold(0.0, f64::max);
    let quick = (fastest * part.as_secs_f64()) as u64;
    let filled = bench.fill(quick.clamp(BYTES_LEAST, bytes.min(BYTES_READ)))?;
    let latency = bench.latency(filled, part)?;
    let read = |bytes, depth, time| bench.read(filled, bytes, depth, time);
    let read = sweep(&sizes, 9 * part, read)?;
    Ok((Probe { read, write, direct: true, short: false, elsewhere: true }, latency))
}

/// Rates by a few ways of asking, each for `LOOK`; none is tried that would move more than `bytes`
/// or take `PATIENCE` by what is known.
pub(super) fn look(
    remote: &dyn Remote,
    folder: &Path,
    bytes: u64,
    progress: &Progress,
) -> Result<Probe, StoreError> {
    let bytes = bytes.max(BYTES_LEAST);
    let phase = progress.phase("look", Unit::Bytes, None);
    let bench = Bench::putting((remote, folder), bytes, progress, phase);
    let all = |way: &dyn Fn(u32, u32) -> Result<Option<Rate>, StoreError>| {
        let (mut rates, mut known) = (Vec::<Rate>::new(), 0.0_f64);
        for (size, depth) in LOOKS {
            let moved = u64::from(size) * u64::from(depth);
            let is_slow = moved as f64 > known * PATIENCE.as_secs_f64();
            if !rates.is_empty() && (moved > bytes || is_slow) {
                break;
            }
            let size = u64::from(size).min(bytes) as u32;
            let Some(rate) = way(size, depth)? else { break };
            known = known.max(rate.bytes_per_second);
            rates.push(rate);
        }
        Ok::<_, StoreError>((rates, known))
    };
    let (write, known) = all(&|bytes, depth| bench.write(bytes, depth, LOOK))?;
    let quick = (known * LOOK.as_secs_f64()) as u64;
    let filled = bench.fill(quick.clamp(u64::from(LOOKS[0].0).min(bytes), bytes))?;
    let (read, _) = all(&|bytes, depth| bench.read(filled, bytes, depth, LOOK))?;
    Ok(Probe { read, write, direct: true, short: true, elsewhere: true })
}

/// Rates at which an object is read that is there, of which nothing is changed.
pub(super) fn measure_file(
    remote: &dyn Remote,
    file: &Path,
    options: &ProbeOptions,
    progress: &Progress,
) -> Result<(Probe, Latency), StoreError> {
    let filled = remote.bytes(file)?;
    let bytes = options.bytes.unwrap_or(BYTES);
    if filled.min(bytes) < BYTES_LEAST {
        let what = format!("has {filled} bytes, and {BYTES_LEAST} at least tell anything");
        let (file, kind) = (file.to_owned(), FailureKind::Usage);
        return Err(StoreError::Remote { file, what, kind });
    }
    let sizes = sizes(bytes.min(filled));
    let phase = progress.phase("probe", Unit::Bytes, None);
    let (whole, made) = (file.to_owned(), AtomicU64::new(0));
    let bench = Bench { remote, folder: None, whole, bytes, progress, phase, made };
    let part = options.time / PARTS;
    let latency = bench.latency(filled, part)?;
    let read = |bytes, depth, time| bench.read(filled, bytes, depth, time);
    let read = sweep(&sizes, (PARTS - 1) * part, read)?;
    let write = Vec::new();
    Ok((Probe { read, write, direct: true, short: false, elsewhere: true }, latency))
}

/// Sizes that are tried where there is room for `bytes` bytes.
fn sizes(bytes: u64) -> Vec<u32> {
    REQUEST_BITS.map(|bits| 1 << bits).filter(|size| u64::from(*size) <= bytes).collect()
}

impl<'a> Bench<'a> {
    /// A bench that puts objects into a folder, and reads one of them.
    fn putting(
        (remote, folder): (&'a dyn Remote, &Path),
        bytes: u64,
        progress: &'a Progress,
        phase: Phase,
    ) -> Self {
        let (folder, whole) = (Some(folder.to_owned()), folder.join(format!("{OBJECT}0")));
        Self { remote, folder, whole, bytes, progress, phase, made: AtomicU64::new(0) }
    }

    /// The object that a thread puts.
    fn object(&self, number: u64) -> PathBuf {
        let name = format!("{OBJECT}{}", number + 1);
        self.folder.as_ref().map_or_else(|| name.clone().into(), |folder| folder.join(&name))
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.remote.create(file)?;
        writer.write_all(bytes).map_err(|error| StoreError::of_writer(file, error))?;
        writer.complete()
    }

    /// Puts objects of this size, `depth` at a time.
    fn write(&self, bytes: u32, depth: u32, time: Duration) -> Result<Option<Rate>, StoreError> {
        // Each thread has an object of its own there.
        if u64::from(bytes) * u64::from(depth) > self.bytes.max(bytes.into()) {
            return Ok(None);
        }
        self.made.fetch_max(depth.into(), Ordering::Relaxed);
        let content = noise(bytes as usize);
        self.timed((bytes, depth), time, |thread, _| self.put(&self.object(thread), &content))
    }

    /// Puts the object that is read, of `bytes` bytes, and says them.
    fn fill(&self, bytes: u64) -> Result<u64, StoreError> {
        self.put(&self.whole, &noise(bytes as usize))?;
        Ok(bytes)
    }

    /// Reads ranges of this size, `depth` at a time.
    fn read(
        &self,
        filled: u64,
        bytes: u32,
        depth: u32,
        time: Duration,
    ) -> Result<Option<Rate>, StoreError> {
        if u64::from(bytes) > filled {
            return Ok(None);
        }
        let file = &self.whole;
        let ranges = (filled / u64::from(bytes)).max(1);
        self.timed((bytes, depth), time, |_, number| {
            let begin = number % ranges * u64::from(bytes);
            let range = begin..filled.min(begin + u64::from(bytes));
            self.remote.read(file, range, &mut |_| {})
        })
    }

    /// Reads a few bytes here and there, one after the other.
    fn latency(&self, filled: u64, time: Duration) -> Result<Latency, StoreError> {
        let (began, mut took) = (Instant::now(), Vec::new());
        let file = &self.whole;
        let pages = (filled / LATENCY_BYTES).max(1);
        while (took.len() as u64) < LATENCY_READS && (took.is_empty() || began.elapsed() < time) {
            self.goes_on()?;
            let begin = took.len() as u64 * 7919 % pages * LATENCY_BYTES;
            let asked = Instant::now();
            self.remote.read(file, begin..filled.min(begin + LATENCY_BYTES), &mut |_| {})?;
            took.push(asked.elapsed());
        }
        Ok(latency_of(took))
    }

    fn goes_on(&self) -> Result<(), StoreError> {
        if self.progress.cancelled() { Err(StoreError::Cancelled) } else { Ok(()) }
    }

    /// Makes requests of `bytes` bytes from `depth` threads until enough was moved or the time is
    /// up; each is told the number of its thread and its own.
    fn timed(
        &self,
        (request_bytes, depth): (u32, u32),
        time: Duration,
        request: impl Fn(u64, u64) -> Result<(), StoreError> + Sync,
    ) -> Result<Option<Rate>, StoreError> {
        let most = (self.bytes / u64::from(request_bytes)).max(depth.into());
        let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
        let failed: Mutex<Option<StoreError>> = Mutex::new(None);
        let fails = |error| {
            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            // No thread begins another one.
            next.store(most, Ordering::Relaxed);
        };
        let (began, busy) = (Instant::now(), processor_time());
        let work = |thread: u64| loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            // However slow the store is, one request is made.
            if number >= most || number > 0 && began.elapsed() >= time {
                break;
            }
            match self.goes_on().and_then(|()| request(thread, number)) {
                Ok(()) => {
                    done.fetch_add(1, Ordering::Relaxed);
                    self.phase.add(request_bytes.into());
                }
                Err(error) => fails(error),
            }
        };
        thread::scope(|scope| {
            let work = &work;
            for number in 1..u64::from(depth) {
                // Where the system starts no more threads, those that are there do it all.
                let _ = thread::Builder::new().spawn_scoped(scope, move || work(number));
            }
            work(0);
        });
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let seconds = began.elapsed().as_secs_f64().max(1e-9);
        let busy = processor_time().saturating_sub(busy).as_secs_f64();
        let moved = done.into_inner() * u64::from(request_bytes);
        let (bytes_per_second, processor_share) = (moved as f64 / seconds, busy / seconds);
        let rate = Rate { request_bytes, depth, bytes_per_second, processor_share };
        Ok((moved > 0).then_some(rate))
    }
}

/// Content that nothing compresses.
fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut content = vec![0; bytes];
    for word in content.chunks_mut(size_of::<u64>()) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Lower bits of such a sequence repeat soon.
        let mixed = (state ^ state >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word.copy_from_slice(&(mixed ^ mixed >> 32).to_le_bytes()[..word.len()]);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_probes_are_known_by_their_names() {
        let target = Path::new("s3://box/there");
        let folder = |file: &str| folder_of(Path::new(file), target);
        let ours = "s3://box/there/welter-probe-0123456789abcdef";
        for name in ["edges-0", "edges-17"] {
            assert_eq!(folder(&format!("{ours}/{name}")), Some(ours.into()));
        }
        for other in [
            "s3://box/there/welter-probe-0123456789abcdef/notes.txt",
            "s3://box/there/welter-probe-0123456789abcdef/edges-",
            "s3://box/there/welter-probe-0123456789abcdef/edges-1a",
            "s3://box/there/welter-probe-0123456789abcdef/more/edges-1",
            "s3://box/there/welter-probe-0123/edges-1",
            "s3://box/there/welter-probe-mine/edges-1",
            "s3://box/there/more/welter-probe-0123456789abcdef/edges-1",
            "s3://box/other/welter-probe-0123456789abcdef/edges-1",
        ] {
            assert_eq!(folder(other), None, "{other}");
        }
    }
}
