//! Form of the [`IdMap`] that a graph gets: what can be decided without looking at its edges, from
//! what is known of parts and of stated vertices.

use std::ops::Range;

use welter_model::ids::{IdMap, Names};

use super::declared::{self, Vertices, mixed};
use crate::collect::{DeclaredVertices, SLOTS_MAX};
use crate::error::InputError;

/// Says which ids are good.
pub(super) type IdCheck<'a> = &'a (dyn Fn(u64) -> bool + Sync + 'a);

/// Refuses edges of some sources that name an id which is not known.
pub(super) type UnknownIdCheck<'a> =
    &'a (dyn Fn(&[usize], IdCheck<'_>) -> Result<(), InputError> + Sync + 'a);

/// Mapping of ids to slots.
pub(super) enum IdMapping {
    /// Ids are slots once `first` is taken off them.
    Kept {
        /// Mapping of slots back to ids.
        ids: IdMap,
        /// The id whose slot is 0.
        first: u64,
        /// Number of slots.
        slots: u64,
    },
    /// By their rank among all integers: those of the edges, and these, which ascend.
    Integers(Vec<u64>),
    /// By their rank among the integers of the edges and these, which ascend. All of the range are
    /// vertices, more than there are slots.
    NonCompact(Vec<u64>, Range<u64>),
    /// By their rank among all names: those of the edges, and these.
    Names(Vec<Names>),
}

impl IdMapping {
    /// Gives vertices that will be asked for slots of their own, though they may have no edges,
    /// where such vertices have none otherwise.
    pub(super) fn naming(self, mut ids: Vec<u64>) -> Self {
        let Self::NonCompact(_, all) = self else { return self };
        ids.retain(|id| all.contains(id));
        ids.sort_unstable();
        ids.dedup();
        Self::NonCompact(ids, all)
    }
}

/// Facts of a part by which ids are mapped, wherever it is.
pub(super) trait Described {
    /// Number of its source.
    fn source(&self) -> usize;
    /// Number of edges.
    fn edges(&self) -> u64;
    fn weighted(&self) -> bool;
    fn named(&self) -> bool;
    /// The smallest id, 0 of names.
    fn min(&self) -> u64;
    /// The largest id, 0 of names.
    fn max(&self) -> u64;
}

/// Decides.
///
/// # Errors
/// When there is no edge and no stated vertex, when parts do not go together, when an id is none of
/// the stated vertices, or when a list of these takes too much memory.
pub(super) fn choose<P: Described>(
    parts: &[P],
    stated: Vec<(usize, DeclaredVertices)>,
    vertices: Option<u64>,
    files: &[String],
    memory_bytes_max: Option<u64>,
    foreign: UnknownIdCheck<'_>,
) -> Result<IdMapping, InputError> {
    weighted(parts, files)?;
    let stating = stating(&stated);
    let stated = declared::merge(stated, files, memory_bytes_max)?;
    let named = names(parts, files, &stated)?;
    if let Some(vertices) = vertices {
        check_declared(vertices, named, &stated)?;
        check_ids_below(vertices, parts, files)?;
        if vertices > SLOTS_MAX {
            return Ok(IdMapping::NonCompact(Vec::new(), 0..vertices));
        }
        return Ok(IdMapping::Kept { ids: IdMap::Declared, first: 0, slots: vertices });
    }
    if parts.is_empty() && stated.none() {
        return Err(no_edges(files));
    }
    Ok(match stated {
        Vertices::Names(stated) => IdMapping::Names(stated),
        _ if named => IdMapping::Names(Vec::new()),
        Vertices::Range(range) if within(parts, &range) && length(&range) > SLOTS_MAX => {
            IdMapping::NonCompact(Vec::new(), range)
        }
        Vertices::Range(range) if within(parts, &range) => {
            IdMapping::Kept { ids: shifted(&range), first: range.start, slots: length(&range) }
        }
        Vertices::Range(range) => {
            foreign(&stating, &|id| range.contains(&id))?;
            declared::list_fits(length(&range), files, memory_bytes_max)?;
            IdMapping::Integers(range.collect())
        }
        Vertices::Integers(stated) => {
            foreign(&stating, &|id| stated.binary_search(&id).is_ok())?;
            IdMapping::Integers(stated)
        }
        Vertices::Unstated if dense(parts) => {
            IdMapping::Kept { ids: IdMap::Same, first: 0, slots: max(parts) + 1 }
        }
        Vertices::Unstated => IdMapping::Integers(Vec::new()),
    })
}

