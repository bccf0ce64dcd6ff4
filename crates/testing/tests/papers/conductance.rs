//! Conductance against a loop over the edges that were listed.

use proptest::prelude::*;
use welter_algorithms::Sides;
use welter_algorithms::conductance::{Amount, Conductance, Cut};
use welter_engine::plan::Settings;
use welter_model::edges::Reading;
use welter_model::ids::IdMap;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Memory, Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::relative_error;
use welter_testing::samples::samples;
use welter_testing::strategies::wide_graphs;

const UNDIRECTED: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};

/// Cut and volumes, and of each vertex what comes from the other side: edge by edge, as it is
/// written, without arcs.
fn plain(graph: &Graph, undirected: bool, within: &[bool], weighted: bool) -> (Cut, Vec<f64>) {
    let numbers = graph.numbers();
    let mut cut = Cut::default();
    let mut across = vec![0.0; graph.vertices()];
    for (edge, pair) in graph.pairs.iter().enumerate() {
        let weight = if weighted { graph.weight(edge) } else { 1.0 };
        let [from, to] = pair.map(|slot| numbers[slot as usize]);
        cut.volumes[usize::from(within[from])] += weight;
        if undirected && from != to {
            cut.volumes[usize::from(within[to])] += weight;
        }
        if within[from] != within[to] {
            across[to] += weight;
            if undirected {
                across[from] += weight;
            }
            if within[from] || undirected {
                cut.cut += weight;
            }
        }
    }
    for &side in within {
        cut.vertices[usize::from(side)] += 1;
    }
    (cut, across)
}

/// Compares a graph's cut with the loop, on all executors.
fn judged<A: Amount>(graph: &Graph, reading: Reading, within: &[bool]) -> Cut {
    let listed = (0..within.len() as u64).filter(|&vertex| within[vertex as usize]);
    let program = Conductance::<A>::new(Sides::of(within.len() as u64, listed));
    let nearness = if A::WEIGHTED { Nearness::Within(1e-12) } else { Nearness::Bits };
    let answer = judge(graph, reading, &program, nearness);
    assert_eq!(answer.iterations, 1);
    let (cut, across) = plain(graph, reading.undirected, within, A::WEIGHTED);
    let columns = Value::columns(&answer.values);
    let [(first, amounts), ("side", ColumnData::U32(sides))] = columns.as_slice() else {
        panic!("{columns:?}")
    };
    assert_eq!((*first, matches!(amounts, ColumnData::F64(_))), ("across", A::WEIGHTED));
    assert!(sides.iter().zip(within).all(|(side, within)| *side == u32::from(*within)));
    let numbers = |cut: &Cut| [vec![cut.cut], cut.volumes.to_vec()].concat();
    let found = &answer.numbers()[..across.len()];
    near::<A>("across", &across, found);
    near::<A>("cut and volumes", &numbers(&cut), &numbers(&answer.total));
    assert_eq!(answer.total.vertices, cut.vertices);
    answer.total
}

