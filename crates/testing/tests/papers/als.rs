//! Alternating least squares against dense equations, solved by elimination.

use proptest::prelude::*;
use welter_algorithms::Sides;
use welter_algorithms::als::{Als4, Errors, Factors};
use welter_model::edges::Reading;
use welter_model::program::{Program, Value, Vertex};
use welter_model::table::ColumnData;
use welter_testing::executors::{Executor, Nearness, judge};
use welter_testing::graph::Graph;
use welter_testing::interpreter::Answer;
use welter_testing::strategies::graphs;

const K: usize = 4;

const UNDIRECTED: Reading = Reading {
    undirected: true,
    stated_directed: false,
    reversed: false,
    drop_self_loops: false,
    duplicates: welter_model::edges::Duplicates::Keep,
};

/// Ratings, and which of the vertices are items.
#[derive(Clone, Debug)]
struct Ratings {
    graph: Graph,
    items: Vec<bool>,
}

impl Ratings {
    /// Users have even slots, items odd ones, `stride` times as far apart.
    fn of(graph: Graph, stride: u32) -> Self {
        let declared = graph.present.iter().all(|present| *present);
        let pairs: Vec<_> = graph.pairs.iter().map(|&[from, to]| [2 * from, 2 * to + 1]).collect();
        let mut two =
            Graph { pairs, weights: graph.weights, ..Graph::new(2 * graph.present.len(), vec![]) };
        if !declared {
            two.present = two.used();
            two.present[0] |= !two.present.contains(&true);
        }
        let graph = two.spread(stride, declared);
        let items = graph.ids().into_iter().map(|slot| slot / u64::from(stride) % 2 == 1).collect();
        Self { graph, items }
    }

    fn program(&self, lambda: f64, iterations: u64, seed: u64) -> Als4 {
        let items = (0..self.items.len() as u64).filter(|&vertex| self.items[vertex as usize]);
        Als4::new(Sides::of(self.items.len() as u64, items), lambda, iterations, seed)
    }

    /// Users and items of each rating, by their numbers, and the rating.
    fn rows(&self) -> Vec<(usize, usize, f64)> {
        let numbers = self.graph.numbers();
        let row = |(edge, pair): (usize, &[u32; 2])| {
            let [user, item] = pair.map(|slot| numbers[slot as usize]);
            (user, item, self.graph.weight(edge))
        };
        self.graph.pairs.iter().enumerate().map(row).collect()
    }
}

/// Factors by the vertex.
fn factors(values: &[Factors<K>]) -> Vec<[f64; K]> {
    let columns = Value::columns(values);
    let number = |factor: usize, vertex: usize| match &columns[factor].1 {
        ColumnData::F64(numbers) => numbers[vertex],
        other => panic!("{other:?}"),
    };
    (0..values.len()).map(|vertex| std::array::from_fn(|k| number(k, vertex))).collect()
}

