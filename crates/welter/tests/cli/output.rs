//! Where results go, and what happens when they cannot.

use std::io::Read;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::sandbox::{Ended, Sandbox};

#[test]
fn an_output_that_cannot_be_made_is_refused_before_anything_is_read() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.txt", "1 x\n");
    for output in ["no/such/folder/ranks.csv", "bad.txt/ranks.csv"] {
        let ended = sandbox.run(&format!("run pagerank bad.txt -o {output}"));
        assert_eq!(ended.code, Some(73), "{}", ended.stderr);
        assert!(ended.stderr.starts_with(&format!("error: {output}: cannot create it")));
        let ended = sandbox.run(&format!("run pagerank bad.txt --report {output}"));
        assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    }
    assert_eq!(sandbox.files(), ["bad.txt"]);
}

#[test]
fn an_input_is_never_replaced() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "0,1\n");
    symlink("edges.csv", sandbox.path().join("link.csv")).unwrap();
    for line in [
        "run pagerank edges.csv -o edges.csv",
        "run pagerank link.csv -o ./edges.csv",
        "convert edges.csv -o link.csv",
        "run pagerank edges.csv --report link.csv",
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(73), "{line}\n{}", ended.stderr);
        assert!(ended.stderr.contains("is an input"), "{}", ended.stderr);
    }
    assert_eq!(sandbox.read("edges.csv"), b"0,1\n");
}

#[test]
fn what_was_there_stays_when_a_run_fails() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.txt", "1 2\n1 x\n");
    sandbox.write("ranks.csv", "old");
    assert_eq!(sandbox.run("run pagerank bad.txt -o ranks.csv").code, Some(65));
    assert_eq!(sandbox.read("ranks.csv"), b"old");
    assert_eq!(sandbox.files(), ["bad.txt", "ranks.csv"]);
    sandbox.must("run pagerank rmat:6 -o ranks.csv");
    assert!(sandbox.read("ranks.csv").starts_with(b"vertex,rank"));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let sandbox = Sandbox::new();
    for line in ["generate rmat 16", "run pagerank rmat:16 -o - --iterations 1"] {
        let mut child = sandbox.command(line).spawn().unwrap();
        let mut first = [0; 8];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ended = Ended::waited(child);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn quiet_is_quiet() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run pagerank rmat:6 --quiet --top 1");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout.lines().count(), 2);
}

#[test]
fn a_report_tells_plan_and_phases() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 8 -o graph.tsv");
    sandbox.must(
        "run pagerank graph.tsv --threads 2 --memory 1GiB --iterations 3 \
         -o ranks.parquet --report report.json",
    );
    let report: Value = serde_json::from_slice(&sandbox.read("report.json")).unwrap();
    assert_eq!(report["algorithm"], "pagerank");
    assert_eq!(report["parameters"]["damping"], 0.85);
    assert_eq!(report["parameters"]["iterations_max"], 3);
    assert_eq!(report["iterations"], 3);
    assert_eq!(report["graph"]["edges"], 4096);
    assert_eq!(report["plan"]["threads"], 2);
    assert_eq!(report["plan"]["budget_bytes"], 1 << 30);
    assert_eq!(report["input"]["files"][0]["format"], "text");
    let phases = report["phases"].as_array().unwrap();
    for (name, unit) in
        [("read", "bytes"), ("sort", "edges"), ("iterate", "iterations"), ("write", "vertices")]
    {
        let phase = phases.iter().find(|phase| phase["name"] == name).unwrap();
        assert_eq!(phase["unit"], unit);
        assert!(phase["done"].as_u64().unwrap() > 0, "{phase}");
        assert!(phase["seconds"].as_f64().unwrap() >= 0.0, "{phase}");
    }
    let read = phases.iter().find(|phase| phase["name"] == "read").unwrap();
    let bytes = sandbox.read("graph.tsv").len() as u64;
    assert!(read["done"].as_u64().unwrap() > bytes / 2 && read["bytes"].is_u64());
    assert!(report["resident_bytes_max"].as_u64().unwrap() > 1 << 20);
    let storage = &report["storage"];
    assert_eq!(
        (storage["bytes_per_edge"].as_f64(), storage["reads"].as_u64()),
        (Some(0.0), Some(0))
    );
    let input = &report["input"];
    let edges = input["edges"].as_u64().unwrap() as f64;
    assert_eq!(input["bytes_per_edge"].as_f64(), Some(bytes as f64 / edges));
}

