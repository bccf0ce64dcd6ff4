//! Programs that contract: components against searches, forests against Kruskal's algorithm, and
//! how few iterations they take on graphs that are long.

use proptest::prelude::*;
use welter_algorithms::mcst::Cost;
use welter_algorithms::{ForestContraction, LocalContraction, StrongContraction};
use welter_model::edges::{Duplicates, Reading};
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret_contract;
use welter_testing::plain;
use welter_testing::reading::read_as;
use welter_testing::strategies::dense_graphs;

/// Compares with the reference; says how many iterations it took.
fn components_judged(graph: &Graph, seed: u64) -> u64 {
    let pairs = Reading { undirected: true, drop_self_loops: true, ..Reading::default() };
    let slots = graph.slots();
    let graph = Graph::new(slots, graph.pairs.clone());
    let mut read = read_as(&graph, pairs);
    read.pairs.extend((0..slots as u32).map(|vertex| [vertex; 2]));
    let answer = interpret_contract(&read, &LocalContraction::new(seed));
    let ColumnData::Vertices(found) = Value::columns(&answer.values).remove(0).1 else {
        panic!("components are vertices")
    };
    assert!(found == plain::components(&graph), "seed {seed}");
    answer.iterations
}

proptest! {
    #[test]
    fn components_are_those_of_searches(graph in dense_graphs(60, 90), seed: u64) {
        components_judged(&graph, seed);
    }

    #[test]
    fn components_of_dense_graphs_too(graph in dense_graphs(60, 400), seed: u64) {
        components_judged(&graph, seed);
    }
}

/// A grid of `rows` rows and `columns` columns, whose crossings are numbered in a scrambled order.
fn grid(rows: u32, columns: u32) -> Graph {
    let count = rows * columns;
    let at = |row: u32, column: u32| (row * columns + column).wrapping_mul(1_000_003) % count;
    let mut pairs = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            pairs.extend((column + 1 < columns).then(|| [at(row, column), at(row, column + 1)]));
            pairs.extend((row + 1 < rows).then(|| [at(row, column), at(row + 1, column)]));
        }
    }
    Graph::new(count as usize, pairs)
}

#[test]
fn rounds_grow_with_the_logarithm_of_a_path() {
    // Labels that spread take as many iterations as there are vertices, less one.
    for (rows, columns, most) in [(1, 4000, 31), (64, 64, 21), (1, 250, 23), (16, 16, 17)] {
        for seed in 0..5 {
            let iterations = components_judged(&grid(rows, columns), seed);
            assert!(iterations <= most, "{iterations} iterations of {rows} by {columns}");
        }
    }
}

#[test]
fn a_star_takes_two_rounds_and_a_graph_without_edges_none() {
    let star = Graph::new(500, (1..500).map(|leaf| [leaf, 0]).collect());
    for seed in 0..5 {
        // Two rounds at most, and an offer that no vertex gets.
        assert!(components_judged(&star, seed) <= 5);
    }
    assert_eq!(components_judged(&Graph::new(9, Vec::new()), 1), 1);
    assert_eq!(components_judged(&Graph::new(9, vec![[4, 4], [4, 4]]), 1), 1);
    assert_eq!(components_judged(&Graph::new(2, vec![[1, 0]]), 1), 3);
}

/// Compares with Kosaraju's components; says how many iterations it took.
fn strong_judged(graph: &Graph) -> u64 {
    let duplicates = Duplicates::Directions;
    let ways = Reading { drop_self_loops: true, duplicates, ..Reading::default() };
    let answer = interpret_contract(&read_as(graph, ways), &StrongContraction);
    let ColumnData::Vertices(found) = Value::columns(&answer.values).remove(0).1 else {
        panic!("components are vertices")
    };
    assert!(found == plain::strong_components(graph), "{:?}", graph.pairs);
    answer.iterations
}

proptest! {
    #[test]
    fn strong_components_are_those_of_searches(graph in dense_graphs(60, 90)) {
        strong_judged(&graph);
    }

    #[test]
    fn strong_components_of_dense_graphs_too(graph in dense_graphs(60, 400)) {
        strong_judged(&graph);
    }
}

