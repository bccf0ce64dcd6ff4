//! A run of the command in a control group, and what its report says.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Error, Result, ensure};
use serde_json::Value;

use super::group::Limits;

/// Memory of a process beyond the budget: its code, its stacks, what the allocator and the kernel
/// keep for it.
pub(crate) const BEYOND_BYTES: u64 = 32 << 20;

/// Exit code of a command that is given too small a budget.
const DOES_NOT_FIT: i32 = 78;

/// Job that is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// Name in the table.
    pub(crate) name: &'static str,
    /// Algorithm and options.
    pub(crate) arguments: &'static [&'static str],
    /// Whether each iteration meets all edges.
    pub(crate) meets_all: bool,
    /// Whether the job begins at a vertex.
    pub(crate) searches: bool,
    /// Whether the job reads weights.
    pub(crate) weighs: bool,
}

/// Setup of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobSetup<'a> {
    /// Input: a file or a generator.
    pub(crate) input: &'a str,
    /// Vertex at which searches begin.
    pub(crate) source: u32,
    /// Folder of temporary files and of the result.
    pub(crate) folder: &'a Path,
    /// Budget; none means all the memory there is, and no group.
    pub(crate) budget_bytes: Option<u64>,
    /// Bytes a second to which the device is slowed down.
    pub(crate) rate: Option<u64>,
    /// More options.
    pub(crate) extra: &'a [&'a str],
    /// Seconds after which it is ended; none for as long as it takes.
    pub(crate) seconds_most: Option<u64>,
}

/// End of a run that did not end well.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JobOutcome {
    /// End of a job that took longer than it may.
    #[error("it took longer than {0} s")]
    TooLong(u64),
    /// The command says that the budget is too small.
    #[error("it does not fit the budget: {0}")]
    DoesNotFit(String),
}

/// Times and memory of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobCost {
    /// From the start of the process to its end.
    pub(crate) seconds: f64,
    /// The most memory that the group had at any time.
    pub(crate) peak_bytes: Option<u64>,
    /// Report of the command.
    pub(crate) report: Value,
}

impl JobCost {
    fn number(&self, path: &str) -> f64 {
        self.report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0)
    }

    fn text(&self, path: &str) -> String {
        self.report.pointer(path).and_then(Value::as_str).unwrap_or("-").to_owned()
    }

    /// Seconds of the phases with these names.
    pub(crate) fn phases(&self, names: &[&str]) -> f64 {
        let phases = self.report.pointer("/phases").and_then(Value::as_array);
        let named = phases
            .into_iter()
            .flatten()
            .filter(|phase| phase["name"].as_str().is_some_and(|name| names.contains(&name)));
        // Not `sum`, which is -0 of nothing.
        named.filter_map(|phase| phase["seconds"].as_f64()).fold(0.0, |sum, seconds| sum + seconds)
    }

    /// Seconds of iterations, or of passes over the edges, making rows included.
    pub(crate) fn iterating(&self) -> f64 {
        self.phases(&["iterate", "pass", "intersect", "peel"])
    }

    /// The most memory that the process says it had at any time.
    pub(crate) fn resident_bytes(&self) -> f64 {
        self.number("/resident_bytes_max")
    }

    /// Something that was found of the graph as a whole.
    pub(crate) fn found(&self, name: &str) -> Option<f64> {
        self.report.pointer(&format!("/found/{name}"))?.as_f64()
    }

    pub(crate) fn threads(&self) -> f64 {
        self.number("/plan/threads")
    }

    pub(crate) fn iterations(&self) -> f64 {
        self.number("/iterations")
    }

    pub(crate) fn edges(&self) -> f64 {
        self.number("/graph/edges")
    }

    /// Bytes of the graph as it is stored.
    pub(crate) fn chunk_bytes(&self) -> f64 {
        self.number("/graph/chunk_bytes")
    }

    /// Bytes that were read, and written, by iterations.
    pub(crate) fn moved(&self) -> (f64, f64) {
        (self.number("/storage/bytes_read"), self.number("/storage/bytes_written"))
    }

    pub(crate) fn route(&self) -> String {
        self.text("/plan/route")
    }

    pub(crate) fn encoding(&self) -> String {
        self.text("/plan/encoding")
    }

    pub(crate) fn limit(&self) -> String {
        self.text("/storage/limit")
    }
}

/// Runs it, with the result in `output`.
pub(crate) fn run(job: Job, way: JobSetup<'_>, output: &Path) -> Result<JobCost> {
    let report = output.with_extension("json");
    let mut command = match way.seconds_most {
        Some(most) => ended_after(most, &program()?),
        None => Command::new(program()?),
    };
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
    let stderr = String::from_utf8_lossy(&ended.stderr);
    if let Some(most) = way.seconds_most.filter(|&most| seconds >= most as f64) {
        return Err(Error::new(JobOutcome::TooLong(most)));
    }
    if ended.status.code() == Some(DOES_NOT_FIT) {
        return Err(Error::new(JobOutcome::DoesNotFit(stderr.trim().to_owned())));
    }
    ensure!(ended.status.success(), "{} {way:?}: {}: {stderr}", job.name, ended.status);
    let text = std::fs::read(&report).with_context(|| report.display().to_string())?;
    let _ = std::fs::remove_file(&report);
    let peak_bytes = limits.map(|limits| limits.peak_bytes()).transpose()?;
    let report = serde_json::from_slice(&text).context("the report of the command")?;
    Ok(JobCost { seconds, peak_bytes, report })
}

/// A program that is ended after `seconds` seconds, by `timeout` of the coreutils.
pub(crate) fn ended_after(seconds: u64, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &seconds.to_string()]).arg(program);
    command
}

/// The command, which was built beside this program.
pub(crate) fn program() -> Result<PathBuf> {
    let own = std::env::current_exe().context("finding this program")?;
    let command = own.with_file_name("welter");
    ensure!(command.exists(), "{}: build it first, with this program", command.display());
    Ok(command)
}
