//! `welter probe`: how fast directories are read and written, by size of the requests.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use serde::Serialize;
use welter_engine::kept::{Kept, is_kept};
use welter_progress::Progress;
use welter_store::io::IoOptions;
use welter_store::probe::{Probe, ProbeOptions, Rate};

use crate::args::bytes;
use crate::bars::Bars;
use crate::failure::{Failure, printable};
use crate::interrupt;
use crate::stdout::print;
use crate::text::seconds;

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Directories on the devices in question; several are measured together, as one. If it is
    /// that of a kept graph, the graph keeps the rates, and its runs are planned with them
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Space that may be taken meanwhile; at least 64KiB, and sizes above it are not tried
    #[arg(long, value_name = "SIZE", default_value = "512MiB", value_parser = probe_bytes)]
    bytes: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

fn probe_bytes(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0..65_536 => Err("expected at least 64KiB".to_owned()),
        enough => Ok(enough),
    }
}

/// Does it.
pub(crate) fn probe(args: &ProbeArgs) -> Result<(), Failure> {
    let progress = Progress::new();
    interrupt::listen(&progress)?;
    let bars = Bars::start(&progress, args.quiet);
    let options = ProbeOptions { bytes: args.bytes, ..ProbeOptions::default() };
    let began = Instant::now();
    let probe = Probe::measure(&args.directories, &options, &progress)?;
    drop(bars);
    let kept = keep(&args.directories, &probe)?;
    if args.json {
        return print(&json(args, &probe)?);
    }
    let names: Vec<String> =
        args.directories.iter().map(|path| path.display().to_string()).collect();
    let cache = if probe.direct { "past the page cache" } else { "through the page cache" };
    let (names, took) = (printable(&names.join(", ")), seconds(began.elapsed()));
    let mut text = format!("{names}: {cache}, measured in {took}\n\n{}", table(&probe));
    if kept {
        text.push_str("kept with the graph: its runs are planned with that\n");
    }
    print(&text)
}

/// Keeps what was measured with a kept graph, if it was the directory of one. Whether it was.
fn keep(directories: &[PathBuf], probe: &Probe) -> Result<bool, Failure> {
    match directories {
        [directory] if is_kept(directory) => {
            Kept::open(directory, &IoOptions::default())?.keep_rates(probe)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Rates by size and depth, and which are best.
fn table(probe: &Probe) -> String {
    let mut text =
        format!("{:9}{:>31}{:>33}\n{:9}", "", "reading, MB/s", "writing, MB/s", "request");
    for _ in 0..2 {
        text.push_str("     1 at a time     4 at a time ");
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    let best = [probe.best_read(), probe.best_write()];
    // Reads and writes are of the same sizes and depths, two depths a size.
    for (reads, writes) in probe.read.chunks(2).zip(probe.write.chunks(2)) {
        let mut line = format!("{:>9}", size(reads[0].request_bytes));
        for (rates, best) in [reads, writes].into_iter().zip(best) {
            for rate in rates {
                line.push_str(&cell(rate, best == Some(*rate)));
            }
            line.push(' ');
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("\n%: of one core; *: best, the smallest that is nearly the fastest (95 %)\n");
    for (what, best) in [("reads", best[0]), ("writes", best[1])] {
        let Some(Rate { request_bytes, depth, .. }) = best else { continue };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "best {what}: {}, {depth} at a time", size(request_bytes));
    }
    text
}

/// `64 KiB`, `4 MiB`: sizes are powers of two.
fn size(bytes: u32) -> String {
    if bytes < 1 << 20 { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

/// `     1234  12 %*`
fn cell(rate: &Rate, best: bool) -> String {
    let mark = if best { '*' } else { ' ' };
    format!("{:>9.0}{:>4.0} %{mark}", rate.bytes_per_second / 1e6, rate.processor_share * 100.0)
}

/// Rates as a document, for programs.
#[derive(Serialize)]
struct Document<'a> {
    directories: &'a [PathBuf],
    direct: bool,
    read: Vec<Entry>,
    write: Vec<Entry>,
    best_read: Option<Entry>,
    best_write: Option<Entry>,
}

/// One [`Rate`].
#[derive(Serialize)]
struct Entry {
    request_bytes: u32,
    depth: u32,
    bytes_per_second: f64,
    processor_share: f64,
}

impl From<&Rate> for Entry {
    fn from(rate: &Rate) -> Self {
        let Rate { request_bytes, depth, bytes_per_second, processor_share } = *rate;
        Self { request_bytes, depth, bytes_per_second, processor_share }
    }
}

fn json(args: &ProbeArgs, probe: &Probe) -> Result<String, Failure> {
    let document = Document {
        directories: &args.directories,
        direct: probe.direct,
        read: probe.read.iter().map(Entry::from).collect(),
        write: probe.write.iter().map(Entry::from).collect(),
        best_read: probe.best_read().as_ref().map(Entry::from),
        best_write: probe.best_write().as_ref().map(Entry::from),
    };
    let text = serde_json::to_string_pretty(&document)
        .map_err(|error| Failure::output(format!("cannot make JSON: {error}")))?;
    Ok(text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_marks_the_best() {
        let rate = |request_bytes, depth, megabytes: f64| Rate {
            request_bytes,
            depth,
            bytes_per_second: megabytes * 1e6,
            processor_share: 0.055,
        };
        let read = vec![rate(65_536, 1, 420.0), rate(65_536, 4, 1_190.0)];
        let read = [read, vec![rate(1 << 20, 1, 1_199.0), rate(1 << 20, 4, 1_200.0)]].concat();
        let write = read.iter().map(|rate| Rate { bytes_per_second: 1e6, ..*rate }).collect();
        let expected = "\
\x20                          reading, MB/s                    writing, MB/s
request       1 at a time     4 at a time      1 at a time     4 at a time
   64 KiB      420   6 %      1190   6 %*         1   6 %*        1   6 %
    1 MiB     1199   6 %      1200   6 %          1   6 %         1   6 %

%: of one core; *: best, the smallest that is nearly the fastest (95 %)
best reads: 64 KiB, 4 at a time
best writes: 64 KiB, 1 at a time
";
        assert_eq!(table(&Probe { read, write, direct: true }), expected);
    }

    #[test]
    fn a_probe_of_too_little_is_wrong_usage() {
        assert!(probe_bytes("65535").is_err());
        assert_eq!(probe_bytes("64KiB"), Ok(65_536));
    }
}
