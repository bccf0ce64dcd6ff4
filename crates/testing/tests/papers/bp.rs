//! Belief propagation without state on edges against loops over the edges that were listed, and
//! against sums over all states of small graphs.

use proptest::prelude::*;
use welter_algorithms::BeliefPropagation;
use welter_algorithms::bp::{Belief, Beliefs, Potential};
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_testing::executors::{Executor, Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::interpreter::Answer;
use welter_testing::relative_error;
use welter_testing::strategies::wide_graphs;

pub(super) const UNDIRECTED: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};

pub(super) fn normalised<const K: usize>(numbers: [f64; K]) -> [f64; K] {
    let sum: f64 = numbers.iter().sum();
    numbers.map(|number| number / sum)
}

/// Beliefs after each iteration, by products that are made to add up to 1 again at every edge.
fn plain<const K: usize>(
    graph: &Graph,
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
    iterations: usize,
) -> Vec<Vec<[f64; K]>> {
    let numbers = graph.numbers();
    let mut all = vec![priors.iter().map(|prior| normalised(*prior)).collect::<Vec<_>>()];
    for _ in 0..iterations {
        let beliefs = &all[all.len() - 1];
        let mut next = priors.to_vec();
        let mut hear = |to: usize, from: usize, weight: f64| {
            let message =
                |j| (0..K).map(|i| psi[i][j] * beliefs[from][i]).sum::<f64>().powf(weight);
            let product = std::array::from_fn(|state| next[to][state] * message(state));
            next[to] = normalised(product);
        };
        for (edge, pair) in graph.pairs.iter().enumerate() {
            let [from, to] = pair.map(|slot| numbers[slot as usize]);
            hear(to, from, graph.weight(edge));
            if from != to {
                hear(from, to, graph.weight(edge));
            }
        }
        all.push(next.into_iter().map(normalised).collect());
    }
    all
}

/// Column after column, as results are.
pub(super) fn columns<const K: usize>(beliefs: &[[f64; K]]) -> Vec<f64> {
    (0..K).flat_map(|state| beliefs.iter().map(move |belief| belief[state])).collect()
}

/// Beliefs of a graph, compared with the loops on all executors.
fn judged<const K: usize>(
    graph: &Graph,
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
    iterations: usize,
) -> Answer<Belief<K>, Beliefs<K>> {
    let potential = Potential::of(psi).expect("a potential");
    let program = BeliefPropagation::new(potential, iterations as u64, 0.0);
    let program = program.with_priors(priors.to_vec());
    let answer = judge(graph, UNDIRECTED, &program, Nearness::Within(1e-9));
    assert_eq!(answer.iterations, iterations as u64);
    let all = plain(graph, psi, priors, iterations);
    near(&columns(&all[iterations]), &answer.numbers(), 1e-9);
    for (t, (totals, beliefs)) in answer.totals.iter().zip(&all).enumerate() {
        let expected: Vec<f64> =
            (0..K).map(|state| beliefs.iter().map(|belief| belief[state]).sum()).collect();
        near(&expected, &{ totals.expected }, 1e-9);
        if t > 0 {
            let moved = columns(beliefs).into_iter().zip(columns(&all[t - 1]));
            let most = moved.map(|(now, before)| (now - before).abs()).fold(0.0, f64::max);
            assert!(({ totals.change } - most).abs() < 1e-9, "iteration {t}");
        }
    }
    answer
}

#[track_caller]
pub(super) fn near(expected: &[f64], found: &[f64], most: f64) {
    let error = relative_error(expected, found);
    assert!(error <= most, "{error:.1e}: {found:?}, not {expected:?}");
}

