//! COST: the single-threaded loop that every parallel system has to beat.
//!
//! After the paper "Scalability! But at what COST?" (Frank `McSherry` and others, `HotOS` 2015):
//! the plainest program that a good programmer writes in a quarter of an hour, kept here for ever.

use welter_algorithms::Float;

use super::csr::{Csr, Ranking};

/// Runs one iteration of PageRank.
pub(crate) fn iterate<F: Float>(graph: &Csr, ranking: &mut Ranking<F>) {
    let Ranking { base, damping, ranks, signals, shares, .. } = ranking;
    let (rows, signals) = (graph.rows(), &mut signals[..]);
    for ((signal, &rank), &share) in signals.iter_mut().zip(&**ranks).zip(&**shares) {
        *signal = rank * share;
    }
    for (target, rank) in ranks.iter_mut().enumerate() {
        let mut sum = F::default();
        for &source in rows.row(target) {
            sum = sum + signals[source as usize];
        }
        *rank = *base + *damping * sum;
    }
}
