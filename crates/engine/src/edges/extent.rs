//! A slab's worth of bytes, in memory or on storage, and the way between the two.
//!
//! A slab is the unit of memory, of reading and of writing alike: half a megabyte, at which
//! devices reach their bandwidth with a few requests in flight. What overflows is written from the
//! slab where it was made and read into a slab again.
//!
//! Invariant: what is read back is what was written: chunks are verified when they are read, bins
//! by the checksum that is kept here.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use welter_store::checksum;
use welter_store::io::{IoOptions, Place, Queue, Volume};

use crate::EngineError;
use crate::machine::arena::{Arena, ReadBack, SLAB_BYTES, Slab};
use crate::machine::pace::Pace;
use crate::machine::workers::lock;
use crate::plan::{Plan, StoragePlan};

/// Slabs that a worker reads or writes at a time.
pub(crate) const DEPTH: usize = 4;

/// How long room is waited for that files of this run may still be giving back. Blocks of a file
/// are free when all who have it have let go of it, and a thread of the kernel that did a request
/// may do so after the file was closed here. Seen once, beside three compilers, when 20 MiB of bins
/// were missing to the states of edges; not again in 12 runs of that test, six at a time.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where bytes go that do not fit in memory.
#[derive(Clone, Debug)]
pub struct Storage {
    /// Directories that files are striped over.
    pub directories: Vec<PathBuf>,
    /// How they are read and written.
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

    /// Bytes that can still be written here.
    pub(crate) fn free_bytes(&self) -> Result<u64, EngineError> {
        self.room(&Volume::scratch(&self.directories, &self.io)?, 0)
    }

