//! The objects that a URL names: one, those below a folder, or those that match a pattern.
//!
//! Folders and patterns mean what they mean for files; the difference is that a folder of a bucket
//! is only the beginning of keys, so it is named with `/` at its end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use glob::Pattern;
use welter_objects::{Bucket, Listed, Location};

use super::pattern;
use super::rules::{is_hidden, is_partition, missing, nested};
use crate::error::InputError;

/// Adds the objects that a URL names.
pub(super) fn expand(
    input: &Path,
    location: &Location,
    names: &mut Vec<PathBuf>,
) -> Result<(), InputError> {
    let before = names.len();
    if pattern::is_one(OsStr::new(&location.key)) {
        matching(input, location, names)?;
        if names.len() == before {
            return Err(missing(input, "no object matches this pattern"));
        }
    } else if location.is_folder() {
        below(location, names)?;
        if names.len() == before {
            let what = "is a folder without objects to read (those that begin with a dot or _ are \
                        passed over)";
            return Err(missing(input, what));
        }
    } else {
        names.push(PathBuf::from(location.to_string()));
    }
    Ok(())
}

/// The objects below a folder of the bucket of a location.
fn listed(location: &Location, folder: &str) -> Result<Vec<Listed>, InputError> {
    let bucket = Bucket::of(location).map_err(|error| InputError::of_object(&error))?;
    bucket.list(folder).map_err(|error| InputError::of_object(&error))
}

/// Adds what lies below a folder.
fn below(folder: &Location, names: &mut Vec<PathBuf>) -> Result<(), InputError> {
    for found in listed(folder, &folder.key)? {
        let key = &found.location.key;
        let inside = key.strip_prefix(&folder.key).unwrap_or(key);
        if inside.split('/').any(|part| part.starts_with(['.', '_'])) {
            continue;
        }
        let path = PathBuf::from(found.location.to_string());
        let above = inside.rsplit_once('/').map_or("", |(above, _)| above);
        let is_folder = |part: &&str| !part.is_empty() && !is_partition(Path::new(part));
        if above.split('/').any(|part| is_folder(&part)) {
            return Err(nested(path.parent().unwrap_or(&path)));
        }
        names.push(path);
    }
    Ok(())
}

/// Adds what matches a pattern: objects, and those in folders such as `src=1` that match.
fn matching(input: &Path, location: &Location, names: &mut Vec<PathBuf>) -> Result<(), InputError> {
    let key = &location.key;
    let plain = key.find(['*', '?', '[']).unwrap_or(key.len());
    let folder = key[..plain].rfind('/').map_or("", |end| &key[..=end]);
    let parts = key.split('/').map(PatternPart::of).collect::<Result<Vec<_>, _>>()?;
    for found in listed(location, folder)? {
        let path = PathBuf::from(found.location.to_string());
        let key: Vec<&str> = found.location.key.split('/').collect();
        if matches(&parts, &key) && !is_hidden(input, &path) {
            names.push(path);
        }
    }
    Ok(())
}

/// Part of a pattern between two slashes.
enum PatternPart {
    /// Any folders, or at the end any objects below.
    Any,
    One(Pattern),
}

impl PatternPart {
    fn of(text: &str) -> Result<Self, InputError> {
        if text == "**" {
            return Ok(Self::Any);
        }
        let pattern = Pattern::new(text).map_err(|error| InputError::Options {
            what: format!("{text}: not a pattern: {error}"),
        })?;
        Ok(Self::One(pattern))
    }
}

/// Whether a key matches the parts of a pattern.
fn matches(parts: &[PatternPart], key: &[&str]) -> bool {
    match (parts, key) {
        ([], rest) => rest.is_empty(),
        ([PatternPart::Any], rest) => !rest.is_empty(),
        ([PatternPart::Any, behind @ ..], [_, below @ ..]) => {
            matches(behind, key) || matches(parts, below)
        }
        ([PatternPart::One(one), behind @ ..], [name, below @ ..]) => {
            let partitions =
                |folders: &[&str]| folders.iter().all(|it| is_partition(Path::new(it)));
            // A folder that matches stands for what is in it.
            let is_table = behind.is_empty()
                && below.split_last().is_some_and(|(last, folders)| {
                    is_partition(Path::new(name))
                        && partitions(folders)
                        && !last.starts_with(['.', '_'])
                });
            one.matches(name) && (is_table || matches(behind, below))
        }
        (_, []) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_match_as_paths_do() {
        let matching = |pattern: &str, key: &str| {
            let parts: Vec<PatternPart> =
                pattern.split('/').map(|part| PatternPart::of(part).unwrap()).collect();
            matches(&parts, &key.split('/').collect::<Vec<_>>())
        };
        for (pattern, key) in [
            ("*.tsv", "a.tsv"),
            ("edges/[ab]?.tsv", "edges/ax.tsv"),
            ("**/*.tsv", "a.tsv"),
            ("**/*.tsv", "x/y/a.tsv"),
            ("x/**", "x/y/a.tsv"),
            ("years/year=*", "years/year=1/a.csv"),
            ("years/year=*", "years/year=1/month=2/a.csv"),
        ] {
            assert!(matching(pattern, key), "{pattern} {key}");
        }
        for (pattern, key) in [
            ("*.tsv", "x/a.tsv"),
            ("x/*", "x/y/a.tsv"),
            ("x/**", "x"),
            ("years/*", "years/one/a.csv"),
            ("years/year=*", "years/year=1/one/a.csv"),
            ("years/year=*", "years/year=1/_SUCCESS"),
        ] {
            assert!(!matching(pattern, key), "{pattern} {key}");
        }
        assert!(PatternPart::of("[").is_err());
    }
}
