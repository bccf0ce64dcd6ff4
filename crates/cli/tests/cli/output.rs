//! Where results go, and what happens when they cannot.

use std::io::Read;
use std::os::unix::fs::symlink;

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
        let ended = Ended::of(child.wait_with_output().unwrap());
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
}
