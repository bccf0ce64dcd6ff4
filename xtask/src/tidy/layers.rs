//! Crates that each crate may know, and what the pure crates must not know at all.
//!
//! Data flows one way: input -> engine -> output, over `model`'s types. A crate that reached
//! against the arrows would tie algorithms to files or readers to the engine; neither could then be
//! reused on a cluster. Dev-dependencies are free: tests may bring in whatever they compare with.

use super::source::{Finding, Source};
use toml::{Table, Value};

/// A crate of the workspace and what its code may depend on.
struct Layer {
    /// Folder below the root.
    folder: &'static str,
    /// Crates of the workspace, without the prefix `welter-`. `None`: all of them.
    may_use: Option<&'static [&'static str]>,
    /// Other crates. `None`: any that cargo-deny lets pass.
    may_use_others: Option<&'static [&'static str]>,
}

/// Crates that a pure crate may use: plain data, derives and error types, no I/O.
const PURE: Option<&[&str]> = Some(&["bytemuck", "thiserror"]);

const LAYERS: &[Layer] = &[
    Layer { folder: "crates/model", may_use: Some(&[]), may_use_others: PURE },
    Layer { folder: "crates/progress", may_use: Some(&[]), may_use_others: Some(&[]) },
    Layer { folder: "crates/objects", may_use: Some(&[]), may_use_others: None },
    Layer { folder: "crates/algorithms", may_use: Some(&["model"]), may_use_others: PURE },
    Layer {
        folder: "crates/input",
        may_use: Some(&["model", "objects", "progress", "store"]),
        may_use_others: None,
    },
    Layer {
        folder: "crates/output",
        may_use: Some(&["model", "objects", "progress", "store"]),
        may_use_others: None,
    },
    Layer { folder: "crates/store", may_use: Some(&["model", "progress"]), may_use_others: None },
    Layer {
        folder: "crates/engine",
        may_use: Some(&["model", "progress", "store"]),
        may_use_others: None,
    },
    // Sums of payloads are made by a library.
    Layer {
        folder: "crates/protocol",
        may_use: Some(&[]),
        may_use_others: Some(&["bytemuck", "thiserror", "twox-hash"]),
    },
    Layer {
        folder: "crates/worker",
        may_use: Some(&["model", "store", "engine", "protocol"]),
        may_use_others: Some(&["bytemuck", "foldhash", "hashbrown"]),
    },
    // Threads, files and sockets around the two above. Whom it computes for it does not know.
    Layer {
        folder: "crates/cluster",
        may_use: Some(&["model", "progress", "store", "engine", "protocol", "worker", "transport"]),
        may_use_others: None,
    },
    // Programs and the engine meet here: no option, no text.
    Layer {
        folder: "crates/programs",
        may_use: Some(&["model", "progress", "engine", "algorithms", "worker"]),
        may_use_others: Some(&[]),
    },
    // Messages, whatever they mean: it knows no crate that makes or folds them.
    Layer { folder: "crates/transport", may_use: Some(&[]), may_use_others: None },
    // Judges the protocol, and runs the programs of `algorithms` on workers against the oracles of
    // `testing`.
    Layer {
        folder: "crates/sim",
        may_use: Some(&["model", "algorithms", "store", "engine", "protocol", "worker", "testing"]),
        // The allocator is that of its commands.
        may_use_others: Some(&["bytemuck", "mimalloc", "thiserror"]),
    },
    // For tests and benchmarks only: no other crate names it. It runs what it judges.
    Layer {
        folder: "crates/testing",
        may_use: Some(&["model", "progress", "store", "engine"]),
        may_use_others: None,
    },
    Layer {
        folder: "crates/cli",
        may_use: Some(&[
            "model",
            "objects",
            "progress",
            "input",
            "output",
            "store",
            "engine",
            "algorithms",
            "programs",
            "protocol",
            "worker",
            "cluster",
        ]),
        may_use_others: None,
    },
    // The command alone, in a package of its own.
    Layer { folder: "crates/welter", may_use: Some(&["cli"]), may_use_others: Some(&[]) },
    // Python's side of what the command does, which it asks the library of `cli` for.
    Layer {
        folder: "crates/python",
        may_use: Some(&["cli", "progress", "input"]),
        may_use_others: None,
    },
    Layer { folder: "benches", may_use: None, may_use_others: None },
    Layer { folder: "fuzz", may_use: None, may_use_others: None },
    Layer { folder: "xtask", may_use: Some(&[]), may_use_others: None },
];

/// Crates that know no file, socket, clock, thread or environment, also not in their tests.
const PURE_SOURCES: [&str; 5] =
    ["crates/model/", "crates/algorithms/", "crates/protocol/", "crates/worker/", "crates/sim/"];

/// But the commands of the simulator, and its threads, which run whole schedules each alone in one.
const NOT_PURE: [&str; 3] = [
    "crates/sim/src/main.rs",
    "crates/sim/src/bin/welter-figures.rs",
    "crates/sim/src/campaign.rs",
];

