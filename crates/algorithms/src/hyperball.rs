//! `HyperBall`: how many vertices reach each one within every distance, by counters that estimate.
//!
//! ```text
//! B(v, 0)     = {v}
//! B(v, t)     = B(v, t - 1)  union  B(u, t - 1) over edges u -> v
//! N(t)        = sum over v of |B(v, t)|                         the neighbourhood function
//! harmonic(v) = sum over t >= 1 of (|B(v, t)| - |B(v, t - 1)|) / t
//! distance(v) = sum over t >= 1 of (|B(v, t)| - |B(v, t - 1)|) * t
//! closeness(v) = 1 / distance(v)
//! ```
//!
//! A ball is a `HyperLogLog` counter of `M` registers of a byte. A hash of the vertex picks a
//! register and the number `r` that it holds at least: the zeros before the first one in the other
//! bits, and 1. The union of balls is the larger of each two registers. With `z` registers at 0,
//!
//! ```text
//! raw  = alpha(M) * M^2 / (sum over registers of 2^-r)
//! |B|  = M * ln(M / z)   where raw <= 2.5 M and z > 0,   else raw
//! ```
//!
//! with a standard error of `1.04 / sqrt(M)`, much less in the first, linear, case. Balls grow, so
//! an estimate below the one before is not believed. One pass over the edges an iteration, until no
//! ball grows; a ball that did not grow is not sent. Registers are the same whatever the order of
//! the edges, and totals are integers, so the answer is too.
//!
//! | paper | here |
//! |---|---|
//! | `add(c[v], v)` | `init` |
//! | `c[v] = union(c[v], c[w])` | `gather`, `merge`, `apply` |
//! | `size(c)` | [`estimate`] |
//!
//! Source: Boldi and Vigna, In-core computation of geometric centralities with `HyperBall` (2013);
//! X-Stream runs its forerunner, `HyperANF`.
//!
//! Balls along a path of three vertices, estimated to a few hundredths: the last is reached by all.
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::HyperBall;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<HyperBall<64>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let outcome = run(&graph, &HyperBall::<64>::new(1, None), &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("ball", ColumnData::F64(balls)) = &columns[2] else { panic!("{columns:?}") };
//! assert!(balls.iter().zip([1.0, 2.0, 3.0]).all(|(size, reach)| (size - reach).abs() < 0.1));
//! assert!((outcome.total.pairs() - 6.0).abs() < 0.2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

use crate::hash::hash;

/// The program. `M`, the number of registers, is a power of two from 16 to 65,536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyperBall<const M: usize> {
    seed: u64,
    radius_max: Option<u64>,
}

impl<const M: usize> HyperBall<M> {
    const IS_POSSIBLE: () = assert!(M.is_power_of_two() && M >= 16 && M <= 1 << 16);

    /// Balls of at most this radius, or as large as they get. The seed picks the hashes.
    pub fn new(seed: u64, radius_max: Option<u64>) -> Self {
        let () = Self::IS_POSSIBLE;
        Self { seed, radius_max }
    }
}

/// The number of vertices that were added to a counter.
pub fn estimate<const M: usize>(registers: &[u8; M]) -> f64 {
    let alpha = match M {
        16 => 0.673,
        32 => 0.697,
        64 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / M as f64),
    };
    let power = |&register: &u8| f64::from_bits((1023 - u64::from(register)) << 52);
    let sum: f64 = registers.iter().map(power).sum();
    let raw = alpha * (M * M) as f64 / sum;
    let zeros: u32 = registers.iter().map(|&register| u32::from(register == 0)).sum();
    let is_linear = zeros > 0 && raw <= 2.5 * M as f64;
    if is_linear { M as f64 * (M as f64 / f64::from(zeros)).ln() } else { raw }
}

#[inline(always)]
fn union<const M: usize>(mut left: [u8; M], right: [u8; M]) -> [u8; M] {
    for (left, right) in left.iter_mut().zip(right) {
        *left = (*left).max(right);
    }
    left
}

