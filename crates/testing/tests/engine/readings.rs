//! Parallel edges, self-loops and directions, against one ordered map.

use proptest::prelude::*;
use welter_algorithms::Spmv;
use welter_algorithms::spmv::Vector;
use welter_engine::plan::Layout;
use welter_model::edges::{Duplicates, Reading};
use welter_progress::Progress;
use welter_testing::executors::{Executor, Nearness, executors, judge, workers};
use welter_testing::graph::Graph;
use welter_testing::reading::read_as;
use welter_testing::strategies::{cases, wide_graphs};

const DUPLICATES: [Duplicates; 4] =
    [Duplicates::Keep, Duplicates::First, Duplicates::Minimum, Duplicates::Sum];

fn readings() -> impl Strategy<Value = Reading> {
    (any::<[bool; 4]>(), 0_usize..4).prop_map(|(flags, which)| {
        let [undirected, stated_directed, reversed, drop_self_loops] = flags;
        let duplicates = DUPLICATES[which];
        Reading { undirected, stated_directed, reversed, drop_self_loops, duplicates }
    })
}

const VECTOR: Vector = Vector::Random { seed: 5 };

/// Number of arcs and out-degrees as an ingest in memory finds them.
fn counted(executor: &Executor, graph: &Graph, reading: Reading) -> Option<(u64, Vec<u32>)> {
    let Executor::Memory(memory) = executor else { return None };
    let (list, ids) = memory.input(graph);
    let plan = memory.plan(graph, reading, Layout::of::<Spmv<f64>>()).unwrap();
    let (workers, progress) = (workers(plan.premises.threads), Progress::new());
    let held =
        welter_engine::Graph::ingest(Box::new(list), &ids, reading, &plan, workers, &progress);
    let held = held.unwrap();
    if plan.out_of_core().is_some() {
        assert!(held.out_degrees().is_empty(), "degrees leave memory with the state");
        return None;
    }
    Some((held.edges(), held.out_degrees().to_vec()))
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_reading_is_what_a_map_says(graph in wide_graphs(12, 80), reading in readings()) {
        judge(&graph, reading, &Spmv::<f64>::new(VECTOR, 2), Nearness::Bits);
    }

    #[test]
    fn arcs_and_out_degrees_are_counted_after_merging(
        graph in wide_graphs(12, 80),
        reading in readings(),
    ) {
        let arcs = read_as(&graph, reading);
        let numbers = arcs.numbers();
        let mut degrees = vec![0; arcs.vertices()];
        for [from, _] in &arcs.pairs {
            degrees[numbers[*from as usize]] += 1;
        }
        for executor in executors() {
            if let Some(found) = counted(&executor, &graph, reading) {
                prop_assert_eq!(found, (arcs.pairs.len() as u64, degrees.clone()));
            }
        }
    }
}

/// Each of 60 pairs comes 400 times, spread over the whole input: who is first, and in which order
/// weights are summed, must not depend on how parts are dealt to threads.
#[test]
fn the_first_of_many_wins_wherever_it_lies() {
    let pairs: Vec<[u32; 2]> = (0..24_000_u32).map(|edge| [edge % 60 / 10, edge % 10]).collect();
    // Multiples of 0.1 are not exact: another order of additions gives another sum.
    let weights = (0..24_000).map(|edge| f64::from(edge * 7919 % 24_001) * 0.1).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(10, pairs) };
    for duplicates in DUPLICATES {
        for [undirected, stated_directed] in [[false; 2], [true, false], [true; 2]] {
            let reading = Reading { undirected, stated_directed, duplicates, ..Reading::default() };
            judge(&graph, reading, &Spmv::<f64>::new(VECTOR, 1), Nearness::Bits);
        }
    }
}

#[test]
fn the_end_of_a_dropped_loop_is_still_a_vertex() {
    let mut graph = Graph::new(7, vec![[0, 1], [5, 5], [5, 5], [6, 6]]);
    graph.present = vec![true, true, false, false, false, true, true];
    let reading = Reading { drop_self_loops: true, ..Reading::default() };
    let answer = judge(&graph, reading, &Spmv::<f64>::new(Vector::Ones, 1), Nearness::Bits);
    assert_eq!(answer.numbers(), [0.0, 1.0, 0.0, 0.0]);
}
