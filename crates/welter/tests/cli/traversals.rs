//! Searches, shortest paths and components, as a user runs them.

use crate::sandbox::{Ended, Sandbox, example};

/// Two roads from a to d, a loop, and an island.
const ROADS: &str = "from,to,weight\na,b,1\nb,c,2\nc,d,2.5\na,d,9\nd,d,1\nx,y,3\n";

fn roads() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("roads.csv", ROADS);
    sandbox
}

/// The table that a run prints.
fn table(sandbox: &Sandbox, line: &str) -> String {
    sandbox.must(&format!("run {line} -q -o -"))
}

fn failed(sandbox: &Sandbox, line: &str, code: i32, messages: &[&str]) {
    let Ended { code: found, stdout, stderr } = sandbox.run(line);
    assert_eq!((found, stdout.as_str()), (Some(code), ""), "welter {line}\n{stderr}");
    for message in messages {
        assert!(stderr.contains(message), "welter {line}\nsaid {stderr}and not \"{message}\"");
    }
}

#[test]
fn depths_parents_and_distances() {
    let sandbox = roads();
    let depths = "vertex,depth\na,0\nb,1\nc,2\nd,1\nx,-1\ny,-1\n";
    assert_eq!(table(&sandbox, "bfs roads.csv --source a"), depths);
    let tree = "vertex,depth,parent\na,0,a\nb,1,a\nc,2,b\nd,1,a\nx,-1,\ny,-1,\n";
    assert_eq!(table(&sandbox, "bfs roads.csv --source a --parents"), tree);
    let distances = "vertex,distance\na,0.0\nb,1.0\nc,3.0\nd,5.5\nx,inf\ny,inf\n";
    for options in
        ["", "--delta 0.5", "--delta inf --precision f32", "--frontier sparse --threads 3"]
    {
        let line = format!("sssp roads.csv --source a {options}");
        assert_eq!(table(&sandbox, &line), distances, "{options}");
    }
    let tree = "vertex,distance,parent\na,0.0,a\nb,1.0,a\nc,3.0,b\nd,5.5,c\nx,inf,\ny,inf,\n";
    for options in ["", "--delta 0.5", "--frontier sparse --threads 3", "--route spill"] {
        let line = format!("sssp roads.csv --source a --parents {options}");
        assert_eq!(table(&sandbox, &line), tree, "{options}");
    }
    let narrow = "run sssp roads.csv --source a --parents --precision f32";
    failed(&sandbox, narrow, 2, &["f64 only", "leave --precision out"]);
    let hops = "vertex,distance\na,0.0\nb,1.0\nc,2.0\nd,1.0\nx,inf\ny,inf\n";
    assert_eq!(table(&sandbox, "sssp roads.csv --source a --no-weights"), hops);
}

#[test]
fn edges_are_followed_either_way() {
    let sandbox = roads();
    let depths = |options: &str| {
        let text = table(&sandbox, &format!("bfs roads.csv {options}"));
        let depth = |line: &str| line.split_once(',').unwrap().1.to_owned();
        text.lines().skip(1).map(depth).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(depths("--source c --direction out"), "-1 -1 0 1 -1 -1");
    assert_eq!(depths("--source c --direction in"), "2 1 0 -1 -1 -1");
    assert_eq!(depths("--source c --direction both"), "2 1 0 1 -1 -1");
    assert_eq!(depths("--source c --undirected"), "2 1 0 1 -1 -1");
    let back = "vertex,distance\na,5.5\nb,4.5\nc,2.5\nd,0.0\nx,inf\ny,inf\n";
    assert_eq!(table(&sandbox, "sssp roads.csv --source d --direction in"), back);
    let ended = sandbox.run("run bfs roads.csv --source d --direction in --report r.json");
    assert!(ended.stderr.contains("6 vertices, 6 edges (backwards), "), "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["input"]["reversed"], true);
    assert_eq!(report["parameters"]["direction"], "in");
    let plan = sandbox.must("explain bfs roads.csv --direction in");
    assert!(plan.contains("ids are strings, edges read backwards\n"), "{plan}");
    assert!(plan.contains("\nfrontier  edges of few active vertices are looked up"), "{plan}");
    assert!(plan.contains("frontier: who is active"), "{plan}");
}

#[test]
fn sources_are_said_or_listed() {
    let sandbox = roads();
    let both = "vertex,depth\na,0\nb,1\nc,2\nd,1\nx,0\ny,1\n";
    assert_eq!(table(&sandbox, "bfs roads.csv --source a --source x"), both);
    sandbox.write("some.txt", "x\na\nx\n");
    assert_eq!(table(&sandbox, "bfs roads.csv --sources-from some.txt"), both);
    assert_eq!(table(&sandbox, "bfs roads.csv --source a --sources-from some.txt"), both);
    let piped = sandbox.run_with("run bfs roads.csv --sources-from - -q -o -", b"a\nx\n");
    assert_eq!((piped.stdout.as_str(), piped.stderr.as_str()), (both, ""));
    sandbox.write("gaps.txt", "10 70\n70 1000000000000\n");
    let depths = "vertex,depth\n10,-1\n70,0\n1000000000000,1\n";
    assert_eq!(table(&sandbox, "bfs gaps.txt --source 70"), depths);
}

#[test]
fn a_source_that_is_missing_or_no_vertex_is_an_error() {
    let sandbox = roads();
    for algorithm in ["bfs", "sssp"] {
        let messages = ["needs the vertex to begin at", "--source ID", "--sources-from FILE"];
        failed(&sandbox, &format!("run {algorithm} roads.csv -o out.csv"), 2, &messages);
        let line = format!("run {algorithm} roads.csv --source nowhere -o out.csv");
        failed(&sandbox, &line, 65, &["--source nowhere: the graph has no vertex of this id"]);
    }
    sandbox.write("some.txt", "a\nnowhere\n");
    let line = "run bfs roads.csv --sources-from some.txt -o out.csv";
    failed(&sandbox, line, 65, &["some.txt: row 2: expected the id of a vertex"]);
    let line = "run bfs roads.csv --sources-from absent.txt -o out.csv";
    failed(&sandbox, line, 66, &["absent.txt"]);
    failed(&sandbox, "run bfs - --sources-from -", 2, &["standard input is either"]);
    // 2 lies between the ids of the graph, 9 beyond them, and x is no integer.
    sandbox.write("gaps.txt", "1 3\n3 5\n");
    for id in ["2", "9", "x", "18446744073709551615"] {
        let message = format!("--source {id}: the graph has no vertex");
        failed(&sandbox, &format!("run bfs gaps.txt --source {id}"), 65, &[&message]);
    }
    assert_eq!(sandbox.files(), ["gaps.txt", "roads.csv", "some.txt"]);
    // A plan needs no source.
    sandbox.must("explain sssp roads.csv");
}

#[test]
fn a_negative_weight_is_an_error_with_its_line() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "from,to,weight\n1,2,3\n2,3,-0.5\n");
    let messages = ["edges.csv:3: expected a weight that is not negative, found \"-0.5\""];
    failed(&sandbox, "run sssp edges.csv --source 1 -o out.csv", 65, &messages);
    assert_eq!(table(&sandbox, "sssp edges.csv --source 1 --no-weights").lines().count(), 4);
    table(&sandbox, "spmv edges.csv");
}

