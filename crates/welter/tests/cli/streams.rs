//! Components and forests that take several passes over the edges, as a user runs them.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Two towns of three and two places, and one that no road leads to. Roads have no direction, some
/// are there twice, and one leads back to where it began.
const ROADS: &str = "\
from,to,weight
ashby,birch,4
birch,ashby,3
birch,corby,1.5
ashby,corby,2
derby,elton,7
elton,elton,-1
";

/// 1 -> 2 -> 3 -> 1 with a way out to 4 -> 5 -> 4, and one in from 9.
const LINKS: &str = "1 2\n2 3\n3 1\n3 4\n4 5\n5 4\n9 1\n9 9\n";

fn found(sandbox: &Sandbox, line: &str) -> Value {
    sandbox.must(&format!("run {line} -q --report report.json"));
    let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
    report["found"].clone()
}

#[test]
fn a_forest_is_a_list_of_edges() {
    let sandbox = Sandbox::new();
    sandbox.write("roads.csv", ROADS);
    let run = |options: &str| sandbox.must(&format!("run mcst roads.csv -q -o - {options}"));
    let least = "source,target,weight\nbirch,corby,1.5\nashby,corby,2.0\nderby,elton,7.0\n";
    let most = "source,target,weight\nashby,birch,4.0\nashby,corby,2.0\nderby,elton,7.0\n";
    let sorted = |table: &str| {
        let mut lines: Vec<_> = table.lines().map(str::to_owned).collect();
        lines[1..].sort();
        lines
    };
    for options in ["", "--threads 1", "--threads 3 --memory 1G --edge-memory 0", "--undirected"] {
        assert_eq!(sorted(&run(options)), sorted(least), "{options}");
    }
    assert_eq!(sorted(&run("--cost maximum")), sorted(most));
    let figures = |line: &str| found(&sandbox, line);
    assert_eq!(figures("mcst roads.csv"), json!({ "weight": 10.5, "edges": 3, "trees": 2 }));
    sandbox.must("run mcst roads.csv -q -o forest.csv");
    assert_eq!(figures("mcst forest.csv")["weight"], 10.5);
    sandbox.must("run mcst roads.csv -q -o forest.parquet");
    assert_eq!(figures("mcst forest.parquet")["edges"], 3);
}

#[test]
fn the_terminal_shows_the_edges_that_cost_most() {
    let sandbox = Sandbox::new();
    sandbox.write("roads.csv", ROADS);
    let ended = sandbox.run("run mcst roads.csv --top 2");
    let shown = "   source  target  weight\n1  derby   elton        7\n2  ashby   corby        2\n";
    assert_eq!(ended.stdout, shown);
    assert!(ended.stderr.contains("note: 3 edges of total weight 10.5 in 2 trees\n"));
    let ended = sandbox.run("run mcst roads.csv --top 1 --cost maximum");
    assert!(ended.stdout.ends_with("1  ashby   corby        2\n"), "{}", ended.stdout);
    sandbox.write("links.txt", LINKS);
    let ended = sandbox.run("run mcst links.txt");
    let note = "note: 5 edges of total weight 5 in 1 tree; edges have no weights: each counts 1\n";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
}

#[test]
fn who_reaches_whom_is_one_component() {
    let sandbox = Sandbox::new();
    sandbox.write("links.txt", LINKS);
    let run = |options: &str| sandbox.must(&format!("run scc links.txt -q -o - {options}"));
    let expected = "vertex,component\n1,1\n2,1\n3,1\n4,4\n5,4\n9,9\n";
    for options in ["", "--threads 1", "--threads 3 --memory 1G --edge-memory 0"] {
        assert_eq!(run(options), expected, "{options}");
    }
    assert!(run("--undirected").ends_with("\n9,1\n"));
    let ended = sandbox.run("run scc links.txt");
    let note = "note: 3 strongly connected components, the largest with 3 vertices\n";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("   component  vertices\n1          1         3\n"));
}

