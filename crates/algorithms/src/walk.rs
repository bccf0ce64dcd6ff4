//! PageRank of a walk that follows heavy edges more often, and jumps to vertices that are stated.
//!
//! With damping `d`, weights `w`, `W(u)` the sum of the weights of the edges that leave `u`, sinks
//! `S` (vertices with `W(s) = 0`), `p` where the walk jumps to, `q` where it continues from a sink,
//! and `r` where it begins, which sum to 1 each:
//!
//! ```text
//! rank_0(v)     = r(v)
//! rank_{i+1}(v) = (1 - d) * p(v)  +  d * sinks_i * q(v)
//!                 +  d * sum over edges (u, v) of w(u, v) * rank_i(u) / W(u)
//! sinks_i       = sum over s in S of rank_i(s)
//! ```
//!
//! Without weights each is 1, and `W` the out-degree; where it is not said, `q = p`, and `p` and
//! `r` are `1 / V`. Where sums of weights, or their inverses, would leave the range of floats, all
//! weights are multiplied by a power of two ([`scale`]), which changes no rank. With all of that it
//! is [`pagerank`](crate::pagerank). This is the personalised PageRank of Page and others (1999),
//! as `NetworkX` has it. One pass over the edges an iteration.
//!
//! A walk around a circle of three, which jumps to vertex 0: each vertex is visited 0.85 times as
//! often as the one before:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::Walk;
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2], [2, 0]]);
//! # let reading = Reading::default();
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<Walk>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let walk = Walk::new(3, 0.85, 300, 0.0).jumping(vec![1.0, 0.0, 0.0]);
//! let walk = walk.ok_or("no proportions")?;
//! let outcome = run(&graph, &walk, &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("rank", ColumnData::F64(ranks)) = &columns[0] else { panic!("{columns:?}") };
//! for pair in ranks.windows(2) {
//!     assert!((pair[1] / pair[0] - 0.85).abs() < 1e-12);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::ops::RangeInclusive;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Value, Vertex};
use welter_model::table::ColumnData;

use crate::pagerank::RankTotal;

/// The program and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// `p` by the number of the vertex; `1 / V` everywhere where it is not said.
    jumps: Option<Arc<[f64]>>,
    /// `q` by the number of the vertex; `p` where it is not said.
    exits: Option<Arc<[f64]>>,
    /// `r` by the number of the vertex; `1 / V` everywhere where it is not said.
    starts: Option<Arc<[f64]>>,
    /// `W` by the number of the vertex; the out-degree where it is not said.
    weights: Option<Arc<[f64]>>,
    /// Factor of all weights, in `W` too.
    scale: f64,
    vertices: f64,
    damping: f64,
    iterations: u64,
    change_min: f64,
    keeps_sinks: bool,
}

impl Walk {
    /// Ranks a graph of `vertices` vertices. Iteration ends after `iterations`, or as soon as an
    /// iteration changes all ranks together by less than `change_min`.
    pub fn new(vertices: u64, damping: f64, iterations: u64, change_min: f64) -> Self {
        let vertices = vertices as f64;
        Self {
            jumps: None,
            exits: None,
            starts: None,
            weights: None,
            scale: 1.0,
            vertices,
            damping,
            iterations,
            change_min,
            keeps_sinks: true,
        }
    }

    /// The walk with jumps to vertices in these proportions, one for each vertex number. `None`
    /// when they do not sum to a finite number above 0, or one of them is negative.
    #[must_use]
    pub fn jumping(self, proportions: Vec<f64>) -> Option<Self> {
        Some(Self { jumps: Some(shares(proportions)?), ..self })
    }

    /// The walk with the rank of sinks going to vertices in these proportions, likewise.
    #[must_use]
    pub fn leaving_sinks(self, proportions: Vec<f64>) -> Option<Self> {
        Some(Self { exits: Some(shares(proportions)?), ..self })
    }

