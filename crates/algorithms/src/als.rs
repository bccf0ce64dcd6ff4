//! Alternating least squares: factors of users and items whose products are near the ratings.
//!
//! Edges run from users to items and carry ratings `r`; with `x`, `y` vectors of `K` numbers, `n`
//! the number of ratings of a vertex, and `lambda > 0`,
//!
//! ```text
//! minimise  sum over ratings of (r(u, i) - x(u) . y(i))^2
//!           + lambda * (sum over users of n(u) |x(u)|^2  +  sum over items of n(i) |y(i)|^2)
//! ```
//!
//! by solving for one side while the other stands still, in turns, users first:
//!
//! ```text
//! A(u) = sum over ratings of y(i) y(i)^T        b(u) = sum over ratings of r(u, i) y(i)
//! x(u) = (A(u) + lambda n(u) I)^-1 b(u)
//! ```
//!
//! and likewise `y(i)` of all `x(u)`. What is minimised never grows. The squared error of a vertex
//! is `sum r^2 - 2 x . b + x . A x`, so it takes no further pass. Two passes over the edges an
//! iteration, one for each side; each looks at the edges that leave the side which stands still.
//!
//! Edges are followed both ways, so it wants a graph that was read as undirected, in which no edge
//! joins vertices of the same side: [`Als::new`] is told the sides.
//!
//! | ALS-WR | here |
//! |---|---|
//! | `A`, `b`, `n`, and the sum of `r^2` | [`Normal`], `gather`, `merge` |
//! | solve, by Cholesky's factors | `apply` |
//! | RMSE | [`Errors::rmse`] |
//!
//! Source: Zhou, Wilkinson, Schreiber and Pan, Large-scale parallel collaborative filtering for the
//! Netflix prize (2008); X-Stream runs it.
//!
//! Two users, 0 and 1, who rate two items, 2 and 3. Four factors fit four ratings nearly exactly:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{Sides, als::Als4};
//! use welter_model::edges::{EdgeList, Reading};
//!
//! let mut edges = EdgeList::new(Some(4), true);
//! edges.push(vec![[0, 2], [0, 3], [1, 2], [1, 3]], vec![5.0, 1.0, 2.0, 4.0]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Als4>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let items = Sides::of(4, [2, 3]);
//! let outcome = run(&graph, &Als4::new(items, 1e-4, 20, 1), &workers, &progress)?;
//! assert_eq!(outcome.total.ratings, 4.0);
//! assert!(outcome.total.rmse() < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

use crate::Sides;
use crate::hash::hash;

/// The program. `K` is the number of factors, `N` that of the sums which a vertex makes of its
/// ratings: `K (K + 1) / 2 + K + 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Als<const K: usize, const N: usize> {
    items: Sides,
    lambda: f64,
    iterations: u64,
    seed: u64,
}

/// Four factors a vertex.
pub type Als4 = Als<4, 16>;
/// Eight factors a vertex.
pub type Als8 = Als<8, 46>;
/// Sixteen factors a vertex.
pub type Als16 = Als<16, 154>;

/// Names of the columns.
const NAMES: [&str; 16] = [
    "factor_1",
    "factor_2",
    "factor_3",
    "factor_4",
    "factor_5",
    "factor_6",
    "factor_7",
    "factor_8",
    "factor_9",
    "factor_10",
    "factor_11",
    "factor_12",
    "factor_13",
    "factor_14",
    "factor_15",
    "factor_16",
];

impl<const K: usize, const N: usize> Als<K, N> {
    const IS_POSSIBLE: () = assert!(K <= NAMES.len() && N == K * (K + 1) / 2 + K + 2);

    /// Solves `iterations` times for the users, which are all vertices but the `items`, and then
    /// for these. `lambda` is above 0; the seed picks the factors that items have at first.
    pub fn new(items: Sides, lambda: f64, iterations: u64, seed: u64) -> Self {
        let () = Self::IS_POSSIBLE;
        Self { items, lambda, iterations, seed }
    }
}

