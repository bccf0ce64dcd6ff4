//! A run of the command on volumes of a storage type.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::bucket::RemoteBucket;
use super::storage::{Storage, Volumes};
use crate::inputs::{Inputs, Kind, Shape};
use crate::measure::median;
use crate::outofcore::job::program;

/// Course of the runs, for readers of the figures.
pub(crate) const WAYS: &str = "\
*As X-Stream*: vertices in memory, as the paper had them (\"only one partition was created and the \
vertices remained in memory\"); edges as raw pairs (8 bytes each), updates written one by one \
and read again (`--route spill --no-combine --no-fuse --vertices-in-memory --encoding pairs \
--compression none --edge-memory 0`). *welter*: as it chooses for a device of that speed, with no \
edge in memory (`--edge-memory 0`); components then need no graph at all, only the input. Seconds \
are those of the whole command, from raw pairs in the page cache to a result on another disk; \
PageRank makes five iterations in `f32`.";

const MIB: u64 = 1 << 20;

/// A graph, as a file of pairs.
pub(crate) struct Graph {
    pub(crate) scale: u32,
    /// Times that a job is run, of which the median counts.
    pub(crate) runs: usize,
    /// Pairs of the generated graph.
    input: PathBuf,
    folder: PathBuf,
}

/// Command that is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) name: &'static str,
    arguments: &'static [&'static str],
}

pub(crate) const BFS: Job = Job { name: "BFS", arguments: &["bfs", "--source", "0"] };
pub(crate) const WCC: Job = Job { name: "CC", arguments: &["wcc"] };
pub(crate) const PAGERANK: Job =
    Job { name: "PageRank", arguments: &["pagerank", "--iterations", "5", "--precision", "f32"] };

/// Options of the way in which X-Stream goes, but for the compression.
pub(crate) const AS_XSTREAM: &[&str] = &[
    "--route",
    "spill",
    "--no-combine",
    "--no-fuse",
    "--vertices-in-memory",
    "--encoding",
    "pairs",
    "--edge-memory",
    "0",
];
/// The compression of X-Stream where nothing else is said.
pub(crate) const UNCOMPRESSED: &[&str] = &["--compression", "none"];
/// Options of the way in which welter goes.
pub(crate) const AS_WELTER: &[&str] = &["--edge-memory", "0"];

/// Time of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunTime {
    pub(crate) seconds: f64,
}

/// Figures of the iterations of a run that streams a kept graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streamed {
    /// Of iterations.
    pub(crate) seconds: f64,
    /// Bytes that these read from storage.
    pub(crate) bytes: f64,
    /// Bytes that came from the bucket, if the graph lies in one.
    pub(crate) from_bucket: f64,
    /// Edges that all iterations met.
    pub(crate) edges: f64,
    pub(crate) iterations: f64,
    /// Bytes of the graph.
    pub(crate) graph_bytes: f64,
}

impl Streamed {
    fn new(report: &Value) -> Self {
        let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
        let phases = report["phases"].as_array().into_iter().flatten();
        let streaming =
            phases.filter(|phase| ["iterate", "pass"].map(Value::from).contains(&phase["name"]));
        let seconds = streaming.filter_map(|phase| phase["seconds"].as_f64());
        let (bytes, iterations) = (number("/storage/bytes_read"), number("/iterations"));
        let from_bucket = report.pointer("/edge_cache/bytes_from_bucket").and_then(Value::as_f64);
        Self {
            seconds: seconds.fold(0.0, |sum, seconds| sum + seconds),
            bytes,
            from_bucket: from_bucket.unwrap_or(bytes),
            edges: number("/graph/edges") * iterations,
            iterations,
            graph_bytes: number("/graph/chunk_bytes"),
        }
    }
}

/// Bandwidths of volumes, bytes a second by bytes of a request, one outstanding.
pub(crate) struct Bandwidths {
    pub(crate) read: Vec<(u64, f64)>,
    pub(crate) write: Vec<(u64, f64)>,
}

/// Seconds for which volumes are probed, and bytes that they take meanwhile. Throttles count by
/// tenths of a second, so less time gives figures of chance.
const PROBE: [&str; 4] = ["--seconds", "60", "--bytes", "256MiB"];

/// Asks `welter probe` about volumes that are striped.
pub(crate) fn probe(volumes: &Volumes) -> Result<Bandwidths> {
    let mut command = Command::new(program()?);
    command.args(["probe", "-q", "--together", "--json", "-"]).args(PROBE);
    command.args(volumes.folders());
    let ended = volumes.confine(command).output().context("starting the command")?;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "welter probe: {}: {stderr}", ended.status);
    let printed: Value = serde_json::from_slice(&ended.stdout).context("what the probe said")?;
    let of = |what: &str| {
        let rates = printed.pointer(&format!("/targets/0/{what}")).and_then(Value::as_array);
        let alone = rates.into_iter().flatten().filter(|rate| rate["depth"] == 1);
        let rate =
            |it: &Value| Some((it["request_bytes"].as_u64()?, it["bytes_per_second"].as_f64()?));
        alone.filter_map(rate).collect()
    };
    Ok(Bandwidths { read: of("read"), write: of("write") })
}

