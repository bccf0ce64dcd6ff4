//! What a stream program is shown: every edge that may be news once, with its weight, and every
//! vertex between two rounds.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use proptest::prelude::*;
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_model::stream::Stream;
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, executors};
use welter_testing::graph::Graph;
use welter_testing::strategies::wide_graphs;

/// Adds up the edges that end at each vertex, each as its source times its weight, but for those
/// between two vertices with numbers of one kind.
struct Census<const WEIGHTED: bool>;

/// What there is to a vertex.
#[derive(Zeroable)]
struct Cell {
    kind: u32,
    settled: AtomicU32,
    sum: AtomicU64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Seen {
    sum: u64,
    settled: u64,
}

impl Value for Seen {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("sum", ColumnData::I64(values.iter().map(|seen| seen.sum as i64).collect()))]
    }
}

/// Vertices are of three kinds, and edges from the second to the third are no news.
fn kind(vertex: u32) -> u32 {
    vertex % 3
}

fn addend(source: u32, weight: f64) -> u64 {
    (u64::from(source) + 1) * weight as u64
}

impl<const WEIGHTED: bool> Stream for Census<WEIGHTED> {
    type Value = Seen;
    type Cell = Cell;

    const WEIGHTED: bool = WEIGHTED;

    fn cell(&self, vertex: u32) -> Cell {
        Cell { kind: kind(vertex), settled: AtomicU32::new(0), sum: AtomicU64::new(0) }
    }

    fn news(&self, source: &Cell, target: &Cell) -> bool {
        source.kind != 1 || target.kind != 2
    }

    fn edge(&self, cells: &[Cell], source: u32, target: u32, weight: f64) {
        cells[target as usize].sum.fetch_add(addend(source, weight), Ordering::Relaxed);
    }

    fn settle(&self, cells: &[Cell], vertex: u32) {
        cells[vertex as usize].settled.fetch_add(1, Ordering::Relaxed);
    }

    fn value(&self, cells: &[Cell], vertex: u32) -> Seen {
        let cell = &cells[vertex as usize];
        let settled = cell.settled.load(Ordering::Relaxed).into();
        Seen { sum: cell.sum.load(Ordering::Relaxed), settled }
    }
}

/// The same by a plain loop.
fn census(graph: &Graph, weighted: bool) -> Vec<u64> {
    let numbers = graph.numbers();
    let mut sums = vec![0; graph.vertices()];
    for (edge, &[source, target]) in graph.pairs.iter().enumerate() {
        let (source, target) = (numbers[source as usize], numbers[target as usize]);
        if kind(source as u32) != 1 || kind(target as u32) != 2 {
            let weight = if weighted { graph.weight(edge) } else { 1.0 };
            sums[target] += addend(source as u32, weight);
        }
    }
    sums
}

fn judge<const WEIGHTED: bool>(graph: &Graph) {
    let expected = census(graph, WEIGHTED);
    for executor in executors() {
        let Executor::Memory(memory) = executor else { continue };
        let seen = memory.pass(graph, Reading::default(), &Census::<WEIGHTED>);
        let sums: Vec<u64> = seen.iter().map(|seen| seen.sum).collect();
        assert_eq!(sums, expected, "{memory:?}");
        assert!(seen.iter().all(|seen| seen.settled == 1), "{memory:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    // Some executors cut chunks of a few hundred edges, so that rounds have several.
    #[test]
    fn every_edge_is_shown_once(graph in wide_graphs(300, 2000)) {
        judge::<false>(&graph);
    }

    #[test]
    fn with_its_weight(
        (graph, weights) in wide_graphs(300, 2000).prop_flat_map(|graph| {
            let count = graph.pairs.len();
            (Just(graph), prop::collection::vec(1_u8..255, count))
        }),
    ) {
        let weights = Some(weights.into_iter().map(f64::from).collect());
        let graph = Graph { weights, ..graph };
        judge::<true>(&graph);
        judge::<false>(&graph);
    }
}
