//! Runs of stripes whose signals fit in memory together.

use std::ops::Range;

use crate::edges::graph::Graph;

/// The vertices of some stripes.
pub(crate) fn vertices(graph: &Graph, stripes: &Range<usize>) -> Range<u64> {
    let own = &graph.stripes[stripes.clone()];
    own.first().map_or(0, |stripe| stripe.vertices.start)
        ..own.last().map_or(0, |stripe| stripe.vertices.end)
}

/// Cuts stripes into partitions with up to `sources` vertices, or of one stripe.
pub(crate) fn cut(graph: &Graph, sources: u64) -> Vec<Range<usize>> {
    let mut partitions: Vec<Range<usize>> = Vec::new();
    for stripe in 0..graph.stripes.len() {
        match partitions.last_mut() {
            Some(open)
                if {
                    let all = vertices(graph, &(open.start..stripe + 1));
                    all.end - all.start <= sources
                } =>
            {
                open.end = stripe + 1;
            }
            _ => partitions.push(stripe..stripe + 1),
        }
    }
    partitions
}
