//! The parts in which a graph on storage is relaxed: runs of vertices of one stripe whose edges
//! within the stripe fit in the memory there is for them.

use std::ops::Range;

use crate::edges::graph::{Graph, Stripe};
use crate::edges::slab_location::ChunkPlace;
use crate::footprints::schedules::adjacency_words;

/// Consecutive vertices of a stripe.
pub(crate) struct RelaxBlock {
    /// Relative to the stripe.
    pub(crate) sources: Range<u32>,
    /// Numbers of the chunks that hold their edges; neighbours may share one.
    pub(crate) chunks: Range<usize>,
}

impl RelaxBlock {
    /// Cuts a stripe so that the edges of each part fit `words_most` words, or says that this
    /// cannot be done.
    pub(crate) fn cut(graph: &Graph, stripe: &Stripe, words_most: u64) -> Option<Vec<Self>> {
        let inner = inner(stripe);
        let fits = |sources: &Range<u64>, chunks: &[ChunkPlace]| {
            let edges = chunks.iter().map(|chunk| chunk.edges).sum();
            let vertices = sources.end - sources.start;
            adjacency_words(vertices, edges, graph.plan.premises.shape.weighted) <= words_most
        };
        let mut parts = Vec::new();
        let (mut start, mut first) = (stripe.vertices.start, inner.start);
        while first < inner.end {
            // As many chunks as fit, and of the vertices those before the first that does not.
            let mut last = first;
            let mut end = start;
            while last < inner.end {
                let to = match stripe.chunks[last + 1..inner.end].first() {
                    Some(next) => next.sources.start.clamp(start, stripe.vertices.end),
                    None => stripe.vertices.end,
                };
                if !fits(&(start..to), &stripe.chunks[first..=last]) {
                    break;
                }
                (last, end) = (last + 1, to);
            }
            if end == start {
                return None;
            }
            let local = |vertex| (vertex - stripe.vertices.start) as u32;
            parts.push(Self { sources: local(start)..local(end), chunks: first..last });
            if last == inner.end {
                break;
            }
            start = end;
            // The last of them may hold edges of the next part too.
            while first < last && stripe.chunks[first].sources.end <= start {
                first += 1;
            }
        }
        Some(parts)
    }
}

/// Numbers of the chunks of a stripe that may hold edges from the stripe itself.
fn inner(stripe: &Stripe) -> Range<usize> {
    let meets = |chunk: &&ChunkPlace| {
        chunk.sources.start < stripe.vertices.end && stripe.vertices.start < chunk.sources.end
    };
    let first = stripe.chunks.iter().take_while(|chunk| !meets(chunk)).count();
    let after = stripe.chunks.iter().rev().take_while(|chunk| !meets(chunk)).count();
    first..(stripe.chunks.len() - after).max(first)
}
