//! Ids and weights that a text may hold, where something is said about that: by the user, by the
//! header of the file, or by a list of vertices.
//!
//! A part is looked at as a whole after it was parsed, which costs little; only where something is
//! wrong are its lines read one by one, for the place.

use std::ops::Range;
use std::sync::Arc;

use crate::words::show;
use foldhash::fast::RandomState;
use hashbrown::HashSet;

/// Ids that are allowed.
#[derive(Clone, Debug, Default)]
pub(crate) enum AllowedIds {
    /// All ids.
    #[default]
    Any,
    /// Ids of a range.
    Range(Range<u64>),
    /// Ids of a list.
    Listed(Arc<HashSet<u64, RandomState>>),
}

impl AllowedIds {
    /// Whether all ids of edges may come; `max` is the largest.
    pub(super) fn holds<I: Copy + Into<u64> + Ord>(&self, pairs: &[[I; 2]], max: u64) -> bool {
        match self {
            Self::Any => true,
            _ if pairs.is_empty() => true,
            Self::Range(range) => {
                let small =
                    || pairs.iter().flatten().min().is_some_and(|id| (*id).into() < range.start);
                max < range.end && (range.start == 0 || !small())
            }
            Self::Listed(ids) => pairs.iter().flatten().all(|id| ids.contains(&(*id).into())),
        }
    }

    /// Refuses an id that may not come.
    pub(crate) fn check(&self, id: u64) -> Result<(), String> {
        match self {
            Self::Range(range) if range.is_empty() => {
                Err(format!("expected no vertex, as the number of vertices is 0, found {id}"))
            }
            Self::Range(range) if !range.contains(&id) => {
                let (first, last) = (range.start, range.end - 1);
                let way = if first == 0 {
                    " (where ids do not count from 0, --vertices-from lists the vertices)"
                } else {
                    ""
                };
                Err(format!("expected a vertex id from {first} to {last}, found {id}{way}"))
            }
            Self::Listed(ids) if !ids.contains(&id) => {
                Err(format!("expected an id of the list of vertices, found {id}"))
            }
            _ => Ok(()),
        }
    }
}

/// Weights that are allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Values {
    /// All weights.
    #[default]
    Any,
    /// Integers from the first to the second number.
    Integers(f64, f64),
}

impl Values {
    /// Whether a weight may come.
    #[inline]
    pub(super) fn holds(&self, weight: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Integers(least, most) => {
                (*least..=*most).contains(&weight) && weight.fract() == 0.0
            }
        }
    }

    /// Refuses a weight that may not come; `field` is its text.
    pub(crate) fn check(&self, weight: f64, field: &[u8]) -> Result<(), String> {
        match self {
            Self::Integers(least, most) if !self.holds(weight) => {
                Err(format!("expected an integer from {least} to {most}, found {}", show(field)))
            }
            _ => Ok(()),
        }
    }
}
