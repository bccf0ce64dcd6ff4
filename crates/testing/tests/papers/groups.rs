//! Group programs against plain loops, and against what others computed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use welter_algorithms::kcore::Core;
use welter_algorithms::{Cdlp, KCore};
use welter_engine::plan::Layout;
use welter_model::edges::{Duplicates, Reading};
use welter_model::group::{Group, Grouped};
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, Nearness, executors, judge};
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;
use welter_testing::samples::samples;
use welter_testing::strategies::wide_graphs;
use welter_testing::validation::{Case, Outcome, cases};

/// All edges as they come, in both directions.
const BOTH: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};

/// Neighbours count once, and a vertex is none of its own.
const SIMPLE: Reading = Reading { drop_self_loops: true, duplicates: Duplicates::First, ..BOTH };

/// The neighbours of each vertex in a graph that has the reverse of each edge.
fn neighbours(graph: &Graph) -> Vec<Vec<usize>> {
    let numbers = graph.numbers();
    let mut rows = vec![Vec::new(); graph.vertices()];
    for pair in &graph.pairs {
        let [from, to] = pair.map(|slot| numbers[slot as usize]);
        rows[to].push(from);
    }
    rows
}

/// Communities after `rounds` rounds, every count of labels in a map.
fn communities(graph: &Graph, rounds: u64) -> Vec<u64> {
    let rows = neighbours(graph);
    let mut labels: Vec<u64> = (0..rows.len() as u64).collect();
    for _ in 0..rounds {
        let new = rows.iter().enumerate().map(|(vertex, row)| {
            let mut counts = BTreeMap::new();
            for &neighbour in row {
                *counts.entry(labels[neighbour]).or_insert(0) += 1;
            }
            let most = counts.values().max();
            let first = counts.iter().find(|(_, count)| Some(*count) == most);
            first.map_or(labels[vertex], |(&label, _)| label)
        });
        labels = new.collect();
    }
    labels
}

/// Core numbers by peeling: of what is left the vertex with the fewest neighbours goes next.
fn cores(graph: &Graph) -> Vec<u64> {
    let rows = neighbours(graph);
    let mut degrees: Vec<usize> = rows.iter().map(Vec::len).collect();
    let mut cores = vec![0; rows.len()];
    let mut left: BTreeSet<_> = degrees.iter().copied().zip(0..).collect();
    let mut most = 0;
    while let Some((degree, vertex)) = left.pop_first() {
        most = most.max(degree);
        cores[vertex] = most as u64;
        for &neighbour in &rows[vertex] {
            if left.remove(&(degrees[neighbour], neighbour)) {
                degrees[neighbour] -= 1;
                left.insert((degrees[neighbour], neighbour));
            }
        }
    }
    cores
}