/// State of a vertex: its ball, the size of that, and the sums of the formulas so far.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Ball<const M: usize> {
    size: f64,
    harmonic: f64,
    distance: f64,
    registers: [u8; M],
}

impl<const M: usize> Value for Ball<M> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let column = |of: fn(&Self) -> f64| ColumnData::F64(values.iter().map(of).collect());
        let closeness = |ball: &Self| if ball.distance > 0.0 { 1.0 / ball.distance } else { 0.0 };
        vec![
            ("harmonic", column(|ball| ball.harmonic)),
            ("closeness", column(closeness)),
            ("ball", column(|ball| ball.size)),
        ]
    }
}

/// Totals of an iteration. Sizes are added up as integers, so the order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Neighbourhood {
    /// Sum of the sizes of all balls, in 2^-20 of a vertex.
    size: u128,
    /// Radius of the balls.
    radius: u64,
    /// Balls that grew.
    grown: u64,
}

/// Parts of a vertex that sizes are added up in.
const PARTS: f64 = (1_u64 << 20) as f64;

impl Neighbourhood {
    fn of(size: f64, radius: u64, grown: bool) -> Self {
        Self { size: ((size * PARTS) as u64).into(), radius, grown: grown.into() }
    }

    /// `N(t)`, `t` being the iteration that these are the totals of.
    pub fn pairs(&self) -> f64 {
        self.size as f64 / PARTS
    }

    /// Whether no ball grew in this iteration, so that none ever will.
    pub fn is_whole(&self) -> bool {
        self.grown == 0
    }
}

impl Total for Neighbourhood {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        Self {
            size: self.size + other.size,
            radius: self.radius.max(other.radius),
            grown: self.grown + other.grown,
        }
    }
}

/// The distance that `share` of all pairs are within that are joined by a path, interpolated
/// between whole ones: the effective diameter, of 0.9. `pairs`: `N(0)`, `N(1)` and so on.
pub fn effective_diameter(pairs: &[f64], share: f64) -> f64 {
    let wanted = pairs.last().map_or(0.0, |all| share * all);
    match pairs.iter().position(|&pairs| pairs >= wanted) {
        None | Some(0) => 0.0,
        Some(t) => (t - 1) as f64 + (wanted - pairs[t - 1]) / (pairs[t] - pairs[t - 1]),
    }
}

impl<const M: usize> Program for HyperBall<M> {
    type Value = Ball<M>;
    type Signal = [u8; M];
    type Update = [u8; M];
    type Accum = [u8; M];
    type Total = Neighbourhood;

    const WEIGHTED: bool = false;
    const DEGREES: bool = false;
    const WIDE: bool = true;
    /// Not `MONOTONE`: what a ball adds to the sums depends on when it grows.
    const FRONTIER: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Ball<M>, Neighbourhood> {
        let hash = hash(self.seed, vertex.index);
        let bits = M.trailing_zeros();
        let mut registers = [0; M];
        // The one that is put behind the bits bounds the zeros.
        let zeros = (hash << bits | 1 << (bits - 1)).leading_zeros();
        registers[(hash >> (64 - bits)) as usize] = zeros as u8 + 1;
        let value = Ball { size: 1.0, harmonic: 0.0, distance: 0.0, registers };
        Applied::active(value, Neighbourhood::of(1.0, 0, true))
    }

    #[inline(always)]
    fn signal(&self, ball: &Ball<M>) -> [u8; M] {
        ball.registers
    }

    #[inline(always)]
    fn scatter(&self, signal: [u8; M], _: f64) -> Option<[u8; M]> {
        Some(signal)
    }

    #[inline(always)]
    fn identity(&self) -> [u8; M] {
        [0; M]
    }

    #[inline(always)]
    fn gather(&self, accum: [u8; M], update: [u8; M]) -> [u8; M] {
        union(accum, update)
    }

