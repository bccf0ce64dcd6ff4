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
//! What a vertex told is divided out of what it hears back. On a tree beliefs are the marginals of
//! `p` after as many iterations as the longest path has edges, and stay so; where there are cycles
//! they mostly come near to them, and may swing for ever ("loopy" propagation). Damping keeps a
//! share of the logarithm of each message, which settles some that swing.
//!
//! | sum-product (Pearl) | here |
//! |---|---|
//! | messages `u -> v` and `v -> u` | `State` of the edge, and of its reverse |
//! | message by the beliefs of its source | `edge` |
//! | product of messages | `gather` |
//! | belief | `apply` |
//!
//! Messages are kept as logarithms of the ratios to the last state, in `f32`: `8 (K - 1)` bytes an
//! edge and direction, and what is divided out is to the bit what was told. That rounding is all
//! that a belief is off by: about 1e-7 of the logarithm of its odds for each neighbour. No message
//! tells a state to be more than `2^1022` times as likely as another.
//!
//! Source: Pearl, Probabilistic reasoning in intelligent systems (1988); Chaos, Table 1 (`BP`) and
//! footnote 2, its extended model.

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use welter_model::extended::Extended;
use welter_model::program::{Next, Value, Vertex};
use welter_model::stream::Edge;
use welter_model::table::ColumnData;

use crate::bp::{Beliefs, NAMES, Potential, shares, sums};

/// The program. `K`, the number of states, is 2 to 8, and `R` is `K - 1`.
#[derive(Clone, Debug, PartialEq)]
pub struct SumProduct<const K: usize, const R: usize> {
    /// Logarithms of `psi`, the largest of them 0.
    logarithms: [[f64; K]; K],
    /// What these are of.
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
    /// means that all are done. All states are as likely beforehand.
    pub fn new(potential: Potential<K>, iterations: u64, tolerance: f64) -> Self {
        let () = Self::IS_POSSIBLE;
        let logarithms = potential.0.map(|row| row.map(f64::ln));
        let largest = logarithms.as_flattened().iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let logarithms = logarithms.map(|row| row.map(|logarithm| logarithm - largest));
        let psi = logarithms.map(|row| row.map(f64::exp));
        Self { logarithms, psi, priors: None, damping: 0.0, iterations, tolerance }
    }

    /// The same with priors that are not negative, and not all 0, for each vertex number.
    #[must_use]
    pub fn with_priors(self, priors: Vec<[f64; K]>) -> Self {
        Self { priors: Some(priors.into()), ..self }
    }

    /// The same with messages that keep such a share of what they were, from 0 to below 1.
    #[must_use]
    pub fn with_damping(self, damping: f64) -> Self {
        Self { damping, ..self }
    }

    /// What a vertex with these logarithms of beliefs tells a neighbour that told it `heard`.
    #[inline(always)]
    fn message(
        &self,
        psi: &[[f64; K]; K],
        belief: &[f64; K],
        heard: [f32; R],
        before: [f32; R],
    ) -> [f32; R] {
        let mut others = *belief;
        for (belief, heard) in others.iter_mut().zip(heard) {
            *belief -= f64::from(heard);
        }
        let mut sums = [0.0; K];
        for (row, belief) in psi.iter().zip(exponentials(others)) {
            for (sum, psi) in sums.iter_mut().zip(row) {
                *sum += psi * belief;
            }
        }
        let last = sums[R].max(f64::MIN_POSITIVE);
        std::array::from_fn(|state| {
            let told = (sums[state].max(f64::MIN_POSITIVE) / last).ln();
            let kept = self.damping * (f64::from(before[state]) - told);
            (told + kept) as f32
        })
    }

    /// What a self-loop says of its vertex.
    fn of_loop(&self, weight: f64) -> [f64; R] {
        let (last, most) = (self.logarithms[R][R], -f64::MIN_POSITIVE.ln());
        let told = |state: usize| weight * (self.logarithms[state][state] - last);
        std::array::from_fn(|state| told(state).clamp(-most, most))
    }
}

