//! Sources of a graph: files, or a generator that feeds a run directly.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_engine::kept::{KeptGraph, KeptParts};
use welter_input::generate::rmat::Rmat;
use welter_input::generate::web::Web;
use welter_input::source;
use welter_input::{Estimate, Format, IdKind, ReadOptions, WeightChoice};
use welter_model::edges::EdgeStream;
use welter_model::ids::IdMap;
use welter_objects::Location;
use welter_progress::Progress;

use crate::args::{EdgeCacheAt, InputArgs, ResourceArgs};
use crate::beside::beside;
use crate::elsewhere;
use crate::failure::Failure;
use crate::in_memory_edges::InMemoryEdges;
use crate::kept;
use crate::kept_parts;
use crate::loaded::Loaded;
use crate::spec::{self, Generated};

/// Source that a graph is read from.
#[derive(Debug)]
pub(crate) enum Source {
    /// Files, patterns resolved.
    Files(Vec<PathBuf>),
    /// A generator, and what the user wrote.
    Generator(String, Generated),
    /// A graph that is kept, and its directory as the user wrote it.
    Kept(String, Box<KeptGraph>),
    /// A graph in parts, and its directory as the user wrote it.
    Parts(String, Box<KeptParts>),
    /// Edges that a caller in this process holds.
    InMemoryEdges(Arc<InMemoryEdges>),
}

impl Source {
    /// Finds out what the inputs are. No file is opened.
    pub(crate) fn of(args: &InputArgs) -> Result<Self, Failure> {
        let generated = |input: &PathBuf| {
            let words = input.to_str().filter(|_| !input.exists())?;
            Some((words.to_owned(), spec::parse(words)?))
        };
        if let Some((input, kept)) = kept::among(&args.inputs)? {
            let name = input.display();
            if args.inputs.len() > 1 {
                return Err(Failure::usage(format!("{name}: a kept graph is read alone")));
            }
            kept::refuse_reading(args, (input, kept.manifest().reading.undirected))?;
            return Ok(Self::Kept(name.to_string(), Box::new(kept)));
        }
        if let Some((input, parts)) = kept_parts::among(&args.inputs)? {
            let name = input.display();
            if args.inputs.len() > 1 {
                return Err(Failure::usage(format!("{name}: a kept graph is read alone")));
            }
            kept::refuse_reading(args, (input, parts.list().is_undirected()))?;
            return Ok(Self::Parts(name.to_string(), Box::new(parts)));
        }
        let inputs = args.inputs.iter().map(PathBuf::as_path);
        let all = inputs.chain(args.vertex_tables().map(Path::new));
        if all.filter(|path| *path == Path::new("-")).count() > 1 {
            let what = "standard input is either the graph or one table of its vertices";
            return Err(Failure::usage(what));
        }
        match args.inputs.iter().find_map(generated) {
            None => Ok(Self::Files(source::names(&args.inputs)?)),
            Some((input, _)) if args.inputs.len() > 1 => {
                Err(Failure::usage(format!("{input}: a generated graph is read alone")))
            }
            Some((input, _)) if args.says_of_vertices() => Err(Failure::usage(format!(
                "{input}: a generated graph has its own vertices, of one kind; leave --vertices, \
                 --vertices-from and --bipartite out"
            ))),
            Some((input, _)) if args.says_of_files() => Err(Failure::usage(format!(
                "{input}: a generated graph is no file; leave out what is said of formats, rows \
                 and columns"
            ))),
            Some((input, generated)) => {
                let wrong = |what| Failure::usage(format!("{input}: {what}"));
                Ok(Self::Generator(input.clone(), generated.map_err(wrong)?))
            }
        }
    }

    /// As [`Self::of`], read as the resources say.
    pub(crate) fn with(args: &InputArgs, resources: &ResourceArgs) -> Result<Self, Failure> {
        let source = Self::of(args)?;
        Ok(source.read_by(resources)?.unwrap_or(source))
    }

    /// As [`Self::with`], for the plan of a run, which makes nothing.
    pub(crate) fn planned(args: &InputArgs, resources: &ResourceArgs) -> Result<Self, Failure> {
        let source = Self::of(args)?;
        Ok(source.planned_by(resources)?.unwrap_or(source))
    }

    /// The source as the resources say that it is read, if they do: by requests of their sizes, and
    /// through what is kept of it on this machine.
    pub(crate) fn read_by(&self, resources: &ResourceArgs) -> Result<Option<Self>, Failure> {
        self.by(resources, kept::cached)
    }

    /// As [`Self::read_by`], for the plan of a run.
    pub(crate) fn planned_by(&self, resources: &ResourceArgs) -> Result<Option<Self>, Failure> {
        self.by(resources, kept::planned)
    }