    #[inline(always)]
    fn merge(&self, left: [u8; M], right: [u8; M]) -> [u8; M] {
        union(left, right)
    }

    #[inline(always)]
    fn apply(
        &self,
        ball: Ball<M>,
        accum: [u8; M],
        last: &Neighbourhood,
    ) -> Applied<Ball<M>, Neighbourhood> {
        let before = ball.registers;
        let registers = union(before, accum);
        let (radius, active) = (last.radius + 1, registers != before);
        let size = if active { estimate(&registers).max(ball.size) } else { ball.size };
        let (more, t) = (size - ball.size, radius as f64);
        let (harmonic, distance) = (ball.harmonic + more / t, ball.distance + more * t);
        let value = Ball { size, harmonic, distance, registers };
        Applied { value, total: Neighbourhood::of(size, radius, active), active }
    }

    fn next(&self, iterations: u64, total: &Neighbourhood) -> Next {
        let goes_on = total.grown > 0 && self.radius_max.is_none_or(|most| iterations < most);
        if goes_on { Next::Iterate } else { Next::Stop }
    }

    /// A ball grows in iteration `t` if some vertex is at distance `t`, so less than `V`; one more
    /// finds that none grew.
    fn limit(&self) -> Limit {
        let invariant = "balls grow no longer than a shortest path can be";
        let proved = Limit::Proved { most: |vertices| vertices, invariant };
        self.radius_max.map_or(proved, Limit::Stated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A counter of the first `count` vertices.
    fn counted<const M: usize>(seed: u64, count: u64) -> [u8; M] {
        let program = HyperBall::<M>::new(seed, None);
        let one = |index| program.init(Vertex { index, out_degree: 0 }).value.registers;
        (0..count).map(one).fold([0; M], union)
    }

    /// Of 100 counters the mean error is that of one, the mean of the estimates a tenth of it off.
    fn judge<const M: usize>(count: u64) {
        let seeds = 100;
        let errors: Vec<f64> = (0..seeds)
            .map(|seed| estimate(&counted::<M>(seed, count)) / count as f64 - 1.0)
            .collect();
        let standard = 1.04 / (M as f64).sqrt();
        let bias = errors.iter().sum::<f64>() / seeds as f64;
        let square = errors.iter().map(|error| error * error).sum::<f64>() / seeds as f64;
        assert!(bias.abs() < 0.4 * standard, "{M} registers, {count} vertices: bias {bias}");
        assert!(square.sqrt() < 1.3 * standard, "{M} registers, {count}: {}", square.sqrt());
    }

    #[test]
    fn counters_are_as_exact_as_their_size_promises() {
        for count in [10, 100, 1000, 20_000] {
            judge::<16>(count);
            judge::<64>(count);
            judge::<256>(count);
        }
    }

    #[test]
    fn few_vertices_are_counted_by_the_registers_that_are_left() {
        let registers = counted::<256>(1, 5);
        let full: u32 = registers.iter().map(|&register| u32::from(register > 0)).sum();
        assert_eq!(full, 5);
        assert!((estimate(&registers) - 256.0 * (256.0_f64 / 251.0).ln()).abs() < 1e-12);
        assert!(estimate(&[0_u8; 64]).abs() < 1e-12);
    }

    #[test]
    fn the_effective_diameter_lies_between_whole_distances() {
        let near = |pairs: &[f64], expected: f64| {
            let found = effective_diameter(pairs, 0.9);
            assert!((found - expected).abs() < 1e-12, "{pairs:?}: {found}");
        };
        near(&[], 0.0);
        near(&[7.0, 7.0], 0.0);
        near(&[10.0, 100.0, 100.0], 80.0 / 90.0);
        near(&[5.0, 13.0, 19.0, 23.0, 25.0, 25.0], 2.0 + 3.5 / 4.0);
    }
}
