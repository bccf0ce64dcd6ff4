//! Help, manual, completions, and that `docs/cli.md` is what they say.

use crate::sandbox::{Sandbox, root};

#[test]
fn the_docs_are_current() {
    for (page, said) in [("cli", "markdown"), ("algorithms", "markdown algorithms")] {
        let path = root().join("docs").join(page).with_extension("md");
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let made = format!("docs/{page}.md is not what `cargo run -- {said}` prints");
        assert!(found == Sandbox::new().must(said), "{made}");
    }
}

#[test]
fn the_functions_of_the_python_package_are_current() {
    let path = root().join("python/welter/_algorithms.py");
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let made = "python/welter/_algorithms.py is not what `cargo run -- markdown python` prints";
    assert!(found == Sandbox::new().must("markdown python"), "{made}");
}

#[test]
fn the_first_help_fits_a_screen() {
    let sandbox = Sandbox::new();
    let help = sandbox.must("--help");
    insta::assert_snapshot!("help", help);
    assert!(help.lines().count() <= 40);
    let ended = sandbox.run("");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("welter run pagerank"));
}

#[test]
fn every_command_has_examples() {
    let sandbox = Sandbox::new();
    for command in [
        "run",
        "run pagerank",
        "run spmv",
        "run hyperball",
        "run mis",
        "run conductance",
        "run bp",
        "run als",
        "explain",
        "ingest",
        "check",
        "info",
        "convert",
        "generate",
        "graphalytics",
        "probe",
        "completions",
        "man",
    ] {
        let help = sandbox.must(&format!("{command} --help"));
        assert!(help.contains("Examples:\n  "), "{command}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{command}");
    }
}

#[test]
fn the_version_is_told() {
    let version = Sandbox::new().must("--version");
    assert_eq!(version, format!("welter {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn completions_and_manual_are_made() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(sandbox.must(&format!("completions {shell}")).contains("pagerank"), "{shell}");
    }
    assert!(sandbox.must("man").starts_with(".ie"));
    sandbox.must("man -o pages");
    let page = String::from_utf8(sandbox.read("pages/welter-run-pagerank.1")).unwrap();
    assert!(page.contains("damping"));
}
