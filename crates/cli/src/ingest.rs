//! `welter ingest`, `welter check` and `welter remove`: graphs that are kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use welter_engine::kept::{
    self, Checked, KeepOptions, Manifest, OrphanedObjects, Staging, StaleStaging, Target,
};
use welter_engine::plan::{Device, FrontierMode, IndexMode, Layout, Measured, human_bytes};
use welter_input::ReadOptions;
use welter_input::source::says_format;
use welter_objects::Location;
use welter_output::{OutputError, probe};
use welter_progress::FailureKind;
use welter_store::StoreError;
use welter_store::frame::Compression;
use welter_store::io::{IoOptions, Remote};

use crate::args::{GraphArgs, InputArgs, PlaceArgs, ResourceArgs, WeightArgs};
use crate::directions::Directions;
use crate::elsewhere;
use crate::failure::{Failure, printable};
use crate::interrupt;
use crate::kept::{not_here, open};
use crate::kept_parts;
use crate::load::Source;
use crate::local;
use crate::number_format::{counted, seconds};
use crate::session::{GraphRequest, Session};
use crate::stdout::print;

/// Arguments of `ingest`.
#[derive(Debug, Args)]
pub(crate) struct IngestArgs {
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) weights: WeightArgs,
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    /// Directory or URL to keep the graph in; it must not be there yet
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) disks: DiskArgs,
    #[command(flatten)]
    pub(crate) resources: ResourceArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

/// Other disks that a kept graph lies on.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DiskArgs {
    /// Directory of another disk, which takes its share of the graph; may be given more than once:
    /// docs/disks.md
    #[arg(long = "disk", value_name = "DIR")]
    disks: Vec<PathBuf>,
}

impl DiskArgs {
    /// Whether any are stated.
    pub(crate) fn are_stated(&self) -> bool {
        !self.disks.is_empty()
    }

    /// Refuses disks where the graph cannot lie, before anything is read.
    pub(crate) fn refuse_for(&self, directory: &Path) -> Result<(), Failure> {
        let Some(first) = self.disks.first() else { return Ok(()) };
        if Location::of(directory).is_some() {
            let what = format!("--disk={}: the graph goes to a bucket", first.display());
            return Err(Failure::usage(what).hint("leave --disk out"));
        }
        self.disks.iter().try_for_each(|disk| local::only(disk, "edges are kept"))?;
        match self.disks.iter().find(|disk| !disk.is_dir()) {
            None => Ok(()),
            Some(other) => {
                let other = other.display();
                Err(Failure::output(format!("{other}: no directory for a part of the graph")))
            }
        }
    }
}

/// Arguments of `remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// Directory or URL of the graph
    #[arg(value_name = "DIR", required = true)]
    directory: PathBuf,
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
        if says_format(&target) {
            // Commands would take it for one object, and not ask whether a graph lies there.
            let what = format!("{}: the name is that of a file", directory.display());
            return Err(Failure::usage(what).hint("name a folder, without the ending of a format"));
        }
        kept::refuse_to_replace(&remote, &target)?;
        return may_write(target);
    }
    if directory.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(is_there(directory))
}

/// The failure of a directory that is there.
pub(crate) fn is_there(directory: &Path) -> Failure {
    let path = directory.display();
    Failure::output(format!("{path}: is there already, and is not replaced"))
        .hint("name another directory, or remove this one first")
}

/// Refuses the URL of a folder where no object may be written, since hours of reading would be lost
/// when the graph is sent.
fn may_write(folder: PathBuf) -> Result<(), Failure> {
    // No file of a graph has that name: at Azure a block of it stays for a week, unseen.
    match probe(&folder.join("manifest-probe")) {
        Err(OutputError::Create { source, .. }) => {
            Err(StoreError::Create { file: folder, source }.into())
        }
        probed => Ok(probed.map(drop)?),
    }
}

/// Bytes of files of a graph that are in memory while it is sent, beside parts of an object.
const SENT_BYTES: u64 = 2 << 20;

