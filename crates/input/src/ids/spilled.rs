//! The mapping of ids whose edges are on scratch files.
//!
//! Ids that can be slots as they are, or once a number is taken off them, stay as they were
//! written. Other edges are read once to find the distinct ids (a bitmap where that is small, else
//! [`runs`](super::runs), which write each distinct id of a thread's share twice), and once more to
//! be written over, in place, as slots. The ids in order must fit in memory: they are held until
//! results are written. So room on files for them in order is never more than that.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_model::ids::{IdMap, Names};
use welter_progress::Progress;

use super::bitmap::Bitmap;
use super::finish::{Finished, go_on, non_compact, too_many};
use super::id_mapping::{Described, IdMapping, max};
use super::keys::{Keys, order};
use super::lookup::Lookup;
use super::runs::{Distinct, Sorted, Sorter};
use crate::collect::SLOTS_MAX;
use crate::error::InputError;
use crate::temp::TempFiles;
use crate::temp::blob::{Blob, Block, Buffer, Width};
use crate::temp::parts::Spilled;
use crate::temp::stream::SpilledEdges;

/// The least that a thread sorts at once. Little in tests, so that there are several runs.
const ROOM_BYTES_MIN: u64 = if cfg!(test) { 1 << 10 } else { 512 << 10 };
/// Bytes of memory that an integer takes until all edges are mapped: itself, and a lookup.
const INTEGER_BYTES: u64 = 9;

/// The names of a part take `PLACES_TIMES` times their bytes while their places are found: as they
/// are read, as names, and their order with the places.
const PLACES_TIMES: u64 = 4;

impl Described for Spilled {
    fn source(&self) -> usize {
        self.source
    }

    fn edges(&self) -> u64 {
        self.blob.len() as u64
    }

    fn weighted(&self) -> bool {
        self.blob.weighted()
    }

    fn named(&self) -> bool {
        self.blob.ids == Width::Names
    }

    fn min(&self) -> u64 {
        self.blob.min
    }

    fn max(&self) -> u64 {
        self.blob.max
    }
}

/// Edges that are being mapped, and what that may take.
pub(super) struct Mapping<'a> {
    pub(super) files: &'a [String],
    pub(super) scratch: TempFiles,
    /// All parts, in input order.
    pub(super) parts: Vec<Spilled>,
    pub(super) allowed_bytes: u64,
    pub(super) pool: &'a ThreadPool,
    pub(super) progress: &'a Progress,
}