impl Graph {
    /// An undirected R-MAT graph of this scale.
    pub(crate) fn new(scale: u32, inputs: &Inputs) -> Result<Self> {
        let input = inputs.raw(Shape { kind: Kind::Rmat, scale })?;
        Ok(Self { scale, runs: 1, input, folder: inputs.subfolder("cloud")? })
    }

    /// A graph that lies in a file, such as a real one.
    pub(crate) fn with_input(&self, input: PathBuf) -> Self {
        Self { input, folder: self.folder.clone(), ..*self }
    }

    /// Volumes with room for what runs write: pairs of both directions, and updates twice.
    pub(crate) fn mount(&self, storage: Storage, count: usize) -> Result<Volumes> {
        let bytes = (512 * MIB).max((1 << self.scale) * 16 * 2 * 40);
        Volumes::mount(storage, count, bytes, &self.folder)
    }

    /// Runs a job on volumes, with these options.
    pub(crate) fn run(&self, job: Job, volumes: &Volumes, options: &[&str]) -> Result<RunTime> {
        let runs = (0..self.runs).map(|_| self.run_once(job, volumes, options));
        let mut seconds = runs.collect::<Result<Vec<f64>>>()?;
        seconds.sort_by(f64::total_cmp);
        Ok(RunTime { seconds: median(&seconds) })
    }

    fn run_once(&self, job: Job, volumes: &Volumes, options: &[&str]) -> Result<f64> {
        let [output, report] = ["answer.npy", "report.json"].map(|name| self.folder.join(name));
        let mut command = Command::new(program()?);
        command.arg("run").args(job.arguments).arg(&self.input).args(["-q", "--undirected"]);
        command.args(options);
        for folder in volumes.folders() {
            command.arg("--scratch").arg(folder);
        }
        command.arg("--output").arg(&output).arg("--report").arg(&report);
        let mut confined = volumes.confine(command);
        let started = Instant::now();
        let ended = confined.stderr(Stdio::piped()).output().context("starting the command")?;
        let seconds = started.elapsed().as_secs_f64();
        let stderr = String::from_utf8_lossy(&ended.stderr);
        ensure!(ended.status.success(), "{confined:?}: {}: {stderr}", ended.status);
        let text = std::fs::read(&report).with_context(|| report.display().to_string())?;
        let report: Value = serde_json::from_slice(&text).context("the report of the command")?;
        let bytes = |name: &str| report["storage"][name].as_f64().unwrap_or(0.0) / 1e6;
        let (read, written) = (bytes("bytes_read"), bytes("bytes_written"));
        eprintln!(
            "  {} {options:?}: {seconds:.1} s, {read:.0} MB read, {written:.0} written",
            job.name
        );
        Ok(seconds)
    }

    /// Keeps the graph in a directory.
    pub(crate) fn ingest(&self, to: &str, options: &[&str]) -> Result<()> {
        self.keep(Command::new(program()?), to, options)
    }

    /// Keeps the graph in a bucket behind a link.
    pub(crate) fn put(&self, bucket: &RemoteBucket, url: &str, options: &[&str]) -> Result<()> {
        self.keep(bucket.command()?, url, options)
    }

    fn keep(&self, mut command: Command, to: &str, options: &[&str]) -> Result<()> {
        command.arg("ingest").arg(&self.input).args(["-q", "-o", to]).args(options);
        must(&mut command)
    }

    /// Runs a job on a kept graph of a throttled volume, with no edge in memory.
    pub(crate) fn stream(&self, job: Job, kept: &Path, volumes: &Volumes) -> Result<Streamed> {
        let mut command = Command::new(program()?);
        command.arg("run").args(job.arguments).arg(kept);
        self.streamed(command, |command| volumes.confine(command))
    }

    /// Runs `PageRank` on a kept graph behind a link, with no edge in memory.
    pub(crate) fn fetch(
        &self,
        bucket: &RemoteBucket,
        url: &str,
        options: &[&str],
    ) -> Result<Streamed> {
        let mut command = bucket.command()?;
        command.arg("run").args(PAGERANK.arguments).arg(url).args(options);
        self.streamed(command, |command| command)
    }

    /// A folder below that of the figures.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn streamed(
        &self,
        mut command: Command,
        limited: impl FnOnce(Command) -> Command,
    ) -> Result<Streamed> {
        let [output, report] = ["answer.npy", "report.json"].map(|name| self.folder.join(name));
        // Less than the edges of any encoding take.
        let budget = (64 * MIB).max(24 << self.scale);
        command.args(AS_WELTER).args(["-q", "--memory", &budget.to_string()]);
        command.arg("--scratch").arg(&self.folder);
        command.arg("--output").arg(&output).arg("--report").arg(&report);
        must(&mut limited(command))?;
        let text = std::fs::read(&report).with_context(|| report.display().to_string())?;
        let streamed = Streamed::new(&serde_json::from_slice(&text)?);
        eprintln!("  {streamed:?}");
        Ok(streamed)
    }
}

fn must(command: &mut Command) -> Result<()> {
    let ended = command.stderr(Stdio::piped()).output().context("starting the command")?;
    let stderr = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success(), "{command:?}: {}: {stderr}", ended.status);
    Ok(())
}
