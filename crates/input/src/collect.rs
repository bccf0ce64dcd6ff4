//! Where readers leave what they parsed: parts, in any order of time, numbered in input order.
//!
//! Beside parts a source may state its vertices, whether its edges are undirected, and what a
//! person should know about how it was read.
//!
//! Invariant: parts come out in the order (source, number), whatever thread pushed them when, so
//! the order of edges never depends on scheduling. The bytes held never exceed the stated budget by
//! more than one part a thread. Where there are scratch directories, parts take half of the budget
//! at most: what would be more is written to files, all of it, and every part from then on; one
//! write of each edge, by the thread that parsed it. Tested by `parts_come_out_in_input_order`,
//! `more_than_the_budget_is_refused` and `dense_ids_from_every_kind_of_source`.

mod directions;
mod kinds;
mod part;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use welter_model::two_kinds::Side;
use welter_progress::{PhaseReport, Progress};

pub(crate) use self::directions::agreed;
pub use self::part::{DeclaredVertices, EdgeRun, Ids, SLOTS_MAX};
pub(crate) use self::part::{PlacedRun, count_fits};
use crate::error::InputError;
use crate::ids::sides::{Largest, lettered};
use crate::reading::{self, FileSummary, PassedOver};
use crate::temp::TempFiles;
use crate::temp::blob::Blob;
use crate::temp::parts::{Aside, Spilled};

/// Gathers the parts of all sources.
#[derive(Debug, Default)]
pub struct Collector {
    state: Mutex<State>,
    memory_bytes_max: Option<u64>,
    /// Where parts go that do not fit; no directory: nowhere.
    directories: Vec<PathBuf>,
    /// Progress in the input, by which room on files is foreseen.
    progress: Progress,
    /// Whether sources and targets are two kinds of vertices; `None` leaves it to formats.
    two_kinds: Option<bool>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<String>,
    parts: Vec<PlacedRun>,
    /// Bytes that the parts take.
    part_bytes: u64,
    /// Bytes that vertices take, and those that readers hold for themselves.
    other_bytes: u64,
    spilled: Vec<Spilled>,
    /// Files that all parts go to, once the first did not fit.
    scratch: Option<TempFiles>,
    /// With the sources that said it.
    stated: Vec<(usize, DeclaredVertices)>,
    /// Statements of one of two kinds, with the sources that said them.
    sided: Vec<(usize, Side, DeclaredVertices)>,
    /// Sources that state that theirs are two kinds of vertices.
    two_kinds: Vec<usize>,
    /// Of parts of two kinds.
    largest: Largest,
    /// Integers that will be asked for.
    named: Vec<u64>,
    undirected: Vec<(usize, bool)>,
    notes: Vec<String>,
    readings: Vec<FileSummary>,
}

/// Parts that the sources handed over.
pub(crate) struct CollectedParts {
    pub(crate) files: Vec<String>,
    pub(crate) parts: Vec<PlacedRun>,
    pub(crate) stated: Vec<(usize, DeclaredVertices)>,
    /// Vertices of each of two kinds.
    pub(crate) sided: Vec<(usize, Side, DeclaredVertices)>,
    /// The largest ids of sources and of targets, where they are two kinds of vertices.
    pub(crate) largest: Option<Largest>,
    pub(crate) named: Vec<u64>,
    pub(crate) memory_bytes_max: Option<u64>,
    /// Where files can be made for parts that are in memory.
    pub(crate) directories: Vec<PathBuf>,
    /// Parts on files, and then all of them, with those files.
    pub(crate) spilled: Option<(TempFiles, Vec<Spilled>)>,
}

impl Collector {
    /// An empty collector, which refuses to hold more than `memory_bytes_max`.
    pub fn new(memory_bytes_max: Option<u64>) -> Self {
        Self { memory_bytes_max, ..Self::default() }
    }

    /// A collector whose parts go to files in these directories when all of them would take more
    /// than half of `memory_bytes_max`. The phase of `progress` that is running says how much there
    /// is to come, where it knows.
    pub fn with_scratch(
        memory_bytes_max: Option<u64>,
        directories: &[PathBuf],
        progress: &Progress,
    ) -> Self {
        let (directories, progress) = (directories.to_vec(), progress.clone());
        Self { memory_bytes_max, directories, progress, ..Self::default() }
    }

