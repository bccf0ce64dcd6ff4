//! `welter probe`: how fast directories are read and written, by size and number of requests.

mod json;
mod measured;
mod page;
mod table;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use welter_engine::EngineError;
use welter_engine::kept::{KeptGraph, is_kept};
use welter_objects::{Location, WriteRequests};
use welter_output::write_file;
use welter_progress::Progress;
use welter_store::StoreError;
use welter_store::io::{IoOptions, Remote};
use welter_store::orphans::OrphanedObjects;
use welter_store::probe::{Probe, ProbeOptions};

use measured::Measured;

use crate::args::bytes;
use crate::bars::Bars;
use crate::elsewhere;
use crate::failure::Failure;
use crate::interrupt;
use crate::number_format::seconds;
use crate::promise::Outputs;
use crate::report;
use crate::say;
use crate::stdout::{is_stdout, print};

/// Arguments of `probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// Directories on devices, or URLs of folders in buckets or of web files, side by side.
    /// Directories and buckets keep the rates for runs on graphs or bucket inputs there, or with
    /// --scratch there
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Measure all directories together, as one run that is striped over them
    #[arg(long)]
    together: bool,
    /// Seconds for each, about
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Space that may be taken meanwhile; at least 64KiB, and sizes above it are not tried, nor
    /// more than 256MiB in flight [default: 512MiB, or half of what is free]
    #[arg(long, value_name = "SIZE", value_parser = probe_bytes)]
    bytes: Option<u64>,
    /// Write JSON to a file, or - for standard output in place of the tables
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a page with charts
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
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
    let measured = measured(args, &progress, || {
        interrupt::listen(&progress)?;
        Ok(Bars::start(&progress, args.quiet))
    })?;
    let notes = measured.iter().flat_map(Measured::notes);
    notes.filter(|_| !args.quiet).for_each(|note| say::line(format!("note: {note}")));
    if args.json.as_ref().is_some_and(|file| is_stdout(file)) {
        return print(&json::text(&measured)?);
    }
    let parts: Vec<String> = measured.iter().map(target_text).collect();
    let compared = if measured.len() > 1 { table::side_by_side(&measured) } else { String::new() };
    print(&(parts.join("\n") + &compared))
}

/// Does it for a caller in this process, who shows progress: the document, as text.
pub(crate) fn document(args: &ProbeArgs, progress: &Progress) -> Result<String, Failure> {
    json::text(&measured(args, progress, || Ok(()))?)
}

/// Measures all targets, while something shows progress, and writes files that are wanted.
fn measured<Shown>(
    args: &ProbeArgs,
    progress: &Progress,
    show: impl FnOnce() -> Result<Shown, Failure>,
) -> Result<Vec<Measured>, Failure> {
    let mut promised = Outputs::default();
    let json_file = args.json.as_ref().filter(|file| !is_stdout(file));
    for file in args.html.iter().chain(json_file) {
        promised.promise(file)?;
    }
    let is_url = |directory: &PathBuf| Location::of(directory).is_some();
    if args.together && args.directories.len() > 1 && args.directories.iter().any(is_url) {
        let what = "--together: a bucket is measured by itself";
        return Err(Failure::usage(what).hint("leave --together out"));
    }
    let shown = show()?;
    let targets: Vec<&[PathBuf]> =
        if args.together { vec![&args.directories] } else { args.directories.chunks(1).collect() };
    let measured = targets.into_iter().map(|target| measure(target, args, progress));
    let measured: Vec<Measured> = measured.collect::<Result<_, _>>()?;
    drop(shown);
    if let Some(file) = &args.html {
        write_file(file, page::page(&measured).as_bytes())?;
    }
    if let Some(file) = json_file {
        report::write(file, &json::document(&measured))?;
    }
    Ok(measured)
}

