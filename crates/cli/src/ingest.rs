//! `welter ingest` and `welter check`: graphs that are kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use welter_engine::kept::{Checked, KeepOptions, Manifest, StaleStaging};
use welter_engine::plan::{FrontierMode, IndexMode, Layout, human_bytes};
use welter_input::ReadOptions;
use welter_objects::Location;
use welter_store::io::IoOptions;

use crate::args::{GraphArgs, InputArgs, ResourceArgs, WeightArgs};
use crate::elsewhere;
use crate::failure::{Failure, printable};
use crate::interrupt;
use crate::kept::open;
use crate::load::Source;
use crate::session::{GraphRequest, Session};
use crate::stdout::print;
use crate::text::{counted, seconds};
use crate::ways::Ways;

/// Arguments of `ingest`.
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    weights: WeightArgs,
    #[command(flatten)]
    graph: GraphArgs,
    /// Directory or URL to keep the graph in; it must not be there yet
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Directory or URL of a kept graph
    #[arg(value_name = "DIR", required = true)]
    directory: PathBuf,
    /// Threads [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: Option<u16>,
    /// Show no progress, and nothing but damage
    #[arg(short, long)]
    quiet: bool,
}

/// Refuses a directory that is there.
pub(crate) fn refuse_to_replace(directory: &Path) -> Result<(), Failure> {
    if let Some(remote) = elsewhere::of(directory)? {
        let target = elsewhere::trimmed(directory);
        return Ok(welter_engine::kept::refuse_to_replace(&remote, &target)?);
    }
    if directory.symlink_metadata().is_err() {
        return Ok(());
    }
    let path = directory.display();
    Err(Failure::output(format!("{path}: is there already, and is not replaced"))
        .hint("name another directory, or remove this one first"))
}

/// Keeps a graph in a directory; also says what a person should know about how it was read.
pub(crate) fn keep(
    source: &Source,
    options: ReadOptions,
    graph: GraphArgs,
    directory: &Path,
    session: &Session,
) -> Result<(Manifest, StaleStaging, Vec<String>), Failure> {
    let wanted = GraphRequest {
        source,
        options,
        reading: graph.into(),
        ways: Ways::Stated,
        layout: Layout::kept(),
        weighs: true,
        frontier: FrontierMode::default(),
        index: IndexMode::default(),
        ends: false,
    };
    let options = |directory| KeepOptions { directory, io: IoOptions::default(), graph: None };
    let Some(remote) = elsewhere::of(directory)? else {
        return session.keep(&wanted, &options(directory.to_owned()));
    };
    // A graph is made on this machine, and goes to the bucket as soon as it is whole.
    let staging = Staging::new(session);
    let (_, leftovers, notes) = session.keep(&wanted, &options(staging.0.clone()))?;
    let kept = open(&staging.0)?;
    let manifest = kept.send(&remote, &elsewhere::trimmed(directory), &session.progress)?;
    Ok((manifest, leftovers, notes))
}

/// A directory for a graph on its way to a bucket, below that of temporary files; removed in the
/// end.
struct Staging(PathBuf);

impl Staging {
    fn new(session: &Session) -> Self {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("welter-graph-{}-{number}", std::process::id());
        let folder = session.resources.scratch().into_iter().next().unwrap_or_default();
        Self(folder.join(name))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Where it was never made there is nothing to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads a graph into a directory.
pub(crate) fn ingest(args: &IngestArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let source = Source::with(&args.input, &args.resources)?;
    refuse_to_replace(&args.output)?;
    if Location::of(&args.output).is_none() {
        interrupt::will_write(&args.output);
    }
    let read = args.input.options(args.weights.choice(), args.resources.threads);
    let (manifest, leftovers, notes) = keep(&source, read, args.graph, &args.output, &session)?;
    session.end_progress();
    for note in &notes {
        session.say(&format!("note: {}", printable(note)));
    }
    for path in leftovers.removed {
        let path = printable(&path.display().to_string());
        session.say(&format!("note: removed {path}, which an ingest left that did not end"));
    }
    for path in leftovers.left {
        let path = printable(&path.display().to_string());
        session.say(&format!(
            "note: {path} is left of an ingest that did not end, but not all in it is of ours"
        ));
    }
    session.say(&format!(
        "{}: {}, {}{}, {}, {}",
        printable(&args.output.display().to_string()),
        counted(manifest.all_vertices(), "vertex", "vertices"),
        counted(manifest.edges, "edge", "edges"),
        if manifest.reading.undirected { " (both ways)" } else { "" },
        human_bytes(manifest.bytes()),
        seconds(session.started.elapsed()),
    ));
    Ok(())
}

/// Verifies a directory.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let resources = ResourceArgs {
        threads: args.threads.map(usize::from),
        quiet: args.quiet,
        ..ResourceArgs::default()
    };
    let mut session = Session::start(resources)?;
    let kept = open(&args.directory)?;
    let checked = session.check(&kept)?;
    session.end_progress();
    if args.quiet {
        return Ok(());
    }
    let Checked { files, bytes, chunks, edges, foreign } = checked;
    let name = printable(&args.directory.display().to_string());
    for other in foreign {
        session.say(&format!("note: {name}/{} is no part of the graph", printable(&other)));
    }
    print(&format!(
        "{name}: whole; {}, {}, {}, {}, {}\n",
        counted(edges, "edge", "edges"),
        counted(chunks, "chunk", "chunks"),
        counted(files, "file", "files"),
        human_bytes(bytes),
        seconds(session.started.elapsed()),
    ))
}
