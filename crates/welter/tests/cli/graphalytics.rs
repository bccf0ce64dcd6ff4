//! Data sets of LDBC Graphalytics: run by their properties, validated by the rules, and references
//! that are spoilt in every way that the rules tell apart.
//!
//! The two examples lie in `tests/graphalytics`. The other validation graphs are read from the data
//! folder beside the repository; where it is absent, that is said aloud.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox, root};

const DIRECTED: &str = "example-directed";
const UNDIRECTED: &str = "example-undirected";

/// A sandbox with a copy of both examples and their references.
fn examples() -> Sandbox {
    let sandbox = Sandbox::new();
    for entry in fs::read_dir(root().join("crates/welter/tests/graphalytics")).unwrap() {
        let path = entry.unwrap().path();
        sandbox.write(path.file_name().unwrap().to_str().unwrap(), fs::read(&path).unwrap());
    }
    sandbox
}

/// Output about an algorithm of the directed example whose reference was changed.
fn spoilt(algorithm: &str, change: impl FnOnce(String) -> String) -> Ended {
    let sandbox = examples();
    let name = format!("{DIRECTED}-{algorithm}");
    let text = String::from_utf8(sandbox.read(&name)).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text, "nothing was changed");
    sandbox.write(&name, changed);
    sandbox.run(&format!("graphalytics . --graph {DIRECTED} --algorithm {algorithm}"))
}

/// Replaces the value of a vertex.
fn with(text: &str, vertex: &str, value: &str) -> String {
    let line = |line: &str| match line.split_once(' ') {
        Some((id, _)) if id == vertex => format!("{id} {value}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

/// The value of a vertex of the directed example.
fn value(text: &str, vertex: &str) -> f64 {
    let mut rows = text.lines().filter_map(|line| line.split_once(' '));
    rows.find(|(id, _)| *id == vertex).unwrap().1.parse().unwrap()
}

fn is_right(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("  right ("), "{}", ended.stdout);
}

/// Exit code and the first error.
fn fails(ended: &Ended, code: i32, message: &str) {
    assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains(message), "{}", ended.stderr);
    assert!(!ended.stdout.contains("  right ("), "{}", ended.stdout);
}

#[test]
fn the_examples_are_right() {
    let sandbox = examples();
    for options in ["", "--threads 1", "--memory 1GiB --edge-memory 0 --scratch ."] {
        let ended = sandbox.run(&format!("graphalytics . --report report.json {options}"));
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout.matches("  right (").count(), 12, "{}", ended.stdout);
        assert!(
            ended.stdout.starts_with(&format!("{DIRECTED}: directed, 10 vertices, 17 edges\n"))
        );
        assert!(
            ended.stdout.contains(&format!("{UNDIRECTED}: undirected, 9 vertices, 12 edges\n"))
        );
        assert!(
            ended.stderr.contains("12 of 12 outputs right, 0 not validated"),
            "{}",
            ended.stderr
        );
    }
    let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
    for (graph, vertices, edges) in [(0, 10, 17), (1, 9, 12)] {
        let runs = report["graphs"][graph]["algorithms"].as_array().unwrap();
        let names: Vec<_> = runs.iter().map(|run| run["algorithm"].as_str().unwrap()).collect();
        assert_eq!(names, ["BFS", "CDLP", "LCC", "PR", "SSSP", "WCC"]);
        for run in runs {
            assert_eq!(run["validation"], "right");
            assert_eq!((&run["vertices"], &run["edges"]), (&vertices.into(), &edges.into()));
            assert_eq!((&run["compared"], &run["differing"]), (&vertices.into(), &0.into()));
            let number = |key: &str| run[key].as_f64().unwrap();
            let evps = f64::from(vertices + edges) / number("processing_seconds");
            assert!((number("evps") / evps - 1.0).abs() < 1e-6, "{run}");
            assert!(number("load_seconds") > 0.0 && number("eps") < evps);
            // The phases are those of this run alone.
            let phases = run["report"]["phases"].as_array().unwrap();
            assert_eq!(phases.iter().filter(|phase| phase["name"] == "read").count(), 1);
        }
    }
    let pr = &report["graphs"][0]["algorithms"][3];
    assert_eq!(pr["parameters"]["iterations_max"], 2);
    let words = "welter run pagerank --damping 0.85 --iterations 2 --format properties";
    assert!(pr["run"].as_str().unwrap().starts_with(words), "{pr}");
}