fn column<V: Value>(values: &[V]) -> Vec<u64> {
    match V::columns(values).into_iter().next() {
        Some((_, ColumnData::Vertices(values))) => values,
        Some((_, ColumnData::U32(values))) => values.into_iter().map(u64::from).collect(),
        other => panic!("{other:?} is no column of whole numbers"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn communities_are_those_of_a_plain_loop(graph in wide_graphs(60, 200), rounds in 0_u64..6) {
        let program = Grouped(Cdlp::new(rounds));
        let answer = judge(&graph, BOTH, &program, Nearness::Bits);
        let expected = communities(&read_as(&graph, BOTH), rounds);
        prop_assert_eq!(column(&answer.values), expected);
    }

    #[test]
    fn core_numbers_are_those_of_peeling(graph in wide_graphs(60, 300)) {
        let answer = judge(&graph, SIMPLE, &Grouped(KCore), Nearness::Bits);
        let expected = cores(&read_as(&graph, SIMPLE));
        prop_assert_eq!(&column(&answer.values), &expected);
        for peeled in peeled(&graph, &executors()) {
            prop_assert_eq!(&peeled, &expected);
        }
    }
}

/// The core numbers that those of some executors find who have rows, two at least.
fn peeled(graph: &Graph, executors: &[Executor]) -> Vec<Vec<u64>> {
    let layout = Layout::of::<Grouped<KCore>>();
    let takers = executors.iter().filter(|it| it.takes::<Grouped<KCore>>());
    let peeled = takers.filter_map(|executor| match executor {
        Executor::Memory(memory) => memory.peel(graph, SIMPLE, layout, Core::of),
        _ => None,
    });
    let found: Vec<_> = peeled.map(|values| column(&values)).collect();
    assert!(found.len() >= 2, "only {} peeled", found.len());
    found
}

/// Enough leave at a time that all threads work on them, and continue while others leave.
#[test]
fn many_leave_at_a_time() {
    let (trees, clique) = (1 << 16, 40);
    let leaf = |vertex: u32| [vertex, vertex / 3];
    let mut pairs: Vec<_> = (clique..trees).map(leaf).collect();
    pairs.extend((0..clique).flat_map(|one| (0..one).map(move |other| [one, other])));
    let graph = Graph::new(trees as usize, pairs);
    let expected = cores(&read_as(&graph, SIMPLE));
    assert_eq!(expected[..clique as usize].iter().min(), Some(&u64::from(clique - 1)));
    for peeled in peeled(&graph, &executors()) {
        assert!(peeled == expected);
    }
}

/// Some executors in memory and on storage, fewer for graphs that take long; with as much room as
/// it takes for groups of any size.
fn engines(graph: &Graph) -> Vec<Executor> {
    let all: Vec<_> = executors().into_iter().filter(Executor::takes::<Grouped<KCore>>).collect();
    let places: &[usize] = if graph.pairs.len() > 500_000 { &[1] } else { &[1, 4, 16, 24] };
    let engines = places.iter().filter_map(|&place| all.get(place).cloned());
    engines.map(|engine| engine.with_groups(1 << 20)).collect()
}

/// Result that all engines agree on.
fn found<G: Group>(graph: &Graph, reading: Reading, program: G) -> Vec<u64> {
    let program = Grouped(program);
    let mut answers = engines(graph).into_iter().map(|engine| {
        let answer = engine.run(graph, reading, &program);
        (column(&answer.values), engine)
    });
    let (first, _) = answers.next().expect("there are engines");
    for (other, engine) in answers {
        assert!(other == first, "{engine:?} disagrees");
    }
    first
}

/// The places of labels that are ids.
fn places(ids: &[u64], labels: impl Iterator<Item = u64>) -> Vec<u64> {
    let place = |label| ids.binary_search(&label).expect("a label is an id") as u64;
    labels.map(place).collect()
}

#[test]
fn communities_and_core_numbers_of_every_graph() {
    for sample in samples() {
        let answers = sample.answers();
        let graph = sample.load_simple(&answers);
        let ids = answers.ids();
        if let Some(expected) = answers.integers("cdlp") {
            // Both directions of an undirected graph are there already.
            let reading = if answers.directed() { BOTH } else { SIMPLE };
            let expected = places(&ids, expected.iter().map(|label| *label as u64));
            assert!(found(&graph, reading, Cdlp::new(10)) == expected, "{}", sample.name);
        }
        let expected = answers.integers("core").expect("there are core numbers");
        let expected: Vec<u64> = expected.iter().map(|core| *core as u64).collect();
        assert!(found(&graph, SIMPLE, KCore) == expected, "{}", sample.name);
    }
}

#[test]
fn communities_of_ldbc_and_libgrape() {
    let mut count = 0;
    for Case { name, rows, undirected, outcome, ids, expected, .. } in cases() {
        let Outcome::Communities { iterations } = outcome else { continue };
        let graph = Graph::from_ids(&ids, &rows.pairs, None);
        let reading = if undirected { SIMPLE } else { BOTH };
        let expected = places(&ids, expected.iter().map(|label| *label as u64));
        assert_eq!(found(&graph, reading, Cdlp::new(iterations.into())), expected, "{name}");
        count += 1;
    }
    // Results of all that have them, or none where the shared data is missing.
    assert!([0, 5].contains(&count), "{count} results");
}

/// A clique with a star about one of its vertices.
fn clique_and_star(clique: u32, vertices: u32) -> Graph {
    let pairs = (0..clique).flat_map(|v| (v + 1..clique).map(move |w| [v, w]));
    let star = (clique..vertices).map(|leaf| [0, leaf]);
    Graph::new(vertices as usize, pairs.chain(star).collect())
}

/// A hub that leaves no room for others, and a clique that takes several pieces.
#[test]
fn groups_larger_than_their_room_are_taken_in_pieces() {
    let graph = clique_and_star(64, 1024);
    let found = judge(&graph, SIMPLE, &Grouped(KCore), Nearness::Bits);
    let cores = column(&found.values);
    assert!((0..64).all(|vertex| cores[vertex] == 63));
    assert!((64..1024).all(|vertex| cores[vertex] == 1));
}

#[test]
fn a_group_without_room_is_refused() {
    let graph = clique_and_star(3, 1026);
    for executor in executors().into_iter().filter(Executor::takes::<Grouped<KCore>>) {
        let run =
            |executor: Executor| executor.run_resumable(&graph, SIMPLE, &Grouped(KCore), None);
        if executor != Executor::Reference {
            let refused = run(executor.clone().with_groups(4 << 10)).unwrap_err().to_string();
            assert!(refused.contains("what 1025 neighbours say"), "{refused}");
            assert!(run(executor.with_groups(5 << 10)).is_ok());
        }
    }
}
