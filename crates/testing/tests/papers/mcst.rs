//! Minimum-cost spanning forests against Kruskal's algorithm, and by what makes one: it spans, it
//! has no cycle, and no edge that was left out is better than one on the path between its ends.

use std::collections::VecDeque;

use proptest::prelude::*;
use welter_algorithms::mcst::Cost;
use welter_algorithms::{ForestLabels, Mcst};
use welter_model::edges::{Duplicates, Reading};
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{self, Nearness, executors};
use welter_testing::graph::Graph;
use welter_testing::plain::{self, Branch as Found};
use welter_testing::strategies::wide_graphs;

/// The rows of a result.
fn rows<V: Value>(branches: &[V]) -> Vec<Found> {
    let mut columns = V::columns(branches).into_iter();
    let mut next = || columns.next().expect("three columns").1;
    let (ColumnData::Vertices(sources), ColumnData::Vertices(targets), ColumnData::F64(weights)) =
        (next(), next(), next())
    else {
        panic!("two ends and a weight")
    };
    let ends = sources.into_iter().zip(targets);
    ends.zip(weights).map(|((source, target), weight)| (source, target, weight)).collect()
}

/// The edges on the path of a forest between two vertices, if there is one.
fn path(forest: &[Found], vertices: usize, from: u64, to: u64) -> Option<Vec<f64>> {
    let mut before = vec![None; vertices];
    let mut queue = VecDeque::from([from]);
    while let Some(here) = queue.pop_front().filter(|&here| here != to) {
        for &(one, other, weight) in forest.iter().filter(|edge| edge.0 == here || edge.1 == here) {
            let there = if one == here { other } else { one };
            if there != from && before[there as usize].is_none() {
                before[there as usize] = Some((here, weight));
                queue.push_back(there);
            }
        }
    }
    let (mut here, mut weights) = (to, Vec::new());
    while here != from {
        let (back, weight) = before[here as usize]?;
        weights.push(weight);
        here = back;
    }
    Some(weights)
}

/// Verifies the laws of a forest.
fn verify(graph: &Graph, cost: Cost, forest: &[Found]) {
    let edges = by_cost(graph, cost);
    for edge in forest {
        assert!(edges.contains(edge), "{edge:?} is no edge");
    }
    for &(one, other, weight) in &edges {
        let path = path(forest, graph.vertices(), one, other).expect("what hangs together");
        let no_worse = |&on_path: &f64| match cost {
            Cost::Minimum => on_path <= weight,
            Cost::Maximum => on_path >= weight,
        };
        assert!(path.iter().all(no_worse), "{one} - {other} should be in");
    }
    for (number, &(one, other, _)) in forest.iter().enumerate() {
        let others: Vec<Found> = [&forest[..number], &forest[number + 1..]].concat();
        assert_eq!(path(&others, graph.vertices(), one, other), None, "a cycle");
    }
}

fn by_cost(graph: &Graph, cost: Cost) -> Vec<Found> {
    plain::by_cost(graph, cost == Cost::Maximum)
}

fn kruskal(graph: &Graph, cost: Cost) -> Vec<Found> {
    plain::forest(graph, cost == Cost::Maximum)
}

const BOTH_WAYS: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};

/// Runs it on all executors by passes, and on one of them, another for each graph, by labels that
/// spread.
fn judge(graph: &Graph, cost: Cost) {
    let (found, _) = by_passes(graph, cost);
    let all = executors();
    let executor = &all[graph.pairs.len() % all.len()];
    let by_labels = executor.run(graph, BOTH_WAYS, &ForestLabels::new(cost));
    assert_eq!(rows(&by_labels.values), found, "rows by labels of {executor:?}");
}

/// Forest by labels on all executors, and the number of iterations.
fn by_labels(graph: &Graph, cost: Cost) -> (Vec<Found>, u64) {
    let answer = executors::judge(graph, BOTH_WAYS, &ForestLabels::new(cost), Nearness::Bits);
    assert_eq!(answer.total.open, 0);
    (rows(&answer.values), answer.iterations)
}

