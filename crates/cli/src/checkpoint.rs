//! Runs that can be resumed: what they are, and `welter resume`.
//!
//! The engine keeps what a run has come to; what the run *is* (its command, its inputs and its
//! parameters) is kept beside it as JSON, which only this file reads.
//!
//! Invariant: a run is resumed only with the inputs that it began with: files of the same names,
//! sizes and times of change, objects of the same names, sizes and entity tags, the same generation
//! of a kept graph, the same words for a generator. The engine also compares the graph that comes
//! of them with the one of the checkpoint. Checked in `unchanged`. Tested by
//! `a_run_that_changed_is_refused`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use welter_engine::plan::Plan;
use welter_engine::{CHECKPOINT_PART_BYTES, CheckpointOptions, Checkpoints, Every};
use welter_input::{InputError, source};
use welter_objects::{Bucket, Location};
use welter_progress::FailureKind;
use welter_store::StoreError;

use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::understood;
use crate::args::{CheckpointArgs, InputArgs, RunOptions};
use crate::argv;
use crate::beside::beside;
use crate::choice::FallbackReason;
use crate::elsewhere;
use crate::failure::Failure;
use crate::interrupt;
use crate::laid::Laid;
use crate::load::Source;
use crate::local;
use crate::renamed;
use crate::session::Session;
use crate::stdout::is_stdout;

/// Description of a run. Another layout of it is another version.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    version: u32,
    /// The words of the command, without its name.
    arguments: Vec<String>,
    /// Directory in which the command was given.
    directory: PathBuf,
    algorithm: String,
    /// Parameters of the algorithm, with their defaults filled in: JSON as text, because numbers
    /// that were read again need not be the same to the last bit.
    parameters: String,
    inputs: Vec<Input>,
    /// Order of edges with states, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    laid: Option<Laid>,
}

const VERSION: u32 = 1;

impl Job {
    fn of(
        arguments: Vec<String>,
        args: &RunOptions,
        algorithm: &dyn Algorithm,
        source: &Source,
    ) -> Result<Self, Failure> {
        let here = |error| {
            Failure::new(FailureKind::Storage, format!("where this is cannot be known: {error}"))
        };
        Ok(Self {
            version: VERSION,
            arguments,
            directory: std::env::current_dir().map_err(here)?,
            algorithm: algorithm.entry().name.to_owned(),
            parameters: algorithm.parameters().to_string(),
            inputs: Input::all(source, &tables(algorithm, &args.input))?,
            laid: None,
        })
    }

    /// A path that the run names from the directory of then, if it names one.
    fn relative(&self, options: &RunOptions) -> Option<PathBuf> {
        let mut paths = self.inputs.iter().filter_map(Input::path).chain(options.paths());
        let is_here = |path: &Path| !is_stdout(path) && Location::of(path).is_none();
        paths.find(|path| path.is_relative() && is_here(path)).map(Path::to_owned)
    }

    /// The algorithm in the way in which the run was begun, whatever would be taken now.
    fn in_its_way(&self, algorithm: Box<dyn Algorithm>) -> Box<dyn Algorithm> {
        let others =
            [FallbackReason::Route, FallbackReason::Memory].map(|why| algorithm.otherwise(why));
        let then = others
            .into_iter()
            .flatten()
            .find(|other| renamed::are(&self.parameters, &other.parameters()));
        then.unwrap_or(algorithm)
    }
}

/// State of an input when the run began.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Input {
    File { name: String, bytes: u64, modified: (i64, i64) },
    Object { name: String, bytes: u64, tag: Option<String> },
    Kept { name: String, graph: u64, generation: u32 },
    Generated { name: String },
}

