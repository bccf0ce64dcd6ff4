//! `HyperBall` against breadth-first searches from every vertex.

use std::collections::VecDeque;

use proptest::prelude::*;
use welter_algorithms::HyperBall;
use welter_algorithms::hyperball::{Ball, Neighbourhood, effective_diameter};
use welter_model::edges::Reading;
use welter_model::program::Value;
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::interpreter::Answer;
use welter_testing::reading::read_as;
use welter_testing::samples::samples;
use welter_testing::strategies::wide_graphs;

/// Of each vertex, how many others reach it by paths of 0, 1, 2 edges and so on.
fn reached(graph: &Graph) -> Vec<Vec<u64>> {
    let numbers = graph.numbers();
    let mut into = vec![Vec::new(); graph.vertices()];
    for pair in &graph.pairs {
        let [from, to] = pair.map(|slot| numbers[slot as usize]);
        into[to].push(from);
    }
    (0..into.len()).map(|vertex| rings(&into, vertex)).collect()
}

/// Number of vertices at each distance from one.
fn rings(rows: &[Vec<usize>], start: usize) -> Vec<u64> {
    let mut rings = vec![1];
    let mut depths = vec![usize::MAX; rows.len()];
    depths[start] = 0;
    let mut queue = VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        for &next in &rows[vertex] {
            if depths[next] == usize::MAX {
                depths[next] = depths[vertex] + 1;
                rings.resize(rings.len().max(depths[next] + 1), 0);
                rings[depths[next]] += 1;
                queue.push_back(next);
            }
        }
    }
    rings
}

/// Harmonic centralities, closenesses and sizes of balls, column after column, where a ball of
/// `count` vertices is believed to have `size(count)`.
fn centralities(reached: &[Vec<u64>], size: impl Fn(u64) -> f64) -> Vec<f64> {
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    for rings in reached {
        let (mut count, mut harmonic, mut distance) = (1, 0.0, 0.0);
        for (t, ring) in rings.iter().enumerate().skip(1) {
            let more = size(count + ring) - size(count);
            count += ring;
            harmonic += more / t as f64;
            distance += more * t as f64;
        }
        let closeness = if distance > 0.0 { 1.0 / distance } else { 0.0 };
        for (column, number) in columns.iter_mut().zip([harmonic, closeness, size(count)]) {
            column.push(number);
        }
    }
    columns.concat()
}

/// N(0), N(1) and so on, up to the iteration in which no ball grows.
fn neighbourhood(reached: &[Vec<u64>]) -> Vec<f64> {
    let longest = reached.iter().map(Vec::len).max().unwrap_or(0);
    let within = |t: usize| reached.iter().flat_map(move |rings| rings.iter().take(t + 1));
    (0..=longest).map(|t| within(t).sum::<u64>() as f64).collect()
}

fn pairs<const M: usize>(answer: &Answer<Ball<M>, Neighbourhood>) -> Vec<f64> {
    answer.totals.iter().map(Neighbourhood::pairs).collect()
}

fn standard_error(registers: usize) -> f64 {
    1.04 / (registers as f64).sqrt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Four standard errors, and two vertices more for those that meet in one register.
    #[test]
    fn estimates_are_near_what_searches_count(
        graph in wide_graphs(60, 200),
        seed in any::<u64>(),
        undirected in any::<bool>(),
        reversed in any::<bool>(),
    ) {
        let reading = Reading { undirected, reversed, ..Reading::default() };
        let program = HyperBall::<64>::new(seed, None);
        let answer = judge(&graph, reading, &program, Nearness::Bits);
        let reached = reached(&read_as(&graph, reading));
        let most = |exact: f64| 4.0 * standard_error(64) * exact + 2.0;
        let exact = centralities(&reached, |count| count as f64);
        let found = answer.numbers();
        let count = graph.vertices();
        for vertex in (0..count).chain(2 * count..3 * count) {
            let off = (found[vertex] - exact[vertex]).abs();
            prop_assert!(off <= most(exact[vertex]), "{} is {off} off", exact[vertex]);
        }
        for (found, exact) in pairs(&answer).into_iter().zip(neighbourhood(&reached)) {
            prop_assert!((found - exact).abs() <= most(exact), "{found} of {exact}");
        }
    }

    #[test]
    fn a_radius_ends_it(graph in wide_graphs(40, 120), radius in 1_u64..4) {
        let whole = HyperBall::<16>::new(3, None);
        let whole = Executor::Reference.run(&graph, Reading::default(), &whole);
        let program = HyperBall::<16>::new(3, Some(radius));
        let answer = judge(&graph, Reading::default(), &program, Nearness::Bits);
        prop_assert_eq!(answer.iterations, whole.iterations.min(radius));
        let all = pairs(&whole);
        prop_assert_eq!(pairs(&answer), &all[..=answer.iterations as usize]);
    }
}

