//! Traversals, components and forests against what others computed, and against what mathematics
//! says, on several executors.
//!
//! Tests on shared data say loudly when it is missing, and pass.

mod closed_form;
mod real;
mod suites;

use welter_algorithms::mcst::Branch;
use welter_algorithms::{Bfs, ForestLabels, Mcst, Scc, Sssp, StrongLabels, Wcc};
use welter_model::edges::{Duplicates, Reading};
use welter_model::program::{Program, Value};
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, Memory, executors};
use welter_testing::graph::Graph;

/// Reading of the raw rows of a file by the answers: one arc of each, no loops.
fn simple(undirected: bool) -> Reading {
    let duplicates = Duplicates::Minimum;
    Reading { undirected, drop_self_loops: true, duplicates, ..Reading::default() }
}

/// Engines that a graph is run on: the one with default settings first; fewer of large graphs, as
/// some of them cut everything small.
fn engines(graph: &Graph) -> Vec<Memory> {
    let memory = |executor| match executor {
        Executor::Memory(memory) => Some(memory),
        Executor::Reference | Executor::Kept(..) => None,
    };
    let all: Vec<Memory> = executors().into_iter().filter_map(memory).collect();
    match graph.pairs.len() {
        0..50_000 => all,
        50_000..500_000 => [0, 1, 3, 6].map(|place: usize| all[place].clone()).to_vec(),
        _ => [0, 1].map(|place: usize| all[place].clone()).to_vec(),
    }
}

/// Depths from a vertex, which every engine must agree on.
fn depths(graph: &Graph, undirected: bool, source: u64) -> Vec<i64> {
    same(graph, |memory| {
        let executor = Executor::Memory(memory.clone());
        let values = executor.run(graph, simple(undirected), &Bfs::new(vec![source])).values;
        match columns(&values) {
            ColumnData::I64(depths) => depths,
            _ => panic!("depths are integers"),
        }
    })
}

/// Distances from a vertex.
fn distances(graph: &Graph, undirected: bool, source: u64) -> Vec<f64> {
    // Steps of several widths; what comes out is the same bits.
    let mut widths = [f64::INFINITY, 25.0, 1e4].into_iter().cycle();
    same(graph, |memory| {
        let program = Sssp::<f64>::new(vec![source], widths.next().unwrap_or(1.0));
        let executor = Executor::Memory(memory.clone());
        match columns(&executor.run(graph, simple(undirected), &program).values) {
            ColumnData::F64(distances) => distances,
            _ => panic!("distances are floats"),
        }
    })
}

/// The smallest vertex of the component of each.
fn components(graph: &Graph) -> Vec<u64> {
    same(graph, |memory| match columns(&memory.pass(graph, simple(false), &Wcc)) {
        ColumnData::Vertices(components) => components,
        _ => panic!("components are vertices"),
    })
}

/// The smallest vertex of the strongly connected component of each, found with all edges of small
/// parts handed over at once, and by passes alone.
fn strong_components(graph: &Graph, undirected: bool) -> Vec<u64> {
    let mut programs = [Scc::default(), Scc::with_rest(0)].into_iter().cycle();
    same(graph, |memory| {
        let program = programs.next().unwrap_or_default();
        match columns(&memory.pass(graph, simple(undirected), &program)) {
            ColumnData::Vertices(components) => components,
            _ => panic!("components are vertices"),
        }
    })
}

/// Strong components by labels.
fn strong_labels(graph: &Graph, undirected: bool) -> Vec<u64> {
    let reading = Reading { duplicates: Duplicates::Directions, ..simple(undirected) };
    by_routes(graph, reading, &StrongLabels, |values| match columns(values) {
        ColumnData::Vertices(components) => components,
        _ => panic!("components are vertices"),
    })
}

/// Result of a program whose updates wait in three places.
fn by_routes<P: Program, T: PartialEq>(
    graph: &Graph,
    reading: Reading,
    program: &P,
    tell: impl Fn(&[P::Value]) -> T,
) -> T {
    let found = ["None", "Some(Ranges)", "Some(Spill"].map(|route| {
        let is_of = |executor: &Executor| match executor {
            Executor::Memory(memory) => format!("{:?}", memory.settings.route).starts_with(route),
            Executor::Reference | Executor::Kept(..) => false,
        };
        let executor = executors().into_iter().find(is_of).expect("each route has an executor");
        tell(&executor.run(graph, reading, program).values)
    });
    let [fold, ranges, spill] = found;
    assert!(fold == ranges && fold == spill, "by other routes");
    fold
}

/// The weights of the edges of a spanning forest.
fn forest(graph: &Graph) -> Vec<f64> {
    let weights = |branches: &[Branch]| branches.iter().map(Branch::weight).collect();
    let found = same(graph, |memory| weights(&memory.pass(graph, simple(false), &Mcst::default())));
    let by_labels = by_routes(graph, simple(true), &ForestLabels::default(), |members| {
        members.iter().map(|member| member.branch().weight()).collect::<Vec<_>>()
    });
    assert!(found == by_labels, "by labels");
    found
}

/// Result that all engines agree on for a graph.
fn same<T: PartialEq>(graph: &Graph, mut run: impl FnMut(&Memory) -> Vec<T>) -> Vec<T> {
    let engines = engines(graph);
    let first = run(&engines[0]);
    for memory in &engines[1..] {
        assert!(run(memory) == first, "{memory:?} disagrees");
    }
    first
}

fn columns<V: Value>(values: &[V]) -> ColumnData {
    V::columns(values).into_iter().next().expect("a result has a column").1
}
