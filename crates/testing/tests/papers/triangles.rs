//! Triangles and clustering coefficients against plain loops, and against what others computed.

use proptest::prelude::*;
use welter_algorithms::{Lcc, Triangles};
use welter_model::edges::{Duplicates, Reading};
use welter_model::intersect::Intersect;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::answers::shared_data;
use welter_testing::executors::{Executor, Memory, executors};
use welter_testing::graph::Graph;
use welter_testing::plain::closed;
use welter_testing::samples::{self, Shape, samples};
use welter_testing::strategies::wide_graphs;

/// Pairs of neighbours, each joined once.
const PAIRS: Reading = Reading {
    undirected: true,
    reversed: false,
    drop_self_loops: true,
    duplicates: Duplicates::First,
};

/// The same, with the ways that there are.
fn ways(undirected: bool) -> Reading {
    Reading { undirected, duplicates: Duplicates::Directions, ..PAIRS }
}

/// Executors that walk over triangles, those for all graphs or only some in memory and on storage.
fn engines(graph: &Graph) -> Vec<Memory> {
    // Rows fill a few blocks.
    let room = (2 * graph.pairs.len() as u64).max(1 << 12);
    let all = executors().into_iter().filter_map(|executor| match executor.with_groups(room) {
        Executor::Memory(memory) => Some(memory),
        Executor::Reference | Executor::Kept(..) => None,
    });
    let all: Vec<Memory> = all.collect();
    match graph.pairs.len() {
        0..20_000 => all,
        20_000..600_000 => [0, 3, 8, 15].map(|place: usize| all[place].clone()).to_vec(),
        _ => [0, 15].map(|place: usize| all[place].clone()).to_vec(),
    }
}

/// What all engines say.
fn found<I: Intersect>(graph: &Graph, reading: Reading, program: &I) -> Vec<I::Value> {
    let mut answers = engines(graph).into_iter().map(|engine| {
        let values = engine.intersect(graph, reading, program);
        (values, engine)
    });
    let (first, _) = answers.next().expect("there are engines");
    let bytes = |values: &[I::Value]| bytemuck::cast_slice::<_, u8>(values).to_vec();
    for (other, engine) in answers {
        assert!(bytes(&other) == bytes(&first), "{engine:?} disagrees");
    }
    first
}

fn counts(values: &[<Triangles as Intersect>::Value]) -> Vec<u64> {
    match Value::columns(values).remove(0).1 {
        ColumnData::U64(counts) => counts,
        other => panic!("{other:?} are no counts"),
    }
}

fn shares<V: Value>(values: &[V]) -> Vec<f64> {
    match V::columns(values).remove(0).1 {
        ColumnData::F64(shares) => shares,
        other => panic!("{other:?} are no shares"),
    }
}

fn share(neighbours: usize, edges: usize) -> f64 {
    if neighbours < 2 { 0.0 } else { edges as f64 / (neighbours * (neighbours - 1)) as f64 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pairs_of_neighbours_are_those_of_a_plain_loop(graph in wide_graphs(40, 250)) {
        let expected = closed(&graph);
        let pairs: Vec<u64> = expected.iter().map(|(.., pairs)| *pairs as u64).collect();
        prop_assert_eq!(counts(&found(&graph, PAIRS, &Triangles)), pairs);
        let of = |&(near, edges, _): &(usize, usize, usize)| share(near, edges);
        let directed: Vec<f64> = expected.iter().map(of).collect();
        prop_assert_eq!(shares(&found(&graph, ways(false), &Lcc)), directed);
        let of = |&(near, _, pairs): &(usize, usize, usize)| share(near, 2 * pairs);
        let undirected: Vec<f64> = expected.iter().map(of).collect();
        prop_assert_eq!(shares(&found(&graph, ways(true), &Lcc)), undirected);
    }
}

#[test]
fn a_complete_graph_has_all_triangles() {
    let clique = (0..120_u32).flat_map(|v| (v + 1..120).map(move |w| [v, w]));
    let graph = Graph::new(120, clique.collect());
    assert_eq!(counts(&found(&graph, PAIRS, &Triangles)), [119 * 118 / 2; 120]);
    assert_eq!(shares(&found(&graph, ways(true), &Lcc)), [1.0; 120]);
    // Of each pair one edge of two is there.
    assert_eq!(shares(&found(&graph, ways(false), &Lcc)), [0.5; 120]);
}

#[test]
fn triangles_of_every_graph() {
    for sample in samples() {
        let answers = sample.answers();
        let graph = sample.load_simple(&answers);
        let expected = answers.integers("tri_per_vertex").expect("triangles were counted");
        let expected: Vec<u64> = expected.iter().map(|count| *count as u64).collect();
        let total = answers.json["triangles"]["total"].as_u64();
        assert_eq!(total, Some(expected.iter().sum::<u64>() / 3), "{}", sample.name);
        assert!(counts(&found(&graph, PAIRS, &Triangles)) == expected, "{}", sample.name);
        if let Some(expected) = answers.floats("lcc_ldbc_directed") {
            near(&shares(&found(&graph, ways(false), &Lcc)), expected, sample.name);
        }
    }
}

fn near(found: &[f64], expected: &[f64], name: &str) {
    let near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 1e-12;
    assert!(found.len() == expected.len(), "{name}");
    assert!(found.iter().zip(expected).all(near), "{name}");
}

#[test]
fn clustering_coefficients_of_ldbc_and_libgrape() {
    let Some(data) = shared_data() else { return };
    let ldbc = data.join("suites/ldbc-validation");
    let p2p = data.join("graphs/p2p-31/p2p-31.e.zst");
    let cases = [
        (ldbc.join("lcc/dir-input"), Shape::Adjacency, ldbc.join("lcc/dir-output"), true),
        (ldbc.join("lcc/undir-input"), Shape::Adjacency, ldbc.join("lcc/undir-output"), false),
        (
            ldbc.join("example/example-directed.e"),
            Shape::Weighted,
            ldbc.join("example/example-directed-LCC"),
            true,
        ),
        (
            ldbc.join("example/example-undirected.e"),
            Shape::Weighted,
            ldbc.join("example/example-undirected-LCC"),
            false,
        ),
        (p2p, Shape::Weighted, data.join("suites/libgrape-p2p-31/p2p-31-LCC.zst"), false),
    ];
    for (input, shape, output, directed) in cases {
        let (ids, expected) = samples::values(&output);
        let rows = samples::read(&input, shape);
        let graph = Graph::from_ids(&ids, &rows.pairs, None);
        let found = shares(&found(&graph, ways(!directed), &Lcc));
        near(&found, &expected, &output.display().to_string());
    }
}