#[test]
fn the_properties_alone_and_some_algorithms_can_be_named() {
    let sandbox = examples();
    let shown = sandbox.must(&format!("graphalytics {DIRECTED}.properties --algorithm wcc,bfs"));
    let rows: Vec<_> = shown.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(rows, ["example-directed:", "algorithm", "WCC", "BFS"]);
    let unknown = sandbox.run("graphalytics . --graph other");
    fails(&unknown, 66, "has no graph other, but example-directed, example-undirected");
    fails(&sandbox.run("graphalytics . --algorithm ffm"), 2, "ffm");
    fs::create_dir(sandbox.path().join("empty")).unwrap();
    fails(&sandbox.run("graphalytics empty"), 66, "no properties of a data set");
    fails(&sandbox.run("graphalytics nowhere"), 66, "no such file");
    fails(&sandbox.run("graphalytics . --reference nowhere"), 66, "no folder of references");
    // Properties of something else are passed over.
    sandbox.write("log4j.properties", "a = b\n");
    sandbox.write("web.properties", "graphclass=BVGraph\nnodes=1\n");
    sandbox.must("graphalytics . --algorithm bfs");
    fails(&sandbox.run("graphalytics log4j.properties"), 65, "graph.NAME.vertex-file");
}

#[test]
fn outputs_are_in_the_form_of_the_benchmark() {
    let sandbox = examples();
    sandbox.must("graphalytics . -o out");
    let read = |name: &str| String::from_utf8(sandbox.read(&format!("out/{name}"))).unwrap();
    assert_eq!(read("example-directed-BFS"), {
        String::from_utf8(sandbox.read("example-directed-BFS")).unwrap()
    });
    assert!(read("example-directed-SSSP").starts_with("1 0.0\n2 Infinity\n3 0.5\n"));
    assert_eq!(fs::read_dir(sandbox.path().join("out")).unwrap().count(), 12);
    // Outputs are references as good as any, also compressed.
    let reference = "out/example-directed-PR";
    let zst = zstd::encode_all(&*sandbox.read(reference), 0).unwrap();
    sandbox.write(&format!("{reference}.zst"), zst);
    fs::remove_file(sandbox.path().join(reference)).unwrap();
    let again = sandbox.must("graphalytics . --reference out");
    assert_eq!(again.matches("  right (").count(), 12, "{again}");
    for line in ["graphalytics . -o .", "graphalytics . --reference out -o out"] {
        fails(&sandbox.run(line), 73, "would be the references of the next run");
    }
    for file in ["example-directed.e", "example-directed-PR", "example-directed.properties"] {
        let ended = sandbox.run(&format!("graphalytics . --report {file}"));
        fails(&ended, 73, "is an input and cannot be the output too");
    }
    // This form for a run by itself.
    let alone = sandbox.must("run bfs example-directed.e --source 1 -q -o - --output-format ldbc");
    assert!(alone.starts_with("1 0\n2 9223372036854775807\n3 1\n"), "{alone}");
}

#[test]
fn what_has_no_reference_is_not_said_to_be_right() {
    let sandbox = examples();
    fs::remove_file(sandbox.path().join("example-directed-PR")).unwrap();
    let ended = sandbox.run("graphalytics example-directed.properties --report report.json");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let row = ended.stdout.lines().find(|line| line.starts_with("PR ")).unwrap();
    assert!(row.ends_with("not validated: there is no example-directed-PR"), "{row}");
    assert!(ended.stderr.contains("5 of 6 outputs right, 1 not validated"), "{}", ended.stderr);
    let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
    assert_eq!(report["graphs"][0]["algorithms"][3]["validation"], "absent");
}

#[test]
fn exact_results_differ_by_one() {
    for (algorithm, found) in [("BFS", "1"), ("CDLP", "1")] {
        let ended = spoilt(algorithm, |text| with(&text, "5", "2"));
        let message = format!(
            "error: example-directed-{algorithm}: vertex 5: expected 2, found {found}; \
                            1 of 10 vertices differs\nhint: "
        );
        fails(&ended, 70, &message);
        assert!(ended.stdout.contains("  WRONG: vertex 5: expected 2"), "{}", ended.stdout);
    }
    let ended = spoilt("BFS", |text| with(&with(&text, "2", "7"), "4", "1"));
    fails(&ended, 70, "vertex 2: expected 7, found 9223372036854775807; 2 of 10 vertices differ");
}

