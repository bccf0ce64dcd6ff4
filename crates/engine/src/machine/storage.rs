//! Storage: where bytes go that do not fit in memory, slab by slab.
//!
//! Invariant: what is written here has room, or is refused before the first byte of it. Checked in
//! `Storage::scratch`. Tested by `too_little_room_is_known_before_anything_is_read` and
//! `the_state_of_a_run_takes_what_its_plan_says`.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use welter_store::io::{ALIGN, IoOptions, IoTotals, Place, Queue, Requests, Volume};

use crate::EngineError;
use crate::machine::arena::{Arena, SLAB_BYTES, Slab};
use crate::machine::throughput::Throughput;

/// Slabs that a worker reads or writes at a time, unless the settings of requests say otherwise.
pub(crate) const DEPTH: usize = 4;

/// Slabs that a worker reads at a time under these settings.
pub(crate) fn slabs_read(requests: &Requests) -> usize {
    slabs_at_a_time(requests, false)
}

/// Slabs that a worker writes at a time under these settings.
pub(crate) fn slabs_written(requests: &Requests) -> usize {
    slabs_at_a_time(requests, true)
}

/// Slabs that hold the requests in flight. Of requests that are larger than a slab there are two
/// where no number is said: one is on its way while the slabs of another are used.
fn slabs_at_a_time(requests: &Requests, to_write: bool) -> usize {
    let joined = slabs_joined(requests, to_write);
    let stated = requests.places(SLAB_BYTES, to_write).map(|slabs| slabs * joined);
    stated.unwrap_or(if joined > 1 { DEPTH.max(2 * joined) } else { DEPTH })
}

/// Slabs that one request moves, if they are neighbours.
pub(crate) fn slabs_joined(requests: &Requests, to_write: bool) -> usize {
    requests.joined(SLAB_BYTES, to_write)
}

/// Whether the settings say how many slabs are in flight.
pub(crate) fn says_slabs(requests: &Requests, to_write: bool) -> bool {
    requests.in_flight.is_some() || slabs_joined(requests, to_write) > 1
}

/// Time to wait for room that files of this run may still be giving back. Blocks of a file are free
/// when all who have it have let go of it, and a thread of the kernel that did a request may do so
/// after the file was closed here. Seen once, beside three compilers, when 20 MiB of bins were
/// missing to the states of edges; not again in 12 runs of that test, six at a time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where bytes go that do not fit in memory.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Directories that files are striped over.
    pub directories: Vec<PathBuf>,
    /// Options by which they are read and written.
    pub io: IoOptions,
}

impl Storage {
    /// A volume that nothing is left of, once it has been made sure that it has room.
    pub(crate) fn scratch(&self, need: u64) -> Result<Arc<Volume>, EngineError> {
        let volume = Volume::scratch(&self.directories, &self.io)?;
        let free = self.room(&volume, need)?;
        if free < need {
            let directories = self.directories.clone();
            return Err(EngineError::Disk { need, free, directories });
        }
        Ok(Arc::new(volume))
    }

    /// Files in memory, which are read and written like those here. Nothing that is moved counts.
    pub(crate) fn in_memory(&self) -> Self {
        let io = IoOptions { in_memory: true, totals: IoTotals::default(), ..self.io.clone() };
        Self { directories: self.directories.iter().take(1).cloned().collect(), io }
    }

    /// Bytes that can still be written here.
    pub(crate) fn free_bytes(&self) -> Result<u64, EngineError> {
        self.room(&Volume::scratch(&self.directories, &self.io)?, 0)
    }

