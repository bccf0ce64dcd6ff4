//! Measuring: one pass over a scratch volume for each size and depth.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use welter_progress::{Phase, Progress, Unit};

use super::figures::{DEPTHS, Probe, ProbeOptions, REQUEST_BYTES, Rate};
use crate::StoreError;
use crate::io::{ALIGN, Memory, Pages, Place, Queue, Volume};

/// How what is read later is written: fast everywhere, and every other size divides it.
const FILL_BYTES: u32 = 16 << 20;
/// Filling may take so many times as long as one measurement.
const FILL_PATIENCE: u32 = 4;

/// All that a measurement needs.
struct Bench<'a> {
    directories: &'a [PathBuf],
    options: &'a ProbeOptions,
    progress: &'a Progress,
    phase: Phase,
}

pub(super) fn measure(
    directories: &[PathBuf],
    options: &ProbeOptions,
    progress: &Progress,
) -> Result<Probe, StoreError> {
    let sizes: Vec<u32> =
        REQUEST_BYTES.into_iter().filter(|bytes| u64::from(*bytes) <= options.bytes).collect();
    if sizes.is_empty() {
        let bytes = options.bytes;
        return Err(StoreError::Request(format!("a probe with {bytes} bytes")));
    }
    let cells: Vec<(u32, u32)> =
        sizes.iter().flat_map(|bytes| DEPTHS.map(|depth| (*bytes, depth))).collect();
    let total = options.bytes.saturating_mul(2 * cells.len() as u64 + 1);
    let phase = progress.phase("probe", Unit::Bytes, Some(total));
    let bench = Bench { directories, options, progress, phase };
    let write = cells.iter().map(|(bytes, depth)| bench.write(*bytes, *depth));
    let write = write.collect::<Result<Vec<Rate>, _>>()?;
    let (volume, places) = bench.fill()?;
    let read = cells.iter().map(|(bytes, depth)| bench.read(&volume, &places, *bytes, *depth));
    Ok(Probe { read: read.collect::<Result<_, _>>()?, write, direct: volume.is_direct() })
}

impl Bench<'_> {
    /// Writes to a fresh volume, which is gone afterwards.
    fn write(&self, bytes: u32, depth: u32) -> Result<Rate, StoreError> {
        let volume = self.volume()?;
        let queue = Queue::new(&self.options.io, depth as usize)?;
        timed(bytes, depth, queue, |queue, memory| {
            let places = self.append(&volume, queue, memory, bytes, self.options.patience)?;
            // Past the page cache all is done by now; into it, nothing is.
            if !volume.is_direct() {
                volume.sync()?;
            }
            Ok(places.len() as u64 * u64::from(bytes))
        })
    }

    /// A volume with something to read, and where that lies.
    fn fill(&self) -> Result<(Arc<Volume>, Vec<Place>), StoreError> {
        let volume = self.volume()?;
        let largest = self.options.bytes.min(u64::from(FILL_BYTES)) as usize / ALIGN * ALIGN;
        let mut queue = Queue::new(&self.options.io, 2)?;
        let memory = random(2, largest)?;
        let patience = self.options.patience * FILL_PATIENCE;
        let places = self.append(&volume, &mut queue, memory, largest as u32, patience)?;
        if !volume.is_direct() {
            volume.sync()?;
        }
        Ok((volume, places))
    }

    /// Reads what `fill` wrote, in the same order.
    fn read(
        &self,
        volume: &Arc<Volume>,
        places: &[Place],
        bytes: u32,
        depth: u32,
    ) -> Result<Rate, StoreError> {
        volume.forget()?;
        let parts = places.iter().flat_map(|place| {
            (0..place.bytes / bytes).map(move |part| Place {
                offset: place.offset + u64::from(part) * u64::from(bytes),
                bytes,
                ..*place
            })
        });
        let queue = Queue::reading(&self.options.io, depth as usize)?;
        timed(bytes, depth, queue, |queue, memory| {
            self.move_all(queue, memory, self.options.patience, parts, |queue, place, memory| {
                queue.read(volume, place, memory, 0)
            })
        })
    }

    fn volume(&self) -> Result<Arc<Volume>, StoreError> {
        let volume = Volume::scratch(self.directories, &self.options.io)?;
        volume.check_space(self.options.bytes)?;
        Ok(Arc::new(volume))
    }

    /// Appends until there are as many bytes as may be, or the time is up. Says where they lie.
    fn append(
        &self,
        volume: &Arc<Volume>,
        queue: &mut Queue<Pages>,
        memory: Vec<Pages>,
        bytes: u32,
        patience: Duration,
    ) -> Result<Vec<Place>, StoreError> {
        let mut places = Vec::new();
        let fresh = (0..self.options.bytes / u64::from(bytes)).map(|_| volume.reserve(bytes));
        self.move_all(queue, memory, patience, fresh, |queue, place, mut memory| {
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
        patience: Duration,
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
            while let Some(free) = memory.pop_if(|_| !begun || began.elapsed() < patience) {
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
/// how many bytes it moved.
fn timed(
    bytes: u32,
    depth: u32,
    mut queue: Queue<Pages>,
    work: impl FnOnce(&mut Queue<Pages>, Vec<Pages>) -> Result<u64, StoreError>,
) -> Result<Rate, StoreError> {
    let memory = random(depth, bytes as usize)?;
    let (began, busy) = (Instant::now(), processor_time());
    let moved = work(&mut queue, memory)?;
    let seconds = began.elapsed().as_secs_f64().max(1e-9);
    let busy = processor_time().saturating_sub(busy).as_secs_f64();
    Ok(Rate {
        request_bytes: bytes,
        depth,
        bytes_per_second: moved as f64 / seconds,
        processor_share: busy / seconds,
    })
}

/// Processor time of all threads of this process, also of those that the kernel runs for it.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Memory for so many requests, as runs have it, with content that nothing compresses.
fn random(requests: u32, bytes: usize) -> Result<Vec<Pages>, StoreError> {
    // Enough for a huge page: that is where the buffers of runs lie, small ones too.
    let enough = (2 << 20) / bytes.max(1);
    let several = Pages::several(enough.max(requests as usize), bytes)?.into_iter();
    let several = several.take(requests as usize);
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