#[test]
fn near_results_differ_by_more_than_a_ten_thousandth() {
    for algorithm in ["PR", "LCC", "SSSP"] {
        for (factor, right) in
            [(1.000_099, true), (0.999_901, true), (1.000_102, false), (0.999_8, false)]
        {
            let ended = spoilt(algorithm, |text| {
                with(&text, "3", &(value(&text, "3") * factor).to_string())
            });
            if right {
                is_right(&ended);
            } else {
                fails(&ended, 70, "vertex 3: expected ");
            }
        }
    }
    // Nothing but 0 is near 0, and nothing but infinity near infinity.
    fails(&spoilt("SSSP", |text| with(&text, "1", "1e-300")), 70, "vertex 1: expected 1e-300");
    let ended = spoilt("SSSP", |text| with(&text, "2", "1e300"));
    fails(&ended, 70, "vertex 2: expected 1e300, found Infinity");
    fails(&spoilt("SSSP", |text| with(&text, "3", "Infinity")), 70, "expected Infinity, found 0.5");
    is_right(&spoilt("SSSP", |text| text.replace("Infinity", "infinity")));
}

#[test]
fn components_are_right_by_any_labels() {
    let relabelled = |text: String| -> String {
        let rows = text.lines().filter_map(|line| line.split_once(' '));
        rows.fold(String::new(), |mut all, (vertex, label)| {
            writeln!(all, "{vertex} {}", label.parse::<u64>().unwrap() * 7 + 100).unwrap();
            all
        })
    };
    is_right(&spoilt("WCC", relabelled));
    // One that is apart in the reference and not in the result.
    fails(&spoilt("WCC", |text| with(&text, "10", "77")), 70, "vertex 10: expected 77, found 1");
    // Two that are one in the reference.
    let sandbox = Sandbox::new();
    sandbox.write("g.properties", PROPERTIES);
    sandbox.write("g.v", "1\n2\n3\n4\n");
    sandbox.write("g.e", "1 2\n3 4\n");
    sandbox.write("g-WCC", "1 9\n2 9\n3 9\n4 9\n");
    let ended = sandbox.run("graphalytics g.properties");
    fails(&ended, 70, "vertex 3: expected 9, found 3; 2 of 4 vertices differ");
    sandbox.write("g-WCC", "1 9\n2 9\n3 1\n4 1\n");
    is_right(&sandbox.run("graphalytics g.properties"));
    sandbox.write("g-WCC", "1 1\n2 3\n3 3\n4 1\n");
    fails(&sandbox.run("graphalytics g.properties"), 70, "vertex 2: expected 3, found 1");
}

/// Properties of a small graph, for components.
const PROPERTIES: &str = "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\n\
    graph.g.directed = true\ngraph.g.algorithms = wcc\n";

#[test]
fn every_vertex_is_there_once() {
    let without = |text: &str, vertex: &str| -> String {
        let rows = text.lines().filter(|line| !line.starts_with(&format!("{vertex} ")));
        rows.flat_map(|line| [line, "\n"]).collect()
    };
    let missing = "example-directed-BFS: expected a value for each vertex, \
                   found none for 1 of them, such as ";
    for vertex in ["1", "4", "10"] {
        let ended = spoilt("BFS", |text| without(&text, vertex));
        fails(&ended, 65, &format!("{missing}{vertex}\n"));
        assert!(ended.stdout.contains("  not validated: "), "{}", ended.stdout);
    }
    let foreign = "expected a vertex of the graph, found ";
    fails(&spoilt("PR", |text| text + "11 0.1\n"), 65, &format!("-PR:11: {foreign}11"));
    fails(&spoilt("PR", |text| format!("0 0.1\n{text}")), 65, &format!("-PR:1: {foreign}0"));
    let repeated = "expected one line for each vertex, found 4 again";
    let ended = spoilt("LCC", |text| text.replace("4 5.0", "4 5.0e-2\n4 5.0"));
    fails(&ended, 65, &format!("-LCC:5: {repeated}"));
    // Far from the other.
    fails(&spoilt("BFS", |text| text + "4 2\n"), 65, &format!("-BFS:11: {repeated}"));
    // As many lines as vertices, and one of them twice.
    fails(
        &spoilt("BFS", |text| without(&text, "9") + "4 2\n"),
        65,
        &format!("-BFS:10: {repeated}"),
    );
    fails(&spoilt("BFS", |_| String::new()), 65, "found none for 10 of them, such as 1\n");
}

