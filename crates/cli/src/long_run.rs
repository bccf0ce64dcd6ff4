//! Note of a run that iterates out of core for long: how fast it is, and what would be faster.
//!
//! The number of iterations of a program that continues until nothing changes is not known
//! beforehand. On most graphs these are few; on grids, paths and roads they are as many as these
//! are long, and with edges on storage each reads them again.

use std::sync::atomic::{AtomicBool, Ordering};

use welter_engine::plan::human_bytes;
use welter_progress::{PhaseReport, Progress};

use crate::number_format::{counted, grouped, seconds};
use crate::say;

/// A run is long when it has looked through the edges `GRAPHS` times.
const GRAPHS: u64 = 64;

/// Iterations whose time is foreseen in the note.
const AHEAD: u32 = 1000;

/// Lets a run say once, on standard error, that it is long. `graph_bytes`: what all edges take;
/// `in_memory`: a budget in which none are on storage.
pub(crate) fn note_when_long(progress: &Progress, graph_bytes: u64, in_memory: u64) {
    let is_printed = AtomicBool::new(false);
    progress.watch(move |phase| {
        let is_long = phase.total.is_none() && phase.bytes / GRAPHS >= graph_bytes.max(1);
        if is_long && !is_printed.swap(true, Ordering::Relaxed) {
            say::line(note(phase, in_memory));
        }
    });
}

fn note(phase: &PhaseReport, in_memory: u64) -> String {
    let each = phase.elapsed / u32::try_from(phase.done).unwrap_or(u32::MAX).max(1);
    format!(
        "note: {} took {} with edges on storage, and how many more will follow is not known: on \
         grids, paths and roads as many as these are long; {} more take {}; with --memory {} all \
         edges are in memory",
        counted(phase.done, "iteration", "iterations"),
        seconds(phase.elapsed),
        grouped(AHEAD.into()),
        seconds(each.saturating_mul(AHEAD)),
        human_bytes(in_memory).replace(' ', ""),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use welter_progress::Unit;

    use super::*;

    #[test]
    fn a_long_run_says_how_long_and_what_would_be_faster() {
        let phase = PhaseReport {
            name: "iterate",
            unit: Unit::Iterations,
            done: 64,
            total: None,
            bytes: 1 << 20,
            elapsed: Duration::from_secs(32),
        };
        assert_eq!(
            note(&phase, 190 << 20),
            "note: 64 iterations took 32 s with edges on storage, and how many more will follow is \
             not known: on grids, paths and roads as many as these are long; 1,000 more take 8 min \
             20 s; with --memory 190MiB all edges are in memory"
        );
    }
}
