//! Programs that run by chunks come to what the plain interpreter does.

use std::fmt::Debug;
use std::sync::Arc;

use bytemuck::cast_slice;
use proptest::prelude::*;
use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, Cdlp, ForestLabels, HyperBall, PageRank, Sssp, SumProduct};
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_model::program::{Program, Value};
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret, interpret_extended};
use welter_testing::reading::read_as;
use welter_testing::strategies::dense_graphs;

use crate::cluster::{GraphCut, extend, run, ways};

/// The columns of values, one after the other.
fn numbers<V: Value>(values: Vec<V>) -> Vec<f64> {
    Answer { values, iterations: 0, in_step: true, total: (), totals: Vec::new() }.numbers()
}

/// Bit by bit, or of floats nearly.
fn agrees<P>(graph: &Graph, program: P, way: GraphCut, floats: bool)
where
    P: Program<Value: Debug> + Send + 'static,
{
    let expected = interpret(graph, &program);
    let found = run(graph, Arc::new(program), way);
    if floats {
        let error = welter_testing::relative_error(&numbers(expected.values), &numbers(found));
        assert!(error < 1e-9, "{error}");
    } else {
        assert_eq!(cast_slice::<_, u8>(&found), expected.bits());
    }
}

proptest! {
    #[test]
    fn programs_by_chunks_come_to_what_the_interpreter_does(
        graph in dense_graphs(70, 500), way in ways(),
    ) {
        let vertices = graph.slots() as u64;
        agrees(&graph, Bfs::new(vec![0]), way, false);
        agrees(&graph, HyperBall::<16>::new(1, Some(3)), way, false);
        agrees(&graph, Sssp::<f64>::new(vec![0], 1.0), way, false);
        let ranks = PageRank::<f64>::new(vertices, 0.85, 4, 0.0, Dangling::Spread);
        agrees(&graph, ranks, way, true);
        let both = read_as(&graph, Reading { undirected: true, ..Reading::default() });
        agrees(&both, Grouped(Cdlp::new(3)), way, false);
        agrees(&both, ForestLabels::default(), way, false);
    }

    #[test]
    fn extended_programs_rewrite_what_edges_hold(graph in dense_graphs(40, 200), way in ways()) {
        let graph = read_as(&graph, Reading { undirected: true, ..Reading::default() });
        let potential = Potential::<2>::coupled(0.6).unwrap();
        let priors = (0..graph.slots()).map(|vertex| [1.0, 1.0 + vertex as f64 / 9.0]).collect();
        let program = SumProduct::<2, 1>::new(potential, 3, 0.0).unwrap().with_priors(priors);
        let expected = interpret_extended(&graph, &program);
        let found = extend(&graph, Arc::new(program), way);
        let error = welter_testing::relative_error(&expected.numbers(), &numbers(found));
        prop_assert!(error < 1e-4, "{}", error);
    }
}
