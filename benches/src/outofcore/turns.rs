//! Iterations that read all edges from storage, beside the same with all of them in memory, and
//! beside the device alone: in turns, since what a device gives differs from minute to minute.
//!
//! The device alone reads the same files as often as the iterations do: after a rest devices of
//! virtual machines give more for a few seconds than they can keep up. Every other turn goes
//! backwards, so that none always comes after the rest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use welter_store::io::{IoOptions, Pages, Place, Queue, Volume};

use super::job::{self, JobCost, JobSetup};
use super::{Bench, MIB, RANKS, budgets};
use crate::measure::median;
use crate::report::{Table, digits};

const TURNS: usize = 5;

/// As many as those of [`RANKS`].
const ITERATIONS: usize = 10;

/// A request, and how many each thread has in flight: as runs have them.
const REQUEST_BYTES: u32 = 512 << 10;
const DEPTH: usize = 4;

/// Keeps a graph compressed, in the place of another one.
fn ingest(raw: &Path, kept: &Path) -> Result<()> {
    if kept.exists() {
        fs::remove_dir_all(kept).with_context(|| kept.display().to_string())?;
    }
    let mut ingest = Command::new(job::program()?);
    ingest.args("ingest --encoding compressed --compression none -q".split(' '));
    let ended = ingest.arg(raw).arg("-o").arg(kept).output().context("starting welter")?;
    ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    Ok(())
}

impl Bench<'_> {
    /// Ten iterations of PageRank on a graph that is kept compressed.
    pub(super) fn turns(&self, raw: &Path) -> Result<Table> {
        let kept = self.folder.join("kept");
        ingest(raw, &kept)?;
        let least = budgets(self.shape.scale).iter().copied().min();
        let columns = [
            "turn",
            "device alone GB/s",
            "as G edges/s",
            "in memory G edges/s",
            "from storage G edges/s",
            "of the lesser",
            "read MB/s",
        ];
        let title = format!("What device and cores can do, {}: {}", self.shape, RANKS.name);
        let mut table = Table::new(title, &columns);
        let mut shares = Vec::new();
        let edges = edges(&kept)?;
        for turn in 1..=TURNS {
            eprintln!("{}: turn {turn}", self.shape);
            let memory = || self.ranks(&kept, None, &[]);
            let stored = || self.ranks(&kept, least, &["--edge-memory", "0"]);
            let (device, memory, stored) = if turn % 2 == 1 {
                (device_alone(&edges)?, memory()?, stored()?)
            } else {
                let (stored, memory) = (stored()?, memory()?);
                (device_alone(&edges)?, memory, stored)
            };
            let speed =
                |taken: &JobCost| taken.edges() * taken.iterations() / taken.iterating() / 1e9;
            let (read, _) = stored.moved();
            let bytes_per_edge = read / stored.iterations() / stored.edges();
            let most = (device / bytes_per_edge / 1e9).min(speed(&memory));
            shares.push(speed(&stored) / most);
            table.row(vec![
                turn.to_string(),
                digits(device / 1e9),
                digits(device / bytes_per_edge / 1e9),
                digits(speed(&memory)),
                digits(speed(&stored)),
                digits(speed(&stored) / most),
                format!("{:.0}", read / stored.iterating() / 1e6),
            ]);
        }
        fs::remove_dir_all(&kept).with_context(|| kept.display().to_string())?;
        shares.sort_by(f64::total_cmp);
        table.note(format!(
            "Each turn reads the kept edges {ITERATIONS} times with nothing beside (requests of {} \
             KiB past the page cache, {DEPTH} at a time from each of as many threads as there are \
             cores), then iterates with all edges in memory, compressed, and then with {} MiB and \
             none of them in memory; every other turn goes backwards. Of the lesser: what that \
             reaches of what the slower of device and cores can do; the median is {}.",
            REQUEST_BYTES >> 10,
            least.unwrap_or(0) / MIB,
            digits(median(&shares)),
        ));
        Ok(table)
    }

    fn ranks(&self, kept: &Path, budget_bytes: Option<u64>, extra: &[&str]) -> Result<JobCost> {
        let input = &kept.display().to_string();
        let (source, folder) = (self.source, &*self.folder);
        let way =
            JobSetup { input, source, folder, budget_bytes, rate: None, extra, seconds_most: None };
        let output = self.folder.join("turn.npy");
        let taken = job::run(RANKS, way, &output)?;
        fs::remove_file(&output).context("removing an answer")?;
        Ok(taken)
    }
}

/// The files of a kept graph that hold its edges.
fn edges(kept: &Path) -> Result<Vec<PathBuf>> {
    let list = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let mut files = Vec::new();
    for folder in list(kept)?.iter().filter(|path| path.is_dir()) {
        files.extend(list(folder)?.into_iter().filter(|file| {
            file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"edges-"))
        }));
    }
    ensure!(!files.is_empty(), "{}: no files of edges", kept.display());
    Ok(files)
}

/// Bytes a second at which files are read past the page cache, by all cores, as often as iterations
/// read them.
fn device_alone(files: &[PathBuf]) -> Result<f64> {
    let io = IoOptions::default();
    let volume = Arc::new(Volume::open(files, &io)?);
    let mut places = Vec::new();
    for (file, path) in files.iter().enumerate() {
        let bytes = fs::metadata(path).with_context(|| path.display().to_string())?.len();
        let offsets = (0..bytes / u64::from(REQUEST_BYTES)).map(|at| at * u64::from(REQUEST_BYTES));
        places.extend(offsets.map(|offset| Place {
            file: file as u16,
            offset,
            bytes: REQUEST_BYTES,
        }));
    }
    let (places, io) = (&places, &io);
    let threads = thread::available_parallelism().context("the number of cores")?.get();
    let started = Instant::now();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|thread| {
                let share = move |_| places.iter().skip(thread).step_by(threads);
                let volume = &volume;
                scope.spawn(move || read(volume, io, (0..ITERATIONS).flat_map(share)))
            })
            .collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().map_err(|_| anyhow!("a thread that read panicked"))?
        })
    })?;
    let bytes = places.len() * ITERATIONS * REQUEST_BYTES as usize;
    Ok(bytes as f64 / started.elapsed().as_secs_f64())
}

fn read<'p>(
    volume: &Arc<Volume>,
    io: &IoOptions,
    places: impl Iterator<Item = &'p Place>,
) -> Result<()> {
    let mut queue = Queue::reading(io, DEPTH)?;
    let mut free = Pages::several(DEPTH, REQUEST_BYTES as usize)?;
    for place in places {
        let memory = match free.pop() {
            Some(memory) => memory,
            None => queue.wait()?.context("nothing in flight")?.memory,
        };
        queue.read(volume, *place, memory, 0)?;
    }
    while queue.wait()?.is_some() {}
    Ok(())
}