/// Counts the memory that a graph takes on its way to where it is kept, if that is a bucket: once
/// it is whole, and nothing of it is in memory any more.
pub(crate) fn will_send(directory: &Path, session: &mut Session) {
    if Location::of(directory).is_some() {
        session.sends(directory, 0);
        session.needs(session.write_requests(directory).memory_bytes() + SENT_BYTES);
    }
}

/// The graph that is kept of a source.
pub(crate) fn request(source: &Source, options: ReadOptions, graph: GraphArgs) -> GraphRequest<'_> {
    GraphRequest {
        source,
        options,
        reading: graph.into(),
        ways: Directions::Stated,
        layout: Layout::kept(),
        weighs: true,
        frontier: FrontierMode::default(),
        index: IndexMode::default(),
        ends: false,
    }
}

/// Keeps a graph in a directory; also says what a person should know about how it was read.
pub(crate) fn keep(
    source: &Source,
    options: ReadOptions,
    graph: GraphArgs,
    (directory, disks): (&Path, &DiskArgs),
    session: &Session,
) -> Result<(Manifest, StaleStaging, Vec<String>), Failure> {
    let wanted = request(source, options, graph);
    let (disks, io) = (disks.disks.clone(), IoOptions::default());
    let parts_from = stated_bytes("WELTER_PART_BYTES");
    let options =
        |directory, target| KeepOptions { directory, disks, parts_from, io, target, graph: None };
    let Some(remote) = elsewhere::of(directory)? else {
        return session.keep(&wanted, &options(directory.to_owned(), None));
    };
    // A user who may not list or remove them may keep a graph all the same.
    let target = elsewhere::trimmed(directory);
    let left = kept::clear_elsewhere(&remote, &target).unwrap_or_default();
    // A graph is made on this machine, and goes to the bucket as soon as it is whole.
    let scratch = session.resources.scratch().into_iter().next().unwrap_or_default();
    let (staging, leftovers) = Staging::begin(&scratch)?;
    let options = options(staging.graph(), Some(Target::new(&remote, &target)));
    let (made, _, mut notes) = session.keep(&wanted, &options)?;
    let found = options.target.and_then(|target| target.device());
    notes.extend(found.map(|device| chosen(&device, made.compression)));
    if left.removed > 0 {
        let objects = counted(left.removed, "object", "objects");
        notes.push(format!("removed {objects} there, which an ingest left that did not end"));
    }
    let kept = open(&staging.graph())?;
    session.look_where_it_sends(Some(kept.manifest().bytes()));
    let sender = elsewhere::to_write(directory, session.write_requests(directory))?;
    let remote = sender.unwrap_or(remote);
    let object_bytes = stated_bytes("WELTER_OBJECT_BYTES");
    let manifest = kept.send(&remote, &target, object_bytes, &session.progress)?;
    Ok((manifest, leftovers, notes))
}

/// Bytes of an object, or of a column in parts, as a test wants them. Only builds for development
/// look.
fn stated_bytes(variable: &str) -> Option<u64> {
    let stated = std::env::var(variable).ok().filter(|_| cfg!(debug_assertions))?;
    stated.parse().ok()
}

/// Rate of a bucket, and the compression of edges in it therefore.
fn chosen(bucket: &Device, compression: Compression) -> String {
    let [takes, gives] = [bucket.write, bucket.read].map(|rate| human_bytes(rate) + "/s");
    let how = match bucket.measured {
        Measured::Probe => "by its probe",
        Measured::AtStart => "by a short look",
    };
    let lie = match compression {
        Compression::None => "are not compressed".to_owned(),
        codec => format!("are compressed by {}", codec.name()),
    };
    format!("the bucket takes {takes} and gives {gives}, {how}: edges {lie} there")
}