/// The factors of a vertex; 0 where it has no ratings.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Factors<const K: usize>([f64; K]);

impl<const K: usize> Value for Factors<K> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let column = |factor: usize| values.iter().map(|value| value.0[factor]).collect();
        (0..K).map(|factor| (NAMES[factor], ColumnData::F64(column(factor)))).collect()
    }
}

/// Sums over the ratings of a vertex: the lower triangle of `A` row after row, `b`, `n`, and the
/// sum of `r^2`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Normal<const N: usize>([f64; N]);

impl<const N: usize> Normal<N> {
    #[inline(always)]
    fn ratings(&self) -> f64 {
        self.0[N - 2]
    }

    /// `x` with `(A + ridge I) x = b`, and the squared error that it leaves.
    #[inline(always)]
    fn solve<const K: usize>(&self, ridge: f64) -> ([f64; K], f64) {
        let lower = |row: usize, column: usize| self.0[row * (row + 1) / 2 + column];
        let b: [f64; K] = std::array::from_fn(|row| self.0[K * (K + 1) / 2 + row]);
        // A + ridge I = L L^T; the right side goes along, so that L z = b.
        let mut l = [[0.0; K]; K];
        let mut x = b;
        for row in 0..K {
            for column in 0..row {
                let dot: f64 = (0..column).map(|k| l[row][k] * l[column][k]).sum();
                l[row][column] = (lower(row, column) - dot) / l[column][column];
            }
            let dot: f64 = (0..row).map(|k| l[row][k] * l[row][k]).sum();
            // A has no negative eigenvalue, so only rounding makes this smaller than the ridge.
            l[row][row] = (lower(row, row) + ridge - dot).max(ridge).sqrt();
            let dot: f64 = (0..row).map(|k| l[row][k] * x[k]).sum();
            x[row] = (x[row] - dot) / l[row][row];
        }
        for row in (0..K).rev() {
            let dot: f64 = (row + 1..K).map(|k| l[k][row] * x[k]).sum();
            x[row] = (x[row] - dot) / l[row][row];
        }
        let product =
            |row: usize| -> f64 { (0..K).map(|k| lower(row.max(k), row.min(k)) * x[k]).sum() };
        let error: f64 = (0..K).map(|row| x[row] * (product(row) - 2.0 * b[row])).sum();
        (x, (self.0[N - 1] + error).max(0.0))
    }
}

/// A rating, and the factors of who gave it or got it.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Rated<const K: usize> {
    factors: [f64; K],
    rating: f64,
}

/// Totals of the side that was solved for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Errors {
    /// Number of the ratings of the side, which are all there are.
    pub ratings: f64,
    /// The sum of their squared errors.
    pub squares: f64,
    /// The sum over its vertices of `lambda n |x|^2`.
    pub penalty: f64,
}

impl Errors {
    /// The root of the mean squared error; 0 without ratings.
    pub fn rmse(&self) -> f64 {
        if self.ratings > 0.0 { (self.squares / self.ratings).sqrt() } else { 0.0 }
    }
}

impl Total for Errors {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self {
            ratings: self.ratings + other.ratings,
            squares: self.squares + other.squares,
            penalty: self.penalty + other.penalty,
        }
    }
}

impl<const K: usize, const N: usize> Program for Als<K, N> {
    type Value = Factors<K>;
    type Signal = [f64; K];
    type Update = Rated<K>;
    type Accum = Normal<N>;
    type Total = Errors;

