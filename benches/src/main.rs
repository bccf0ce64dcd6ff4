//! Benchmarks that anyone can run: welter and its baselines, in the same process run, in turns.
//!
//! `cargo xtask bench` runs all of them at a size that takes minutes; `--full` runs the sizes that
//! docs/performance.md quotes. Every figure is a median; answers are compared with each other
//! before anything is timed.

mod algorithms;
mod baselines;
mod bytes;
mod check;
mod cloud;
mod codec;
mod compression;
mod designs;
mod engine;
mod ingest;
mod inputs;
mod job;
mod kernel;
mod measure;
mod outofcore;
mod readers;
mod report;
mod system;
mod traverse;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use baselines::gap::Gap;
use inputs::{Inputs, Kind, Shape};
use report::{Table, replace_section};

/// One allocator for all contenders. This one asks for huge pages and gives memory back late, which
/// is the best that the baselines can have.
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Benchmarks of welter beside its baselines.
#[derive(Parser)]
#[command(name = "cargo xtask bench")]
struct Arguments {
    /// Benchmark to run; all of them when none is named.
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    options: Options,
}

#[derive(Subcommand)]
enum What {
    /// One pass over the edges, beside loops over compressed sparse rows and the crate `graph`.
    Kernel,
    /// The whole job: a file of unsorted pairs to ten iterations of PageRank with the result on
    /// disk, beside the crate `graph`.
    Job,
    /// The phases of reading and ingesting, and the parser beside a plain loop.
    Ingest,
    /// From a file to an edge list, by format.
    Readers,
    /// Searches and components, beside loops over compressed sparse rows and the crate `graph`.
    Traverse,
    /// Encoding and decoding of keys beside copying them, and bytes per edge.
    Codec,
    /// General-purpose codecs on chunks and on raw pairs: bytes and time an edge, and the bandwidth
    /// below which they pay. Also on real graphs, where these lie beside the repository. Not part
    /// of `all`.
    Compression,
    /// Whole runs with less memory than the graph wants, in control groups, and on slower devices.
    /// Needs root; not part of `all`.
    Outofcore,
    /// The papers' algorithms from raw pairs to an answer, beside plain loops and, with --peers,
    /// other programs; then out of core, as root, beside the times that X-Stream states. Not part
    /// of `all`.
    Algorithms,
    /// The figures of X-Stream in the cloud, on loop devices that are slowed down. Needs root; not
    /// part of `all`.
    Cloud(cloud::Arguments),
    /// Whole vertex programs by the designs that `BlitzG` compares with, beside routes of the
    /// command: memory and time by edge. Not part of `all`.
    Designs(designs::Arguments),
    /// All of these.
    All,
    /// One job in this process, for `job`; prints what it took.
    #[command(hide = true)]
    JobChild(job::child::Arguments),
    /// One plain loop in this process, for `algorithms`; prints what it took.
    #[command(hide = true)]
    PlainChild(algorithms::plain::Arguments),
    /// One design in this process, for `designs`; prints what it took.
    #[command(hide = true)]
    DesignChild(designs::child::Arguments),
}

/// A type of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Float {
    F32,
    F64,
}

#[derive(Args)]
struct Options {
    /// Graphs of 2^SCALE ids with 16 edges each [default: 22].
    #[arg(long, global = true, value_delimiter = ',')]
    scale: Vec<u32>,
    /// Kinds of graphs [default: rmat].
    #[arg(long, global = true, value_delimiter = ',', value_enum)]
    kind: Vec<Kind>,
    /// Types of ranks that `kernel` measures [default: both].
    #[arg(long, global = true, value_delimiter = ',', value_enum)]
    float: Vec<Float>,
    /// Numbers of worker threads [default: 1 and one a core].
    #[arg(long, global = true, value_delimiter = ',')]
    threads: Vec<usize>,
    /// Rounds in which all contenders take turns.
    #[arg(long, global = true, default_value_t = 5)]
    rounds: usize,
    /// Scales 22 and 24, all kinds; needs 12 GB of memory, 20 GB of disk and an hour.
    #[arg(long, global = true)]
    full: bool,
    /// Prints Markdown.
    #[arg(long, global = true)]
    markdown: bool,
    /// Also writes the tables, as Markdown, between the marked lines of this file.
    #[arg(long, global = true, value_name = "FILE")]
    into: Option<PathBuf>,
    /// Folder of the input files, which are kept [default: bench-data in the target folder].
    #[arg(long, global = true, value_name = "FOLDER")]
    data: Option<PathBuf>,
    /// Folder of a build of the GAP benchmark suite, which `traverse` then measures too.
    #[arg(long, global = true, value_name = "FOLDER")]
    gap: Option<PathBuf>,
    /// Names of jobs of `algorithms`, or of `outofcore`: budgets, rates, turns [default: all].
    #[arg(long, global = true, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Python with the packages of benches/peers/requirements.txt, which `algorithms` then measures
    /// too.
    #[arg(long, global = true, value_name = "PYTHON")]
    peers: Option<PathBuf>,
    /// Runs `algorithms` under each of these budgets, MiB, instead of beside others.
    #[arg(long, global = true, value_name = "MIB", value_delimiter = ',')]
    budgets: Vec<u64>,
    /// Seconds after which `algorithms` ends a job.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 600)]
    timeout: u64,
    /// Removes the input files and ends.
    #[arg(long, global = true)]
    clean: bool,
}

