//! The traversals against the interpreter and against plain loops over queues, heaps and forests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use proptest::prelude::*;
use welter_algorithms::{Bfs, BfsTree, LabelPropagation, Sssp, Wcc};
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_model::table::{ColumnData, NO_VERTEX};
use welter_testing::executors::{Executor, Nearness, executors, judge};
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;
use welter_testing::strategies::{cases, wide_graphs};

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};
const UNDIRECTED: Reading = Reading { undirected: true, ..PLAIN };

fn reading(undirected: bool) -> Reading {
    if undirected { UNDIRECTED } else { PLAIN }
}

/// Targets and weights of the edges that leave each vertex.
fn adjacency(graph: &Graph) -> Vec<Vec<(usize, f64)>> {
    let numbers = graph.numbers();
    let mut rows = vec![Vec::new(); graph.vertices()];
    for (edge, pair) in graph.pairs.iter().enumerate() {
        let [from, to] = pair.map(|slot| numbers[slot as usize]);
        rows[from].push((to, graph.weight(edge)));
    }
    rows
}

/// Depths by a queue.
fn plain_depths(rows: &[Vec<(usize, f64)>], sources: &[u64]) -> Vec<i64> {
    let mut depths = vec![-1; rows.len()];
    let mut queue: VecDeque<usize> = sources.iter().map(|&source| source as usize).collect();
    for &source in sources {
        depths[source as usize] = 0;
    }
    while let Some(vertex) = queue.pop_front() {
        for &(next, _) in &rows[vertex] {
            if depths[next] < 0 {
                depths[next] = depths[vertex] + 1;
                queue.push_back(next);
            }
        }
    }
    depths
}

/// Distances by Dijkstra's algorithm. Non-negative floats are ordered as their bits are.
fn plain_distances(rows: &[Vec<(usize, f64)>], source: u64) -> Vec<f64> {
    let mut distances = vec![f64::INFINITY; rows.len()];
    distances[source as usize] = 0.0;
    let mut heap = BinaryHeap::from([Reverse((0_u64, source as usize))]);
    while let Some(Reverse((bits, vertex))) = heap.pop() {
        let distance = f64::from_bits(bits);
        if distance > distances[vertex] {
            continue;
        }
        for &(next, weight) in &rows[vertex] {
            if distance + weight < distances[next] {
                distances[next] = distance + weight;
                heap.push(Reverse((distances[next].to_bits(), next)));
            }
        }
    }
    distances
}

/// The smallest vertex of each component, by spreading it until nothing changes.
fn plain_components(rows: &[Vec<(usize, f64)>]) -> Vec<u64> {
    let mut labels: Vec<u64> = (0..rows.len() as u64).collect();
    loop {
        let before = labels.clone();
        for (from, row) in rows.iter().enumerate() {
            for &(to, _) in row {
                let least = labels[from].min(labels[to]);
                (labels[from], labels[to]) = (least, least);
            }
        }
        if labels == before {
            return labels;
        }
    }
}

