//! Blocks of vertices in which a pass changes something.
//!
//! Edges note changes, and passes ask for them: [`crate::schedules::pass`] leaves out edges of
//! which no end changed.

use std::sync::atomic::{AtomicBool, Ordering};

use welter_model::stream::{Edge, RevisitPolicy};

/// Log2 of the vertices of a block.
pub(crate) const BLOCK_BITS: u32 = 10;

/// A flag for each block of vertices.
pub(crate) struct ChangedBlocks(Vec<AtomicBool>);

impl ChangedBlocks {
    /// No changes of `vertices` vertices.
    pub(crate) fn new(vertices: u64) -> Self {
        let blocks = vertices.div_ceil(1 << BLOCK_BITS);
        Self((0..blocks).map(|_| AtomicBool::new(false)).collect())
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a vertex of a block changed.
    pub(crate) fn has(&self, block: usize) -> bool {
        self.0[block].load(Ordering::Relaxed)
    }

    /// Notes that an edge changed one of its ends.
    #[inline(always)]
    pub(crate) fn change(&self, edge: Edge, again: RevisitPolicy) {
        let Edge { source, target, .. } = edge;
        match again {
            RevisitPolicy::SourceChanged => self.change_block(target),
            RevisitPolicy::TargetChanged => self.change_block(source),
            // It is not said which end changed.
            RevisitPolicy::EitherChanged => {
                self.change_block(source);
                self.change_block(target);
            }
            RevisitPolicy::Anytime | RevisitPolicy::Never => {}
        }
    }

    fn change_block(&self, vertex: u32) {
        if let Some(block) = self.0.get(vertex as usize >> BLOCK_BITS)
            && !block.load(Ordering::Relaxed)
        {
            block.store(true, Ordering::Relaxed);
        }
    }

    /// Takes the flags of all blocks.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter_mut().map(|block| std::mem::take(block.get_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_changes_the_blocks_of_the_ends_that_a_step_speaks_of() {
        let edge = Edge { source: 5, target: 3 << BLOCK_BITS, weight: 1.0 };
        let cases = [
            (RevisitPolicy::Anytime, [false, false]),
            (RevisitPolicy::Never, [false, false]),
            (RevisitPolicy::SourceChanged, [false, true]),
            (RevisitPolicy::TargetChanged, [true, false]),
            (RevisitPolicy::EitherChanged, [true, true]),
        ];
        for (again, [source, target]) in cases {
            let mut blocks = ChangedBlocks::new((3 << BLOCK_BITS) + 1);
            blocks.change(edge, again);
            assert_eq!([blocks.has(0), blocks.has(3)], [source, target], "{again:?}");
            assert!(blocks.take().eq([source, false, false, target]), "{again:?}");
            assert!(blocks.take().all(|changed| !changed));
        }
        // A damaged key names no block, or one that is none.
        ChangedBlocks::new(1).change(edge, RevisitPolicy::SourceChanged);
    }
}
