//! Belief propagation, the sum-product algorithm: which state each vertex is likely to be in, by a
//! message for each direction of each edge.
//!
//! There are `K` states. With `prior(v)` what is known of a vertex alone, `psi(i, j)` how well
//! state `i` of one end of an edge goes with `j` of the other (above 0, the same both ways), and
//! `w` the weight of an edge (1 without weights), the states `x` of all vertices together are as
//! likely as
//!
//! ```text
//! p(x) = 1 / Z * product over vertices v of prior(v)[x(v)]
//!              * product over edges u - v of psi(x(u), x(v)) ^ w(u, v)
//! ```
//!
//! so an edge of weight `w` says as much as `w` edges, parallel ones are factors each, and a
//! self-loop is a factor `psi(j, j)` of its vertex. Messages begin as even:
//!
//! ```text
//! m(u -> v, t+1)[j] = 1 / Z * sum over states i of psi(i, j) ^ w * b(u, t)[i] / m(v -> u, t)[i]
//! b(v, t+1)[j]      = 1 / Z * prior(v)[j] * product over edges u - v of m(u -> v, t+1)[j]
//! ```
//!
//! The message of a vertex is divided out of the one that comes back. On a tree beliefs are the
//! marginals of `p` after as many iterations as the longest path has edges, and stay so; where
//! there are cycles they mostly come near to them, and may swing for ever ("loopy" propagation).
//! Damping keeps a share of the logarithm of each message, which settles some that swing.
//!
//! | sum-product (Pearl) | here |
//! |---|---|
//! | messages `u -> v` and `v -> u` | `State` of the edge, and of its reverse |
//! | message by the beliefs of its source | `edge` |
//! | product of messages | `gather` |
//! | belief | `apply` |
//!
//! Of a message `m` the ratios to the last state are kept, each as `(m[j] - m[last]) / min(m[j],
//! m[last])` in `f32`, which is 0 where both are as likely and below 0 where the last is likelier:
//! `8 (K - 1)` bytes an edge and direction, and what is divided out is to the bit what was told.
//! That rounding is all that a belief is off by: about 1e-7 of the logarithm of its odds for each
//! neighbour.
//!
//! No exponential and no logarithm is taken for an edge without a weight: a vertex signals ratios
//! of beliefs, and products have an exponent of their own, because those of a hub leave the range
//! of `f64`. On R-MAT scrambled 22 (134 million arcs, two states, no priors, two threads beside
//! other work) five iterations took 16.8 s instead of 42.6, an arc about 23 ns of a core instead of
//! 64.
//!
//! No message tells a state to be more than `2^126` times as likely as another ([`RATIO_MAX`]): no
//! potential may, and edges whose weight says more say as much.
//!
//! Source: Pearl, Probabilistic reasoning in intelligent systems (1988); Chaos, Table 1 (`BP`) and
//! footnote 2, its extended model.
//!
//! A path of three vertices, of which the first is known to be in the first state with probability
//! 0.9. It is a tree, so beliefs are the exact marginals:
//!
//! ```
//! # use welter_engine::plan::{Layout, Plan, Settings, Shape};
//! # use welter_engine::{Graph, Machine, Workers, extend};
//! # use welter_model::{ids::IdMap, program::Value};
//! # use welter_progress::Progress;
//! use welter_algorithms::{SumProduct, bp::Potential};
//! use welter_model::edges::{EdgeList, Reading};
//! use welter_model::table::ColumnData;
//!
//! let edges = EdgeList::from_pairs(vec![[0, 1], [1, 2]]);
//! let reading = Reading { undirected: true, ..Reading::default() };
//! # let shape = Shape::of(&edges, reading);
//! # let (settings, machine) = (Settings::default(), Machine::detect());
//! # let plan = Plan::new(shape, Layout::of_extended::<SumProduct<2, 1>>(), &settings, &machine)?;
//! # let (edges, workers) = (Box::new(edges), Workers::new(plan.premises.threads)?);
//! # let progress = Progress::new();
//! # let graph = Graph::ingest(edges, &IdMap::Same, reading, &plan, &workers, &progress)?;
//! let potential = Potential::coupled(0.9).ok_or("0.9 is no share")?;
//! let program = SumProduct::<2, 1>::new(potential, 10, 0.0).ok_or("0.9 is too sure")?;
//! let program = program.with_priors(vec![[0.9, 0.1], [0.5, 0.5], [0.5, 0.5]]);
//! let outcome = extend(&graph, &program, &workers, &progress)?;
//! let columns = Value::columns(&outcome.values.whole()?[..]);
//! let ("belief_1", ColumnData::F64(beliefs)) = &columns[0] else { panic!("{columns:?}") };
//! let expected = [0.9, 0.82, 0.9 * 0.82 + 0.1 * 0.18];
//! assert!(beliefs.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod odds;

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use welter_model::extended::Extended;
use welter_model::limit::Limit;
use welter_model::program::{Next, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

pub use self::odds::RATIO_MAX;
use self::odds::{Lean, Product, blended};
use crate::bp::{Beliefs, NAMES, Potential, shares};

/// Largest ratio of two factors of an edge, once weights are counted.
const FACTOR_MAX: f64 = f64::from_bits((1023 + 300) << 52);

/// A belief beside which [`FACTOR_MAX`] and [`RATIO_MAX`] times as much is lost in rounding.
const LEAST: f64 = f64::from_bits((1023 - 500) << 52);

/// The program. `K`, the number of states, is 2 to 8, and `R` is `K - 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct SumProduct<const K: usize, const R: usize> {
    /// Logarithms of `psi`, the largest of them 0.
    logarithms: [[f64; K]; K],
    /// Numbers that these are logarithms of.
    psi: [[f64; K]; K],
    /// By the number of the vertex; `None` where nothing is known of any.
    priors: Option<Arc<[[f64; K]]>>,
    damping: f64,
    iterations: u64,
    tolerance: f64,
}

