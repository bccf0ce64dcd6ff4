//! Machines that have chunks of the cells of a partition, as an engine that streams it learns by
//! and by.
//!
//! An engine that asks another one the first time for a partition asks for all its cells
//! ([`crate::messages::Stock`]), and asks for no cell any more of which that one has none. With `m`
//! machines a partition has `m` cells, whose chunks lie at a few engines each:
//!
//! ```text
//! pulls of a partition  <=  chunks + cells * engines        where none tells
//! pulls of a partition  <=  chunks + engines * c            c cells are at work until all told
//! ```
//!
//! **Invariant:** who is not asked for a cell has no chunk of it that an engine could still get in
//! this step: a set loses chunks while it is streamed, and gains none. Asserted in `ChunkSet::add`;
//! checked by the simulator in `ExactlyOnce::work`, and at the barrier in `audit`.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Context;
use crate::ids::Rank;

/// Engines by cells.
#[derive(Default)]
pub(crate) struct Holders {
    /// Engines that have not reported their cells.
    unlisted: BTreeSet<Rank>,
    /// Of the others those that had a chunk of a cell, by its source partition.
    holders: BTreeMap<u32, Vec<Rank>>,
}

impl Holders {
    /// Holders as long as no engine has reported which cells it has.
    pub(crate) fn of_all(cx: &Context) -> Self {
        Self { unlisted: (0..cx.machines()).collect(), holders: BTreeMap::new() }
    }

    /// An engine has reported of which cells it has a chunk.
    pub(crate) fn note_cells(&mut self, engine: Rank, cells: &[u32]) {
        if self.unlisted.remove(&engine) {
            for &source in cells {
                self.holders.entry(source).or_default().push(engine);
            }
        }
    }

    /// Whether an engine has not reported its cells.
    pub(crate) fn is_unlisted(&self, engine: Rank) -> bool {
        self.unlisted.contains(&engine)
    }

    /// Whether an engine may have a chunk of a cell.
    pub(crate) fn may_have(&self, engine: Rank, source: u32) -> bool {
        let has = |engines: &Vec<Rank>| engines.contains(&engine);
        self.unlisted.contains(&engine) || self.holders.get(&source).is_some_and(has)
    }

    /// Machines that may have a chunk of a cell.
    pub(crate) fn of(&self, source: u32) -> Vec<Rank> {
        let informed = self.holders.get(&source).into_iter().flatten();
        self.unlisted.iter().chain(informed).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::config::of_two;

    #[test]
    fn who_has_told_is_asked_for_what_it_has() {
        let mut holders = Holders::of_all(&Context::new(Arc::new(of_two()), 0, 1));
        assert_eq!(holders.of(7), [0, 1], "nobody has told");
        holders.note_cells(1, &[3]);
        assert_eq!((holders.of(7), holders.of(3)), (vec![0], vec![0, 1]));
        assert!(holders.may_have(1, 3) && !holders.may_have(1, 7) && holders.may_have(0, 7));
        assert!(holders.is_unlisted(0) && !holders.is_unlisted(1));
        // An answer that comes again, of a pull that was under way, is no news.
        holders.note_cells(1, &[7]);
        holders.note_cells(0, &[]);
        assert_eq!((holders.of(7), holders.of(3)), (vec![], vec![1]));
    }
}
