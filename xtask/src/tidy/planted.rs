//! Planted bugs stay out of what is shipped.
//!
//! The protocol has bugs that its simulator plants, behind the feature `planted`. No package that
//! is shipped may reach a manifest that asks for it, through any number of crates of the workspace,
//! and the profiles of releases must leave out the checks of arithmetic, without which no bug is
//! compiled.
//!
//! Not seen: `--features` on a command line. There, the profile is what keeps bugs out.

use std::collections::BTreeSet;

use toml::{Table, Value};

use super::layers::dependencies;
use super::source::{Finding, Source};

/// Folders of the packages that are shipped.
const SHIPPED: [&str; 2] = ["crates/welter", "crates/python"];

/// Package whose feature it is, and the feature.
const PROTOCOL: &str = "welter-protocol";
const PLANTED: &str = "planted";

/// Profiles of what is released.
const RELEASED: [&str; 2] = ["release", "dist"];

/// Manifests that would let planted bugs into what is shipped.
pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let manifest = |path: &str| {
        let source = sources.iter().find(|source| source.path == path)?;
        // One that cannot be read is found by the rule of layers.
        Some((source, source.text.parse::<Table>().ok()?))
    };
    let Some((root, workspace)) = manifest("Cargo.toml") else { return Vec::new() };
    let mut findings = Vec::new();
    let checks = |profile: &&str| {
        let profile = workspace.get("profile").and_then(|all| all.get(profile));
        profile.and_then(|profile| profile.get("debug-assertions")).is_some()
    };
    for profile in RELEASED.iter().filter(|profile| checks(profile)) {
        let message =
            format!("profile `{profile}` says `debug-assertions`: bugs are planted there");
        findings.push(Finding::new(root, 0, message));
    }
    let own = workspace.get("workspace").and_then(Value::as_table);
    if own.is_some_and(asks) {
        findings.push(Finding::new(root, 0, "all crates get the planted bugs of the protocol"));
    }
    let mut waiting: Vec<String> = SHIPPED.map(str::to_owned).to_vec();
    let mut reached = BTreeSet::new();
    while let Some(folder) = waiting.pop() {
        let Some((source, table)) = manifest(&format!("{folder}/Cargo.toml")) else { continue };
        if !reached.insert(folder) {
            continue;
        }
        if asks(&table) {
            let message = "is part of what is shipped, and asks for planted bugs";
            findings.push(Finding::new(source, 0, message));
        }
        waiting.extend(dependencies(&table).into_iter().filter_map(|name| folder_of(own, name)));
    }
    findings
}

/// The folder of a package of the workspace.
fn folder_of(workspace: Option<&Table>, name: &str) -> Option<String> {
    let entry = workspace?.get("dependencies")?.get(name)?;
    entry.get("path").and_then(Value::as_str).map(str::to_owned)
}

/// Whether a manifest asks for the feature: of a dependency, by a feature of its own, or (the
/// protocol's) by default.
fn asks(manifest: &Table) -> bool {
    let is_wanted = |features: &Value, wanted: &dyn Fn(&str) -> bool| {
        let features = features.as_array().into_iter().flatten().filter_map(Value::as_str);
        features.into_iter().any(wanted)
    };
    let forwards = |feature: &str| {
        let (name, rest) = feature.split_once('/').unwrap_or((feature, ""));
        rest == PLANTED || name == PLANTED
    };
    let tables = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = tables.filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let sections =
        tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|it| table.get(it)));
    let mut entries = sections.flatten().filter_map(Value::as_table).flatten();
    let by_dependency = entries.any(|(name, entry)| {
        let package = entry.get("package").and_then(Value::as_str).unwrap_or(name);
        let features = entry.get("features");
        package == PROTOCOL && features.is_some_and(|it| is_wanted(it, &|it| it == PLANTED))
    });
    let mut own = manifest.get("features").and_then(Value::as_table).into_iter().flatten();
    by_dependency || own.any(|(_, features)| is_wanted(features, &forwards))
}

#[cfg(test)]
mod tests {
    use super::super::source::source;
    use super::*;

    const ROOT: &str = "[workspace.dependencies]
welter-cli = { path = \"crates/cli\" }
welter-protocol = { path = \"crates/protocol\" }
welter-sim = { path = \"crates/sim\" }
welter-worker = { path = \"crates/worker\" }
";
    const ASKS: &str =
        "[dependencies]\nwelter-protocol = { workspace = true, features = [\"planted\"] }\n";
    const FORWARDS: &str = "[dependencies]\nwelter-protocol.workspace = true
[features]\nchecked = [\"welter-protocol/planted\"]\n";

    /// Number of findings in a workspace whose packages have these manifests.
    fn findings(root: &str, crates: &[(&str, &str)]) -> usize {
        let crates =
            crates.iter().map(|(name, text)| source(&format!("crates/{name}/Cargo.toml"), text));
        let sources: Vec<Source> = crates.chain([source("Cargo.toml", root)]).collect();
        check(&sources).len()
    }

    fn on(name: &str) -> String {
        format!("[dependencies]\nwelter-{name}.workspace = true\n")
    }

    #[test]
    fn the_simulator_alone_plants_bugs() {
        assert_eq!(findings(ROOT, &[("sim", ASKS), ("welter", &on("protocol"))]), 0);
        assert_eq!(findings(ROOT, &[("welter", ASKS)]), 1);
        assert_eq!(findings(ROOT, &[("python", ASKS)]), 1);
        assert_eq!(findings(ROOT, &[("welter", FORWARDS)]), 1);
    }

    #[test]
    fn a_detour_does_not_let_them_in() {
        let cli = on("worker");
        assert_eq!(findings(ROOT, &[("welter", &cli), ("worker", ASKS)]), 1);
        assert_eq!(findings(ROOT, &[("welter", &cli), ("worker", &on("sim")), ("sim", ASKS)]), 1);
        assert_eq!(findings(ROOT, &[("welter", &cli), ("worker", FORWARDS)]), 1);
        let of_target = ASKS.replace("[dep", "[target.\"cfg(unix)\".dep");
        assert_eq!(findings(ROOT, &[("welter", &cli), ("worker", &of_target)]), 1);
        let tests = ASKS.replace("[dep", "[dev-dep");
        assert_eq!(findings(ROOT, &[("welter", &cli), ("worker", &tests)]), 0);
    }

    #[test]
    fn neither_do_defaults_and_profiles() {
        let protocol = "[features]\ndefault = [\"planted\"]\nplanted = []\n";
        assert_eq!(findings(ROOT, &[("welter", &on("protocol")), ("protocol", protocol)]), 1);
        let all = ROOT.replace("crates/protocol\"", "crates/protocol\", features = [\"planted\"]");
        assert_eq!(findings(&all, &[]), 1);
        let checked = format!("{ROOT}[profile.release]\ndebug-assertions = true\n");
        assert_eq!(findings(&checked, &[]), 1);
    }
}
