//! The job itself, in a process of its own: from a file to ranks in a file.
//!
//! A fresh process has touched no memory, so its first job pays for every page that the kernel has
//! to find and clear; the jobs after it run in memory that is there. Both are told apart, for both
//! engines.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use welter_algorithms::Float;
use welter_engine::{Workers, run as run_program};
use welter_model::table::Table;
use welter_output::{WriteRequests, write_table};
use welter_progress::Progress;

use crate::engine::{Loaded, layout, pagerank};
use crate::system::{Pinned, Usage};

/// Iterations of PageRank in a job.
pub(crate) const ITERATIONS: u64 = 10;

/// Program that does the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// welter, with ranks in f32.
    WelterF32,
    /// welter, with ranks in f64.
    WelterF64,
    /// The crate `graph`, with ranks in f32.
    #[cfg(feature = "graph-crate")]
    Graph,
}

/// Arguments of one child process.
#[derive(Args)]
pub(crate) struct Arguments {
    #[arg(long, value_enum)]
    pub(crate) engine: Engine,
    /// Raw pairs or text.
    #[arg(long)]
    pub(crate) input: PathBuf,
    /// Where the ranks go; the extension says as what.
    #[arg(long)]
    pub(crate) output: PathBuf,
    /// Cores to run on.
    #[arg(long)]
    pub(crate) cores: usize,
    /// Jobs, one after the other.
    #[arg(long)]
    pub(crate) jobs: usize,
}

/// Times of the jobs of a child.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) jobs: Vec<JobReport>,
    /// Of all jobs together.
    pub(crate) peak_bytes: u64,
    /// Pages touched for the first time in the first job.
    pub(crate) faults: u64,
    /// Seconds of processor time that the first job spent in the kernel.
    pub(crate) system_seconds: f64,
}

/// Times of one job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobReport {
    pub(crate) seconds: f64,
    /// Seconds by phase, in order.
    pub(crate) phases: Vec<(String, f64)>,
}

/// Does the jobs and prints the report.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    // The crate `graph` starts a thread on every core that it may use.
    let pinned = Pinned::to(arguments.cores)?;
    let mut job = job(arguments)?;
    let mut report = Report { jobs: Vec::new(), peak_bytes: 0, faults: 0, system_seconds: 0.0 };
    for _ in 0..arguments.jobs {
        let start = Instant::now();
        let phases = job()?;
        let seconds = start.elapsed().as_secs_f64();
        let usage = Usage::now();
        if report.jobs.is_empty() {
            (report.faults, report.system_seconds) = (usage.faults, usage.system_seconds);
        }
        report.peak_bytes = usage.peak_bytes;
        report.jobs.push(JobReport { seconds, phases });
    }
    drop(pinned);
    println!("{}", serde_json::to_string(&report).context("writing the report")?);
    Ok(())
}

/// One job; returns its phases.
type Job<'a> = Box<dyn FnMut() -> Result<Vec<(String, f64)>> + 'a>;

fn job(arguments: &Arguments) -> Result<Job<'_>> {
    let Arguments { engine, input, output, cores, .. } = arguments;
    Ok(match engine {
        Engine::WelterF32 => {
            let workers = Workers::new(*cores)?;
            Box::new(move || welter::<f32>(input, output, &workers))
        }
        Engine::WelterF64 => {
            let workers = Workers::new(*cores)?;
            Box::new(move || welter::<f64>(input, output, &workers))
        }
        #[cfg(feature = "graph-crate")]
        Engine::Graph => Box::new(move || peer::job(input, output)),
    })
}

/// As the command `welter run pagerank` does it.
fn welter<F: Float>(input: &Path, output: &Path, workers: &Workers) -> Result<Vec<(String, f64)>> {
    let progress = Progress::new();
    let Loaded { graph, ids } = Loaded::read(input, layout::<F>(), None, workers, &progress)?;
    let outcome = run_program(&graph, &pagerank::<F>(&graph, ITERATIONS), workers, &progress)?;
    let table = Table { vertices: graph.into_vertex_column(ids), columns: outcome.values };
    let usual = WriteRequests::default();
    write_table(&table, output, None, usual, workers.threads(), &progress)?;
    let phases = progress.finished().into_iter();
    Ok(phases.map(|phase| (phase.name.to_owned(), phase.elapsed.as_secs_f64())).collect())
}

#[cfg(feature = "graph-crate")]
mod peer {
    //! This job by the crate `graph`, which has no writer of results.

    use std::fs::File;
    use std::io::Write;
    use std::path::Path;
    use std::time::Instant;

    use anyhow::{Context, Result};

    use crate::baselines::graph_crate::Peer;
    use crate::engine::DAMPING;
    use crate::job::child::ITERATIONS;

    pub(super) fn job(input: &Path, output: &Path) -> Result<Vec<(String, f64)>> {
        let start = Instant::now();
        let text = input.extension().is_some_and(|extension| extension == "txt");
        let peer = if text { Peer::from_text(input)? } else { Peer::from_raw(input, false)? };
        let loaded = start.elapsed().as_secs_f64();
        let ranks = peer.ranks(DAMPING, ITERATIONS as usize);
        let iterated = start.elapsed().as_secs_f64();
        write(&ranks, output).with_context(|| format!("writing {}", output.display()))?;
        let written = start.elapsed().as_secs_f64();
        let phases =
            [("load", loaded), ("iterate", iterated - loaded), ("write", written - iterated)];
        Ok(phases.map(|(name, seconds)| (name.to_owned(), seconds)).to_vec())
    }

    /// A numpy array of the ranks of all ids.
    fn write(ranks: &[f32], output: &Path) -> std::io::Result<()> {
        let shape = ranks.len();
        let mut header =
            format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({shape},), }}");
        // The header ends in a newline, at a multiple of 64 bytes.
        let padding = 64 - (10 + header.len() + 1) % 64;
        header.extend(std::iter::repeat_n(' ', padding));
        header.push('\n');
        let mut file = File::create(output)?;
        file.write_all(b"\x93NUMPY\x01\x00")?;
        file.write_all(&(header.len() as u16).to_le_bytes())?;
        file.write_all(header.as_bytes())?;
        file.write_all(bytemuck::cast_slice(ranks))
    }
}
