//! Measuring: one pass over a scratch volume for each size and depth.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use welter_progress::{Phase, Progress, Unit};

use super::figures::{Latency, Probe, ProbeOptions, REQUEST_BITS, Rate};
use super::sweep::sweep;
use crate::StoreError;
use crate::io::{ALIGN, IoOptions, Memory, Pages, Place, Queue, Requests, Volume};

/// Bytes of a request by which what is read later is written: fast everywhere.
const FILL_BYTES: u64 = 16 << 20;
/// Bytes on the devices where nothing is said, and as much is free.
const BYTES: u64 = 512 << 20;
/// The fewest bytes that anything can be learnt from.
const BYTES_LEAST: u64 = 64 << 10;
/// Small reads whose latency is looked at, at most.
const LATENCY_READS: usize = 400;
/// Ways of asking that a short look tries, the usual one first: bytes of a request, and how many.
const LOOKS: [(u32, u32); 5] =
    [(512 << 10, 4), (512 << 10, 1), (512 << 10, 16), (64 << 10, 16), (128 << 10, 8)];
/// Time of each of them.
const LOOK: Duration = Duration::from_millis(50);
/// Parts of the time, of which writing and reading have 9 each.
const PARTS: u32 = 20;

/// All that a measurement needs.
struct Bench<'a> {
    directories: &'a [PathBuf],
    options: &'a ProbeOptions,
    /// Bytes that may lie on the devices.
    bytes: u64,
    progress: &'a Progress,
    phase: Phase,
}

/// A volume with something to read.
struct Filled {
    volume: Arc<Volume>,
    /// Bytes of each file, from its begin.
    files: Vec<u64>,
}

impl Filled {
    /// Places of `bytes` bytes, in the order of the files.
    fn places(&self, bytes: u32) -> impl Iterator<Item = Place> {
        let most = self.files.iter().max().map_or(0, |most| most / u64::from(bytes));
        let at = move |number: u64| number * u64::from(bytes);
        (0..most).flat_map(move |number| {
            let files = self.files.iter().enumerate();
            let long = files.filter(move |(_, end)| at(number + 1) <= **end);
            long.map(move |(file, _)| Place { file: file as u16, offset: at(number), bytes })
        })
    }
}

pub(super) fn measure(
    directories: &[PathBuf],
    options: &ProbeOptions,
    progress: &Progress,
) -> Result<(Probe, Latency), StoreError> {
    let bytes = room(directories, options)?;
    let sizes: Vec<u32> =
        REQUEST_BITS.map(|bits| 1 << bits).filter(|size| u64::from(*size) <= bytes).collect();
    let phase = progress.phase("probe", Unit::Bytes, None);
    let bench = Bench { directories, options, bytes, progress, phase };
    let part = options.time / PARTS;
    let write = sweep(&sizes, 9 * part, |bytes, depth, time| bench.write(bytes, depth, time))?;
    let filled = bench.fill(part)?;
    let latency = bench.latency(&filled, part)?;
    let read = |bytes, depth, time| bench.read(&filled, bytes, depth, time);
    let read = sweep(&sizes, 9 * part, read)?;
    let direct = filled.volume.is_direct();
    Ok((Probe { read, write, direct, short: false, elsewhere: false }, latency))
}

pub(super) fn look(
    directories: &[PathBuf],
    bytes: u64,
    io: &IoOptions,
    progress: &Progress,
) -> Result<Probe, StoreError> {
    let options = ProbeOptions { bytes: Some(bytes), time: LOOK, io: io.clone() };
    let options = &options;
    let bytes = room(directories, options)?;
    let phase = progress.phase("look", Unit::Bytes, None);
    let bench = Bench { directories, options, bytes, progress, phase };
    let all = |way: &dyn Fn(u32, u32) -> Result<Option<Rate>, StoreError>| {
        let rates = LOOKS.iter().map(|(bytes, depth)| way(*bytes, *depth));
        let mut rates: Vec<Rate> =
            rates.filter_map(Result::transpose).collect::<Result<_, StoreError>>()?;
        rates.sort_unstable_by_key(|rate| (rate.request_bytes, rate.depth));
        Ok::<_, StoreError>(rates)
    };
    let write = all(&|bytes, depth| bench.write(bytes, depth, LOOK))?;
    let filled = bench.fill(4 * LOOK)?;
    let read = all(&|bytes, depth| bench.read(&filled, bytes, depth, LOOK))?;
    let direct = filled.volume.is_direct();
    Ok(Probe { read, write, direct, short: true, elsewhere: false })
}