#[test]
fn components_come_with_their_sizes() {
    let sandbox = roads();
    let components = "vertex,component\na,a\nb,a\nc,a\nd,a\nx,x\ny,x\n";
    for options in ["", "--method label-propagation", "--undirected", "--threads 3"] {
        assert_eq!(table(&sandbox, &format!("wcc roads.csv {options}")), components, "{options}");
    }
    let ended = sandbox.run("run wcc roads.csv");
    assert_eq!(
        ended.stdout,
        "   component  vertices\n1  a                 4\n2  x                 2\n"
    );
    let note = "note: 2 components, the largest with 4 vertices\n6 vertices, 6 edges, 1 iteration";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let labels = sandbox.run("run wcc roads.csv --method label-propagation");
    assert!(labels.stderr.contains("6 vertices, 11 edges (both ways), "), "{}", labels.stderr);
}

#[test]
fn the_farthest_come_first_and_what_was_reached_is_said() {
    let sandbox = roads();
    let ended = sandbox.run("run bfs roads.csv --source a --parents --top 3");
    let top = "   vertex  depth  parent\n1  c           2  b\n2  b           1  a\n\
        3  d           1  a\n";
    assert_eq!(ended.stdout, top);
    let note = "note: reached 4 of 6 vertices from 1 source; the farthest is 2 edges away\n";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    assert!(!ended.stderr.contains("frontier"), "{}", ended.stderr);
    let ended = sandbox.run("run sssp roads.csv --source a --source x --top 1 --report r.json");
    assert_eq!(ended.stdout, "   vertex  distance\n1  d        5.50000\n");
    let note = "reached 6 of 6 vertices from 2 sources; the farthest is 5.5 away; lengths add up";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    assert!(ended.stderr.contains("\nfrontier: "), "{}", ended.stderr);
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(levels.len() as u64, report["iterations"].as_u64().unwrap());
    assert_eq!((&levels[0]["iterations"], &levels[0]["active"]), (&1.into(), &2.into()));
    sandbox.write("plain.txt", "1 2\n");
    let ended = sandbox.run("run sssp plain.txt --source 1");
    assert!(ended.stderr.contains("edges have no weights: each counts 1"), "{}", ended.stderr);
}

#[test]
fn every_way_to_find_edges_gives_the_same_on_a_real_graph() {
    let sandbox = Sandbox::new();
    let run = |options: &str| {
        let line = format!("bfs {} --source libc6 --direction in {options}", example());
        table(&sandbox, &line)
    };
    let auto = run("");
    assert_eq!(auto.lines().count(), 59_446);
    assert!(auto == run("--frontier dense --threads 1"));
    assert!(auto == run("--frontier sparse --encoding compressed --threads 2"));
}

#[test]
fn parents_are_written_in_every_format() {
    let sandbox = roads();
    for format in ["csv.gz", "tsv", "parquet", "arrow", "npy"] {
        sandbox.must(&format!("run bfs roads.csv --source a --parents -q -o tree.{format}"));
    }
    let tsv = String::from_utf8(sandbox.read("tree.tsv")).unwrap();
    assert_eq!(tsv, table(&sandbox, "bfs roads.csv --source a --parents").replace(',', "\t"));
    assert!(String::from_utf8_lossy(&sandbox.read("tree.npy")).contains("('parent', '<U1')"));
}