/// Forest by passes on all executors that make some, and the most passes that one took.
fn by_passes(graph: &Graph, cost: Cost) -> (Vec<Found>, u64) {
    let expected = kruskal(graph, cost);
    let mut first: Option<Vec<Found>> = None;
    let mut most = 0;
    for executor in executors() {
        let program = Mcst::new(cost);
        let Some((branches, passes)) = executor.pass(graph, Reading::default(), &program) else {
            continue;
        };
        let found = rows(&branches);
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "rows of {executor:?}");
        most = most.max(passes);
    }
    let found = first.expect("some executors run it");
    let mut sorted = found.clone();
    sorted.sort_by_key(|edge| (edge.0, edge.1));
    assert_eq!(sorted, expected);
    (found, most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn as_kruskal(graph in wide_graphs(300, 1500)) {
        judge(&graph, Cost::Minimum);
        judge(&graph, Cost::Maximum);
    }

    #[test]
    fn spans_without_cycles_and_no_edge_is_better(graph in wide_graphs(20, 60)) {
        let executor = &executors()[3];
        for cost in [Cost::Minimum, Cost::Maximum] {
            let program = Mcst::new(cost);
            let (branches, _) = executor.pass(&graph, Reading::default(), &program).unwrap();
            verify(&graph, cost, &rows(&branches));
        }
    }

    // Many edges of one weight, so that only their ends tell them apart.
    #[test]
    fn ties_make_no_cycles((graph, weights) in wide_graphs(60, 400).prop_flat_map(|graph| {
        let count = graph.pairs.len();
        (Just(graph), prop::collection::vec(0_u8..3, count))
    })) {
        let weights = weights.into_iter().map(|weight| f64::from(weight) - 1.0).collect();
        let graph = Graph { weights: Some(weights), ..graph };
        judge(&graph, Cost::Minimum);
        judge(&graph, Cost::Maximum);
    }

    // Edges that contraction makes parallel: of a grid the sides of components, of a path nothing.
    #[test]
    fn grids_and_paths_in_no_order(
        (names, weights, is_grid) in (
            Just((0_u32..30 * 30).collect::<Vec<_>>()).prop_shuffle(),
            prop::collection::vec(-4_i16..400, 2 * 30 * 30),
            any::<bool>(),
        )
    ) {
        let pairs: Vec<[u32; 2]> = if is_grid {
            let right = (0..900).filter(|at| at % 30 < 29).map(|at| [at, at + 1]);
            right.chain((0..870).map(|at| [at + 30, at])).collect()
        } else {
            (0..899).map(|at| [at, at + 1]).collect()
        };
        let pairs = pairs.into_iter().map(|pair| pair.map(|at| names[at as usize])).collect();
        let graph = Graph::new(900, pairs);
        let weights = weights[..graph.pairs.len()].iter().map(|weight| f64::from(*weight));
        let graph = Graph { weights: Some(weights.collect()), ..graph };
        by_passes(&graph, Cost::Minimum);
        by_passes(&graph, Cost::Maximum);
    }

    // A few vertices and thousands of edges between them, loops among them.
    #[test]
    fn edges_of_which_most_are_parallel(
        (pairs, weights, stride) in prop::collection::vec([0_u32..40, 0..40], 3000..6000)
            .prop_flat_map(|pairs| {
                let weights = prop::collection::vec(-1e3..1e3, pairs.len());
                (Just(pairs), weights, prop::sample::select(vec![1, 997]))
            })
    ) {
        let graph = Graph { weights: Some(weights), ..Graph::new(40, pairs) };
        by_passes(&graph.spread(stride, false), Cost::Minimum);
    }

    #[test]
    fn numbers_of_any_size((graph, weights) in wide_graphs(60, 400).prop_flat_map(|graph| {
        let count = graph.pairs.len();
        let odd = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, f64::MAX];
        (Just(graph), prop::collection::vec(prop::sample::select(odd.to_vec()), count))
    })) {
        judge(&Graph { weights: Some(weights), ..graph }, Cost::Minimum);
    }
}

proptest! {
    // Each takes some tens of iterations, by each executor.
    #![proptest_config(ProptestConfig::with_cases(2))]

    #[test]
    fn by_labels_as_by_passes(graph in wide_graphs(120, 400)) {
        let (found, _) = by_labels(&graph, Cost::Minimum);
        prop_assert_eq!(found, by_passes(&graph, Cost::Minimum).0);
    }
}

#[test]
fn parallel_edges_and_loops() {
    let pairs = vec![[0, 0], [1, 0], [0, 1], [1, 0], [2, 2], [1, 2], [2, 1], [3, 3]];
    let weights = vec![-9.0, 3.0, 1.0, 2.0, -1.0, 5.0, 5.0, 0.0];
    let graph = Graph { weights: Some(weights), ..Graph::new(5, pairs) };
    judge(&graph, Cost::Minimum);
    assert_eq!(kruskal(&graph, Cost::Minimum), [(0, 1, 1.0), (1, 2, 5.0)]);
    assert_eq!(kruskal(&graph, Cost::Maximum), [(0, 1, 3.0), (1, 2, 5.0)]);
    judge(&graph, Cost::Maximum);
    judge(&Graph::new(1, Vec::new()), Cost::Minimum);
}

#[test]
fn components_are_halved_by_every_pass() {
    // The hardest for Boruvka: in each pass two components become one.
    let halving = |count: u32| {
        let pairs: Vec<_> = (0..count - 1).map(|vertex| [vertex, vertex + 1]).collect();
        let weights = (1..count).map(|number| f64::from(number.trailing_zeros())).collect();
        Graph { weights: Some(weights), ..Graph::new(count as usize, pairs) }
    };
    let graph = halving(1 << 10);
    assert_eq!(by_passes(&graph, Cost::Minimum).1, 10);
    // Components with edges of equal weights hook in one pass.
    let alike = Graph { weights: None, ..graph };
    assert_eq!(by_passes(&alike, Cost::Minimum).1, 1);
    // News spreads through all of a component, and so does its name: of a path that is halved as
    // often that takes twice its length, and some iterations a round.
    let graph = halving(1 << 5);
    let (rows, iterations) = by_labels(&graph, Cost::Minimum);
    assert_eq!(rows, by_passes(&graph, Cost::Minimum).0);
    assert!((32..2 * 32 + 8 * 6).contains(&iterations), "{iterations}");
}
