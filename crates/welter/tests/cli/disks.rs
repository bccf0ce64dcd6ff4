//! Graphs over several disks: `ingest --disk`, what other commands make of one, and `remove`.

use std::fs;

use welter_testing::bucket::BucketServer;

use crate::checkpoint::begun;
use crate::copies::put_directory;
use crate::interrupt::{ended, signal};
use crate::objects::must;
use crate::sandbox::{Ended, Sandbox, example};

/// Names in a folder of a sandbox, in order.
fn names(sandbox: &Sandbox, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(sandbox.path().join(folder)).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn with_disks() -> Sandbox {
    let sandbox = Sandbox::new();
    for disk in ["a", "b"] {
        fs::create_dir(sandbox.path().join(disk)).unwrap();
    }
    sandbox
}

/// Keeps a graph with a part of each column on each of the disks, as large ones have.
fn ingest_in_parts(sandbox: &Sandbox, input: &str, graph: &str) {
    let line = format!("ingest {input} -q -o {graph} --disk a --disk b");
    let ended = Ended::of(sandbox.command(&line).env("WELTER_PART_BYTES", "1").output().unwrap());
    assert_eq!(ended.code, Some(0), "welter {line}\n{}", ended.stderr);
}

#[test]
fn large_columns_lie_on_all_disks() {
    let sandbox = with_disks();
    let input = example();
    sandbox.must(&format!("ingest {input} -q -o one"));
    ingest_in_parts(&sandbox, &input, "deb");
    for (disk, turn) in [("a", 1), ("b", 2)] {
        let parts = names(&sandbox, disk);
        let kinds: Vec<&str> = parts.iter().map(|part| part.split_once('.').unwrap().1).collect();
        let all = ["chunks", "cuts", "degrees", "edges", "ids"];
        assert_eq!(kinds, all.map(|kind| format!("{kind}-{turn}")));
    }
    for run in ["pagerank --iterations 5", "bfs --source zzuf --edge-memory 0", "wcc"] {
        let of = |graph: &str| {
            let (algorithm, options) = run.split_once(' ').unwrap_or((run, ""));
            sandbox.must(&format!("run {algorithm} {graph} -q -o out.csv {options}"));
            sandbox.read("out.csv")
        };
        assert!(of("one") == of("deb"), "{run}");
    }
    let checked = sandbox.must("check deb");
    assert!(checked.contains("264,196 edges, ") && !checked.contains("note"), "{checked}");
    sandbox.must("remove deb");
    assert!(["a", "b"].iter().all(|disk| names(&sandbox, disk).is_empty()));
    // Small ones stay in one directory.
    sandbox.must(&format!("ingest {input} -q -o deb --disk a --disk b"));
    assert_eq!(["a", "b"].map(|disk| names(&sandbox, disk).len()), [1, 1]);
}

#[test]
fn a_run_on_columns_over_several_disks_is_resumed_once_all_are_there() {
    let sandbox = with_disks();
    sandbox.must("generate rmat 12 -q -o graph.tsv");
    ingest_in_parts(&sandbox, "graph.tsv", "graph");
    let run = "run pagerank graph --iterations 400 -o ranks.csv";
    sandbox.must(&format!("{run} -q"));
    let expected = sandbox.read("ranks.csv");
    fs::remove_file(sandbox.path().join("ranks.csv")).unwrap();
    let child = begun(&sandbox, run);
    signal(&child, "KILL");
    assert_eq!(ended(child).code, None);
    fs::rename(sandbox.path().join("b"), sandbox.path().join("gone")).unwrap();
    let refused = sandbox.run("resume kept.run");
    assert_eq!(refused.code, Some(70), "{}", refused.stderr);
    assert!(refused.stderr.contains("(is its disk there?)"), "{}", refused.stderr);
    fs::rename(sandbox.path().join("gone"), sandbox.path().join("b")).unwrap();
    sandbox.must("resume kept.run");
    assert!(sandbox.read("ranks.csv") == expected);
}

#[test]
fn columns_in_parts_are_copied_into_a_bucket() {
    let (sandbox, server) = (with_disks(), BucketServer::start().unwrap());
    ingest_in_parts(&sandbox, &example(), "graph");
    let expected = sandbox.must("run pagerank graph --iterations 3 -q -o -");
    put_directory(&sandbox, &server, "box/copy");
    assert!(server.paths().contains(&"box/copy/gen-0/ids-2".to_owned()));
    let from_storage = "--edge-memory 0 --threads 2";
    for more in ["", from_storage, &format!("{from_storage} --edge-cache disk:64MiB")] {
        let line = format!("run pagerank s3://box/copy --iterations 3 -q -o - {more}");
        assert!(must(&sandbox, &server, &line) == expected, "{more}");
    }
    let checked = must(&sandbox, &server, "check s3://box/copy");
    assert!(checked.contains(": whole; 264,196 edges"), "{checked}");
    must(&sandbox, &server, "remove s3://box/copy");
    assert_eq!(server.paths(), [""; 0]);
}

#[test]
fn a_graph_over_several_disks_is_the_same_graph() {
    let sandbox = with_disks();
    let input = example();
    sandbox.must(&format!("ingest {input} -q -o one"));
    // The disks are named from where the command is given, and found from anywhere.
    sandbox.must(&format!("ingest {input} -q -o deb --disk a --disk b"));
    for disk in ["a", "b"] {
        let [part] = &names(&sandbox, disk)[..] else { panic!("one file in {disk}") };
        assert!(part.starts_with("deb-") && part.contains(".edges-"), "{part}");
        assert!(!sandbox.read(&format!("{disk}/{part}")).is_empty());
    }
    fs::create_dir(sandbox.path().join("moved")).unwrap();
    fs::rename(sandbox.path().join("deb"), sandbox.path().join("moved/deb")).unwrap();
    for (run, options) in [
        ("pagerank", "--iterations 5"),
        ("pagerank", "--iterations 3 --edge-memory 0 --threads 2"),
        ("bfs", "--source zzuf --edge-memory 0"),
        ("wcc", ""),
    ] {
        let of = |graph: &str| {
            sandbox.must(&format!("run {run} {graph} -q -o out.csv {options}"));
            sandbox.read("out.csv")
        };
        assert!(of("one") == of("moved/deb"), "{run} {options}");
    }
    let checked = sandbox.must("check moved/deb");
    assert!(checked.contains("264,196 edges, ") && !checked.contains("note"), "{checked}");
    sandbox.must("remove moved/deb");
    assert!(["a", "b", "moved"].iter().all(|folder| names(&sandbox, folder).is_empty()));
    sandbox.must("remove one");
    assert_eq!(sandbox.files(), ["a", "b", "moved", "out.csv"]);
}

#[test]
fn a_part_that_is_missing_or_damaged_is_named() {
    let sandbox = with_disks();
    sandbox.must("ingest rmat:14 -q -o g --disk a --disk b");
    let part = names(&sandbox, "b")[0].clone();
    let whole = sandbox.read(&format!("b/{part}"));
    fs::rename(sandbox.path().join("b"), sandbox.path().join("gone")).unwrap();
    for line in ["check g", "run pagerank g", "info g", "convert g -o out.csv"] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(70), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(&format!("/b/{part}: ")), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains("(is its disk there?)"), "{line}: {}", ended.stderr);
    }
    fs::rename(sandbox.path().join("gone"), sandbox.path().join("b")).unwrap();
    let mut flipped = whole.clone();
    flipped[200] ^= 1;
    sandbox.write(&format!("b/{part}"), &flipped);
    let ended = sandbox.run("check g");
    assert_eq!(ended.code, Some(70), "{}", ended.stderr);
    assert!(ended.stderr.contains(&part), "{}", ended.stderr);
    // A graph of which a part is gone is removed all the same.
    fs::remove_file(sandbox.path().join("b").join(&part)).unwrap();
    sandbox.must("remove g");
    assert_eq!(sandbox.files(), ["a", "b"]);
    assert_eq!(names(&sandbox, "a"), [""; 0]);
}

