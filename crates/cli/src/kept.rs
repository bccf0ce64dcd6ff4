//! Graphs that are kept, as inputs of commands: how one is opened, and what may be said of it.

use std::path::{Path, PathBuf};

use welter_engine::EngineError;
use welter_engine::kept::{self, KeptGraph, Manifest};
use welter_input::IdKind;
use welter_input::source::says_format;
use welter_objects::Location;
use welter_progress::FailureKind;
use welter_store::StoreError;
use welter_store::io::IoOptions;

use crate::args::{EdgeCacheAt, InputArgs};
use crate::elsewhere;
use crate::failure::Failure;
use crate::local;

/// The kept graph among some inputs, if there is one, and how the user named it.
///
/// A bucket or a web server is asked whether there is a manifest, where one input is named and its
/// name does not say that it is a file.
pub(crate) fn among(inputs: &[PathBuf]) -> Result<Option<(&Path, KeptGraph)>, Failure> {
    if let Some(input) = inputs.iter().find(|input| kept::is_kept(input)) {
        return Ok(Some((input, open(input)?)));
    }
    let [input] = inputs else { return Ok(None) };
    match Location::of(input) {
        Some(Ok(at)) if may_be_graph(input, &at.key) => {}
        _ => return Ok(None),
    }
    let io = elsewhere::io(input)?;
    match open_elsewhere(input, &io) {
        Ok(kept) => Ok(Some((input, kept))),
        // Some web servers answer with a page to whatever they are asked for.
        Err(EngineError::Store(
            StoreError::Damaged { offset: 0, .. } | StoreError::Ended { .. },
        )) if elsewhere::is_web(input) => Ok(None),
        // A user who may not list a bucket does not learn that an object is not there; reading it
        // as a file says what is wrong, if that is refused too.
        Err(EngineError::Store(StoreError::Missing { .. } | StoreError::Remote { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether the key of a bucket may be that of a folder with a graph in it.
fn may_be_graph(input: &Path, key: &str) -> bool {
    !key.contains(['*', '?', '[']) && !says_format(input)
}

/// Opens a graph in a bucket, or a copy of one on a web server.
fn open_elsewhere(directory: &Path, io: &IoOptions) -> Result<KeptGraph, EngineError> {
    let open = if elsewhere::is_web(directory) { KeptGraph::open_copy } else { KeptGraph::open };
    open(&elsewhere::trimmed(directory), io)
}

/// Opens a directory that a user named as a kept graph.
pub(crate) fn open(directory: &Path) -> Result<KeptGraph, Failure> {
    let io = elsewhere::io(directory)?;
    if io.remote.is_some() {
        return open_elsewhere(directory, &io).map_err(|error| match error {
            EngineError::Store(StoreError::Missing { .. }) => not_here(directory),
            error => error.into(),
        });
    }
    if directory.is_dir() && !kept::is_kept(directory) {
        return Err(not_here(directory));
    }
    if !directory.exists() {
        let path = directory.display();
        return Err(Failure::new(
            FailureKind::Missing,
            format!("{path}: there is no such directory"),
        ));
    }
    Ok(KeptGraph::open(directory, &io)?)
}

/// The failure of a directory without a graph.
pub(crate) fn not_here(directory: &Path) -> Failure {
    let path = directory.display();
    let what = format!("{path}: no graph is kept here: there is no manifest");
    Failure::new(FailureKind::Missing, what)
}

/// A graph in a bucket, read through what is kept of it in directories of this machine.
pub(crate) fn cached(kept: &KeptGraph, caches: &[EdgeCacheAt]) -> Result<KeptGraph, Failure> {
    Ok(kept.clone().through_cache(&directories(kept, caches)?)?)
}

/// A graph in a bucket, as a run would read it through directories of this machine, in which
/// nothing is made.
pub(crate) fn planned(kept: &KeptGraph, caches: &[EdgeCacheAt]) -> Result<KeptGraph, Failure> {
    Ok(kept.clone().through_planned_cache(&directories(kept, caches)?)?)
}

/// Directories of a cache, each of which may have one, with the bytes of it.
fn directories(kept: &KeptGraph, caches: &[EdgeCacheAt]) -> Result<Vec<(PathBuf, u64)>, Failure> {
    let mut directories: Vec<(PathBuf, u64)> = Vec::new();
    for cache in caches {
        check_cache(kept, cache)?;
        let EdgeCacheAt { directory, bytes } = cache;
        let identity = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if directories.iter().any(|(other, _)| identity(other) == identity(directory)) {
            let what = format!("--edge-cache: {} is named twice", directory.display());
            return Err(Failure::usage(what).hint("name it once, with all that it may have"));
        }
        directories.push((directory.clone(), *bytes));
    }
    Ok(directories)
}

/// Refuses a cache that would be of no use, or in the place of something else.
fn check_cache(kept: &KeptGraph, cache: &EdgeCacheAt) -> Result<(), Failure> {
    let EdgeCacheAt { directory, .. } = cache;
    let name = directory.display();
    if kept.io().remote.is_none() {
        let what = format!("--edge-cache: {} lies on this machine", kept.path().display());
        return Err(Failure::usage(what).hint("leave --edge-cache out"));
    }
    local::only(directory, "edges are kept")?;
    if kept::is_kept(directory) || directory.join("checkpoint").is_file() {
        let what = format!("{name}: a graph or checkpoints are kept here");
        return Err(Failure::output(what).hint("name another directory for --edge-cache"));
    }
    Ok(())
}

/// Refuses what is said of an input and a kept graph cannot follow any more.
/// `is_undirected`: whether it was kept with every edge both ways.
pub(crate) fn refuse_reading(
    args: &InputArgs,
    (path, is_undirected): (&Path, bool),
) -> Result<(), Failure> {
    let path = path.display();
    if args.says_of_files() || args.says_of_vertices() || args.says_of_ids() {
        return Err(Failure::usage(format!(
            "{path}: a kept graph has been read; leave out what is said of formats, columns, ids \
             and vertices"
        )));
    }
    if args.direction.directed && is_undirected {
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
