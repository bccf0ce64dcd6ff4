//! The command for a caller in its own process: graphs that are read once and held, and algorithms
//! that are run on them with the options of the command line, as words.
//!
//! Nothing is printed, no signal is listened to, and a panic becomes a [`Failure`]: the caller
//! draws progress, ends runs ([`Progress::cancel`]) and shows what was said.

mod answer;
mod degrees;
mod lasting;
pub mod machines;
mod panics;
mod parameters;
mod probing;
mod usage;
mod vertices;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::{Args, Parser};
pub use welter_engine::kept::Checked;
use welter_input::{Frame, IdKind, WeightChoice};
use welter_progress::Progress;

pub use self::answer::Answer;
pub use self::lasting::resume;
pub use self::parameters::{
    Algorithm as Described, Kind, Parameter, algorithms, checkpoints, prices, resources,
};
pub use self::probing::probe;
pub use self::vertices::Vertices;
use crate::algorithms::AlgorithmCommand;
pub use crate::algorithms::MEMORY;
use crate::args::{
    CheckpointArgs, DirectionArgs, GraphArgs, InputArgs, PriceArgs, ResourceArgs, WeightArgs,
};
use crate::explain;
pub use crate::failure::Failure;
use crate::in_memory_edges::InMemoryEdges;
use crate::ingest::{self, DiskArgs};
use crate::kept;
use crate::load::{self, Source};
use crate::promise::table_files;
use crate::readings;
use crate::run;
use crate::session::Session;

/// A graph that a caller holds.
#[derive(Debug)]
pub struct Graph {
    source: Source,
    input: InputArgs,
    reading: GraphArgs,
    weights: WeightArgs,
    /// Words that [`Self::read`] was given, where these are enough to read the graph again.
    words: Option<Vec<String>>,
    /// Files that it was read from, or is read from by each run.
    files: Vec<PathBuf>,
    /// Number of vertices, once it was asked for.
    vertices: OnceLock<u64>,
}

/// Facts of a graph before anything runs on it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Facts {
    /// Name that messages have for it.
    pub name: String,
    /// Edges as they were listed.
    pub edges: u64,
    /// Vertices, where they were stated.
    pub vertices: Option<u64>,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether each edge stands for both directions.
    pub undirected: bool,
    /// Whether ids are strings.
    pub names: bool,
    /// Whether sources and targets are two kinds of vertices.
    pub two_kinds: bool,
    /// Bytes of memory that it takes between runs.
    pub held_bytes: u64,
}

/// Words that say what is read, and how.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ReadWords {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    weights: WeightArgs,
    #[command(flatten)]
    reading: GraphArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Words that name an algorithm, with its options and those of the machine.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true, disable_help_subcommand = true)]
struct RunWords {
    #[command(subcommand)]
    algorithm: AlgorithmCommand<RunArgs>,
}

/// Arguments of a run beside the options of its algorithm.
#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    direction: DirectionArgs,
    #[command(flatten)]
    checkpoint: CheckpointArgs,
    #[command(flatten)]
    resources: ResourceArgs,
    #[command(flatten)]
    price: PriceArgs,
}

