//! `ingest`: what each phase between a file and a graph in memory costs, and what parsing costs.
//!
//! Phases are those that the engine reports. They run again and again in the same memory; what the
//! first time takes, when memory is fresh, is shown too. Beside them stands a plain copy of the
//! file out of the page cache, which no program can do without.

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use welter_engine::Workers;
use welter_input::{ReadOptions, fuzzing};
use welter_progress::Progress;
use welter_store::header::Encoding;

use crate::Settings;
use crate::engine::{Loaded, layout};
use crate::inputs::{self, Shape};
use crate::measure::{Contender, interleave, median};
use crate::report::{Table, digits, ratio};

/// Edges of the text that parsers read; a seventh of a gigabyte.
const TEXT_EDGES: u64 = 8_000_000;

/// Bytes that a plain copy reads at once.
const BATCH_BYTES: usize = 256 << 10;

/// Measures all graphs of the settings, and the parser.
pub(crate) fn bench(settings: &Settings) -> Result<Vec<Table>> {
    let mut tables = Vec::new();
    for shape in settings.shapes() {
        for &threads in &settings.threads {
            tables.push(phases(shape, threads, settings)?);
        }
    }
    tables.push(text(settings)?);
    Ok(tables)
}

/// Seconds of one phase: the first time, and all later times.
struct Phase {
    name: String,
    first: f64,
    later: Vec<f64>,
}

fn phases(shape: Shape, threads: usize, settings: &Settings) -> Result<Table> {
    let path = settings.inputs.raw(shape)?;
    let edges = std::fs::metadata(&path)?.len() / 8;
    let columns = ["phase", "first s", "median s", "ns/edge*core", "ns/edge*core, first"];
    let title = format!("Ingest of raw pairs, {shape}: {edges} edges, {threads} threads");
    let mut table = Table::new(title, &columns);
    let mut copies = Vec::new();
    for (name, encoding) in [("packed", Encoding::Packed), ("compressed", Encoding::Compressed)] {
        let workers = Workers::new(threads)?;
        let mut phases: Vec<Phase> = Vec::new();
        for round in 0..=settings.rounds {
            eprintln!("{shape}, {threads} threads, ingest {name}: round {round}");
            copies.push(copy(&path, threads)?);
            note(&mut phases, name, once(&path, encoding, &workers)?);
        }
        for phase in phases {
            row(&mut table, phase, edges, threads);
        }
    }
    let first = copies[0];
    let copy = Phase { name: "plain copy of the file".to_owned(), first, later: copies };
    row(&mut table, copy, edges, threads);
    table.note("First: into fresh memory. Median: into memory that an earlier round left.");
    Ok(table)
}

fn row(table: &mut Table, mut phase: Phase, edges: u64, threads: usize) {
    phase.later.sort_by(f64::total_cmp);
    let later = median(&phase.later);
    let ns = |seconds: f64| digits(seconds * 1e9 * threads as f64 / edges as f64);
    table.row(vec![phase.name, digits(phase.first), digits(later), ns(later), ns(phase.first)]);
}

/// Adds one round to the phases; `read` and the sum of all are phases too.
fn note(phases: &mut Vec<Phase>, encoding: &str, round: Vec<(String, f64)>) {
    for (index, (name, seconds)) in round.into_iter().enumerate() {
        match phases.get_mut(index) {
            Some(phase) => phase.later.push(seconds),
            None => phases.push(Phase {
                name: format!("{encoding}: {name}"),
                first: seconds,
                later: Vec::new(),
            }),
        }
    }
}

/// Reads and ingests once.
fn once(path: &Path, encoding: Encoding, workers: &Workers) -> Result<Vec<(String, f64)>> {
    let progress = Progress::new();
    let start = Instant::now();
    let loaded = Loaded::read(path, layout::<f32>(), Some(encoding), workers, &progress)?;
    let whole = start.elapsed().as_secs_f64();
    black_box(loaded.graph.edges());
    let phases = progress.finished().into_iter();
    let phases = phases.map(|phase| (phase.name.to_owned(), phase.elapsed.as_secs_f64()));
    Ok(phases.chain([("whole".to_owned(), whole)]).collect())
}

/// Seconds to copy a file out of the page cache into small buffers.
fn copy(path: &Path, threads: usize) -> Result<f64> {
    let file = File::open(path)?;
    let batches = file.metadata()?.len() as usize / BATCH_BYTES;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
    let start = Instant::now();
    pool.install(|| {
        (0..batches).into_par_iter().with_min_len(64).try_for_each_init(
            || vec![0; BATCH_BYTES],
            |buffer, batch| file.read_exact_at(buffer, (batch * BATCH_BYTES) as u64),
        )
    })?;
    Ok(start.elapsed().as_secs_f64())
}

/// Parsing of text with ids of seven digits.
fn text(settings: &Settings) -> Result<Table> {
    let path = settings.inputs.seven_digits(TEXT_EDGES)?;
    let text = inputs::bytes(&path)?;
    let mut contenders = vec![
        Contender::new(SCALAR, 1, || Ok(vec![timed(|| scalar(&text))])),
        Contender::new("parser alone, in memory", 1, || {
            Ok(vec![timed(|| fuzzing::parse_rounds(&text, 1, &ReadOptions::default()))])
        }),
    ];
    for &threads in &settings.threads {
        let path = &path;
        contenders.push(Contender::new("file to edge list", threads, move || {
            let options = ReadOptions { threads, ..ReadOptions::default() };
            let name = path.to_string_lossy().into_owned();
            let start = Instant::now();
            let input = welter_input::read(&[name], &options, &Progress::new())?;
            let seconds = start.elapsed().as_secs_f64();
            black_box(input.edges.edges());
            Ok(vec![seconds])
        }));
    }
    let samples = interleave("text", contenders, settings.rounds)?;
    let columns = ["what", "threads", "ms", "ns/edge*core", "M edges/s", "vs scalar loop"];
    let title = format!("Text, ids of seven digits: {TEXT_EDGES} edges, {} bytes", text.len());
    let mut table = Table::new(title, &columns);
    let cost = |seconds: f64, threads: usize| seconds * 1e9 * threads as f64 / TEXT_EDGES as f64;
    let scalar = samples.iter().find(|samples| samples.name == SCALAR);
    let scalar = scalar.map(|samples| cost(samples.median(), 1));
    for own in &samples {
        let ns = cost(own.median(), own.threads);
        table.row(vec![
            own.name.clone(),
            own.threads.to_string(),
            digits(own.median() * 1e3),
            digits(ns),
            digits(TEXT_EDGES as f64 / own.median() / 1e6),
            ratio(scalar.map(|scalar| scalar / ns)),
        ]);
    }
    table.note("Per edge and core, so a ratio to the scalar loop is that of one core to one core.");
    Ok(table)
}

const SCALAR: &str = "scalar loop, in memory";

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_secs_f64()
}

/// The parser that one writes without thinking: a byte at a time, into a vector that grows.
fn scalar(text: &[u8]) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    let mut numbers = [0_u32; 2];
    let mut place = 0;
    for byte in text {
        match byte {
            b'0'..=b'9' => numbers[place] = numbers[place] * 10 + u32::from(byte - b'0'),
            b'\n' => {
                pairs.push(std::mem::take(&mut numbers));
                place = 0;
            }
            _ => place = 1,
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plain_loop_reads_pairs() {
        assert_eq!(scalar(b"1234567\t7654321\n10\t2\n"), [[1_234_567, 7_654_321], [10, 2]]);
    }
}
