//! Data sets in a folder, and what is to be run on each: the algorithms as `welter run` understands
//! them, the references, and where outputs go.
//!
//! Invariant: whatever is missing or wrong in the properties is found before anything is run.
//! Tested by `properties_that_make_no_run_are_refused_before_any`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use welter_input::ldbc::benchmark::Benchmark;
use welter_input::ldbc::existing;
use welter_progress::FailureKind;

use super::args::{GraphalyticsArgs, Kind};
use crate::algorithms::algorithm::Algorithm;
use crate::algorithms::understood;
use crate::args::{RunOptions, share};
use crate::failure::Failure;

/// A data set, and what is to be run on it.
pub(super) struct DataSet {
    pub(super) benchmark: Benchmark,
    /// Properties, edges and vertices.
    files: [String; 3],
    pub(super) jobs: Vec<Job>,
}

/// An algorithm on a data set.
pub(super) struct Job {
    pub(super) kind: Kind,
    /// Name of its output: `NAME-BFS`.
    pub(super) name: String,
    pub(super) algorithm: Box<dyn Algorithm>,
    pub(super) options: RunOptions,
    /// The command that does the same, in words.
    pub(super) words: Vec<String>,
    /// The folder of references.
    pub(super) references: PathBuf,
    /// The one of this output, if it is there.
    pub(super) reference: Option<PathBuf>,
    pub(super) output: Option<PathBuf>,
}

impl DataSet {
    fn of(benchmark: Benchmark, file: &str, args: &GraphalyticsArgs) -> Result<Self, Failure> {
        let files = benchmark.files()?;
        let kinds = if args.algorithm.is_empty() {
            benchmark.algorithms(Kind::of)?
        } else {
            args.algorithm.clone()
        };
        let jobs = kinds.into_iter().map(|kind| Job::of(kind, &benchmark, file, args));
        let jobs = jobs.collect::<Result<_, _>>()?;
        Ok(Self { benchmark, files, jobs })
    }

    /// Files that are read of the data set.
    pub(super) fn inputs(&self) -> impl Iterator<Item = String> {
        let references = self.jobs.iter().filter_map(|job| job.reference.as_ref());
        let references = references.map(|path| path.display().to_string());
        self.files.iter().cloned().chain(references)
    }

    /// For the report.
    pub(super) fn report(&self, algorithms: &[Value]) -> Value {
        json!({
            "graph": self.benchmark.name(),
            "properties": self.files[0],
            "directed": self.benchmark.directed(),
            "algorithms": algorithms,
        })
    }
}

impl Job {
    fn of(
        kind: Kind,
        benchmark: &Benchmark,
        file: &str,
        args: &GraphalyticsArgs,
    ) -> Result<Self, Failure> {
        let name = format!("{}-{}", benchmark.name(), kind.acronym());
        let mut words = ["welter", "run"].map(str::to_owned).to_vec();
        words.extend(command_words(kind, benchmark)?);
        let input = ["--format", "properties", "--ids", "integers", "--", file];
        words.extend(input.map(str::to_owned));
        let Ok((algorithm, mut options)) = understood(&words[1..]) else {
            let what = format!("{file}: what it says makes no run: {}", words.join(" "));
            return Err(Failure::new(FailureKind::Input, what));
        };
        options.resources = args.resources.clone();
        let beside = Path::new(file).parent().filter(|folder| *folder != Path::new(""));
        let folder = args.reference.as_deref().or(beside).unwrap_or(Path::new("."));
        let reference = existing(&folder.join(&name))?;
        let output = args.output.as_ref().map(|folder| folder.join(&name));
        let references = folder.to_owned();
        Ok(Self { kind, name, algorithm, options, words, references, reference, output })
    }
}

/// An algorithm with its parameters, in the words of `welter run`.
fn command_words(kind: Kind, benchmark: &Benchmark) -> Result<Vec<String>, Failure> {
    let with = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let get = |key: &str, parse: fn(&str) -> Result<(), String>| {
        benchmark.parameter(key, |value| parse(value).map(|()| value.to_owned()))
    };
    Ok(match kind {
        Kind::Bfs => with(&["bfs", "--source", &get("bfs.source-vertex", id)?]),
        Kind::Cdlp => with(&["cdlp", "--iterations", &get("cdlp.max-iterations", positive)?]),
        Kind::Lcc => with(&["lcc"]),
        Kind::Pr => {
            let damping = get("pr.damping-factor", |value| share(value).map(|_| ()))?;
            let iterations = get("pr.num-iterations", positive)?;
            with(&["pagerank", "--damping", &damping, "--iterations", &iterations])
        }
        Kind::Sssp => {
            let source = get("sssp.source-vertex", id)?;
            let weight = get("sssp.weight-property", column)?;
            with(&["sssp", "--source", &source, "--weight", &weight])
        }
        Kind::Wcc => with(&["wcc"]),
    })
}

fn id(value: &str) -> Result<(), String> {
    value.parse::<u64>().map(|_| ()).map_err(|_| "expected the id of a vertex".to_owned())
}

fn positive(value: &str) -> Result<(), String> {
    match value.parse::<u64>() {
        Ok(1..) => Ok(()),
        _ => Err("expected a number above 0".to_owned()),
    }
}

/// Columns are named in properties; a number would be taken for a place.
fn column(value: &str) -> Result<(), String> {
    let is_name = !value.is_empty() && !value.starts_with('-') && value.parse::<u64>().is_err();
    if is_name { Ok(()) } else { Err("expected the name of a property".to_owned()) }
}

/// The data sets that are meant, in the order of their files.
pub(super) fn find(args: &GraphalyticsArgs) -> Result<Vec<DataSet>, Failure> {
    let input = &args.input;
    let shown = input.display();
    if let Some(folder) = args.reference.as_deref().filter(|folder| !folder.is_dir()) {
        let what = format!("{}: is no folder of references", folder.display());
        return Err(Failure::new(FailureKind::Missing, what));
    }
    let files = if input.is_dir() { in_folder(input)? } else { vec![text(input)?] };
    let mut sets = Vec::new();
    let mut names = Vec::new();
    for file in files {
        // Of those that are not wanted nothing needs to be there.
        let benchmark = Benchmark::open(&file)?;
        let name = benchmark.name().to_owned();
        if args.graph.is_empty() || args.graph.contains(&name) {
            sets.push(DataSet::of(benchmark, &file, args)?);
        }
        names.push(name);
    }
    if names.is_empty() {
        let what = format!("{shown}: there are no properties of a data set (NAME.properties)");
        return Err(Failure::new(FailureKind::Missing, what));
    }
    if let Some(name) = args.graph.iter().find(|name| !names.contains(name)) {
        let what = format!("{shown}: has no graph {name}, but {}", names.join(", "));
        return Err(Failure::new(FailureKind::Missing, what));
    }
    Ok(sets)
}

/// The properties of data sets that lie in a folder, by name.
fn in_folder(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |error| {
        Failure::new(FailureKind::Storage, format!("{}: cannot list it: {error}", folder.display()))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let is_named = path.extension().is_some_and(|extension| extension == "properties");
        if is_named && path.is_file() {
            let file = text(&path)?;
            if Benchmark::is_one(&file)? {
                files.push(file);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{}: is no text", path.display())))
}