#[test]
fn kept_graphs_serve_as_files_do() {
    let sandbox = Sandbox::new();
    sandbox.write("roads.csv", ROADS);
    sandbox.write("links.txt", LINKS);
    for (file, algorithm) in [("roads.csv", "mcst"), ("links.txt", "scc")] {
        sandbox.must(&format!("ingest {file} -q -o {algorithm}"));
        let run = |graph: &str| sandbox.must(&format!("run {algorithm} {graph} -q -o -"));
        assert_eq!(run(algorithm), run(file));
    }
}

#[test]
fn vertices_that_share_a_slot_are_trees_and_components() {
    let sandbox = Sandbox::new();
    sandbox.write("links.txt", LINKS);
    let many = "--vertices 5000000000";
    let figures = found(&sandbox, &format!("mcst links.txt {many}"));
    assert_eq!(figures, json!({ "weight": 5.0, "edges": 5, "trees": 4_999_999_995_u64 }));
    let list = |options: &str| sandbox.must(&format!("run mcst links.txt -q -o - {options}"));
    assert_eq!(list(many), list(""));
    let ended = sandbox.run(&format!("run scc links.txt {many}"));
    assert!(ended.stderr.contains("note: 4,999,999,997 strongly connected components"));
}

#[test]
fn what_cannot_be_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.write("roads.csv", ROADS);
    for (line, code, message) in [
        ("mcst roads.csv --cost dear", 2, "invalid value 'dear'"),
        ("mcst roads.csv --weight price", 65, "expected a weight column"),
        ("mcst roads.csv --memory 1M", 78, "this run needs"),
        ("scc roads.csv --memory 1M", 78, "this run needs"),
    ] {
        let ended = sandbox.run(&format!("run {line}"));
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
    sandbox.write("odd.csv", "a,b,1\nb,c,nan\n");
    assert_eq!(sandbox.run("run mcst odd.csv").code, Some(65));
}

#[test]
fn edges_that_are_left_are_told() {
    let sandbox = Sandbox::new();
    // Each pass leaves a quarter of the edges between components.
    let weight = |at: u32| at.trailing_zeros() / 2;
    let rows: Vec<String> =
        (1..1 << 16).map(|at: u32| format!("{at},{},{}\n", at + 1, weight(at))).collect();
    sandbox.write("path.csv", rows.concat());
    let run = |more: &str| {
        let line = format!("run mcst path.csv -o forest.csv --report report.json {more}");
        let ended = sandbox.run(&line);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let report: serde_json::Value =
            serde_json::from_slice(&sandbox.read("report.json")).unwrap();
        (ended.stderr, report["storage"]["edges_left"].clone())
    };
    let (stderr, left) = run("--edge-memory 0");
    // Edges stay in memory then, and are not written again.
    assert_eq!(left, json!([(1 << 14) - 1]));
    assert!(stderr.contains("those that were left written anew 1 time, 16383 at last"), "{stderr}");
    let (stderr, left) = run("");
    assert!(left.is_null() && !stderr.contains("written anew"), "{stderr}");
}

#[test]
fn edges_that_are_contracted_are_told() {
    let sandbox = Sandbox::new();
    // Next to none of the edges between components is the best one there.
    let mut state = 3_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % below
    };
    let mut row = |_| format!("{},{},{}\n", random(1000), random(1000), random(1 << 30));
    let rows: Vec<String> = (0..100_000).map(&mut row).collect();
    sandbox.write("many.csv", rows.concat());
    let run = |more: &str| {
        let line = format!("run mcst many.csv -q -o - --report report.json {more}");
        let answer = sandbox.must(&line);
        let report: serde_json::Value =
            serde_json::from_slice(&sandbox.read("report.json")).unwrap();
        (answer, report["storage"].clone())
    };
    let (answer, figures) = run("--edge-memory 0");
    let parallel = figures["edges_parallel"].as_array().unwrap();
    assert_eq!(parallel.len(), figures["edges_left"].as_array().unwrap().len());
    let left_out: u64 = parallel.iter().filter_map(serde_json::Value::as_u64).sum();
    assert!(left_out > 50_000, "{figures}");
    let (other, figures) = run("");
    assert!(answer == other && figures["edges_parallel"].is_null());
    let stderr = sandbox.run("run mcst many.csv -o forest.csv --edge-memory 0").stderr;
    assert!(stderr.contains("contracted without "), "{stderr}");
}
