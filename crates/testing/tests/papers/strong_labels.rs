//! Strongly connected components by labels against searches both ways (Kosaraju), on all routes.

use proptest::prelude::*;
use welter_algorithms::StrongLabels;
use welter_algorithms::strong_rounds::Labelled;
use welter_model::edges::{Duplicates, Reading};
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, Nearness, executors, judge};
use welter_testing::graph::Graph;
use welter_testing::plain::strong_components;
use welter_testing::strategies::{graphs_to_relabel, wide_graphs};

const WAYS: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: true,
    duplicates: Duplicates::Directions,
};

fn components(labels: &[Labelled]) -> Vec<u64> {
    match Labelled::columns(labels).remove(0).1 {
        ColumnData::Vertices(components) => components,
        _ => panic!("components are vertices"),
    }
}

/// On all executors; says in how many iterations.
fn judged(graph: &Graph) -> u64 {
    let answer = judge(graph, WAYS, &StrongLabels, Nearness::Bits);
    assert_eq!(components(&answer.values), strong_components(graph));
    assert_eq!(answer.total.open, 0);
    answer.iterations
}

/// On one, which is quick.
fn quickly(graph: &Graph) -> u64 {
    let answer = executors()[1].run(graph, WAYS, &StrongLabels);
    assert!(components(&answer.values) == strong_components(graph));
    answer.iterations
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn as_kosaraju(graph in wide_graphs(200, 400)) {
        judged(&graph);
    }

    #[test]
    fn of_dense_graphs(graph in wide_graphs(60, 1500)) {
        judged(&graph);
    }

    #[test]
    fn backwards_and_by_other_names((graph, names) in graphs_to_relabel(150, 250)) {
        let back = executors()[2].run(&graph, Reading { reversed: true, ..WAYS }, &StrongLabels);
        prop_assert_eq!(components(&back.values), strong_components(&graph));
        quickly(&graph.relabelled(&names));
    }
}

/// Cycles of two vertices, each with an edge to the next one, numbered in this order.
fn chain(order: &[u32]) -> Graph {
    let within = order.iter().flat_map(|&at| [[2 * at, 2 * at + 1], [2 * at + 1, 2 * at]]);
    let between = order.windows(2).map(|pair| [2 * pair[0] + 1, 2 * pair[1]]);
    Graph::new(2 * order.len(), within.chain(between).collect())
}

#[test]
fn chains_are_decided_in_two_rounds_when_their_numbers_rise_or_fall() {
    let count = 100;
    let rising: Vec<u32> = (0..count).collect();
    let falling: Vec<u32> = (0..count).rev().collect();
    // A round spreads and reaches along all of it once each.
    let most = u64::from(count) * 8 + 40;
    assert!(quickly(&chain(&rising)) < most && quickly(&chain(&falling)) < most);
    // In an order that is bad both ways each round decides one; it ends all the same.
    let inwards: Vec<u32> =
        (0..20).step_by(2).chain((0..20).rev().filter(|at| at % 2 == 1)).collect();
    assert!(quickly(&chain(&inwards)) < 20 * 100);
}

#[test]
fn known_graphs() {
    let cycle = |first: u32, count: u32| {
        (0..count).map(move |place| [first + place, first + (place + 1) % count])
    };
    let starts: Vec<u32> =
        (1..=15).scan(0, |at, count| Some(std::mem::replace(at, *at + count))).collect();
    let cycles = starts.iter().zip(1..).flat_map(|(&first, count)| cycle(first, count));
    let between = starts.windows(2).map(|pair| [pair[0], pair[1]]);
    judged(&Graph::new(120, cycles.chain(between).collect()));
    // All in one, all alone in one trim after the other, loops, and no edge at all.
    judged(&Graph::new(60, cycle(0, 60).collect()));
    judged(&Graph::new(20, (0..20).flat_map(|a| (0..a).map(move |b| [a, b])).collect()));
    judged(&Graph::new(3, vec![[1, 1], [0, 0], [0, 0]]));
    judged(&Graph::new(1, Vec::new()));
}

#[test]
fn an_undirected_graph_hangs_together() {
    let graph = Graph::new(6, vec![[0, 1], [1, 2], [4, 3]]);
    let reading = Reading { undirected: true, ..WAYS };
    for executor in executors().iter().filter(|executor| **executor != Executor::Reference) {
        let found = executor.run(&graph, reading, &StrongLabels);
        assert_eq!(components(&found.values), [0, 0, 0, 3, 3, 5], "{executor:?}");
    }
}