impl Mapping<'_> {
    /// Maps ids.
    pub(super) fn finish(mut self, way: IdMapping) -> Result<Finished, InputError> {
        let (ids, first, slots) = match way {
            IdMapping::Kept { ids, first, slots } => (ids, first, slots),
            IdMapping::Integers(stated) => {
                let ids = self.integers(&stated)?;
                let slots = ids.len() as u64;
                (IdMap::Sparse(ids), 0, slots)
            }
            IdMapping::NonCompact(named, all) => {
                let (ids, slots) = non_compact(self.integers(&named)?, all)?;
                (ids, 0, slots)
            }
            IdMapping::Names(stated) => self.names(&stated)?,
        };
        let scratch_bytes = self.scratch.bytes();
        let blobs: Vec<Blob> = self.parts.into_iter().map(|part| part.blob).collect();
        let edges = Box::new(SpilledEdges::new(self.scratch, blobs, first, slots));
        Ok(Finished { edges, ids, scratch_bytes })
    }

    /// Numbers the ids of all edges and of stated vertices, which are ascending.
    fn integers(&mut self, stated: &[u64]) -> Result<Vec<u64>, InputError> {
        let edges = self.parts.iter().map(Described::edges).sum::<u64>() + stated.len() as u64;
        let max = max(&self.parts).max(stated.last().copied().unwrap_or(0));
        let bitmap_bytes = Bitmap::bytes_for(max, edges).unwrap_or(u64::MAX);
        let bitmap = if bitmap_bytes > self.allowed_bytes / 4 {
            None
        } else {
            self.pool.install(|| Bitmap::new(max, edges))
        };
        match bitmap {
            Some(bitmap) => self.by_bitmap(stated, bitmap, bitmap_bytes),
            None => self.by_runs(stated),
        }
    }

    fn by_bitmap(
        &mut self,
        stated: &[u64],
        bitmap: Bitmap,
        bitmap_bytes: u64,
    ) -> Result<Vec<u64>, InputError> {
        let mark = |buffer: &mut Buffer, part: &Spilled| {
            go_on(self.progress)?;
            each_id(&self.scratch, &part.blob, buffer, &mut |id| {
                bitmap.add(id);
                Ok(())
            })
        };
        for id in stated {
            bitmap.add(*id);
        }
        self.pool.install(|| self.parts.par_iter().try_for_each_init(Buffer::default, mark))?;
        let ranks =
            self.pool.install(|| bitmap.into_ranks(SLOTS_MAX as usize)).map_err(too_many)?;
        self.check_ids(ranks.count(), ranks.count() as u64 * 8 + bitmap_bytes)?;
        self.replace(&|id| ranks.of(id))?;
        Ok(ranks.ids())
    }

    fn by_runs(&mut self, stated: &[u64]) -> Result<Vec<u64>, InputError> {
        let edges = self.parts.iter().map(Described::edges).sum::<u64>();
        let total = 2 * edges + stated.len() as u64;
        let sorted: Sorted<Vec<u64>> = self.distinct(total, |part, sorter, buffer| {
            let Some(part) = part else {
                return stated.iter().try_for_each(|id| sorter.add(id));
            };
            let mut recent = Recent::new();
            each_id(&self.scratch, &part.blob, buffer, &mut |id| {
                if recent.is_new(id) {
                    return sorter.add(&id);
                }
                sorter.skip();
                Ok(())
            })
        })?;
        self.check_ids(sorted.count, sorted.count as u64 * INTEGER_BYTES)?;
        let ids = sorted.load()?;
        let lookup = Lookup::new(&ids);
        self.replace(&|id| lookup.of(id))?;
        Ok(ids)
    }

    /// Numbers the names of all edges and of stated vertices.
    fn names(&mut self, stated: &[Names]) -> Result<(IdMap, u64, u64), InputError> {
        let here = self.parts.iter().map(|part| part.blob.names_len()).sum::<usize>();
        let total = here + stated.iter().map(Names::len).sum::<usize>();
        let sorted: Sorted<Names> = self.distinct(total as u64, |part, sorter, _| match part {
            Some(part) => {
                let names = part.blob.names(&self.scratch)?;
                names.iter().try_for_each(|name| sorter.add(name))
            }
            None => stated.iter().flat_map(Names::iter).try_for_each(|name| sorter.add(name)),
        })?;
        let ids_bytes = (sorted.count * 8 + sorted.text_bytes) as u64;
        let part_bytes = self.parts.iter().map(|part| part.blob.names_bytes()).max().unwrap_or(0);
        let place_bytes = PLACES_TIMES * part_bytes;
        self.check_ids(sorted.count, ids_bytes + place_bytes)?;
        let names = sorted.load()?;
        let (scratch, progress) = (&self.scratch, self.progress);
        // As many parts at a time as fit beside the names.
        let at_once = (self.allowed_bytes - ids_bytes) / place_bytes.max(1);
        let at_once = at_once.clamp(1, self.pool.current_num_threads() as u64) as usize;
        self.pool.install(|| {
            self.parts.chunks_mut(at_once).try_for_each(|parts| {
                parts.par_iter_mut().with_max_len(1).try_for_each_init(
                    Buffer::default,
                    |buffer, part| {
                        go_on(progress)?;
                        let slots = places(&part.blob.names(scratch)?, &names);
                        part.blob.replace(scratch, buffer, &|place| slots[place as usize])
                    },
                )
            })
        })?;
        let slots = names.len() as u64;
        Ok((IdMap::Names(names), 0, slots))
    }

    /// The distinct keys that `add` finds in all parts, and in what is no part, which are `total`
    /// if each counts as often as it comes.
    fn distinct<K, A>(&self, total: u64, add: A) -> Result<Sorted<K>, InputError>
    where
        K: Keys,
        A: Fn(Option<&Spilled>, &mut Sorter<'_, K>, &mut Buffer) -> Result<(), InputError> + Sync,
    {
        let threads = self.pool.current_num_threads() as u64;
        let room = (self.allowed_bytes / 4 / threads).max(ROOM_BYTES_MIN);
        let distinct = Distinct::new(self.scratch.beside()?, room, total);
        let next = AtomicUsize::new(0);
        let work = |_: rayon::BroadcastContext<'_>| {
            let (mut sorter, mut buffer) = (distinct.sorter(), Buffer::default());
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number > self.parts.len() {
                    return sorter.finish();
                }
                go_on(self.progress)?;
                // Ids that are of no part come last.
                add(self.parts.get(number), &mut sorter, &mut buffer)?;
            }
        };
        self.pool.broadcast(work).into_iter().collect::<Result<(), InputError>>()?;
        distinct.merge(self.pool, self.allowed_bytes)
    }

    /// Puts slots in the place of integers.
    fn replace(&mut self, slot: &(dyn Fn(u64) -> u32 + Sync)) -> Result<(), InputError> {
        let (scratch, progress) = (&self.scratch, self.progress);
        self.pool.install(|| {
            self.parts.par_iter_mut().try_for_each_init(Buffer::default, |buffer, part| {
                go_on(progress)?;
                part.blob.replace(scratch, buffer, slot)
            })
        })
    }

    /// Refuses more ids than slots or memory can hold.
    fn check_ids(&self, count: usize, needed_bytes: u64) -> Result<(), InputError> {
        let allowed_bytes = self.allowed_bytes;
        if count as u64 > SLOTS_MAX {
            return Err(too_many(count));
        }
        if needed_bytes <= allowed_bytes {
            return Ok(());
        }
        let file = self.files.join(", ");
        Err(InputError::Ids { file, count: count as u64, needed_bytes, allowed_bytes })
    }

    /// Refuses edges of a source that states a range of vertices and names others. Readers do so
    /// themselves and know the place; this is for what they let through.
    pub(super) fn refuse_foreign(
        &self,
        stating: &[usize],
        known: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<(), InputError> {
        let mut buffer = Buffer::default();
        for part in self.parts.iter().filter(|part| stating.contains(&part.source)) {
            go_on(self.progress)?;
            each_id(&self.scratch, &part.blob, &mut buffer, &mut |id| {
                if known(id) {
                    return Ok(());
                }
                let what =
                    format!("expected only ids that the file states as vertices, found {id}");
                Err(InputError::content(&self.files[part.source], what))
            })?;
        }
        Ok(())
    }
}

