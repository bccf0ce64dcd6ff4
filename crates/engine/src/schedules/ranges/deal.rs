//! Deal of stripes to workers and ranges.

use crate::edges::graph::Graph;

/// The stripes of each worker in each range.
pub(crate) type Ranges = Vec<Vec<Vec<usize>>>;

/// Deals stripes to ranges, and those of a range to workers, up to `most` to each: those with the
/// most edges first, to the worker that has the fewest.
pub(crate) fn deal(graph: &Graph, threads: usize, most: usize) -> Ranges {
    let stripes: Vec<usize> = (0..graph.stripes.len()).collect();
    let edges = |stripe: usize| graph.stripes[stripe].edges;
    let range = |stripes: &[usize]| {
        let mut stripes = stripes.to_vec();
        stripes.sort_by_key(|&stripe| std::cmp::Reverse(edges(stripe)));
        let mut hands = vec![(0, Vec::new()); threads];
        for stripe in stripes {
            let free = hands.iter_mut().filter(|(_, hand)| hand.len() < most);
            if let Some((sum, hand)) = free.min_by_key(|(sum, _)| *sum) {
                *sum += edges(stripe);
                hand.push(stripe);
            }
        }
        hands.into_iter().map(|(_, hand)| hand).collect()
    };
    stripes.chunks(threads * most.max(1)).map(range).collect()
}
