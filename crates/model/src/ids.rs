//! The way back from slots to the ids that came in.
//!
//! Slots ascend in the order of the original ids, so ties and smallest-label rules mean the same on
//! slots and on ids.
//!
//! ```
//! use welter_model::ids::{IdMap, Names};
//!
//! // Edges between slots 0 and 2 are edges between "ada" and "grace".
//! let names: Names = ["ada", "edsger", "grace"].into_iter().collect();
//! assert_eq!((names.get(0), names.get(2)), ("ada", "grace"));
//! let ids = IdMap::Names(names);
//! assert!(ids.are_names() && ids.all_present());
//!
//! // Ids that are slots take no memory. Which of them are vertices, the edges say.
//! assert_eq!(IdMap::Same.bytes(), 0);
//! assert!(!IdMap::Same.all_present());
//! ```

pub use crate::names::Names;
use crate::non_compact::NonCompact;
use crate::two_kinds::TwoKinds;

/// Original ids by slot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum IdMap {
    /// The slot is the id. Ids that no edge names are not vertices, unless `declared`.
    #[default]
    Same,
    /// The slot is the id and all slots are vertices: the input or the user stated their number.
    Declared,
    /// The id is the slot plus this number, and all slots are vertices: the input stated that its
    /// ids count from there, mostly from 1.
    Offset(u64),
    /// Sparse integers, ascending and distinct; each is a vertex.
    Sparse(Vec<u64>),
    /// Strings, ascending by their bytes and distinct; each is a vertex.
    Names(Names),
    /// Sparse integers among more vertices than there are slots; the last slot stands for all
    /// others.
    NonCompact(NonCompact),
    /// Vertices of two kinds, which may have the same ids; each is a vertex.
    TwoKinds(TwoKinds),
}

impl IdMap {
    /// Whether every slot is a vertex, so that no reader has to look which ones occur.
    pub fn all_present(&self) -> bool {
        !matches!(self, Self::Same)
    }

    /// Whether ids are strings.
    pub fn are_names(&self) -> bool {
        match self {
            Self::Names(_) => true,
            Self::TwoKinds(ids) => ids.are_names(),
            _ => false,
        }
    }

    /// Heap bytes that the map takes.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Same | Self::Declared | Self::Offset(_) => 0,
            Self::Sparse(ids) => size_of_val(&ids[..]) as u64,
            Self::Names(names) => names.bytes(),
            Self::NonCompact(ids) => size_of_val(ids.named()) as u64,
            Self::TwoKinds(ids) => ids.bytes(),
        }
    }

    /// Number of vertices that the last slot stands for, where it is not one vertex like others.
    pub fn others(&self) -> u64 {
        if let Self::NonCompact(ids) = self { ids.others() } else { 0 }
    }
}