    /// The walk beginning with ranks in these proportions, likewise.
    #[must_use]
    pub fn starting(self, proportions: Vec<f64>) -> Option<Self> {
        Some(Self { starts: Some(shares(proportions)?), ..self })
    }

    /// The walk along edges in proportion to their weights, which add up to these sums at the
    /// vertices that they leave.
    #[must_use]
    pub fn weighted(self, sums: Vec<f64>) -> Self {
        Self { weights: Some(sums.into()), ..self }
    }

    /// The walk with weights that are multiplied by this power of two, as those were that the sums
    /// are of.
    #[must_use]
    pub fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    /// The walk with the rank of sinks lost.
    #[must_use]
    pub fn losing_sinks(self) -> Self {
        Self { keeps_sinks: false, ..self }
    }
}

/// Exponents of sums of weights that need no scale: a rank divided by one is a proper float.
const EXPONENTS: RangeInclusive<i32> = -500..=500;
/// The exponent that the largest sum gets where a scale is needed.
const EXPONENT_MOST: i32 = 500;
/// An exponent that no sum exceeds, of as many finite weights as a graph has edges.
const EXPONENT_BEYOND: i32 = 1024 + 64;
/// No scale is larger: the smallest floats need no more.
const SCALE_MOST: i32 = 1000;

/// The power of two by which weights must be multiplied that have these sums: 1 unless some are
/// beyond the range of floats or near its ends.
pub fn scale(sums: &[f64]) -> f64 {
    let positive = sums.iter().copied().filter(|sum| *sum > 0.0);
    if positive.clone().all(|sum| EXPONENTS.contains(&exponent(sum))) {
        return 1.0;
    }
    let most = positive.map(exponent).max().unwrap_or(0);
    f64::from(EXPONENT_MOST - most).min(f64::from(SCALE_MOST)).exp2()
}

/// The first vertex along whose edges no walk goes in proportion to the weights, if there is one:
/// of these sums of scaled weights its own is too small beside the largest, or there is none
/// because a weight is not finite. `before`: the sums without the scale.
pub fn misfit(sums: &[f64], before: &[f64]) -> Option<usize> {
    let fits = |(sum, before): (&f64, &f64)| {
        sum.is_finite() && (*before <= 0.0 || exponent(*sum) >= -SCALE_MOST)
    };
    let mut both = sums.iter().zip(before);
    both.position(|both| !fits(both))
}

/// The exponent of a number above 0; about as small as floats have of 0 and of subnormal ones.
fn exponent(number: f64) -> i32 {
    if number.is_finite() { (number.to_bits() >> 52) as i32 - 1023 } else { EXPONENT_BEYOND }
}

/// Proportions as shares of 1; `None` when they are none.
fn shares(mut proportions: Vec<f64>) -> Option<Arc<[f64]>> {
    let sum: f64 = proportions.iter().sum();
    let proper = sum > 0.0 && sum.is_finite() && proportions.iter().all(|share| *share >= 0.0);
    for share in &mut proportions {
        *share /= sum;
    }
    proper.then(|| proportions.into())
}

/// State of a vertex: its rank, the share of it that an edge of weight 1 carries (0 for a sink),
/// how often the walk jumps to it, and what it gets of the rank of sinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct WalkState {
    rank: f64,
    share: f64,
    jump: f64,
    exit: f64,
}

impl Value for WalkState {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        vec![("rank", ColumnData::F64(values.iter().map(|place| place.rank).collect()))]
    }
}

impl Program for Walk {
    type Value = WalkState;
    type Signal = f64;
    type Update = f64;
    type Accum = f64;
    type Total = RankTotal;

    const WEIGHTED: bool = true;
    const WIDE: bool = true;