fn path(vertices: u32) -> Graph {
    Graph::new(vertices as usize, (1..vertices).map(|vertex| [vertex - 1, vertex]).collect())
}

fn star(leaves: u32) -> Graph {
    Graph::new(leaves as usize + 1, (1..=leaves).map(|leaf| [0, leaf]).collect())
}

fn complete(vertices: u32) -> Graph {
    let others = |v| (0..vertices).filter(move |w| *w != v).map(move |w| [v, w]);
    Graph::new(vertices as usize, (0..vertices).flat_map(others).collect())
}

/// With a register for each vertex the estimate of `n` is `M ln(M / (M - n))`, whatever their
/// hashes are, so everything follows from the distances. This seed parts the first eight vertices.
#[test]
fn small_graphs_have_the_numbers_that_mathematics_gives() {
    let size = |count: u64| {
        if count == 1 { 1.0 } else { 256.0 * (256.0 / (256.0 - count as f64)).ln() }
    };
    for undirected in [false, true] {
        for graph in [path(8), star(7), complete(8), Graph::new(4, vec![[1, 1]])] {
            let reading = Reading { undirected, ..Reading::default() };
            let program = HyperBall::<256>::new(1, None);
            let answer = judge(&graph, reading, &program, Nearness::Bits);
            let reached = reached(&read_as(&graph, reading));
            let near = |found: &[f64], expected: &[f64]| {
                assert_eq!(found.len(), expected.len());
                let off = |(found, expected): (&f64, &f64)| (found - expected).abs();
                let most = found.iter().zip(expected).map(off).fold(0.0, f64::max);
                assert!(most < 1e-4, "{found:?}, not {expected:?}");
            };
            near(&answer.numbers(), &centralities(&reached, size));
            let rounded: Vec<f64> = pairs(&answer).iter().map(|n| n.round()).collect();
            let exact = neighbourhood(&reached);
            assert_eq!(rounded.len(), exact.len());
            assert!(rounded.iter().zip(&exact).all(|(found, exact)| found / exact < 1.02));
        }
    }
    // An undirected path of 8 vertices has 8, 22, 34, 44, 52, 58, 62, 64 pairs within 0 to 7 edges.
    let both = Reading { undirected: true, ..Reading::default() };
    let exact = neighbourhood(&reached(&read_as(&path(8), both)));
    assert_eq!(exact, [8.0, 22.0, 34.0, 44.0, 52.0, 58.0, 62.0, 64.0, 64.0]);
    assert!((effective_diameter(&exact, 0.9) - 4.933_333).abs() < 1e-5);
}

/// Balls beyond the linear range, and a real graph of 1,005 vertices.
#[test]
fn a_real_network_is_as_far_across_as_searches_say() {
    let Some(sample) = samples().into_iter().find(|sample| sample.name == "email-Eu-core") else {
        return;
    };
    let graph = sample.load(&sample.answers());
    let reached = reached(&graph);
    let exact = centralities(&reached, |count| count as f64);
    let count = graph.vertices();
    let answer = judge(&graph, Reading::default(), &HyperBall::<64>::new(1, None), Nearness::Bits);
    for (seed, found) in (1..6).map(|seed| {
        let program = HyperBall::<64>::new(seed, None);
        (seed, Executor::Reference.run(&graph, Reading::default(), &program))
    }) {
        assert!(seed != 1 || found.bits() == answer.bits());
        let [harmonic, ball] = [0, 2].map(|column| {
            let numbers = &found.numbers()[column * count..][..count];
            let known = exact[column * count..][..count].iter().zip(numbers);
            let errors =
                known.filter(|(exact, _)| **exact > 0.0).map(|(e, n)| (n / e - 1.0).powi(2));
            let (sum, many) =
                errors.fold((0.0, 0.0), |(sum, many), error| (sum + error, many + 1.0));
            f64::sqrt(sum / many)
        });
        // All balls end as nearly the same one, so their errors are one error.
        assert!(harmonic < 2.5 * standard_error(64), "seed {seed}: harmonic {harmonic}");
        assert!(ball < 2.5 * standard_error(64), "seed {seed}: ball {ball}");
        let diameter = effective_diameter(&pairs(&found), 0.9);
        let expected = effective_diameter(&neighbourhood(&reached), 0.9);
        assert!((diameter - expected).abs() < 0.5, "seed {seed}: {diameter}, not {expected}");
    }
}

#[test]
fn columns_are_named() {
    let answer =
        judge(&path(3), Reading::default(), &HyperBall::<16>::new(9, None), Nearness::Bits);
    let names: Vec<_> = Value::columns(&answer.values).into_iter().map(|column| column.0).collect();
    assert_eq!(names, ["harmonic", "closeness", "ball"]);
    let all_wide = |(_, data): &(_, _)| matches!(data, ColumnData::F64(_));
    assert!(Value::columns(&answer.values).iter().all(all_wide));
}