/// Numbers of which the largest is 1, in the proportions that their logarithms say.
#[inline(always)]
fn exponentials<const K: usize>(logarithms: [f64; K]) -> [f64; K] {
    if K == 2 {
        // Both ways are the same numbers. This one takes one exponential, and does not branch.
        let smaller = (-(logarithms[0] - logarithms[1]).abs()).exp();
        let is_smaller = |state: usize| logarithms[state] < logarithms[1 - state];
        return std::array::from_fn(|state| if is_smaller(state) { smaller } else { 1.0 });
    }
    let largest = logarithms.into_iter().fold(f64::NEG_INFINITY, f64::max);
    logarithms.map(|logarithm| (logarithm - largest).exp())
}

/// Messages of an edge, and of its reverse: logarithms of the ratios to the last state.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Messages<const R: usize>([[f32; R]; 2]);

/// What a vertex holds: the logarithms of its priors, and of its beliefs, the largest of which is
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Known<const K: usize>([[f64; K]; 2]);

impl<const K: usize> Known<K> {
    fn new(prior: [f64; K], belief: [f64; K]) -> Self {
        let largest = belief.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Self([prior, belief.map(|belief| belief - largest)])
    }

    fn shares(self) -> [f64; K] {
        shares(self.0[1])
    }
}

impl<const K: usize> Value for Known<K> {
    fn columns(values: &[Self]) -> Vec<(&'static str, ColumnData)> {
        let shares: Vec<[f64; K]> = values.iter().map(|value| value.shares()).collect();
        let column = |state: usize| shares.iter().map(|shares| shares[state]).collect();
        let state = |state: usize| (NAMES[state], ColumnData::F64(column(state)));
        (0..K).map(state).collect()
    }
}

impl<const K: usize, const R: usize> Extended for SumProduct<K, R> {
    type Value = Known<K>;
    type Signal = [f64; K];
    type State = Messages<R>;
    type Update = [f64; R];
    type Accum = [f64; R];
    type Total = Beliefs<K>;

    const WEIGHTED: bool = true;
    const SYMMETRIC: bool = true;

    fn init(&self, vertex: Vertex) -> (Known<K>, Beliefs<K>) {
        let prior = match &self.priors {
            Some(priors) => priors[vertex.index as usize].map(f64::ln),
            None => [0.0; K],
        };
        let known = Known::new(prior, prior);
        // The first iteration is never the last for want of change.
        (known, Beliefs { expected: known.shares(), change: f64::INFINITY })
    }

    #[inline(always)]
    fn signal(&self, Known([_, belief]): &Known<K>) -> [f64; K] {
        *belief
    }

    /// Told twice, by the edge and by its reverse, of the same numbers: so both know what either
    /// end told the other.
    #[inline(always)]
    fn edge(
        &self,
        edge: Edge,
        source: &[f64; K],
        target: &[f64; K],
        Messages([there, back]): &mut Messages<R>,
    ) -> [f64; R] {
        // 0 times infinity would be no number.
        let weight = edge.weight.min(f64::MAX);
        if edge.source == edge.target {
            return self.of_loop(weight);
        }
        let mut psi = self.psi;
        if (weight - 1.0).abs() > 0.0 {
            psi = self.logarithms.map(|row| row.map(|logarithm| (weight * logarithm).exp()));
        }
        let told = self.message(&psi, source, *back, *there);
        *back = self.message(&psi, target, *there, *back);
        *there = told;
        told.map(f64::from)
    }

    #[inline(always)]
    fn identity(&self) -> [f64; R] {
        [0.0; R]
    }

    #[inline(always)]
    fn gather(&self, accum: [f64; R], update: [f64; R]) -> [f64; R] {
        sums(accum, update)
    }

