//! Chunks and tiles that a pass can leave out, because no edge in them can be a candidate.
//!
//! Passes are numbered. Of each chunk it is known in which pass it was shown last, and of each
//! block of vertices in which pass one of them changed last. What was shown in a pass has learnt
//! all that earlier passes changed, and may have missed what the same pass did:
//!
//! ```text
//! stale(chunk) = changed(b) < shown(chunk) for all blocks b of its sources (or of its targets)
//! ```
//!
//! Invariant: which chunks are stale is settled between passes, so that what is read ahead is what
//! is shown; within a pass tiles also see what just changed, which can only show more of them. A
//! pass that changes nothing is the last one: all that was not stale was shown in it. Tested by
//! `what_cannot_be_news_is_not_looked_at`.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use welter_model::stream::RevisitPolicy;

use crate::edges::graph::{Graph, Stripe};
use crate::kernels::changes::{BLOCK_BITS, ChangedBlocks};

/// In place of the number of a pass: the chunk has no edge that can ever be a candidate.
const FOR_GOOD: u32 = u32::MAX;

/// Chunks that earlier passes found without candidates.
pub(super) struct Stale {
    /// By stripe and chunk, the pass in which it was shown last; [`FOR_GOOD`].
    shown: Vec<Vec<AtomicU32>>,
    /// By block, the pass in which a vertex changed last, but for changes of this one.
    changed: Vec<u32>,
    /// Blocks in which a vertex changes in this pass.
    pub(super) changing: ChangedBlocks,
    /// The number of this pass, or of the next one.
    pass: u32,
    /// The first one of those that follow each other without another step in between.
    since: u32,
}

impl Stale {
    pub(super) fn new(graph: &Graph) -> Self {
        let changing = ChangedBlocks::new(graph.vertices());
        let never = |count| (0..count).map(|_| AtomicU32::new(0)).collect();
        Self {
            shown: graph.stripes.iter().map(|stripe| never(stripe.chunks.len())).collect(),
            changed: vec![0; changing.len()],
            changing,
            pass: 1,
            since: 1,
        }
    }

    /// Whether a chunk of a stripe of the graph may have candidates.
    pub(super) fn wants(
        &self,
        graph: &Graph,
        (stripe, chunk): (usize, usize),
        again: RevisitPolicy,
    ) -> bool {
        let shown = self.shown[stripe][chunk].load(Ordering::Relaxed);
        let is_first = shown < self.since;
        let Stripe { vertices, chunks, .. } = &graph.stripes[stripe];
        let changed = |vertices: &Range<u64>| {
            let blocks = self.blocks(vertices);
            self.changed[blocks].iter().any(|&pass| pass >= shown)
        };
        shown != FOR_GOOD
            && match again {
                RevisitPolicy::Anytime | RevisitPolicy::Never => true,
                RevisitPolicy::SourceChanged => is_first || changed(&chunks[chunk].sources),
                RevisitPolicy::TargetChanged => is_first || changed(vertices),
                RevisitPolicy::EitherChanged => {
                    is_first || changed(vertices) || changed(&chunks[chunk].sources)
                }
            }
    }

    /// Whether a tile of a chunk that is shown, with these sources, may have candidates.
    pub(super) fn wants_tile(
        &self,
        (stripe, chunk): (usize, usize),
        sources: &Range<u64>,
        again: RevisitPolicy,
    ) -> bool {
        let shown = self.shown[stripe][chunk].load(Ordering::Relaxed);
        let changed = |block: usize| self.changed[block] >= shown || self.changing.has(block);
        again != RevisitPolicy::SourceChanged
            || shown < self.since
            || self.blocks(sources).any(changed)
    }

    /// The blocks that some vertices lie in.
    fn blocks(&self, vertices: &Range<u64>) -> Range<usize> {
        let end = vertices.end.div_ceil(1 << BLOCK_BITS) as usize;
        let end = end.min(self.changed.len());
        ((vertices.start >> BLOCK_BITS) as usize).min(end)..end
    }

    /// Notes that a chunk was shown, and how many of its edges were candidates.
    pub(super) fn show(
        &self,
        (stripe, chunk): (usize, usize),
        candidates: u64,
        again: RevisitPolicy,
    ) {
        let is_over = candidates == 0 && again == RevisitPolicy::Never;
        let pass = if is_over { FOR_GOOD } else { self.pass };
        self.shown[stripe][chunk].store(pass, Ordering::Relaxed);
    }

    /// Ends a pass.
    pub(super) fn end_pass(&mut self) {
        for (changed, changing) in self.changed.iter_mut().zip(self.changing.take()) {
            if changing {
                *changed = self.pass;
            }
        }
        // A run of 2^32 passes takes years; and then more is shown than must be.
        self.pass = (self.pass + 1).min(FOR_GOOD - 1);
    }

    /// Forgets what was shown, but for what is over for good: vertices were finalized.
    pub(super) fn begin_anew(&mut self) {
        self.since = self.pass;
    }
}