#[test]
fn outputs_that_would_destroy_something_are_refused_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.must("generate rmat 6 -q -o graph.tsv");
    sandbox.must("ingest graph.tsv -q -o kept");
    sandbox.write("graph.v", "0\n");
    sandbox.write("graph.e", "0 1\n");
    sandbox.write("known.csv", "0,0.9,0.1\n");
    sandbox.write("shares.csv", "0,1\n");
    sandbox.write("packed.e.gz", "0 1\n");
    sandbox.write("packed.v.gz", "0\n");
    sandbox.write("far.properties", "graph.far.vertex-file = v.csv\ngraph.far.edge-file = e.csv\n");
    sandbox.write("v.csv", "0\n1\n");
    sandbox.write("e.csv", "0 1\n");
    sandbox.write("there.csv", "mine");
    std::fs::hard_link(sandbox.path().join("there.csv"), sandbox.path().join("hard.csv")).unwrap();
    std::fs::create_dir(sandbox.path().join("cp")).unwrap();
    let before = sandbox.files();
    for (line, code, message) in [
        ("run wcc graph.tsv -o x.csv --report ./x.csv", 2, "is the same file as the output x.csv"),
        ("run wcc graph.tsv -o there.csv --report hard.csv", 2, "is the same file as"),
        ("run wcc kept -o kept/manifest --output-format csv", 73, "a graph is kept in"),
        ("run wcc graph.tsv -o kept/gen-0/ids --output-format csv", 73, "a graph is kept in"),
        ("run wcc kept --report kept/report.json", 73, "a graph is kept in"),
        ("run wcc graph.e -o graph.v --output-format csv", 73, "graph.v: is an input"),
        ("run bp graph.tsv --priors-from known.csv -o known.csv", 73, "known.csv: is an input"),
        ("run wcc graph.tsv --vertices-from v.csv -o v.csv", 73, "v.csv: is an input"),
        ("run wcc graph.tsv --vertices-from v*.csv -o v.csv", 73, "v.csv: is an input"),
        ("run wcc graph.tsv --vertices-from v.csv --report v.csv", 73, "v.csv: is an input"),
        ("convert graph.tsv --vertices-from v.csv -o v.csv", 73, "v.csv: is an input"),
        (
            "run wcc graph.tsv --bipartite --target-vertices-from v.csv -o v.csv",
            73,
            "v.csv: is an input",
        ),
        ("run bfs graph.tsv --sources-from v.csv -o v.csv", 73, "v.csv: is an input"),
        ("run sssp graph.tsv --sources-from v.csv -o v.csv", 73, "v.csv: is an input"),
        ("run spmv graph.tsv --vector-from shares.csv -o shares.csv", 73, "is an input"),
        ("run pagerank graph.tsv --personalization shares.csv -o shares.csv", 73, "is an input"),
        ("run pagerank graph.tsv --personalization sh*.csv -o shares.csv", 73, "is an input"),
        ("run conductance graph.tsv --membership shares.csv -o shares.csv", 73, "is an input"),
        ("run wcc packed.e.gz -o packed.v.gz --output-format csv", 73, "packed.v.gz: is an input"),
        ("run wcc far.properties -o v.csv", 73, "v.csv: is an input"),
        ("run pagerank graph.tsv --checkpoint cp -o cp/x.csv", 2, "checkpoints are kept in"),
        ("run wcc graph.tsv -o new/ --output-format csv", 2, "new/: machines of a cluster write"),
        ("run wcc graph.tsv -o cp --output-format csv", 73, "cp: cannot create it"),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(message), "{line}: {}", ended.stderr);
    }
    assert_eq!(sandbox.files(), before);
    assert_eq!(sandbox.read("there.csv"), b"mine");
    sandbox.must("check kept -q");
}