/// Reads a graph into a directory.
pub(crate) fn ingest(args: &IngestArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    will_send(&args.output, &mut session);
    let source = Source::with(&args.input, &args.resources)?;
    refuse_to_replace(&args.output)?;
    args.disks.refuse_for(&args.output)?;
    if Location::of(&args.output).is_none() {
        interrupt::will_write(&args.output);
    }
    let read = args.input.options(args.weights.choice(), args.resources.threads);
    let to = (&*args.output, &args.disks);
    let (manifest, leftovers, notes) = keep(&source, read, args.graph, to, &session)?;
    session.end_progress();
    for note in &notes {
        session.say(&format!("note: {}", printable(note)));
    }
    say_left(&session, leftovers);
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

/// Says what ingests have left that did not end.
pub(crate) fn say_left(session: &Session, leftovers: StaleStaging) {
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
}

/// Removes a kept graph, on whatever disks it lies.
pub(crate) fn remove(args: &RemoveArgs) -> Result<(), Failure> {
    remove_graph(&args.directory)
}

/// Removes a kept graph.
pub(crate) fn remove_graph(directory: &Path) -> Result<(), Failure> {
    if let Some(remote) = elsewhere::of(directory)? {
        return remove_elsewhere(directory, &remote);
    }
    if kept::is_kept_in_parts(directory) || kept::has_left_parts(directory) {
        return Ok(kept::remove_parts(directory)?);
    }
    match kept::remove(directory) {
        Err(StoreError::Missing { .. }) => Err(not_here(directory)),
        done => Ok(done?),
    }
}

/// Removes a graph from a bucket, and what ingests left there that were killed.
fn remove_elsewhere(directory: &Path, remote: &Arc<dyn Remote>) -> Result<(), Failure> {
    let target = elsewhere::trimmed(directory);
    match kept::refuse_to_replace(remote, &target) {
        Err(StoreError::Create { .. }) => {
            open(directory)?.remove_from(remote)?;
            // Of objects that were opened this one knows that they were there. Who may not list
            // any has removed what the manifest named.
            if let Some(anew) = elsewhere::of(directory)? {
                let _ = kept::clear_elsewhere(&anew, &target);
            }
            Ok(())
        }
        Err(error) => Err(error.into()),
        Ok(()) => match kept::clear_elsewhere(remote, &target)? {
            OrphanedObjects { removed: 0, young: 0 } => Err(not_here(directory)),
            OrphanedObjects { removed: 0, young } => {
                let objects = counted(young, "object", "objects");
                let what = format!("and {objects} of an ingest are less than a day old");
                Err(not_here(directory).hint(format!("{what}: it may be at work still")))
            }
            OrphanedObjects { .. } => Ok(()),
        },
    }
}

/// Verifies a directory.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let resources = ResourceArgs {
        threads: args.threads.map(usize::from),
        quiet: args.quiet,
        ..ResourceArgs::default()
    };
    let mut session = Session::start(resources)?;
    let name = printable(&args.directory.display().to_string());
    let (checked, is) = if kept::is_kept_in_parts(&args.directory) {
        checked_parts(&args.directory, &session)?
    } else {
        (session.check(&open(&args.directory)?)?, "whole".to_owned())
    };
    session.end_progress();
    if args.quiet {
        return Ok(());
    }
    let Checked { files, bytes, chunks, edges, foreign } = checked;
    for other in foreign {
        session.say(&format!("note: {name}/{} is no part of the graph", printable(&other)));
    }
    print(&format!(
        "{name}: {is}; {}, {}, {}, {}, {}\n",
        counted(edges, "edge", "edges"),
        counted(chunks, "chunk", "chunks"),
        counted(files, "file", "files"),
        human_bytes(bytes),
        seconds(session.started.elapsed()),
    ))
}

/// Verifies the parts of a graph that are here; also says in words what was found.
fn checked_parts(directory: &Path, session: &Session) -> Result<(Checked, String), Failure> {
    let parts = kept_parts::open(directory)?;
    if parts.here().next().is_none() {
        let what = format!("{}: the graph has no part here", directory.display());
        return Err(Failure::new(FailureKind::Missing, what));
    }
    // The list is a file too.
    let mut all = Checked { files: 1, ..Checked::default() };
    for (number, part) in parts.here() {
        let Checked { files, bytes, chunks, edges, foreign } = session.check(part)?;
        all.files += files;
        all.bytes += bytes;
        all.chunks += chunks;
        all.edges += edges;
        all.foreign.extend(foreign.iter().map(|name| format!("part-{number}/{name}")));
    }
    let is = if parts.are_all_here() {
        format!("{}, whole", kept_parts::count(parts.list()))
    } else {
        format!("whole in {}", kept_parts::here(&parts))
    };
    Ok((all, is))
}
