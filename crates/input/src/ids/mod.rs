//! From ids to slots: which form of [`IdMap`] a graph gets, and the mapping of its edges.
//!
//! Invariant: slots ascend in the order of the ids (integers by value, names by bytes), for any
//! number of threads and any order of the edges.

mod bitmap;
mod shards;
mod stated;

use std::ops::Range;

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_model::edges::{EdgeList, Pair};
use welter_model::ids::{IdMap, Names};
use welter_progress::Progress;

use self::bitmap::Bitmap;
use self::shards::{Shards, Spread};
use self::stated::{Vertices, mixed};
use crate::collect::{Collector, Gathered, Ids, Placed, SLOTS_MAX, Stated};
use crate::error::InputError;

impl Collector {
    /// Ends the reading: maps ids to slots where they are not dense enough to be slots themselves.
    ///
    /// # Errors
    /// When there is no edge and no stated vertex, when an id is none of the stated vertices of
    /// its source or not below `vertices`, when parts with and without weights or with integers
    /// and names are mixed, when there are too many ids for 32-bit slots, or
    /// when `progress` is cancelled.
    pub fn finish(
        self,
        vertices: Option<u64>,
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<(EdgeList, IdMap), InputError> {
        let Gathered { files, parts, stated, memory_bytes_max } = self.gathered();
        let mut list = EdgeList::new(vertices, weighted(&parts, &files)?);
        let ranged = |stated: &Stated| matches!(stated, Stated::Range { .. });
        let stating: Vec<usize> =
            stated.iter().filter(|(_, said)| ranged(said)).map(|(source, _)| *source).collect();
        let stated = pool.install(|| stated::merge(stated, &files, memory_bytes_max))?;
        let named = names(&parts, &files, &stated)?;
        if let Some(vertices) = vertices {
            check_declared(vertices, named, &stated)?;
            declared(parts, &files, vertices, &mut list)?;
            return Ok((list, IdMap::Declared));
        }
        if parts.is_empty() && stated.none() {
            return Err(no_edges(&files));
        }
        let ids = pool.install(|| match stated {
            Vertices::Names(stated) => map_names(parts, &stated, &mut list, progress),
            _ if named => map_names(parts, &[], &mut list, progress),
            Vertices::Range(range) if within(&parts, &range) => Ok(shift(parts, range, &mut list)),
            Vertices::Range(range) => {
                refuse_foreign(&parts, &stating, &files, &|id| range.contains(&id))?;
                stated::list_fits(range.end - range.start, &files, memory_bytes_max)?;
                map_integers(parts, &range.collect::<Vec<_>>(), &mut list, progress)
            }
            Vertices::Integers(stated) => {
                let known = |id| stated.binary_search(&id).is_ok();
                refuse_foreign(&parts, &stating, &files, &known)?;
                map_integers(parts, &stated, &mut list, progress)
            }
            Vertices::Unstated if dense(&parts) => {
                let max = parts.iter().map(|placed| placed.part.ids.max()).max().unwrap_or(0);
                keep(parts, 0, &mut list);
                list.set_slots(max + 1);
                Ok(IdMap::Same)
            }
            Vertices::Unstated => map_integers(parts, &[], &mut list, progress),
        })?;
        Ok((list, ids))
    }
}

/// Refuses a number of vertices from the user that cannot be.
fn check_declared(vertices: u64, named: bool, stated: &Vertices) -> Result<(), InputError> {
    let refuse = |what| Err(InputError::Options { what });
    let last = match stated {
        Vertices::Range(range) => range.end.checked_sub(1),
        Vertices::Integers(ids) => ids.last().copied(),
        Vertices::Unstated | Vertices::Names(_) => None,
    };
    match last {
        _ if vertices > SLOTS_MAX => {
            refuse(format!("{vertices} vertices are more than the {SLOTS_MAX} that fit"))
        }
        _ if named => {
            let what = "a number of vertices goes with integer ids, and these are names";
            refuse(what.to_owned())
        }
        Some(last) if last >= vertices => refuse(format!(
            "the input states its vertices, up to {last}; a number of {vertices} vertices, \
             which are those below it, leaves some out"
        )),
        _ => Ok(()),
    }
}

fn no_edges(files: &[String]) -> InputError {
    let names = files.join(", ");
    let what = if files.is_empty() { String::new() } else { names + ": " };
    let what = what + "expected edges, found none";
    InputError::Inputs { what }
}

/// Whether the ids of all edges lie in a range.
fn within(parts: &[Placed], range: &Range<u64>) -> bool {
    parts.iter().all(|placed| {
        placed.part.ids.max() < range.end
            && (range.start == 0 || min(&placed.part.ids) >= range.start)
    })
}

/// Refuses edges of a source that states a range of vertices and names others. Readers do so
/// themselves and know the place; this is for what they let through.
fn refuse_foreign(
    parts: &[Placed],
    stating: &[usize],
    files: &[String],
    known: &(dyn Fn(u64) -> bool + Sync),
) -> Result<(), InputError> {
    let foreign = |placed: &Placed| match &placed.part.ids {
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

/// Whether all parts have weights, or none has.
fn weighted(parts: &[Placed], files: &[String]) -> Result<bool, InputError> {
    let first = parts.first().is_some_and(|placed| placed.part.weights.is_some());
    match parts.iter().find(|placed| placed.part.weights.is_some() != first) {
        None => Ok(first),
        Some(other) => {
            let (with, without) =
                if first { (parts[0].source, other.source) } else { (other.source, 0) };
            let what = format!("{} has weights and {} has none", files[with], files[without]);
            Err(InputError::Inputs { what })
        }
    }
}

/// Whether ids are names: those of all edges and stated vertices, or of none.
fn names(parts: &[Placed], files: &[String], stated: &Vertices) -> Result<bool, InputError> {
    let named = |placed: &Placed| matches!(placed.part.ids, Ids::Names { .. });
    let first = parts.first().map(named);
    if let Some(other) = parts.iter().find(|placed| Some(named(placed)) != first) {
        let (a, b) = (&files[parts[0].source], &files[other.source]);
        return Err(if first == Some(true) { mixed(a, b) } else { mixed(b, a) });
    }
    let vertices = match stated {
        Vertices::Unstated => return Ok(first == Some(true)),
        Vertices::Names(_) => true,
        Vertices::Range(_) | Vertices::Integers(_) => false,
    };
    match first {
        Some(first) if first != vertices => {
            let what = "some inputs have names as ids and others integers; read all as names";
            Err(InputError::Inputs { what: what.to_owned() })
        }
        _ => Ok(vertices),
    }
}

/// The smallest id of pairs. A pair is looked at as one: handing out its two ids as work of their
/// own costs thirty times as much as the rest.
fn least<I: Copy + Ord + Send + Sync>(pairs: &[[I; 2]]) -> Option<I> {
    pairs.par_iter().map(|[source, target]| *source.min(target)).min()
}

/// The smallest id, 0 where there is none.
fn min(ids: &Ids) -> u64 {
    match ids {
        Ids::Narrow { pairs, .. } => least(pairs).map_or(0, u64::from),
        Ids::Wide { pairs, .. } => least(pairs).unwrap_or(0),
        Ids::Names { .. } => 0,
    }
}

/// Whether ids are near enough to `0..vertices` to be slots as they are: at most 8 slots an edge,
/// so that arrays over slots stay in proportion to the edges.
fn dense(parts: &[Placed]) -> bool {
    let edges: u64 = parts.iter().map(|placed| placed.part.ids.len() as u64).sum();
    let max = parts.iter().map(|placed| placed.part.ids.max()).max().unwrap_or(0);
    is_dense(max, edges)
}

/// Whether ids up to `max` can be the slots of so many edges.
pub(crate) fn is_dense(max: u64, edges: u64) -> bool {
    max < edges.saturating_mul(8).saturating_add(1024) && max < SLOTS_MAX
}

/// Moves parts whose ids are slots once `first` is taken off; those ids are not smaller.
fn keep(parts: Vec<Placed>, first: u64, list: &mut EdgeList) {
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

/// Makes slots of ids that lie in a range, all of which are vertices.
fn shift(parts: Vec<Placed>, range: Range<u64>, list: &mut EdgeList) -> IdMap {
    keep(parts, range.start, list);
    list.set_slots(range.end - range.start);
    if range.start == 0 { IdMap::Declared } else { IdMap::Offset(range.start) }
}

fn declared(
    parts: Vec<Placed>,
    files: &[String],
    vertices: u64,
    list: &mut EdgeList,
) -> Result<(), InputError> {
    for placed in &parts {
        let max = placed.part.ids.max();
        if max >= vertices {
            let what = format!("expected vertex ids below {vertices}, found {max}");
            return Err(InputError::content(&files[placed.source], what));
        }
    }
    keep(parts, 0, list);
    Ok(())
}

/// Edges that are mapped at once.
const BATCH_EDGES: usize = 32 << 10;

/// Ends a run that is to end. Steps over one part are not ended in their middle.
fn go_on(progress: &Progress) -> Result<(), InputError> {
    if progress.cancelled() { Err(InputError::Cancelled) } else { Ok(()) }
}

/// Numbers the ids of all edges and of stated vertices, which are ascending.
fn map_integers(
    parts: Vec<Placed>,
    stated: &[u64],
    list: &mut EdgeList,
    progress: &Progress,
) -> Result<IdMap, InputError> {
    let edges: u64 = parts.iter().map(|placed| placed.part.ids.len() as u64).sum();
    let max = parts.iter().map(|placed| placed.part.ids.max()).max().unwrap_or(0);
    let max = max.max(stated.last().copied().unwrap_or(0));
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
    Ok(IdMap::Sparse(ids))
}

/// Puts slots in the place of ids, part by part, and frees each part that it has mapped.
fn map(
    parts: Vec<Placed>,
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
    parts: Vec<Placed>,
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
    let names: Names = sorted.into_iter().collect();
    drop(dictionaries);
    for ((mut pairs, weights), places) in edges.into_iter().zip(places) {
        go_on(progress)?;
        pairs.par_iter_mut().for_each(|pair| *pair = pair.map(|place| places[place as usize]));
        list.push(pairs, weights.unwrap_or_default());
    }
    list.set_slots(names.len() as u64);
    Ok(IdMap::Names(names))
}

fn too_many(count: usize) -> InputError {
    let what = format!("{count} distinct ids are more than the {SLOTS_MAX} that fit");
    InputError::Inputs { what }
}

#[cfg(test)]
mod tests;
