//! Work of a program with a frontier, iteration by iteration, for the report and its one line.

use serde::Serialize;
use welter_engine::{IterationStats, Mode};

use crate::number_format::{counted, grouped};

/// The most entries of a report: searches on roads have hundreds of thousands of iterations.
const ENTRIES_MAX: usize = 1000;

/// Consecutive iterations.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Iterations {
    #[serde(rename = "iterations")]
    count: u64,
    /// `dense`, `pull`, `sparse`, `local`, or `mixed`.
    mode: &'static str,
    /// Vertices that scattered.
    active: u64,
    /// Edges that were looked at.
    edges: u64,
}

/// One entry an iteration, or one for equally many where there are too many.
pub(crate) fn summarised(levels: &[IterationStats]) -> Vec<Iterations> {
    let each = levels.len().div_ceil(ENTRIES_MAX).max(1);
    let sum = |levels: &[IterationStats]| Iterations {
        count: levels.iter().map(|level| level.iterations).sum(),
        mode: match levels.iter().find(|level| level.mode != levels[0].mode) {
            Some(_) => "mixed",
            None => name(levels[0].mode),
        },
        active: levels.iter().map(|level| level.active).sum(),
        edges: levels.iter().map(|level| level.edges).sum(),
    };
    levels.chunks(each).map(sum).collect()
}

/// The line for the terminal. `edges`: those of the graph.
pub(crate) fn line(levels: &[IterationStats], edges: u64) -> String {
    let looked: u64 = levels.iter().map(|level| level.edges).sum();
    let count = |mode| -> u64 {
        levels.iter().filter(|level| level.mode == mode).map(|level| level.iterations).sum()
    };
    let modes = [Mode::Dense, Mode::Pull, Mode::Sparse, Mode::Asynchronous]
        .map(|mode| (count(mode), name(mode)));
    let modes: Vec<String> = modes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{} {name}", grouped(*count)))
        .collect();
    format!(
        "frontier: {} ({}), {} looked at in all ({:.2} times those of the graph)",
        counted(levels.iter().map(|level| level.iterations).sum(), "iteration", "iterations"),
        modes.join(", "),
        counted(looked, "edge", "edges"),
        looked as f64 / edges.max(1) as f64,
    )
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Dense => "dense",
        Mode::Pull => "pull",
        Mode::Sparse => "sparse",
        Mode::Asynchronous => "async",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE: IterationStats =
        IterationStats { mode: Mode::Sparse, active: 2, edges: 5, iterations: 1 };
    const DENSE: IterationStats =
        IterationStats { mode: Mode::Dense, active: 100, edges: 1000, iterations: 1 };

    #[test]
    fn few_iterations_have_an_entry_each() {
        let entry = |mode, active, edges| Iterations { count: 1, mode, active, edges };
        let entries = [entry("sparse", 2, 5), entry("dense", 100, 1000)];
        assert_eq!(summarised(&[SPARSE, DENSE]), entries);
        assert_eq!(summarised(&[]), []);
    }

    #[test]
    fn many_iterations_share_entries_and_nothing_is_lost() {
        let mut levels = vec![SPARSE; 2500];
        levels[4] = DENSE;
        let entries = summarised(&levels);
        assert!(entries.len() <= ENTRIES_MAX);
        assert_eq!(entries.iter().map(|entry| entry.count).sum::<u64>(), 2500);
        assert_eq!(entries.iter().map(|entry| entry.edges).sum::<u64>(), 2499 * 5 + 1000);
        assert_eq!((entries[0].mode, entries[1].mode), ("sparse", "mixed"));
    }

    #[test]
    fn the_line_compares_with_the_graph() {
        assert_eq!(
            line(&[SPARSE, DENSE, DENSE], 1000),
            "frontier: 3 iterations (2 dense, 1 sparse), 2,005 edges looked at in all \
             (2.00 times those of the graph)"
        );
    }
}