    fn by(
        &self,
        resources: &ResourceArgs,
        through: impl Fn(&KeptGraph, &[EdgeCacheAt]) -> Result<KeptGraph, Failure>,
    ) -> Result<Option<Self>, Failure> {
        let (requests, caches) = (resources.requests(), &resources.edge_cache);
        match self {
            Self::Kept(name, kept) if self.lies_elsewhere() || !caches.is_empty() => {
                let kept = elsewhere::for_caller(kept.as_ref().clone()).asked_by(requests);
                let kept = if caches.is_empty() { kept } else { through(&kept, caches)? };
                Ok(Some(Self::Kept(name.clone(), Box::new(kept))))
            }
            _ if !caches.is_empty() => {
                let what = "--edge-cache: only graphs that are kept in a bucket are kept here too";
                Err(Failure::usage(what).hint("ingest it, or leave --edge-cache out"))
            }
            _ => Ok(None),
        }
    }

    /// Whether it is a graph that lies in a bucket.
    pub(crate) fn lies_elsewhere(&self) -> bool {
        matches!(self, Self::Kept(_, kept) if kept.io().remote.is_some())
    }

    /// Whether its edges come from a bucket or a web server.
    pub(crate) fn comes_from_elsewhere(&self) -> bool {
        match self {
            Self::Files(names) => names.iter().any(|name| Location::of(name).is_some()),
            Self::Kept(..) => self.lies_elsewhere(),
            Self::Parts(..) | Self::Generator(..) | Self::InMemoryEdges(_) => false,
        }
    }

    /// Share of its edges that a disk of this machine has room for, in front of a bucket.
    pub(crate) fn pinned_share(&self) -> f64 {
        if let Self::Kept(_, kept) = self { kept.pinned_share() } else { 0.0 }
    }

    /// Whether bytes of it, or of tables of its vertices, are on their way from a bucket or a web
    /// server while it is read. A kept graph has plans of its own for that.
    pub(crate) fn arrives(&self, options: &ReadOptions) -> bool {
        let tables = &options.vertex_tables;
        let mut tables = tables.files.iter().chain(&tables.target_files).map(Path::new);
        let is_elsewhere = |path: &Path| Location::of(path).is_some();
        let edges = matches!(self, Self::Files(names) if names.iter().any(|it| is_elsewhere(it)));
        edges || tables.any(is_elsewhere)
    }

    /// Whether some of it are raw records in files of this machine, which are read as they lie.
    /// Files that cannot be opened are refused when they are read, and are none of these here.
    pub(crate) fn holds_raw(&self, options: &ReadOptions) -> bool {
        let Self::Files(names) = self else { return false };
        let is_here = |name: &&PathBuf| !source::is_pipe(name) && Location::of(name).is_none();
        let mut here = names.iter().filter(is_here);
        here.any(|name| source::Source::open(name, options.format).is_ok_and(|it| is_raw(&it)))
    }