    /// The same of a volume. Where that is less than `need`, files of this run have a moment to
    /// give back what they took.
    fn room(&self, volume: &Volume, need: u64) -> Result<u64, EngineError> {
        self.io.closing.wait();
        let begun = Instant::now();
        loop {
            let free = volume.free_bytes()?;
            let has_written = self.io.tally.stats().bytes_written > 0;
            if free >= need || !has_written || begun.elapsed() > PATIENCE {
                return Ok(free);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes sure that all has room here that a plan puts on storage, but for what is `taken`.
    ///
    /// # Errors
    /// [`EngineError::Disk`] when it has none, and when a directory is of no use.
    pub fn check_room(&self, plan: &Plan, taken: u64) -> Result<(), EngineError> {
        let peak = plan.storage.map_or(0, |StoragePlan { room, .. }| room.peak());
        match peak.saturating_sub(taken) {
            0 => Ok(()),
            need => self.scratch(need).map(drop),
        }
    }
}

/// Slabs that the pace of a device is measured with.
pub(crate) const SAMPLE_SLABS: usize = 96;
const SAMPLE_BYTES: u64 = (SAMPLE_SLABS * SLAB_BYTES) as u64;

impl Storage {
    /// The pace of this machine and of the storage here, from a short look: writes some slabs and
    /// reads them. For fewer bytes than are written for that it makes no difference, and nobody
    /// looks at storage.
    pub(crate) fn pace(
        &self,
        bytes: u64,
        cores: usize,
        arena: &Arena,
    ) -> Result<Pace, EngineError> {
        if bytes <= SAMPLE_BYTES {
            return Ok(Pace::of_core());
        }
        let volume = self.scratch(SAMPLE_BYTES)?;
        let mut writer = SlabWriter::new(&volume, &self.io)?;
        let mut places = Vec::new();
        let started = Instant::now();
        for _ in 0..SAMPLE_SLABS {
            places.push(writer.write(arena.take()?, SLAB_BYTES)?);
        }
        writer.finish()?;
        let write = rate(&places, started.elapsed());
        let read = || read_rate((&volume, &self.io), DEPTH, &places, arena);
        Pace { read: read()?, write, ..Pace::of_core() }.together(cores, read)
    }
}

/// Bytes a second at which slabs of a volume are read, so many at a time.
pub(crate) fn read_rate(
    (volume, io): (&Arc<Volume>, &IoOptions),
    depth: usize,
    places: &[Place],
    arena: &Arena,
) -> Result<u64, EngineError> {
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

/// Where a slab's worth of chunks lies.
pub(crate) enum Extent {
    /// In memory.
    Memory(Slab),
    /// In a volume.
    Stored(Place),
}

impl Extent {
    /// The bytes, of what is in memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(slab) => Some(slab.bytes()),
            Self::Stored(_) => None,
        }
    }
}

/// Writes slabs to a volume while the next ones are filled.
pub(crate) struct SlabWriter {
    volume: Arc<Volume>,
    queue: Queue<Slab>,
}

impl SlabWriter {
    pub(crate) fn new(volume: &Arc<Volume>, io: &IoOptions) -> Result<Self, EngineError> {
        Ok(Self { volume: Arc::clone(volume), queue: Queue::new(io, DEPTH)? })
    }

    /// Writes the first bytes of a slab, some time.
    pub(crate) fn write(&mut self, mut slab: Slab, bytes: usize) -> Result<Place, EngineError> {
        while self.queue.in_flight() >= DEPTH {
            self.queue.wait()?;
        }
        let place = self.volume.reserve(bytes as u32);
        slab.bytes_mut()[bytes..place.rounded_bytes()].fill(0);
        self.queue.write(&self.volume, place, slab, 0)?;
        Ok(place)
    }

    /// Waits until all is written.
    pub(crate) fn finish(&mut self) -> Result<(), EngineError> {
        while self.queue.wait()?.is_some() {}
        Ok(())
    }
}

/// Slabs of which some are in a volume until they are asked for.
pub(crate) struct Shelved {
    kept: Mutex<Vec<Kept>>,
    slabs: OnceLock<Vec<Slab>>,
    /// Counts those that were read.
    read: OnceLock<ReadBack>,
    /// What is left where it is, because it is too much to be read at once.
    apart: OnceLock<Vec<Kept>>,
    /// Told when these slabs were read ahead and are free again.
    window: OnceLock<Arc<Window>>,
}

impl Drop for Shelved {
    fn drop(&mut self) {
        // The slabs go first, so that who waits for their memory finds it.
        self.slabs.take();
        if let Some(window) = self.window.get() {
            window.leave();
        }
    }
}

/// How many are read ahead at a time.
pub(crate) struct Window {
    room: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Window {
    pub(crate) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self { room: Mutex::new(Some(room)), changed: Condvar::new() })
    }

    /// Waits for room and takes it, or says that nobody needs anything any more.
    fn enter(&self) -> bool {
        let mut room = lock(&self.room);
        while *room == Some(0) {
            room = self.changed.wait(room).unwrap_or_else(PoisonError::into_inner);
        }
        room.as_mut().map(|room| *room -= 1).is_some()
    }

    fn leave(&self) {
        if let Some(room) = lock(&self.room).as_mut() {
            *room += 1;
        }
        self.changed.notify_all();
    }

    /// Lets whoever reads ahead end.
    pub(crate) fn close(&self) {
        *lock(&self.room) = None;
        self.changed.notify_all();
    }
}

/// Reads one after the other, as far ahead as the window allows, until it is closed. What somebody
/// else has dropped in the meantime is not read. Whoever needs what could not be read tries again
/// and learns why.
pub(crate) fn read_ahead(shelves: Vec<Weak<Shelved>>, source: Source<'_>, window: &Arc<Window>) {
    for shelf in shelves {
        if !window.enter() {
            return;
        }
        match shelf.upgrade() {
            Some(shelf) if shelf.is_stored() => {
                let _ = shelf.window.set(Arc::clone(window));
                let _ = shelf.slabs(Some(source));
            }
            _ => window.leave(),
        }
    }
}

/// A slab that waits to be used again.
pub(crate) enum Kept {
    Memory(Slab),
    /// With the checksum of its bytes.
    Stored(Place, u32),
}

/// What reads slabs back.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) volume: &'a Arc<Volume>,
    pub(crate) io: &'a IoOptions,
    pub(crate) arena: &'a Arena,
}

impl Shelved {
    /// Slabs, wherever they are.
    pub(crate) fn new(slabs: Vec<Kept>) -> Self {
        let (slabs, kept) = (OnceLock::new(), Mutex::new(slabs));
        let (read, apart, window) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { kept, slabs, read, apart, window }
    }

