//! A disk before a graph that lies in a bucket: answers are the same, the bucket is asked for what
//! is not pinned, and nothing that is wrong in the cache is believed.

use std::fs;

use welter_testing::bucket::BucketServer;

use crate::graphs::{begin, object};
use crate::objects::{must, refused};
use crate::sandbox::Sandbox;

const RUN: &str = "run pagerank s3://box/a/graph --iterations 4 --edge-memory 0 -q -o r.csv \
                   --report r.json";

/// Bytes of chunks that the bucket was asked for since the last look, and requests for anything.
pub(crate) fn asked(server: &BucketServer) -> (u64, usize) {
    let edges = object(server, "edges-0");
    let all: Vec<_> = server.take_requests();
    let of_edges = all.iter().filter(|request| request.path == edges && request.method == "GET");
    let ranges = of_edges.filter_map(|request| request.range.clone());
    (ranges.map(|range| range.end - range.start).sum(), all.len())
}

fn figure(sandbox: &Sandbox, name: &str) -> u64 {
    let report: serde_json::Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    report["edge_cache"][name].as_u64().unwrap()
}

#[test]
fn later_iterations_and_runs_ask_for_what_is_not_pinned_alone() {
    let (sandbox, server) = begin();
    must(&sandbox, &server, RUN);
    let expected = sandbox.read("r.csv");
    let edges = server.get(&object(&server, "edges-0")).unwrap().len() as u64;
    server.take_requests();
    // All of it: the manifest is asked for, and nothing else by a second run.
    let line = format!("{RUN} --edge-cache all:64MiB");
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
    let (bytes, requests) = asked(&server);
    assert!(bytes <= edges + 8 && requests > 3, "{bytes} {requests}");
    assert_eq!(figure(&sandbox, "bytes_put"), figure(&sandbox, "bytes_from_bucket"));
    assert!(figure(&sandbox, "bytes_from_cache") >= 2 * edges);
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
    let asked_for: Vec<_> = server.take_requests();
    assert!(asked_for.iter().all(|request| request.path == "box/a/graph/manifest"));
    assert_eq!(figure(&sandbox, "bytes_from_bucket"), 0);
    // A part of it: the file keeps to its size.
    let line = format!("{RUN} --edge-cache part:600KiB");
    for _ in 0..2 {
        must(&sandbox, &server, &line);
        assert!(sandbox.read("r.csv") == expected);
        assert!(
            fs::metadata(sandbox.path().join("part/welter-edge-cache")).unwrap().len() <= 600 << 10
        );
    }
    // A graph that was replaced is another one, whose edges are fetched.
    sandbox.write("f.tsv", "0\t1\n1\t2\n2\t0\n2\t1\n");
    must(&sandbox, &server, "ingest f.tsv -q -o s3://box/b");
    let manifest = server.get("box/b/manifest").unwrap();
    server.put("box/a/graph/manifest", manifest);
    for path in server.paths() {
        if let Some(name) = path.strip_prefix("box/b/gen-0") {
            server.put(&format!("box/a/graph/gen-0{name}"), server.get(&path).unwrap());
        }
    }
    must(&sandbox, &server, "run pagerank f.tsv --iterations 4 -q -o expected.csv");
    must(&sandbox, &server, &format!("{RUN} --edge-cache all:64MiB"));
    assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"));
}

#[test]
fn damage_on_the_disk_makes_no_difference() {
    let (sandbox, server) = begin();
    let line = format!("{RUN} --edge-cache disk:64MiB");
    must(&sandbox, &server, &line);
    let expected = sandbox.read("r.csv");
    let file = sandbox.path().join("disk/welter-edge-cache");
    let whole = fs::read(&file).unwrap();
    let mut flipped = whole.clone();
    flipped[(256 << 10) + 1000] ^= 64;
    for damaged in [flipped, whole[..300 << 10].to_vec(), Vec::new(), b"mine".to_vec()] {
        let foreign = damaged == b"mine";
        fs::write(&file, damaged).unwrap();
        if foreign {
            let stderr = refused(&sandbox, &server, &line, 73);
            assert!(stderr.contains("no cache of edges"), "{stderr}");
            continue;
        }
        must(&sandbox, &server, &line);
        assert!(sandbox.read("r.csv") == expected);
        assert!(figure(&sandbox, "bytes_from_bucket") > 0);
        assert!(fs::read(&file).unwrap() == whole);
    }
    // Bytes that were damaged in the bucket are not kept for the next run.
    fs::remove_file(&file).unwrap();
    let edges = object(&server, "edges-0");
    let right = server.get(&edges).unwrap();
    let mut wrong = right.clone();
    wrong[right.len() / 2] ^= 16;
    server.put(&edges, wrong);
    let stderr = refused(&sandbox, &server, &line, 70);
    assert!(stderr.contains(&format!("s3://{edges}: damaged")), "{stderr}");
    server.put(&edges, right);
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
}

