//! Edges that may still be candidates, kept while others are read (Chaos, section 3: edges that can
//! no longer matter are dropped).
//!
//! Workers keep what they meet in lists of their own. As soon as all together are more than there
//! is room for, what was kept in this pass is thrown away, and nothing more is kept in it.

use std::sync::atomic::{AtomicU64, Ordering};

use welter_model::edges::Pair;

/// The bound that workers share in a pass.
pub(crate) struct Keeper {
    room: u64,
    kept: AtomicU64,
}

impl Keeper {
    /// An empty keeper, with room for `room` edges.
    pub(crate) fn new(room: u64) -> Self {
        Self { room, kept: AtomicU64::new(0) }
    }

    /// Whether all that was to be kept is kept.
    pub(crate) fn has_all(&self) -> bool {
        self.kept.load(Ordering::Relaxed) <= self.room
    }

    /// Adds edges to a worker's list, unless there are too many already.
    pub(crate) fn keep(&self, list: &mut Vec<Pair>, edges: impl ExactSizeIterator<Item = Pair>) {
        let more = edges.len() as u64;
        if more > 0 && self.kept.fetch_add(more, Ordering::Relaxed) + more <= self.room {
            list.extend(edges);
        } else if !self.has_all() {
            *list = Vec::new();
        }
    }

    /// The edges that were kept, if none is missing.
    pub(crate) fn into_kept(
        self,
        lists: impl Iterator<Item = Vec<Pair>>,
    ) -> Option<Vec<Vec<Pair>>> {
        let lists = lists.filter(|list| !list.is_empty()).collect();
        self.has_all().then_some(lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(room: u64, counts: [usize; 2]) -> Option<Vec<usize>> {
        let keeper = Keeper::new(room);
        let mut lists = [Vec::new(), Vec::new()];
        for (list, count) in lists.iter_mut().zip(counts) {
            for edge in 0..count as u32 {
                keeper.keep(list, [[edge, edge]].into_iter());
            }
        }
        let kept = keeper.into_kept(lists.into_iter())?;
        Some(kept.iter().map(Vec::len).collect())
    }

    #[test]
    fn edges_are_kept_only_if_there_is_room_for_all() {
        assert_eq!(kept(7, [3, 4]), Some(vec![3, 4]));
        assert_eq!(kept(7, [0, 7]), Some(vec![7]));
        assert_eq!(kept(7, [0, 0]), Some(vec![]));
        assert_eq!(kept(6, [3, 4]), None);
        assert_eq!(kept(2, [3, 0]), None);
    }
}