    /// Bytes that a volume has room for. Where these are fewer than `need`, files of this run have
    /// a moment to give back what they took.
    fn room(&self, volume: &Volume, need: u64) -> Result<u64, EngineError> {
        if self.io.in_memory {
            // The plan has room for it.
            return Ok(u64::MAX);
        }
        self.io.closing.wait();
        let begun = Instant::now();
        loop {
            let free = volume.free_bytes()?;
            let has_written = self.io.totals.stats().bytes_written > 0;
            if free >= need || !has_written || begun.elapsed() > PATIENCE {
                return Ok(free);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes sure there is room for `peak` bytes here, of which some are `taken` already.
    ///
    /// # Errors
    /// [`EngineError::Disk`] when it has none, and when a directory is of no use.
    pub fn check_room(&self, peak: u64, taken: u64) -> Result<(), EngineError> {
        match peak.saturating_sub(taken) {
            0 => Ok(()),
            need => self.scratch(need).map(drop),
        }
    }
}

/// Slabs that the throughput of a device is measured with.
pub(crate) const SAMPLE_SLABS: usize = 96;
/// Slabs that are written in any case: as many as wait at a time, and again.
const SAMPLE_SLABS_LEAST: usize = 16;
/// Time of a look at a device that is slow. Throttles count by tenths of a second.
const LOOK: Duration = Duration::from_millis(400);
const SAMPLE_BYTES: u64 = (SAMPLE_SLABS * SLAB_BYTES) as u64;

impl Storage {
    /// The throughput of this machine and of the storage here, from a short look: writes some slabs
    /// and reads them. For fewer bytes than are written for that it makes no difference, so it is
    /// not looked at then.
    pub(crate) fn throughput(
        &self,
        bytes: u64,
        cores: usize,
        arena: &Arena,
    ) -> Result<Throughput, EngineError> {
        if bytes <= SAMPLE_BYTES {
            return Ok(Throughput::of_core());
        }
        let volume = self.scratch(SAMPLE_BYTES)?;
        let mut writer = SlabWriter::new(&volume, &self.io)?;
        let mut places = Vec::new();
        let started = Instant::now();
        while places.len() < SAMPLE_SLABS && !is_long(started, places.len()) {
            places.push(writer.write(arena.take()?, SLAB_BYTES)?);
        }
        writer.finish()?;
        let write = rate(&places, started.elapsed());
        let slabs = slabs_read(&self.io.requests);
        let read = || read_rate((&volume, &self.io), slabs, &places, arena);
        Throughput { read: read()?, write, ..Throughput::of_core() }.together(cores, read)
    }
}

/// Whether a look at a device has seen enough of it: one that is slow shows that with fewer bytes.
/// At 8 MB/s all of them, written once and read twice, are 19 s before a run begins (reckoned).
fn is_long(started: Instant, slabs: usize) -> bool {
    slabs >= SAMPLE_SLABS_LEAST && started.elapsed() > LOOK
}

/// Bytes a second at which slabs of a volume are read, `depth` at a time.
pub(crate) fn read_rate(
    (volume, io): (&Arc<Volume>, &IoOptions),
    depth: usize,
    places: &[Place],
    arena: &Arena,
) -> Result<u64, EngineError> {
    // As many again are timed, however many a run has in flight.
    let depth = depth.min(places.len() / 2).max(1);
    let mut queue = Queue::reading(io, depth)?;
    // The first ones wait for the device to wake up.
    let (warm, timed) = places.split_at(depth.min(places.len()));
    let mut started = Instant::now();
    for (number, place) in warm.iter().chain(timed).enumerate() {
        while queue.in_flight() >= depth {
            queue.wait()?;
        }
        if number == warm.len() {
            started = Instant::now();
        }
        queue.read(volume, *place, arena.take()?, 0)?;
    }
    while queue.wait()?.is_some() {}
    Ok(rate(timed, started.elapsed()))
}

/// Bytes a second.
fn rate(places: &[Place], took: Duration) -> u64 {
    let bytes: usize = places.iter().map(Place::rounded_bytes).sum();
    ((bytes as f64 / took.as_secs_f64().max(1e-9)) as u64).max(1)
}

/// Writes slabs to a volume while the next ones are filled.
pub(crate) struct SlabWriter {
    volume: Arc<Volume>,
    queue: Queue<Slab>,
    /// Slabs on their way at most.
    depth: usize,
    /// Slabs that one request moves.
    joined: usize,
    /// Room that comes next, which belongs to this writer.
    room: Option<Place>,
}

impl SlabWriter {
    pub(crate) fn new(volume: &Arc<Volume>, io: &IoOptions) -> Result<Self, EngineError> {
        let (depth, joined) = (slabs_written(&io.requests), slabs_joined(&io.requests, true));
        let (volume, queue) = (Arc::clone(volume), Queue::new(io, depth)?);
        Ok(Self { volume, queue, depth, joined, room: None })
    }

    /// Writes the first bytes of a slab, some time. Where several slabs are a request there may be
    /// holes between the places of writers.
    pub(crate) fn write(&mut self, slab: Slab, bytes: usize) -> Result<Place, EngineError> {
        self.leave_room(1)?;
        let rounded = bytes.next_multiple_of(ALIGN) as u32;
        let room = match self.room.take_if(|room| room.bytes >= rounded) {
            Some(room) => room,
            None if self.joined > 1 => self.volume.reserve((self.joined * SLAB_BYTES) as u32),
            None => self.volume.reserve(rounded),
        };
        let (offset, left) = (room.offset + u64::from(rounded), room.bytes - rounded);
        self.room = Some(Place { offset, bytes: left, ..room });
        let place = Place { bytes: bytes as u32, ..room };
        self.begin(slab, place)?;
        Ok(place)
    }

    /// Slabs that are written at once.
    pub(crate) fn joined(&self) -> usize {
        self.joined
    }

    /// Waits until `slabs` slabs more may be in memory, to be written later.
    pub(crate) fn leave_room(&mut self, slabs: usize) -> Result<(), EngineError> {
        while self.queue.in_flight() > 0 && self.queue.in_flight() + slabs > self.depth {
            self.queue.wait()?;
        }
        Ok(())
    }

    /// Writes the first bytes of slabs side by side, some time, and says where, in their order.
    pub(crate) fn write_together(
        &mut self,
        slabs: impl Iterator<Item = (Slab, usize)>,
        bytes: u32,
    ) -> Result<Vec<Place>, EngineError> {
        let mut room = self.volume.reserve(bytes);
        let mut places = Vec::new();
        for (slab, bytes) in slabs {
            let place = Place { bytes: bytes as u32, ..room };
            room.offset += place.rounded_bytes() as u64;
            self.begin(slab, place)?;
            places.push(place);
        }
        Ok(places)
    }

    fn begin(&mut self, mut slab: Slab, place: Place) -> Result<(), EngineError> {
        slab.bytes_mut()[place.bytes as usize..place.rounded_bytes()].fill(0);
        Ok(self.queue.write(&self.volume, place, slab, 0)?)
    }

    /// Waits until all is written.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        while self.queue.wait()?.is_some() {}
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use welter_progress::FailureKind;
    use welter_store::io::{Call, Fault, Faults};

    use super::*;

    #[test]
    fn a_pace_is_measured_where_it_makes_a_difference() {
        let storage = |faults: Option<&Arc<Faults>>| Storage {
            directories: vec![std::env::temp_dir()],
            io: IoOptions { faults: faults.cloned(), ..IoOptions::default() },
        };
        let arena = Arena::default();
        let throughput = storage(None).throughput(SAMPLE_BYTES + 1, 2, &arena).unwrap();
        assert!(throughput.read < u64::MAX && throughput.write < u64::MAX, "{throughput:?}");
        let none = Faults::from(Call::Create, 1, Fault::Errno(5));
        assert_eq!(
            storage(Some(&none)).throughput(SAMPLE_BYTES, 2, &arena).unwrap().read,
            u64::MAX
        );
        for (call, kind) in [
            (Call::Create, FailureKind::Output),
            (Call::Write, FailureKind::Storage),
            (Call::Read, FailureKind::Storage),
        ] {
            let faults = Faults::from(call, 1, Fault::Errno(5));
            let error = storage(Some(&faults)).throughput(SAMPLE_BYTES + 1, 2, &arena).unwrap_err();
            assert_eq!(error.kind(), kind, "{call:?}: {error}");
        }
    }
    #[test]
    fn a_look_at_a_slow_device_ends_early() {
        let written_with = |fault: Option<(Call, Duration)>| {
            let faults = fault.map(|(call, time)| Faults::from(call, 1, Fault::Slow(time)));
            let io = IoOptions { faults, ..IoOptions::default() };
            let storage = Storage { directories: vec![std::env::temp_dir()], io };
            let throughput = storage.throughput(SAMPLE_BYTES + 1, 1, &Arena::default()).unwrap();
            (storage.io.totals.stats().bytes_written, throughput)
        };
        let (all, _) = written_with(None);
        assert_eq!(all, SAMPLE_BYTES);
        // Four of them wait at a time.
        let each = LOOK / (SAMPLE_SLABS_LEAST / DEPTH) as u32;
        let (some, throughput) = written_with(Some((Call::Write, each)));
        let least = (SAMPLE_SLABS_LEAST * SLAB_BYTES) as u64;
        assert!((least..=2 * least).contains(&some), "{some}");
        // And the rate is that of what was written.
        let most = (DEPTH * SLAB_BYTES) as f64 / each.as_secs_f64();
        assert!(throughput.write as f64 <= most, "{throughput:?}");
    }
}