impl Input {
    /// Inputs that a run reads: the graph, and tables of vertices.
    fn all(source: &Source, tables: &[String]) -> Result<Vec<Self>, Failure> {
        let mut inputs = match source {
            Source::Files(names) => files(names)?,
            Source::Generator(name, _) => vec![Self::Generated { name: name.clone() }],
            // No option of a caller in this process asks for checkpoints.
            Source::InMemoryEdges(held) => {
                return Err(Failure::usage(format!(
                    "{}: edges that are held in memory are not there to resume from",
                    held.name()
                )));
            }
            Source::Kept(name, kept) => {
                let manifest = kept.manifest();
                let (graph, generation) = (manifest.graph, manifest.generation);
                vec![Self::Kept { name: name.clone(), graph, generation }]
            }
            Source::Parts(name, parts) => {
                let (graph, generation) = (parts.list().number(), 0);
                vec![Self::Kept { name: name.clone(), graph, generation }]
            }
        };
        if !tables.is_empty() {
            inputs.extend(files(&source::names(tables)?)?);
        }
        Ok(inputs)
    }

    fn file(path: &Path) -> Result<Self, Failure> {
        let name = path.display();
        let Some(text) = path.to_str() else {
            return Err(Failure::usage(format!("{name}: is no text, and cannot be kept")));
        };
        if let Some(location) = Location::of(path) {
            return Self::object(&location.map_err(|error| InputError::of_object(&error))?);
        }
        let found = fs::metadata(path).map_err(|error| {
            Failure::new(FailureKind::Missing, format!("{name}: cannot look at it: {error}"))
        })?;
        if !found.is_file() {
            let what = format!("{name}: cannot be read again, so the run could not be resumed");
            return Err(Failure::usage(what).hint("leave --checkpoint out, or write it to a file"));
        }
        let modified = (found.mtime(), found.mtime_nsec());
        Ok(Self::File { name: text.to_owned(), bytes: found.len(), modified })
    }

    fn object(location: &Location) -> Result<Self, Failure> {
        let bucket = Bucket::of(location).map_err(|error| InputError::of_object(&error))?;
        let object =
            bucket.open(&location.key, 0).map_err(|error| InputError::of_object(&error))?;
        let (name, tag) = (object.name().to_owned(), object.tag().map(str::to_owned));
        Ok(Self::Object { name, bytes: object.bytes(), tag })
    }

    /// Path of the input, if it is a file or a directory, which may be the URL of one.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::File { name, .. } | Self::Kept { name, .. } => Some(Path::new(name)),
            Self::Object { .. } | Self::Generated { .. } => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::File { name, .. }
            | Self::Object { name, .. }
            | Self::Kept { name, .. }
            | Self::Generated { name } => name,
        }
    }
}

/// Files, and those that are read beside them.
fn files(paths: &[PathBuf]) -> Result<Vec<Input>, Failure> {
    let mut inputs = Vec::new();
    for path in paths {
        if source::is_pipe(path) {
            let what = "standard input cannot be read again, so the run could not be resumed";
            return Err(Failure::usage(what).hint("leave --checkpoint out, or write it to a file"));
        }
        inputs.push(Input::file(path)?);
        for other in beside(path) {
            inputs.push(Input::file(&other)?);
        }
    }
    Ok(inputs)
}

/// Files of vertices that a run reads beside the edges.
pub(crate) fn tables(algorithm: &dyn Algorithm, input: &InputArgs) -> Vec<String> {
    algorithm.tables().into_iter().chain(input.vertex_tables().cloned()).collect()
}

/// The words of this command, without its name.
fn arguments() -> Result<Vec<String>, Failure> {
    let text = |word: &std::ffi::OsString| {
        word.clone().into_string().map_err(|word| {
            Failure::usage(format!("{}: is no text, and cannot be kept", word.display()))
        })
    };
    argv::words().iter().skip(1).map(text).collect()
}

/// The description of this run, for machines that keep it.
pub(crate) fn described(
    args: &RunOptions,
    algorithm: &dyn Algorithm,
    source: &Source,
) -> Result<Vec<u8>, Failure> {
    let job = Job::of(arguments()?, args, algorithm, source)?;
    serde_json::to_vec(&job).map_err(Failure::bug)
}

