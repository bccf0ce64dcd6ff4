//! `job`: the whole job, from a file of unsorted edges to ranks in a file.
//!
//! Every job runs in a fresh process, twice: the first is *cold*, from the start of the process to
//! its end, the second is *warm*, in the memory that the first one left. The page cache holds the
//! input, so no disk is measured. What the difference is made of, page faults and time in the
//! kernel, is shown beside it.

pub(crate) mod child;
pub(crate) mod ranks;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::Settings;
use crate::check::{agree, distance};
use crate::inputs::Shape;
use crate::measure::median;
use crate::report::{Table, digits, gigabytes, ratio};
use child::{Engine, ITERATIONS, Report};

/// More rounds than this take long and teach little: a job is long enough to be its own average.
const ROUNDS_MOST: usize = 3;

/// Measures all graphs of the settings.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        tables.extend(bench_graph(shape, settings)?);
    }
    Ok(tables)
}

/// A job and what it took, round by round.
struct Contender {
    name: &'static str,
    engine: Engine,
    /// Formats that the job reads and writes, as the table shows them.
    job: &'static str,
    input: PathBuf,
    extension: &'static str,
    rounds: Vec<Round>,
}

struct Round {
    /// From starting the process to its end, without the jobs after the first.
    cold: f64,
    report: Report,
}

impl Contender {
    fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        let mut all: Vec<f64> = self.rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        median(&all)
    }

    fn cold(&self) -> f64 {
        self.median(|round| round.cold)
    }

    fn warm(&self) -> f64 {
        self.median(|round| round.report.jobs.last().map_or(f64::NAN, |job| job.seconds))
    }
}

fn contenders(raw: &Path, text: &Path) -> Vec<Contender> {
    let one = |name, engine, job, input: &Path, extension| Contender {
        name,
        engine,
        job,
        input: input.to_owned(),
        extension,
        rounds: Vec::new(),
    };
    vec![
        one("welter f32", Engine::WelterF32, "raw to npy", raw, "npy"),
        one("welter f64", Engine::WelterF64, "raw to npy", raw, "npy"),
        one("welter f32", Engine::WelterF32, "raw to Parquet", raw, "parquet"),
        #[cfg(feature = "graph-crate")]
        one(PEER, Engine::Graph, "raw to npy", raw, "npy"),
        one("welter f32", Engine::WelterF32, "text to npy", text, "npy"),
        one("welter f64", Engine::WelterF64, "text to npy", text, "npy"),
        #[cfg(feature = "graph-crate")]
        one(PEER, Engine::Graph, "text to npy", text, "npy"),
    ]
}

const PEER: &str = "graph 0.3";

fn bench_graph(shape: Shape, settings: &Settings) -> Result<Vec<Table>> {
    let (raw, text) = (settings.inputs.raw(shape)?, settings.inputs.text(shape)?);
    let cores = settings.threads_most();
    let mut contenders = contenders(&raw, &text);
    let mut checks = Checks::default();
    let rounds = settings.rounds.min(ROUNDS_MOST);
    for round in 0..rounds {
        eprintln!("{shape}, {cores} threads, job: round {} of {rounds}", round + 1);
        for contender in &mut contenders {
            let output = settings.inputs.scratch(&format!("ranks.{}", contender.extension));
            let measured = measure(contender, &output, cores);
            if measured.is_ok() && round == 0 {
                checks.add(contender, &output)?;
            }
            let _ = std::fs::remove_file(&output);
            contender.rounds.push(measured?);
        }
    }
    let edges = std::fs::metadata(&raw)?.len() / 8;
    let title = |what: &str| format!("{what}, {shape}: {edges} edges, {cores} threads");
    let mut jobs = table(title("Whole job, 10 iterations"), &contenders);
    jobs.note(checks.sentence());
    Ok(vec![jobs, phases(title("Phases of the job"), &contenders, edges, cores)])
}

/// Runs a contender's child: one cold job and one warm.
fn measure(contender: &Contender, output: &Path, cores: usize) -> Result<Round> {
    let engine = contender.engine.to_possible_value().context("an engine without a name")?;
    let start = Instant::now();
    let child = Command::new(std::env::current_exe().context("finding this program")?)
        .arg("job-child")
        .args(["--engine", engine.get_name()])
        .arg("--input")
        .arg(&contender.input)
        .arg("--output")
        .arg(output)
        .args(["--cores", &cores.to_string(), "--jobs", "2"])
        .stderr(Stdio::inherit())
        .output()
        .context("starting a child")?;
    let whole = start.elapsed().as_secs_f64();
    ensure!(child.status.success(), "{} {}: {}", contender.name, contender.job, child.status);
    let report: Report = serde_json::from_slice(&child.stdout).context("the report of a child")?;
    let warm: f64 = report.jobs.iter().skip(1).map(|job| job.seconds).sum();
    Ok(Round { cold: whole - warm, report })
}

