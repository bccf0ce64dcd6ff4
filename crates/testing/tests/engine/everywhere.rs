//! Bits that are equal everywhere, on a graph large enough for several groups of sources, stripes
//! of destinations and chunks in each cell.

use std::sync::OnceLock;

use welter_algorithms::pagerank::Dangling;
use welter_algorithms::spmv::Vector;
use welter_algorithms::{PageRank, Spmv};
use welter_model::edges::{Duplicates, Reading};
use welter_testing::executors::{Nearness, judge};
use welter_testing::graph::Graph;

use crate::programs::{Flicker, SmallestLabel};

/// 300,000 edges among 14,000 slots, four segments of them; a quarter of the edges have their ends
/// among the first few hundred. Weights are not exact.
fn large() -> &'static Graph {
    static GRAPH: OnceLock<Graph> = OnceLock::new();
    GRAPH.get_or_init(|| {
        let mut state = 42_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) % below) as u32
        };
        let mut end = || if random(4) == 0 { random(300) } else { random(14_000) };
        let pairs: Vec<[u32; 2]> = (0..300_000).map(|_| [end(), end()]).collect();
        let weights = (0..pairs.len()).map(|edge| (edge * 7919 % 10_007) as f64 * 0.001).collect();
        let mut graph = Graph { weights: Some(weights), ..Graph::new(14_000, pairs) };
        graph.present = graph.used();
        graph
    })
}

#[test]
fn pagerank_in_both_precisions() {
    let vertices = large().vertices() as u64;
    let program = PageRank::<f64>::new(vertices, 0.85, 4, 0.0, Dangling::Spread);
    judge(large(), Reading::default(), &program, Nearness::Within(1e-13));
    let program = PageRank::<f32>::new(vertices, 0.85, 4, 0.0, Dangling::Spread);
    judge(large(), Reading::default(), &program, Nearness::Within(1e-6));
}

#[test]
fn spmv_of_merged_edges() {
    for duplicates in [Duplicates::Keep, Duplicates::Sum] {
        let reading =
            Reading { undirected: true, drop_self_loops: true, duplicates, ..Reading::default() };
        let program = Spmv::<f64>::new(Vector::Random { seed: 9 }, 2);
        judge(large(), reading, &program, Nearness::Bits);
    }
}

#[test]
fn frontiers() {
    judge(large(), Reading::default(), &Flicker { one_in: 40, rounds: 6 }, Nearness::Bits);
    judge(large(), Reading::default(), &SmallestLabel, Nearness::Bits);
}
