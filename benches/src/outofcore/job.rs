//! A run of the command in a control group, and what its report says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::group::Limits;

/// Memory of a process beyond the budget: its code, its stacks, what the allocator and the kernel
/// keep for it.
pub(super) const BEYOND_BYTES: u64 = 32 << 20;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// As the table shows it.
    pub(super) name: &'static str,
    /// Algorithm and options.
    pub(super) arguments: &'static [&'static str],
    /// Whether each iteration meets all edges.
    pub(super) meets_all: bool,
    /// Whether it begins somewhere.
    pub(super) searches: bool,
    /// Whether it reads weights.
    pub(super) weighs: bool,
}

/// How it is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// What is read: a file or a generator.
    pub(super) input: &'a str,
    /// Where searches begin.
    pub(super) source: u32,
    /// Where temporary files and the result go.
    pub(super) folder: &'a Path,
    /// Budget; none means all the memory there is, and no group.
    pub(super) budget_bytes: Option<u64>,
    /// Bytes a second to which the device is slowed down.
    pub(super) rate: Option<u64>,
    /// More options.
    pub(super) extra: &'a [&'a str],
}

/// What it took.
#[derive(Clone, Debug)]
pub(super) struct Taken {
    /// From the start of the process to its end.
    pub(super) seconds: f64,
    /// The most memory that the group had at any time.
    pub(super) peak_bytes: Option<u64>,
    report: Value,
}

impl Taken {
    fn number(&self, path: &str) -> f64 {
        self.report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
    }

    fn text(&self, path: &str) -> String {
        self.report.pointer(path).and_then(Value::as_str).unwrap_or("-").to_owned()
    }

    /// Seconds of the phases with these names.
    pub(super) fn phases(&self, names: &[&str]) -> f64 {
        let phases = self.report.pointer("/phases").and_then(Value::as_array);
        let named = phases
            .into_iter()
            .flatten()
            .filter(|phase| phase["name"].as_str().is_some_and(|name| names.contains(&name)));
        named.filter_map(|phase| phase["seconds"].as_f64()).sum()
    }

    /// Seconds of iterations, or of the one pass over the edges.
    pub(super) fn iterating(&self) -> f64 {
        self.phases(&["iterate", "pass"])
    }

    pub(super) fn threads(&self) -> f64 {
        self.number("/plan/threads")
    }

    pub(super) fn iterations(&self) -> f64 {
        self.number("/iterations")
    }

    pub(super) fn edges(&self) -> f64 {
        self.number("/graph/edges")
    }

    /// Bytes of the graph as it is stored.
    pub(super) fn chunk_bytes(&self) -> f64 {
        self.number("/graph/chunk_bytes")
    }

    /// Bytes that were read, and written, by iterations.
    pub(super) fn moved(&self) -> (f64, f64) {
        (self.number("/storage/bytes_read"), self.number("/storage/bytes_written"))
    }

    pub(super) fn route(&self) -> String {
        self.text("/plan/route")
    }

    pub(super) fn encoding(&self) -> String {
        self.text("/plan/encoding")
    }

    pub(super) fn limit(&self) -> String {
        self.text("/storage/limit")
    }
}

/// Runs it, with the result in `output`.
pub(super) fn run(job: Job, way: Way<'_>, output: &Path) -> Result<Taken> {
    let report = output.with_extension("json");
    let mut command = Command::new(program()?);
    command.arg("run").args(job.arguments).arg(way.input).arg("-q");
    command.args(way.extra);
    if job.searches {
        command.args(["--source", &way.source.to_string()]);
    }
    command.arg("--scratch").arg(way.folder);
    command.arg("--output").arg(output).arg("--report").arg(&report);
    let limits = match way.budget_bytes {
        Some(budget) => {
            command.args(["--memory", &budget.to_string()]);
            let device = way.rate.map(|rate| (way.folder, rate));
            Some(Limits::new(budget + BEYOND_BYTES, device)?)
        }
        None => None,
    };
    let mut confined = match &limits {
        Some(limits) => limits.confine(&command),
        None => command,
    };
    let started = Instant::now();
    let ended = confined.stderr(Stdio::piped()).output().context("starting the command")?;
    let seconds = started.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{} {way:?}: {}: {said}", job.name, ended.status);
    let text = std::fs::read(&report).with_context(|| report.display().to_string())?;
    let _ = std::fs::remove_file(&report);
    let peak_bytes = limits.map(|limits| limits.peak_bytes()).transpose()?;
    let report = serde_json::from_slice(&text).context("the report of the command")?;
    Ok(Taken { seconds, peak_bytes, report })
}

/// The command, which was built beside this program.
pub(super) fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding this program")?;
    let command = own.with_file_name("welter");
    ensure!(command.exists(), "{}: build it first, with this program", command.display());
    Ok(command)
}