#[test]
fn a_link_is_followed_and_what_is_open_already_is_added_to() {
    let sandbox = Sandbox::new();
    sandbox.must("run wcc rmat:5 -q -o plain.csv");
    symlink("far.csv", sandbox.path().join("link.csv")).unwrap();
    sandbox.must("run wcc rmat:5 -q -o link.csv");
    assert!(sandbox.path().join("link.csv").is_symlink());
    assert!(sandbox.read("far.csv") == sandbox.read("plain.csv"));
    sandbox.write("all.csv", "mine\n");
    let file = std::fs::File::options().append(true).open(sandbox.path().join("all.csv")).unwrap();
    let line = "run wcc rmat:5 -q -o /dev/stdout --output-format csv";
    assert!(sandbox.command(line).stdout(file).status().unwrap().success());
    let expected = [b"mine\n", &sandbox.read("plain.csv")[..]].concat();
    assert!(sandbox.read("all.csv") == expected);
}

#[test]
fn a_file_that_is_mounted_is_refused_before_the_run() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.csv", "mine");
    sandbox.write("there.csv", "there");
    sandbox.write("bad.tsv", "1 x\n");
    let [mine, there] = ["mine.csv", "there.csv"].map(|name| sandbox.path().join(name));
    let mount = Command::new("mount").arg("--bind").args([&mine, &there]).output();
    if !mount.is_ok_and(|mount| mount.status.success()) {
        let required = std::env::var("WELTER_REQUIRE").unwrap_or_default();
        assert!(required.split(',').all(|it| it != "mount"), "WELTER_REQUIRE asks for mounts");
        eprintln!("SKIPPED: nobody lets this test mount a file");
        return;
    }
    let ended = sandbox.run("run wcc bad.tsv -o there.csv");
    Command::new("umount").arg(&there).status().unwrap();
    assert_eq!(ended.code, Some(73), "{}", ended.stderr);
    assert!(ended.stderr.contains("mounted by itself"), "{}", ended.stderr);
    assert_eq!(sandbox.read("mine.csv"), b"mine");
}

#[test]
fn standard_error_that_cannot_be_written_changes_nothing() {
    let sandbox = Sandbox::new();
    let run = |line: &str| {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        [full.into(), Stdio::from(writer)]
            .map(|stderr| sandbox.command(line).stderr(stderr).status().unwrap().code())
    };
    sandbox.must("run wcc rmat:5 -q -o expected.csv");
    for (line, code) in [
        ("run wcc rmat:5 -o out.csv", 0),
        ("run pagerank rmat:8 -o ranks.csv --checkpoint cp --checkpoint-every 1", 0),
        ("run wcc rmat:5 --no-such-option", 2),
        ("run wcc none.tsv", 66),
        ("run pagerank rmat:8 --memory 1", 78),
        ("", 2),
    ] {
        assert_eq!(run(line), [Some(code); 2], "{line}");
    }
    assert!(sandbox.read("out.csv") == sandbox.read("expected.csv"));
    assert_eq!(sandbox.files(), ["expected.csv", "out.csv", "ranks.csv"]);
}

#[test]
fn a_file_beyond_the_limit_of_the_process_is_an_error() {
    let sandbox = Sandbox::new();
    let script = "ulimit -f 8; exec \"$0\" generate rmat 14 -o out.tsv";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_welter")]).current_dir(sandbox.path());
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(ended.stderr.contains("File too large"), "{}", ended.stderr);
    assert_eq!(sandbox.files(), [""; 0]);
}

