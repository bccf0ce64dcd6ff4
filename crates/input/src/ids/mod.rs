//! From ids to slots: which form of [`IdMap`] a graph gets, and the mapping of its edges.
//!
//! Invariant: slots ascend in the order of the ids (integers by value, names by bytes), for any
//! number of threads and any order of the edges. Tested by `integers_get_the_same_slots` and
//! `names_get_the_same_slots`.

mod behind;
mod bitmap;
mod declared;
mod finish;
mod id_mapping;
mod keys;
mod lookup;
mod memory_estimate;
pub(crate) mod merging;
mod runs;
mod shards;
pub(crate) mod shared;
pub(crate) mod sides;
mod spilled;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_model::edges::{EdgeList, Pair};
use welter_model::ids::{IdMap, Names};
use welter_progress::Progress;

use self::bitmap::Bitmap;
pub use self::finish::Finished;
use self::finish::{go_on, non_compact, too_many};
pub(crate) use self::id_mapping::is_dense;
use self::id_mapping::{Described, IdCheck, IdMapping, choose, max};
use self::shards::{Shards, Spread};
use self::spilled::Mapping;
use crate::collect::{CollectedParts, Collector, Ids, PlacedRun, SLOTS_MAX};
use crate::error::InputError;
use crate::temp::TempFiles;
use crate::temp::parts::Spilled;

