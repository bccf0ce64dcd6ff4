//! Programs whose vertices fall silent: the engine must skip exactly what is inactive.
//!
//! All sums are of integers and all else are minima, so every executor gives the same bits.

use proptest::prelude::*;
use welter_model::edges::Reading;
use welter_testing::executors::{Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::strategies::wide_graphs;

use crate::programs::{Classes, Depth, Distance, Flicker, SmallestLabel};

const PLAIN: Reading = Reading {
    undirected: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};
const UNDIRECTED: Reading = Reading { undirected: true, ..PLAIN };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn smallest_labels(graph in wide_graphs(40, 120), undirected in any::<bool>()) {
        let reading = if undirected { UNDIRECTED } else { PLAIN };
        judge(&graph, reading, &SmallestLabel, Nearness::Bits);
    }

    #[test]
    fn depths(graph in wide_graphs(40, 120), source in 0_u64..40) {
        let program = Depth { source: source % graph.vertices() as u64 };
        judge(&graph, PLAIN, &program, Nearness::Bits);
    }

    #[test]
    fn distances(graph in wide_graphs(40, 120), source in 0_u64..40) {
        let program = Distance { source: source % graph.vertices() as u64 };
        judge(&graph, PLAIN, &program, Nearness::Bits);
    }

    #[test]
    fn nobody_speaks_out_of_turn(
        graph in wide_graphs(40, 120),
        one_in in 1_u64..20,
        rounds in 0_u64..12,
    ) {
        judge(&graph, PLAIN, &Flicker { one_in, rounds }, Nearness::Bits);
    }

    #[test]
    fn wide_accumulators(graph in wide_graphs(40, 120)) {
        judge(&graph, UNDIRECTED, &Classes, Nearness::Bits);
    }
}

#[test]
fn a_path_is_walked_to_its_end() {
    let pairs = (0..300).map(|v| [v, v + 1]).collect();
    let path = Graph::new(301, pairs).spread(50, false);
    let answer = judge(&path, PLAIN, &Depth { source: 0 }, Nearness::Bits);
    assert_eq!(answer.iterations, 301);
    assert_eq!(
        answer.values.iter().map(|value| value.0).collect::<Vec<_>>(),
        (0..301).collect::<Vec<i64>>()
    );
    let answer = judge(&path, UNDIRECTED, &SmallestLabel, Nearness::Bits);
    assert_eq!(answer.iterations, 301);
    assert!(answer.values.iter().all(|value| value.0 == 0));
}

#[test]
fn a_run_ends_when_nobody_is_active() {
    let answer = judge(&Graph::new(5, vec![]), PLAIN, &SmallestLabel, Nearness::Bits);
    assert_eq!(answer.iterations, 1);
}
