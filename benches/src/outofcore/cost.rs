//! The plain program of one thread that everything must beat: rows, and a loop over them.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;

use super::Job;
use crate::baselines::cost;
use crate::baselines::csr::{Csr, Pages, Ranking};
use crate::baselines::search::{Rows, forest_wcc, queue_bfs};
use crate::engine::DAMPING;
use crate::inputs::Shape;

/// Seconds from the pairs to an answer in memory; none for jobs without such a program.
pub(super) fn seconds(job: Job, raw: &Path, shape: Shape, source: u32) -> Option<Result<f64>> {
    let ids = 1 << shape.scale;
    let rows = || Rows::build(raw, ids, false, false);
    Some(match job.arguments {
        ["pagerank", .., "f32"] => timed(|| ranks(raw, ids)),
        ["bfs", ..] => timed(|| Ok(queue_bfs(&rows()?, source))),
        ["wcc", ..] => timed(|| Ok(forest_wcc(&rows()?))),
        _ => return None,
    })
}

fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<f64> {
    let start = Instant::now();
    let answer = run()?;
    let seconds = start.elapsed().as_secs_f64();
    drop(answer);
    Ok(seconds)
}

/// Ten iterations of `PageRank`.
fn ranks(raw: &Path, ids: usize) -> Result<Ranking<f32>> {
    let graph = Csr::build(raw, ids)?;
    let mut ranking = Ranking::<f32>::new(&graph, graph.vertices(), DAMPING, Pages::Plain)?;
    for _ in 0..10 {
        cost::iterate(&graph, &mut ranking);
    }
    Ok(ranking)
}