/// Counts are the same; weights were added up in another order.
fn near<A: Amount>(what: &str, expected: &[f64], found: &[f64]) {
    let error = relative_error(expected, found);
    let most = if A::WEIGHTED { 1e-12 } else { 0.0 };
    assert!(error <= most, "{what}: {found:?}, not {expected:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn cuts_are_those_of_a_loop(
        graph in wide_graphs(60, 200),
        undirected in any::<bool>(),
        weighted in any::<bool>(),
        salt in any::<u64>(),
    ) {
        let bit = |vertex: usize| (vertex as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
        let within: Vec<bool> = (0..graph.vertices()).map(|vertex| bit(vertex) == 1).collect();
        let reading = Reading { undirected, ..Reading::default() };
        if weighted {
            judged::<f64>(&graph, reading, &within);
        } else {
            judged::<u32>(&graph, reading, &within);
        }
    }

    #[test]
    fn straight_over_the_input_they_are_the_same(
        graph in wide_graphs(60, 200),
        undirected in any::<bool>(),
        reversed in any::<bool>(),
        drop_self_loops in any::<bool>(),
        salt in any::<u64>(),
    ) {
        let bit = |vertex: usize| (vertex as u64 ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
        let within: Vec<bool> = (0..graph.vertices()).map(|vertex| bit(vertex) == 1).collect();
        let reading = Reading { undirected, reversed, drop_self_loops, ..Reading::default() };
        input_scan(&Graph { weights: None, ..graph }, reading, &within);
    }
}

/// Compares a graph that stays in its input with the loop.
fn input_scan(graph: &Graph, reading: Reading, within: &[bool]) {
    let mut read = graph.clone();
    read.pairs.retain(|[source, target]| !reading.drop_self_loops || source != target);
    if reading.reversed {
        read.pairs.iter_mut().for_each(|pair| pair.reverse());
    }
    let (cut, across) = plain(&read, reading.undirected, within, false);
    for (threads, part_edges_max, slots_stated) in [(1, 1000, true), (2, 7, false), (3, 1, true)] {
        let settings = Settings { threads: Some(threads), ..Settings::default() };
        let executor = Memory { settings, part_edges_max, slots_stated, blind: threads == 3 };
        let answer = executor.count(graph, reading, |ids| {
            let numbers = graph.numbers();
            let number = |slot: usize| if *ids == IdMap::Same { numbers[slot] } else { slot };
            let slots = if *ids == IdMap::Same { graph.slots() } else { within.len() };
            let is_vertex = |slot: &usize| *ids != IdMap::Same || graph.present[*slot];
            let set = (0..slots).filter(is_vertex).filter(|slot| within[number(*slot)]);
            Conductance::<u32>::new(Sides::of(slots as u64, set.map(|slot| slot as u64)))
        });
        assert_eq!((answer.total, answer.iterations), (cut, 1));
        assert_eq!(answer.numbers()[..across.len()], across);
        let columns = Value::columns(&answer.values);
        let sides: Vec<u32> = within.iter().map(|within| u32::from(*within)).collect();
        assert!(matches!(&columns[1], ("side", ColumnData::U32(found)) if *found == sides));
    }
}

/// The vertices with numbers below `count` are within.
fn first(count: usize, of: usize) -> Vec<bool> {
    (0..of).map(|vertex| vertex < count).collect()
}

#[track_caller]
fn is(graph: &Graph, within: &[bool], expected: Option<f64>) {
    let near = |cut: Cut| match (cut.conductance(), expected) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        (found, expected) => found.is_none() && expected.is_none(),
    };
    assert!(near(judged::<u32>(graph, UNDIRECTED, within)));
    let rest: Vec<bool> = within.iter().map(|within| !within).collect();
    assert!(near(judged::<u32>(graph, UNDIRECTED, &rest)), "phi of the rest is that of the set");
}

#[test]
fn graphs_whose_conductance_is_known() {
    let cycle = Graph::new(12, (0..12).map(|v| [v, (v + 1) % 12]).collect());
    is(&cycle, &first(4, 12), Some(2.0 / 8.0));
    // Of a complete graph of n, k of them: k (n - k) edges of k (n - 1).
    let pairs = (0..10).flat_map(|v| (v + 1..10).map(move |w| [v, w])).collect();
    is(&Graph::new(10, pairs), &first(3, 10), Some(7.0 / 9.0));
    // Of a complete bipartite graph every edge is cut.
    let pairs = (0..3).flat_map(|v| (3..8).map(move |w| [v, w])).collect();
    is(&Graph::new(8, pairs), &first(3, 8), Some(1.0));
    // Two triangles and a bridge; an edge that is listed twice counts twice, a loop once.
    let two = vec![[0, 1], [1, 2], [2, 0], [3, 4], [4, 5], [5, 3], [2, 3]];
    is(&Graph::new(6, two.clone()), &first(3, 6), Some(1.0 / 7.0));
    let more = [two, vec![[3, 2], [0, 0], [5, 5], [5, 5]]].concat();
    is(&Graph::new(6, more), &first(3, 6), Some(2.0 / 9.0));
    // All on one side, or a side without edges.
    is(&cycle, &first(12, 12), None);
    is(&Graph::new(4, vec![[0, 1]]), &first(2, 4), None);
    is(&Graph::new(3, vec![]), &first(1, 3), None);
}

#[test]
fn a_directed_reading_counts_what_leaves_the_set() {
    let graph = Graph::new(4, vec![[0, 2], [0, 3], [2, 1], [2, 3], [3, 2], [1, 0]]);
    let within = first(2, 4);
    let out = judged::<u32>(&graph, Reading::default(), &within);
    assert_eq!((out.cut, out.volumes), (2.0, [3.0, 3.0]));
    let back = Reading { reversed: true, ..Reading::default() };
    let program = Conductance::<u32>::new(Sides::of(4, [0, 1]));
    let into = judge(&graph, back, &program, Nearness::Bits).total;
    assert_eq!((into.cut, into.volumes), (1.0, [4.0, 2.0]));
    assert_eq!(into.conductance(), Some(0.5));
}

#[test]
fn a_real_network_is_cut_as_the_loop_says() {
    let found = samples().into_iter().find(|sample| sample.name == "facebook_combined");
    let Some(sample) = found else { return };
    let graph = sample.load(&sample.answers());
    let odd: Vec<bool> = (0..graph.vertices()).map(|vertex| vertex % 2 == 1).collect();
    let phi = judged::<u32>(&graph, UNDIRECTED, &odd).conductance().unwrap();
    assert!((0.45..0.55).contains(&phi), "half of the edges or so are cut at random: {phi}");
}
