//! PageRank by weights and with jumps against a plain loop, and against plain PageRank.

use proptest::prelude::*;
use welter_algorithms::pagerank::Dangling;
use welter_algorithms::walk::{misfit, scale};
use welter_algorithms::{PageRank, Walk};
use welter_model::edges::Reading;
use welter_testing::executors::{Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::relative_error;
use welter_testing::strategies::{cases, wide_graphs};

/// The plain loop adds up the ranks of up to 200,000 sinks one after the other, with an error of
/// that many half units in the last place. The engine sums by segments and is nearer to the truth.
const ROUNDING: f64 = 200_000.0 * f64::EPSILON / 2.0;

const ROUNDED: Nearness = Nearness::Within(ROUNDING);

/// Graphs with weights, some of which are 0.
fn weighted_graphs() -> impl Strategy<Value = Graph> {
    let weights = proptest::collection::vec(prop_oneof![Just(0.0), 0.01..9.0_f64], 120);
    (wide_graphs(40, 120), weights).prop_map(|(graph, mut weights)| {
        weights.truncate(graph.pairs.len());
        Graph { weights: Some(weights), ..graph }
    })
}

/// The sums of the weights that leave each vertex, by number.
fn sums(graph: &Graph) -> Vec<f64> {
    let numbers = graph.numbers();
    let mut sums = vec![0.0; graph.vertices()];
    for (edge, [from, _]) in graph.pairs.iter().enumerate() {
        sums[numbers[*from as usize]] += graph.weight(edge);
    }
    sums
}

/// Where a walk jumps to, continues from sinks, and begins; each sums to 1.
struct Vectors {
    jumps: Vec<f64>,
    exits: Option<Vec<f64>>,
    starts: Vec<f64>,
}

/// The formula, one edge after the other. Sinks are lost where they go nowhere.
fn plain(graph: &Graph, ways: &Vectors, iterations: u64) -> Vec<f64> {
    let (numbers, sums) = (graph.numbers(), sums(graph));
    let mut ranks = ways.starts.clone();
    for _ in 0..iterations {
        let lost: f64 = (0..ranks.len()).filter(|v| sums[*v] == 0.0).map(|v| ranks[v]).sum();
        let mut next: Vec<f64> = ways.jumps.iter().map(|jump| 0.15 * jump).collect();
        for (rank, exit) in next.iter_mut().zip(ways.exits.iter().flatten()) {
            *rank += 0.85 * lost * exit;
        }
        for (edge, pair) in graph.pairs.iter().enumerate() {
            let [from, to] = pair.map(|slot| numbers[slot as usize]);
            if sums[from] > 0.0 {
                next[to] += 0.85 * ranks[from] * graph.weight(edge) / sums[from];
            }
        }
        ranks = next;
    }
    ranks
}

/// As many proportions as there are vertices, and their shares of 1; `None` where they are all 0.
fn shares(proportions: &[f64], vertices: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let all: Vec<f64> = proportions.iter().copied().cycle().take(vertices).collect();
    let sum: f64 = all.iter().sum();
    let shares = all.iter().map(|share| share / sum).collect();
    (sum > 0.0).then_some((all, shares))
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn weights_and_jumps(
        graph in weighted_graphs(),
        tables in proptest::collection::vec(
            proptest::collection::vec(prop_oneof![Just(0.0), 0.1..4.0_f64], 0..40),
            3,
        ),
        iterations in 0_u64..6,
        is_weighted in any::<bool>(),
        keeps_sinks in any::<bool>(),
    ) {
        let graph =
            if is_weighted { graph } else { Graph { weights: None, ..graph } };
        let vertices = graph.vertices();
        let mut program = Walk::new(vertices as u64, 0.85, iterations, 0.0);
        let even = vec![1.0 / vertices as f64; vertices];
        let mut ways = Vectors { jumps: even.clone(), exits: None, starts: even };
        if let Some((jumps, shares)) = shares(&tables[0], vertices) {
            program = program.jumping(jumps).unwrap();
            ways.jumps = shares;
        }
        if let Some((starts, shares)) = shares(&tables[1], vertices) {
            program = program.starting(starts).unwrap();
            ways.starts = shares;
        }
        if !keeps_sinks {
            program = program.losing_sinks();
        } else if let Some((exits, shares)) = shares(&tables[2], vertices) {
            program = program.leaving_sinks(exits).unwrap();
            ways.exits = Some(shares);
        } else {
            ways.exits = Some(ways.jumps.clone());
        }
        if is_weighted {
            program = program.weighted(sums(&graph));
        }
        let answer = judge(&graph, Reading::default(), &program, Nearness::Within(ROUNDING));
        let expected = plain(&graph, &ways, iterations);
        prop_assert!(relative_error(&expected, &answer.numbers()) < ROUNDING);
        if keeps_sinks && vertices > 0 {
            let mass: f64 = answer.numbers().iter().sum();
            prop_assert!((mass - 1.0).abs() < 1e-9, "{}", mass);
        }
    }

    /// Ranks do not depend on what all weights are multiplied by, be it to the ends of the range of
    /// floats.
    #[test]
    fn scaled_weights_are_the_same_walk(graph in weighted_graphs(), power in 900_i32..1019) {
        let vertices = graph.vertices() as u64;
        let walk = |sums| Walk::new(vertices, 0.85, 4, 0.0).weighted(sums);
        let expected = judge(&graph, Reading::default(), &walk(sums(&graph)), ROUNDED);
        for power in [power, -power] {
            let times = |graph: &Graph, factor: f64| {
                let weights = graph.weights.iter().flatten().map(|weight| weight * factor);
                Graph { weights: Some(weights.collect()), ..graph.clone() }
            };
            let graph = times(&graph, f64::from(power).exp2());
            let before = sums(&graph);
            let scale = scale(&before);
            prop_assert!((scale - 1.0).abs() > 0.1 || before.iter().all(|sum| *sum <= 0.0));
            let scaled = sums(&times(&graph, scale));
            prop_assert_eq!(misfit(&scaled, &before), None);
            let walk = walk(scaled).scaled(scale);
            let ranks = judge(&graph, Reading::default(), &walk, ROUNDED);
            prop_assert!(relative_error(&expected.numbers(), &ranks.numbers()) < ROUNDING);
        }
    }

    /// Without weights, and with jumps to all alike, it is PageRank.
    #[test]
    fn even_walks_are_pagerank(graph in wide_graphs(40, 120), iterations in 0_u64..6) {
        let graph = Graph { weights: None, ..graph };
        let vertices = graph.vertices() as u64;
        let walk = Walk::new(vertices, 0.85, iterations, 0.0);
        let ranks = judge(&graph, Reading::default(), &walk, Nearness::Within(ROUNDING));
        let even = PageRank::<f64>::new(vertices, 0.85, iterations, 0.0, Dangling::Spread);
        let expected = judge(&graph, Reading::default(), &even, Nearness::Within(ROUNDING));
        prop_assert!(relative_error(&expected.numbers(), &ranks.numbers()) < ROUNDING);
    }
}