/// Compares the ranks that were written with those of the first job.
#[derive(Default)]
struct Checks {
    reference: Vec<f64>,
    ours: f64,
    peer: Option<f64>,
}

impl Checks {
    fn add(&mut self, contender: &Contender, output: &Path) -> Result<()> {
        if contender.extension != "npy" {
            return Ok(());
        }
        let ranks = ranks::read(output)?;
        if self.reference.is_empty() {
            self.reference = ranks.iter().map(|rank| rank.unwrap_or(0.0)).collect();
            return Ok(());
        }
        if contender.name != PEER {
            let distance = agree(contender.name, distance(&self.reference, &ranks, 1.0), 1e-5)?;
            self.ours = self.ours.max(distance);
            return Ok(());
        }
        // It counts every id as a vertex, and takes another way to the limit.
        let vertices = self.reference.iter().filter(|&&rank| rank > 0.0).count();
        let scale = ranks.len() as f64 / vertices as f64;
        let named: Vec<Option<f64>> = ranks
            .iter()
            .zip(&self.reference)
            .map(|(rank, &reference)| rank.filter(|_| reference > 0.0))
            .collect();
        self.peer = Some(agree(PEER, distance(&self.reference, &named, scale), 0.02)?);
        Ok(())
    }

    fn sentence(&self) -> String {
        let ours = format!("Ranks of welter agree within {:.0e} (L1, relative)", self.ours);
        match self.peer {
            Some(peer) => format!(
                "{ours}; those of `graph`, which updates in place, are {peer:.0e} away after \
                 {ITERATIONS} iterations."
            ),
            None => ours + ".",
        }
    }
}

fn table(title: String, contenders: &[Contender]) -> Table {
    let columns = [
        "job",
        "engine",
        "cold s",
        "warm s",
        "system s",
        "faults",
        "peak GB",
        "cold vs graph",
        "warm vs graph",
    ];
    let mut table = Table::new(title, &columns);
    for own in contenders {
        // Parquet is compared with what `graph` has: npy.
        let source = own.job.split(' ').next();
        let peer = contenders
            .iter()
            .find(|other| other.name == PEER && other.job.split(' ').next() == source);
        table.row(vec![
            own.job.to_owned(),
            own.name.to_owned(),
            digits(own.cold()),
            digits(own.warm()),
            digits(own.median(|round| round.report.system_seconds)),
            format!("{:.0}", own.median(|round| round.report.faults as f64)),
            gigabytes(own.median(|round| round.report.peak_bytes as f64) as u64),
            ratio(peer.map(|peer| peer.cold() / own.cold())),
            ratio(peer.map(|peer| peer.warm() / own.warm())),
        ]);
    }
    table.note(
        "Cold: a fresh process from its start to its end. Warm: the second job in the same \
         process. System s and faults: processor time in the operating system and pages touched \
         for the first time, in the cold job. The page cache holds the input.",
    );
    table
}

/// Seconds by phase of the jobs in f32.
fn phases(title: String, contenders: &[Contender], edges: u64, cores: usize) -> Table {
    let columns = ["job", "engine", "phase", "cold s", "warm s", "warm ns/edge*core"];
    let mut table = Table::new(title, &columns);
    for own in contenders.iter().filter(|own| own.engine != Engine::WelterF64) {
        let names: Vec<String> = own.rounds.first().map_or(Vec::new(), |round| {
            round.report.jobs[0].phases.iter().map(|(name, _)| name.clone()).collect()
        });
        for (index, name) in names.iter().enumerate() {
            let of = |job: usize| {
                own.median(|round| {
                    let phase = round.report.jobs.get(job).and_then(|job| job.phases.get(index));
                    phase.map_or(f64::NAN, |(_, seconds)| *seconds)
                })
            };
            let ns = of(1) * 1e9 * cores as f64 / edges as f64;
            let cells = [own.job, own.name, name, &digits(of(0)), &digits(of(1)), &digits(ns)];
            table.row(cells.map(str::to_owned).to_vec());
        }
    }
    table
}