fn dot(x: &[f64; K], y: &[f64; K]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Root of the mean squared error, rating by rating.
fn rmse(rows: &[(usize, usize, f64)], factors: &[[f64; K]]) -> f64 {
    let square = |&(user, item, rating): &(usize, usize, f64)| {
        (rating - dot(&factors[user], &factors[item])).powi(2)
    };
    (rows.iter().map(square).sum::<f64>() / rows.len().max(1) as f64).sqrt()
}

/// The solution of a system, by elimination with the largest pivots.
fn eliminate(mut a: Vec<Vec<f64>>) -> [f64; K] {
    for step in 0..K {
        let larger = |p: &usize, q: &usize| a[*p][step].abs().total_cmp(&a[*q][step].abs());
        let pivot = (step..K).max_by(larger).unwrap_or(step);
        a.swap(step, pivot);
        let known = a[step].clone();
        for row in a.iter_mut().enumerate().filter(|(row, _)| *row != step).map(|(_, row)| row) {
            let share = row[step] / known[step];
            for (number, known) in row.iter_mut().zip(&known) {
                *number -= share * known;
            }
        }
    }
    std::array::from_fn(|row| a[row][K] / a[row][row])
}

/// Solves for all users, or all items, that have ratings.
fn solve(ratings: &Ratings, lambda: f64, factors: &mut [[f64; K]], items: bool) {
    let rows = ratings.rows();
    for vertex in (0..factors.len()).filter(|&vertex| ratings.items[vertex] == items) {
        let mut a = vec![vec![0.0; K + 1]; K];
        let mut count = 0.0;
        for &(user, item, rating) in &rows {
            let (own, other) = if items { (item, user) } else { (user, item) };
            if own != vertex {
                continue;
            }
            count += 1.0;
            for (i, row) in a.iter_mut().enumerate() {
                for j in 0..K {
                    row[j] += factors[other][i] * factors[other][j];
                }
                row[K] += rating * factors[other][i];
            }
        }
        for (i, row) in a.iter_mut().enumerate() {
            row[i] += lambda * count;
        }
        if count > 0.0 {
            factors[vertex] = eliminate(a);
        }
    }
}

/// Factors by dense equations, from the program's own first ones, and the errors after each side.
fn plain(
    ratings: &Ratings,
    program: &Als4,
    lambda: f64,
    sides: usize,
) -> (Vec<[f64; K]>, Vec<f64>) {
    let rows = ratings.rows();
    let degree =
        |v: usize| rows.iter().filter(|(user, item, _)| [*user, *item].contains(&v)).count();
    let first = |v: usize| {
        let vertex = Vertex { index: v as u64, out_degree: degree(v) as u64 };
        program.init(vertex).value
    };
    let values: Vec<_> = (0..ratings.items.len()).map(first).collect();
    let mut factors = factors(&values);
    let mut errors = Vec::new();
    for side in 0..sides {
        solve(ratings, lambda, &mut factors, side % 2 == 1);
        errors.push(rmse(&rows, &factors));
    }
    (factors, errors)
}

/// A graph with ratings of at most 5.
fn rated(mut graph: Graph) -> Graph {
    for rating in graph.weights.iter_mut().flatten() {
        *rating = rating.min(5.0);
    }
    graph
}

fn near(expected: f64, found: f64, most: f64) -> bool {
    (expected - found).abs() <= most * (1.0 + expected.abs())
}

fn judged(ratings: &Ratings, lambda: f64, iterations: u64) -> Answer<Factors<K>, Errors> {
    let program = ratings.program(lambda, iterations, 7);
    let answer = judge(&ratings.graph, UNDIRECTED, &program, Nearness::Within(1e-6));
    let (expected, errors) = plain(ratings, &program, lambda, answer.iterations as usize);
    for (expected, found) in expected.iter().flatten().zip(factors(&answer.values).iter().flatten())
    {
        assert!(near(*expected, *found, 1e-8), "{found}, not {expected}");
    }
    for (expected, total) in errors.iter().zip(&answer.totals[1..]) {
        assert!(near(*expected, total.rmse(), 1e-6), "{}, not {expected}", total.rmse());
    }
    answer
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn factors_are_those_of_dense_equations(
        graph in graphs(20, 80),
        stride in proptest::sample::select(vec![1_u32, 997, 4096]),
        iterations in 0_u64..4,
    ) {
        let ratings = Ratings::of(rated(graph), stride);
        let answer = judged(&ratings, 0.1, iterations);
        let none = ratings.graph.pairs.is_empty();
        prop_assert_eq!(answer.iterations, if none { 0 } else { 2 * iterations });
    }

    /// The sum that is minimised never grows, whatever the ratings are.
    #[test]
    fn every_side_makes_it_better(graph in graphs(20, 80), seed in any::<u64>()) {
        let ratings = Ratings::of(rated(graph), 1);
        let program = ratings.program(0.05, 6, seed);
        let totals = Executor::Reference.run(&ratings.graph, UNDIRECTED, &program).totals;
        let objectives: Vec<f64> = totals
            .windows(2)
            .skip(1)
            .map(|two| two[0].penalty + two[1].penalty + two[1].squares)
            .collect();
        for two in objectives.windows(2) {
            prop_assert!(two[1] <= two[0] * (1.0 + 1e-9), "{objectives:?}");
        }
    }
}

#[test]
fn a_matrix_of_low_rank_is_found_again() {
    // Every user rates every item, but for some that follow from the others.
    let (users, items) = (12_u32, 9_u32);
    let taste = |user: u32, item: u32| {
        let (user, item) = (f64::from(user), f64::from(item));
        (1.0 + user / 6.0) * (2.0 - item / 5.0) + (user % 3.0) * (item % 2.0)
    };
    let all = (0..users).flat_map(|user| (0..items).map(move |item| [user, item]));
    let (hidden, seen): (Vec<_>, Vec<_>) =
        all.partition(|[user, item]| (user * 5 + item) % 11 == 0);
    let weights = seen.iter().map(|&[user, item]| taste(user, item)).collect();
    let graph = Graph { weights: Some(weights), ..Graph::new(users as usize, seen) };
    let ratings = Ratings::of(graph, 1);
    let program = ratings.program(1e-2, 60, 3);
    let answer = Executor::Reference.run(&ratings.graph, UNDIRECTED, &program);
    let rmse: Vec<f64> = answer.totals[1..].iter().map(Errors::rmse).collect();
    assert!(rmse[0] > 0.1 && rmse[119] < 0.03, "{rmse:?}");
    let numbers = ratings.graph.numbers();
    let factors = factors(&answer.values);
    for [user, item] in hidden {
        let [x, y] = [2 * user, 2 * item + 1].map(|slot| factors[numbers[slot as usize]]);
        let (found, expected) = (dot(&x, &y), taste(user, item));
        assert!((found - expected).abs() < 0.1, "{user} {item}: {found}, not {expected}");
    }
}

#[test]
fn one_rating_is_met_up_to_the_penalty() {
    // x . y of one rating r: x = y r / (|y|^2 + lambda), so both sides shrink it by the penalty.
    let graph = Graph { weights: Some(vec![4.0]), ..Graph::new(1, vec![[0, 0]]) };
    let answer = judged(&Ratings::of(graph, 1), 1e-3, 3);
    let last = answer.totals.last().unwrap();
    assert!(last.rmse() < 0.01 && (last.ratings - 1.0).abs() < 1e-12, "{last:?}");
}