/// Begins to keep checkpoints, where the user wants that.
pub(crate) fn begin(
    args: &RunOptions,
    algorithm: &dyn Algorithm,
    source: &Source,
    session: &Session,
) -> Result<Option<Checkpoints>, Failure> {
    if args.checkpoint.checkpoint.is_none() {
        return Ok(None);
    }
    let begun = begin_as(arguments()?, args, algorithm, source, session)?;
    if let Some(begun) = &begun {
        interrupt::will_resume(&command(begun.directory()));
    }
    Ok(begun)
}

/// Begins checkpoints of a run that a command of these words, without its name, would begin.
pub(crate) fn begin_as(
    arguments: Vec<String>,
    args: &RunOptions,
    algorithm: &dyn Algorithm,
    source: &Source,
    session: &Session,
) -> Result<Option<Checkpoints>, Failure> {
    let CheckpointArgs { checkpoint, checkpoint_every, checkpoint_disks } = &args.checkpoint;
    let Some(directory) = checkpoint.clone() else { return Ok(None) };
    let remote = elsewhere::to_write(&directory, session.write_requests(&directory))?;
    let directory = elsewhere::trimmed(&directory);
    if let Some(why) = algorithm.has_no_iterations() {
        return Err(Failure::usage(why).hint("leave --checkpoint out"));
    }
    refuse_disks(checkpoint_disks, remote.is_some())?;
    let job = Job::of(arguments, args, algorithm, source)?;
    let job = serde_json::to_vec(&job).map_err(Failure::bug)?;
    let disks = checkpoint_disks.clone();
    let every = checkpoint_every.map_or(Every::Share, Every::Iterations);
    let options = CheckpointOptions { directory, disks, every, run: None, faults: None };
    let begun = match &remote {
        Some(remote) => Checkpoints::begin_elsewhere(&options, remote, &job),
        None => Checkpoints::begin(&options, &job),
    };
    let begun = begun.map_err(|error| {
        let is_ours = match &error {
            StoreError::Create { .. } if remote.is_some() => true,
            _ => options.directory.join("checkpoint").is_file(),
        };
        let failure = Failure::from(error);
        if !is_ours {
            return failure;
        }
        let command = command(&options.directory);
        failure.hint(format!("a run is kept there: {command} resumes it"))
    })?;
    Ok(Some(begun))
}

/// Refuses disks where no checkpoint can lie.
fn refuse_disks(disks: &[PathBuf], is_elsewhere: bool) -> Result<(), Failure> {
    let Some(first) = disks.first() else { return Ok(()) };
    if is_elsewhere {
        let what = format!("--checkpoint-disk={}: checkpoints go to a bucket", first.display());
        return Err(Failure::usage(what).hint("leave --checkpoint-disk out"));
    }
    disks.iter().try_for_each(|disk| local::only(disk, "checkpoints are written"))?;
    disks.iter().find(|disk| !disk.is_dir()).map_or(Ok(()), |other| {
        let other = other.display();
        Err(Failure::output(format!("{other}: no directory for a part of checkpoints")))
    })
}

/// Counts the memory of parts of checkpoints on their way to a bucket or to disks, and looks how
/// the bucket is best written to: runs that are kept are long ones. `resumed`: where those lie that
/// the run continues from.
pub(crate) fn hold_parts(args: &CheckpointArgs, resumed: Option<&Path>, session: &mut Session) {
    if let Some(directory) = resumed.or(args.checkpoint.as_deref())
        && Location::of(directory).is_some()
    {
        session.sends(directory, 1);
        session.look_where_it_sends(None);
    } else if !args.checkpoint_disks.is_empty() {
        session.holds((args.checkpoint_disks.len() as u64 + 1) * CHECKPOINT_PART_BYTES);
    }
}