/// Sizes and kinds that are measured, and how often.
struct Settings {
    scales: Vec<u32>,
    kinds: Vec<Kind>,
    floats: Vec<Float>,
    threads: Vec<usize>,
    rounds: usize,
    full: bool,
    gap: Option<Gap>,
    only: Vec<String>,
    peers: Option<PathBuf>,
    budgets: Vec<u64>,
    timeout: u64,
    inputs: Inputs,
}

impl Settings {
    fn of(options: &Options) -> Result<Self> {
        let or = |stated: &[u32], full: &[u32], quick: &[u32]| match stated {
            [] if options.full => full.to_vec(),
            [] => quick.to_vec(),
            stated => stated.to_vec(),
        };
        let kinds = match &options.kind[..] {
            [] if options.full => vec![Kind::Rmat, Kind::RmatScrambled, Kind::Web],
            [] => vec![Kind::Rmat],
            stated => stated.to_vec(),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut threads = options.threads.clone();
        if threads.is_empty() {
            threads = if cores > 1 { vec![1, cores] } else { vec![1] };
        }
        Ok(Self {
            scales: or(&options.scale, &[22, 24], &[22]),
            kinds,
            floats: match &options.float[..] {
                [] => vec![Float::F32, Float::F64],
                stated => stated.to_vec(),
            },
            threads: threads.into_iter().map(|threads| threads.max(1)).collect(),
            rounds: options.rounds.max(1),
            full: options.full,
            gap: options.gap.as_deref().map(Gap::at),
            only: options.only.clone(),
            peers: options.peers.clone(),
            budgets: options.budgets.clone(),
            timeout: options.timeout.max(1),
            inputs: Inputs::open(options.data.as_deref())?,
        })
    }

    /// The graphs to measure.
    fn shapes(&self) -> impl Iterator<Item = Shape> + '_ {
        let kinds = |&scale: &u32| self.kinds.iter().map(move |&kind| Shape { kind, scale });
        self.scales.iter().flat_map(kinds)
    }

    /// The most threads that are measured.
    fn threads_most(&self) -> usize {
        self.threads.iter().copied().max().unwrap_or(1)
    }
}

fn main() -> Result<()> {
    let Arguments { what, options } = Arguments::parse();
    if let Some(What::JobChild(child)) = what {
        return job::child::run(&child);
    }
    if let Some(What::PlainChild(child)) = what {
        return algorithms::plain::run(&child);
    }
    if let Some(What::DesignChild(child)) = what {
        return designs::child::run(&child);
    }
    if let Some(What::Cloud(arguments)) = &what {
        let inputs = Inputs::open(options.data.as_deref())?;
        return cloud::run(arguments, options.scale.first().copied(), &inputs);
    }
    if let Some(What::Designs(arguments)) = &what {
        return designs::run(arguments, &options.scale, &Inputs::open(options.data.as_deref())?);
    }
    let settings = Settings::of(&options)?;
    if options.clean {
        return settings.inputs.clean();
    }
    println!("{}\n", system::describe());
    for (name, bench) in benches(what.as_ref()) {
        let tables = bench(&settings)?;
        let text = |markdown| {
            let shown: Vec<String> = tables.iter().map(|table| table.show(markdown)).collect();
            shown.join("\n")
        };
        println!("{}", text(options.markdown));
        if let Some(file) = &options.into {
            let text = format!("Measured on: {}.\n\n{}", system::describe(), text(true));
            replace_section(file, name, &text)?;
        }
    }
    Ok(())
}

/// A benchmark by name; it makes tables.
type Bench = (&'static str, fn(&Settings) -> Result<Vec<Table>>);

/// The benchmarks that were asked for.
fn benches(what: Option<&What>) -> Vec<Bench> {
    let kernel: Bench = ("kernel", kernel::bench);
    let job: Bench = ("job", job::bench);
    let ingest: Bench = ("ingest", ingest::bench);
    let readers: Bench = ("readers", readers::bench);
    let codec: Bench = ("codec", codec::bench);
    let traverse: Bench = ("traverse", traverse::bench);
    let outofcore: Bench = ("outofcore", outofcore::bench);
    match what {
        Some(What::Algorithms) => vec![("algorithms", algorithms::bench)],
        Some(What::Outofcore) => vec![outofcore],
        Some(What::Kernel) => vec![kernel],
        Some(What::Job) => vec![job],
        Some(What::Ingest) => vec![ingest],
        Some(What::Readers) => vec![readers],
        Some(What::Codec) => vec![codec],
        Some(What::Compression) => vec![("compression", compression::bench)],
        Some(What::Traverse) => vec![traverse],
        // Commands with arguments of their own have run before.
        Some(
            What::All
            | What::Cloud(_)
            | What::Designs(_)
            | What::JobChild(_)
            | What::PlainChild(_)
            | What::DesignChild(_),
        )
        | None => {
            vec![kernel, job, ingest, readers, codec, traverse]
        }
    }
}
