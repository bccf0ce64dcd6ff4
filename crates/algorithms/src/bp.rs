//! Belief propagation without state on edges: which state each vertex is likely to be in, told what
//! its neighbours are.
//!
//! There are `K` states. With `prior(v)` what is known of a vertex alone, `psi(i, j)` how well
//! state `i` of one end of an edge goes with `j` of the other (above 0, the same both ways), and
//! `w` the weight of an edge (1 without weights), whose message counts as that of `w` edges:
//!
//! ```text
//! b(v, 0)[j]   = prior(v)[j] / Z
//! m(u, t)[j]   = sum over states i of psi(i, j) * b(u, t)[i]
//! b(v, t+1)[j] = prior(v)[j] / Z * product over edges u - v of m(u, t)[j] ^ w(u, v)
//! ```
//!
//! with `Z` such that the beliefs of a vertex add up to 1. Products are sums of logarithms here, so
//! a hub does not run out of exponents, and no probability is rounded to 0 by its neighbours.
//!
//! **This is not the [sum-product algorithm](crate::sum_product).** There a vertex tells each
//! neighbour what all others told it, which takes a message for each direction of each edge. Here
//! it tells all of them the same, its belief, so what a neighbour said comes back to it. After one
//! iteration beliefs are the exact marginals of a vertex and its neighbours alone, as sum-product
//! has them; after more they are surer than those, and may swing to and fro between two answers
//! where `psi` favours unlike states.
//!
//! | sum-product (Pearl) | here |
//! |---|---|
//! | message `u -> v`, of all neighbours but `v` | `signal`, of all neighbours |
//! | product of messages | `gather`, `merge` |
//! | belief | `apply` |
//!
//! Source: Chaos, Table 1 (`BP`), in its extended model, which this does without; Pearl,
//! Probabilistic reasoning in intelligent systems (1988); Kang, Chau and Faloutsos, Mining large
//! graphs: algorithms, inference, and discoveries (2011), for beliefs of large graphs.
//!
//! A path of three vertices, of which the first is known to be in the first state with probability
//! 0.9; after one iteration its neighbour has heard of that, and the last vertex has not:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, run};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{BeliefPropagation, bp::Potential};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of::<BeliefPropagation<2>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let potential = Potential::coupled(0.9).ok_or("0.9 is no share")?;
//! let program = BeliefPropagation::<2>::new(potential, 1, 0.0);
//! let program = program.with_priors(vec![[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]);
//! let outcome = run(&graph, &program, &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("belief_1", ColumnData::F64(beliefs)) = &columns[0] else { panic!("{columns:?}") };
//! let expected = [0.9, 0.9 * 0.9 + 0.1 * 0.1, 0.5];
//! assert!(beliefs.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use welter_model::limit::Limit;
use welter_model::program::{Applied, Next, Program, Total, Value, Vertex};
use welter_model::table::ColumnData;

/// Likelihood that states of the two ends of an edge go together: `psi`, symmetric and above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Potential<const K: usize>(pub(crate) [[f64; K]; K]);

impl<const K: usize> Potential<K> {
    /// A potential that has `coupling` where both ends are in one state, of which all others share
    /// the rest: more than `1 / K` favours like neighbours, less unlike ones. None unless it lies
    /// between 0 and 1.
    pub fn coupled(coupling: f64) -> Option<Self> {
        let other = (1.0 - coupling) / (K - 1) as f64;
        let entry = |i, j| if i == j { coupling } else { other };
        Self::of(std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j))))
    }

    /// A potential of these numbers, unless one is not above 0, or not the same both ways.
    pub fn of(psi: [[f64; K]; K]) -> Option<Self> {
        let is_fit = |i: usize, j: usize| {
            psi[i][j].is_normal() && psi[i][j] > 0.0 && psi[i][j].to_bits() == psi[j][i].to_bits()
        };
        (0..K).all(|i| (0..K).all(|j| is_fit(i, j))).then_some(Self(psi))
    }

    /// The logarithms of `m`.
    #[inline(always)]
    fn message(&self, belief: &[f64; K]) -> [f64; K] {
        let mut message = [0.0; K];
        for (row, belief) in self.0.iter().zip(belief) {
            for (message, psi) in message.iter_mut().zip(row) {
                *message += psi * belief;
            }
        }
        message.map(f64::ln)
    }
}

/// The program. `K`, the number of states, is 2 to 8.
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefPropagation<const K: usize> {
    potential: Potential<K>,
    /// By the number of the vertex; `None` where nothing is known of any.
    priors: Option<Arc<[[f64; K]]>>,
    iterations: u64,
    tolerance: f64,
}

impl<const K: usize> BeliefPropagation<K> {
    const IS_POSSIBLE: () = assert!(K >= 2 && K <= NAMES.len());

    /// Propagates until no belief changes by as much as `tolerance`, `iterations` times at most; 0
    /// means that all are done. All states are as likely beforehand.
    pub fn new(potential: Potential<K>, iterations: u64, tolerance: f64) -> Self {
        let () = Self::IS_POSSIBLE;
        Self { potential, priors: None, iterations, tolerance }
    }

    /// The program with priors that are not negative, and not all 0, for each vertex number.
    #[must_use]
    pub fn with_priors(self, priors: Vec<[f64; K]>) -> Self {
        Self { priors: Some(priors.into()), ..self }
    }
}

/// State of a vertex: the logarithms of its priors, and its beliefs.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Belief<const K: usize>([[f64; K]; 2]);

/// Names of the columns.
pub(crate) const NAMES: [&str; 8] = [
    "belief_1", "belief_2", "belief_3", "belief_4", "belief_5", "belief_6", "belief_7", "belief_8",
];

