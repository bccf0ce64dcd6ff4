//! `outofcore`: whole runs of the command in control groups, with less memory than the graph wants
//! and on slower devices than there are.
//!
//! Every run is a process in a group that may take its budget and 32 MiB, and is killed beyond. It
//! reads unsorted edges and leaves a result, which is compared with that of a run with all the
//! memory there is. The page cache holds the input; temporary files are read and written past it.

mod cost;
pub(crate) mod group;
pub(crate) mod job;
mod turns;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::Settings;
use crate::inputs::{Kind, Shape};
use crate::report::{Table, digits, ratio};
use job::{BEYOND_BYTES, Job, JobCost, JobSetup};

const MIB: u64 = 1 << 20;

/// Bytes a second to which the device is slowed down.
const RATES: [u64; 2] = [500_000_000, 200_000_000];

/// The tables, by the names that `--only` knows.
const TABLES: [&str; 3] = ["budgets", "rates", "turns"];

/// Scales from which edges are generated as they are read, and few jobs are run.
const LARGE: u32 = 26;

pub(crate) const JOB: Job =
    Job { name: "", arguments: &[], meets_all: false, searches: false, weighs: false };
const RANKS: Job = Job {
    name: "PageRank f32, 10 iterations",
    arguments: &["pagerank", "--iterations", "10", "--precision", "f32"],
    meets_all: true,
    ..JOB
};
const SEARCH: Job = Job { name: "BFS", arguments: &["bfs"], searches: true, ..JOB };
const JOBS: [Job; 6] = [
    RANKS,
    Job {
        name: "PageRank f64, 10 iterations",
        arguments: &["pagerank", "--iterations", "10"],
        ..RANKS
    },
    Job { name: "SpMV", arguments: &["spmv"], ..RANKS },
    SEARCH,
    Job { name: "SSSP, weights 1 to 255", arguments: &["sssp"], weighs: true, ..SEARCH },
    Job { name: "WCC", arguments: &["wcc"], ..JOB },
];

/// Measures all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    if let Some(name) = settings.only.iter().find(|name| !TABLES.contains(&name.as_str())) {
        bail!("--only {name}: expected some of {}", TABLES.join(", "));
    }
    let device = Device::probe(&settings.inputs.subfolder("outofcore")?)?;
    let named = |name: &str| settings.only.iter().any(|only| only == name);
    let wanted = |name| settings.only.is_empty() || named(name);
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        let bench = Bench::new(shape, settings, &device)?;
        if wanted("budgets") {
            tables.push(bench.budgets()?);
        }
        if shape.scale < LARGE && wanted("rates") {
            tables.push(bench.rates()?);
        }
        if let Some(raw) = bench.raw.as_ref().filter(|_| wanted("turns")) {
            tables.push(bench.turns(raw)?);
        }
    }
    Ok(tables)
}

/// Rates of a device.
struct Device {
    read: f64,
    write: f64,
}

impl Device {
    /// Asks `welter probe`.
    fn probe(folder: &Path) -> Result<Self> {
        let mut command = std::process::Command::new(job::program()?);
        command.args(["probe", "--json", "-", "-q"]).arg(folder);
        let ended = command.output().context("starting the command")?;
        ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let printed: Value =
            serde_json::from_slice(&ended.stdout).context("what the probe said")?;
        let rate = |path: &str| printed.pointer(path).and_then(Value::as_f64);
        let read = rate("/targets/0/best_read/bytes_per_second").context("no rate of reading")?;
        let write = rate("/targets/0/best_write/bytes_per_second").context("no rate of writing")?;
        Ok(Self { read, write })
    }
}

/// Budgets that a graph is run with, most memory first.
fn budgets(scale: u32) -> &'static [u64] {
    match scale {
        ..=22 => &[128 * MIB],
        23..LARGE => &[1024 * MIB, 512 * MIB, 256 * MIB],
        _ => &[1024 * MIB],
    }
}