    fn apply(&self, before: Known<K>, accum: [f64; R], _: &Beliefs<K>) -> (Known<K>, Beliefs<K>) {
        let mut belief = before.0[0];
        for (belief, told) in belief.iter_mut().zip(accum) {
            *belief += told;
        }
        let known = Known::new(before.0[0], belief);
        let expected = known.shares();
        let changes = expected.iter().zip(before.shares()).map(|(now, then)| (now - then).abs());
        (known, Beliefs { expected, change: changes.fold(0.0, f64::max) })
    }

    fn next(&self, iterations: u64, total: &Beliefs<K>) -> Next {
        let settled = { total.change } < self.tolerance;
        if iterations < self.iterations && !settled { Next::Iterate } else { Next::Stop }
    }

    fn iterations_max(&self) -> Option<u64> {
        Some(self.iterations)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(weight: f64) -> (SumProduct<2, 1>, Edge) {
        let potential = Potential::coupled(0.75).unwrap();
        (SumProduct::new(potential, 5, 1e-3), Edge { source: 0, target: 1, weight })
    }

    #[test]
    fn an_edge_and_its_reverse_say_the_same() {
        let (program, edge) = program(1.5);
        let [one, other] = [[0.0, -1.25], [-0.5, 0.0]];
        let (mut state, mut reverse) = (Messages([[0.0]; 2]), Messages([[0.0]; 2]));
        for _ in 0..3 {
            let told = program.edge(edge, &one, &other, &mut state);
            program.edge(edge, &other, &one, &mut reverse);
            assert_eq!(state.0, [reverse.0[1], reverse.0[0]]);
            assert_eq!(told.map(f64::to_bits), [f64::from(state.0[0][0]).to_bits()]);
        }
    }

    #[test]
    fn what_was_heard_is_divided_out() {
        let (program, edge) = program(1.0);
        // All that the source believes it heard from the target, so it tells nothing back.
        let mut state = Messages([[0.0], [0.5]]);
        assert_eq!(program.edge(edge, &[0.0, -0.5], &[0.0; 2], &mut state).map(f64::to_bits), [0]);
        // What is certain stays so: 3 to 1 for the same state.
        let certain = [0.0, f64::NEG_INFINITY];
        let [told] = program.edge(edge, &certain, &[0.0; 2], &mut state);
        assert!((told - 3_f64.ln()).abs() < 1e-7);
        let itself = Edge { target: 0, ..edge };
        assert_eq!(program.edge(itself, &certain, &certain, &mut state).map(f64::to_bits), [0]);
    }

    #[test]
    fn damping_keeps_a_share() {
        let (program, edge) = program(1.0);
        let told = |program: &SumProduct<2, 1>| {
            let mut state = Messages([[0.25], [0.0]]);
            program.edge(edge, &[0.0, -1.0], &[0.0; 2], &mut state)[0]
        };
        let (plain, damped) = (told(&program), told(&program.clone().with_damping(0.5)));
        assert!((damped - plain.midpoint(0.25)).abs() < 1e-7, "{damped} of {plain}");
    }

    #[test]
    fn no_weight_and_no_potential_is_too_much() {
        let wide = Potential::of([[1e300, 1e-300], [1e-300, 1e300]]).unwrap();
        let program = SumProduct::<2, 1>::new(wide, 5, 0.0);
        for weight in [0.0, 1.0, 1e9, f64::INFINITY] {
            let edge = Edge { source: 0, target: 1, weight };
            let itself = Edge { source: 1, ..edge };
            let [told] = program.edge(itself, &[0.0; 2], &[0.0; 2], &mut Messages::zeroed());
            assert!(told.is_finite(), "{weight}: {told}");
            let mut state = Messages::zeroed();
            for _ in 0..3 {
                let [told] = program.edge(edge, &[0.0, -9.0], &[-9.0, 0.0], &mut state);
                assert!(told.is_finite() && (told.abs() > 0.0 || weight < 1.0), "{weight}: {told}");
            }
        }
    }
}
