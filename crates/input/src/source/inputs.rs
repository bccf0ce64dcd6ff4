//! The files that inputs name: paths, patterns and directories.
//!
//! A directory is its files, in alphabetical order, those of folders such as `src=1` (as Hive and
//! Spark partition tables) included. What begins with a dot or `_` is no data, but notes of the
//! program that wrote the directory; so a pattern matches a dot only where it says one, as in a
//! shell.

mod folder;
mod listed;
mod pattern;
mod rules;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use welter_objects::Location;

use self::folder::entries;
use self::rules::{is_hidden, is_partition, missing, nested};
use crate::error::InputError;

/// Folders inside one another: more are a loop of links.
const DEPTH_MAX: usize = 32;

/// The files that inputs name: each is a path, `-`, a directory, or a pattern with `*`, `?` or
/// `[...]` that matches files. A path that exists is never taken for a pattern. What is said by
/// URLs of objects is looked up in their buckets.
///
/// # Errors
/// When a pattern matches no file, or is none, or a directory holds no data.
pub fn names<S: AsRef<OsStr>>(inputs: &[S]) -> Result<Vec<PathBuf>, InputError> {
    let mut names = Vec::new();
    for input in inputs {
        expand(Path::new(input), &mut names)?;
    }
    if names.is_empty() {
        return Err(InputError::Options { what: "expected at least one input".to_owned() });
    }
    Ok(names)
}

/// Whether what has this name can be read only once, so that looking at it takes from it.
pub fn is_pipe(name: impl AsRef<OsStr>) -> bool {
    let path = Path::new(name.as_ref());
    let other = |metadata: fs::Metadata| !metadata.is_file() && !metadata.is_dir();
    path == Path::new("-") || fs::metadata(path).is_ok_and(other)
}

/// Adds the files that an input names.
fn expand(input: &Path, names: &mut Vec<PathBuf>) -> Result<(), InputError> {
    if let Some(location) = Location::of(input) {
        return listed::expand(
            input,
            &location.map_err(|error| InputError::of_object(&error))?,
            names,
        );
    }
    let before = names.len();
    if input.is_dir() {
        list(input, 0, names)?;
        if names.len() == before {
            let what = "is a directory without files to read (those that begin with a dot or _ \
                        are passed over)";
            return Err(missing(input, what));
        }
        return Ok(());
    }
    if input.exists() || !pattern::is_one(input.as_os_str()) {
        names.push(input.to_owned());
        return Ok(());
    }
    for path in pattern::paths(input)? {
        if is_hidden(input, &path) {
            continue;
        }
        if !path.is_dir() {
            names.push(path);
        } else if is_partition(&path) {
            list(&path, 0, names)?;
        }
    }
    if names.len() == before {
        return Err(missing(input, "no file matches this pattern"));
    }
    Ok(())
}

/// Adds the files of a directory.
fn list(directory: &Path, depth: usize, names: &mut Vec<PathBuf>) -> Result<(), InputError> {
    for name in entries(directory)? {
        if matches!(name.as_bytes().first(), Some(b'.' | b'_')) {
            continue;
        }
        let path = directory.join(name);
        if !path.is_dir() {
            names.push(path);
        } else if is_partition(&path) && depth < DEPTH_MAX {
            list(&path, depth + 1, names)?;
        } else {
            return Err(nested(&path));
        }
    }
    Ok(())
}
