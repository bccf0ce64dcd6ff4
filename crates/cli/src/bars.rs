//! Progress on a terminal: a line for the present phase, once it has lasted for a second.
//!
//! A thread looks at [`Progress::current`] ten times a second and draws on standard error; the run
//! itself never waits for it. Where standard error is no terminal, or the user wants quiet, there
//! is no such thread.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use welter_engine::plan::human_bytes;
use welter_progress::{PhaseReport, Progress, Unit};

use crate::number_format::{about, grouped, seconds};

/// Phases that end before this are not shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two drawings.
const INTERVAL: Duration = Duration::from_millis(100);
/// Steps of a bar; what is drawn is a share of them.
const STEPS: u64 = 1_000;

/// The thread that draws. Dropping it clears the line.
#[derive(Debug)]
pub(crate) struct Bars {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bars {
    /// Begins to draw, unless standard error is no terminal.
    pub(crate) fn start(progress: &Progress, quiet: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let (progress, stop) = (progress.clone(), Arc::clone(&stop));
            std::thread::Builder::new()
                .name("progress".to_owned())
                .spawn(move || draw(&progress, &stop))
                .ok()
        });
        Self { stop, thread: thread.flatten() }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that draws and panicked is no reason to fail a run.
            let _ = thread.join();
        }
    }
}

fn draw(progress: &Progress, stop: &AtomicBool) {
    let mut shown: Option<(&'static str, ProgressBar)> = None;
    while !stop.load(Ordering::Relaxed) {
        let phase = progress.current().filter(|phase| phase.elapsed >= PATIENCE);
        let same = |(name, _): &(&str, _)| phase.as_ref().is_some_and(|phase| phase.name == *name);
        if !shown.as_ref().is_some_and(same)
            && let Some((_, bar)) = shown.take()
        {
            bar.finish_and_clear();
        }
        if let Some(phase) = phase {
            let (_, bar) = shown.get_or_insert_with(|| (phase.name, bar(phase.total.is_some())));
            if let Some(total) = phase.total {
                let share = u128::from(phase.done.min(total)) * u128::from(STEPS);
                bar.set_position((share / u128::from(total.max(1))) as u64);
            }
            let mut text = line(&phase, progress.cancelled());
            if let Some(note) = progress.noted() {
                text = format!("{text}; {note}");
            }
            bar.set_message(text);
            bar.tick();
        }
        std::thread::park_timeout(INTERVAL);
    }
    if let Some((_, bar)) = shown {
        bar.finish_and_clear();
    }
}

fn bar(bounded: bool) -> ProgressBar {
    let template = if bounded { "[{bar:24}] {wide_msg}" } else { "{spinner} {wide_msg}" };
    let style = ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr()).with_style(style)
}

/// Line about a phase: how far it is, how fast, and for how long still.
fn line(phase: &PhaseReport, cancelled: bool) -> String {
    let PhaseReport { unit, done, total, elapsed, .. } = *phase;
    let rate = done as f64 / elapsed.as_secs_f64().max(1e-9);
    let amount = |amount: u64| match unit {
        Unit::Bytes => human_bytes(amount),
        Unit::Edges | Unit::Vertices => about(amount as f64),
        Unit::Iterations => grouped(amount),
    };
    // The unit is part of an amount of bytes.
    let noun = match unit {
        Unit::Bytes => "",
        Unit::Edges => " edges",
        Unit::Vertices => " vertices",
        Unit::Iterations => " iterations",
    };
    let mut parts = vec![match total {
        Some(total) => format!("{}: {} of {}{noun}", verb(phase.name), amount(done), amount(total)),
        None => format!("{}: {}{noun}", verb(phase.name), amount(done)),
    }];
    parts.push(match unit {
        Unit::Iterations => format!("{rate:.2}/s"),
        Unit::Bytes | Unit::Edges | Unit::Vertices => format!("{}/s", amount(rate as u64)),
    });
    if cancelled {
        parts.push("ending".to_owned());
    } else if let Some(left) = left(phase, rate) {
        // Ranks may settle before the last iteration that is allowed.
        let most = if unit == Unit::Iterations { " at most" } else { "" };
        parts.push(format!("{} left{most}", seconds(left)));
    }
    parts.join(", ")
}

/// Time that a phase will still take at its rate.
fn left(phase: &PhaseReport, rate: f64) -> Option<Duration> {
    let left = phase.total?.saturating_sub(phase.done) as f64 / rate;
    (rate > 0.0 && left < 1e9).then(|| Duration::from_secs(left.ceil() as u64))
}

/// Phases in words.
fn verb(name: &'static str) -> &'static str {
    match name {
        "read" => "reading",
        "survey" => "looking at edges",
        "partition" => "partitioning edges",
        "sort" => "sorting edges",
        "iterate" => "iterating",
        "write" => "writing",
        "validate" => "validating",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &'static str, unit: Unit, done: u64, total: Option<u64>) -> PhaseReport {
        PhaseReport { name, unit, done, total, bytes: 0, elapsed: Duration::from_secs(2) }
    }

    #[test]
    fn a_line_has_rate_and_time_left() {
        let reading = phase("read", Unit::Bytes, 1 << 30, Some(3 << 30));
        assert_eq!(line(&reading, false), "reading: 1.00 GiB of 3.00 GiB, 512 MiB/s, 4 s left");
        assert!(line(&reading, true).ends_with("/s, ending"));
        let pipe = phase("read", Unit::Bytes, 1 << 20, None);
        assert_eq!(line(&pipe, false), "reading: 1.00 MiB, 512 KiB/s");
        let iterating = phase("iterate", Unit::Iterations, 10, Some(200));
        assert_eq!(
            line(&iterating, false),
            "iterating: 10 of 200 iterations, 5.00/s, 38 s left at most"
        );
        let sorting = phase("sort", Unit::Edges, 0, Some(5_000_000));
        assert_eq!(line(&sorting, false), "sorting edges: 0 of 5.00 M edges, 0/s");
    }
}