impl<const K: usize, const R: usize> SumProduct<K, R> {
    const IS_POSSIBLE: () = assert!(K >= 2 && K <= NAMES.len() && R + 1 == K);

    /// Propagates until no belief changes by as much as `tolerance`, `iterations` times at most; 0
    /// means that all are done. All states are as likely beforehand. None if the potential has
    /// numbers more than [`RATIO_MAX`] times as large as others.
    pub fn new(potential: Potential<K>, iterations: u64, tolerance: f64) -> Option<Self> {
        let () = Self::IS_POSSIBLE;
        let logarithms = potential.0.map(|row| row.map(f64::ln));
        let largest = logarithms.as_flattened().iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let logarithms = logarithms.map(|row| row.map(|logarithm| logarithm - largest));
        let is_too_small = |logarithm: &f64| *logarithm < -RATIO_MAX.ln();
        if logarithms.as_flattened().iter().any(is_too_small) {
            return None;
        }
        let psi = logarithms.map(|row| row.map(f64::exp));
        Some(Self { logarithms, psi, priors: None, damping: 0.0, iterations, tolerance })
    }

    /// The program with priors that are not negative, and not all 0, for each vertex number.
    #[must_use]
    pub fn with_priors(self, priors: Vec<[f64; K]>) -> Self {
        Self { priors: Some(priors.into()), ..self }
    }

    /// The program with messages that keep such a share of what they were, from 0 to below 1.
    #[must_use]
    pub fn with_damping(self, damping: f64) -> Self {
        Self { damping, ..self }
    }

    /// The messages that the ends of an edge send each other, by ratios of their beliefs to that of
    /// the last state, and of those that they sent before. Both at once, so that vectors serve.
    #[inline(always)]
    fn exchange(
        &self,
        psi: &[[f64; K]; K],
        beliefs: [&[f64; R]; 2],
        before: [[Lean; R]; 2],
    ) -> [[Lean; R]; 2] {
        let mut others = [[1.0; 2]; K];
        for state in 0..R {
            let ends = [before[1][state].ends(), before[0][state].ends()];
            others[state] = both(|end| {
                let [above, below] = ends[end];
                beliefs[end][state] * below / above
            });
        }
        if R == 1 {
            // All that counts is how large they are beside each other, and products are faster.
            let ends = [before[1][0].ends(), before[0][0].ends()];
            others[0] = both(|end| beliefs[end][0] * ends[end][1]);
            others[1] = both(|end| ends[end][0]);
        }
        let mut sums = [[0.0; 2]; K];
        for (row, others) in psi.iter().zip(others) {
            for (sums, psi) in sums.iter_mut().zip(row) {
                *sums = both(|end| sums[end] + psi * others[end]);
            }
        }
        let mut message = [[Lean(0.0); R]; 2];
        for state in 0..R {
            let leans = both(|end| {
                let (sum, last) = (sums[state][end], sums[R][end]);
                (sum - last) / if sum < last { sum } else { last }
            });
            for end in 0..2 {
                let mut lean = leans[end];
                if self.damping > 0.0 {
                    lean = blended(lean, before[end][state].0.into(), self.damping);
                }
                message[end][state] = Lean::of(lean);
            }
        }
        message
    }

