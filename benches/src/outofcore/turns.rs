//! Iterations that read all edges from storage, beside the same with all of them in memory, and
//! beside the device alone: in turns, since what a device gives differs from minute to minute.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use welter_store::io::{IoOptions, Pages, Place, Queue, Volume};

use super::job::{self, Taken, Way};
use super::{Bench, MIB, RANKS, budgets};
use crate::measure::median;
use crate::report::{Table, digits};

const TURNS: usize = 5;

/// A request, and how many each thread has in flight: as runs have them.
const REQUEST_BYTES: u32 = 512 << 10;
const DEPTH: usize = 4;

impl Bench<'_> {
    /// Ten iterations of PageRank on a graph that is kept compressed.
    pub(super) fn turns(&self, raw: &Path) -> Result<Table> {
        let kept = self.folder.join("kept");
        if kept.exists() {
            fs::remove_dir_all(&kept).with_context(|| kept.display().to_string())?;
        }
        let mut ingest = Command::new(job::program()?);
        ingest.arg("ingest").arg(raw).args(["-q", "--encoding", "compressed", "--output"]);
        let ended = ingest.arg(&kept).output().context("starting the command")?;
        ensure!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
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
        for turn in 1..=TURNS {
            eprintln!("{}: turn {turn}", self.shape);
            let device = device_alone(raw)?;
            let memory = self.ranks(&kept, None, &[])?;
            let stored = self.ranks(&kept, least, &["--cache", "0"])?;
            let speed =
                |taken: &Taken| taken.edges() * taken.iterations() / taken.iterating() / 1e9;
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
            "Each turn reads the device alone (requests of {} KiB past the page cache, {DEPTH} at \
             a time from each of as many threads as there are cores), then iterates with all edges \
             in memory, compressed, and then with {} MiB and none of them in memory. Of the \
             lesser: what that reaches of what the slower of device and cores can do; the median \
             is {}.",
            REQUEST_BYTES >> 10,
            least.unwrap_or(0) / MIB,
            digits(median(&shares)),
        ));
        Ok(table)
    }

    fn ranks(&self, kept: &Path, budget_bytes: Option<u64>, extra: &[&str]) -> Result<Taken> {
        let input = &kept.display().to_string();
        let (source, folder) = (self.source, &*self.folder);
        let way =
            Way { input, source, folder, budget_bytes, rate: None, extra, seconds_most: None };
        let output = self.folder.join("turn.npy");
        let taken = job::run(RANKS, way, &output)?;
        fs::remove_file(&output).context("removing an answer")?;
        Ok(taken)
    }
}

/// Bytes a second at which a file is read past the page cache, by all cores.
fn device_alone(file: &Path) -> Result<f64> {
    let bytes = fs::metadata(file).with_context(|| file.display().to_string())?.len();
    let requests = bytes / u64::from(REQUEST_BYTES);
    let io = IoOptions::default();
    let volume = Arc::new(Volume::open(&[file.to_owned()], &io)?);
    let threads = thread::available_parallelism().context("the number of cores")?.get();
    let started = Instant::now();
    thread::scope(|scope| {
        let readers: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn({
                    let (volume, io) = (&volume, &io);
                    move || read(volume, io, (thread as u64..requests).step_by(threads))
                })
            })
            .collect();
        readers.into_iter().try_for_each(|reader| {
            reader.join().map_err(|_| anyhow!("a thread that read panicked"))?
        })
    })?;
    Ok((requests * u64::from(REQUEST_BYTES)) as f64 / started.elapsed().as_secs_f64())
}

fn read(volume: &Arc<Volume>, io: &IoOptions, requests: impl Iterator<Item = u64>) -> Result<()> {
    let mut queue = Queue::reading(io, DEPTH)?;
    let mut free = Pages::several(DEPTH, REQUEST_BYTES as usize)?;
    for request in requests {
        let memory = match free.pop() {
            Some(memory) => memory,
            None => queue.wait()?.context("nothing in flight")?.memory,
        };
        let offset = request * u64::from(REQUEST_BYTES);
        queue.read(volume, Place { file: 0, offset, bytes: REQUEST_BYTES }, memory, 0)?;
    }
    while queue.wait()?.is_some() {}
    Ok(())
}
