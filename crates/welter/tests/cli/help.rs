//! Help, manual, completions, and that `docs/cli.md` is what they say.

use crate::sandbox::{Sandbox, root};

#[test]
fn the_docs_are_current() {
    for (page, command) in [("cli", "markdown"), ("algorithms", "markdown algorithms")] {
        let path = root().join("docs").join(page).with_extension("md");
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let made = format!("docs/{page}.md is not what `cargo run -- {command}` prints");
        assert!(found == Sandbox::new().must(command), "{made}");
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
    let rest = version.strip_prefix(concat!("welter ", env!("CARGO_PKG_VERSION"))).unwrap();
    // Without git, as from an archive, there is no commit.
    let commit = rest.trim_end().strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
    let is_commit = |text: &str| text.len() >= 7 && text.chars().all(|c| c.is_ascii_hexdigit());
    assert!(rest == "\n" || commit.is_some_and(is_commit), "{version}");
}

#[test]
fn help_may_come_first() {
    let sandbox = Sandbox::new();
    for (line, same) in [
        ("help", "--help"),
        ("help run", "run --help"),
        ("help run bfs", "run bfs --help"),
        ("run help", "run --help"),
        ("help generate rmat", "generate rmat --help"),
    ] {
        assert!(sandbox.must(line) == sandbox.must(same), "{line}");
    }
    assert_eq!(sandbox.run("help rnu").code, Some(2));
}

#[test]
fn unknown_algorithms_are_answered_with_near_ones() {
    let sandbox = Sandbox::new();
    for (name, message) in [
        ("louvain", "\"louvain\"; cdlp: Community detection by label propagation"),
        ("component", "wcc: Weakly connected components"),
        ("spanning-tree", "mcst: Minimum spanning forest"),
        ("betweenness", "hyperball: "),
        ("degree", "`welter info` describes degrees"),
        ("closeness", "hyperball: "),
        ("'shortest path'", "sssp: "),
        ("pagernak", "pagerank: "),
        ("zzz", "there are pagerank, bfs, sssp"),
    ] {
        for command in ["run", "explain"] {
            let ended = sandbox.run(&format!("{command} {name} e.csv"));
            assert_eq!(ended.code, Some(2), "{}", ended.stderr);
            assert!(ended.stderr.contains(message), "{name}: {}", ended.stderr);
            assert!(ended.stderr.contains("`welter algorithms` lists all"), "{}", ended.stderr);
        }
    }
    let ended = sandbox.run("pagerank e.csv");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.ends_with("hint: welter run pagerank\n"), "{}", ended.stderr);
}

#[test]
fn edges_go_one_way_or_both() {
    let ended = Sandbox::new().run("run wcc rmat:4 --undirected --directed");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("--directed"), "{}", ended.stderr);
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
