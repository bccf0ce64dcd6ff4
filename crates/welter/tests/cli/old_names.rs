//! Names that options and their values had before: they mean what the names of today mean, also in
//! a run that was begun with them, and no help shows them.

use serde_json::Value;

use crate::checkpoint::last;
use crate::interrupt::{ended, signal, wait_until};
use crate::sandbox::Sandbox;

/// Options, and the names that they had before.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "pagerank graph.tsv",
        "--personalization some.csv --personalization-column 2 --personalization-default 0",
        "--teleport-from some.csv --teleport-column 2 --teleport-default 0",
    ),
    (
        "pagerank graph.tsv",
        "--dangling-weights some.csv --dangling-weights-column share --dangling-weights-default 0",
        "--sinks-from some.csv --sinks-column share --sinks-default 0",
    ),
    (
        "pagerank graph.tsv --iterations 3",
        "--initial some.csv --initial-column 2 --initial-default 1",
        "--start-from some.csv --start-column 2 --start-default 1",
    ),
    (
        "conductance graph.tsv",
        "--membership some.csv --membership-column 2 --membership-above 1 --membership-default 0",
        "--side-from some.csv --side-column 2 --side-above 1 --side-default 0",
    ),
    ("pagerank graph.tsv", "--dangling unnormalized", "--dangling papers"),
    (
        "pagerank graph.tsv",
        "--checkpoint kept.run --checkpoint-every 2",
        "--checkpoint kept.run --every 2",
    ),
    ("pagerank graph.tsv", "--edge-memory 0", "--cache 0"),
    ("pagerank graph.tsv", "--route spill --no-fuse", "--route spill-combined"),
    ("pagerank graph.tsv", "--route spill --no-combine", "--route spill-fused"),
    ("pagerank graph.tsv", "--route spill --no-combine --no-fuse", "--route spill-plain"),
    ("bfs graph.tsv --source 0", "--frontier async", "--frontier local"),
    ("bfs graph.tsv --source 0", "--index blocks", "--index bands"),
    ("bfs graph.tsv --source 0", "--index csr", "--index rows"),
    ("wcc graph.tsv", "--method label-propagation", "--method labels"),
    ("scc graph.tsv", "--method label-propagation", "--method labels"),
    ("mcst weighted.tsv", "--method label-propagation", "--method labels"),
    ("wcc graph.tsv", "--ids strings", "--ids names"),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 8 -q -o graph.tsv");
    sandbox.must("generate rmat 8 --weights 9 -q -o weighted.tsv");
    sandbox.write("some.csv", "vertex,share\n0,1\n1,3\n2,2\n");
    sandbox
}

#[test]
fn old_names_do_the_same_as_new_ones() {
    let sandbox = sandbox();
    for (program, new, old) in PAIRS {
        let [new, old] = [new, old].map(|options| {
            let line = format!("run {program} {options} -q -o - --report report.json --threads 1");
            let found = sandbox.must(&line);
            let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
            let route = report["plan"]["route"].clone();
            (found, report["parameters"].clone(), route, report["bytes_moved"].clone())
        });
        assert!(new == old, "{program} {old:?}");
    }
}

#[test]
fn a_run_that_was_begun_with_old_names_is_resumed() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    sandbox.write("some.csv", "vertex,share\n0,1\n1,3\n2,2\n");
    let line = |options: &str| {
        format!("run pagerank graph.tsv --iterations 400 --tolerance 0 -q -o ranks.csv {options}")
    };
    let new = line("--personalization some.csv --personalization-default 0 --edge-memory 0");
    sandbox.must(&new);
    let expected = sandbox.read("ranks.csv");
    std::fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
    let old = "--teleport-from some.csv --teleport-default 0 --cache 0 --checkpoint kept.run";
    let child = sandbox.command(&line(&format!("{old} --every 1"))).spawn().unwrap();
    wait_until("checkpoints", || last(&sandbox.path().join("kept.run")) >= 3);
    signal(&child, "KILL");
    ended(child);
    sandbox.must("resume kept.run -q");
    assert!(sandbox.read("ranks.csv") == expected);
}

#[test]
fn no_help_shows_old_names() {
    let sandbox = Sandbox::new();
    for program in ["pagerank", "conductance", "bfs", "wcc", "scc", "mcst"] {
        let help = sandbox.must(&format!("run {program} --help"));
        let words: Vec<&str> = help
            .split(|c: char| !c.is_alphanumeric() && c != '-')
            .filter(|word| !word.is_empty())
            .collect();
        for (_, _, old) in PAIRS {
            for name in old.split(' ').filter(|word| word.starts_with("--")) {
                let is_new = PAIRS.iter().any(|(_, new, _)| new.split(' ').any(|new| new == name));
                assert!(is_new || !words.contains(&name), "{program}: {name}");
            }
        }
        assert!(!help.contains("spill-plain"), "{program}");
    }
}

#[test]
fn algorithms_have_the_names_of_the_field() {
    let sandbox = sandbox();
    for (name, other) in [
        ("wcc", "cc"),
        ("wcc", "connected-components"),
        ("mcst", "mst"),
        ("mcst", "msf"),
        ("mcst", "minimum_spanning_tree"),
        ("cdlp", "label-propagation"),
        ("kcore", "k-core"),
        ("scc", "strongly-connected-components"),
    ] {
        let [named, found] =
            [name, other].map(|name| sandbox.must(&format!("run {name} weighted.tsv -q -o -")));
        assert_eq!(named, found, "{other}");
        let plan = sandbox.must(&format!("explain {other} weighted.tsv"));
        assert!(plan.starts_with(&format!("algorithm {name}\n")), "{plan}");
    }
    // PageRank of all vertices is not what is asked for.
    let alone = sandbox.run("run personalized graph.tsv");
    assert_eq!(alone.code, Some(2), "{}", alone.stderr);
    assert!(alone.stderr.contains("--personalization"), "{}", alone.stderr);
    let some = "graph.tsv --personalization some.csv --personalization-default 0 -q -o -";
    let [expected, found] = ["pagerank", "personalized-pagerank"]
        .map(|name| sandbox.must(&format!("run {name} {some}")));
    assert_eq!(expected, found);
    let help = sandbox.must("run --help");
    assert!(!help.contains("personalized-pagerank") && !help.contains("msf"), "{help}");
}

#[test]
fn options_of_a_route_are_refused_on_others() {
    let sandbox = sandbox();
    for (options, message) in [
        ("--no-combine", "--route"),
        ("--no-fuse --route fold", "--no-fuse is of --route spill"),
        ("--no-combine --route ranges", "--no-combine is of --route spill"),
    ] {
        let ended = sandbox.run(&format!("run pagerank graph.tsv {options}"));
        assert_eq!(ended.code, Some(2), "{options}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{options}: {}", ended.stderr);
    }
}