#[test]
fn references_that_are_none_are_told_with_their_line() {
    for (algorithm, line, message) in [
        ("BFS", "5 1.0", "-BFS:5: expected an integer as value, found \"1.0\""),
        ("BFS", "5 -1", "-BFS:5: expected an integer as value, found \"-1\""),
        ("WCC", "5 one", "-WCC:5: expected an integer as value, found \"one\""),
        ("PR", "5 NaN", "-PR:5: expected a number as value, found \"NaN\""),
        ("SSSP", "5", "-SSSP:5: expected a vertex and its value, found \"5\""),
        ("LCC", "5 0.1 0.2", "-LCC:5: expected a vertex and its value, found"),
        ("LCC", "five 0.1", "-LCC:5: expected the id of a vertex, found \"five\""),
    ] {
        let replace = |text: String| -> String {
            let replaced = |row: &str| if row.starts_with("5 ") { line } else { row }.to_owned();
            text.lines().map(|row| replaced(row) + "\n").collect()
        };
        fails(&spoilt(algorithm, replace), 65, message);
    }
}

#[test]
fn references_need_not_be_sorted() {
    let reversed =
        |text: String| text.lines().rev().flat_map(|line| [line, "\n"]).collect::<String>();
    for algorithm in ["BFS", "PR", "WCC"] {
        let ended = spoilt(algorithm, reversed);
        is_right(&ended);
        assert!(ended.stdout.contains("the reference is not sorted)"), "{}", ended.stdout);
    }
    let ended = spoilt("BFS", |text| with(&reversed(text), "5", "2"));
    fails(&ended, 70, "vertex 5: expected 2, found 1; 1 of 10 vertices differs");
}

#[test]
fn a_wrong_result_does_not_hide_the_others() {
    let sandbox = examples();
    sandbox.write("example-directed-BFS", "x\n");
    let text = String::from_utf8(sandbox.read("example-directed-CDLP")).unwrap();
    sandbox.write("example-directed-CDLP", with(&text, "1", "3"));
    let ended = sandbox.run("graphalytics example-directed.properties");
    assert_eq!(ended.code, Some(70), "{}", ended.stderr);
    assert_eq!(ended.stdout.matches("  right (").count(), 4, "{}", ended.stdout);
    assert!(ended.stderr.contains("error: example-directed-CDLP: vertex 1: expected 3, found 1"));
    assert!(ended.stderr.contains("1 more of the outputs are not right"), "{}", ended.stderr);
}

#[test]
fn properties_that_make_no_run_are_refused_before_any() {
    let sandbox = examples();
    let text = String::from_utf8(sandbox.read("example-directed.properties")).unwrap();
    for (from, to, message) in [
        (
            "bfs.source-vertex = 1",
            "bfs.source-vertex = one",
            ":27: expected the id of a vertex for \
          graph.example-directed.bfs.source-vertex, found \"one\"",
        ),
        ("max-iterations = 2", "max-iterations = 0", ":30: expected a number above 0 for"),
        (
            "damping-factor = 0.85",
            "damping-factor = 1.85",
            ":35: expected a number from 0 to 1 for",
        ),
        (
            "num-iterations",
            "iterations",
            "expected the key graph.example-directed.pr.num-iterations",
        ),
        ("algorithms = bfs", "algorithms = ffm", ":19: expected the name of an algorithm"),
        (
            "weight-property = weight",
            "weight-property = -x",
            ":39: expected the name of a property",
        ),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text);
        sandbox.write("example-directed.properties", changed);
        let ended = sandbox.run("graphalytics .");
        fails(&ended, 65, message);
        assert_eq!(ended.stdout, "");
    }
    // An error that is found only in the graph fails that algorithm alone.
    let absent = text.replace("bfs.source-vertex = 1", "bfs.source-vertex = 99");
    sandbox.write("example-directed.properties", absent);
    let ended = sandbox.run("graphalytics example-directed.properties");
    assert_eq!(ended.code, Some(65));
    assert!(
        ended.stderr.contains("-BFS: --source 99: the graph has no vertex"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stdout.matches("  right (").count(), 5, "{}", ended.stdout);
    fs::remove_file(sandbox.path().join("example-directed.v")).unwrap();
    fails(&sandbox.run("graphalytics ."), 66, "example-directed.v: no such file");
    sandbox.must("graphalytics . --graph example-undirected");
}