/// Bytes that may lie on the devices: as many as is said, else less on a small disk.
fn room(directories: &[PathBuf], options: &ProbeOptions) -> Result<u64, StoreError> {
    let volume = Volume::scratch(directories, &options.io)?;
    let bytes = match options.bytes {
        Some(bytes) => bytes,
        None => BYTES.min(volume.free_bytes()? / 2).max(BYTES_LEAST),
    };
    volume.check_space(bytes)?;
    if bytes < BYTES_LEAST {
        return Err(StoreError::Request(format!("a probe with {bytes} bytes")));
    }
    Ok(bytes)
}

impl Bench<'_> {
    /// Writes to a fresh volume, which is gone afterwards.
    fn write(&self, bytes: u32, depth: u32, time: Duration) -> Result<Option<Rate>, StoreError> {
        let volume = self.volume()?;
        let queue = Queue::new(&self.io(depth), depth as usize)?;
        let memory = random(depth, bytes as usize)?;
        timed((bytes, depth), queue, memory, |queue, memory| {
            let places = self.append(&volume, queue, memory, bytes, time)?;
            // Past the page cache all is done by now; into it, nothing is.
            if !volume.is_direct() {
                volume.sync()?;
            }
            Ok(places.len() as u64 * u64::from(bytes))
        })
    }

    /// A volume with something to read.
    fn fill(&self, time: Duration) -> Result<Filled, StoreError> {
        let volume = self.volume()?;
        let each = self.bytes / self.directories.len() as u64;
        let largest = each.clamp(BYTES_LEAST, FILL_BYTES) as usize / ALIGN * ALIGN;
        let mut queue = Queue::new(&self.options.io, 2)?;
        let memory = random(2, largest)?;
        let places = self.append(&volume, &mut queue, memory, largest as u32, time)?;
        volume.sync()?;
        let mut files = vec![0; self.directories.len()];
        for place in places {
            files[usize::from(place.file)] = place.offset + place.rounded_bytes() as u64;
        }
        Ok(Filled { volume, files })
    }

    /// Reads what `fill` wrote, in the same order. Nothing where not even one request is filled.
    fn read(
        &self,
        filled: &Filled,
        bytes: u32,
        depth: u32,
        time: Duration,
    ) -> Result<Option<Rate>, StoreError> {
        filled.volume.forget()?;
        let queue = Queue::reading(&self.io(depth), depth as usize)?;
        let mut memory = pages(depth, bytes as usize)?;
        // Memory of a run has its pages.
        for pages in &mut memory {
            pages.bytes_mut().fill(1);
        }
        timed((bytes, depth), queue, memory, |queue, memory| {
            let places = filled.places(bytes);
            self.move_all(queue, memory, time, places, |queue, place, memory| {
                queue.read(&filled.volume, place, memory, 0)
            })
        })
    }

    /// Reads pages here and there, one after the other.
    fn latency(&self, filled: &Filled, time: Duration) -> Result<Latency, StoreError> {
        filled.volume.forget()?;
        let pages: Vec<Place> = filled.places(ALIGN as u32).collect();
        let mut memory = Pages::zeroed(ALIGN)?;
        let (began, mut took) = (Instant::now(), Vec::new());
        // A step that is far, and meets every page once.
        let step = (pages.len() * 5 / 8) | 1;
        while took.len() < LATENCY_READS.min(pages.len()) && began.elapsed() < time {
            if self.progress.cancelled() {
                return Err(StoreError::Cancelled);
            }
            let place = pages[took.len() * step % pages.len()];
            let asked = Instant::now();
            filled.volume.read_at_once(place, &mut memory)?;
            took.push(asked.elapsed());
        }
        Ok(latency_of(took))
    }

    /// Options of a queue that shall really have `depth` requests at the device.
    fn io(&self, depth: u32) -> IoOptions {
        let requests = Requests { in_flight: Some(depth), ..self.options.io.requests };
        IoOptions { requests, ..self.options.io.clone() }
    }

    fn volume(&self) -> Result<Arc<Volume>, StoreError> {
        let volume = Volume::scratch(self.directories, &self.options.io)?;
        volume.check_space(self.bytes)?;
        Ok(Arc::new(volume))
    }

    /// Appends until there are as many bytes as may be, or the time is up. Says where they lie.
    fn append(
        &self,
        volume: &Arc<Volume>,
        queue: &mut Queue<Pages>,
        memory: Vec<Pages>,
        bytes: u32,
        time: Duration,
    ) -> Result<Vec<Place>, StoreError> {
        let mut places = Vec::new();
        let fresh = (0..self.bytes / u64::from(bytes)).map(|_| volume.reserve(bytes));
        self.move_all(queue, memory, time, fresh, |queue, place, mut memory| {
            stamp(&mut memory, place);
            places.push(place);
            queue.write(volume, place, memory, 0)
        })?;
        Ok(places)
    }

    /// Keeps as many requests in flight as there is memory for, until places or time end. Says
    /// how many bytes they moved.
    fn move_all(
        &self,
        queue: &mut Queue<Pages>,
        mut memory: Vec<Pages>,
        time: Duration,
        mut places: impl Iterator<Item = Place>,
        mut begin: impl FnMut(&mut Queue<Pages>, Place, Pages) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let began = Instant::now();
        // However slow the device is, one request is made.
        let (mut moved, mut begun) = (0, false);
        loop {
            if self.progress.cancelled() {
                return Err(StoreError::Cancelled);
            }
            while let Some(free) = memory.pop_if(|_| !begun || began.elapsed() < time) {
                let Some(place) = places.next() else { break };
                begin(queue, place, free)?;
                begun = true;
            }
            let Some(done) = queue.wait()? else { return Ok(moved) };
            moved += u64::from(done.place.bytes);
            self.phase.add(done.place.bytes.into());
            memory.push(done.memory);
        }
    }
}