/// Checkpoints that a run continues from, which sends more of them as its session does.
pub(crate) fn sent(checkpoints: Checkpoints, session: &Session) -> Result<Checkpoints, Failure> {
    let directory = checkpoints.directory();
    let remote = elsewhere::to_write(directory, session.write_requests(directory))?;
    Ok(match remote {
        Some(remote) => checkpoints.through(&remote),
        None => checkpoints,
    })
}

/// Keeps how the edges of a run lie, where its checkpoints depend on it.
pub(crate) fn laid_out(checkpoints: &Checkpoints, plan: &Plan) -> Result<(), Failure> {
    let failed = |error: serde_json::Error| Failure::bug(error);
    let Some(laid) = Laid::of(plan) else { return Ok(()) };
    let job: Job = serde_json::from_slice(&checkpoints.job()).map_err(failed)?;
    let job = Job { laid: Some(laid), ..job };
    checkpoints.set_job(serde_json::to_vec(&job).map_err(failed)?);
    Ok(())
}

/// A run that was begun before: what it was told, and the checkpoints that it continues from.
pub(crate) struct ResumedRun {
    pub(crate) algorithm: Box<dyn Algorithm>,
    pub(crate) options: RunOptions,
    pub(crate) checkpoints: Checkpoints,
}

/// Opens the checkpoints in a directory. `there`: goes where the run was begun, or refuses to,
/// where it names a path from there, which is the second one. `put`: says what is said now over
/// what the run was told.
pub(crate) fn reopened(
    directory: &Path,
    there: impl FnOnce(&Path, &Path) -> Result<(), Failure>,
    put: impl FnOnce(&mut RunOptions),
) -> Result<ResumedRun, Failure> {
    let name = directory.display().to_string();
    let opened = match elsewhere::of(directory)? {
        Some(remote) => Checkpoints::open_elsewhere(&elsewhere::trimmed(directory), &remote),
        None => Checkpoints::open(directory, None),
    };
    let checkpoints = opened.map_err(|error| match error {
        StoreError::Missing { .. } => {
            let what = format!("{name}: there are no checkpoints of a run");
            Failure::new(FailureKind::Missing, what)
        }
        error => error.into(),
    })?;
    let job = checkpoints.job();
    let RunDescription { algorithm, mut options, .. } = run_description(&job, &name, there, put)?;
    refuse_route(&*algorithm, &options)?;
    options.checkpoint.checkpoint = Some(directory.to_owned());
    Ok(ResumedRun { algorithm, options, checkpoints })
}

/// Refuses a route that would take another method than the one whose values are kept.
fn refuse_route(algorithm: &dyn Algorithm, options: &RunOptions) -> Result<(), Failure> {
    if !options.resources.streams() || algorithm.otherwise(FallbackReason::Route).is_none() {
        return Ok(());
    }
    let name = algorithm.taken().map_or("another", |method| method.name);
    let what = format!("--route: the run was begun by method {name}, which has route fold alone");
    Err(Failure::usage(what).hint("leave --route out, or begin a run anew"))
}

/// Description of a run that was begun before.
pub(crate) struct RunDescription {
    pub(crate) algorithm: Box<dyn Algorithm>,
    pub(crate) options: RunOptions,
    /// Words of its command, without the name.
    pub(crate) arguments: Vec<String>,
}

