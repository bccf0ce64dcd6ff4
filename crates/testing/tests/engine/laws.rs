//! Changes of an edge list that leave the answer, or change it in a known way.

use proptest::prelude::*;
use proptest::sample::select;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{Bfs, BfsTree, LabelPropagation, PageRank, Spmv, Sssp, pagerank::Dangling};
use welter_model::edges::Reading;
use welter_model::program::{Program, Total, Vertex};
use welter_testing::executors::{Executor, Memory, executors};
use welter_testing::graph::Graph;
use welter_testing::relative_error;
use welter_testing::strategies::{cases, graphs, graphs_to_relabel, graphs_to_reorder};

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
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
    #![proptest_config(cases(96))]

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
        let other = match executor.clone() {
            Executor::Reference => unreachable!(),
            Executor::Memory(memory) => Executor::Memory(Memory { part_edges_max, ..memory }),
            Executor::Kept(memory, settings) => {
                Executor::Kept(Memory { part_edges_max, ..memory }, settings)
            }
        };
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

/// Promise of a monotone program: accumulators applied one after the other do what they do merged.
/// `values` are those of vertices in some iteration, `last` the totals before it.
fn parts_are_as_good_as_the_whole<P>(program: &P, values: &[P::Value], last: &P::Total)
where
    P: Program<Total: PartialEq + std::fmt::Debug>,
{
    let update = |from: &P::Value| program.scatter(program.signal(from), 3.0);
    let updates: Vec<P::Update> = values.iter().filter_map(update).collect();
    let one = |update| program.gather(program.identity(), update);
    for &value in values {
        for (place, &first) in updates.iter().enumerate() {
            let second = updates[(place * 7 + 3) % updates.len()];
            let whole = program.apply(value, program.merge(one(first), one(second)), last);
            let half = program.apply(value, one(first), last);
            let rest = program.apply(half.value, one(second), last);
            let bytes = |value: &P::Value| bytemuck::bytes_of(value).to_vec();
            assert_eq!(bytes(&rest.value), bytes(&whole.value));
            assert_eq!(half.total.merge(rest.total), whole.total);
            assert_eq!(half.active || rest.active, whole.active);
        }
        let untouched = program.apply(value, program.identity(), last);
        assert_eq!(bytemuck::bytes_of(&untouched.value), bytemuck::bytes_of(&value));
        assert_eq!((untouched.total, untouched.active), (P::Total::default(), false));
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn monotone_programs_take_updates_in_parts(graph in graphs(30, 60), source in 0_u64..30) {
        let source = source % graph.vertices() as u64;
        let reference = Executor::Reference;
        let paths = Sssp::<f64>::new(vec![source], f64::INFINITY);
        let found = reference.run(&graph, PLAIN, &paths);
        parts_are_as_good_as_the_whole(&paths, &found.values, &());
        let labels = reference.run(&graph, PLAIN, &LabelPropagation);
        parts_are_as_good_as_the_whole(&LabelPropagation, &labels.values, &());
        let (search, tree) = (Bfs::new(vec![source]), BfsTree::new(vec![source]));
        let depths = reference.run(&graph, PLAIN, &search);
        let trees = reference.run(&graph, PLAIN, &tree);
        for depth in 0..depths.total.depth {
            // Vertices that were found later are as they were at first.
            let last = welter_algorithms::bfs::Reach { depth, vertices: 1 };
            let is_known = |at: f64| (0.0..=depth as f64).contains(&at);
            let known: Vec<bool> = depths.numbers().into_iter().map(is_known).collect();
            let at_first = |index| Vertex { index, out_degree: 0 };
            let then = |(index, known): (usize, &bool)| match known {
                true => depths.values[index],
                false => search.init(at_first(index as u64)).value,
            };
            let values: Vec<_> = known.iter().enumerate().map(then).collect();
            parts_are_as_good_as_the_whole(&search, &values, &last);
            let then = |(index, known): (usize, &bool)| match known {
                true => trees.values[index],
                false => tree.init(at_first(index as u64)).value,
            };
            let values: Vec<_> = known.iter().enumerate().map(then).collect();
            parts_are_as_good_as_the_whole(&tree, &values, &last);
        }
    }
}

fn relaxing_is_enough<P: Program>(graph: &Graph, program: &P, turn: u64) {
    const { assert!(P::ORDER_INDEPENDENT) };
    let expected = Executor::Reference.run(graph, PLAIN, program).bits();
    assert_eq!(relaxed(graph, program, turn), expected);
}

/// Values once relaxing edges changes nothing any more. `turn` gives the order.
fn relaxed<P: Program>(graph: &Graph, program: &P, turn: u64) -> Vec<u8> {
    let numbers = graph.numbers();
    let init = |index| program.init(Vertex { index, out_degree: 0 }).value;
    let mut values: Vec<P::Value> = (0..graph.vertices() as u64).map(init).collect();
    let mut edges: Vec<usize> = (0..graph.pairs.len()).collect();
    edges.sort_by_key(|&edge| (edge as u64 ^ turn).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    loop {
        let mut changed = false;
        for &edge in &edges {
            let [from, to] = graph.pairs[edge].map(|slot| numbers[slot as usize]);
            let source = values[from];
            let before = bytemuck::bytes_of(&values[to]).to_vec();
            let news = program.relax(&source, graph.weight(edge), &mut values[to]);
            let moved = bytemuck::bytes_of(&values[to]) != before;
            assert!(moved || !news, "what did not change is no news");
            changed |= moved;
        }
        if !changed {
            return bytemuck::cast_slice(&values).to_vec();
        }
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn edges_may_be_relaxed_in_any_order(
        graph in graphs(40, 80),
        sources in prop::collection::vec(0_u64..40, 1..4),
        turn in any::<u64>(),
    ) {
        let sources: Vec<u64> = sources.iter().map(|s| s % graph.vertices() as u64).collect();
        relaxing_is_enough(&graph, &Bfs::new(sources.clone()), turn);
        relaxing_is_enough(&graph, &BfsTree::new(sources.clone()), turn);
        relaxing_is_enough(&graph, &Sssp::<f32>::new(sources.clone(), 1.5), turn);
        relaxing_is_enough(&graph, &Sssp::<f64>::new(sources, f64::INFINITY), turn);
        relaxing_is_enough(&graph, &LabelPropagation, turn);
    }
}