impl Collector {
    /// Ends the reading: maps ids to slots where they are not dense enough to be slots themselves.
    ///
    /// # Errors
    /// When there is no edge and no stated vertex, when an id is none of the stated vertices of
    /// its source or not below `vertices`, when parts with and without weights or with integers
    /// and names are mixed, when there are too many ids for 32-bit slots or for the memory that
    /// may be used, when temporary files cannot be written or read, or when `progress` is
    /// cancelled.
    pub fn finish(
        self,
        vertices: Option<u64>,
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<Finished, InputError> {
        self.check_kinds()?;
        let gathered = self.gathered();
        let Some(largest) = gathered.largest else {
            return gathered.finish(vertices, pool, progress);
        };
        if vertices.is_some() {
            let what = "a number of vertices is of one kind, and sources and targets are two; \
                        list them with --vertices-from and --target-vertices-from";
            return Err(InputError::Options { what: what.to_owned() });
        }
        let added = largest.added()?;
        let apart = pool.install(|| gathered.put_apart(added))?;
        let finished = apart.finish(None, pool, progress)?;
        Ok(Finished { ids: sides::parted(finished.ids, added), ..finished })
    }

    /// Finishes as a list, where no part went to a file.
    #[cfg(test)]
    pub(crate) fn finish_list(
        self,
        vertices: Option<u64>,
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<(EdgeList, IdMap), InputError> {
        let CollectedParts { files, parts, stated, named, memory_bytes_max, .. } = self.gathered();
        let foreign =
            |stating: &[usize], known: IdCheck<'_>| refuse_foreign(&parts, stating, &files, known);
        let decide = || choose(&parts, stated, vertices, &files, memory_bytes_max, &foreign);
        let way = pool.install(decide)?.naming(named);
        pool.install(|| listed(parts, way, progress))
    }
}

impl CollectedParts {
    /// Maps ids to slots; see [`Collector::finish`].
    fn finish(
        self,
        vertices: Option<u64>,
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<Finished, InputError> {
        let Self {
            files,
            parts,
            stated,
            largest,
            named,
            memory_bytes_max,
            directories,
            spilled,
            ..
        } = self;
        let mapping = |scratch, parts| Mapping {
            files: &files,
            scratch,
            parts,
            allowed_bytes: memory_bytes_max.unwrap_or(u64::MAX),
            pool,
            progress,
        };
        if let Some((scratch, parts)) = spilled {
            let mapping = mapping(scratch, parts);
            let foreign =
                |stating: &[usize], known: IdCheck<'_>| mapping.refuse_foreign(stating, known);
            let decide = || match largest {
                Some(_) => sides::choose(&mapping.parts, stated, &files, memory_bytes_max),
                None => {
                    choose(&mapping.parts, stated, vertices, &files, memory_bytes_max, &foreign)
                }
            };
            let way = pool.install(decide)?.naming(named);
            return mapping.finish(way);
        }
        let foreign =
            |stating: &[usize], known: IdCheck<'_>| refuse_foreign(&parts, stating, &files, known);
        let decide = || match largest {
            Some(_) => sides::choose(&parts, stated, &files, memory_bytes_max),
            None => choose(&parts, stated, vertices, &files, memory_bytes_max, &foreign),
        };
        let way = pool.install(decide)?.naming(named);
        finished(parts, way, (&directories, memory_bytes_max), mapping, (pool, progress))
    }
}

/// Edges and ids of parts in memory, by way of temporary files where there are directories for
/// these and mapping takes more bytes than are allowed.
fn finished<'m>(
    parts: Vec<PlacedRun>,
    way: IdMapping,
    (directories, memory_bytes_max): (&[PathBuf], Option<u64>),
    mapping: impl FnOnce(TempFiles, Vec<Spilled>) -> Mapping<'m>,
    (pool, progress): (&ThreadPool, &Progress),
) -> Result<Finished, InputError> {
    if !directories.is_empty()
        && let Some(allowed) = memory_bytes_max
    {
        let room = allowed.saturating_sub(bytes_of(&parts));
        if !pool.install(|| memory_estimate::fits(&parts, &way, room)) {
            let (scratch, parts) = write(parts, directories, pool, progress)?;
            return mapping(scratch, parts).finish(way);
        }
    }
    let (edges, ids) = pool.install(|| listed(parts, way, progress))?;
    Ok(Finished { edges: Box::new(edges), ids, scratch_bytes: 0 })
}

fn bytes_of(parts: &[PlacedRun]) -> u64 {
    parts.iter().map(|placed| placed.part.bytes()).sum()
}

/// Writes parts to temporary files.
fn write(
    parts: Vec<PlacedRun>,
    directories: &[PathBuf],
    pool: &ThreadPool,
    progress: &Progress,
) -> Result<(TempFiles, Vec<Spilled>), InputError> {
    let held = bytes_of(&parts);
    let scratch = TempFiles::make(directories)?;
    let begun = AtomicU64::new(0);
    let spill = |placed: PlacedRun| {
        go_on(progress)?;
        let bytes = placed.part.bytes();
        let done = begun.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let spilled = Spilled::write(&scratch, placed)?;
        scratch.foresee(done, held).map(|()| spilled)
    };
    let spilled: Result<Vec<_>, _> = pool.install(|| parts.into_par_iter().map(spill).collect());
    spilled.map(|spilled| (scratch, spilled))
}

/// Maps ids of parts that are in memory.
fn listed(
    parts: Vec<PlacedRun>,
    way: IdMapping,
    progress: &Progress,
) -> Result<(EdgeList, IdMap), InputError> {
    let mut list = EdgeList::new(None, parts.first().is_some_and(Described::weighted));
    let ids = match way {
        IdMapping::Kept { ids, first, slots } => {
            keep(parts, first, &mut list);
            list.set_slots(slots);
            ids
        }
        IdMapping::Integers(stated) => {
            IdMap::Sparse(map_integers(parts, &stated, &mut list, progress)?)
        }
        IdMapping::NonCompact(named, all) => {
            let ids = map_integers(parts, &named, &mut list, progress)?;
            let (ids, slots) = non_compact(ids, all)?;
            list.set_slots(slots);
            ids
        }
        IdMapping::Names(stated) => map_names(parts, &stated, &mut list, progress)?,
    };
    Ok((list, ids))
}

impl Described for PlacedRun {
    fn source(&self) -> usize {
        self.source
    }

    fn edges(&self) -> u64 {
        self.part.ids.len() as u64
    }

    fn weighted(&self) -> bool {
        self.part.weights.is_some()
    }

    fn named(&self) -> bool {
        matches!(self.part.ids, Ids::Names { .. })
    }

    fn min(&self) -> u64 {
        match &self.part.ids {
            Ids::Narrow { pairs, .. } => least(pairs).map_or(0, u64::from),
            Ids::Wide { pairs, .. } => least(pairs).unwrap_or(0),
            Ids::Names { .. } => 0,
        }
    }

    fn max(&self) -> u64 {
        self.part.ids.max()
    }
}

/// Refuses edges of a source that states a range of vertices and names others. Readers do so
/// themselves and know the place; this is for what they let through.
fn refuse_foreign(
    parts: &[PlacedRun],
    stating: &[usize],
    files: &[String],
    known: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), InputError> {
    let foreign = |placed: &PlacedRun| match &placed.part.ids {
        Ids::Narrow { pairs, .. } => first_unknown(pairs, known),
        Ids::Wide { pairs, .. } => first_unknown(pairs, known),
        Ids::Names { .. } => None,
    };
    for placed in parts.iter().filter(|placed| stating.contains(&placed.source)) {
        if let Some(id) = foreign(placed) {
            let what = format!("expected only ids that the file states as vertices, found {id}");
            return Err(InputError::content(&files[placed.source], what));
        }
    }
    Ok(())
}

fn first_unknown<I: Copy + Into<u64> + Sync>(
    pairs: &[[I; 2]],
    known: &(dyn Fn(u64) -> bool + Sync),
) -> Option<u64> {
    let unknown = |pair: &[I; 2]| pair.iter().map(|id| (*id).into()).find(|id| !known(*id));
    pairs.par_iter().find_map_first(unknown)
}

/// The smallest id of pairs. A pair is looked at as one: handing out its two ids as work of their
/// own costs thirty times as much as the rest.
fn least<I: Copy + Ord + Send + Sync>(pairs: &[[I; 2]]) -> Option<I> {
    pairs.par_iter().map(|[source, target]| *source.min(target)).min()
}

/// Moves parts whose ids are slots once `first` is taken off; those ids are not smaller.
fn keep(parts: Vec<PlacedRun>, first: u64, list: &mut EdgeList) {
    for placed in parts {
        let pairs = match placed.part.ids {
            Ids::Narrow { pairs, .. } if first == 0 => pairs,
            Ids::Narrow { mut pairs, .. } => {
                let first = first as u32;
                pairs.par_iter_mut().for_each(|pair| *pair = pair.map(|id| id - first));
                pairs
            }
            Ids::Wide { pairs, .. } => {
                pairs.par_iter().map(|pair| pair.map(|id| (id - first) as u32)).collect()
            }
            Ids::Names { pairs, .. } => pairs,
        };
        list.push(pairs, placed.part.weights.unwrap_or_default());
    }
}

/// Edges that are mapped at once.
const BATCH_EDGES: usize = 32 << 10;

/// Numbers the ids of all edges and of stated vertices, which are ascending.
fn map_integers(
    parts: Vec<PlacedRun>,
    stated: &[u64],
    list: &mut EdgeList,
    progress: &Progress,
) -> Result<Vec<u64>, InputError> {
    let edges: u64 = parts.iter().map(|placed| placed.part.ids.len() as u64).sum();
    let max = max(&parts).max(stated.last().copied().unwrap_or(0));
    let ids = if let Some(bitmap) = Bitmap::new(max, edges + stated.len() as u64) {
        stated.par_iter().for_each(|id| bitmap.add(*id));
        for placed in &parts {
            go_on(progress)?;
            match &placed.part.ids {
                Ids::Narrow { pairs, .. } => mark(&bitmap, pairs),
                Ids::Wide { pairs, .. } => mark(&bitmap, pairs),
                Ids::Names { .. } => {}
            }
        }
        let ranks = bitmap.into_ranks(SLOTS_MAX as usize).map_err(too_many)?;
        map(parts, list, progress, |id| ranks.of(id))?;
        ranks.ids()
    } else {
        let mut shards = Shards::new();
        stated.par_chunks(BATCH_EDGES).for_each_init(Spread::default, |spread, ids| {
            shards.add(ids.iter().copied(), spread);
        });
        for placed in &parts {
            go_on(progress)?;
            match &placed.part.ids {
                Ids::Narrow { pairs, .. } => add(&shards, pairs),
                Ids::Wide { pairs, .. } => add(&shards, pairs),
                Ids::Names { .. } => {}
            }
        }
        let ids = shards.number(SLOTS_MAX as usize).map_err(too_many)?;
        let slots = shards.into_numbers();
        map(parts, list, progress, |id| slots.of(id))?;
        ids
    };
    list.set_slots(ids.len() as u64);
    Ok(ids)
}

/// Puts slots in the place of ids, part by part, and frees each part that it has mapped.
fn map(
    parts: Vec<PlacedRun>,
    list: &mut EdgeList,
    progress: &Progress,
    slot: impl Fn(u64) -> u32 + Sync,
) -> Result<(), InputError> {
    for placed in parts {
        go_on(progress)?;
        let pairs: Vec<Pair> = match placed.part.ids {
            Ids::Narrow { mut pairs, .. } => {
                pairs.par_iter_mut().for_each(|pair| *pair = pair.map(|id| slot(id.into())));
                pairs
            }
            Ids::Wide { pairs, .. } => pairs.par_iter().map(|pair| pair.map(&slot)).collect(),
            Ids::Names { pairs, .. } => pairs,
        };
        list.push(pairs, placed.part.weights.unwrap_or_default());
    }
    Ok(())
}

/// Marks the ids of edges.
fn mark<I: Copy + Into<u64> + Sync>(bitmap: &Bitmap, pairs: &[[I; 2]]) {
    pairs.par_iter().flatten_iter().for_each(|id| bitmap.add((*id).into()));
}

/// Adds the ids of edges. Many files list the edges of a vertex together, so an id that stood in
/// the same column just before is left out at once.
fn add<I: Copy + PartialEq + Into<u64> + Sync>(shards: &Shards<u64>, pairs: &[[I; 2]]) {
    pairs.par_chunks(BATCH_EDGES).for_each_init(Spread::default, |spread, pairs| {
        for column in 0..2 {
            let mut last = None;
            let changed = pairs.iter().filter_map(|pair| {
                let id = pair[column];
                (last.replace(id) != Some(id)).then(|| id.into())
            });
            shards.add(changed, spread);
        }
    });
}

/// Numbers the names of all edges and of stated vertices.
fn map_names(
    parts: Vec<PlacedRun>,
    stated: &[Names],
    list: &mut EdgeList,
    progress: &Progress,
) -> Result<IdMap, InputError> {
    let mut dictionaries = Vec::with_capacity(parts.len());
    let mut edges = Vec::with_capacity(parts.len());
    for placed in parts {
        if let Ids::Names { names, pairs } = placed.part.ids {
            dictionaries.push(names);
            edges.push((pairs, placed.part.weights));
        }
    }
    let mut shards: Shards<&str> = Shards::new();
    let all = dictionaries.par_iter().chain(stated);
    all.try_for_each_init(Spread::default, |spread, names| {
        shards.add(names.iter(), spread);
        go_on(progress)
    })?;
    let sorted = shards.number(SLOTS_MAX as usize).map_err(too_many)?;
    let slots = shards.into_numbers();
    let places: Vec<Vec<u32>> = dictionaries
        .par_iter()
        .map(|names| {
            go_on(progress)?;
            Ok(names.iter().map(|name| slots.of(name)).collect())
        })
        .collect::<Result<_, InputError>>()?;
    drop(slots);
    let mut names = Names::with_capacity(sorted.len(), sorted.iter().map(|name| name.len()).sum());
    for name in &sorted {
        names.push(name);
    }
    drop(sorted);
    drop(dictionaries);
    for ((mut pairs, weights), places) in edges.into_iter().zip(places) {
        go_on(progress)?;
        pairs.par_iter_mut().for_each(|pair| *pair = pair.map(|place| places[place as usize]));
        list.push(pairs, weights.unwrap_or_default());
    }
    list.set_slots(names.len() as u64);
    Ok(IdMap::Names(names))
}

#[cfg(test)]
mod tests;
