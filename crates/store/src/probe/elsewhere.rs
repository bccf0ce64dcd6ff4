//! Measuring a bucket: objects that are put, and one that is read in ranges, by size and by number
//! of requests at a time.
//!
//! Each request has a thread that waits for it, as in runs. Objects lie in a folder of their own,
//! one a thread, which are put again and again; all are removed in the end.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use welter_progress::{Phase, Progress, Unit};

use super::figures::{Latency, Probe, ProbeOptions, Rate};
use super::measure::{latency_of, processor_time};
use super::sweep::sweep;
use crate::StoreError;
use crate::io::Remote;

/// Log2 of the sizes that are tried: from 64 KiB to 16 MiB.
const REQUEST_BITS: Range<u32> = 16..25;
/// Requests at a time at most.
const DEPTH_MOST: u32 = 64;
/// Bytes of what is read, and of what is put in one measurement, where nothing is said.
const BYTES: u64 = 64 << 20;
/// The fewest bytes that anything can be learnt from.
const BYTES_LEAST: u64 = 64 << 10;
/// Small reads whose latency is looked at, at most.
const LATENCY_READS: u64 = 100;
/// Bytes of each of them.
const LATENCY_BYTES: u64 = 4096;
/// Parts of the time, of which writing and reading have 9 each.
const PARTS: u32 = 20;

/// All that a measurement needs.
struct Bench<'a> {
    remote: &'a dyn Remote,
    folder: PathBuf,
    /// Bytes that are moved in one measurement at most.
    bytes: u64,
    progress: &'a Progress,
    phase: Phase,
    /// Objects that were begun.
    made: AtomicU64,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        let made = (0..*self.made.get_mut()).map(|number| self.object(number));
        for file in made.chain([self.whole()]) {
            // The error that may have led here is the one to tell.
            let _ = self.remote.delete(&file);
        }
    }
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
    let sizes: Vec<u32> =
        REQUEST_BITS.map(|bits| 1 << bits).filter(|size| u64::from(*size) <= bytes).collect();
    let phase = progress.phase("probe", Unit::Bytes, None);
    let folder = folder.join(format!("welter-probe-{:016x}", crate::random_number()));
    let made = AtomicU64::new(0);
    let bench = Bench { remote, folder, bytes, progress, phase, made };
    let part = options.time / PARTS;
    let write = sweep(&sizes, 9 * part, |bytes, depth, time| bench.write(bytes, depth, time))?;
    let filled = bench.fill()?;
    let latency = bench.latency(filled, part)?;
    let read = |bytes, depth, time| bench.read(filled, bytes, depth, time);
    let read = sweep(&sizes, 9 * part, read)?;
    Ok((Probe { read, write, direct: true }, latency))
}

impl Bench<'_> {
    /// The object that a thread puts.
    fn object(&self, number: u64) -> PathBuf {
        self.folder.join(format!("put-{number}"))
    }

    /// The object that is read.
    fn whole(&self) -> PathBuf {
        self.folder.join("get")
    }

    fn put(&self, file: &Path, bytes: &[u8]) -> Result<(), StoreError> {
        let mut writer = self.remote.create(file)?;
        writer.write_all(bytes).map_err(|error| StoreError::of_writer(file, error))?;
        writer.complete()
    }

    /// Puts objects of this size, `depth` at a time.
    fn write(&self, bytes: u32, depth: u32, time: Duration) -> Result<Option<Rate>, StoreError> {
        if depth > DEPTH_MOST {
            return Ok(None);
        }
        self.made.fetch_max(depth.into(), Ordering::Relaxed);
        let content = noise(bytes as usize);
        self.timed((bytes, depth), time, |thread, _| self.put(&self.object(thread), &content))
    }

    /// Puts the object that is read; says how large it is.
    fn fill(&self) -> Result<u64, StoreError> {
        let bytes = self.bytes.min(BYTES);
        self.put(&self.whole(), &noise(bytes as usize))?;
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
        if depth > DEPTH_MOST {
            return Ok(None);
        }
        let file = self.whole();
        let ranges = (filled / u64::from(bytes)).max(1);
        self.timed((bytes, depth), time, |_, number| {
            let begin = number % ranges * u64::from(bytes);
            let range = begin..filled.min(begin + u64::from(bytes));
            self.remote.read(&file, range, &mut |_| {})
        })
    }

    /// Reads a few bytes here and there, one after the other.
    fn latency(&self, filled: u64, time: Duration) -> Result<Latency, StoreError> {
        let (began, mut took) = (Instant::now(), Vec::new());
        let file = self.whole();
        let pages = (filled / LATENCY_BYTES).max(1);
        while (took.len() as u64) < LATENCY_READS && (took.is_empty() || began.elapsed() < time) {
            self.goes_on()?;
            let begin = took.len() as u64 * 7919 % pages * LATENCY_BYTES;
            let asked = Instant::now();
            self.remote.read(&file, begin..filled.min(begin + LATENCY_BYTES), &mut |_| {})?;
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
        let most = (self.bytes / u64::from(request_bytes)).max(1);
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
    let mut byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..bytes).map(|_| byte()).collect()
}
