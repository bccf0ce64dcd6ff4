//! A part of a graph while it is kept, and the list of all parts, which makes a graph of them.
//!
//! ```text
//! begin    parts that an ingest left that was killed are removed   DIR, without a list
//! keep     as any graph                                            DIR/part-R
//! publish  when all machines have kept theirs; whole parts of      DIR/parts
//!          others that were killed are removed before
//! ```
//! Machines that find each other's parts, as processes of one computer do, have one list, which the
//! first of them writes.
//!
//! Invariants: no part of a graph that has a list is removed but by who removes the graph · a part
//! that is being kept by another process is left · a draft removes a part that it has the lock on,
//! and no other. Checked in `refuse_to_replace_parts`, `remove_left` and `PartDraft::drop`. Tested
//! by `parts_without_a_list_are_no_graph`, `parts_of_another_process_are_left` and
//! `a_draft_that_ends_leaves_the_parts_of_others`.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use welter_store::io::IoOptions;
use welter_store::{StoreError, durable, sealed};

use super::KeptGraph;
use super::draft::{StaleStaging, clear, lock};
use super::parts::{KeptParts, LIST, PartEntry, PartsList, is_kept_in_parts, name_of, number_of};
use super::remove::remove;
use crate::EngineError;

/// A part that a machine is about to keep. It goes when this is dropped before the graph was
/// whole.
#[derive(Debug)]
pub struct PartDraft {
    directory: PathBuf,
    number: usize,
    /// Lock on the part, once it is kept.
    locked: Option<File>,
    has_list: bool,
    is_whole: bool,
}

impl PartDraft {
    /// Begins the part of this number, of as many, in a directory that may be that of others too.
    /// Removes what an ingest has left there that was killed: parts whose numbers are this one, or
    /// this one and the number of parts several times.
    ///
    /// # Errors
    /// When there is a graph or something else, or nothing can be made there.
    pub fn begin(
        directory: &Path,
        (number, parts): (usize, usize),
    ) -> Result<(Self, StaleStaging), StoreError> {
        refuse_to_replace_parts(directory)?;
        make(directory)?;
        let is_own = |left: usize| left % parts.max(1) == number;
        let stale = remove_left(directory, is_own)?;
        let directory = directory.to_owned();
        let draft = Self { directory, number, locked: None, has_list: false, is_whole: false };
        Ok((draft, stale))
    }

    /// Makes its directory anew, right before the part is kept: other ingests that ended have
    /// removed one in which there was nothing yet.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_again(&self) -> Result<(), StoreError> {
        make(&self.directory)
    }

    /// Directory in which the part is to be kept.
    pub fn path(&self) -> PathBuf {
        self.directory.join(name_of(self.number))
    }

    /// The entry of the part, once it is kept here.
    ///
    /// # Errors
    /// When it cannot be read, or another process removes it.
    pub fn entry(&mut self) -> Result<PartEntry, EngineError> {
        let path = self.path();
        self.locked = Some(lock(&path).ok_or_else(|| busy(&path))?);
        PartEntry::of(&KeptGraph::open(&path, &IoOptions::default())?)
    }

    /// Writes the list, unless the machine of an earlier part does so here. Before that it removes
    /// whole parts here that it does not name: those of an ingest that was killed, under other
    /// numbers.
    ///
    /// # Errors
    /// When it cannot be written, there is one, or such a part cannot be removed.
    pub fn publish(&mut self, list: &PartsList) -> Result<StaleStaging, StoreError> {
        let here = |number: usize| graph_of(&self.directory.join(name_of(number)));
        let named = |number: usize| Some(list.parts().get(number)?.graph);
        if (0..self.number).any(|number| here(number).is_some_and(|it| Some(it) == named(number))) {
            return Ok(StaleStaging::default());
        }
        let file = self.directory.join(LIST);
        if is_kept_in_parts(&self.directory) {
            // Another ingest has ended here meanwhile.
            return Err(StoreError::Create { file, source: ErrorKind::AlreadyExists.into() });
        }
        let is_stray = |number: usize| here(number).is_some_and(|it| Some(it) != named(number));
        let stale = remove_left(&self.directory, is_stray)?;
        self.has_list = true;
        sealed::seal(&file, &list.identity(), &list.encode(), None)?;
        Ok(stale)
    }

    /// Leaves the part to the graph, which is whole.
    pub fn end(mut self) {
        self.is_whole = true;
    }
}