/// Runs `work` on a queue of this depth, with memory for it, and sees how fast it is. It says
/// how many bytes it moved; of none there is no rate.
fn timed(
    (request_bytes, depth): (u32, u32),
    mut queue: Queue<Pages>,
    memory: Vec<Pages>,
    work: impl FnOnce(&mut Queue<Pages>, Vec<Pages>) -> Result<u64, StoreError>,
) -> Result<Option<Rate>, StoreError> {
    let (began, busy) = (Instant::now(), processor_time());
    let moved = work(&mut queue, memory)?;
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let busy = processor_time().saturating_sub(busy).as_secs_f64();
    let (bytes_per_second, processor_share) = (moved as f64 / seconds, busy / seconds);
    let rate = Rate { request_bytes, depth, bytes_per_second, processor_share };
    Ok((moved > 0).then_some(rate))
}

/// Half of the times of some requests, and 99 of 100 of them.
pub(super) fn latency_of(mut took: Vec<Duration>) -> Latency {
    took.sort_unstable();
    let at = |hundredths: usize| {
        took.get((took.len() * hundredths / 100).min(took.len().saturating_sub(1)))
    };
    let [median, late] = [50, 99].map(|part| at(part).copied().unwrap_or_default());
    Latency { median, late }
}

/// Processor time of all threads of this process, also of those that the kernel runs for it.
pub(super) fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Memory for `requests` requests, as runs have it.
fn pages(requests: u32, bytes: usize) -> Result<Vec<Pages>, StoreError> {
    // Enough for a huge page: that is where the buffers of runs lie, small ones too.
    let enough = (2 << 20) / bytes.max(1);
    let several = Pages::several(enough.max(requests as usize), bytes)?.into_iter();
    Ok(several.take(requests as usize).collect())
}

/// Memory for `requests` requests, with content that nothing compresses.
fn random(requests: u32, bytes: usize) -> Result<Vec<Pages>, StoreError> {
    let several = pages(requests, bytes)?.into_iter();
    Ok(several.zip(1..).map(|(pages, seed)| shuffled(pages, seed)).collect())
}

fn shuffled(mut pages: Pages, seed: u64) -> Pages {
    // Far enough from each other that no two requests hold the same.
    let mut state = seed << 32;
    for word in bytemuck::cast_slice_mut::<u8, u64>(pages.bytes_mut()) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        *word = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    }
    pages
}

/// Makes no two pages of a volume alike, so that a device cannot store them once.
fn stamp(pages: &mut Pages, place: Place) {
    for (number, page) in pages.bytes_mut().chunks_exact_mut(ALIGN).enumerate() {
        let offset = place.offset + (number * ALIGN) as u64;
        page[..8].copy_from_slice(&offset.to_le_bytes());
        page[8..10].copy_from_slice(&place.file.to_le_bytes());
    }
}