    const WEIGHTED: bool = true;
    const WIDE: bool = true;
    /// The side that stands still is active.
    const FRONTIER: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Factors<K>, Errors> {
        let active = self.items.has(vertex.index) && vertex.out_degree > 0;
        let number = |factor: usize| {
            let place = vertex.index * K as u64 + factor as u64;
            (hash(self.seed, place) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let factors = if active { std::array::from_fn(number) } else { [0.0; K] };
        Applied { value: Factors(factors), total: Errors::default(), active }
    }

    #[inline(always)]
    fn signal(&self, factors: &Factors<K>) -> [f64; K] {
        factors.0
    }

    #[inline(always)]
    fn scatter(&self, factors: [f64; K], rating: f64) -> Option<Rated<K>> {
        Some(Rated { factors, rating })
    }

    #[inline(always)]
    fn identity(&self) -> Normal<N> {
        Normal([0.0; N])
    }

    #[inline(always)]
    fn gather(&self, mut accum: Normal<N>, update: Rated<K>) -> Normal<N> {
        let Rated { factors: y, rating } = update;
        let mut place = 0;
        for row in 0..K {
            for column in 0..=row {
                accum.0[place] += y[row] * y[column];
                place += 1;
            }
        }
        for (sum, y) in accum.0[place..].iter_mut().zip(y) {
            *sum += rating * y;
        }
        accum.0[N - 2] += 1.0;
        accum.0[N - 1] += rating * rating;
        accum
    }

    #[inline(always)]
    fn merge(&self, mut left: Normal<N>, right: Normal<N>) -> Normal<N> {
        for (left, right) in left.0.iter_mut().zip(right.0) {
            *left += right;
        }
        left
    }

    #[inline(always)]
    fn apply(
        &self,
        value: Factors<K>,
        accum: Normal<N>,
        _: &Errors,
    ) -> Applied<Factors<K>, Errors> {
        let ratings = accum.ratings();
        if ratings == 0.0 {
            return Applied { value, total: Errors::default(), active: false };
        }
        let ridge = self.lambda * ratings;
        let (factors, squares) = accum.solve(ridge);
        let penalty = ridge * factors.iter().map(|x| x * x).sum::<f64>();
        Applied::active(Factors(factors), Errors { ratings, squares, penalty })
    }

    fn next(&self, iterations: u64, _: &Errors) -> Next {
        if iterations < 2 * self.iterations { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(2 * self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_and_errors_are_those_of_the_ratings() {
        let program = Als4::new(Sides::default(), 0.1, 1, 1);
        let message = [
            ([1.0, 0.5, 0.0, 2.0], 3.0),
            ([0.0, 1.0, -1.0, 0.5], 1.0),
            ([2.0, 0.0, 1.0, 1.0], 4.0),
        ];
        let gather = |sums, (factors, rating)| program.gather(sums, Rated { factors, rating });
        let sums = message.into_iter().fold(program.identity(), gather);
        let (x, squares) = sums.solve::<4>(0.3);
        let dot = |y: &[f64; 4]| y.iter().zip(x).map(|(y, x)| y * x).sum::<f64>();
        // The gradient is 0, in each direction.
        for k in 0..4 {
            let slope: f64 = message.iter().map(|(y, r)| y[k] * (dot(y) - r)).sum();
            assert!((slope + 0.3 * x[k]).abs() < 1e-12, "{k}: {slope}");
        }
        let direct: f64 = message.iter().map(|(y, r)| (r - dot(y)).powi(2)).sum();
        assert!((squares - direct).abs() < 1e-12);
    }

    #[test]
    fn who_hears_nothing_stays_and_says_nothing() {
        let program = Als8::new(Sides::of(3, [1]), 0.1, 1, 1);
        let start = |index, out_degree| program.init(Vertex { index, out_degree });
        assert!(!start(0, 4).active && start(1, 4).active && !start(1, 0).active);
        assert!(start(1, 4).value.0.iter().all(|factor| (0.0..1.0).contains(factor)));
        let (value, last) = (start(1, 4).value, Errors::default());
        let applied = program.apply(value, program.identity(), &last);
        assert_eq!(applied, Applied { value, total: last, active: false });
        assert!(last.rmse() == 0.0);
    }
}