fn measure(target: &[PathBuf], args: &ProbeArgs, progress: &Progress) -> Result<Measured, Failure> {
    let time = Duration::from_secs(args.seconds);
    let options = ProbeOptions { bytes: args.bytes, time, ..ProbeOptions::default() };
    let began = Instant::now();
    if let [url] = target
        && elsewhere::is_web(url)
        && let Some(remote) = elsewhere::to_read(url)?
    {
        let (probe, latency) = Probe::measure_file(&*remote, url, &options, progress)?;
        let (directories, took) = (target.to_vec(), began.elapsed());
        let (kept, left) = (false, OrphanedObjects::default());
        return Ok(Measured { directories, probe, latency, took, kept, left });
    }
    if let [url] = target
        && let Some(remote) = elsewhere::to_write(url, whole())?
    {
        let folder = elsewhere::trimmed(url);
        // A user who may not list or remove objects may measure all the same.
        let left = Probe::clear_elsewhere(&*remote, &folder).unwrap_or_default();
        let removal = interrupt::will_remove(format!("{}/welter-probe-*", folder.display()));
        let found = Probe::measure_elsewhere(&*remote, &folder, &options, progress);
        drop(removal);
        let (probe, latency) = found?;
        let kept = keep_elsewhere(&folder, &remote, &probe)?;
        let (directories, took) = (target.to_vec(), began.elapsed());
        return Ok(Measured { directories, probe, latency, took, kept, left });
    }
    // A graph is measured on all its disks, which are read together.
    let directories = match target {
        [graph] if is_kept(graph) => KeptGraph::open(graph, &IoOptions::default())?.directories(),
        directories => directories.to_vec(),
    };
    let (probe, latency) = Probe::measure(&directories, &options, progress)?;
    let (kept, left) = (keep(target, &probe)?, OrphanedObjects::default());
    Ok(Measured { directories, probe, latency, took: began.elapsed(), kept, left })
}

/// Requests that put each object whole, so that sizes and numbers are those of requests.
fn whole() -> WriteRequests {
    WriteRequests::new(Some(u64::MAX), Some(1))
}

/// Keeps what was measured with a kept graph, if it was the directory of one, else in the
/// directories. Whether it was a graph.
fn keep(directories: &[PathBuf], probe: &Probe) -> Result<bool, Failure> {
    if let [directory] = directories
        && is_kept(directory)
    {
        KeptGraph::open(directory, &IoOptions::default())?.keep_rates(probe)?;
        return Ok(true);
    }
    probe.keep_beside(directories)?;
    Ok(false)
}

/// Keeps what was measured of a folder of a bucket: with the graph, if that is kept there, else in
/// the folder. Whether it was a graph.
fn keep_elsewhere(folder: &Path, remote: &Arc<dyn Remote>, probe: &Probe) -> Result<bool, Failure> {
    let io = IoOptions { remote: Some(Arc::clone(remote)), ..IoOptions::default() };
    match KeptGraph::open(folder, &io) {
        Ok(kept) => kept.keep_rates(probe)?,
        // A store that may not be listed does not say that there is no graph.
        Err(EngineError::Store(StoreError::Missing { .. } | StoreError::Remote { .. })) => {
            probe.keep_elsewhere(&**remote, folder)?;
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(true)
}

/// Findings about a target, for people.
fn target_text(measured: &Measured) -> String {
    let cache = measured.cache();
    let head = format!("{}: {cache}, measured in {}", measured.name(), seconds(measured.took));
    let kept = match measured.kept {
        true => "with the graph: its runs",
        false if measured.is_elsewhere() => "there: runs on graphs below, and ingests into them,",
        false => "there: runs with --scratch there",
    };
    let rates = table::of(&measured.probe, measured.latency);
    if measured.probe.write.is_empty() {
        // Nothing is written to a web server, rates neither.
        return format!("{head}\n\n{rates}");
    }
    format!("{head}\n\n{rates}kept {kept} are planned with that\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_of_too_little_is_wrong_usage() {
        assert!(probe_bytes("65535").is_err());
        assert_eq!(probe_bytes("64KiB"), Ok(65_536));
    }
}
