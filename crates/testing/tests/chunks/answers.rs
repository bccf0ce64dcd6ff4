//! Programs that run by chunks come to what the plain interpreter does.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::Arc;

use bytemuck::cast_slice;
use proptest::prelude::*;
use welter_algorithms::bp::Potential;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::{Bfs, Cdlp, ForestLabels, HyperBall, PageRank, Scc, Sssp, SumProduct, Wcc};
use welter_engine::chunks::Scratch;
use welter_model::edges::Reading;
use welter_model::group::Grouped;
use welter_model::program::{Program, Total, Value, Vertex};
use welter_model::stream::{Edge, Known, Next, Seen, Stream};
use welter_testing::graph::Graph;
use welter_testing::interpreter::{Answer, interpret, interpret_extended};
use welter_testing::reading::read_as;
use welter_testing::strategies::dense_graphs;

use crate::cluster::{WRITTEN, Way, chunks, degrees, extend, run, ways};

/// The columns of values, one after the other.
fn numbers<V: Value>(values: Vec<V>) -> Vec<f64> {
    Answer { values, iterations: 0, in_step: true, total: (), totals: Vec::new() }.numbers()
}

/// Bit by bit, or of floats nearly.
fn agrees<P>(graph: &Graph, program: P, way: Way, floats: bool)
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
    fn stream_programs_are_shown_what_is_news(graph in dense_graphs(70, 500), way in ways()) {
        shows_news(&graph, &Wcc, way);
        shows_news(&graph, &Scc::with_rest(0), way);
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

/// Whether edges are shown that are news, all of them and no other, when nothing is learnt.
fn shows_news<S: Stream>(graph: &Graph, program: &S, way: Way) {
    let degrees = degrees(graph);
    let vertex = |(index, degree): (usize, &u32)| {
        // Cells of unlike vertices.
        let index = (index % 5) as u64;
        program.cell(Vertex { index, out_degree: (*degree).into() })
    };
    let (cells, notes): (Vec<_>, Vec<_>) = degrees.iter().enumerate().map(vertex).unzip();
    let known = Known::<S> { cells: &cells, notes: &notes };
    let Some(step) = first_step(program, known, graph.slots()) else { return };
    let shown = RefCell::new(Vec::new());
    for (cell, chunks) in chunks(graph, way, S::WEIGHTED) {
        for bytes in chunks {
            let pulled = cell.open(cast_slice(&bytes)).expect(WRITTEN);
            let show = |edge: Edge| shown.borrow_mut().push([edge.source, edge.target]);
            pulled.sift(program, step, &cells, &mut Scratch::default(), show).expect(WRITTEN);
            let short = &cells[..cells.len() / 2];
            let outside = |end: u32| end as usize >= short.len();
            let show = |edge: Edge| assert!(!outside(edge.source) && !outside(edge.target));
            let _ = pulled.sift(program, step, short, &mut Scratch::default(), show);
        }
    }
    let is_news = |&&[source, target]: &&[u32; 2]| {
        program.news(step, &cells[source as usize], &cells[target as usize])
    };
    let mut expected: Vec<_> = graph.pairs.iter().filter(is_news).copied().collect();
    expected.sort_unstable();
    let mut shown = shown.into_inner();
    shown.sort_unstable();
    assert_eq!(shown, expected);
}

/// The first step of a program in which edges are shown.
fn first_step<S: Stream>(program: &S, known: Known<'_, S>, vertices: usize) -> Option<S::Step> {
    let mut next = program.first();
    loop {
        match next {
            Next::Few(step) | Next::Pass(step) | Next::Rest(step) => return Some(step),
            Next::Stop => return None,
            Next::Settle(step) => {
                let settle = |vertex| program.settle(step, known, vertex as u32);
                let total = (0..vertices).map(settle).fold(S::Total::default(), S::Total::merge);
                next = program.next(step, &Seen { total, ..Seen::default() });
            }
        }
    }
}
