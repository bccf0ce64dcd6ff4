//! A kept graph over several disks: of its files of chunks, and of those of each large column, all
//! but the first lie in directories of other disks, and links in its folder lead to them.
//!
//! ```text
//! DIR/gen-0/edges-0                               extents, by turns
//!           edges-1 ─► DISK/NAME-NUMBER.edges-1   the next of them
//!           edges-2 ─► OTHER/NAME-NUMBER.edges-2
//!           ids                                   blocks of a large column, by turns
//!           ids-1   ─► DISK/NAME-NUMBER.ids-1     the next of them
//!           ids-2   ─► OTHER/NAME-NUMBER.ids-2
//! ```
//! A reader follows links without knowing, a copy that follows them is the same graph in one
//! directory, and a file that was moved is found again where its link is made anew. The number of
//! the graph keeps names apart; chunks say which graph they belong to, as they do on one disk.
//!
//! Invariants: a link is on the device before the file that it leads to is made, so whatever ends
//! an ingest, all that it made is found by its directory · nothing is removed by a link but a file
//! that is named as one of ours. Checked in `lay` and `part`. Tested by
//! `a_kill_leaves_nothing_on_any_disk_once_the_next_ingest_has_cleared_it` and
//! `what_a_link_leads_to_is_removed_if_it_is_ours_alone`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_store::io::{Faults, Volume};
use welter_store::{StoreError, durable};

use super::manifest::{KeptFile, column_of};

/// Beginning of the names of files of chunks; their number follows.
const EDGES: &str = "edges-";
/// Hexadecimal digits of the number of a graph.
const DIGITS: usize = 16;

/// Name of a file of chunks.
pub(super) fn chunks_name(turn: usize) -> String {
    format!("{EDGES}{turn}")
}

/// Files of a graph that is being made, which are named by their turns: one in its folder, and one
/// in each of the directories of other disks, to which links are made. `target`: where the graph
/// will be.
pub(super) fn lay(
    (folder, target, number): (&Path, &Path, u64),
    named: impl Fn(usize) -> String,
    disks: &[PathBuf],
    faults: Option<&Arc<Faults>>,
) -> Result<Vec<PathBuf>, StoreError> {
    let graph = target.file_name().unwrap_or_default().to_string_lossy();
    let mut files = vec![folder.join(named(0))];
    for (disk, turn) in disks.iter().zip(1..) {
        let failed = |source| StoreError::Create { file: disk.clone(), source };
        // A link leads there from wherever the graph is opened.
        let disk = fs::canonicalize(disk).map_err(failed)?;
        let name = named(turn);
        let file = disk.join(format!("{graph}-{number:0DIGITS$x}.{name}"));
        if fs::symlink_metadata(&file).is_ok() {
            return Err(StoreError::Create { file, source: ErrorKind::AlreadyExists.into() });
        }
        durable::link(&folder.join(name), &file, faults)?;
        files.push(file);
    }
    if !disks.is_empty() {
        durable::sync_directory(folder, faults)?;
    }
    Ok(files)
}

/// The files of a volume of chunks, as a manifest lists them.
pub(super) fn listed(volume: &Volume) -> Vec<KeptFile> {
    let lengths = volume.lengths().enumerate();
    let file = |(turn, bytes)| KeptFile { name: chunks_name(turn), bytes, checksum: 0 };
    lengths.map(file).collect()
}

/// Where a file of a graph is: where its link leads, if it has one.
pub(super) fn place(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(name);
    match fs::read_link(&file) {
        Ok(target) => folder.join(target),
        Err(_) => file,
    }
}

/// Whether a file is named as one of chunks.
pub(super) fn is_chunks(name: &str) -> bool {
    name.strip_prefix(EDGES).is_some_and(|turn| turn.parse::<u16>().is_ok())
}

/// Whether a file of the folder of a generation is named so.
pub(super) fn is_of_generation(name: &str) -> bool {
    is_chunks(name) || column_of(name).is_some()
}

/// The file that a link of a folder leads to, if both are named as ours are.
pub(super) fn part(link: &Path) -> Option<PathBuf> {
    let name = link.file_name()?.to_str()?;
    let file = link.parent()?.join(fs::read_link(link).ok()?);
    let (graph, turn) = file.file_name()?.to_str()?.rsplit_once('.')?;
    let (_, number) = graph.rsplit_once('-')?;
    let is_number = number.len() == DIGITS && number.bytes().all(|digit| digit.is_ascii_hexdigit());
    (is_of_generation(name) && turn == name && is_number).then_some(file)
}

/// Removes the files that links of a folder lead to.
pub(super) fn remove_parts(folder: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let parts = entries.flatten().filter_map(|entry| part(&entry.path()));
    parts.filter(|part| part.is_file()).try_for_each(|part| durable::remove(&part, faults))
}
