//! Graphs of more vertices than there are slots: the non-compact form.
//!
//! Slots take 32 bits. Of a graph with more vertices than that each one that an edge names has a
//! slot, in the order of the ids, and one more slot, the last, stands for all others. These have no
//! edges and so nothing that tells them apart: they share a value and hold no state of their own. A
//! result has a row for each of them all the same ([`Spread`](crate::spread::Spread)).
//!
//! (Chaos, section 8, calls ids of 32 bits compact and those of 64 non-compact, and switches at
//! 2^32 vertices, as here. Its non-compact edges are twice as large; these are not.)

use std::ops::Range;

/// Vertices with slots, of very many vertices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NonCompact {
    named: Vec<u64>,
    all: Range<u64>,
}

impl NonCompact {
    /// All integers of a range are vertices, and those that are `named` have slots; these ascend
    /// and lie in the range, else there is no such graph.
    pub fn new(named: Vec<u64>, all: Range<u64>) -> Option<Self> {
        let ascend = named.windows(2).all(|pair| pair[0] < pair[1]);
        let ends = [named.first(), named.last()];
        let within = ends.into_iter().flatten().all(|id| all.contains(id));
        (ascend && within).then_some(Self { named, all })
    }

    /// The ids that have slots of their own, ascending.
    pub fn named(&self) -> &[u64] {
        &self.named
    }

    /// The ids of all vertices.
    pub fn all(&self) -> Range<u64> {
        self.all.clone()
    }

    /// Number of vertices.
    pub fn vertices(&self) -> u64 {
        self.all.end - self.all.start
    }

    /// Number of vertices that the last slot stands for.
    pub fn others(&self) -> u64 {
        self.vertices() - self.named.len() as u64
    }

    /// Number of slots.
    pub fn slots(&self) -> u64 {
        self.named.len() as u64 + u64::from(self.others() > 0)
    }

    /// The slot of an id that has one of its own.
    pub fn slot(&self, id: u64) -> Option<u64> {
        self.named.binary_search(&id).ok().map(|slot| slot as u64)
    }
}
