//! The table of all designs and of the command's routes, and the numbers of Figure 8.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde_json::Value;

use super::child::Cost;
use super::design::{DESIGNS, Design};
use super::numbers::Numbers;
use super::reference::Algorithm;
use crate::algorithms::npy;
use crate::baselines::pairs::PairFile;
use crate::inputs::{Inputs, Kind, Shape, bytes};
use crate::outofcore::job::{self, Job, JobCost, JobSetup, ended_after};
use crate::outofcore::{JOB, first_source};
use crate::report::{Table, digits};
use crate::system;

/// Scales of graphs, as the figure has them (`welter_sim::figures::blitzg`).
const SCALES: [u32; 3] = [18, 20, 22];

/// Scale of a graph that is so small that what a process has there it has with any.
const SCALE_LEAST: u32 = 10;

/// Iterations of PageRank, of which the arguments of its job speak too.
const ITERATIONS: usize = 10;

/// Runs of each contender: the least time counts, and the most memory.
const RUNS: usize = 3;

/// Seconds after which a run is ended.
const SECONDS_MAX: u64 = 1200;

/// Routes of the command that are measured on a cluster, and its run in one process.
const ROUTES: [&str; 4] = ["send", "fold", "spill", "one"];

const RANKS: Job = Job {
    name: "pagerank",
    arguments: &["pagerank", "--iterations", "10", "--precision", "f32", "--dangling", "drop"],
    ..JOB
};
const PATHS: Job =
    Job { name: "sssp", arguments: &["sssp", "--precision", "f32"], searches: true, ..JOB };

/// Numbers of workers, and where what was found goes.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Puts memory and time by edge into this file, by name, for `cargo xtask experiment blitzg`.
    #[arg(long, value_name = "FILE")]
    numbers: Option<PathBuf>,
    /// Workers of a design, and machines of a route: 2 to the power of this.
    #[arg(long, value_name = "BITS", default_value_t = 1)]
    worker_bits: u32,
}

/// Measures all designs and routes on R-MAT graphs of these scales.
///
/// # Errors
/// When one fails, or has a wrong answer.
pub(crate) fn run(arguments: &Arguments, scales: &[u32], inputs: &Inputs) -> Result<()> {
    ensure!(arguments.worker_bits <= 4, "--worker-bits: at most 4, which are 16 workers");
    let scales = if scales.is_empty() { &SCALES[..] } else { scales };
    let mut numbers = Numbers::of_arguments();
    println!("{}\n", system::describe());
    for algorithm in Algorithm::ALL {
        let least = Bench::new(algorithm, SCALE_LEAST, arguments, inputs)?;
        let mut fixed = BTreeMap::new();
        for contender in contenders() {
            fixed.insert(contender.name(), least.measured(contender)?.peak_bytes);
        }
        for &scale in scales {
            let bench = Bench::new(algorithm, scale, arguments, inputs)?;
            println!("{}", bench.table(&fixed, &mut numbers)?.show(false));
            numbers.write()?;
        }
    }
    if let Some(file) = &arguments.numbers {
        println!("Numbers are in {}.", file.display());
    }
    Ok(())
}

/// Contender of a measurement.
#[derive(Clone, Copy)]
enum Contender {
    Design(Design),
    Route(&'static str),
}

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::Design(design) => design.name,
            Self::Route(route) => route,
        }
    }
}

fn contenders() -> impl Iterator<Item = Contender> {
    ROUTES.into_iter().map(Contender::Route).chain(DESIGNS.into_iter().map(Contender::Design))
}

/// An algorithm on a graph.
struct Bench {
    algorithm: Algorithm,
    scale: u32,
    raw: PathBuf,
    edges: f64,
    source: u32,
    answer: Vec<f64>,
    folder: PathBuf,
    worker_bits: u32,
}

impl Bench {
    fn new(
        algorithm: Algorithm,
        scale: u32,
        arguments: &Arguments,
        inputs: &Inputs,
    ) -> Result<Self> {
        let raw = inputs.raw(Shape { kind: Kind::Rmat, scale })?;
        let edges = PairFile::open(&raw)?.pairs as f64;
        let source = first_source(&raw)?;
        let answer = algorithm.answer(&raw, source, ITERATIONS)?;
        let folder = inputs.subfolder("designs")?;
        let worker_bits = arguments.worker_bits;
        Ok(Self { algorithm, scale, raw, edges, source, answer, folder, worker_bits })
    }

