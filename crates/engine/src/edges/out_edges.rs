//! Edges that a search begins with, noted when the input is read for its vertices: its first pass
//! shows these, and reads nothing.

use welter_model::edges::{Pair, Reading};

use crate::edges::keeper::Keeper;

/// Slots whose edges are noted, at most: all edges are checked against each.
const SLOTS_MAX: usize = 8;
/// Edges that are looked through at once for one that is noted: few have any.
const TOGETHER: usize = 256;

/// The edges that begin at some slots.
pub(crate) struct OutEdges {
    slots: Vec<u64>,
    edges: Vec<Vec<Pair>>,
}

impl OutEdges {
    /// The edges, if they are those of these slots, ascending.
    pub(crate) fn edges_of(&self, slots: &[u64]) -> Option<&[Vec<Pair>]> {
        (self.slots == slots).then_some(&self.edges[..])
    }
}

/// Notes of edges that begin at some slots, while they are taken.
pub(crate) struct Noting {
    slots: Vec<u32>,
    reading: Reading,
    keeper: Keeper,
}

impl Noting {
    /// Notes the edges that begin at these slots when they are read so, as long as there is room
    /// for all of them.
    pub(crate) fn new(slots: &[u64], reading: Reading, room: u64) -> Self {
        let mut slots: Vec<u32> = slots.iter().filter_map(|slot| (*slot).try_into().ok()).collect();
        slots.sort_unstable();
        slots.dedup();
        if slots.len() > SLOTS_MAX {
            slots.clear();
        }
        Self { slots, reading, keeper: Keeper::new(room) }
    }

    /// Looks at a batch, and adds to a worker's list.
    pub(crate) fn note(&self, list: &mut Vec<Pair>, pairs: &[Pair]) {
        if self.slots.is_empty() || !self.keeper.has_all() {
            return;
        }
        for some in pairs.chunks(TOGETHER) {
            for slot in &self.slots {
                // All are counted, without an early end, so that it runs over vectors.
                if some.as_flattened().iter().filter(|end| *end == slot).count() > 0 {
                    let arcs: Vec<Pair> = self.arcs(*slot, some).collect();
                    self.keeper.keep(list, arcs.into_iter());
                }
            }
        }
    }

    /// The edges from a slot, as they are read.
    fn arcs(&self, slot: u32, pairs: &[Pair]) -> impl Iterator<Item = Pair> {
        let Reading { undirected, reversed, drop_self_loops, .. } = self.reading;
        let (along, against) = (undirected || !reversed, undirected || reversed);
        pairs.iter().flat_map(move |&[source, target]| {
            let is_loop = source == target;
            let is_edge = !(is_loop && drop_self_loops);
            let forth = is_edge && along && source == slot;
            // The reverse of a loop is the loop.
            let back = is_edge && against && target == slot && !(is_loop && undirected);
            let (forth, back) =
                (forth.then_some([source, target]), back.then_some([target, source]));
            forth.into_iter().chain(back)
        })
    }

    /// The edges that were noted, if there are such slots and no edge is missing.
    pub(crate) fn into_begun(self, lists: impl Iterator<Item = Vec<Pair>>) -> Option<OutEdges> {
        let slots: Vec<u64> = self.slots.iter().map(|slot| u64::from(*slot)).collect();
        let edges = self.keeper.into_kept(lists)?;
        (!slots.is_empty()).then_some(OutEdges { slots, edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIRS: [Pair; 7] = [[3, 1], [1, 3], [3, 3], [2, 5], [5, 2], [3, 5], [4, 4]];

    fn noted(slots: &[u64], reading: Reading, room: u64) -> Option<Vec<Pair>> {
        let (noting, mut list) = (Noting::new(slots, reading, room), Vec::new());
        PAIRS.chunks(2).for_each(|pairs| noting.note(&mut list, pairs));
        let begun = noting.into_begun([list].into_iter())?;
        let mut sorted = slots.to_vec();
        sorted.sort_unstable();
        assert!(begun.edges_of(&[9]).is_none());
        Some(begun.edges_of(&sorted)?.concat())
    }

    #[test]
    fn edges_of_slots_are_noted_as_they_are_read() {
        let (plain, undirected) =
            (Reading::default(), Reading { undirected: true, ..Reading::default() });
        let reversed = Reading { reversed: true, ..plain };
        assert_eq!(noted(&[3], plain, 9).unwrap(), [[3, 1], [3, 3], [3, 5]]);
        assert_eq!(noted(&[3], reversed, 9).unwrap(), [[3, 1], [3, 3]]);
        let forward = Reading { drop_self_loops: true, ..reversed };
        assert_eq!(noted(&[3], forward, 9).unwrap(), [[3, 1]]);
        assert_eq!(noted(&[4], undirected, 9).unwrap(), [[4, 4]]);
        assert_eq!(
            noted(&[5, 2], undirected, 9).unwrap(),
            [[2, 5], [5, 2], [2, 5], [5, 2], [5, 3]]
        );
        assert_eq!(noted(&[3], plain, 3).map(|edges| edges.len()), Some(3));
    }

    #[test]
    fn too_many_slots_or_edges_are_left_to_the_first_pass() {
        let plain = Reading::default();
        assert_eq!(noted(&[3], plain, 2), None);
        assert_eq!(noted(&[], plain, 9), None);
        assert_eq!(noted(&[0, 1, 2, 3, 4, 5, 6, 7, 8], plain, 99), None);
        assert_eq!(noted(&[u64::MAX], plain, 9), None);
    }
}
