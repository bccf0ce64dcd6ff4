//! From ids to slots: which form of [`IdMap`] a graph gets, and the mapping of its edges.
//!
//! Invariant: slots ascend in the order of the ids (integers by value, names by bytes), for any
//! number of threads and any order of the edges.

mod bitmap;
mod shards;

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_model::edges::{EdgeList, Pair};
use welter_model::ids::{IdMap, Names};

use self::bitmap::Bitmap;
use self::shards::{Shards, Spread};
use crate::collect::{Collector, Ids, Placed};
use crate::error::InputError;

/// Slots must be fewer than 2^32, so that a pair of them takes eight bytes.
const SLOTS_MAX: u64 = u32::MAX as u64;

impl Collector {
    /// Ends the reading: maps ids to slots where they are not dense enough to be slots themselves.
    ///
    /// # Errors
    /// When there is no edge and no declared number of vertices, when an id is not below that
    /// number, when parts with and without weights or with integers and names are mixed, or when
    /// there are too many ids for 32-bit slots.
    pub fn finish(
        self,
        vertices: Option<u64>,
        pool: &ThreadPool,
    ) -> Result<(EdgeList, IdMap), InputError> {
        let (parts, files) = self.into_parts();
        let weighted = weighted(&parts, &files)?;
        if let Some(vertices) = vertices.filter(|vertices| *vertices > SLOTS_MAX) {
            let what = format!("{vertices} vertices are more than the {SLOTS_MAX} that fit");
            return Err(InputError::Options { what });
        }
        let mut list = EdgeList::new(vertices, weighted);
        let ids = if parts.is_empty() {
            no_edges(vertices, &files)?
        } else if names(&parts, &files)? {
            if vertices.is_some() {
                let what = "a number of vertices goes with integer ids, and these are names";
                return Err(InputError::Options { what: what.to_owned() });
            }
            pool.install(|| map_names(parts, &mut list))?
        } else if let Some(vertices) = vertices {
            declared(parts, &files, vertices, &mut list)?;
            IdMap::Declared
        } else if dense(&parts) {
            let max = parts.iter().map(|placed| max(&placed.part.ids)).max().unwrap_or(0);
            keep(parts, &mut list);
            list.set_slots(max + 1);
            IdMap::Same
        } else {
            pool.install(|| map_integers(parts, &mut list))?
        };
        Ok((list, ids))
    }
}

