//! States the commit that the command is built from: its version is `0.1.0 (a1b2c3d4e5f6)`, and
//! `0.1.0` where that is not known, as from an archive of the sources.
//!
//! A packager of an archive may state it in `WELTER_COMMIT`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WELTER_COMMIT");
    let variable = std::env::var("WELTER_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = variable.or_else(commit);
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=WELTER_VERSION={version}");
}

/// The commit that is checked out, if these sources are what git keeps.
fn commit() -> Option<String> {
    // Sources in an archive may lie within a repository of something else.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // Whatever moves the head is written there.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    println!("cargo::rerun-if-changed={log}");
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().to_owned()).filter(|text| output.status.success() && !text.is_empty())
}