    /// Names of the files that it is read from, with those that are read beside them.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Files(paths) => {
                let with_others = |path: &PathBuf| {
                    std::iter::once(path.clone()).chain(beside(path)).collect::<Vec<_>>()
                };
                paths.iter().flat_map(with_others).collect()
            }
            Self::Kept(_, kept) => kept.cache_files().map(Path::to_owned).collect(),
            Self::Parts(..) | Self::Generator(..) | Self::InMemoryEdges(_) => Vec::new(),
        }
    }

    /// Whether it can be read more than once, which a pipe cannot.
    pub(crate) fn lasts(&self) -> bool {
        let is_file = |name: &PathBuf| {
            Location::of(name).is_some() || fs::metadata(name).is_ok_and(|found| found.is_file())
        };
        match self {
            Self::Files(names) => names.iter().all(is_file),
            Self::Generator(..) | Self::Kept(..) | Self::Parts(..) | Self::InMemoryEdges(_) => true,
        }
    }

    /// The estimate before reading.
    pub(crate) fn estimate(&self, options: &ReadOptions) -> Result<Estimate, Failure> {
        match self {
            Self::Files(names) => Ok(welter_input::estimate(names, options)?),
            Self::Kept(_, kept) => {
                let manifest = kept.manifest();
                let both_ways = manifest.reading.undirected;
                let edges = if both_ways { manifest.edges.div_ceil(2) } else { manifest.edges };
                Ok(Estimate {
                    bytes: Some(manifest.bytes()),
                    edges: Some(edges),
                    exact: !both_ways,
                    slots: Some(manifest.vertices),
                    slots_seen: None,
                    ids: kept::id_kind(manifest),
                    weighted: manifest.weighted,
                    undirected: options.undirected.or(Some(both_ways)),
                })
            }
            Self::Parts(_, parts) => Ok(kept_parts::estimate(parts, options)),
            Self::InMemoryEdges(held) => Ok(held.estimate(options)),
            Self::Generator(..) => {
                let edges = self.generate()?;
                Ok(Estimate {
                    bytes: Some(0),
                    edges: Some(edges.edges()),
                    exact: true,
                    slots: edges.slots(),
                    slots_seen: None,
                    ids: IdKind::Integers,
                    weighted: edges.weighted(),
                    undirected: options.undirected,
                })
            }
        }
    }

    /// Bytes of memory that an edge will take from when it is read until it is ingested: the least
    /// that is possible, so that nothing is refused which may fit.
    pub(crate) fn edge_bytes_min(
        &self,
        options: &ReadOptions,
        weighted: bool,
    ) -> Result<u64, Failure> {
        let Self::Files(names) = self else { return Ok(0) };
        for name in names {
            if source::is_pipe(name) {
                continue;
            }
            let source = source::Source::open(name, options.format)?;
            if !is_raw(&source) {
                return Ok(if weighted { 16 } else { 8 });
            }
        }
        Ok(0)
    }

    /// Bytes of memory that it takes while it is read, and bytes of its ids, where both are known
    /// beforehand.
    pub(crate) fn opened_bytes(&self, options: &ReadOptions) -> Result<(u64, u64), Failure> {
        match self {
            Self::Kept(_, kept) => {
                let (edges, ids) = kept.stream(options.weight != WeightChoice::Ignore)?;
                Ok((edges.resident_bytes(), ids.bytes()))
            }
            Self::Parts(name, parts) => {
                let Loaded { edges, ids, .. } = kept_parts::load(name, parts, options)?;
                Ok((edges.resident_bytes(), ids.bytes()))
            }
            Self::Files(_) | Self::Generator(..) | Self::InMemoryEdges(_) => Ok((0, 0)),
        }
    }

    /// Whether sources and targets are two kinds of vertices, as far as is known before reading.
    pub(crate) fn has_two_kinds(&self) -> bool {
        match self {
            Self::InMemoryEdges(held) => held.has_two_kinds(),
            Self::Kept(_, kept) => kept::has_two_kinds(kept.manifest()),
            Self::Parts(_, parts) => kept_parts::are_of_two_kinds(parts),
            Self::Files(_) | Self::Generator(..) => false,
        }
    }

    /// Bytes of memory that it takes before and after it is read.
    pub(crate) fn held_bytes(&self) -> u64 {
        if let Self::InMemoryEdges(held) = self { held.bytes() } else { 0 }
    }

    /// Reads the edges, or gets the generator ready.
    pub(crate) fn load(
        &self,
        options: &ReadOptions,
        progress: &Progress,
    ) -> Result<Loaded, Failure> {
        match self {
            Self::Files(names) => {
                let input = welter_input::read(names, options, progress)?;
                let formats = input.summary.formats.iter().map(ToString::to_string);
                Ok(Loaded {
                    edges: input.edges,
                    ids: input.ids,
                    files: input.summary.files.into_iter().zip(formats).collect(),
                    readings: input.summary.readings,
                    bytes: input.summary.bytes,
                    undirected: input.summary.undirected.unwrap_or(false),
                    notes: input.summary.notes,
                })
            }
            Self::Kept(input, kept) => {
                if let WeightChoice::Column(column) = &options.weight {
                    let what = format!("{input}: columns were chosen when it was kept: {column}");
                    return Err(Failure::usage(what));
                }
                let (edges, ids) = kept.stream(options.weight != WeightChoice::Ignore)?;
                Ok(Loaded {
                    edges: Box::new(edges),
                    ids,
                    files: vec![(input.clone(), "kept".to_owned())],
                    readings: Vec::new(),
                    bytes: Some(kept.manifest().bytes()),
                    undirected: options.undirected.unwrap_or(kept.manifest().reading.undirected),
                    notes: Vec::new(),
                })
            }
            Self::Parts(name, parts) => kept_parts::load(name, parts, options),
            Self::InMemoryEdges(held) => held.lend(options),
            Self::Generator(input, _) => Ok(Loaded {
                edges: self.generate()?,
                ids: IdMap::Declared,
                files: vec![(input.clone(), "generated".to_owned())],
                readings: Vec::new(),
                bytes: None,
                undirected: options.undirected.unwrap_or(false),
                notes: Vec::new(),
            }),
        }
    }

    fn generate(&self) -> Result<Box<dyn EdgeStream>, Failure> {
        match self {
            Self::Files(_) | Self::Kept(..) | Self::Parts(..) | Self::InMemoryEdges(_) => {
                Err(Failure::usage("files are read and not generated"))
            }
            Self::Generator(_, generated) => stream(generated),
        }
    }
}

/// Whether a file is read as it lies, whenever its edges are wanted.
fn is_raw(file: &source::Source) -> bool {
    matches!(file.format(), Format::Raw(_) | Format::Graph500) && file.is_plain()
}

/// Files as they are shown: the first, and how many more.
pub(crate) fn shown(names: &[PathBuf]) -> String {
    match names {
        [] => String::new(),
        [only] => only.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
    }
}

/// A generated graph. Takes microseconds.
pub(crate) fn stream(generated: &Generated) -> Result<Box<dyn EdgeStream>, Failure> {
    Ok(match generated {
        Generated::Rmat(options) => Box::new(Rmat::new(options)?),
        Generated::Web(options) => Box::new(Web::new(options)?),
    })
}