/// The folder of published validation graphs.
fn suites() -> Option<PathBuf> {
    let folder = root().join("../shared/data/suites");
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: {} is absent, so only the examples were validated", folder.display());
    None
}

/// Writes adjacency lists as the files of a data set.
fn write_lists(sandbox: &Sandbox, name: &str, lists: &str, directed: bool) {
    let (mut vertices, mut edges) = (BTreeSet::new(), String::new());
    for line in lists.lines() {
        let mut ids = line.split_whitespace().map(|id| id.parse::<u64>().unwrap());
        let Some(vertex) = ids.next() else { continue };
        vertices.insert(vertex);
        for other in ids {
            vertices.insert(other);
            // An undirected edge is in the lists of both ends, and once in the files.
            if directed || vertex < other {
                writeln!(edges, "{vertex} {other}").unwrap();
            }
        }
    }
    let vertices = vertices.iter().map(|vertex| format!("{vertex}\n"));
    sandbox.write(&format!("{name}.v"), vertices.collect::<String>());
    sandbox.write(&format!("{name}.e"), edges);
}

#[test]
fn the_validation_graphs_of_the_benchmark_are_right() {
    let Some(suites) = suites() else { return };
    let suite = suites.join("ldbc-validation");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let sandbox = Sandbox::new();
    for algorithm in ["bfs", "cdlp", "lcc", "pr", "sssp", "wcc"] {
        for (way, prefix) in [("directed", "dir"), ("undirected", "undir")] {
            let name = format!("test-{algorithm}-{way}");
            let folder = suite.join(algorithm);
            let properties = suite.join("properties").join(format!("{name}.properties"));
            sandbox.write(&format!("{name}.properties"), read(&properties));
            let output = read(&folder.join(format!("{prefix}-output")));
            sandbox.write(&format!("{name}-{}", algorithm.to_uppercase()), output);
            if algorithm == "sssp" {
                for end in ["v", "e"] {
                    let file = folder.join(format!("{prefix}-input.{end}"));
                    sandbox.write(&format!("{name}.{end}"), read(&file));
                }
            } else {
                let lists = read(&folder.join(format!("{prefix}-input")));
                write_lists(&sandbox, &name, &lists, way == "directed");
            }
        }
    }
    let ended = sandbox.run("graphalytics .");
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.stdout.matches("  right (").count(), 12, "{}", ended.stdout);
}

#[test]
fn a_network_of_62_586_vertices_is_right() {
    let Some(suites) = suites() else { return };
    let sandbox = Sandbox::new();
    let copy = |from: PathBuf, to: &str| sandbox.write(to, fs::read(from).unwrap());
    for end in ["v", "e"] {
        let file = format!("p2p-31.{end}.zst");
        copy(suites.join("../graphs/p2p-31").join(&file), &file);
    }
    let answers = suites.join("libgrape-p2p-31");
    let sets = [
        ("both", false, "bfs, cdlp, lcc, pr, sssp, wcc", ""),
        ("out", true, "bfs, sssp", "-directed"),
    ];
    for (name, directed, algorithms, end) in sets {
        let mut properties = String::new();
        for (key, value) in [
            ("vertex-file", "p2p-31.v"),
            ("edge-file", "p2p-31.e"),
            ("directed", &directed.to_string()),
            ("edge-properties.names", "weight"),
            ("algorithms", algorithms),
            ("bfs.source-vertex", "6"),
            ("cdlp.max-iterations", "10"),
            ("pr.damping-factor", "0.85"),
            ("pr.num-iterations", "10"),
            ("sssp.source-vertex", "6"),
            ("sssp.weight-property", "weight"),
        ] {
            writeln!(properties, "graph.{name}.{key} = {value}").unwrap();
        }
        sandbox.write(&format!("{name}.properties"), properties);
        for algorithm in algorithms.split(", ").map(str::to_uppercase) {
            let answer = answers.join(format!("p2p-31-{algorithm}{end}.zst"));
            copy(answer, &format!("{name}-{algorithm}.zst"));
        }
    }
    for options in ["", "--memory 128MiB --edge-memory 0 --scratch . --threads 1"] {
        let ended = sandbox.run(&format!("graphalytics . {options}"));
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        assert_eq!(ended.stdout.matches("  right (").count(), 8, "{}", ended.stdout);
    }
}
