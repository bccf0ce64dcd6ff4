//! The sum-product algorithm against sums over the states of all vertices, where there are no
//! cycles, and against a loop that multiplies the messages of all other edges, where there are.

use proptest::prelude::*;
use welter_algorithms::SumProduct;
use welter_algorithms::bp::{Beliefs, Potential};
use welter_algorithms::sum_product::BeliefState;
use welter_engine::plan::{Layout, Plan, Settings, StorageMode};
use welter_model::program::Value;
use welter_testing::executors::{Executor, Memory, judge_extended};
use welter_testing::graph::Graph;
use welter_testing::interpreter::Answer;
use welter_testing::strategies::wide_graphs;

use crate::bp::{UNDIRECTED, columns, lighter, made, near, normalised};

/// Error of beliefs from rounding messages to `f32`, at most.
const ROUNDED: f64 = 1e-5;

/// `psi(i, j) ^ w` of an edge.
fn factor<const K: usize>(psi: [[f64; K]; K], weight: f64) -> [[f64; K]; K] {
    psi.map(|row| row.map(|psi| psi.powf(weight)))
}

/// Beliefs after each iteration, by products of the messages of the other edges of a vertex.
fn plain<const K: usize>(
    graph: &Graph,
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
    (iterations, damping): (usize, f64),
) -> Vec<Vec<[f64; K]>> {
    let numbers = graph.numbers();
    let ends: Vec<[usize; 2]> =
        graph.pairs.iter().map(|pair| pair.map(|slot| numbers[slot as usize])).collect();
    // Messages of each edge to its first end, and to its second.
    let mut messages = vec![[[1.0; K]; 2]; ends.len()];
    let incoming = |messages: &[[[f64; K]; 2]], vertex: usize, but: usize| -> [f64; K] {
        let mut product = priors[vertex];
        for (edge, ends) in ends.iter().enumerate().filter(|(edge, _)| *edge != but) {
            // A self-loop sends to its vertex once.
            let sides = if ends[0] == ends[1] { 0..1 } else { 0..2 };
            for side in sides.filter(|side| ends[*side] == vertex) {
                product = std::array::from_fn(|j| product[j] * messages[edge][side][j]);
                product = normalised(product);
            }
        }
        normalised(product)
    };
    let beliefs = |messages: &[[[f64; K]; 2]]| -> Vec<[f64; K]> {
        (0..priors.len()).map(|vertex| incoming(messages, vertex, usize::MAX)).collect()
    };
    let mut all = vec![beliefs(&messages)];
    for _ in 0..iterations {
        let before = messages.clone();
        for (edge, &[one, other]) in ends.iter().enumerate() {
            let psi = factor(psi, graph.weight(edge));
            if one == other {
                messages[edge][0] = normalised(std::array::from_fn(|j| psi[j][j]));
                continue;
            }
            for (side, from) in [(0, other), (1, one)] {
                let others = incoming(&before, from, edge);
                let new = |j: usize| (0..K).map(|i| psi[i][j] * others[i]).sum::<f64>();
                let new: [f64; K] = normalised(std::array::from_fn(new));
                messages[edge][side] = normalised(std::array::from_fn(|j| {
                    new[j].powf(1.0 - damping) * before[edge][side][j].powf(damping)
                }));
            }
        }
        all.push(beliefs(&messages));
    }
    all
}

/// The probabilities of the states of each vertex: sums over the states of all vertices of the
/// products of priors and potentials.
fn marginals<const K: usize>(
    graph: &Graph,
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
) -> Vec<[f64; K]> {
    let mut sums = vec![[0.0; K]; priors.len()];
    for code in 0..K.pow(priors.len() as u32) {
        let state = |vertex: usize| code / K.pow(vertex as u32) % K;
        let known: f64 = (0..priors.len()).map(|v| priors[v][state(v)]).product();
        let fits = graph.pairs.iter().enumerate().map(|(edge, pair)| {
            let [one, other] = pair.map(|vertex| state(vertex as usize));
            psi[one][other].powf(graph.weight(edge))
        });
        let likely = known * fits.product::<f64>();
        for (vertex, sums) in sums.iter_mut().enumerate() {
            sums[state(vertex)] += likely;
        }
    }
    sums.into_iter().map(normalised).collect()
}