/// The run of a description that lies in a directory of this name; otherwise as [`reopened`].
pub(crate) fn run_description(
    description: &[u8],
    name: &str,
    there: impl FnOnce(&Path, &Path) -> Result<(), Failure>,
    put: impl FnOnce(&mut RunOptions),
) -> Result<RunDescription, Failure> {
    let odd = |what: &str| {
        let what = format!("{name}: was begun by another version of welter, and {what}");
        Failure::new(FailureKind::Input, what)
    };
    let job: Job = serde_json::from_slice(description)
        .map_err(|error| odd(&format!("what it is cannot be read: {error}")))?;
    if job.version != VERSION {
        return Err(odd(&format!("is of version {}", job.version)));
    }
    let Ok((algorithm, mut options)) = understood(&job.arguments) else {
        return Err(odd("its command is not understood"));
    };
    let algorithm = job.in_its_way(algorithm);
    if let Some(laid) = &job.laid {
        laid.put(&mut options.resources);
    }
    // Machines that are processes of one computer are started with the words of then.
    let then = options.cluster.place.cluster.as_ref().and_then(|_| job.relative(&options));
    put(&mut options);
    if let Some(path) = then.or_else(|| job.relative(&options)) {
        there(&job.directory, &path)?;
    }
    unchanged(&job, &*algorithm, &options).map_err(|what| match what {
        Changed::Input(failure) => failure,
        Changed::Parameters => odd("its parameters mean something else now"),
    })?;
    Ok(RunDescription { algorithm, options, arguments: job.arguments })
}

enum Changed {
    Input(Failure),
    Parameters,
}

/// Refuses a run whose inputs or parameters are not those that it began with.
fn unchanged(job: &Job, algorithm: &dyn Algorithm, options: &RunOptions) -> Result<(), Changed> {
    let is_same = job.algorithm == algorithm.entry().name;
    if !is_same || !renamed::are(&job.parameters, &algorithm.parameters()) {
        return Err(Changed::Parameters);
    }
    let source = Source::of(&options.input).map_err(Changed::Input)?;
    let tables = tables(algorithm, &options.input);
    let inputs = Input::all(&source, &tables).map_err(Changed::Input)?;
    let changed = |name: &str, what: &str| {
        Changed::Input(Failure::new(
            FailureKind::Input,
            format!("{name}: {what} since the run was begun"),
        ))
    };
    for then in &job.inputs {
        let name = then.name();
        match inputs.iter().find(|now| now.name() == name) {
            Some(now) if now == then => {}
            Some(_) => return Err(changed(name, "has changed")),
            None => return Err(changed(name, "is no input any more")),
        }
    }
    let new = inputs.iter().find(|now| job.inputs.iter().all(|then| then.name() != now.name()));
    new.map_or(Ok(()), |new| Err(changed(new.name(), "has become an input")))
}

/// Ends a run: removes checkpoints that are not needed, or says how to continue from them.
pub(crate) fn end<T>(
    checkpoints: Option<Checkpoints>,
    resumed: bool,
    done: Result<T, Failure>,
) -> Result<T, Failure> {
    let Some(checkpoints) = checkpoints else { return done };
    let (last, command) = (checkpoints.last(), command(checkpoints.directory()));
    match done {
        Err(failure) if failure.kind() == Some(FailureKind::Cancelled) => {
            let (what, how) = match last {
                Some(last) => (format!("the last checkpoint is of iteration {last}"), "resumes it"),
                None => ("before the first checkpoint".to_owned(), "begins again"),
            };
            let failure = Failure::new(FailureKind::Resumable, format!("interrupted; {what}"));
            Err(failure.hint(format!("{command} {how}")))
        }
        // The reader of the results is gone, which is no failure.
        Err(failure) if failure.code() != 0 => match last {
            None if resumed => Err(failure),
            None => {
                // The first error is the one to tell.
                let _ = checkpoints.remove();
                Err(failure)
            }
            Some(last) => Err(failure.and_hint(&format!(
                "the last checkpoint is of iteration {last}: {command} resumes from there"
            ))),
        },
        done => {
            interrupt::will_not_resume();
            checkpoints.remove()?;
            done
        }
    }
}

/// The command that resumes a run, for people and shells.
pub(crate) fn command(directory: &Path) -> String {
    let name = directory.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+=,@%:".contains(c);
    if name.chars().all(is_plain) {
        return format!("`welter resume {name}`");
    }
    format!("`welter resume '{}'`", name.replace('\'', r"'\''"))
}
