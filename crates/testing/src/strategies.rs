//! Random small graphs for property tests, made of what breaks programs: self-loops, parallel
//! edges, sinks, slots that are no vertices, vertices without edges, hubs, no edges at all.

use crate::graph::Graph;
use proptest::prelude::{Just, Strategy, any};
use proptest::test_runner::Config;
use proptest::{collection::vec, option};

/// A number of cases of a property, or the share of it that `WELTER_CASES` states in percent: a
/// quarter in continuous integration, and several times as many before a release.
pub fn cases(count: u32) -> Config {
    let stated = std::env::var("WELTER_CASES").ok().and_then(|share| share.parse().ok());
    let share: u32 = stated.unwrap_or(100);
    Config::with_cases(count.saturating_mul(share).div_ceil(100).max(1))
}

/// Any graph of at most `slots_max` slots and `edges_max` edges, weighted or not.
///
/// Edges draw their ends from a few favourites half of the time, so that hubs and parallel edges
/// are common. Slots without an edge are vertices or gaps, as it comes.
pub fn graphs(slots_max: u32, edges_max: usize) -> impl Strategy<Value = Graph> {
    let sized = (1..=slots_max).prop_flat_map(move |slots| {
        let pairs = vec([ends(slots), ends(slots)], 0..=edges_max);
        (pairs, vec(any::<bool>(), slots as usize))
    });
    let weighted = sized.prop_flat_map(|(pairs, present)| {
        let edges = pairs.len();
        (Just(pairs), Just(present), option::of(vec(weights(), edges)))
    });
    weighted.prop_map(|(pairs, mut present, weights)| {
        for slot in pairs.iter().flatten() {
            present[*slot as usize] = true;
        }
        // A graph has a vertex.
        present[0] |= !present.contains(&true);
        Graph { present, pairs, weights }
    })
}

/// A graph whose slots are all vertices, as they are when ids were mapped.
pub fn dense_graphs(slots_max: u32, edges_max: usize) -> impl Strategy<Value = Graph> {
    graphs(slots_max, edges_max).prop_map(|mut graph| {
        graph.present.fill(true);
        graph
    })
}

/// A graph whose slots reach over several stripes, with no vertices in between, or with thousands
/// that have no edges.
pub fn wide_graphs(slots_max: u32, edges_max: usize) -> impl Strategy<Value = Graph> {
    let strides = proptest::sample::select(vec![1, 64, 997, 4096, 5000]);
    (graphs(slots_max, edges_max), strides, any::<bool>())
        .prop_map(|(graph, stride, declared)| graph.spread(stride, declared))
}

/// A graph and a permutation of its slots.
pub fn graphs_to_relabel(
    slots_max: u32,
    edges_max: usize,
) -> impl Strategy<Value = (Graph, Vec<u32>)> {
    graphs(slots_max, edges_max).prop_flat_map(|graph| {
        let names: Vec<u32> = (0..graph.slots() as u32).collect();
        (Just(graph), Just(names).prop_shuffle())
    })
}

/// A graph and a permutation of its edges.
pub fn graphs_to_reorder(
    slots_max: u32,
    edges_max: usize,
) -> impl Strategy<Value = (Graph, Vec<usize>)> {
    graphs(slots_max, edges_max).prop_flat_map(|graph| {
        let order: Vec<usize> = (0..graph.pairs.len()).collect();
        (Just(graph), Just(order).prop_shuffle())
    })
}

fn ends(slots: u32) -> impl Strategy<Value = u32> + Clone {
    proptest::prop_oneof![0..slots, 0..slots.min(3)]
}

/// Finite weights: small whole ones (which sum exactly), fractions, nothing, very small and large.
fn weights() -> impl Strategy<Value = f64> {
    proptest::prop_oneof![
        4 => (0..100_u32).prop_map(f64::from),
        4 => 0.0..10.0_f64,
        1 => proptest::sample::select(vec![0.0, 1.0e-300, 1.0e-9, 1.0e9]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference::{Dangling, Stop, pagerank, spmv};
    use crate::relative_error;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    #[test]
    fn the_odd_cases_do_occur() {
        let mut runner = TestRunner::deterministic();
        let strategy = graphs(20, 60);
        let mut seen = [0; 6];
        for _ in 0..200 {
            let graph = strategy.new_tree(&mut runner).unwrap().current();
            let used = |slot| graph.pairs.iter().flatten().any(|end| *end as usize == slot);
            let odd = [
                graph.pairs.is_empty(),
                graph.pairs.iter().any(|[from, to]| from == to),
                graph.simple().pairs.len() < graph.pairs.len(),
                graph.present.contains(&false),
                (0..graph.slots()).any(|slot| graph.present[slot] && !used(slot)),
                graph.weights.is_some(),
            ];
            seen.iter_mut().zip(odd).for_each(|(count, odd)| *count += usize::from(odd));
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }

    proptest! {
        #[test]
        fn ranks_sum_to_one_when_lost_rank_is_spread(graph in graphs(30, 80)) {
            for dangling in [Dangling::Spread, Dangling::NetworkX] {
                let ranks = pagerank(&graph, 0.85, Stop::Iterations(8), dangling);
                prop_assert!((ranks.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn relabelling_relabels_the_answer((graph, names) in graphs_to_relabel(30, 80)) {
            let ranks = pagerank(&graph, 0.85, Stop::Iterations(8), Dangling::Spread);
            let renamed = graph.relabelled(&names);
            let found = pagerank(&renamed, 0.85, Stop::Iterations(8), Dangling::Spread);
            let back: Vec<f64> = names.iter().map(|name| found[*name as usize]).collect();
            prop_assert!(relative_error(&ranks, &back) < 1e-12);
        }

        #[test]
        fn the_order_of_the_edges_does_not_matter((graph, order) in graphs_to_reorder(30, 80)) {
            let x: Vec<f64> = (0..graph.slots()).map(|slot| 1.0 + slot as f64).collect();
            let (here, there) = (spmv(&graph, &x), spmv(&graph.reordered(&order), &x));
            prop_assert!(relative_error(&here, &there) < 1e-12);
        }

        #[test]
        fn dense_graphs_have_no_gaps(graph in dense_graphs(30, 80)) {
            prop_assert_eq!(graph.vertices(), graph.slots());
        }
    }
}