/// Bench of one graph.
struct Bench<'a> {
    shape: Shape,
    device: &'a Device,
    /// The pairs as a file, unless they are generated as they are read.
    raw: Option<PathBuf>,
    /// Pairs with weights.
    weighted: Option<PathBuf>,
    folder: PathBuf,
    /// Where searches begin: the source of the first edge, so that they get somewhere.
    source: u32,
}

impl<'a> Bench<'a> {
    fn new(shape: Shape, settings: &Settings, device: &'a Device) -> Result<Self> {
        let raw = (shape.scale < LARGE).then(|| settings.inputs.raw(shape)).transpose()?;
        let weighs = shape.scale < LARGE && shape.kind != Kind::Grid;
        let weighted = weighs.then(|| settings.inputs.raw_weighted(shape)).transpose()?;
        let folder = settings.inputs.subfolder("outofcore")?;
        let source = raw.as_deref().map_or(Ok(0), first_source)?;
        Ok(Self { shape, device, raw, weighted, folder, source })
    }

    fn input(&self, job: Job) -> Result<String> {
        let path = if job.weighs { &self.weighted } else { &self.raw };
        match path {
            Some(path) => Ok(path.display().to_string()),
            None => self.shape.spec().context("no generator makes such edges as they are read"),
        }
    }

    fn jobs(&self) -> Vec<Job> {
        if self.raw.is_none() {
            return vec![RANKS, SEARCH];
        }
        JOBS.into_iter().filter(|job| !job.weighs || self.weighted.is_some()).collect()
    }

    fn run(
        &self,
        job: Job,
        budget_bytes: Option<u64>,
        rate: Option<u64>,
        extra: &[&str],
    ) -> Result<(JobCost, PathBuf)> {
        let mut words = vec![format!("{}: {}", self.shape, job.name)];
        words.extend(budget_bytes.map(|bytes| format!("{} MiB", bytes / MIB)));
        words.extend(rate.map(|rate| format!("{} MB/s", rate / 1_000_000)));
        eprintln!("{}", words.join(", "));
        let folder = &*self.folder;
        let input = &self.input(job)?;
        let source = self.source;
        let way = JobSetup { input, source, folder, budget_bytes, rate, extra, seconds_most: None };
        let output = self.folder.join(if budget_bytes.is_some() { "got.npy" } else { "free.npy" });
        Ok((job::run(job, way, &output)?, output))
    }

    /// Every job with every budget, beside one with all the memory there is.
    fn budgets(&self) -> Result<Table> {
        let columns = [
            "job",
            "budget",
            "route",
            "threads",
            "peak MiB",
            "seconds",
            "ingest s",
            "iterations s",
            "G edges/s",
            "of in memory",
            "read GB",
            "written GB",
            "limit",
            "vs COST",
        ];
        let mut table = Table::new(String::new(), &columns);
        let mut edges = 0.0;
        for job in self.jobs() {
            let cost = self
                .raw
                .as_deref()
                .and_then(|raw| cost::seconds(job, raw, self.shape, self.source));
            let cost = cost.transpose()?;
            let free = match self.raw {
                Some(_) => Some(self.run(job, None, None, &[])?),
                None => None,
            };
            if let Some((free, _)) = &free {
                edges = free.edges();
                table.row(row(job, "all", free, None, cost));
            }
            for &budget in budgets(self.shape.scale) {
                let (taken, output) = self.run(job, Some(budget), None, &[])?;
                edges = taken.edges();
                if let Some((_, expected)) = &free {
                    agree(job, &taken, &output, expected)?;
                }
                let free = free.as_ref().map(|(free, _)| free);
                table.row(row(job, &format!("{} MiB", budget / MIB), &taken, free, cost));
            }
        }
        table.title = format!("Less memory, {}: {edges} edges", self.shape);
        table.note(format!(
            "Peak: of the control group, which is killed beyond its budget and {} MiB. Read and \
             written: by iterations, of temporary files. Of in memory: the time of iterations with \
             all the memory there is, divided by theirs. COST: plain loops in one thread with all \
             in memory, from the same pairs. Results were the same bit by bit, or, by route \
             `spill`, within 1e-5. `welter probe` says: the device reads {} GB/s and writes {}.",
            BEYOND_BYTES / MIB,
            digits(self.device.read / 1e9),
            digits(self.device.write / 1e9),
        ));
        Ok(table)
    }

