//! Parallel pull over compressed sparse rows: what most graph systems do inside.
//!
//! Each target sums the signals of its sources, which lie anywhere in memory; runs of targets go to
//! whichever thread is free, so a hub does not hold up the others. The loop over a row indexes
//! without a branch that matters: the cost is the cache misses.

use rayon::ThreadPool;
use rayon::prelude::*;
use welter_algorithms::Float;

use super::csr::{Csr, Ranking};

/// Targets that a thread takes at a time.
const RUN: usize = 1 << 10;

/// The kernel alone: `sums[v]` becomes the sum of the signals of the sources of `v`.
pub(crate) fn pull<F: Float>(graph: &Csr, signals: &[F], sums: &mut [F], pool: &ThreadPool) {
    each(graph, signals, sums, pool, |sum| sum);
}

/// Runs one iteration of PageRank.
pub(crate) fn iterate<F: Float>(graph: &Csr, ranking: &mut Ranking<F>, pool: &ThreadPool) {
    let Ranking { base, damping, ranks, signals, shares, .. } = ranking;
    let (base, damping) = (*base, *damping);
    pool.install(|| {
        signals
            .par_iter_mut()
            .zip(&**ranks)
            .zip(&**shares)
            .for_each(|((signal, &rank), &share)| *signal = rank * share);
    });
    each(graph, signals, ranks, pool, |sum| base + damping * sum);
}

#[inline(always)]
fn each<F: Float>(
    graph: &Csr,
    signals: &[F],
    out: &mut [F],
    pool: &ThreadPool,
    finish: impl Fn(F) -> F + Sync,
) {
    let rows = graph.rows();
    pool.install(|| {
        out.par_chunks_mut(RUN).enumerate().for_each(|(run, out)| {
            for (place, out) in out.iter_mut().enumerate() {
                let row = rows.row(run * RUN + place);
                let sum = row.iter().fold(F::default(), |sum, &id| sum + signals[id as usize]);
                *out = finish(sum);
            }
        });
    });
}