#[test]
fn chains_of_strong_components_take_two_rounds_whichever_way_they_rise() {
    // Circles of three, each of which leads to the next one.
    let circles = |up: bool| {
        let circle = |at: u32| if up { 3 * at } else { 3 * (99 - at) };
        let mut pairs = Vec::new();
        for at in 0..100 {
            let first = circle(at);
            pairs.extend([[first, first + 1], [first + 1, first + 2], [first + 2, first]]);
            pairs.extend((at < 99).then(|| [first, circle(at + 1)]));
        }
        Graph::new(300, pairs)
    };
    let [rising, falling] = [true, false].map(|up| strong_judged(&circles(up)));
    assert!(falling < 20, "one round decides all: {falling}");
    assert!(rising < 140, "the first round hands one label on along all of it: {rising}");
    assert_eq!(strong_judged(&Graph::new(9, Vec::new())), 1);
}

/// Compares with Kruskal's forest; says how many iterations it took.
fn forest_judged(graph: &Graph, cost: Cost) -> u64 {
    let both = read_as(graph, Reading { undirected: true, ..Reading::default() });
    let answer = interpret_contract(&both, &ForestContraction::new(cost));
    let listed: Vec<_> = answer.values.iter().filter(|value| value.is_listed()).copied().collect();
    let [
        (_, ColumnData::Vertices(sources)),
        (_, ColumnData::Vertices(targets)),
        (_, ColumnData::F64(weights)),
    ] = &Value::columns(&listed)[..]
    else {
        panic!("two ends and a weight")
    };
    let row = |at: usize| (sources[at], targets[at], weights[at].to_bits());
    let mut listed: Vec<_> = (0..listed.len()).map(row).collect();
    listed.sort_unstable();
    let expected = plain::forest(graph, cost == Cost::Maximum).into_iter();
    let expected = expected.map(|(one, other, weight)| (one, other, weight.to_bits()));
    assert!(listed.into_iter().eq(expected), "{cost:?}");
    answer.iterations
}

proptest! {
    #[test]
    fn as_kruskal(graph in dense_graphs(100, 400)) {
        forest_judged(&graph, Cost::Minimum);
        forest_judged(&graph, Cost::Maximum);
    }

    // Many edges of one weight, so that only their ends tell them apart.
    #[test]
    fn ties_make_no_cycles((graph, weights) in dense_graphs(60, 400).prop_flat_map(|graph| {
        let count = graph.pairs.len();
        (Just(graph), prop::collection::vec(0_u8..3, count))
    })) {
        let weights = weights.into_iter().map(|weight| f64::from(weight) - 1.0).collect();
        let graph = Graph { weights: Some(weights), ..graph };
        forest_judged(&graph, Cost::Minimum);
        forest_judged(&graph, Cost::Maximum);
    }
}

/// A path whose edges have these weights.
fn path(weights: Vec<f64>) -> Graph {
    let pairs: Vec<[u32; 2]> = (0..weights.len() as u32).map(|at| [at, at + 1]).collect();
    Graph { weights: Some(weights), ..Graph::new(pairs.len() + 1, pairs) }
}

#[test]
fn paths_take_as_many_iterations_as_logarithms() {
    // All of them hook in a chain: one round, and pointers that double.
    let rising = path((0..4000).map(f64::from).collect());
    assert!(forest_judged(&rising, Cost::Minimum) <= 3 + 14 + 1);
    // Weights in no order: chains are short, and rounds a few.
    let mixed =
        path((0..4000_u32).map(|at| f64::from(at.wrapping_mul(2_654_435_761) >> 8)).collect());
    assert!(forest_judged(&mixed, Cost::Minimum) <= 60);
    assert!(forest_judged(&mixed, Cost::Maximum) <= 60);
}

#[test]
fn graphs_without_edges_and_loops() {
    assert_eq!(forest_judged(&Graph::new(9, Vec::new()), Cost::Minimum), 1);
    assert_eq!(forest_judged(&Graph::new(9, vec![[4, 4]]), Cost::Minimum), 1);
    // Offer, hook, double and find that nothing moved, rename, and an offer that no vertex gets.
    assert_eq!(forest_judged(&Graph::new(2, vec![[1, 0], [0, 1], [1, 1]]), Cost::Minimum), 5);
}