    /// Iterations of PageRank with the least of the budgets on slower devices.
    fn rates(&self) -> Result<Table> {
        let columns = [
            "device MB/s",
            "encoding",
            "seconds",
            "iterations s",
            "read MB/s",
            "of the device",
            "read a pass, of the graph",
            "limit",
        ];
        let title = format!("Slower devices, {}: {}", self.shape, RANKS.name);
        let mut table = Table::new(title, &columns);
        let budget = budgets(self.shape.scale).iter().copied().min();
        for rate in std::iter::once(None).chain(RATES.map(Some)) {
            let (taken, _) = self.run(RANKS, budget, rate, &["--edge-memory", "0"])?;
            let (read, _) = taken.moved();
            let most = rate.map_or(self.device.read, |rate| rate as f64);
            let speed = read / taken.iterating();
            table.row(vec![
                format!("{:.0}", most / 1e6),
                taken.encoding(),
                digits(taken.seconds),
                digits(taken.iterating()),
                format!("{:.0}", speed / 1e6),
                digits(speed / most),
                digits(read / taken.iterations() / taken.chunk_bytes()),
                taken.limit(),
            ]);
        }
        table.note(format!(
            "Budget {} MiB, of which nothing holds edges from one iteration to the next. The first \
             row is the device as it is, by `welter probe`; the others are slowed down by the \
             control group, reading and writing.",
            budget.unwrap_or(0) / MIB
        ));
        Ok(table)
    }
}

/// `free`: the same job with all the memory there is.
fn row(
    job: Job,
    budget: &str,
    taken: &JobCost,
    free: Option<&JobCost>,
    cost: Option<f64>,
) -> Vec<String> {
    let (read, written) = taken.moved();
    let speed = taken.edges() * taken.iterations().max(1.0) / taken.iterating() / 1e9;
    vec![
        job.name.to_owned(),
        budget.to_owned(),
        taken.route(),
        taken.threads().to_string(),
        taken.peak_bytes.map_or("-".to_owned(), |bytes| (bytes / MIB).to_string()),
        digits(taken.seconds),
        digits(taken.seconds - taken.iterating()),
        digits(taken.iterating()),
        if job.meets_all { digits(speed) } else { "-".to_owned() },
        free.map_or("-".to_owned(), |free| digits(free.iterating() / taken.iterating())),
        digits(read / 1e9),
        digits(written / 1e9),
        taken.limit(),
        ratio(cost.map(|cost| cost / taken.seconds)),
    ]
}

pub(crate) fn first_source(raw: &Path) -> Result<u32> {
    let mut first = [0; 4];
    File::open(raw).and_then(|mut file| file.read_exact(&mut first)).context("the first edge")?;
    Ok(u32::from_le_bytes(first))
}

/// Compares a result with another.
fn agree(job: Job, taken: &JobCost, got: &Path, expected: &Path) -> Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    if read(got)? == read(expected)? {
        return Ok(());
    }
    ensure!(taken.route().starts_with("spill"), "{}: another result", job.name);
    let ranks = |path| crate::job::ranks::read(path);
    let expected: Vec<f64> = ranks(expected)?.into_iter().map(|rank| rank.unwrap_or(0.0)).collect();
    let distance = crate::check::distance(&expected, &ranks(got)?, 1.0);
    crate::check::agree(job.name, distance, 1e-5).map(drop)
}
