//! `SpMV` against a plain loop over the edges, for every type that weights are stored in.

use proptest::prelude::*;
use proptest::sample::select;
use welter_algorithms::Spmv;
use welter_algorithms::spmv::Vector;
use welter_model::edges::Reading;
use welter_testing::executors::{Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::samples::samples;
use welter_testing::strategies::{cases, wide_graphs};
use welter_testing::{reference, relative_error};

/// Weights that need exactly one type of storage: u8, u16, u32, f32, f64.
const WEIGHTS: [&[f64]; 7] = [
    &[0.0, 1.0, 7.0, 255.0],
    &[256.0, 65_535.0, 0.0],
    &[65_536.0, 4_294_967_295.0, 3.0],
    &[0.5, -1.0, -0.0, 16_777_216.0, -1.5e30],
    &[-1.0, -2.0, -65_537.0],
    &[0.1, 1.0e-300, 4_294_967_296.0, 3.0],
    &[-0.1, 1.0e300, -4_294_967_297.0],
];

fn weighted_graphs() -> impl Strategy<Value = Graph> {
    let weights = (0..WEIGHTS.len())
        .prop_flat_map(|kind| proptest::collection::vec(select(WEIGHTS[kind]), 120));
    (wide_graphs(30, 120), weights).prop_map(|(graph, mut weights)| {
        weights.truncate(graph.pairs.len());
        Graph { weights: Some(weights), ..graph }
    })
}

/// The product by slot, of vertices only.
fn product(graph: &Graph, vector: Vector, iterations: u64) -> Vec<f64> {
    let numbers = graph.numbers();
    let at = |slot: usize| {
        if graph.present[slot] { vector.at(numbers[slot] as u64) } else { 0.0 }
    };
    let mut x: Vec<f64> = (0..graph.slots()).map(at).collect();
    for _ in 0..iterations {
        x = reference::spmv(graph, &x);
    }
    graph.ids().into_iter().map(|slot| x[slot as usize]).collect()
}

/// An upper bound on the error of a sum: the same product of absolute values, times a few units in
/// the last place for each addend.
fn within_rounding(graph: &Graph, vector: Vector, found: &[f64], epsilon: f64) -> bool {
    let weights = (0..graph.pairs.len()).map(|edge| graph.weight(edge).abs()).collect();
    let absolute = Graph { weights: Some(weights), ..graph.clone() };
    let bounds = product(&absolute, vector, 1);
    let ulps = epsilon * (graph.pairs.len() + 2) as f64;
    let expected = product(graph, vector, 1);
    expected
        .iter()
        .zip(found)
        .zip(bounds)
        .all(|((expected, found), bound)| (expected - found).abs() <= bound * ulps)
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn every_type_of_weights(graph in weighted_graphs(), seed in any::<u64>()) {
        let vector = Vector::Random { seed };
        let program = Spmv::<f64>::new(vector, 1);
        let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
        prop_assert!(within_rounding(&graph, vector, &answer.numbers(), f64::EPSILON));
    }

    #[test]
    fn single_precision(graph in wide_graphs(30, 120), seed in any::<u64>()) {
        let vector = Vector::Random { seed };
        let program = Spmv::<f32>::new(vector, 1);
        let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
        // 1e-300 is 0 in f32.
        let tiny = |weight: &f64| if *weight < 1e-30 { 0.0 } else { *weight };
        let weights = graph.weights.as_ref().map(|weights| weights.iter().map(tiny).collect());
        let visible = Graph { weights, ..graph };
        prop_assert!(within_rounding(&visible, vector, &answer.numbers(), f32::EPSILON.into()));
    }

    #[test]
    fn repeated_products(graph in wide_graphs(30, 120), iterations in 0_u64..5) {
        let vector = Vector::Random { seed: 1 };
        let program = Spmv::<f64>::new(vector, iterations);
        let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
        let expected = product(&graph, vector, iterations);
        // All weights are positive: nothing cancels.
        prop_assert!(relative_error(&expected, &answer.numbers()) < 1e-12);
    }

    /// Weighted in-degrees are sums of integers, so exact.
    #[test]
    fn ones_make_in_degrees(graph in wide_graphs(30, 120), kind in 0_usize..3) {
        let cycle = WEIGHTS[kind].iter().copied().cycle();
        let weights = cycle.take(graph.pairs.len()).collect();
        let graph = Graph { weights: Some(weights), ..graph };
        let program = Spmv::<f64>::new(Vector::Ones, 1);
        let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
        prop_assert_eq!(answer.numbers(), product(&graph, Vector::Ones, 1));
    }
}

/// Weights of one chunk that need the widest type do not change those of another chunk.
#[test]
fn types_may_differ_from_chunk_to_chunk() {
    let kinds = WEIGHTS.len() as u32;
    let pairs: Vec<[u32; 2]> =
        (0..20_000).map(|edge| [edge % 19_997, edge * 31 % 20_000]).collect();
    // By source, so that chunks, which hold ranges of sources, need different types.
    let weight = |&[from, _]: &[u32; 2]| {
        let kind = WEIGHTS[(from / 700 % kinds) as usize];
        kind[from as usize % kind.len()]
    };
    let weights = pairs.iter().map(weight).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(20_000, pairs) };
    let vector = Vector::Random { seed: 3 };
    let program = Spmv::<f64>::new(vector, 1);
    let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
    assert!(within_rounding(&graph, vector, &answer.numbers(), f64::EPSILON));
}

#[test]
fn a_real_road_network() {
    let Some(sample) = samples().into_iter().find(|sample| sample.name == "osm-andorra") else {
        return;
    };
    let graph = sample.load(&sample.answers());
    let program = Spmv::<f64>::new(Vector::Ones, 1);
    let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
    // Lengths are whole centimetres: sums are exact.
    assert_eq!(answer.numbers(), product(&graph, Vector::Ones, 1));
}