fn column<V: Value>(values: &[V], name: &str) -> ColumnData {
    let found = V::columns(values).into_iter().find(|column| column.0 == name);
    found.map(|column| column.1).unwrap()
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn depths(
        graph in wide_graphs(60, 200),
        sources in prop::collection::vec(0_u64..60, 1..4),
        undirected in any::<bool>(),
    ) {
        let sources: Vec<u64> = sources.iter().map(|s| s % graph.vertices() as u64).collect();
        let answer =
            judge(&graph, reading(undirected), &Bfs::new(sources.clone()), Nearness::Bits);
        let rows = adjacency(&read_as(&graph, reading(undirected)));
        let expected = plain_depths(&rows, &sources);
        prop_assert_eq!(column(&answer.values, "depth"), ColumnData::I64(expected));
    }

    #[test]
    fn trees(
        graph in wide_graphs(60, 200),
        source in 0_u64..60,
        undirected in any::<bool>(),
    ) {
        let source = source % graph.vertices() as u64;
        let program = BfsTree::new(vec![source]);
        let answer = judge(&graph, reading(undirected), &program, Nearness::Bits);
        let rows = adjacency(&read_as(&graph, reading(undirected)));
        let depths = plain_depths(&rows, &[source]);
        prop_assert_eq!(column(&answer.values, "depth"), ColumnData::I64(depths.clone()));
        let ColumnData::Vertices(parents) = column(&answer.values, "parent") else {
            panic!("parents are vertices")
        };
        for (vertex, &parent) in parents.iter().enumerate() {
            let before = |&from: &usize| {
                depths[from] + 1 == depths[vertex] && rows[from].iter().any(|e| e.0 == vertex)
            };
            let expected = match depths[vertex] {
                -1 => NO_VERTEX,
                0 => vertex as u64,
                _ => (0..rows.len()).find(before).unwrap() as u64,
            };
            prop_assert_eq!(parent, expected);
        }
    }

    #[test]
    fn distances(
        graph in wide_graphs(60, 200),
        source in 0_u64..60,
        bucket in prop::sample::select(vec![0.5, 10.0, 300.0, f64::INFINITY]),
    ) {
        let source = source % graph.vertices() as u64;
        let expected = plain_distances(&adjacency(&read_as(&graph, UNDIRECTED)), source);
        for executor in executors() {
            let program = Sssp::<f64>::new(vec![source], bucket);
            let answer = executor.run(&graph, UNDIRECTED, &program);
            let found = column(&answer.values, "distance");
            prop_assert_eq!(found, ColumnData::F64(expected.clone()), "{:?}", executor);
        }
        judge(&graph, PLAIN, &Sssp::<f32>::new(vec![source], f64::INFINITY), Nearness::Bits);
    }

    #[test]
    fn components(graph in wide_graphs(60, 80)) {
        let expected = plain_components(&adjacency(&graph));
        let answer = judge(&graph, UNDIRECTED, &LabelPropagation, Nearness::Bits);
        let expected = ColumnData::Vertices(expected);
        prop_assert_eq!(&column(&answer.values, "component"), &expected);
        for executor in executors() {
            if let Executor::Memory(memory) = executor {
                let values = memory.pass(&graph, PLAIN, &Wcc);
                prop_assert_eq!(&column(&values, "component"), &expected, "{:?}", memory);
            }
        }
    }
}

#[test]
fn a_source_that_does_not_exist_reaches_nothing() {
    let graph = Graph::new(3, vec![[0, 1], [1, 2]]);
    let answer = judge(&graph, PLAIN, &Bfs::new(vec![7]), Nearness::Bits);
    assert_eq!(column(&answer.values, "depth"), ColumnData::I64(vec![-1; 3]));
    assert_eq!(answer.iterations, 0);
}

/// Big enough for every way of finding edges, with levels that are dense and sparse in turn.
#[test]
fn a_grid_and_a_random_graph_in_one() {
    let side = 150_u32;
    let mut pairs = Vec::new();
    for row in 0..side {
        for place in 0..side {
            let vertex = row * side + place;
            if place + 1 < side {
                pairs.push([vertex, vertex + 1]);
            }
            if row + 1 < side {
                pairs.push([vertex, vertex + side]);
            }
        }
    }
    let grid = side * side;
    let random = 100_000_u32;
    let mut state = 5_u64;
    for _ in 0..700_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        pairs.push([grid + (state >> 40) as u32 % random, grid + (state >> 20) as u32 % random]);
    }
    pairs.push([grid - 1, grid]);
    let graph = Graph::new((grid + random) as usize, pairs);
    let rows = adjacency(&read_as(&graph, UNDIRECTED));
    let expected = plain_depths(&rows, &[0]);
    let executors = executors();
    for executor in executors.iter().skip(1).step_by(2) {
        let answer = executor.run(&graph, UNDIRECTED, &Bfs::new(vec![0]));
        let found = column(&answer.values, "depth");
        assert_eq!(found, ColumnData::I64(expected.clone()), "{executor:?}");
    }
    let weights = plain_distances(&rows, 0);
    for executor in executors.iter().skip(2).step_by(3) {
        let answer = executor.run(&graph, UNDIRECTED, &Sssp::<f64>::new(vec![0], 3.0));
        assert_eq!(column(&answer.values, "distance"), ColumnData::F64(weights.clone()));
    }
}
