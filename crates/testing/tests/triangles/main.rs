//! Triangles and clustering coefficients against plain loops, and against what others computed, on
//! every executor that walks over triangles: in memory, over stored edges, and by what travels.

use proptest::prelude::*;
use welter_algorithms::{Lcc, Triangles};
use welter_engine::plan::{Layout, OutOfCore, Route};
use welter_model::edges::{Duplicates, Reading};
use welter_model::intersect::Intersect;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, executors};
use welter_testing::graph::Graph;
use welter_testing::plain::closed;
use welter_testing::samples::samples;
use welter_testing::strategies::wide_graphs;
use welter_testing::validation::{Outcome, cases};

/// Pairs of neighbours, each joined once.
const PAIRS: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: true,
    duplicates: Duplicates::First,
};

/// Reading with the ways that there are.
fn ways(undirected: bool) -> Reading {
    Reading { undirected, duplicates: Duplicates::Directions, ..PAIRS }
}

/// Whether an executor lets rows travel.
fn spills(executor: &Executor) -> bool {
    matches!(executor.route(), Some(Route::Spill { .. }))
}

/// Executors that walk over triangles, those for all graphs or only some, on each route.
fn engines(graph: &Graph) -> Vec<Executor> {
    let pairs = graph.pairs.len() as u64;
    // Rows fill a few blocks, or a few ranges.
    let of = |executor: Executor| {
        let few = if spills(&executor) { pairs + 3 * graph.slots() as u64 } else { 2 * pairs };
        let least = if spills(&executor) { 1 << 7 } else { 1 << 12 };
        executor.with_groups(few.max(least))
    };
    let takes = |executor: &Executor| {
        *executor != Executor::Reference && executor.route() != Some(Route::Ranges)
    };
    let all: Vec<Executor> = executors().into_iter().filter(takes).map(of).collect();
    let (spilled, folded): (Vec<_>, Vec<_>) = all.into_iter().partition(spills);
    assert!(spilled.len() > 4);
    let some = |all: &[Executor], places: &[usize]| -> Vec<Executor> {
        places.iter().map(|place| all[*place].clone()).collect()
    };
    match pairs {
        0..20_000 => [folded, spilled].concat(),
        20_000..600_000 => [some(&folded, &[0, 3, 8, 15]), some(&spilled, &[1, 2, 3])].concat(),
        _ => [some(&folded, &[0, 15]), some(&spilled, &[2])].concat(),
    }
}

