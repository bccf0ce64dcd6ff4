//! Edges as forests compare them.

use bytemuck::{Pod, Zeroable};

use super::{NO_EDGE, ends};

/// An edge as it is compared with others: the rank of its weight, then its ends in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub struct RankedEdge {
    pub(crate) weight: u64,
    pub(crate) ends: u64,
}

impl RankedEdge {
    /// No edge: after all others.
    pub(crate) const NONE: Self = Self { weight: NO_EDGE, ends: 0 };

    pub(crate) fn is_edge(self) -> bool {
        self.weight != NO_EDGE
    }

    pub(crate) fn has_end(self, vertex: u32) -> bool {
        self.is_edge() && ends(self.ends).contains(&vertex)
    }
}