impl Drop for PartDraft {
    fn drop(&mut self) {
        if self.is_whole {
            return;
        }
        // The error cannot be reported any more, and the next ingest removes what is left.
        if self.has_list {
            let _ = durable::remove(&self.directory.join(LIST), None);
        }
        // A part that this one has no lock on is that of another ingest, or none.
        if let Some(locked) = self.locked.take() {
            let _ = remove(&self.path());
            drop(locked);
        }
        // Others may have parts in it.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// Number of the graph of a part, if it can be opened.
fn graph_of(part: &Path) -> Option<u64> {
    let kept = KeptGraph::open(part, &IoOptions::default()).ok()?;
    Some(kept.manifest().graph)
}

/// Makes the directory of parts, unless it is there.
fn make(directory: &Path) -> Result<(), StoreError> {
    match durable::make_directory(directory, None) {
        Err(StoreError::Create { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
            Ok(())
        }
        made => made,
    }
}

/// The error about a part that another process has.
fn busy(part: &Path) -> StoreError {
    let source = io::Error::new(ErrorKind::ResourceBusy, "another process keeps a graph there");
    StoreError::Create { file: part.to_owned(), source }
}

/// Refuses a directory that has a graph in it, or anything that no ingest into parts has left.
///
/// # Errors
/// [`StoreError::Create`] then.
pub fn refuse_to_replace_parts(directory: &Path) -> Result<(), StoreError> {
    let is_free = directory.symlink_metadata().is_err();
    let is_empty = || names(directory).is_ok_and(|names| names.is_empty());
    if is_free || has_left_parts(directory) || is_empty() {
        return Ok(());
    }
    Err(StoreError::Create { file: directory.to_owned(), source: ErrorKind::AlreadyExists.into() })
}

/// Whether a directory has nothing but what an ingest into parts leaves that does not end. Plain
/// files may have names of parts.
pub fn has_left_parts(directory: &Path) -> bool {
    let is_ours = |name: &String| is_ours(directory, name);
    let are_left = |names: Vec<String>| !names.is_empty() && names.iter().all(is_ours);
    !is_kept_in_parts(directory) && names(directory).is_ok_and(are_left)
}

/// Names in a directory.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Name of what is made under a temporary name.
fn stem(name: &str) -> &str {
    let stem = name.strip_prefix('.').and_then(|name| Some(name.split_once(".tmp-")?.0));
    stem.unwrap_or(name)
}

/// Whether what has this name in a directory may be of an ingest into parts: the list, or a
/// directory that is named as a part.
fn is_ours(directory: &Path, name: &str) -> bool {
    // Another machine may have removed it by now.
    let found = fs::metadata(directory.join(name)).ok();
    let is_part =
        number_of(stem(name)).is_some() && found.as_ref().is_none_or(fs::Metadata::is_dir);
    is_part || stem(name) == LIST && found.is_none_or(|it| !it.is_dir())
}

/// Removes parts, whole or not, that `is_own` says of their numbers.
fn remove_left(
    directory: &Path,
    is_own: impl Fn(usize) -> bool,
) -> Result<StaleStaging, StoreError> {
    let failed = |source| StoreError::Io { what: "read it", file: directory.to_owned(), source };
    let names = names(directory).map_err(failed)?;
    let mut numbers: Vec<usize> = names.iter().filter_map(|name| number_of(stem(name))).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut stale = StaleStaging::default();
    for number in numbers.into_iter().filter(|number| is_own(*number)) {
        let path = directory.join(name_of(number));
        let StaleStaging { removed, left } = clear(&path);
        stale.removed.extend(removed);
        stale.left.extend(left);
        if !path.is_dir() {
            continue;
        }
        let _locked = lock(&path).ok_or_else(|| busy(&path))?;
        match remove(&path) {
            // A removal that was cut short has left a folder.
            Err(StoreError::Missing { .. }) => drop(fs::remove_dir(&path)),
            removed => removed?,
        }
        if path.is_dir() { stale.left.push(path) } else { stale.removed.push(path) }
    }
    Ok(stale)
}

/// Removes a graph in parts, as far as it is here, or what is left of one: the list first, then all
/// parts.
///
/// # Errors
/// [`StoreError::Missing`] where there is none; when something else is in the directory, and when
/// something cannot be removed.
pub fn remove_parts(directory: &Path) -> Result<(), StoreError> {
    let list = directory.join(LIST);
    let found = names(directory).unwrap_or_default();
    if !found.iter().any(|name| is_ours(directory, name)) {
        return Err(StoreError::Missing { file: list });
    }
    if !found.iter().all(|name| is_ours(directory, name)) {
        let what = "remove it, since not all in it is of a kept graph";
        let source = ErrorKind::DirectoryNotEmpty.into();
        return Err(StoreError::Io { what, file: directory.to_owned(), source });
    }
    durable::remove(&list, None)?;
    durable::sync_directory(directory, None)?;
    remove_left(directory, |_| true)?;
    for name in found.iter().filter(|name| stem(name) == LIST) {
        durable::remove(&directory.join(name), None)?;
    }
    durable::remove_directory(directory, None)?;
    let parent = directory.parent().filter(|parent| *parent != Path::new(""));
    durable::sync_directory(parent.unwrap_or(Path::new(".")), None)
}

/// Removes remains of ingests of this computer into parts that did not end, as far as no process
/// has them: parts without a list, or with one that names others. Says what was removed; the next
/// ingest removes what cannot be removed now.
pub fn clear_left_parts(directory: &Path) -> StaleStaging {
    let list = directory.join(LIST);
    if is_kept_in_parts(directory) {
        let parts = KeptParts::open(directory, &IoOptions::default());
        if parts.is_ok_and(|parts| parts.are_all_here()) {
            return StaleStaging::default();
        }
        let _ = durable::remove(&list, None);
    }
    let mut stale = StaleStaging::default();
    if has_left_parts(directory) {
        stale = remove_left(directory, |_| true).unwrap_or_default();
        let lists = names(directory).unwrap_or_default().into_iter();
        for name in lists.filter(|name| stem(name) == LIST) {
            let _ = durable::remove(&directory.join(name), None);
        }
    }
    // Where there is something else it stays.
    let _ = durable::remove_directory(directory, None);
    stale
}
