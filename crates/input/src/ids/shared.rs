//! The mapping of ids by machines that have read a share of the edges each.
//!
//! ```text
//! facts of all parts, vertices that are stated   ── choose ──>  one way, the same on all machines
//! parts of this machine, by that way             ── mapped ──>  its edges, its ids in order
//! ```
//!
//! Numbers among the ids of all machines are found by [`super::merging`].
//!
//! Invariant: what is decided follows from facts that all machines have alike, in input order, as a
//! machine decides that has read all. Checked in `choose`, which looks at no edge. Tested by
//! `shares_are_numbered_as_all_are`.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::ThreadPool;
use welter_model::edges::EdgeList;
use welter_model::ids::{IdMap, Names};
use welter_progress::Progress;

use super::finish::Finished;
use super::finished;
use super::id_mapping::{self, Described, IdCheck, IdMapping};
use super::spilled::Mapping;
use crate::collect::{CollectedParts, DeclaredVertices, PlacedRun};
use crate::error::InputError;
use crate::temp::parts::Spilled;

/// Facts of a part, wherever its edges are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartFacts {
    /// Number of its source.
    pub(crate) source: usize,
    /// Number of edges.
    pub(crate) edges: u64,
    /// Whether edges have weights.
    pub(crate) weighted: bool,
    /// Whether ids are names.
    pub(crate) named: bool,
    /// The smallest id, 0 of names.
    pub(crate) min: u64,
    /// The largest id, 0 of names.
    pub(crate) max: u64,
}

impl Described for PartFacts {
    fn source(&self) -> usize {
        self.source
    }

    fn edges(&self) -> u64 {
        self.edges
    }

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn named(&self) -> bool {
        self.named
    }

    fn min(&self) -> u64 {
        self.min
    }

    fn max(&self) -> u64 {
        self.max
    }
}

fn facts_of(part: &impl Described) -> PartFacts {
    PartFacts {
        source: part.source(),
        edges: part.edges(),
        weighted: part.weighted(),
        named: part.named(),
        min: part.min(),
        max: part.max(),
    }
}

/// Mapping of ids by all machines.
pub(crate) enum SharedMapping {
    /// Ids are slots once a number is taken off them, as the map says.
    Kept {
        /// Slots back to ids.
        ids: IdMap,
        /// The id whose slot is 0.
        first: u64,
        /// Number of slots.
        slots: u64,
    },
    /// By their rank among all integers: of the edges, and these.
    Integers(Vec<u64>),
    /// By their rank among all names: of the edges, and these.
    Names(Vec<Names>),
}

/// Decides, by the facts of all parts in input order, and of all vertices that are stated. None
/// where edges must be looked at for that, or where there are more vertices than slots.
///
/// # Errors
/// As of reading all.
pub(crate) fn choose(
    parts: &[PartFacts],
    stated: Vec<(usize, DeclaredVertices)>,
    vertices: Option<u64>,
    (files, memory_bytes_max): (&[String], Option<u64>),
) -> Result<Option<SharedMapping>, InputError> {
    let must_look = AtomicBool::new(false);
    let foreign = |_: &[usize], _: IdCheck<'_>| -> Result<(), InputError> {
        must_look.store(true, Ordering::Relaxed);
        Ok(())
    };
    let way = id_mapping::choose(parts, stated, vertices, files, memory_bytes_max, &foreign)?;
    if must_look.into_inner() {
        return Ok(None);
    }
    Ok(match way {
        IdMapping::Kept { ids, first, slots } => Some(SharedMapping::Kept { ids, first, slots }),
        IdMapping::Integers(stated) => Some(SharedMapping::Integers(stated)),
        IdMapping::Names(stated) => Some(SharedMapping::Names(stated)),
        IdMapping::NonCompact(..) => None,
    })
}

impl SharedMapping {
    /// The mapping of one machine. Vertices that are stated are counted among its ids by the
    /// `first` one alone.
    fn of_one(&self, is_first: bool) -> IdMapping {
        match self {
            Self::Kept { ids, first, slots } => {
                IdMapping::Kept { ids: ids.clone(), first: *first, slots: *slots }
            }
            Self::Integers(stated) if is_first => IdMapping::Integers(stated.clone()),
            Self::Integers(_) => IdMapping::Integers(Vec::new()),
            Self::Names(stated) if is_first => IdMapping::Names(stated.clone()),
            Self::Names(_) => IdMapping::Names(Vec::new()),
        }
    }

    /// The outcome of a machine that has neither edges nor vertices.
    fn of_none(&self) -> Finished {
        let (ids, slots) = match self {
            Self::Kept { ids, slots, .. } => (ids.clone(), *slots),
            Self::Integers(_) => (IdMap::Sparse(Vec::new()), 0),
            Self::Names(_) => (IdMap::Names(Names::new()), 0),
        };
        let edges = Box::new(EdgeList::new(Some(slots), false));
        Finished { edges, ids, scratch_bytes: 0 }
    }

    /// Whether vertices are stated, which the first machine counts among its ids.
    fn states(&self) -> bool {
        match self {
            Self::Kept { .. } => false,
            Self::Integers(stated) => !stated.is_empty(),
            Self::Names(stated) => !stated.is_empty(),
        }
    }
}

impl CollectedParts {
    /// Facts of all parts, in input order.
    pub(crate) fn facts(&self, pool: &ThreadPool) -> Vec<PartFacts> {
        if let Some((_, parts)) = &self.spilled {
            return parts.iter().map(|part: &Spilled| facts_of(part)).collect();
        }
        pool.install(|| self.parts.iter().map(|part: &PlacedRun| facts_of(part)).collect())
    }

    /// Maps the ids of these parts: to slots as `way` says, or to places among those ids that are
    /// here.
    ///
    /// # Errors
    /// When there are more ids than slots or memory can hold, when temporary files cannot be
    /// written or read, or when `progress` is cancelled.
    pub(crate) fn mapped(
        self,
        (way, is_first): (&SharedMapping, bool),
        pool: &ThreadPool,
        progress: &Progress,
    ) -> Result<Finished, InputError> {
        let Self { files, parts, memory_bytes_max, directories, spilled, .. } = self;
        if parts.is_empty() && spilled.is_none() && !(is_first && way.states()) {
            return Ok(way.of_none());
        }
        let way = way.of_one(is_first);
        let mapping = |scratch, parts| Mapping {
            files: &files,
            scratch,
            parts,
            allowed_bytes: memory_bytes_max.unwrap_or(u64::MAX),
            pool,
            progress,
        };
        if let Some((scratch, parts)) = spilled {
            return mapping(scratch, parts).finish(way);
        }
        finished(parts, way, (&directories, memory_bytes_max), mapping, (pool, progress))
    }
}