/// Any symmetric numbers from 0.2 to 1, and priors from 0.1 to 1 that depend on a seed, too.
pub(super) fn made<const K: usize>(seed: u64, vertices: usize) -> ([[f64; K]; K], Vec<[f64; K]>) {
    let number = |place: u64| {
        let mixed = (place ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / 16_777_216.0
    };
    let psi = |i: usize, j: usize| 0.2 + 0.8 * number((i.min(j) * 100 + i.max(j)) as u64);
    let prior =
        |vertex: usize| std::array::from_fn(|k| 0.1 + 0.9 * number((1000 + vertex * K + k) as u64));
    let psi = std::array::from_fn(|i| std::array::from_fn(|j| psi(i, j)));
    (psi, (0..vertices).map(prior).collect())
}

/// Weights of 10 and more make beliefs so sure that rounding decides what comes after.
pub(super) fn lighter(mut graph: Graph) -> Graph {
    for weight in graph.weights.iter_mut().flatten() {
        *weight = weight.min(100.0) / 100.0;
    }
    graph
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn two_states(graph in wide_graphs(40, 60), seed in any::<u64>(), iterations in 0_usize..4) {
        let (psi, priors) = made::<2>(seed, graph.vertices());
        judged(&lighter(graph), psi, &priors, iterations);
    }

    #[test]
    fn three_states(graph in wide_graphs(40, 60), seed in any::<u64>(), iterations in 0_usize..4) {
        let (psi, priors) = made::<3>(seed, graph.vertices());
        judged(&lighter(graph), psi, &priors, iterations);
    }

    /// Laws that need no executor but one.
    #[test]
    fn parallel_edges_are_a_weight_and_states_have_no_order(
        graph in wide_graphs(30, 40),
        seed in any::<u64>(),
    ) {
        let (psi, priors) = made::<3>(seed, graph.vertices());
        let run = |graph: &Graph, psi, priors: &[[f64; 3]]| {
            let program = BeliefPropagation::new(Potential::of(psi).unwrap(), 2, 0.0);
            let program = program.with_priors(priors.to_vec());
            Executor::Reference.run(graph, UNDIRECTED, &program).numbers()
        };
        let single = Graph { weights: Some(vec![2.0; graph.pairs.len()]), ..graph.clone() };
        let pairs: Vec<_> = graph.pairs.iter().flat_map(|pair| [*pair, *pair]).collect();
        let double = Graph { pairs, weights: None, ..graph };
        let found = run(&single, psi, &priors);
        near(&found, &run(&double, psi, &priors), 1e-9);
        // Told in another order, and all priors as many times as large, it is the same.
        let next = |i: usize, j: usize| psi[(i + 1) % 3][(j + 1) % 3];
        let turned = std::array::from_fn(|i| std::array::from_fn(|j| next(i, j)));
        let priors: Vec<_> =
            priors.iter().map(|p| std::array::from_fn(|k| 7.0 * p[(k + 1) % 3])).collect();
        let moved = run(&single, turned, &priors);
        let vertices = found.len() / 3;
        near(&found[vertices..], &moved[..2 * vertices], 1e-9);
    }
}

/// The probabilities of each state of vertex 0: sums over the states of all vertices of the
/// products of priors and potentials.
fn marginal<const K: usize>(
    pairs: &[[u32; 2]],
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
) -> [f64; K] {
    let mut sums = [0.0; K];
    for code in 0..K.pow(priors.len() as u32) {
        let state = |vertex: u32| code / K.pow(vertex) % K;
        let known: f64 = (0..priors.len()).map(|v| priors[v][state(v as u32)]).product();
        let fits: f64 = pairs.iter().map(|&[u, v]| psi[state(u)][state(v)]).product();
        sums[state(0)] += known * fits;
    }
    normalised(sums)
}

fn belief<const K: usize>(answer: &Answer<Belief<K>, Beliefs<K>>, vertex: usize) -> [f64; K] {
    let numbers = answer.numbers();
    std::array::from_fn(|state| numbers[state * answer.values.len() + vertex])
}

/// Beliefs of vertex 0 after one iteration.
fn after_one<const K: usize>(graph: &Graph, psi: [[f64; K]; K], priors: &[[f64; K]]) -> [f64; K] {
    let program = BeliefPropagation::new(Potential::of(psi).expect("a potential"), 1, 0.0);
    let program = program.with_priors(priors.to_vec());
    belief(&Executor::Reference.run(graph, UNDIRECTED, &program), 0)
}

#[test]
fn one_iteration_is_exact_for_a_vertex_and_its_neighbours() {
    for leaves in 1..5 {
        let pairs: Vec<_> = (1..=leaves).map(|leaf| [0, leaf]).collect();
        let graph = Graph::new(leaves as usize + 1, pairs.clone());
        let (psi, priors) = made::<3>(leaves.into(), leaves as usize + 1);
        near(&marginal(&pairs, psi, &priors), &after_one(&graph, psi, &priors), 1e-12);
        let (psi, priors) = made::<4>(leaves.into(), leaves as usize + 1);
        near(&marginal(&pairs, psi, &priors), &after_one(&graph, psi, &priors), 1e-12);
    }
    let (psi, priors) = made::<8>(9, 2);
    let graph = Graph::new(2, vec![[1, 0]]);
    near(&marginal(&[[0, 1]], psi, &priors), &after_one(&graph, psi, &priors), 1e-12);
}

#[test]
fn what_was_said_comes_back() {
    // One edge, of which only vertex 0 knows anything: sum-product would stay at the marginals.
    let psi = [[0.8, 0.2], [0.2, 0.8]];
    let priors = [[0.7, 0.3], [0.5, 0.5]];
    let graph = Graph::new(2, vec![[0, 1]]);
    let exact = marginal(&[[0, 1]], psi, &priors);
    near(&exact, &[0.7, 0.3], 1e-12);
    let second = judged(&graph, psi, &priors, 2);
    // b(1, 1) = (0.7 * 0.8 + 0.3 * 0.2, ...) = (0.62, 0.38), which tells 0 (0.572, 0.428).
    let [sure, not] = normalised([0.7 * 0.572, 0.3 * 0.428]);
    near(&[sure, not], &belief(&second, 0), 1e-12);
    assert!(sure > exact[0]);
}

#[test]
fn vertices_that_are_alike_believe_the_same() {
    // In a cycle all have two neighbours, in a complete graph of 6 five; all have the same priors.
    let cycle = Graph::new(9, (0..9).map(|v| [v, (v + 1) % 9]).collect());
    let complete = (0..6).flat_map(|v| (v + 1..6).map(move |w| [v, w])).collect();
    for (graph, degree) in [(cycle, 2), (Graph::new(6, complete), 5)] {
        let psi = [[0.6, 0.4], [0.4, 0.6]];
        let prior: [f64; 2] = [0.55, 0.45];
        let priors = vec![prior; graph.vertices()];
        let answer = judged(&graph, psi, &priors, 4);
        let mut odds = prior[0] / prior[1];
        for _ in 0..4 {
            odds = prior[0] / prior[1] * ((0.6 * odds + 0.4) / (0.4 * odds + 0.6)).powi(degree);
        }
        for vertex in 0..graph.vertices() {
            near(&[odds / (1.0 + odds), 1.0 / (1.0 + odds)], &belief(&answer, vertex), 1e-10);
        }
        // Where nothing is known all states stay as likely, and nothing ever changes.
        let potential = Potential::<2>::coupled(0.9).unwrap();
        let program = BeliefPropagation::new(potential, 5, 1e-12);
        let answer = judge(&graph, UNDIRECTED, &program, Nearness::Bits);
        assert_eq!(answer.iterations, 1);
        assert!(answer.numbers().iter().all(|belief| belief.to_bits() == 0.5_f64.to_bits()));
    }
}

#[test]
fn what_is_certain_stays_so_and_spreads() {
    // A path whose ends are known: beliefs lean to the nearer end, and the middle to neither.
    let graph = Graph::new(5, (1..5).map(|v| [v - 1, v]).collect());
    let mut priors = vec![[1.0, 1.0]; 5];
    (priors[0], priors[4]) = ([1.0, 0.0], [0.0, 3.0]);
    let psi = [[0.7, 0.3], [0.3, 0.7]];
    let answer = judged(&graph, psi, &priors, 3);
    assert_eq!(belief(&answer, 0).map(f64::to_bits), [1.0_f64, 0.0].map(f64::to_bits));
    assert_eq!(belief(&answer, 4).map(f64::to_bits), [0.0_f64, 1.0].map(f64::to_bits));
    let first = |vertex| belief(&answer, vertex)[0];
    assert!(first(1) > 0.6 && (first(2) - 0.5).abs() < 1e-12 && first(3) < 0.4);
    // With one end known it settles after a while, and says so.
    priors[4] = [1.0, 1.0];
    let program = BeliefPropagation::new(Potential::of(psi).unwrap(), 1000, 1e-9);
    let answer = judge(&graph, UNDIRECTED, &program.with_priors(priors), Nearness::Within(1e-9));
    assert!((5..1000).contains(&answer.iterations), "{}", answer.iterations);
    assert!({ answer.total.change } < 1e-9);
}

#[test]
fn columns_are_named() {
    let potential = Potential::<3>::coupled(0.5).unwrap();
    let program = BeliefPropagation::new(potential, 1, 0.0);
    let answer = judge(&Graph::new(3, vec![[0, 1]]), UNDIRECTED, &program, Nearness::Bits);
    let names: Vec<_> = Value::columns(&answer.values).into_iter().map(|column| column.0).collect();
    assert_eq!(names, ["belief_1", "belief_2", "belief_3"]);
}