fn program<const K: usize, const R: usize>(
    psi: [[f64; K]; K],
    priors: &[[f64; K]],
    iterations: usize,
) -> SumProduct<K, R> {
    let potential = Potential::of(psi).expect("a potential");
    let program = SumProduct::new(potential, iterations as u64, 0.0).expect("a potential");
    program.with_priors(priors.to_vec())
}

/// Beliefs of a graph on all executors, compared with the loops.
fn judged<const K: usize, const R: usize>(
    graph: &Graph,
    (psi, priors): (&[[f64; K]; K], &[[f64; K]]),
    (iterations, damping): (usize, f64),
) -> Answer<BeliefState<K>, Beliefs<K>> {
    let program = program::<K, R>(*psi, priors, iterations).with_damping(damping);
    let answer = judge_extended(graph, UNDIRECTED, &program);
    assert_eq!(answer.iterations, iterations as u64);
    let all = plain(graph, *psi, priors, (iterations, damping));
    near(&columns(&all[iterations]), &answer.numbers(), ROUNDED);
    for (t, (totals, beliefs)) in answer.totals.iter().zip(&all).enumerate() {
        let expected: Vec<f64> =
            (0..K).map(|state| beliefs.iter().map(|belief| belief[state]).sum()).collect();
        near(&expected, &{ totals.expected }, ROUNDED);
        if t > 0 {
            let moved = columns(beliefs).into_iter().zip(columns(&all[t - 1]));
            let most = moved.map(|(now, before)| (now - before).abs()).fold(0.0, f64::max);
            assert!(({ totals.change } - most).abs() < ROUNDED, "iteration {t}");
        }
    }
    answer
}

