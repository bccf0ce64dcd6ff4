//! Graphs that are kept: `welter ingest`, `welter check`, and what other commands do with one.
//!
//! A kept graph that was read as a command wants it is opened as it is. Where it wants another
//! reading (edges backwards, say), the kept edges are read as an input, once more.

use std::path::{Path, PathBuf};

use clap::Args;
use welter_engine::kept::{self, Checked, KeepOptions, Kept, Leftovers, Manifest};
use welter_engine::plan::{FrontierMode, IndexMode, Layout, human_bytes};
use welter_input::{IdKind, ReadOptions, WeightChoice};
use welter_model::edges::{Duplicates, Reading};
use welter_store::io::IoOptions;

use crate::args::{GraphArgs, InputArgs, ResourceArgs, WeightArgs};
use crate::failure::{Failure, printable};
use crate::interrupt;
use crate::load::Source;
use crate::run::print;
use crate::session::{Session, Wanted};
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
    /// The directory to keep the graph in; it must not be there yet
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    output: PathBuf,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Directory of a kept graph
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
) -> Result<(Manifest, Leftovers, Vec<String>), Failure> {
    let wanted = Wanted {
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
    let directory = directory.to_owned();
    session.keep(&wanted, &KeepOptions { directory, io: IoOptions::default(), graph: None })
}

/// Reads a graph into a directory.
pub(crate) fn ingest(args: &IngestArgs) -> Result<(), Failure> {
    let mut session = Session::start(args.resources.clone())?;
    let source = Source::of(&args.input)?;
    refuse_to_replace(&args.output)?;
    interrupt::will_write(&args.output);
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

/// Opens a directory that a user named as a kept graph.
pub(crate) fn open(directory: &Path) -> Result<Kept, Failure> {
    if directory.is_dir() && !kept::is_kept(directory) {
        let path = directory.display();
        let what = format!("{path}: no graph is kept here: there is no manifest");
        return Err(Failure::new(66, what));
    }
    if !directory.exists() {
        let path = directory.display();
        return Err(Failure::new(66, format!("{path}: there is no such directory")));
    }
    Ok(Kept::open(directory, &IoOptions::default())?)
}

/// How a kept graph serves a command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// As it is.
    AsKept,
    /// Its edges are read again, because of this.
    Anew(&'static str),
}

/// Whether a kept graph was read as a command wants it.
pub(crate) fn fit(kept: &Kept, wanted: &Wanted<'_>) -> Result<Fit, Failure> {
    let manifest = kept.manifest();
    let refused = |what: &str| Err(Failure::usage(format!("{}: {what}", kept.path().display())));
    let Reading { reversed, drop_self_loops, duplicates, .. } = wanted.reading;
    let Reading { undirected: both_ways, .. } = manifest.reading;
    if wanted.options.non_negative && manifest.negative && wanted.reads_weights(manifest.weighted) {
        let path = kept.path().display();
        let what = format!("{path}: expected weights that are not negative, and some are");
        return Err(Failure::new(65, what));
    }
    let stated_both = wanted.options.undirected == Some(true);
    let wants_both = stated_both || wanted.ways.are_both();
    let ways = duplicates == Duplicates::Directions;
    let merges = duplicates != Duplicates::Keep && !ways;
    let was_merged = manifest.reading.duplicates != Duplicates::Keep;
    let weighs = wanted.weighs && (manifest.weighted || duplicates == Duplicates::Sum);
    if merges && was_merged && duplicates != manifest.reading.duplicates && weighs {
        return refused("parallel edges were merged when it was kept, with other weights");
    }
    let merges_anew = merges && !was_merged;
    if merges_anew && duplicates == Duplicates::First && weighs && stated_both && !both_ways {
        return refused(
            "the order of edges in the input was not kept, so nobody knows which of parallel ones \
             is the first; say --drop-duplicates when it is ingested",
        );
    }
    let anew = [
        (wants_both && !both_ways, "both ways"),
        (!both_ways && !wants_both && reversed != manifest.reading.reversed, "backwards"),
        (drop_self_loops && !manifest.reading.drop_self_loops, "without self-loops"),
        (merges_anew, "without parallel edges"),
        (ways, "with the ways that edges go"),
        (
            wanted.weighs && manifest.weighted && wanted.options.weight == WeightChoice::Ignore,
            "without weights",
        ),
    ];
    Ok(anew.into_iter().find(|(is, _)| *is).map_or(Fit::AsKept, |(_, how)| Fit::Anew(how)))
}

/// Refuses what is said of an input and a kept graph cannot follow any more.
pub(crate) fn refuse_reading(args: &InputArgs, kept: &Kept) -> Result<(), Failure> {
    let path = kept.path().display();
    if args.says_of_files() || args.says_of_vertices() || args.says_of_ids() {
        return Err(Failure::usage(format!(
            "{path}: a kept graph has been read; leave out what is said of formats, columns, ids \
             and vertices"
        )));
    }
    if args.direction.directed && kept.manifest().reading.undirected {
        return Err(Failure::usage(format!(
            "{path}: was kept with every edge both ways; what way each went is not known any more"
        )));
    }
    Ok(())
}

/// Whether sources and targets are two kinds of vertices.
pub(crate) fn has_two_kinds(manifest: &Manifest) -> bool {
    matches!(
        manifest.ids,
        kept::KeptIds::TwoKindsOfNames | kept::KeptIds::TwoKindsOfIntegers { .. }
    )
}

/// Kind of the ids, for the plan that is shown.
pub(crate) fn id_kind(manifest: &Manifest) -> IdKind {
    match manifest.ids {
        kept::KeptIds::Names | kept::KeptIds::TwoKindsOfNames => IdKind::Names,
        _ => IdKind::Integers,
    }
}