/// Result that all engines agree on.
fn found<I: Intersect>(graph: &Graph, reading: Reading, program: &I) -> Vec<I::Value> {
    let mut answers = engines(graph).into_iter().map(|engine| {
        let values = engine.intersect(graph, reading, program).expect("it is an engine");
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

/// Edges of two kinds: among the first 300 vertices, and from any to the nearest after it; hubs
/// have a vertex of each 64.
fn mixed(vertices: u32, edges: u32) -> Graph {
    let mut state = 5_u64;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u32 % below
    };
    let hubs = (0..vertices).filter_map(|v| (v % 64 == 0).then_some([v, v / 64 % 7]));
    let mut pairs: Vec<[u32; 2]> = hubs.collect();
    for edge in 0..edges {
        pairs.push(match edge % 3 {
            0 => [random(300), random(300)],
            1 => [random(vertices), random(300)],
            _ => {
                let first = random(vertices);
                [first, (first + 1 + random(40)) % vertices]
            }
        });
    }
    // Numbers say nothing of degrees.
    let far = |v: u32| (u64::from(v) * 7919 % u64::from(vertices)) as u32;
    Graph::new(vertices as usize, pairs.into_iter().map(|pair| pair.map(far)).collect())
}

#[test]
fn rows_travel_where_there_is_more_than_one_of_everything() {
    /// Bytes of the rows of a range.
    const ROWS: u64 = 32 << 10;
    let graph = mixed(20_011, 60_000);
    let rows = 4 * graph.pairs.len() as u64 / 2 + 16 * graph.slots() as u64;
    let mut seen = 0;
    let expected = closed(&graph);
    let pairs: Vec<u64> = expected.iter().map(|(.., pairs)| *pairs as u64).collect();
    let directed: Vec<f64> = expected.iter().map(|&(near, edges, _)| share(near, edges)).collect();
    for executor in executors().into_iter().filter(spills) {
        let executor = executor.with_groups(ROWS);
        let values = executor.intersect(&graph, PAIRS, &Triangles).unwrap();
        assert!(counts(&values) == pairs, "{executor:?}");
        let values = executor.intersect(&graph, ways(false), &Lcc).unwrap();
        assert!(shares(&values) == directed, "{executor:?}");
        let Executor::Memory(memory) = &executor else { continue };
        let plan = memory.plan(&graph, PAIRS, Layout::of_intersect::<Triangles>()).unwrap();
        let Some(OutOfCore::Triangles(made)) = plan.out_of_core() else { panic!("{plan}") };
        // Ranges, bins of each, partitions of sources, windows of counts, chunks of a bin.
        assert!(rows / made.rows_bytes > 5, "{made:?}");
        assert!(made.bin_bytes <= made.rows_bytes / 3, "{made:?}");
        assert!(made.sources < graph.slots() as u64 / 2, "{made:?}");
        assert!(8 * graph.slots() as u64 > 3 * made.rows_bytes, "{made:?}");
        let buckets = made.bins * made.bucket_bytes as u64;
        assert!(8 * graph.pairs.len() as u64 / 2 > 2 * buckets, "{made:?}");
        assert!(made.top < graph.slots() as u64 / 4);
        seen += 1;
    }
    assert!(seen > 2);
}

/// Where a vertex belongs to many triangles, far more waits for a bin than it has ranks, and is
/// added up between ranges, that of several bins one after the other.
#[test]
fn what_many_triangles_tell_is_added_up_in_between() {
    let mut state = 1_u64;
    let mut draw = || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as u32 % 1500
    };
    let graph = Graph::new(1500, (0..120_000).map(|_| [draw(), draw()]).collect());
    let expected = closed(&graph);
    let pairs: Vec<u64> = expected.iter().map(|(.., pairs)| *pairs as u64).collect();
    let directed: Vec<f64> = expected.iter().map(|&(near, edges, _)| share(near, edges)).collect();
    for executor in executors().into_iter().filter(spills) {
        for rows in [16 << 10, 64 << 10] {
            let executor = executor.clone().with_groups(rows);
            let values = executor.intersect(&graph, PAIRS, &Triangles).unwrap();
            assert!(counts(&values) == pairs, "{executor:?}");
            let values = executor.intersect(&graph, ways(false), &Lcc).unwrap();
            assert!(shares(&values) == directed, "{executor:?}");
        }
    }
}

#[test]
fn hubs_have_the_longest_rows() {
    // A clique, each of whose vertices has leaves: all rows of the clique are as long as can be.
    let clique = (0..300_u32).flat_map(|v| (v + 1..300).map(move |w| [v, w]));
    let leaves = (300..6000_u32).map(|leaf| [leaf, leaf % 300]);
    let graph = Graph::new(6000, clique.chain(leaves).collect());
    let of = |v: u64| if v < 300 { 299 * 298 / 2 } else { 0 };
    assert_eq!(counts(&found(&graph, PAIRS, &Triangles)), (0..6000).map(of).collect::<Vec<_>>());
}

#[test]
fn graphs_of_an_edge_or_none_have_no_triangles() {
    for slots in [0, 1, 5, 9000] {
        let graph = Graph::new(slots, Vec::new());
        assert_eq!(counts(&found(&graph, PAIRS, &Triangles)), vec![0; slots]);
        assert_eq!(shares(&found(&graph, ways(false), &Lcc)), vec![0.0; slots]);
    }
    let loops = Graph::new(5, (0..5).map(|v| [v, v]).collect());
    assert_eq!(counts(&found(&loops, PAIRS, &Triangles)), [0; 5]);
    // A kept graph knows that there is one pair, and no more room is planned for.
    let pair = Graph::new(2, vec![[0, 1], [1, 1], [1, 0]]);
    assert_eq!(counts(&found(&pair, PAIRS, &Triangles)), [0; 2]);
    assert_eq!(shares(&found(&pair, ways(false), &Lcc)), [0.0; 2]);
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
    let mut count = 0;
    for case in cases().into_iter().filter(|case| case.outcome == Outcome::Clustering) {
        let graph = Graph::from_ids(&case.ids, &case.rows.pairs, None);
        let found = shares(&found(&graph, ways(case.undirected), &Lcc));
        assert!(case.accepts(&found), "{}", case.name);
        count += 1;
    }
    // Results of all that have them, or none where the shared data is missing.
    assert!([0, 5].contains(&count), "{count} results");
}
