//! States the commit that the command is built from: its version is `0.1.0 (a1b2c3d4e5f6)`, and
//! `0.1.0` where that is not known, as from an archive of the sources.
//!
//! A packager of an archive may state it in `WELTER_COMMIT`.
//!
//! Functions whose code is alike are folded, and relocations are packed, where the linker and the
//! system know how to: that spares the command one and a half megabytes (docs/decisions/073).

use std::path::PathBuf;
use std::process::Command;

/// Options of linkers: the first is known to LLD and mold, the second one to younger C libraries
/// too.
const LINKED: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        for option in LINKED.into_iter().filter(|option| works(option) == Some(true)) {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
    println!("cargo::rerun-if-env-changed=WELTER_COMMIT");
    let variable = std::env::var("WELTER_COMMIT").ok().filter(|commit| !commit.is_empty());
    let commit = variable.or_else(commit);
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = commit.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=WELTER_VERSION={version}");
}

/// Whether an empty program that is linked with an option, as Cargo links, runs here.
fn works(option: &str) -> Option<bool> {
    let set = |name: &str| std::env::var(name).ok();
    let target = set("TARGET")?;
    if set("CARGO_CFG_TARGET_OS")? != "linux" || set("HOST")? != target {
        return Some(false);
    }
    let folder = PathBuf::from(set("OUT_DIR")?);
    let (source, program) = (folder.join("empty.rs"), folder.join("empty"));
    std::fs::write(&source, "fn main() {}").ok()?;
    let mut command = Command::new(set("RUSTC")?);
    command.arg(source).arg("-o").arg(&program).args(["--target", &target]);
    command.arg("-C").arg(format!("link-arg={option}"));
    if let Some(linker) = set("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={linker}"));
    }
    let flags = set("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    let linked = command.output().ok()?.status.success();
    Some(linked && Command::new(program).status().ok()?.success())
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