    fn init(&self, vertex: Vertex) -> Applied<WalkState, RankTotal> {
        let element = |all: &Option<Arc<[f64]>>| all.as_ref().map(|all| all[vertex.index as usize]);
        let even = 1.0 / self.vertices;
        let rank = element(&self.starts).unwrap_or(even);
        let jump = element(&self.jumps).unwrap_or(even);
        let exit = element(&self.exits).unwrap_or(jump);
        let weight = element(&self.weights).unwrap_or(vertex.out_degree as f64);
        let share = if weight > 0.0 { 1.0 / weight } else { 0.0 };
        let sinks = if share > 0.0 { 0.0 } else { rank };
        // The first iteration is never the last for want of change.
        let total = RankTotal { sinks, change: f64::INFINITY };
        Applied::active(WalkState { rank, share, jump, exit }, total)
    }

    #[inline(always)]
    fn signal(&self, place: &WalkState) -> f64 {
        place.rank * place.share
    }

    #[inline(always)]
    fn scatter(&self, signal: f64, weight: f64) -> Option<f64> {
        Some(signal * (weight * self.scale))
    }

    #[inline(always)]
    fn identity(&self) -> f64 {
        0.0
    }

    #[inline(always)]
    fn gather(&self, accum: f64, update: f64) -> f64 {
        accum + update
    }

    #[inline(always)]
    fn merge(&self, left: f64, right: f64) -> f64 {
        left + right
    }

    fn apply(&self, old: WalkState, accum: f64, last: &RankTotal) -> Applied<WalkState, RankTotal> {
        let sinks = if self.keeps_sinks { self.damping * last.sinks } else { 0.0 };
        let rank = (1.0 - self.damping) * old.jump + sinks * old.exit + self.damping * accum;
        let value = WalkState { rank, ..old };
        let sinks = if old.share > 0.0 { 0.0 } else { rank };
        let total = RankTotal { sinks, change: (rank - old.rank).abs() };
        Applied { value, total, active: true }
    }

    fn next(&self, iterations: u64, total: &RankTotal) -> Next {
        let settled = total.change < self.change_min;
        if iterations < self.iterations && !settled { Next::Iterate } else { Next::Stop }
    }

    fn limit(&self) -> Limit {
        Limit::Stated(self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_at_the_ends_of_the_range_are_scaled_and_others_are_not() {
        let is =
            |sums: &[f64], power: i32| scale(sums).to_bits() == f64::from(power).exp2().to_bits();
        assert!(is(&[], 0) && is(&[0.0, 1e-150, 1e150], 0));
        assert!(is(&[1.0, f64::INFINITY], EXPONENT_MOST - EXPONENT_BEYOND));
        assert!(is(&[1.5, 1e-309], EXPONENT_MOST));
        assert!(is(&[1e-309, 0.0], SCALE_MOST));
        let large = scale(&[1e308, 2.0]);
        assert!(exponent(1e308 * large) == EXPONENT_MOST && exponent(2.0 * large) >= -SCALE_MOST);
    }

    #[test]
    fn sums_that_no_scale_fits_are_named() {
        assert_eq!(misfit(&[1.0, 0.0], &[2.0, 0.0]), None);
        assert_eq!(misfit(&[1.0, 0.0], &[f64::INFINITY, 1e-300]), Some(1));
        assert_eq!(misfit(&[f64::INFINITY], &[f64::INFINITY]), Some(0));
        assert_eq!(misfit(&[f64::NAN], &[f64::NAN]), Some(0));
    }

    #[test]
    fn proportions_are_normalised_and_impossible_ones_refused() {
        let walk = || Walk::new(2, 0.85, 10, 0.0);
        let jumps = walk().jumping(vec![1.0, 3.0]).unwrap().jumps.unwrap();
        assert_eq!(jumps[..], [0.25, 0.75]);
        for wrong in [vec![0.0, 0.0], vec![2.0, -1.0], vec![f64::NAN, 1.0], vec![f64::MAX; 2]] {
            assert_eq!(walk().jumping(wrong), None);
        }
    }
}
