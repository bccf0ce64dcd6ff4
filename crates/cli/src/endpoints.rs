//! Vertices that edges leave, and those that edges come to: seen while the edges are read.
//!
//! A graph that is read both ways does not know any more which end of an edge was which. Who needs
//! that marks the ends of each edge in passing, two bits a slot, in pages of those that occur.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use welter_model::edges::{Batch, EdgeStream, StreamError};
use welter_model::stream_wrapper::StreamWrapper;

/// Slots of a page, as a power of two.
const PAGE_BITS: u32 = 16;
const PAGE_WORDS: usize = 1 << (PAGE_BITS - 6);

/// A set of slots that many threads add to.
struct Slots(Vec<OnceLock<Box<[AtomicU64; PAGE_WORDS]>>>);

impl Slots {
    fn new() -> Self {
        Self((0..1 << (u32::BITS - PAGE_BITS)).map(|_| OnceLock::new()).collect())
    }

    fn add(&self, slot: u32) {
        let page = self.0[(slot >> PAGE_BITS) as usize]
            .get_or_init(|| Box::new([const { AtomicU64::new(0) }; PAGE_WORDS]));
        let word = &page[slot as usize >> 6 & (PAGE_WORDS - 1)];
        let bit = 1 << (slot & 63);
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Number of vertices in this set, or in another one.
    fn count_with(&self, other: &Self) -> u64 {
        let word = |page: &OnceLock<Box<[AtomicU64; PAGE_WORDS]>>, place: usize| {
            page.get().map_or(0, |page| page[place].load(Ordering::Relaxed))
        };
        let pages = self.0.iter().zip(&other.0);
        let used = pages.filter(|(page, other)| page.get().is_some() || other.get().is_some());
        used.map(|(page, other)| {
            let either = |place| u64::from((word(page, place) | word(other, place)).count_ones());
            (0..PAGE_WORDS).map(either).sum::<u64>()
        })
        .sum()
    }

    fn has(&self, slot: u32) -> bool {
        let page = self.0[(slot >> PAGE_BITS) as usize].get();
        let word = page.map(|page| &page[slot as usize >> 6 & (PAGE_WORDS - 1)]);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (slot & 63) & 1 == 1)
    }
}

/// The ends of all edges, as they were listed.
pub(crate) struct EdgeEndpoints {
    sources: Slots,
    targets: Slots,
    /// Whether edges from a vertex to itself have none.
    without_loops: bool,
}

impl EdgeEndpoints {
    /// Of edges that are still to be read.
    pub(crate) fn new(without_loops: bool) -> Self {
        Self { sources: Slots::new(), targets: Slots::new(), without_loops }
    }

    /// Of all edges of a stream.
    pub(crate) fn all(edges: &dyn EdgeStream, without_loops: bool) -> Result<Self, StreamError> {
        let ends = Self::new(without_loops);
        for part in 0..edges.parts() {
            edges.read(part, &mut |batch| {
                ends.add(batch);
                true
            })?;
        }
        Ok(ends)
    }

    /// Number of slots that are an end of an edge.
    pub(crate) fn count(&self) -> u64 {
        self.sources.count_with(&self.targets)
    }

    /// Whether an edge leaves this slot.
    pub(crate) fn is_source(&self, slot: u32) -> bool {
        self.sources.has(slot)
    }

    /// Whether an edge comes to this slot.
    pub(crate) fn is_target(&self, slot: u32) -> bool {
        self.targets.has(slot)
    }

    fn add(&self, batch: Batch<'_>) {
        for &[source, target] in batch.pairs {
            if source != target || !self.without_loops {
                self.sources.add(source);
                self.targets.add(target);
            }
        }
    }
}

/// A stream whose ends are marked when its parts are read, however often that is.
pub(crate) struct BipartiteRoles {
    pub(crate) edges: Box<dyn EdgeStream>,
    pub(crate) ends: Arc<EdgeEndpoints>,
}

impl StreamWrapper for BipartiteRoles {
    type Inner = dyn EdgeStream;

    fn inner(&self) -> &Self::Inner {
        &*self.edges
    }

    fn read_through(
        &self,
        part: usize,
        visit: &mut dyn FnMut(Batch<'_>) -> bool,
    ) -> Result<(), StreamError> {
        self.edges.read(part, &mut |batch| {
            self.ends.add(batch);
            visit(batch)
        })
    }
}

#[cfg(test)]
mod tests {
    use welter_model::edges::EdgeList;

    use super::*;

    #[test]
    fn ends_are_those_of_the_edges_that_were_read() {
        let pairs = vec![[1, 2], [1, u32::MAX], [70_000, 2], [5, 5]];
        for without_loops in [false, true] {
            let ends = Arc::new(EdgeEndpoints::new(without_loops));
            let edges = Box::new(EdgeList::from_pairs(pairs.clone()));
            let marked = BipartiteRoles { edges, ends: Arc::clone(&ends) };
            assert!(!ends.is_source(1), "nothing was read");
            for _ in 0..2 {
                let mut seen = 0;
                let mut count = |batch: Batch<'_>| {
                    seen += batch.pairs.len();
                    true
                };
                marked.read(0, &mut count).unwrap();
                assert_eq!(seen, pairs.len());
            }
            let slots = [1, 2, 3, 5, 70_000, u32::MAX];
            let sources = slots.map(|slot| ends.is_source(slot));
            assert_eq!(sources, [true, false, false, !without_loops, true, false]);
            let targets = slots.map(|slot| ends.is_target(slot));
            assert_eq!(targets, [false, true, false, !without_loops, false, true]);
            assert_eq!(ends.count(), if without_loops { 4 } else { 5 });
        }
    }
}
