//! From ids to slots: which form of [`IdMap`] a graph gets, and the mapping of its edges.
//!
//! Invariant: slots ascend in the order of the ids (integers by value, names by bytes), for any
//! number of threads and any order of the edges.

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_model::edges::{EdgeList, Pair};
use welter_model::ids::{IdMap, Names};

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
    let what = format!("{}: expected edges, found none", files.join(", "));
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
            let what = format!("expected ids below {vertices}, found {max}");
            return Err(InputError::content(&files[placed.source], what));
        }
    }
    keep(parts, list);
    Ok(())
}

fn map_integers(parts: Vec<Placed>, list: &mut EdgeList) -> Result<IdMap, InputError> {
    let distinct: Vec<Vec<u64>> =
        parts.par_iter().map(|placed| distinct(&placed.part.ids)).collect();
    let mut ids = distinct.concat();
    drop(distinct);
    ids.par_sort_unstable();
    ids.dedup();
    check_slots(ids.len())?;
    let slot = |id: u64| ids.partition_point(|other| *other < id) as u32;
    for placed in parts {
        let pairs: Vec<Pair> = match placed.part.ids {
            Ids::Narrow { pairs, .. } => {
                pairs.into_par_iter().map(|pair| pair.map(|id| slot(u64::from(id)))).collect()
            }
            Ids::Wide { pairs, .. } => pairs.into_par_iter().map(|pair| pair.map(slot)).collect(),
            Ids::Names { pairs, .. } => pairs,
        };
        list.push(pairs, placed.part.weights.unwrap_or_default());
    }
    list.set_slots(ids.len() as u64);
    Ok(IdMap::Sparse(ids))
}

fn distinct(ids: &Ids) -> Vec<u64> {
    let mut all: Vec<u64> = match ids {
        Ids::Narrow { pairs, .. } => pairs.iter().flatten().map(|id| u64::from(*id)).collect(),
        Ids::Wide { pairs, .. } => pairs.iter().flatten().copied().collect(),
        Ids::Names { .. } => Vec::new(),
    };
    all.sort_unstable();
    all.dedup();
    all
}

fn map_names(parts: Vec<Placed>, list: &mut EdgeList) -> Result<IdMap, InputError> {
    let mut sorted: Vec<&str> = Vec::new();
    for placed in &parts {
        if let Ids::Names { names, .. } = &placed.part.ids {
            sorted.extend(names.iter());
        }
    }
    sorted.par_sort_unstable();
    sorted.dedup();
    check_slots(sorted.len())?;
    let all: Names = sorted.iter().copied().collect();
    let slots: Vec<Vec<u32>> = parts
        .par_iter()
        .map(|placed| match &placed.part.ids {
            Ids::Names { names, .. } => names
                .iter()
                .map(|name| sorted.partition_point(|other| *other < name) as u32)
                .collect(),
            Ids::Narrow { .. } | Ids::Wide { .. } => Vec::new(),
        })
        .collect();
    drop(sorted);
    for (placed, slots) in parts.into_iter().zip(slots) {
        if let Ids::Names { mut pairs, .. } = placed.part.ids {
            pairs.par_iter_mut().for_each(|pair| *pair = pair.map(|local| slots[local as usize]));
            list.push(pairs, placed.part.weights.unwrap_or_default());
        }
    }
    list.set_slots(all.len() as u64);
    Ok(IdMap::Names(all))
}

fn check_slots(count: usize) -> Result<(), InputError> {
    if count as u64 <= SLOTS_MAX {
        return Ok(());
    }
    let what = format!("{count} distinct ids are more than the {SLOTS_MAX} that fit");
    Err(InputError::Inputs { what })
}
