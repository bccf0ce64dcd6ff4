//! What may be done to an edge list without changing the answer, or with a known change.

use proptest::prelude::*;
use proptest::sample::select;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{PageRank, Spmv, pagerank::Dangling};
use welter_model::edges::Reading;
use welter_testing::executors::{Executor, Memory, executors};
use welter_testing::graph::Graph;
use welter_testing::relative_error;
use welter_testing::strategies::{graphs, graphs_to_relabel, graphs_to_reorder};

const PLAIN: Reading = Reading {
    undirected: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};

fn engines() -> impl Strategy<Value = Executor> {
    let engines = executors().into_iter().filter(|executor| *executor != Executor::Reference);
    select(engines.collect::<Vec<_>>())
}

fn ranks(executor: &Executor, graph: &Graph, reading: Reading) -> Vec<f64> {
    let vertices = graph.vertices() as u64;
    let program = PageRank::<f64>::new(vertices, 0.85, 8, 0.0, Dangling::Spread);
    executor.run(graph, reading, &program).numbers()
}

/// With whole numbers for weights, so that sums are exact in any order.
fn whole(graph: Graph) -> Graph {
    let weights = (0..graph.pairs.len()).map(|edge| (edge * 37 % 1000) as f64).collect();
    Graph { weights: Some(weights), ..graph }
}

fn in_degrees(executor: &Executor, graph: &Graph) -> Vec<f64> {
    executor.run(graph, PLAIN, &Spmv::<f64>::new(Vector::Ones, 2)).numbers()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn relabelling_relabels_the_answer(
        (graph, names) in graphs_to_relabel(40, 120),
        stride in select(vec![1, 300, 5000]),
        executor in engines(),
    ) {
        let renamed = graph.relabelled(&names);
        let back = |found: &[f64]| {
            let numbers = renamed.numbers();
            let place = |slot: u64| found[numbers[names[slot as usize] as usize]];
            graph.ids().into_iter().map(place).collect::<Vec<f64>>()
        };
        let (here, there) = (graph.spread(stride, false), renamed.spread(stride, false));
        let found = back(&ranks(&executor, &there, PLAIN));
        prop_assert!(relative_error(&ranks(&executor, &here, PLAIN), &found) < 1e-12);
        let found = back(&in_degrees(&executor, &whole(there.clone())));
        prop_assert_eq!(in_degrees(&executor, &whole(here)), found);
    }

    #[test]
    fn the_order_of_the_edges_does_not_matter(
        (graph, order) in graphs_to_reorder(40, 120),
        executor in engines(),
    ) {
        let graph = whole(graph);
        let shuffled = graph.reordered(&order);
        let error =
            relative_error(&ranks(&executor, &graph, PLAIN), &ranks(&executor, &shuffled, PLAIN));
        prop_assert!(error < 1e-12);
        prop_assert_eq!(in_degrees(&executor, &graph), in_degrees(&executor, &shuffled));
    }

    #[test]
    fn where_parts_end_does_not_matter(
        graph in graphs(40, 120),
        executor in engines(),
        part_edges_max in 1_usize..130,
    ) {
        let Executor::Memory(memory) = &executor else { unreachable!() };
        let other = Executor::Memory(Memory { part_edges_max, ..memory.clone() });
        let program = Spmv::<f64>::new(Vector::Random { seed: 2 }, 2);
        let here = executor.run(&graph, PLAIN, &program);
        let there = other.run(&graph, PLAIN, &program);
        prop_assert_eq!(here.bits(), there.bits());
    }

    #[test]
    fn undirected_is_both_arcs_written_out(graph in graphs(40, 120), executor in engines()) {
        let reading = Reading { undirected: true, ..PLAIN };
        let program = Spmv::<f64>::new(Vector::Random { seed: 2 }, 2);
        let here = executor.run(&graph, reading, &program);
        let there = executor.run(&graph.undirected(), PLAIN, &program);
        prop_assert_eq!(here.bits(), there.bits());
        prop_assert_eq!(
            ranks(&executor, &graph, reading),
            ranks(&executor, &graph.undirected(), PLAIN)
        );
    }

    /// A vertex that nothing leads to or from changes nothing but the number of vertices.
    #[test]
    fn more_vertices_without_edges_add_zeros(
        graph in graphs(40, 120),
        more in 1_usize..9000,
        executor in engines(),
    ) {
        let mut graph = graph;
        graph.present.fill(true);
        let program = Spmv::<f64>::new(Vector::Random { seed: 2 }, 2);
        let mut expected = executor.run(&graph, PLAIN, &program).numbers();
        expected.resize(expected.len() + more, 0.0);
        graph.present.resize(graph.slots() + more, true);
        prop_assert_eq!(executor.run(&graph, PLAIN, &program).numbers(), expected);
    }
}