    /// Likelihood that states go together, as `weight` edges say.
    fn weighted(&self, weight: f64) -> [[f64; K]; K] {
        let least = -FACTOR_MAX.ln();
        self.logarithms.map(|row| row.map(|logarithm| (weight * logarithm).max(least).exp()))
    }

    /// The factor of a self-loop at its vertex, by ratios to the last state.
    fn of_loop(&self, weight: f64) -> [f64; R] {
        let (last, most) = (self.logarithms[R][R], RATIO_MAX.ln());
        let message = |state: usize| weight * (self.logarithms[state][state] - last);
        std::array::from_fn(|state| message(state).clamp(-most, most).exp())
    }
}

/// A pair of one expression for each of the two ends.
#[inline(always)]
fn both(of: impl Fn(usize) -> f64) -> [f64; 2] {
    [of(0), of(1)]
}

/// Messages of an edge, and of its reverse: how much likelier each state is than the last.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Messages<const R: usize>([[Lean; R]; 2]);

/// State of a vertex: the logarithms of its priors, and of its beliefs, the largest of which is 0.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct BeliefState<const K: usize>([[f64; K]; 2]);

impl<const K: usize> BeliefState<K> {
    fn new(prior: [f64; K], belief: [f64; K]) -> Self {
        let largest = belief.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Self([prior, belief.map(|belief| belief - largest)])
    }

    fn shares(self) -> [f64; K] {
        shares(self.0[1])
    }
}

impl<const K: usize> Value for BeliefState<K> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let shares: Vec<[f64; K]> = values.iter().map(|value| value.shares()).collect();
        let column = |state: usize| shares.iter().map(|shares| shares[state]).collect();
        let state = |state: usize| (NAMES[state], ColumnData::F64(column(state)));
        (0..K).map(state).collect()
    }
}

impl<const K: usize, const R: usize> Extended for SumProduct<K, R> {
    type Value = BeliefState<K>;
    type Signal = [f64; R];
    type State = Messages<R>;
    type Update = [f64; R];
    type Accum = [Product; R];
    type Total = Beliefs<K>;

    const WEIGHTED: bool = true;
    const DEGREES: bool = false;
    const SYMMETRIC: bool = true;

    fn init(&self, vertex: Vertex) -> (BeliefState<K>, Beliefs<K>) {
        let prior = match &self.priors {
            Some(priors) => priors[vertex.index as usize].map(f64::ln),
            None => [0.0; K],
        };
        let known = BeliefState::new(prior, prior);
        // The first iteration is never the last for want of change.
        (known, Beliefs { expected: known.shares(), change: f64::INFINITY })
    }

    /// Ratios of beliefs to that of the last state. What is less than [`LEAST`] of the largest
    /// counts as that: no message could bring it back.
    fn signal(&self, BeliefState([_, belief]): &BeliefState<K>) -> [f64; R] {
        let belief = belief.map(|belief| belief.max(LEAST.ln()));
        std::array::from_fn(|state| (belief[state] - belief[R]).exp())
    }

    /// Messages are made twice, by the edge and by its reverse, of the same numbers: so both know
    /// what either end told the other.
    #[inline(always)]
    fn edge(
        &self,
        edge: Edge,
        source: &[f64; R],
        target: &[f64; R],
        Messages(messages): &mut Messages<R>,
    ) -> [f64; R] {
        // 0 times infinity would be no number.
        let weight = edge.weight.min(f64::MAX);
        if edge.source == edge.target {
            return self.of_loop(weight);
        }
        let mut psi = self.psi;
        if (weight - 1.0).abs() > 0.0 {
            psi = self.weighted(weight);
        }
        *messages = self.exchange(&psi, [source, target], *messages);
        messages[0].map(Lean::ratio)
    }

    #[inline(always)]
    fn identity(&self) -> [Product; R] {
        [Product::ONE; R]
    }

