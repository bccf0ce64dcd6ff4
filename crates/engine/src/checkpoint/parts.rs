//! Directories of other disks that hold parts of the states of a run, and links that lead there.
//!
//! ```text
//! DIR/checkpoint                 names how many parts each state has
//!     state-40                   pieces 0, 2, 4, ... of the payload          sealed
//!     part-1 ─► DISK/NAME-NUMBER.parts
//!               DISK/NAME-NUMBER.parts/state-40   pieces 1, 3, 5, ...        sealed
//! ```
//! A directory that was moved is found again where its link is made anew.
//!
//! Invariants: a link is on the device before the directory that it leads to is made, so whatever
//! ends a run, all that it made is found by its directory · nothing is removed by a link but states
//! in a directory that is named as one of ours. Checked in `lay` and `of`. Tested by
//! `a_kill_leaves_states_on_several_disks_whole` and `what_a_link_leads_to_is_ours_or_stays`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use welter_store::io::Faults;
use welter_store::{StoreError, durable};

use super::files::{is_state, is_temporary};

/// Beginning of the names of links; their number follows.
const LINK: &str = "part-";
/// Ending of the names of directories that they lead to.
const ENDING: &str = ".parts";
/// Hexadecimal digits of the number of a run.
const DIGITS: usize = 16;

/// Makes a directory on each of the disks, with a link that leads to it.
pub(super) fn lay(
    directory: &Path,
    run: u64,
    disks: &[PathBuf],
    faults: Option<&Arc<Faults>>,
) -> Result<Vec<PathBuf>, StoreError> {
    let whole = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut parts = Vec::new();
    for (disk, turn) in disks.iter().zip(1..) {
        let failed = |source| StoreError::Create { file: disk.clone(), source };
        // A link leads there from wherever the run is resumed.
        let disk = fs::canonicalize(disk).map_err(failed)?;
        let part = disk.join(format!("{name}-{run:0DIGITS$x}{ENDING}"));
        let part = if parts.contains(&part) {
            disk.join(format!("{name}-{turn}-{run:0DIGITS$x}{ENDING}"))
        } else {
            part
        };
        durable::link(&directory.join(format!("{LINK}{turn}")), &part, faults)?;
        parts.push(part);
    }
    if !parts.is_empty() {
        durable::sync_directory(directory, faults)?;
    }
    parts.iter().try_for_each(|part| durable::make_directory(part, faults))?;
    Ok(parts)
}

/// Directories that `count` links lead to, whether or not they are there.
pub(super) fn found(directory: &Path, count: u32) -> Vec<PathBuf> {
    let link = |turn| directory.join(format!("{LINK}{turn}"));
    let place = |link: PathBuf| match fs::read_link(&link) {
        Ok(target) => directory.join(target),
        Err(_) => link,
    };
    (1..=count).map(link).map(place).collect()
}

/// The directory that a link leads to, if both are named as ours are.
pub(super) fn of(link: &Path) -> Option<PathBuf> {
    let turn = link.file_name()?.to_str()?.strip_prefix(LINK)?;
    turn.parse::<u16>().ok()?;
    let part = link.parent()?.join(fs::read_link(link).ok()?);
    let (_, number) = part.file_name()?.to_str()?.strip_suffix(ENDING)?.rsplit_once('-')?;
    let is_number = number.len() == DIGITS && number.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then_some(part)
}

/// Links of a directory that are named as ours.
fn links(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut links: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    links.retain(|path| of(path).is_some());
    links.sort();
    links
}

/// Removes states and files that were being written from a part, but those that `is_named` names.
/// A part that is not there has none.
pub(super) fn clear(
    part: &Path,
    is_named: impl Fn(&str) -> bool,
    faults: Option<&Arc<Faults>>,
) -> Result<(), StoreError> {
    let Ok(entries) = fs::read_dir(part) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_left = name
            .to_str()
            .is_some_and(|name| is_temporary(name) || is_state(name) && !is_named(name));
        if is_left {
            durable::remove(&part.join(name), faults)?;
        }
    }
    Ok(())
}

/// Removes all parts of a directory that no manifest names any more, and the links to them.
pub(super) fn remove(directory: &Path, faults: Option<&Arc<Faults>>) -> Result<(), StoreError> {
    for link in links(directory) {
        if let Some(part) = of(&link) {
            clear(&part, |_| false, faults)?;
            durable::remove_directory(&part, faults)?;
        }
        durable::remove(&link, faults)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_a_link_leads_to_is_ours_or_stays() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [directory, disk] = folders.each_ref().map(tempfile::TempDir::path);
        let disks = [disk.to_owned(), disk.to_owned()];
        let parts = lay(directory, 7, &disks, None).unwrap();
        assert_eq!(found(directory, 2), parts);
        assert_ne!(parts[0], parts[1]);
        for part in &parts {
            fs::write(part.join("state-8"), "").unwrap();
        }
        fs::write(parts[1].join("mine"), "").unwrap();
        let other = disk.join("notes");
        fs::create_dir(&other).unwrap();
        fs::write(other.join("state-8"), "").unwrap();
        symlink(&other, directory.join("part-9")).unwrap();
        remove(directory, None).unwrap();
        assert!(!parts[0].exists() && parts[1].join("mine").exists());
        assert!(!parts[1].join("state-8").exists() && other.join("state-8").exists());
        assert!(fs::symlink_metadata(directory.join("part-9")).is_ok());
        assert!(fs::symlink_metadata(directory.join("part-1")).is_err());
    }
}