    /// Whether there is something to be read.
    pub(crate) fn is_stored(&self) -> bool {
        lock(&self.kept).iter().any(|kept| matches!(kept, Kept::Stored(..)))
    }

    /// Bytes that reading it all would take, or has taken.
    pub(crate) fn bytes(&self) -> u64 {
        lock(&self.kept).len() as u64 * SLAB_BYTES as u64
    }

    /// Leaves all slabs where they are: they will be asked for by [`Self::apart`].
    pub(crate) fn leave(&self) {
        let _ = self.apart.set(std::mem::take(&mut lock(&self.kept)));
    }

    /// Slabs that were left where they are, if this was said of them.
    pub(crate) fn apart(&self) -> Option<&[Kept]> {
        self.apart.get().map(Vec::as_slice)
    }

    /// The slabs, read where they were stored. Who asks while another reads them waits.
    pub(crate) fn slabs(&self, source: Option<Source<'_>>) -> Result<&[Slab], EngineError> {
        if let Some(slabs) = self.slabs.get() {
            return Ok(slabs);
        }
        let mut kept = lock(&self.kept);
        if let Some(slabs) = self.slabs.get() {
            return Ok(slabs);
        }
        let (slabs, read) = load(&mut kept, source)?;
        read.map(|read| self.read.set(read));
        Ok(self.slabs.get_or_init(|| slabs))
    }
}

/// Reads what is stored; takes what is in memory once nothing can fail any more.
fn load(
    kept: &mut Vec<Kept>,
    source: Option<Source<'_>>,
) -> Result<(Vec<Slab>, Option<ReadBack>), EngineError> {
    let mut read: Vec<Option<Slab>> = Vec::new();
    read.resize_with(kept.len(), || None);
    let mut stored = Vec::new();
    for (number, kept) in kept.iter().enumerate() {
        if let Kept::Stored(place, checksum) = kept {
            stored.push((number, *place, *checksum));
        }
    }
    let mut back = source.map(|source| source.arena.read_back());
    if let (Some(source), Some(back), false) = (source, &mut back, stored.is_empty()) {
        let mut queue = Queue::reading(source.io, DEPTH)?;
        let mut next = stored.iter().enumerate();
        loop {
            if queue.in_flight() < DEPTH
                && let Some((tag, &(_, place, _))) = next.next()
            {
                queue.read(source.volume, place, back.take()?, tag as u64)?;
                continue;
            }
            let Some(done) = queue.wait()? else { break };
            let (number, place, checksum) = stored[done.tag as usize];
            if checksum::of(&done.memory.bytes()[..place.bytes as usize]) != checksum {
                let error = source.volume.damaged(place, "binned edges are not what was written");
                return Err(error.into());
            }
            read[number] = Some(done.memory);
        }
    }
    let slabs = kept.drain(..).zip(read).filter_map(|(kept, read)| match kept {
        Kept::Memory(slab) => Some(slab),
        Kept::Stored(..) => read,
    });
    Ok((slabs.collect(), back))
}

#[cfg(test)]
mod tests {
    use welter_store::io::{Call, Fault, Faults};

    use super::*;

    #[test]
    fn a_pace_is_measured_where_it_makes_a_difference() {
        let storage = |faults: Option<&Arc<Faults>>| Storage {
            directories: vec![std::env::temp_dir()],
            io: IoOptions { faults: faults.cloned(), ..IoOptions::default() },
        };
        let arena = Arena::default();
        let pace = storage(None).pace(SAMPLE_BYTES + 1, 2, &arena).unwrap();
        assert!(pace.read < u64::MAX && pace.write < u64::MAX, "{pace:?}");
        let none = Faults::from(Call::Create, 1, Fault::Errno(5));
        assert_eq!(storage(Some(&none)).pace(SAMPLE_BYTES, 2, &arena).unwrap().read, u64::MAX);
        for (call, code) in [(Call::Create, 73), (Call::Write, 74), (Call::Read, 74)] {
            let faults = Faults::from(call, 1, Fault::Errno(5));
            let error = storage(Some(&faults)).pace(SAMPLE_BYTES + 1, 2, &arena).unwrap_err();
            assert_eq!(error.exit_code(), code, "{call:?}: {error}");
        }
    }
}
