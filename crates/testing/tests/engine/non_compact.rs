//! Graphs in the non-compact form against the same ones in which every vertex has a state.
//!
//! No test here could hold 2^32 vertices. The form does not ask how many there are, so small graphs
//! show what becomes of those without edges; `welter`'s own tests run a graph of 5 billion.

use std::fmt::Debug;

use proptest::prelude::*;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{Bfs, BfsTree, LabelPropagation, PageRank, Spmv, Sssp, Wcc};
use welter_model::edges::{Duplicates, Reading};
use welter_model::ids::IdMap;
use welter_model::non_compact::NonCompact;
use welter_model::program::{Program, Value};
use welter_model::spread::Spread;
use welter_model::table::{Column, ColumnData, Columns, Table, VertexColumn};
use welter_testing::executors::{Executor, executors};
use welter_testing::graph::Graph;
use welter_testing::interpreter::interpret;
use welter_testing::reading::read_as;
use welter_testing::strategies::{dense_graphs, wide_graphs};

const PLAIN: Reading = Reading {
    undirected: false,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: Duplicates::Keep,
};
const BOTH_WAYS: Reading = Reading { undirected: true, ..PLAIN };

/// A graph of which only vertices with edges, and those that were named, have slots.
struct Folded {
    graph: Graph,
    ids: NonCompact,
}

impl Folded {
    fn of(graph: &Graph, named: &[u64]) -> Self {
        let used = graph.used();
        let has_slot = |slot: &u64| used[*slot as usize] || named.contains(slot);
        let ids: Vec<u64> = (0..graph.slots() as u64).filter(has_slot).collect();
        let ids = NonCompact::new(ids, 0..graph.slots() as u64).unwrap();
        let slot = |slot: u32| ids.slot(slot.into()).unwrap() as u32;
        let pairs = graph.pairs.iter().map(|pair| pair.map(slot)).collect();
        let weights = graph.weights.clone();
        let graph = Graph { weights, ..Graph::new(ids.slots() as usize, pairs) };
        Self { graph, ids }
    }

    /// The number of a vertex that has a slot.
    fn number(&self, id: u64) -> u64 {
        self.ids.slot(id).unwrap()
    }

    /// The columns of all vertices.
    fn columns<V: Value>(&self, values: &[V]) -> Vec<Column> {
        let vertices = VertexColumn::NonCompact(self.ids.clone());
        let table = Table { vertices, columns: columns(values) };
        let all = Spread::of(&table).unwrap();
        let rows = all.vertices.len();
        all.columns.check(rows).unwrap();
        all.columns.part(0..rows).unwrap()
    }
}

fn columns<V: Value>(values: &[V]) -> Vec<Column> {
    let named = |(name, data): (&str, _)| Column { name: name.to_owned(), data };
    V::columns(values).into_iter().map(named).collect()
}

/// Whether columns are equal, floats nearly so: others sum up what they have in common by
/// multiplying.
fn same(found: &[Column], expected: &[Column]) -> bool {
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(found, expected)| match (&found.data, &expected.data) {
            (ColumnData::F64(found), ColumnData::F64(expected)) => {
                // A sum of that many numbers that are not negative, one after the other.
                let most = f64::EPSILON * expected.len().max(4096) as f64;
                let near = |(a, b): (&f64, &f64)| {
                    a.to_bits() == b.to_bits() || (a - b).abs() <= most * b.abs()
                };
                found.len() == expected.len() && found.iter().zip(expected).all(near)
            }
            _ => found == expected,
        })
}

/// Compares all engines, on a folded graph, with the interpreter on the whole one.
fn judge<P: Program<Total: Debug>>(
    (graph, folded): (&Graph, &Folded),
    reading: Reading,
    (whole, program): (&P, &P),
) {
    let answer = interpret(&read_as(graph, reading), whole);
    let expected = columns(&answer.values);
    let ids = IdMap::NonCompact(folded.ids.clone());
    for executor in executors().into_iter().filter(|executor| *executor != Executor::Reference) {
        let found = executor.run_as(&folded.graph, Some(&ids), reading, program, None).unwrap();
        if found.in_step {
            assert_eq!(found.iterations, answer.iterations, "{executor:?}");
        }
        let found = folded.columns(&found.values);
        assert!(same(&found, &expected), "{executor:?}: {found:?} is not {expected:?}");
    }
}

fn judge_all(graph: &Graph, source: u64) {
    let folded = Folded::of(graph, &[source]);
    let pair = (graph, &folded);
    let count = graph.vertices() as u64;
    for (dangling, tolerance) in [(Dangling::Spread, 1e-3), (Dangling::Papers, 1e-2)] {
        let ranks = PageRank::<f64>::new(count, 0.85, 20, tolerance, dangling);
        judge(pair, PLAIN, (&ranks, &ranks));
    }
    let sums = Spmv::<f64>::new(Vector::Ones, 2);
    judge(pair, PLAIN, (&sums, &sums));
    let number = folded.number(source);
    judge(pair, PLAIN, (&Bfs::new(vec![source]), &Bfs::new(vec![number])));
    judge(pair, BOTH_WAYS, (&BfsTree::new(vec![source]), &BfsTree::new(vec![number])));
    judge(pair, BOTH_WAYS, (&LabelPropagation, &LabelPropagation));
    let expected = columns(&interpret(&read_as(graph, BOTH_WAYS), &LabelPropagation).values);
    let ids = IdMap::NonCompact(folded.ids.clone());
    for executor in executors() {
        let Executor::Memory(memory) = executor else { continue };
        let (found, _) = memory.pass_as(&folded.graph, Some(&ids), PLAIN, &Wcc);
        assert_eq!(folded.columns(&found), expected, "{memory:?}");
        // The number of edges that were looked at by the time depends on the engine.
        let paths = Sssp::<f64>::new(vec![number], f64::INFINITY);
        let whole = Sssp::<f64>::new(vec![source], f64::INFINITY);
        let expected = columns(&interpret(&read_as(graph, PLAIN), &whole).values);
        let memory = Executor::Memory(memory);
        let found = memory.run_as(&folded.graph, Some(&ids), PLAIN, &paths, None).unwrap();
        assert!(same(&folded.columns(&found.values), &expected), "{memory:?}");
    }
}

#[test]
fn vertices_without_edges_have_the_results_that_they_have_one_by_one() {
    // A path with a loop among ten thousand vertices, most of which have no edges.
    let pairs = vec![[5, 4000], [4000, 9001], [9001, 5], [5, 5], [4000, 7]];
    let graph = Graph::new(10_000, pairs);
    for source in [5, 7, 0, 9999] {
        judge_all(&graph, source);
    }
}

#[test]
fn no_edges_and_no_others() {
    judge_all(&Graph::new(300, vec![]), 17);
    judge_all(&Graph::new(3, vec![[0, 1], [1, 2]]), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs(graph in dense_graphs(60, 60), source in 0_u64..60) {
        let source = source % graph.slots() as u64;
        judge_all(&graph, source);
    }

    #[test]
    fn random_graphs_of_several_stripes(mut graph in wide_graphs(20, 60), source in 0_u64..20) {
        graph.present.fill(true);
        let source = source * 991 % graph.slots() as u64;
        judge_all(&graph, source);
    }
}