fn no_edges(vertices: Option<u64>, files: &[String]) -> Result<IdMap, InputError> {
    if vertices.is_some() {
        return Ok(IdMap::Declared);
    }
    let names = files.join(", ");
    let what = if files.is_empty() { String::new() } else { names + ": " };
    let what = what + "expected edges, found none";
    Err(InputError::Inputs { what })
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

/// Whether all parts have names, or none has.
fn names(parts: &[Placed], files: &[String]) -> Result<bool, InputError> {
    let named = |placed: &Placed| matches!(placed.part.ids, Ids::Names { .. });
    let first = named(&parts[0]);
    match parts.iter().find(|placed| named(placed) != first) {
        None => Ok(first),
        Some(other) => {
            let (a, b) = (&files[parts[0].source], &files[other.source]);
            let (a, b) = if first { (a, b) } else { (b, a) };
            let what = format!("{a} has names as ids and {b} integers; read all as names");
            Err(InputError::Inputs { what })
        }
    }
}

fn max(ids: &Ids) -> u64 {
    match ids {
        Ids::Narrow { max, .. } => u64::from(*max),
        Ids::Wide { max, .. } => *max,
        Ids::Names { .. } => 0,
    }
}

/// Whether ids are near enough to `0..vertices` to be slots as they are: at most 8 slots an edge,
/// so that arrays over slots stay in proportion to the edges.
fn dense(parts: &[Placed]) -> bool {
    let edges: u64 = parts.iter().map(|placed| placed.part.ids.len() as u64).sum();
    let max = parts.iter().map(|placed| max(&placed.part.ids)).max().unwrap_or(0);
    is_dense(max, edges)
}

/// Whether ids up to `max` can be the slots of so many edges.
pub(crate) fn is_dense(max: u64, edges: u64) -> bool {
    max < edges.saturating_mul(8).saturating_add(1024) && max < SLOTS_MAX
}

/// Moves parts whose ids are slots as they are.
fn keep(parts: Vec<Placed>, list: &mut EdgeList) {
    for placed in parts {
        let pairs = match placed.part.ids {
            Ids::Narrow { pairs, .. } | Ids::Names { pairs, .. } => pairs,
            Ids::Wide { pairs, .. } => {
                pairs.into_iter().map(|[source, target]| [source as u32, target as u32]).collect()
            }
        };
        list.push(pairs, placed.part.weights.unwrap_or_default());
    }
}

fn declared(
    parts: Vec<Placed>,
    files: &[String],
    vertices: u64,
    list: &mut EdgeList,
) -> Result<(), InputError> {
    for placed in &parts {
        let max = max(&placed.part.ids);
        if max >= vertices {
            let what = format!("expected vertex ids below {vertices}, found {max}");
            return Err(InputError::content(&files[placed.source], what));
        }
    }
    keep(parts, list);
    Ok(())
}

/// Edges that are mapped at once.
const BATCH_EDGES: usize = 32 << 10;

fn map_integers(parts: Vec<Placed>, list: &mut EdgeList) -> Result<IdMap, InputError> {
    let edges = parts.iter().map(|placed| placed.part.ids.len() as u64).sum();
    let max = parts.iter().map(|placed| max(&placed.part.ids)).max().unwrap_or(0);
    let ids = if let Some(bitmap) = Bitmap::new(max, edges) {
        for placed in &parts {
            match &placed.part.ids {
                Ids::Narrow { pairs, .. } => mark(&bitmap, pairs),
                Ids::Wide { pairs, .. } => mark(&bitmap, pairs),
                Ids::Names { .. } => {}
            }
        }
        let ranks = bitmap.into_ranks(SLOTS_MAX as usize).map_err(too_many)?;
        map(parts, list, |id| ranks.of(id));
        ranks.ids()
    } else {
        let mut shards = Shards::new();
        for placed in &parts {
            match &placed.part.ids {
                Ids::Narrow { pairs, .. } => add(&shards, pairs),
                Ids::Wide { pairs, .. } => add(&shards, pairs),
                Ids::Names { .. } => {}
            }
        }
        let ids = shards.number(SLOTS_MAX as usize).map_err(too_many)?;
        let slots = shards.into_numbers();
        map(parts, list, |id| slots.of(id));
        ids
    };
    list.set_slots(ids.len() as u64);
    Ok(IdMap::Sparse(ids))
}

/// Puts slots in the place of ids, part by part, and frees each part that it has mapped.
fn map(parts: Vec<Placed>, list: &mut EdgeList, slot: impl Fn(u64) -> u32 + Sync) {
    for placed in parts {
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

fn map_names(parts: Vec<Placed>, list: &mut EdgeList) -> Result<IdMap, InputError> {
    let mut dictionaries = Vec::with_capacity(parts.len());
    let mut edges = Vec::with_capacity(parts.len());
    for placed in parts {
        if let Ids::Names { names, pairs } = placed.part.ids {
            dictionaries.push(names);
            edges.push((pairs, placed.part.weights));
        }
    }
    let mut shards: Shards<&str> = Shards::new();
    dictionaries.par_iter().for_each_init(Spread::default, |spread, names| {
        shards.add(names.iter(), spread);
    });
    let sorted = shards.number(SLOTS_MAX as usize).map_err(too_many)?;
    let slots = shards.into_numbers();
    let places: Vec<Vec<u32>> = dictionaries
        .par_iter()
        .map(|names| names.iter().map(|name| slots.of(name)).collect())
        .collect();
    drop(slots);
    let names: Names = sorted.into_iter().collect();
    drop(dictionaries);
    for ((mut pairs, weights), places) in edges.into_iter().zip(places) {
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