/// Modules of the standard library that lead out of a pure crate.
const IMPURE: [&str; 7] =
    ["std::fs", "std::net", "std::thread", "std::time", "std::process", "std::env", "std::io"];

/// Ways out in the source of a pure crate.
pub(super) fn check_source(source: &Source) -> Vec<Finding> {
    let pure = PURE_SOURCES.iter().any(|folder| source.path.starts_with(folder))
        && !NOT_PURE.contains(&source.path.as_str());
    if !pure || !source.is("rs") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in source.numbered() {
        for module in IMPURE.iter().filter(|module| line.contains(**module)) {
            findings.push(Finding::new(source, number, format!("`{module}` in a pure crate")));
        }
    }
    findings
}

/// Dependencies in a manifest that go against the arrows.
pub(super) fn check_manifest(source: &Source) -> Vec<Finding> {
    let Some(folder) = source.path.strip_suffix("/Cargo.toml") else { return Vec::new() };
    let Some(layer) = LAYERS.iter().find(|layer| layer.folder == folder) else {
        let message = "a crate that xtask/src/tidy/layers.rs does not place in the layout";
        return vec![Finding::new(source, 0, message)];
    };
    let manifest: Table = match source.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::new(source, 0, error.to_string())],
    };
    let mut findings = Vec::new();
    for name in dependencies(&manifest) {
        let (allowed, known) = match name.strip_prefix("welter-") {
            Some(own) => (layer.may_use, own),
            None => (layer.may_use_others, name),
        };
        if allowed.is_some_and(|allowed| !allowed.contains(&known)) {
            let message = format!("`{folder}` must not depend on `{name}`");
            findings.push(Finding::new(source, 0, message));
        }
    }
    findings
}

/// The true names of the packages that the code (not the tests) of a manifest depends on.
pub(super) fn dependencies(manifest: &Table) -> Vec<&str> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let per_target =
        targets.into_iter().flat_map(|table| table.values()).filter_map(Value::as_table);
    let mut names = Vec::new();
    for table in std::iter::once(manifest).chain(per_target) {
        for section in ["dependencies", "build-dependencies"] {
            let section = table.get(section).and_then(Value::as_table);
            names.extend(section.into_iter().flatten().map(|(name, entry)| {
                entry.get("package").and_then(Value::as_str).unwrap_or(name.as_str())
            }));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    fn findings(folder: &str, text: &str) -> usize {
        check_manifest(&source(&format!("{folder}/Cargo.toml"), text)).len()
    }

    #[test]
    fn arrows_point_one_way() {
        let on = |name: &str| format!("[dependencies]\nwelter-{name}.workspace = true\n");
        assert_eq!(findings("crates/engine", &on("store")), 0);
        assert_eq!(findings("crates/engine", &on("input")), 1);
        assert_eq!(findings("crates/model", &on("progress")), 1);
        assert_eq!(findings("crates/store", &on("engine")), 1);
        assert_eq!(findings("crates/input", &on("engine")), 1);
        assert_eq!(findings("crates/algorithms", &on("engine")), 1);
        assert_eq!(findings("crates/cli", &on("engine")), 0);
        assert_eq!(findings("crates/cli", &on("testing")), 1);
    }

    #[test]
    fn a_detour_does_not_hide_a_dependency() {
        let renamed = "[dependencies]\nx = { package = \"welter-engine\", path = \"../engine\" }\n";
        assert_eq!(findings("crates/store", renamed), 1);
        let of_target = "[target.'cfg(unix)'.dependencies]\nwelter-engine = \"1\"\n";
        assert_eq!(findings("crates/store", of_target), 1);
        let own_section = "[dependencies.welter-engine]\npath = \"../engine\"\n";
        assert_eq!(findings("crates/store", own_section), 1);
        let of_build = "[build-dependencies]\nwelter-engine = \"1\"\n";
        assert_eq!(findings("crates/store", of_build), 1);
    }

    #[test]
    fn tests_may_use_anything() {
        assert_eq!(findings("crates/model", "[dev-dependencies]\nwelter-engine = \"1\"\n"), 0);
    }

    #[test]
    fn pure_crates_use_no_library_that_does_io() {
        assert_eq!(findings("crates/model", "[dependencies]\nbytemuck = \"1\"\n"), 0);
        assert_eq!(findings("crates/model", "[dependencies]\nrayon = \"1\"\n"), 1);
        assert_eq!(findings("crates/progress", "[dependencies]\ntempfile = \"3\"\n"), 1);
    }

    #[test]
    fn a_crate_without_a_place_and_a_broken_manifest_are_found() {
        assert_eq!(findings("crates/unheard-of", ""), 1);
        assert_eq!(findings("crates/model", "[dependencies\n"), 1);
    }

    #[test]
    fn ways_out_of_a_pure_crate_are_found() {
        for module in IMPURE {
            let text = format!("use {module}::x;\n");
            assert_eq!(check_source(&source("crates/model/src/a.rs", &text)).len(), 1, "{module}");
            assert_eq!(check_source(&source("crates/engine/src/a.rs", &text)).len(), 0);
        }
    }
}