    #[inline(always)]
    fn gather(&self, mut accum: [Product; R], update: [f64; R]) -> [Product; R] {
        for (product, message) in accum.iter_mut().zip(update) {
            *product = product.times(message);
        }
        accum
    }

    fn apply(
        &self,
        before: BeliefState<K>,
        accum: [Product; R],
        _: &Beliefs<K>,
    ) -> (BeliefState<K>, Beliefs<K>) {
        let mut belief = before.0[0];
        for (belief, message) in belief.iter_mut().zip(accum) {
            *belief += message.ln();
        }
        let known = BeliefState::new(before.0[0], belief);
        let expected = known.shares();
        let changes = expected.iter().zip(before.shares()).map(|(now, then)| (now - then).abs());
        (known, Beliefs { expected, change: changes.fold(0.0, f64::max) })
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

    fn program(weight: f64) -> (SumProduct<2, 1>, Edge) {
        let potential = Potential::coupled(0.75).unwrap();
        (SumProduct::new(potential, 5, 1e-3).unwrap(), Edge { source: 0, target: 1, weight })
    }

    fn leans(there: f32, back: f32) -> Messages<1> {
        Messages([[Lean(there)], [Lean(back)]])
    }

    #[test]
    fn an_edge_and_its_reverse_say_the_same() {
        let (program, edge) = program(1.5);
        let [one, other] = [[4.0], [0.625]];
        let (mut state, mut reverse) = (leans(0.0, 0.0), leans(0.0, 0.0));
        for _ in 0..3 {
            let message = program.edge(edge, &one, &other, &mut state);
            program.edge(edge, &other, &one, &mut reverse);
            assert_eq!(state.0, [reverse.0[1], reverse.0[0]]);
            assert_eq!(message.map(f64::to_bits), [state.0[0][0].ratio().to_bits()]);
        }
    }

    #[test]
    fn what_was_heard_is_divided_out() {
        let (program, edge) = program(1.0);
        // All that the source believes it heard from the target, so it tells nothing back.
        for (received, belief) in [(0.5, [1.5]), (-3.0, [0.25])] {
            let [message] = program.edge(edge, &belief, &[1.0], &mut leans(0.0, received));
            assert_eq!(message.to_bits(), 1.0_f64.to_bits());
        }
        // A certain belief stays so: 3 to 1 for the same state.
        let certain = program.signal(&BeliefState([[0.0; 2], [0.0, f64::NEG_INFINITY]]));
        let mut state = leans(0.0, 0.5);
        let [message] = program.edge(edge, &certain, &[1.0], &mut state);
        assert!((message - 3.0).abs() < 1e-6, "{message}");
        let itself = Edge { target: 0, ..edge };
        let [message] = program.edge(itself, &certain, &certain, &mut state);
        assert_eq!(message.to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn damping_keeps_a_share() {
        let (program, edge) = program(1.0);
        let message = |program: &SumProduct<2, 1>| {
            let message = program.edge(edge, &[2.5], &[1.0], &mut leans(-0.25, 0.0));
            message[0].ln()
        };
        let (plain, damped) = (message(&program), message(&program.clone().with_damping(0.5)));
        let before = -(1.25_f64.ln());
        assert!((damped - plain.midpoint(before)).abs() < 1e-7, "{damped} of {plain}");
    }

    #[test]
    fn no_weight_is_too_much_and_a_potential_may_be() {
        let wide = |most: f64| Potential::of([[most, 1.0 / most], [1.0 / most, most]]).unwrap();
        assert_eq!(SumProduct::<2, 1>::new(wide(1e20), 5, 0.0), None);
        let program = SumProduct::<2, 1>::new(wide(5e18), 5, 0.0).unwrap();
        for weight in [0.0, 1.0, 1e9, f64::INFINITY] {
            let edge = Edge { source: 0, target: 1, weight };
            let itself = Edge { source: 1, ..edge };
            let [message] = program.edge(itself, &[1.0], &[1.0], &mut Messages::zeroed());
            assert_eq!(message.to_bits(), 1.0_f64.to_bits());
            let mut state = Messages::zeroed();
            for _ in 0..3 {
                let [message] = program.edge(edge, &[1e4], &[1e-4], &mut state);
                let is_fit = message.is_normal() && (message > 1.0 || weight < 1.0);
                assert!(is_fit && message <= 1.001 * RATIO_MAX, "{weight}: {message}");
            }
        }
    }
}
