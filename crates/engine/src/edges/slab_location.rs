//! A slab's worth of bytes, in memory or on storage, and the way between the two.
//!
//! A slab is the unit of memory, of reading and of writing alike: half a megabyte, at which
//! devices reach their bandwidth with a few requests in flight. What overflows is written from the
//! slab where it was made and read into a slab again.
//!
//! Invariant: what is read back is what was written: chunks are verified when they are read, bins
//! by the checksum that is kept here. Checked in `slab_location::load` and `ReadAhead::stripe`.
//! Tested by `a_bit_that_is_another_one_is_found`.

use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use welter_store::header::CellId;

use welter_store::checksum;
use welter_store::io::{IoOptions, Place, Queue, Volume};

use crate::EngineError;
use crate::edges::sound::Sound;
use crate::machine::arena::{Arena, ReadBack, SLAB_BYTES, Slab};
use crate::machine::storage::slabs_read;
use crate::machine::sync::lock;

/// Where a slab's worth of chunks lies.
pub(crate) enum SlabLocation {
    /// In memory.
    Memory(Slab),
    /// In a volume.
    Stored(Place),
}

impl SlabLocation {
    /// The bytes, of what is in memory.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(slab) => Some(slab.bytes()),
            Self::Stored(_) => None,
        }
    }
}

/// A chunk, and what can be known of it without reading it.
#[derive(Clone)]
pub(crate) struct ChunkPlace {
    /// Cell that the chunk was written for, which names it should its bytes be damaged.
    pub(crate) cell: CellId,
    pub(crate) number: u32,
    pub(crate) edges: u64,
    pub(crate) tiles: u32,
    /// From the first block of sources of the first tile to the last block of the last one.
    pub(crate) sources: Range<u64>,
    /// Where it lies, together with the chunks before and after it.
    pub(crate) extent: Arc<SlabLocation>,
    /// Bytes of the slab that are the chunk's.
    pub(crate) range: Range<usize>,
    /// Whether its edges are known to lead to vertices.
    pub(crate) sound: Sound,
}

impl ChunkPlace {
    /// The bytes of a chunk in memory; none of one that is not.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.extent.bytes().map_or(&[], |bytes| &bytes[self.range.clone()])
    }
}

/// Slabs of which some are in a volume until they are asked for.
pub(crate) struct SpilledSlabs {
    kept: Mutex<Vec<SpilledSlab>>,
    slabs: OnceLock<Vec<Slab>>,
    /// Counts those that were read.
    read: OnceLock<ReadBack>,
    /// Slabs that stay where they are, because they are too many to be read at once.
    apart: OnceLock<Vec<SpilledSlab>>,
    /// Budget that gets back these slabs when they were read ahead and are free again.
    window: OnceLock<Arc<ReadAheadBudget>>,
}

impl Drop for SpilledSlabs {
    fn drop(&mut self) {
        // The slabs go first, so that who waits for their memory finds it.
        self.slabs.take();
        if let Some(window) = self.window.get() {
            window.leave();
        }
    }
}

/// Number of slabs that are read ahead at a time.
pub(crate) struct ReadAheadBudget {
    room: Mutex<Option<usize>>,
    changed: Condvar,
}

impl ReadAheadBudget {
    pub(crate) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self { room: Mutex::new(Some(room)), changed: Condvar::new() })
    }

    /// Waits for room and takes it, or says that no room is needed any more.
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

    /// Lets the thread that reads ahead end.
    pub(crate) fn close(&self) {
        *lock(&self.room) = None;
        self.changed.notify_all();
    }
}

/// Reads one after the other, as far ahead as the window allows, until it is closed. What another
/// thread has dropped in the meantime is not read. A worker that needs what could not be read tries
/// again and learns why.
pub(crate) fn read_ahead(
    spilled: Vec<Weak<SpilledSlabs>>,
    source: Source<'_>,
    window: &Arc<ReadAheadBudget>,
) {
    for slabs in spilled {
        if !window.enter() {
            return;
        }
        match slabs.upgrade() {
            Some(slabs) if slabs.is_stored() => {
                let _ = slabs.window.set(Arc::clone(window));
                let _ = slabs.slabs(Some(source));
            }
            _ => window.leave(),
        }
    }
}

/// A slab that waits to be used again.
pub(crate) enum SpilledSlab {
    Memory(Slab),
    /// With the checksum of its bytes.
    Stored(Place, u32),
}

/// Volume and arena that slabs are read back with.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) volume: &'a Arc<Volume>,
    pub(crate) io: &'a IoOptions,
    pub(crate) arena: &'a Arena,
}

impl SpilledSlabs {
    /// Slabs, wherever they are.
    pub(crate) fn new(slabs: Vec<SpilledSlab>) -> Self {
        let (slabs, kept) = (OnceLock::new(), Mutex::new(slabs));
        let (read, apart, window) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Self { kept, slabs, read, apart, window }
    }

    /// Whether there is something to be read.
    pub(crate) fn is_stored(&self) -> bool {
        lock(&self.kept).iter().any(|kept| matches!(kept, SpilledSlab::Stored(..)))
    }

    /// Bytes that reading it all would take, or has taken.
    pub(crate) fn bytes(&self) -> u64 {
        lock(&self.kept).len() as u64 * SLAB_BYTES as u64
    }

    /// Leaves all slabs where they are: they will be asked for by [`Self::left_in_place`].
    pub(crate) fn leave(&self) {
        let _ = self.apart.set(std::mem::take(&mut lock(&self.kept)));
    }

    /// Slabs that were left where they are, if this was said of them.
    pub(crate) fn left_in_place(&self) -> Option<&[SpilledSlab]> {
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
    kept: &mut Vec<SpilledSlab>,
    source: Option<Source<'_>>,
) -> Result<(Vec<Slab>, Option<ReadBack>), EngineError> {
    let mut read: Vec<Option<Slab>> = Vec::new();
    read.resize_with(kept.len(), || None);
    let mut stored = Vec::new();
    for (number, kept) in kept.iter().enumerate() {
        if let SpilledSlab::Stored(place, checksum) = kept {
            stored.push((number, *place, *checksum));
        }
    }
    let mut back = source.map(|source| source.arena.read_back());
    if let (Some(source), Some(back), false) = (source, &mut back, stored.is_empty()) {
        let depth = slabs_read(&source.io.requests);
        let mut queue = Queue::reading(source.io, depth)?;
        let mut next = stored.iter().enumerate();
        loop {
            if queue.in_flight() < depth
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
        SpilledSlab::Memory(slab) => Some(slab),
        SpilledSlab::Stored(..) => read,
    });
    Ok((slabs.collect(), back))
}