impl<const K: usize> Value for Belief<K> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let column = |state: usize| values.iter().map(|value| value.0[1][state]).collect();
        let state = |state: usize| (NAMES[state], ColumnData::F64(column(state)));
        (0..K).map(state).collect()
    }
}

/// Totals of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, packed)]
pub struct Beliefs<const K: usize> {
    /// Sums of the beliefs: how many vertices are expected to be in each state.
    pub expected: [f64; K],
    /// The largest change of a belief.
    pub change: f64,
}

impl<const K: usize> Default for Beliefs<K> {
    fn default() -> Self {
        Self { expected: [0.0; K], change: 0.0 }
    }
}

impl<const K: usize> Total for Beliefs<K> {
    #[inline(always)]
    fn merge(self, other: Self) -> Self {
        let expected = sums(self.expected, other.expected);
        Self { expected, change: { self.change }.max(other.change) }
    }
}

#[inline(always)]
pub(crate) fn sums<const K: usize>(mut left: [f64; K], right: [f64; K]) -> [f64; K] {
    for (left, right) in left.iter_mut().zip(right) {
        *left += right;
    }
    left
}

/// Numbers that add up to 1, in the proportions that their logarithms say.
#[inline(always)]
pub(crate) fn shares<const K: usize>(logarithms: [f64; K]) -> [f64; K] {
    let largest = logarithms.into_iter().fold(f64::NEG_INFINITY, f64::max);
    let numbers = logarithms.map(|number| (number - largest).exp());
    let sum: f64 = numbers.iter().sum();
    numbers.map(|number| number / sum)
}

impl<const K: usize> Program for BeliefPropagation<K> {
    type Value = Belief<K>;
    type Signal = [f64; K];
    type Update = [f64; K];
    type Accum = [f64; K];
    type Total = Beliefs<K>;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const WIDE: bool = true;

    #[inline(always)]
    fn init(&self, vertex: Vertex) -> Applied<Belief<K>, Beliefs<K>> {
        let prior = match &self.priors {
            Some(priors) => priors[vertex.index as usize].map(f64::ln),
            None => [0.0; K],
        };
        let expected = shares(prior);
        // The first iteration is never the last for want of change.
        let total = Beliefs { expected, change: f64::INFINITY };
        Applied::active(Belief([prior, expected]), total)
    }

    #[inline(always)]
    fn signal(&self, Belief([_, belief]): &Belief<K>) -> [f64; K] {
        self.potential.message(belief)
    }

    #[inline(always)]
    fn scatter(&self, message: [f64; K], weight: f64) -> Option<[f64; K]> {
        Some(message.map(|message| weight * message))
    }

    #[inline(always)]
    fn identity(&self) -> [f64; K] {
        [0.0; K]
    }

    #[inline(always)]
    fn gather(&self, accum: [f64; K], update: [f64; K]) -> [f64; K] {
        sums(accum, update)
    }

    #[inline(always)]
    fn merge(&self, left: [f64; K], right: [f64; K]) -> [f64; K] {
        sums(left, right)
    }

    #[inline(always)]
    fn apply(
        &self,
        Belief([prior, before]): Belief<K>,
        accum: [f64; K],
        _: &Beliefs<K>,
    ) -> Applied<Belief<K>, Beliefs<K>> {
        let belief = shares(sums(prior, accum));
        let changes = belief.iter().zip(before).map(|(now, before)| (now - before).abs());
        let total = Beliefs { expected: belief, change: changes.fold(0.0, f64::max) };
        Applied::active(Belief([prior, belief]), total)
    }

    fn next(&self, iterations: u64, total: &Beliefs<K>) -> Next {
        let settled = { total.change } < self.tolerance;
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
    fn potentials_are_symmetric_and_above_zero() {
        assert_eq!(Potential::<2>::coupled(0.75), Potential::of([[0.75, 0.25], [0.25, 0.75]]));
        let third = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]];
        assert_eq!(Potential::coupled(0.5), Potential::of(third));
        for coupling in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            assert_eq!(Potential::<2>::coupled(coupling), None, "{coupling}");
        }
        assert_eq!(Potential::of([[1.0, 2.0], [3.0, 1.0]]), None);
        assert_eq!(Potential::of([[1.0, f64::INFINITY], [f64::INFINITY, 1.0]]), None);
    }

    #[test]
    fn shares_add_up_to_one_however_small_they_are() {
        let bits = |logarithms| shares(logarithms).map(f64::to_bits);
        assert_eq!(bits([-1e9, -1e9]), [0.5_f64; 2].map(f64::to_bits));
        assert_eq!(bits([f64::NEG_INFINITY, -7000.0]), [0.0_f64, 1.0].map(f64::to_bits));
        let [rare, common] = shares([-20.0, 0.0]);
        assert!((rare + common - 1.0).abs() < 1e-15 && ((rare / common).ln() + 20.0).abs() < 1e-12);
    }

    #[test]
    fn beliefs_settle_only_once_they_were_looked_at() {
        let potential = Potential::<2>::coupled(0.6).unwrap();
        let program = BeliefPropagation::new(potential, 5, 1e-3);
        let after = |iterations, change| {
            program.next(iterations, &Beliefs { expected: [1.0, 1.0], change })
        };
        assert_eq!(after(0, f64::INFINITY), Next::Iterate);
        assert_eq!((after(4, 1e-2), after(4, 1e-4)), (Next::Iterate, Next::Stop));
        assert_eq!(after(5, 1e-2), Next::Stop);
        let all = BeliefPropagation::new(potential, 5, 0.0);
        assert_eq!(all.next(4, &Beliefs::default()), Next::Iterate);
    }
}