/// Sources that state a range of vertices.
fn stating(stated: &[(usize, DeclaredVertices)]) -> Vec<usize> {
    let ranged = |stated: &DeclaredVertices| matches!(stated, DeclaredVertices::Range { .. });
    stated.iter().filter(|(_, vertices)| ranged(vertices)).map(|(source, _)| *source).collect()
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
        _ if named => {
            let what = "a number of vertices goes with integer ids, and these are names; list \
                        the vertices in a table with --vertices-from";
            refuse(what.to_owned())
        }
        Some(last) if last >= vertices => refuse(format!(
            "the input states its vertices, up to {last}; a number of {vertices} vertices, \
             which are those below it, leaves some out"
        )),
        _ => Ok(()),
    }
}

fn length(range: &Range<u64>) -> u64 {
    range.end - range.start
}

pub(super) fn no_edges(files: &[String]) -> InputError {
    let names = files.join(", ");
    let what = if files.is_empty() { String::new() } else { names + ": " };
    let what = what + "expected edges, found none";
    InputError::Inputs { what }
}

/// Whether the ids of all edges lie in a range.
fn within(parts: &[impl Described], range: &Range<u64>) -> bool {
    parts
        .iter()
        .all(|part| part.max() < range.end && (range.start == 0 || part.min() >= range.start))
}

/// The largest id of all edges, 0 where there is none.
pub(super) fn max(parts: &[impl Described]) -> u64 {
    parts.iter().map(Described::max).max().unwrap_or(0)
}

/// The way back from slots that count from the first id of a range, all of which are vertices.
fn shifted(range: &Range<u64>) -> IdMap {
    if range.start == 0 { IdMap::Declared } else { IdMap::Offset(range.start) }
}

/// Refuses ids that are not below the number of vertices that the user stated.
fn check_ids_below(
    vertices: u64,
    parts: &[impl Described],
    files: &[String],
) -> Result<(), InputError> {
    match parts.iter().find(|part| part.max() >= vertices) {
        Some(part) => {
            let what = format!(
                "expected vertex ids below {vertices}, found {}; where ids do not count from 0, \
                 list the vertices in a table with --vertices-from",
                part.max()
            );
            Err(InputError::content(&files[part.source()], what))
        }
        None => Ok(()),
    }
}

/// Whether all parts have weights, or none has.
pub(super) fn weighted(parts: &[impl Described], files: &[String]) -> Result<bool, InputError> {
    let first = parts.first().is_some_and(Described::weighted);
    match parts.iter().find(|part| part.weighted() != first) {
        None => Ok(first),
        Some(other) => {
            let (with, without) =
                if first { (parts[0].source(), other.source()) } else { (other.source(), 0) };
            let what = format!("{} has weights and {} has none", files[with], files[without]);
            Err(InputError::Inputs { what })
        }
    }
}

/// Whether ids are strings: those of all edges and stated vertices, or of none.
pub(super) fn names(
    parts: &[impl Described],
    files: &[String],
    stated: &Vertices,
) -> Result<bool, InputError> {
    let first = parts.first().map(Described::named);
    if let Some(other) = parts.iter().find(|part| Some(part.named()) != first) {
        let (a, b) = (&files[parts[0].source()], &files[other.source()]);
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

/// Whether ids are near enough to `0..vertices` to be slots as they are: at most 8 slots an edge,
/// so that arrays over slots stay in proportion to the edges.
fn dense(parts: &[impl Described]) -> bool {
    is_dense(max(parts), parts.iter().map(Described::edges).sum())
}

/// Whether ids up to `max` can be the slots of `edges` edges.
pub(crate) fn is_dense(max: u64, edges: u64) -> bool {
    max < edges.saturating_mul(8).saturating_add(1024) && max < SLOTS_MAX
}