    /// Begins the next source, in the order of the inputs. Part numbers begin anew.
    pub(crate) fn begin(&self, file: &str) {
        let mut state = self.lock();
        state.files.push(file.to_owned());
        let name = file.to_owned();
        state.readings.push(FileSummary { name, ..FileSummary::default() });
    }

    /// Begins tables of vertices, which hold no edges: what is stated next is theirs.
    pub(crate) fn begin_vertices(&self, files: &str) {
        self.lock().files.push(files.to_owned());
    }

    /// Takes a part of the present source. `number` orders the parts of a source; numbers may come
    /// in any order and may have gaps. Parts without edges are dropped.
    ///
    /// # Errors
    /// [`InputError::Budget`] when more memory is held than the run may take, and where files help
    /// against that, when they cannot be made or written.
    pub fn push(&self, number: u64, mut part: EdgeRun) -> Result<(), InputError> {
        debug_assert!(part.weights.as_ref().is_none_or(|weights| weights.len() == part.ids.len()));
        if part.ids.is_empty() {
            return Ok(());
        }
        if self.has_two_kinds() {
            let mut largest = Largest::default();
            largest.see(&part.ids);
            self.lock().largest.merge(largest);
            part.ids = lettered(part.ids);
        }
        let bytes = part.bytes();
        let mut state = self.make_room(bytes)?;
        let source = state.source();
        let Some(scratch) = state.scratch.clone() else {
            state.part_bytes += bytes;
            self.within_budget(&state)?;
            state.parts.push(PlacedRun { source, number, part });
            return Ok(());
        };
        drop(state);
        let spilled = Spilled::write(&scratch, PlacedRun { source, number, part })?;
        self.lock().spilled.push(spilled);
        self.foresee(&scratch)
    }

    /// States vertices of the present source. May be called more than once: all of them exist.
    ///
    /// # Errors
    /// [`InputError::Content`] when a range ends beyond 2^64,
    /// [`InputError::Budget`] when more memory is held than the run may take.
    pub fn state(&self, stated: DeclaredVertices) -> Result<(), InputError> {
        if self.has_two_kinds() {
            let file = self.lock().files.last().cloned().unwrap_or_default();
            let what = format!(
                "{file}: states its vertices, of one kind; --bipartite is for rows of text, tables \
                 and matrices"
            );
            return Err(InputError::Options { what });
        }
        let bytes = self.stated_bytes(&stated)?;
        let mut state = self.hold(bytes)?;
        let source = state.source();
        state.stated.push((source, stated));
        Ok(())
    }

    /// Bytes of stated vertices, which end below 2^64.
    fn stated_bytes(&self, stated: &DeclaredVertices) -> Result<u64, InputError> {
        Ok(match stated {
            DeclaredVertices::Range { first, count } => {
                let beyond = || format!("expected vertex ids below 2^64, found {first} + {count}");
                let fits = first.checked_add(*count).map(|_| ()).ok_or_else(beyond);
                let file = || self.lock().files.last().cloned().unwrap_or_default();
                fits.map_err(|what| InputError::content(&file(), what))?;
                0
            }
            DeclaredVertices::Integers(ids) => size_of_val(&ids[..]) as u64,
            DeclaredVertices::Names(names) => names.bytes(),
        })
    }

    /// Notes integers that will be asked for, such as sources. Where vertices without edges
    /// share a slot, these have slots of their own, if they are vertices.
    pub fn name(&self, ids: &[u64]) {
        self.lock().named.extend(ids);
    }

    /// Notes something about the present source that a person should know, though it is no error:
    /// one sentence without the name of the file.
    pub fn note(&self, what: &str) {
        let mut state = self.lock();
        let file = state.files.last().cloned().unwrap_or_default();
        state.notes.push(format!("{file}: {what}"));
    }

    /// Says how the present source is read.
    pub fn describe(&self, describe: impl FnOnce(&mut FileSummary)) {
        if let Some(file) = self.lock().readings.last_mut() {
            describe(file);
        }
    }

    /// Counts lines of the present source that were passed over.
    pub fn pass_over(&self, lines: PassedOver) {
        if lines != PassedOver::default() {
            self.describe(|file| file.passed.add(lines));
        }
    }

    /// Refuses the present source if its columns are others than those of the first.
    pub(crate) fn agree(&self) -> Result<(), InputError> {
        reading::agreed(&self.lock().readings)
    }