/// Visits the ids of a part of integers.
fn each_id(
    scratch: &TempFiles,
    blob: &Blob,
    buffer: &mut Buffer,
    visit: &mut impl FnMut(u64) -> Result<(), InputError>,
) -> Result<(), InputError> {
    for block in 0..blob.blocks() {
        match blob.read(scratch, block, buffer)?.0 {
            Block::Narrow(pairs) => {
                pairs.iter().flatten().try_for_each(|id| visit(u64::from(*id)))?;
            }
            Block::Wide(pairs) => pairs.iter().flatten().try_for_each(|id| visit(*id))?,
        }
    }
    Ok(())
}

/// The places of names in a list that holds them all and ascends.
fn places(names: &Names, all: &Names) -> Vec<u32> {
    let mut places = vec![0; names.len()];
    let mut from = 0;
    for (_, at) in order(names) {
        let name = names.get(at as usize);
        // The next one is most often near.
        let mut step = 1;
        while from + step < all.len() && all.get(from + step) <= name {
            from += step;
            step *= 2;
        }
        let within = step.min(all.len() - from);
        from += super::runs::partition_point(within, |place| all.get(from + place) < name);
        debug_assert_eq!(all.get(from), name, "every name is in the list");
        places[at as usize] = from as u32;
    }
    places
}

/// Ids that were seen a moment ago: most of those of hubs.
struct Recent(Box<[u64]>);

impl Recent {
    const BITS: u32 = 12;

    fn new() -> Self {
        let mut ids = vec![0; 1 << Self::BITS].into_boxed_slice();
        // A place holds an id of another place as long as it has none of its own; 1 is not at 0.
        ids[Self::place(0)] = 1;
        Self(ids)
    }

    fn place(id: u64) -> usize {
        (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - Self::BITS)) as usize
    }

    #[inline]
    fn is_new(&mut self, id: u64) -> bool {
        std::mem::replace(&mut self.0[Self::place(id)], id) != id
    }
}