#[test]
fn what_was_written_is_told() {
    let sandbox = Sandbox::new();
    let ended = sandbox.run("run wcc rmat:5 -o out.csv");
    let last = ended.stderr.lines().last().unwrap();
    assert!(last.starts_with("out.csv: ") && last.contains(" rows, "), "{last}");
    let rows = String::from_utf8(sandbox.read("out.csv")).unwrap().lines().count() - 1;
    assert!(last.contains(&format!(": {rows} rows")), "{last}");
    let ended = sandbox.run("generate rmat 5 -o graph.tsv");
    assert!(ended.stderr.starts_with("graph.tsv: 32 vertices, 512 edges, "), "{}", ended.stderr);
    assert_eq!(sandbox.run("run wcc rmat:5 -q -o out.csv").stderr, "");
}

#[test]
fn json_lines_hold_what_other_formats_hold() {
    let sandbox = Sandbox::new();
    sandbox.write("graph.csv", "source,target,weight\na,\"say \"\"b\"\"\",0.5\nx,y,2\n");
    sandbox.must("run sssp graph.csv --source a --weight weight -q -o far.jsonl");
    let text = String::from_utf8(sandbox.read("far.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected = serde_json::json!([
        { "vertex": "a", "distance": 0.0 },
        { "vertex": "say \"b\"", "distance": 0.5 },
        { "vertex": "x", "distance": null },
        { "vertex": "y", "distance": null },
    ]);
    assert_eq!(Value::Array(rows), expected);
    sandbox.must("run bfs graph.csv --source a --parents -q -o tree.ndjson.gz");
    sandbox.must("convert graph.csv -q -o edges.jsonl");
    let text = String::from_utf8(sandbox.read("edges.jsonl")).unwrap();
    let second = "{\"source\":\"x\",\"target\":\"y\",\"weight\":2}";
    assert_eq!(text.lines().nth(1), Some(second));
    let stdout = sandbox.must("generate rmat 3 -q --output-format jsonl");
    let first: Value = serde_json::from_str(stdout.lines().next().unwrap()).unwrap();
    assert!(first["source"].is_u64() && first.get("weight").is_none(), "{first}");
}

#[test]
fn an_output_may_have_any_name() {
    use std::os::unix::ffi::OsStrExt;
    let sandbox = Sandbox::new();
    let name = std::ffi::OsStr::from_bytes(b"out\xff.csv");
    let mut command = sandbox.command("run wcc rmat:5 -q -o");
    assert_eq!(command.arg(name).status().unwrap().code(), Some(0));
    assert!(std::fs::read(sandbox.path().join(name)).unwrap().starts_with(b"vertex,component"));
}

#[test]
fn a_report_is_a_page_where_its_name_says_so() {
    let sandbox = Sandbox::new();
    for (line, machines) in [("", 0), (" --cluster local:2", 2)] {
        sandbox.must(&format!("run bfs rmat:8 --source 3 -q -o d.csv --report r.html{line}"));
        let page = String::from_utf8(sandbox.read("r.html")).unwrap();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
        assert!(page.contains("<title>bfs of rmat:8</title>"), "{page}");
        assert_eq!(page.matches("\"end\">machine ").count(), machines, "{page}");
    }
    // Reports of other commands are JSON alone.
    sandbox.must("run bfs rmat:8 --source 3 -q -o d.csv --report r.json");
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let times = report["iteration_times"].as_array().unwrap();
    let sum: u64 = times.iter().map(|entry| entry["iterations"].as_u64().unwrap()).sum();
    assert_eq!(Some(sum), report["iterations"].as_u64(), "{report}");
}

#[test]
fn a_report_goes_to_standard_output_in_place_of_the_table() {
    let sandbox = Sandbox::new();
    sandbox.write("edges.csv", "0,1\n1,2\n");
    let report: Value =
        serde_json::from_str(&sandbox.must("run pagerank edges.csv -q --report -")).unwrap();
    assert_eq!(report["algorithm"], "pagerank");
    let text = sandbox.must("run pagerank edges.csv -q -o ranks.csv --report -");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["graph"]["edges"], 2);
    let ended = sandbox.run("run pagerank edges.csv -o - --report -");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("--report -: results go to standard output"), "{}", ended.stderr);
    assert_eq!(sandbox.files(), ["edges.csv", "ranks.csv"]);
}
