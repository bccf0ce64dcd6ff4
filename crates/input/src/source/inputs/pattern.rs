//! Patterns of paths: `*`, `?` and `[...]` within a name, `**` for any folders between two.
//!
//! Names that are not UTF-8 match as if each byte that is none were one character, so that no file
//! is left out for what it is called.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use glob::Pattern;

use super::folder::entries;
use crate::error::InputError;

/// Whether a path, or a name in it, says which others it stands for.
pub(super) fn is_one(text: &OsStr) -> bool {
    text.as_bytes().iter().any(|byte| matches!(byte, b'*' | b'?' | b'['))
}

/// The paths that match, in alphabetical order of each folder.
///
/// # Errors
/// When this is no pattern, or a folder cannot be listed.
pub(super) fn paths(pattern: &Path) -> Result<Vec<PathBuf>, InputError> {
    let parts: Vec<Component<'_>> = pattern.components().collect();
    let mut found = Vec::new();
    walk(Path::new(""), &parts, &mut found)?;
    Ok(found)
}

/// Adds what matches the parts of a pattern below a folder.
fn walk(base: &Path, parts: &[Component<'_>], found: &mut Vec<PathBuf>) -> Result<(), InputError> {
    let Some((first, rest)) = parts.split_first() else {
        if base.symlink_metadata().is_ok() {
            found.push(base.to_owned());
        }
        return Ok(());
    };
    let part = first.as_os_str();
    if !is_one(part) {
        return walk(&base.join(part), rest, found);
    }
    if part == "**" {
        return below(base, rest, found);
    }
    let text = part.to_string_lossy();
    let pattern = Pattern::new(&text)
        .map_err(|error| InputError::Options { what: format!("{text}: not a pattern: {error}") })?;
    for name in entries(listed(base))? {
        if pattern.matches(&name.to_string_lossy()) {
            walk(&base.join(name), rest, found)?;
        }
    }
    Ok(())
}

/// Adds what matches in a folder and in all those inside of it; links to folders are not followed.
fn below(base: &Path, rest: &[Component<'_>], found: &mut Vec<PathBuf>) -> Result<(), InputError> {
    if !rest.is_empty() {
        walk(base, rest, found)?;
    }
    for name in entries(listed(base))? {
        let path = base.join(name);
        let folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if folder {
            below(&path, rest, found)?;
        } else if rest.is_empty() {
            found.push(path);
        }
    }
    Ok(())
}

/// A folder as the system lists it.
fn listed(base: &Path) -> &Path {
    if base.as_os_str().is_empty() { Path::new(".") } else { base }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_match_whatever_their_bytes_are() {
        let folder = tempfile::tempdir().unwrap();
        let odd = OsStr::from_bytes(b"b\xff.tsv");
        for name in ["a.tsv", "c.csv"].map(OsStr::new).into_iter().chain([odd]) {
            fs::write(folder.path().join(name), "1\t2\n").unwrap();
        }
        fs::create_dir_all(folder.path().join("x/y")).unwrap();
        fs::write(folder.path().join("x/y/d.tsv"), "").unwrap();
        let matching = |pattern: &str| -> Vec<PathBuf> {
            let found = paths(&folder.path().join(pattern)).unwrap();
            found.iter().map(|path| path.strip_prefix(folder.path()).unwrap().into()).collect()
        };
        let odd = PathBuf::from(odd);
        assert_eq!(matching("*.tsv"), [PathBuf::from("a.tsv"), odd.clone()]);
        assert_eq!(matching("?.tsv"), [PathBuf::from("a.tsv")]);
        assert_eq!(matching("[!a]?.tsv"), std::slice::from_ref(&odd));
        assert_eq!(matching("**/*.tsv"), [PathBuf::from("a.tsv"), odd, "x/y/d.tsv".into()]);
        assert_eq!(matching("x/**"), [PathBuf::from("x/y/d.tsv")]);
        assert_eq!(matching("*/y/[cd].tsv"), [PathBuf::from("x/y/d.tsv")]);
        assert!(matching("z/*").is_empty() && matching("a.tsv/*").is_empty());
        assert!(paths(Path::new("[")).is_err() && paths(Path::new("a**")).is_err());
    }
}
