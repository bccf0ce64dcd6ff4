//! One design in a process of its own: what it took, and whether its answer is right.
//!
//! Memory is the most that the process had at any time, asked for before the answer is compared
//! with the one of a plain loop.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::design::{Design, named};
use super::program::{PageRank, Paths, VertexProgram};
use super::reference::Algorithm;
use super::rows::Partitions;
use crate::system::Usage;

/// Arguments of one child process.
#[derive(Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    design: String,
    #[arg(long, value_enum)]
    algorithm: Algorithm,
    /// Raw pairs.
    #[arg(long)]
    input: PathBuf,
    /// Where paths begin.
    #[arg(long)]
    source: u32,
    /// Iterations of PageRank.
    #[arg(long)]
    iterations: usize,
    /// Workers: 2 to the power of this.
    #[arg(long)]
    worker_bits: u32,
}

/// Cost of a run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Cost {
    /// Seconds of all supersteps. Not known of some routes.
    pub(super) seconds: Option<f64>,
    /// Processor time of all threads meanwhile.
    pub(super) processor_seconds: Option<f64>,
    /// The most memory that was resident.
    pub(super) peak_bytes: f64,
}

/// Runs it and prints what it took.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let cost = measure(arguments)?;
    println!("{}", serde_json::to_string(&cost).context("writing what it took")?);
    Ok(())
}

fn measure(arguments: &Arguments) -> Result<Cost> {
    let Arguments { algorithm, source, iterations, worker_bits, ref input, .. } = *arguments;
    let design = named(&arguments.design)?;
    let graph = Partitions::read(input, worker_bits)?;
    let (cost, values) = match algorithm {
        Algorithm::Pagerank => {
            clocked(design, &graph, &PageRank::new(graph.vertices(), iterations))
        }
        Algorithm::Sssp => clocked(design, &graph, &Paths { source }),
    }?;
    let values: Vec<Option<f64>> = graph.by_id(&values).into_iter().map(Some).collect();
    let answer = algorithm.answer(input, source, iterations)?;
    algorithm.check(design.name, &answer, &values)?;
    Ok(cost)
}

fn clocked<P: VertexProgram>(
    design: Design,
    graph: &Partitions,
    program: &P,
) -> Result<(Cost, Vec<Vec<f32>>)> {
    let (since, processor) = (Instant::now(), processor_seconds());
    let values = design.run(graph, program)?;
    let cost = Cost {
        seconds: Some(since.elapsed().as_secs_f64()),
        processor_seconds: Some(processor_seconds() - processor),
        peak_bytes: Usage::now().peak_bytes as f64,
    };
    Ok((cost, values))
}

/// Processor time of this process so far.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
