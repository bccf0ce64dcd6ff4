//! Maximal independent sets against a loop over the vertices, and against what such a set is.

use proptest::prelude::*;
use welter_algorithms::Mis;
use welter_algorithms::mis::{Decision, priority};
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::samples::samples;
use welter_testing::strategies::wide_graphs;

const UNDIRECTED: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};

/// The neighbours of each vertex, itself not among them.
fn neighbours(graph: &Graph) -> Vec<Vec<usize>> {
    let numbers = graph.numbers();
    let mut rows = vec![Vec::new(); graph.vertices()];
    for pair in &graph.pairs {
        let [one, other] = pair.map(|slot| numbers[slot as usize]);
        if one != other {
            rows[one].push(other);
            rows[other].push(one);
        }
    }
    rows
}

/// Takes each vertex that it can, in the order of their priorities.
fn greedy(rows: &[Vec<usize>], seed: u64) -> Vec<u32> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&vertex| priority(seed, vertex as u64));
    let mut taken = vec![0; rows.len()];
    for vertex in order {
        taken[vertex] = u32::from(rows[vertex].iter().all(|&next| taken[next] == 0));
    }
    taken
}

/// No two are neighbours, and all others have a neighbour among them.
fn is_maximal_and_independent(rows: &[Vec<usize>], set: &[u32]) -> bool {
    let met = |vertex: usize| rows[vertex].iter().filter(|&&next| set[next] == 1).count();
    (0..rows.len()).all(|vertex| (set[vertex] == 1) == (met(vertex) == 0))
}

fn set(values: &[Decision]) -> Vec<u32> {
    let columns = Value::columns(values);
    let [("in_set", ColumnData::U32(set))] = columns.as_slice() else {
        panic!("{columns:?} are no set")
    };
    set.clone()
}

/// The set of a graph, judged.
fn judged(graph: &Graph, seed: u64) -> Vec<u32> {
    let answer = judge(graph, UNDIRECTED, &Mis::new(seed), Nearness::Bits);
    let rows = neighbours(graph);
    let found = set(&answer.values);
    assert!(is_maximal_and_independent(&rows, &found));
    assert_eq!(found, greedy(&rows, seed));
    assert_eq!(answer.total.joined, found.iter().map(|&one| u64::from(one)).sum::<u64>());
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sets_are_those_of_a_loop(graph in wide_graphs(60, 150), seed in any::<u64>()) {
        judged(&graph, seed);
    }
}

#[test]
fn the_verifier_refuses_what_is_no_such_set() {
    let rows = neighbours(&Graph::new(4, vec![[0, 1], [1, 2], [2, 3]]));
    for (set, is) in [
        ([1, 0, 1, 0], true),
        ([1, 0, 0, 1], true),
        ([1, 0, 0, 0], false),
        ([1, 1, 0, 1], false),
        ([0, 0, 0, 0], false),
    ] {
        assert_eq!(is_maximal_and_independent(&rows, &set), is, "{set:?}");
    }
}

#[test]
fn graphs_whose_sets_are_known() {
    // Of a complete graph one vertex; of a star the centre or all leaves, by the seed; loops and
    // edges that occur twice change nothing.
    let others = |v| (0..9).filter(move |w| *w != v).map(move |w| [v, w]);
    let complete = Graph::new(9, (0..9).flat_map(others).chain([[3, 3]]).collect());
    let star = Graph::new(4, (1..4).flat_map(|leaf| [[0, leaf], [leaf, 0]]).collect());
    assert_eq!(judged(&complete, 1).iter().sum::<u32>(), 1);
    let is_centre = |seed: &u64| (1..4).all(|leaf| priority(*seed, 0) < priority(*seed, leaf));
    let centre = (0..100).find(is_centre).unwrap();
    assert_eq!(judged(&star, centre), [1, 0, 0, 0]);
    let leaves = (0..100).find(|seed| !is_centre(seed)).unwrap();
    assert_eq!(judged(&star, leaves), [0, 1, 1, 1]);
    assert_eq!(judged(&Graph::new(3, vec![]), 1), [1, 1, 1]);
    assert_eq!(judged(&Graph::new(2, vec![[0, 0], [1, 1], [1, 1]]), 1), [1, 1]);
    assert_eq!(judged(&Graph::new(0, vec![]), 1), [0_u32; 0]);
}

/// A path decides its vertices one after the other where priorities happen to ascend, so there are
/// many iterations with few vertices; a real graph has a few that are full.
#[test]
fn long_paths_and_a_real_network() {
    let path = Graph::new(20_000, (1..20_000).map(|vertex| [vertex - 1, vertex]).collect());
    let found = judged(&path, 7);
    // Between a third and a half of the vertices of a path, whatever the order.
    let size = found.iter().sum::<u32>();
    assert!((6_666..=10_000).contains(&size), "{size}");
    if let Some(sample) = samples().into_iter().find(|sample| sample.name == "facebook_combined") {
        judged(&sample.load(&sample.answers()), 1);
    }
}