/// Words that say where a graph is kept, and what of the machine may be taken.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct KeepWords {
    #[command(flatten)]
    disks: DiskArgs,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Words that say what of the machine may be taken.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct ResourceWords {
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Removes a kept graph, on whatever disks it lies.
///
/// # Errors
/// As of `welter remove`.
pub fn remove(directory: &Path) -> Result<(), Failure> {
    panics::caught(|| ingest::remove_graph(directory))
}

/// Verifies every byte of a kept graph in a directory, in a bucket or on a web server. `words`: how
/// many threads do.
///
/// # Errors
/// As of `welter check`: the first damage that is met, with its file and offset.
pub fn check(directory: &Path, words: &[String], progress: &Progress) -> Result<Checked, Failure> {
    panics::wanted(progress, || {
        let ResourceWords { resources } = parsed(words)?;
        let session = Session::within(resources, progress)?;
        session.check(&kept::open(directory)?)
    })
}

impl Graph {
    /// Reads files, or opens a kept graph, or gets a generator ready. Files are read whole, but raw
    /// records stay where they are; if they are not to be `held` in memory, each run reads them.
    /// Vertices that the caller has are stated beside those of files.
    ///
    /// # Errors
    /// As of `welter run`: see [`Failure::code`].
    pub fn read(
        words: &[String],
        held: bool,
        vertices: Vertices,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        panics::wanted(progress, || {
            let ReadWords { input, weights, reading, resources } = parsed(words)?;
            let source = Source::of(&input)?;
            let files = files(&source, &input);
            let words = vertices.is_empty().then(|| words.to_vec());
            let source = match source {
                Source::Files(names) if held => {
                    let session = Session::within(resources, progress)?;
                    let mut options = input.options(weights.choice(), session.resources.threads);
                    vertices.put(&mut options);
                    let name = load::shown(&names);
                    let loaded = session.load(&Source::Files(names), options)?;
                    Source::InMemoryEdges(Arc::new(InMemoryEdges::of(name, loaded)))
                }
                other => {
                    vertices.refuse_beside(&input)?;
                    other
                }
            };
            let vertices = OnceLock::new();
            let graph = Self { source, input, reading, weights, words, files, vertices };
            // A generator that cannot be is found here, and not in a run.
            graph.facts()?;
            Ok(graph)
        })
    }

    /// Takes a table that the caller has; its arrays are kept in memory, and not copied where ids
    /// are whole numbers that lie close together. `words` as of [`Self::read`], with the name of
    /// the table in the place of the inputs.
    ///
    /// # Errors
    /// As of `welter run`.
    pub fn of(frame: Frame, words: &[String], progress: &Progress) -> Result<Self, Failure> {
        Self::of_tables(frame, Vertices::default(), words, progress)
    }

    /// Takes a table of edges, and tables of vertices: a row a vertex, so that those without edges
    /// exist too. `--vertex-column` among the words names the column of their ids, which is the
    /// first if it does not.
    ///
    /// # Errors
    /// As of `welter run`.
    pub fn of_tables(
        edges: Frame,
        vertices: Vertices,
        words: &[String],
        progress: &Progress,
    ) -> Result<Self, Failure> {
        panics::wanted(progress, || {
            let ReadWords { input, weights, reading, resources } = parsed(words)?;
            let session = Session::within(resources, progress)?;
            let mut options = input.options(weights.choice(), session.resources.threads);
            vertices.put(&mut options);
            session.limit(&Source::Files(Vec::new()), &mut options);
            let held = InMemoryEdges::read(edges, &options, progress)?;
            let source = Source::InMemoryEdges(Arc::new(held));
            let files = table_files(input.vertex_tables().cloned());
            let (words, vertices) = (None, OnceLock::new());
            Ok(Self { source, input, reading, weights, words, files, vertices })
        })
    }

    /// Runs the algorithm that words name. `tables` are there for as long: words name them with
    /// [`MEMORY`] before their names.
    ///
    /// # Errors
    /// As of `welter run`.
    pub fn run(
        &self,
        words: &[String],
        tables: Vec<Frame>,
        progress: &Progress,
    ) -> Result<Answer, Failure> {
        panics::wanted(progress, || {
            let (algorithm, RunArgs { direction, checkpoint, resources, price }) =
                parsed::<RunWords>(words)?.algorithm.split();
            if checkpoint.checkpoint.is_some() {
                if let [table, ..] = &tables[..] {
                    let what = "is in memory, and not there to resume from: no checkpoints";
                    let hint = "write it to a file, and give the name of that";
                    return Err(Failure::usage(format!("{}: {what}", table.name)).hint(hint));
                }
                return self.run_lasting(words, progress);
            }
            let cached = self.source.read_by(&resources)?;
            let source = cached.as_ref().unwrap_or(&self.source);
            let mut session = Session::within(resources, progress)?;
            session.frames = tables;
            session.prices = price.read()?;
            let input = self.directed(direction);
            algorithm.check(&input.shown())?;
            let graph = (&input, self.reading);
            let found = run::find(&*algorithm, graph, source, &session)?;
            let files = table_files(algorithm.tables());
            Answer::of(found, &session, self.files.iter().cloned().chain(files).collect())
        })
    }

    /// Arguments of a run that says whether edges go both ways.
    fn directed(&self, direction: DirectionArgs) -> InputArgs {
        let is_stated = direction.undirected || direction.directed;
        let direction = if is_stated { direction } else { self.input.direction };
        InputArgs { direction, ..self.input.clone() }
    }

    /// Says how a run would be done and what memory it would take.
    ///
    /// # Errors
    /// As of `welter explain`.
    pub fn explain(&self, words: &[String], progress: &Progress) -> Result<String, Failure> {
        panics::wanted(progress, || {
            let (algorithm, RunArgs { direction, resources, price, .. }) =
                parsed::<RunWords>(words)?.algorithm.split();
            let cached = self.source.planned_by(&resources)?;
            let source = cached.as_ref().unwrap_or(&self.source);
            let mut session = Session::within(resources, progress)?;
            session.prices = price.read()?;
            let input = self.directed(direction);
            explain::explained(&*algorithm, (&input, self.reading), source, &session)
        })
    }

    /// Keeps the graph in a directory, which must not be there yet. `words`: what of the machine
    /// may be taken.
    ///
    /// # Errors
    /// As of `welter ingest`.
    pub fn keep(
        &self,
        directory: &Path,
        words: &[String],
        progress: &Progress,
    ) -> Result<Vec<String>, Failure> {
        panics::wanted(progress, || {
            let KeepWords { disks, resources } = parsed(words)?;
            let asked = self.source.read_by(&resources)?;
            let source = asked.as_ref().unwrap_or(&self.source);
            let mut session = Session::within(resources, progress)?;
            ingest::will_send(directory, &mut session);
            ingest::refuse_to_replace(directory)?;
            disks.refuse_for(directory)?;
            // Columns were chosen when it was read.
            let weights = match (source, self.weights.choice()) {
                (Source::InMemoryEdges(_), WeightChoice::Column(_)) => WeightChoice::IfPresent,
                (_, choice) => choice,
            };
            let options = self.input.options(weights, session.resources.threads);
            let to = (directory, &disks);
            let (_, _, notes) = ingest::keep(source, options, self.reading, to, &session)?;
            Ok(notes)
        })
    }

    /// The facts of the graph.
    ///
    /// # Errors
    /// When a generator has no such graph.
    pub fn facts(&self) -> Result<Facts, Failure> {
        let options = self.input.options(self.weights.choice(), None);
        let estimate = self.source.estimate(&options)?;
        let two_kinds = self.source.has_two_kinds();
        let (name, names) = match &self.source {
            Source::InMemoryEdges(held) => (held.name().to_owned(), estimate.ids == IdKind::Names),
            Source::Kept(directory, kept) => {
                (directory.clone(), kept::id_kind(kept.manifest()) == IdKind::Names)
            }
            Source::Parts(directory, _) => (directory.clone(), estimate.ids == IdKind::Names),
            Source::Generator(spec, _) => (spec.clone(), false),
            Source::Files(names) => (load::shown(names), false),
        };
        let edges = match &self.source {
            Source::Kept(_, kept) => kept.manifest().input_edges,
            _ => estimate.edges.unwrap_or(0),
        };
        Ok(Facts {
            name,
            edges,
            vertices: estimate.slots.filter(|_| !matches!(self.source, Source::InMemoryEdges(_))),
            weighted: estimate.weighted,
            undirected: estimate.undirected.unwrap_or(false),
            names,
            two_kinds,
            held_bytes: self.source.held_bytes(),
        })
    }

    /// Readings of files, or of the table: format, columns, what was passed over; a line for each
    /// way. Empty of what is read anew by each run.
    pub fn readings(&self) -> Vec<String> {
        if let Source::InMemoryEdges(held) = &self.source {
            readings::lines(held.readings())
        } else {
            vec![]
        }
    }

    /// Notes for a person about how it was read, a sentence each.
    pub fn notes(&self) -> &[String] {
        if let Source::InMemoryEdges(held) = &self.source { held.notes() } else { &[] }
    }
}

/// All files that a graph is read from.
fn files(source: &Source, input: &InputArgs) -> Vec<PathBuf> {
    source.files().into_iter().chain(table_files(input.vertex_tables().cloned())).collect()
}

/// Parses words, or says what is wrong with them.
fn parsed<P: Parser>(words: &[String]) -> Result<P, Failure> {
    P::try_parse_from(words).map_err(|error| usage::refusal(&error))
}