#[test]
fn all_commands_read_through_it_and_by_requests_as_stated() {
    let (sandbox, server) = begin();
    let edges = object(&server, "edges-0");
    for (line, cache) in [
        ("info s3://box/a/graph -q", "info"),
        ("convert s3://box/a/graph -q -o - --output-format csv", "convert"),
    ] {
        let expected = must(&sandbox, &server, line);
        // Bytes of the largest request.
        let largest = |more: &str| {
            server.take_requests();
            assert!(must(&sandbox, &server, &format!("{line} {more}")) == expected, "{more}");
            let mut asked = server.take_requests();
            // Settings may be in the rates, which are read before.
            asked.retain(|request| !request.path.ends_with("rates"));
            let ranges = asked.into_iter().filter_map(|request| request.range);
            ranges.map(|range| range.end - range.start).max().unwrap()
        };
        assert!(largest("") > 4096, "{line}");
        assert!(largest("--read-size 4KiB --in-flight 2") <= 4096, "{line}");
        let cached = format!("--edge-cache {cache}:64MiB");
        assert!(largest(&cached) > 4096, "{line}");
        let file = format!("{cache}/welter-edge-cache");
        assert!(fs::metadata(sandbox.path().join(file)).unwrap().len() > 256 << 10, "{line}");
        assert!(must(&sandbox, &server, &format!("{line} {cached}")) == expected);
        let asked = server.take_requests();
        assert!(asked.iter().all(|request| request.path != edges), "{line}: {asked:?}");
    }
}

#[test]
fn plans_count_with_it_and_make_nothing() {
    let (sandbox, server) = begin();
    let before = sandbox.files();
    let explain = "explain pagerank s3://box/a/graph --edge-memory 0 --edge-cache disk:64MiB";
    let plan = must(&sandbox, &server, explain);
    assert!(plan.contains("100 % of its edges have a place on the disk in front"), "{plan}");
    assert_eq!(sandbox.files(), before);
    // A file that is there already stays as it is.
    must(&sandbox, &server, &format!("{RUN} --edge-cache disk:64MiB"));
    let kept = sandbox.read("disk/welter-edge-cache");
    must(&sandbox, &server, explain);
    must(&sandbox, &server, &explain.replace("64MiB", "1MiB"));
    assert!(sandbox.read("disk/welter-edge-cache") == kept);
}

#[test]
fn several_disks_keep_a_part_each() {
    let (sandbox, server) = begin();
    must(&sandbox, &server, RUN);
    let expected = sandbox.read("r.csv");
    let line = format!("{RUN} --edge-cache one:64MiB --edge-cache two:32MiB");
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
    server.take_requests();
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
    let asked = server.take_requests();
    assert!(asked.iter().all(|request| request.path == "box/a/graph/manifest"), "{asked:?}");
    let file = |name: &str| sandbox.path().join(name).join("welter-edge-cache");
    for name in ["one", "two"] {
        assert!(fs::metadata(file(name)).unwrap().len() > 256 << 10, "{name}");
    }
    // Named in another order, and with a disk that was lost.
    fs::remove_file(file("two")).unwrap();
    let line = format!("{RUN} --edge-cache two:32MiB --edge-cache one:64MiB");
    must(&sandbox, &server, &line);
    assert!(sandbox.read("r.csv") == expected);
    assert!(figure(&sandbox, "bytes_from_bucket") > 0);
    must(&sandbox, &server, &line);
    assert_eq!(figure(&sandbox, "bytes_from_bucket"), 0);
    assert_eq!(figure(&sandbox, "blocks_damaged"), 0);
}

#[test]
fn directories_of_others_are_refused() {
    let (sandbox, server) = begin();
    sandbox.write("file", "mine");
    for (line, code, message) in [
        (format!("{RUN} --edge-cache graph:64MiB"), 73, "a graph or checkpoints are kept here"),
        (format!("{RUN} --edge-cache file:64MiB"), 73, "file/welter-edge-cache: cannot create it"),
        (format!("{RUN} --edge-cache none/below:64MiB"), 73, "none/below: cannot create it"),
        (format!("{RUN} --edge-cache s3://box/c:64MiB"), 2, "in no bucket"),
        (format!("{RUN} --edge-cache disk:9KiB"), 2, "at least 512 KiB"),
        (format!("{RUN} --edge-cache d:9MiB --edge-cache d:8MiB"), 2, "d is named twice"),
        ("run wcc graph --edge-cache disk:64MiB".to_owned(), 2, "lies on this machine"),
        ("run wcc e.tsv --edge-cache disk:64MiB".to_owned(), 2, "kept in a bucket"),
        (
            "run wcc s3://box/a/graph --edge-cache d:9MiB --edge-cache e:9MiB \
             -o e/welter-edge-cache --output-format csv"
                .to_owned(),
            73,
            "is an input",
        ),
    ] {
        let stderr = refused(&sandbox, &server, &line, code);
        assert!(stderr.contains(message), "{line}: {stderr}");
    }
    assert_eq!(sandbox.read("file"), b"mine");
}