#[test]
fn disks_and_removals_that_cannot_be_are_refused() {
    let sandbox = with_disks();
    sandbox.write("e.tsv", "1\t2\n2\t3\n");
    sandbox.write("notes.txt", "mine");
    for (line, code, message) in [
        ("ingest e.tsv -o g --disk nowhere", 73, "error: nowhere: no directory for a part"),
        ("ingest e.tsv -o g --disk e.tsv", 73, "error: e.tsv: no directory for a part"),
        ("ingest e.tsv -o g --disk s3://b/k", 2, "error: s3://b/k: edges are kept in a directory"),
        ("remove g", 66, "error: g: no graph is kept here"),
        ("remove .", 66, "error: .: no graph is kept here"),
        ("remove notes.txt", 66, "error: notes.txt: no graph is kept here"),
        ("remove", 2, "error: "),
    ] {
        let ended = sandbox.run(line);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(message), "{line}: {}", ended.stderr);
    }
    sandbox.must("ingest e.tsv -q -o g --disk a");
    sandbox.write("g/mine.txt", "mine");
    let ended = sandbox.run("remove g");
    assert_eq!(ended.code, Some(74), "{}", ended.stderr);
    assert!(ended.stderr.contains("not all in it is of a kept graph"), "{}", ended.stderr);
    fs::remove_file(sandbox.path().join("g/mine.txt")).unwrap();
    sandbox.must("remove g");
    assert_eq!(sandbox.files(), ["a", "b", "e.tsv", "notes.txt"]);
}

#[test]
fn a_graph_in_a_bucket_is_removed() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    must(&sandbox, &server, "ingest rmat:8 -q -o s3://box/graph");
    assert!(server.paths().len() > 4, "{:?}", server.paths());
    must(&sandbox, &server, "remove s3://box/graph/");
    assert_eq!(server.paths(), [""; 0]);
}

#[test]
fn a_probe_of_a_graph_is_of_all_its_disks() {
    let sandbox = with_disks();
    sandbox.must("ingest rmat:10 -q -o graph --disk a --disk b");
    let text = sandbox.must("probe graph --bytes 2MiB --seconds 1 --json - -q");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    let target = &found["targets"][0];
    let here = fs::canonicalize(sandbox.path()).unwrap();
    let [a, b] = ["a", "b"].map(|disk| here.join(disk));
    assert_eq!(target["directories"], serde_json::json!(["graph", a, b]));
    assert_eq!(target["kept"], true);
    assert!(names(&sandbox, "graph").contains(&"rates".to_owned()));
    assert_eq!([names(&sandbox, "a").len(), names(&sandbox, "b").len()], [1, 1]);
}