/// A tree of at most `vertices_max` vertices, with weights and self-loops, and its longest path at
/// most.
fn trees(vertices_max: usize) -> impl Strategy<Value = (Graph, usize)> {
    let parents = proptest::collection::vec((any::<u32>(), 0.0..3.0_f64, 0..4), 0..vertices_max);
    (parents, any::<bool>()).prop_map(|(parents, weighted)| {
        let (mut pairs, mut weights, mut depths) = (Vec::new(), Vec::new(), vec![0]);
        for (vertex, (parent, weight, other)) in parents.into_iter().enumerate() {
            let (vertex, parent) = (vertex as u32 + 1, parent % (vertex as u32 + 1));
            depths.push(depths[parent as usize] + 1);
            pairs.push(if other % 2 == 0 { [parent, vertex] } else { [vertex, parent] });
            weights.push(weight);
            if other == 3 {
                pairs.push([vertex; 2]);
                weights.push(weight / 2.0);
            }
        }
        let longest = 2 * depths.iter().max().expect("a root");
        let weights = weighted.then_some(weights);
        // The message of a self-loop is received in the first iteration, and sent on in the next.
        (Graph { weights, ..Graph::new(depths.len(), pairs) }, longest + 1)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn two_states(graph in wide_graphs(40, 60), seed in any::<u64>(), iterations in 0_usize..5) {
        let (psi, priors) = made::<2>(seed, graph.vertices());
        judged::<2, 1>(&lighter(graph), (&psi, &priors), (iterations, 0.0));
    }

    #[test]
    fn three_states(graph in wide_graphs(40, 60), seed in any::<u64>(), iterations in 0_usize..4) {
        let (psi, priors) = made::<3>(seed, graph.vertices());
        judged::<3, 2>(&lighter(graph), (&psi, &priors), (iterations, 0.25));
    }

    #[test]
    fn trees_are_exact((graph, iterations) in trees(8), seed in any::<u64>()) {
        let (psi, priors) = made::<3>(seed, graph.vertices());
        let exact = columns(&marginals(&graph, psi, &priors));
        for more in [0, 3] {
            let answer = judged::<3, 2>(&graph, (&psi, &priors), (iterations + more, 0.0));
            near(&exact, &answer.numbers(), ROUNDED);
        }
    }
}

proptest! {
    #[test]
    fn larger_trees_are_exact((graph, iterations) in trees(12), seed in any::<u64>()) {
        let (psi, priors) = made::<2>(seed, graph.vertices());
        let program = program::<2, 1>(psi, &priors, iterations);
        let found = memory(Settings::default()).extend(&graph, UNDIRECTED, &program);
        near(&columns(&marginals(&graph, psi, &priors)), &found.numbers(), ROUNDED);
    }

    /// States have no order, and priors no scale.
    #[test]
    fn states_have_no_order(graph in wide_graphs(30, 40), seed in any::<u64>()) {
        let ((psi, priors), graph) = (made::<3>(seed, graph.vertices()), lighter(graph));
        let run = |psi, priors: &[[f64; 3]]| {
            let program = program::<3, 2>(psi, priors, 3);
            memory(Settings::default()).extend(&graph, UNDIRECTED, &program).numbers()
        };
        let next = |i: usize, j: usize| psi[(i + 1) % 3][(j + 1) % 3];
        let turned = std::array::from_fn(|i| std::array::from_fn(|j| next(i, j)));
        let scaled: Vec<_> =
            priors.iter().map(|p| std::array::from_fn(|k| 7.0 * p[(k + 1) % 3])).collect();
        let (found, moved) = (run(psi, &priors), run(turned, &scaled));
        let vertices = found.len() / 3;
        near(&found[vertices..], &moved[..2 * vertices], ROUNDED);
    }
}

fn memory(settings: Settings) -> Memory {
    Memory { settings, part_edges_max: 1000, slots_stated: true, blind: false }
}

fn belief<const K: usize>(answer: &Answer<BeliefState<K>, Beliefs<K>>, vertex: usize) -> [f64; K] {
    let numbers = answer.numbers();
    std::array::from_fn(|state| numbers[state * answer.values.len() + vertex])
}

#[test]
fn what_was_said_does_not_come_back() {
    // One edge, of which only vertex 0 knows anything: it keeps believing that.
    let psi = [[0.8, 0.2], [0.2, 0.8]];
    let priors = [[0.7, 0.3], [0.5, 0.5]];
    let answer = judged::<2, 1>(&Graph::new(2, vec![[0, 1]]), (&psi, &priors), (20, 0.0));
    near(&[0.7, 0.3], &belief(&answer, 0), 1e-7);
    near(&[0.62, 0.38], &belief(&answer, 1), 1e-7);
    // A second edge between the two closes a cycle, in which it does.
    let answer = judged::<2, 1>(&Graph::new(2, vec![[0, 1], [1, 0]]), (&psi, &priors), (3, 0.0));
    assert!(belief(&answer, 0)[0] > 0.75);
}

#[test]
fn a_lean_fades_along_a_path() {
    // The lean of one end arrives at distance d with (2 * coupling - 1)^d of its lean.
    let (length, coupling) = (60_usize, 0.9);
    let graph = Graph::new(length, (1..length as u32).map(|v| [v - 1, v]).collect());
    let mut priors = vec![[1.0, 1.0]; length];
    priors[0] = [1.0, 0.0];
    let psi = [[coupling, 1.0 - coupling], [1.0 - coupling, coupling]];
    let program = program::<2, 1>(psi, &priors, length - 1);
    let answer = judge_extended(&graph, UNDIRECTED, &program);
    for vertex in 0..length {
        let lean = (2.0 * coupling - 1.0).powi(vertex as i32) / 2.0;
        near(&[0.5 + lean, 0.5 - lean], &belief(&answer, vertex), 1e-6);
    }
    assert_eq!(belief(&answer, 0).map(f64::to_bits), [1.0_f64, 0.0].map(f64::to_bits));
    // An iteration earlier the other end has received nothing yet; one later nothing moves.
    let program = SumProduct::<2, 1>::new(Potential::of(psi).expect("a potential"), 1000, 1e-9);
    let program = program.expect("a potential");
    let answer = judge_extended(&graph, UNDIRECTED, &program.with_priors(priors));
    assert_eq!(answer.iterations, length as u64);
    let changes: Vec<f64> = answer.totals.iter().map(|total| total.change).collect();
    assert!(changes[1..length].iter().all(|change| *change > 1e-9) && changes[length] < 1e-9);
}

#[test]
fn products_of_a_hub_leave_the_range_of_numbers() {
    // 9 to 1 for one state a thousand times, and then a thousand times but two for the other.
    let graph = Graph::new(1999, (1..1999).map(|leaf| [leaf, 0]).collect());
    let mut priors = vec![[1.0, 0.0]; 1999];
    priors[0] = [1.0, 1.0];
    priors[1001..].fill([0.0, 2.0]);
    let psi = [[0.9, 0.1], [0.1, 0.9]];
    let answer = judge_extended(&graph, UNDIRECTED, &program::<2, 1>(psi, &priors, 1));
    near(&[81.0 / 82.0, 1.0 / 82.0], &belief(&answer, 0), 1e-9);
}

#[test]
fn damping_settles_what_swings() {
    // All of six vertices favour unlike neighbours, which none can have.
    let pairs = (0..6).flat_map(|v| (v + 1..6).map(move |w| [v, w])).collect();
    let graph = Graph::new(6, pairs);
    let psi = [[0.1, 0.9], [0.9, 0.1]];
    let priors = vec![[0.6, 0.4]; 6];
    let run = |damping| {
        let answer = judged::<2, 1>(&graph, (&psi, &priors), (60, damping));
        answer.total.change
    };
    assert!(run(0.0) > 0.5);
    assert!(run(0.7) < 1e-6);
}

#[test]
fn states_of_edges_go_to_storage_piece_by_piece() {
    // 56 bytes an edge: a piece has 9,362, and each of 16 stripes some pieces.
    let random = |place: u64| {
        ((place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).wrapping_mul(0xbf58_476d) >> 16) as u32
    };
    let pairs = (0..150_000).map(|edge| [random(edge) % 5000, random(!edge) % 3000]).collect();
    let graph = Graph::new(5000, pairs);
    let (psi, priors) = made::<8>(5, 5000);
    let program = program::<8, 7>(psi, &priors, 3);
    let plan = |settings| -> Result<Plan, _> {
        memory(settings).plan(&graph, UNDIRECTED, Layout::of_extended::<SumProduct<8, 7>>())
    };
    let found = |settings| memory(settings).extend(&graph, UNDIRECTED, &program).bits();
    let all = Settings { threads: Some(2), ..Settings::default() };
    let expected = found(all);
    let away = StorageMode::Always { cache_bytes: 0, values: true };
    let away = Settings { storage: away, stripe_bits: Some(12), ..all };
    assert_eq!(plan(away).unwrap().storage().unwrap().edge_states_bytes, 0);
    assert!(found(away) == expected);
    // With less than all of them in memory, and not none.
    let auto = |bytes| Settings { memory_bytes: Some(bytes), storage: StorageMode::Auto, ..all };
    let stay = |bytes: u64| plan(auto(bytes)).ok()?.storage().map(|plan| plan.edge_states_bytes);
    let budgets = (10..200).map(|mebibytes| mebibytes << 20);
    let some = budgets.filter(|bytes| stay(*bytes).is_some_and(|bytes| bytes > 2 << 20));
    let some: Vec<u64> = some.step_by(4).collect();
    assert!(some.len() > 1);
    assert!(some.into_iter().all(|bytes| found(auto(bytes)) == expected));
}

#[test]
fn columns_are_named() {
    let program = SumProduct::<3, 2>::new(Potential::coupled(0.5).expect("a potential"), 1, 0.0);
    let program = program.expect("a potential");
    let graph = Graph::new(3, vec![[0, 1]]);
    let answer = judge_extended(&graph, UNDIRECTED, &program);
    let names: Vec<_> = Value::columns(&answer.values).into_iter().map(|column| column.0).collect();
    assert_eq!(names, ["belief_1", "belief_2", "belief_3"]);
    assert!(answer.numbers().iter().all(|belief| (belief - 1.0 / 3.0).abs() < 1e-15));
    assert!(Executor::Reference.extend(&graph, UNDIRECTED, &program).is_none());
}