    /// Readings of the sources, in input order.
    pub(crate) fn readings(&self) -> Vec<FileSummary> {
        self.lock().readings.clone()
    }

    /// The notes, in input order.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.lock().notes.clone()
    }

    /// All parts in input order, with the names of the sources and what they state.
    pub(crate) fn gathered(self) -> CollectedParts {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let State { files, mut parts, stated, named, scratch, mut spilled, .. } = state;
        let two_kinds = self.two_kinds.unwrap_or(!state.two_kinds.is_empty());
        let (sided, largest) = (state.sided, two_kinds.then_some(state.largest));
        parts.sort_by_key(|placed| (placed.source, placed.number));
        spilled.sort_by_key(|spilled| (spilled.source, spilled.number));
        let spilled = scratch.map(|scratch| (scratch, spilled));
        let Self { memory_bytes_max, directories, .. } = self;
        CollectedParts {
            files,
            parts,
            stated,
            sided,
            largest,
            named,
            memory_bytes_max,
            directories,
            spilled,
        }
    }

    /// Keeps a part that its reader cannot push before it has seen others: in memory, or on a file
    /// once no more than half of the budget is left.
    ///
    /// # Errors
    /// As of [`Collector::push`].
    pub(crate) fn set_aside(&self, part: EdgeRun) -> Result<Aside, InputError> {
        let bytes = part.bytes();
        let mut state = self.make_room(bytes)?;
        if let Some(scratch) = state.scratch.clone() {
            drop(state);
            let blob = Blob::write(&scratch, part)?;
            self.foresee(&scratch)?;
            return Ok(Aside::File(scratch, blob));
        }
        state.other_bytes += bytes;
        self.within_budget(&state)?;
        Ok(Aside::Memory(part))
    }

    /// Hands back a part that was set aside.
    ///
    /// # Errors
    /// When it cannot be read from its file.
    pub(crate) fn take(&self, aside: Aside) -> Result<EdgeRun, InputError> {
        match aside {
            Aside::Memory(part) => {
                self.lock().other_bytes -= part.bytes();
                Ok(part)
            }
            Aside::File(scratch, blob) => blob.load(&scratch),
        }
    }

    /// Counts bytes that are held from now on and can go nowhere else.
    fn hold(&self, bytes: u64) -> Result<MutexGuard<'_, State>, InputError> {
        let mut state = self.make_room(bytes)?;
        state.other_bytes += bytes;
        self.within_budget(&state)?;
        Ok(state)
    }

    /// Refuses what is more than the run may take. Parts that are on their way to files are not
    /// checked against it.
    fn within_budget(&self, state: &State) -> Result<(), InputError> {
        let parts = if state.scratch.is_some() { 0 } else { state.part_bytes };
        match self.memory_bytes_max.filter(|allowed| parts + state.other_bytes > *allowed) {
            Some(allowed_bytes) => {
                let file = state.files.last().cloned().unwrap_or_default();
                Err(InputError::Budget { file, allowed_bytes })
            }
            None => Ok(()),
        }
    }

    /// Moves all parts to files if `bytes` more bytes would be too many, and there can be files.
    fn make_room(&self, bytes: u64) -> Result<MutexGuard<'_, State>, InputError> {
        let mut state = self.lock();
        let held = state.part_bytes + state.other_bytes + bytes;
        let room = self.memory_bytes_max.is_none_or(|allowed| held <= allowed / 2);
        if room || self.directories.is_empty() || state.scratch.is_some() {
            return Ok(state);
        }
        let scratch = state.scratch.insert(TempFiles::make(&self.directories)?).clone();
        let parts = std::mem::take(&mut state.parts);
        state.part_bytes = 0;
        // Others continue meanwhile, and write the parts that they have parsed.
        drop(state);
        for placed in parts {
            let spilled = Spilled::write(&scratch, placed)?;
            self.lock().spilled.push(spilled);
        }
        self.foresee(&scratch)?;
        Ok(self.lock())
    }

    /// Ends the run as soon as parts will not fit on files, by what those that were read take.
    fn foresee(&self, scratch: &TempFiles) -> Result<(), InputError> {
        match self.progress.current() {
            Some(PhaseReport { done, total: Some(total), .. }) => scratch.foresee(done, total),
            _ => Ok(()),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Number of the present source.
    fn source(&self) -> usize {
        self.files.len().saturating_sub(1)
    }
}
