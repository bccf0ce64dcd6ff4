//! The best edge between each two components that were met.
//!
//! Linear probing, three quarters full at most: of edges that contraction makes parallel nearly all
//! are no better than the one that is there, and are found so by one line of memory. The table
//! grows from next to nothing, because mostly there are few pairs of components, and then it stays
//! in the cache.

use std::mem::replace;

use bytemuck::Zeroable;
use welter_model::stream::ContractedEdge;

use crate::EngineError;
use crate::machine::arena::Buffer;

/// Slots to begin with.
const FIRST: usize = 1 << 12;

/// Contracted edges by their components. A slot of zeros is free.
pub(super) struct Table {
    slots: Buffer<ContractedEdge>,
    taken: usize,
    /// No more slots than this.
    slots_most: usize,
}

/// One word for the components of an edge.
fn pair(edge: &ContractedEdge) -> u64 {
    u64::from(edge.between[0]) << 32 | u64::from(edge.between[1])
}

fn is_free(edge: &ContractedEdge) -> bool {
    edge.between == [0; 2]
}

impl Table {
    /// An empty one of at most `slots_most` slots.
    pub(super) fn new(slots_most: usize) -> Result<Self, EngineError> {
        let slots_most = slots_most.max(FIRST);
        Ok(Self { slots: Buffer::zeroed(FIRST)?, taken: 0, slots_most })
    }

    /// Number of edges.
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    /// Lets the table grow to `slots_most` slots.
    pub(super) fn allow(&mut self, slots_most: usize) {
        self.slots_most = self.slots_most.max(slots_most);
    }

    /// Keeps an edge unless a better one between the same components is there. Says whether it
    /// found a place; if not, the table is full of other ones.
    #[inline(always)]
    pub(super) fn keep(&mut self, edge: ContractedEdge) -> Result<bool, EngineError> {
        let place = self.place(&edge);
        let room = self.slots.len() / 4 * 3;
        let held = &mut self.slots[place];
        if !is_free(held) {
            held.rank = held.rank.min(edge.rank);
            return Ok(true);
        }
        if self.taken < room {
            *held = edge;
            self.taken += 1;
            return Ok(true);
        }
        self.keep_grown(edge)
    }

    /// Keeps an edge in a table that is as full as it may be.
    #[cold]
    fn keep_grown(&mut self, edge: ContractedEdge) -> Result<bool, EngineError> {
        let slots = (2 * self.slots.len()).min(self.slots_most);
        if slots <= self.slots.len() {
            return Ok(false);
        }
        let older = replace(&mut self.slots, Buffer::zeroed(slots)?);
        for edge in older.iter().filter(|edge| !is_free(edge)) {
            let place = self.place(edge);
            self.slots[place] = *edge;
        }
        self.keep(edge)
    }

    /// The slot of the edge between the same components, or else the free one where it would be.
    #[inline(always)]
    fn place(&self, edge: &ContractedEdge) -> usize {
        let slots = &self.slots[..];
        let pair = pair(edge);
        let hash = (pair ^ pair >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = ((u128::from(hash) * slots.len() as u128) >> 64) as usize;
        while slots[place].between != edge.between && !is_free(&slots[place]) {
            place = if place + 1 == slots.len() { 0 } else { place + 1 };
        }
        place
    }

    /// Takes all edges out.
    pub(super) fn drain(
        &mut self,
        mut each: impl FnMut(ContractedEdge) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.taken = 0;
        for slot in self.slots.iter_mut().filter(|slot| !is_free(slot)) {
            each(replace(slot, ContractedEdge::zeroed()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_best_between_each_two_stays() {
        for slots_most in [0, 1 << 14, 1 << 20] {
            let mut table = Table::new(slots_most).unwrap();
            let mut expected = BTreeMap::new();
            let (mut full, mut state) = (0, 7_u64);
            for _ in 0..200_000 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let [one, other] = [state >> 40 & 0xff, state >> 50 & 0x7ff].map(|it| it as u32);
                if one == other {
                    continue;
                }
                let edge = ContractedEdge::new(one, other, [state >> 60, state]);
                if table.keep(edge).unwrap() {
                    let best = expected.entry(edge.between).or_insert(edge.rank);
                    *best = (*best).min(edge.rank);
                } else {
                    assert!(!expected.contains_key(&edge.between));
                    full += 1;
                }
            }
            assert_eq!(table.len(), expected.len());
            assert_eq!(full > 0, slots_most < 1 << 20);
            let mut found = BTreeMap::new();
            let note = |edge: ContractedEdge| {
                assert_eq!(found.insert(edge.between, edge.rank), None);
                Ok(())
            };
            table.drain(note).unwrap();
            assert_eq!(found, expected);
            assert!(table.keep(ContractedEdge::new(1, 0, [0; 2])).unwrap());
            assert_eq!(table.len(), 1);
        }
    }
}
