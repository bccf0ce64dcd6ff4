//! The rules of the house that no other tool knows.
//!
//! Each rule is a pure function from a file (or the set of manifests) to what it finds, and has a
//! test with a sample that breaks it, so a rule that has gone blind is noticed. The whole
//! repository is checked by a test of this module, hence by `cargo xtask test`, and by
//! `cargo xtask tidy`.

mod circles;
mod imports;
mod invariants;
mod layers;
mod lengths;
mod links;
mod maps;
mod openings;
mod planted;
mod rooms;
mod source;
mod style;
mod unsafety;
mod words;

use std::path::Path;

pub(crate) use self::source::Finding;
use self::source::Source;

/// Folders that hold what was built, fetched or found, not what was written.
const SKIPPED: [&str; 7] =
    ["target", ".git", ".venv", "__pycache__", "fuzz/corpus", "fuzz/artifacts", "fuzz/seeds"];

/// Files that are written by people and read as text.
const WRITTEN: [&str; 7] = ["rs", "py", "md", "toml", "sh", "yml", "yaml"];

/// All findings of all rules, in the order of the files.
///
/// # Errors
/// When the tree cannot be read.
pub(crate) fn check(root: &Path) -> std::io::Result<Vec<Finding>> {
    let mut sources = Vec::new();
    collect(root, "", &mut sources)?;
    let mut findings: Vec<Finding> = sources.iter().flat_map(style::check).collect();
    findings.extend(sources.iter().flat_map(|source| links::check(source, root)));
    findings.extend(links::check_commands(&sources));
    findings.extend(maps::check(&sources));
    findings.extend(openings::check(&sources));
    findings.extend(words::check(&sources));
    findings.extend(circles::check(&sources));
    findings.extend(rooms::check(&sources));
    findings.extend(lengths::check(&sources));
    findings.extend(invariants::check(&sources));
    findings.extend(unsafety::check(&sources));
    findings.extend(sources.iter().flat_map(layers::check_source));
    findings.extend(sources.iter().flat_map(layers::check_manifest));
    findings.extend(planted::check(&sources));
    findings.sort();
    Ok(findings)
}

/// Reads the written files below `folder` (relative to `root`) into `sources`.
fn collect(root: &Path, folder: &str, sources: &mut Vec<Source>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(root.join(folder))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.iter().any(|skip| *skip == name || *skip == path) {
            collect(root, &path, sources)?;
        } else if kind.is_file() {
            let mut source = Source { path, text: String::new() };
            if source.path == ".ci/run" || WRITTEN.iter().any(|kind| source.is(kind)) {
                source.text = std::fs::read_to_string(entry.path())?;
                sources.push(source);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&crate::root()).unwrap();
        let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }

    #[test]
    fn the_tree_is_really_read() {
        let mut sources = Vec::new();
        collect(&crate::root(), "", &mut sources).unwrap();
        for path in ["xtask/src/tidy/mod.rs", "crates/model/Cargo.toml", ".ci/run"] {
            assert!(sources.iter().any(|source| source.path == path), "{path} was not read");
        }
        assert!(!sources.iter().any(|source| source.path.starts_with("target/")));
    }
}