    /// All contenders, less the memory that each has with a graph of nearly no size.
    fn table(&self, fixed: &BTreeMap<&str, f64>, numbers: &mut Numbers) -> Result<Table> {
        let (algorithm, scale) = (self.algorithm.name(), self.scale);
        let title = format!("{algorithm}, R-MAT {scale}, {} workers", 1 << self.worker_bits);
        let columns = ["", "ns an edge", "processor ns an edge", "peak MiB", "bytes an edge"];
        let mut table = Table::new(title, &columns);
        for contender in contenders() {
            let name = contender.name();
            eprintln!("{algorithm}, R-MAT {scale}: {name}");
            let cost = self.measured(contender)?;
            let nanos = |seconds: Option<f64>| 1e9 * seconds.unwrap_or(f64::NAN) / self.edges;
            let bytes = (cost.peak_bytes - fixed.get(name).unwrap_or(&0.0)) / self.edges;
            let values = [
                nanos(cost.seconds),
                nanos(cost.processor_seconds),
                cost.peak_bytes / f64::from(1 << 20),
                bytes,
            ];
            let cells = values.map(digits);
            table.row(std::iter::once(name.to_owned()).chain(cells).collect());
            numbers.put(&format!("bytes-an-edge.{name}-{algorithm}-{scale}"), bytes);
            if let Some(seconds) = cost.seconds {
                let nanos = nanos(Some(seconds));
                numbers.put(&format!("nanos-an-edge.{name}-{algorithm}-{scale}"), nanos);
            }
        }
        table.note(
            "Times are of all iterations, the least of three runs; memory is the most that was \
             resident, of all machines of a route together. The last column is less what a \
             contender has on R-MAT 10.",
        );
        Ok(table)
    }

    /// The least time and the most memory of several runs, whose answers are right.
    fn measured(&self, contender: Contender) -> Result<Cost> {
        let run = || match contender {
            Contender::Design(design) => self.design(design),
            Contender::Route(route) => self.route(route),
        };
        let least = |one: Option<f64>, other: Option<f64>| Some(one?.min(other?));
        let mut cost = run()?;
        for _ in 1..RUNS {
            let other = run()?;
            cost = Cost {
                seconds: least(cost.seconds, other.seconds),
                processor_seconds: least(cost.processor_seconds, other.processor_seconds),
                peak_bytes: cost.peak_bytes.max(other.peak_bytes),
            };
        }
        Ok(cost)
    }

    /// A design in a process of its own, which checks its answer.
    fn design(&self, design: Design) -> Result<Cost> {
        let program = std::env::current_exe().context("finding this program")?;
        let ended = ended_after(SECONDS_MAX, &program)
            .args(["design-child", "--design", design.name])
            .args(["--algorithm", self.algorithm.name(), "--input"])
            .arg(&self.raw)
            .args(["--source", &self.source.to_string()])
            .args(["--iterations", &ITERATIONS.to_string()])
            .args(["--worker-bits", &self.worker_bits.to_string()])
            .stderr(Stdio::inherit())
            .output()
            .context("starting a child")?;
        ensure!(ended.status.success(), "{}: {}", design.name, ended.status);
        serde_json::from_slice(&ended.stdout).context("what a child says")
    }

    /// A route of the command, whose answer is checked here.
    fn route(&self, route: &str) -> Result<Cost> {
        let cluster = format!("local:{}", 1 << self.worker_bits);
        let on_cluster = ["--cluster", cluster.as_str(), "--route", route];
        let input = self.raw.display().to_string();
        let setup = JobSetup {
            input: &input,
            source: self.source,
            folder: &self.folder,
            budget_bytes: None,
            rate: None,
            extra: if route == "one" { &[] } else { &on_cluster },
            seconds_most: Some(SECONDS_MAX),
        };
        let (job, name) = match self.algorithm {
            Algorithm::Pagerank => (RANKS, "rank"),
            Algorithm::Sssp => (PATHS, "distance"),
        };
        let output = self.folder.join("answer.npy");
        let cost = job::run(job, setup, &output)?;
        let mut columns = npy::columns(&bytes(&output)?)?;
        std::fs::remove_file(&output).context("removing an answer")?;
        let mut column = |name: &str| columns.remove(name).with_context(|| format!("no {name}"));
        let (ids, found) = (column("vertex")?, column(name)?);
        let mut values = vec![None; self.answer.len()];
        for (id, value) in ids.into_iter().zip(found) {
            values[id as usize] = Some(value);
        }
        self.algorithm.check(route, &self.answer, &values)?;
        let seconds = Some(cost.iterating()).filter(|&seconds| seconds > 0.0);
        Ok(Cost { seconds, processor_seconds: None, peak_bytes: resident(&cost) })
    }
}

/// The most memory of all machines, or of the only process.
fn resident(cost: &JobCost) -> f64 {
    let machines = cost.report.pointer("/cluster/machines").and_then(Value::as_array);
    let of = |machine: &Value| machine["resident_bytes_max"].as_f64().unwrap_or(0.0);
    machines.map_or_else(|| cost.resident_bytes(), |all| all.iter().map(of).sum())
}
