//! Kept graphs that lie in a bucket: the answers are those of the directory, and faults of the
//! store end a run or make no difference.

use std::fs;
use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use welter_testing::bucket::{BucketServer, Fault};

use crate::interrupt::wait_until;
use crate::objects::{as_azure, as_google, command, must, refused, run, text};
use crate::sandbox::Sandbox;

/// Edges, the graph of them in a directory, and in a bucket.
pub(crate) fn begin() -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    let edge = |(number, line): (usize, &str)| format!("{line}\t{}\n", number % 5 + 1);
    let edges: String = text(30_000).lines().enumerate().map(edge).collect();
    sandbox.write("e.tsv", edges);
    sandbox.must("ingest e.tsv -q -o graph");
    assert_eq!(must(&sandbox, &server, "ingest e.tsv -q -o s3://box/a/graph"), "");
    (sandbox, server)
}

/// The file of a kind in the folder of the graph.
pub(crate) fn object(server: &BucketServer, name: &str) -> String {
    let paths = server.paths();
    paths.into_iter().find(|path| path.ends_with(&format!("/{name}"))).unwrap()
}

#[test]
fn all_algorithms_answer_as_from_the_directory() {
    let (sandbox, server) = begin();
    assert!(server.uploads().is_empty());
    for line in [
        "bfs --source 0",
        "bp --iterations 3",
        "cdlp",
        "conductance",
        "hyperball",
        "kcore",
        "lcc",
        "mcst",
        "mis",
        "pagerank --iterations 5",
        "scc",
        "spmv --vector ones",
        "sssp --source 0",
        "triangles",
        "wcc",
    ] {
        for storage in ["", "--edge-memory 0 --threads 2"] {
            let of = |input: &str| {
                let line = format!("run {line} {input} -q -o u.csv {storage}");
                must(&sandbox, &server, &line);
                sandbox.read("u.csv")
            };
            assert!(of("s3://box/a/graph") == of("graph"), "{line} {storage}");
        }
    }
    sandbox.must("ingest e.tsv --bipartite -q -o rated");
    must(&sandbox, &server, "ingest e.tsv --bipartite -q -o s3://box/rated");
    let of = |input: &str| {
        must(&sandbox, &server, &format!("run als {input} --iterations 3 -q -o u.csv"));
        sandbox.read("u.csv")
    };
    assert!(of("s3://box/rated") == of("rated"));
    let of = |input: &str| {
        let info = must(&sandbox, &server, &format!("info {input}"));
        info.lines()
            .filter(|line| !line.starts_with("input"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("s3://box/a/graph/"), of("graph"));
    let checked = must(&sandbox, &server, "check s3://box/a/graph");
    assert!(checked.starts_with("s3://box/a/graph: whole; 30,000 edges"), "{checked}");
    assert_eq!(sandbox.files(), ["e.tsv", "graph", "rated", "u.csv"]);
}

#[test]
fn neighbours_come_by_one_request() {
    let (sandbox, server) = begin();
    server.take_requests();
    must(
        &sandbox,
        &server,
        "run pagerank s3://box/a/graph --iterations 4 --edge-memory 0 -q --threads 1",
    );
    let edges = object(&server, "edges-0");
    let asked: Vec<_> =
        server.take_requests().into_iter().filter(|request| request.path == edges).collect();
    // One opens it, and each iteration asks once for all of it.
    assert!((2..=6).contains(&asked.len()), "{asked:?}");
    assert!(asked.iter().skip(1).all(|request| request.if_match.is_some()));
}

/// Ranges of the objects of chunks that were asked for, without those by which they were opened,
/// and all other ranges.
fn ranges(server: &BucketServer) -> [Vec<Range<u64>>; 2] {
    let mut ranges = [Vec::new(), Vec::new()];
    for request in server.take_requests() {
        // Settings may be in the rates, which are read before.
        if request.path.ends_with("/rates") || request.path.ends_with("/.welter-rates") {
            continue;
        }
        let is_of_chunks = request.path.contains("/edges-");
        let Some(range) = request.range.filter(|range| *range != (0..1)) else { continue };
        ranges[usize::from(!is_of_chunks)].push(range);
    }
    ranges
}

/// A graph in a bucket whose stripes are of some megabytes.
fn wide_stripes() -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    let line = "ingest rmat:18 -q -o s3://box/graph --stripe-bits 24 --encoding packed --threads 1";
    must(&sandbox, &server, line);
    (sandbox, server)
}

fn bytes(range: &Range<u64>) -> u64 {
    range.end - range.start
}

#[test]
fn sizes_that_are_stated_are_those_of_requests() {
    let (sandbox, server) = wide_stripes();
    let run = "run pagerank s3://box/graph --iterations 2 --edge-memory 0 -q --threads 1";
    let read = |more: &str| {
        server.take_requests();
        must(&sandbox, &server, &format!("{run} -o r.csv --report r.json {more}"));
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        let [chunks, others] = ranges(&server);
        (sandbox.read("r.csv"), report, chunks, others)
    };
    let (expected, _, usual, _) = read("");
    let all: u64 = usual.iter().map(bytes).sum();
    assert!(usual.iter().map(bytes).max() > Some(3 << 19), "{usual:?}");
    for (size, stated) in [("4KiB", 4 << 10), ("64KiB", 64 << 10), ("1MiB", 1 << 20)] {
        let (found, report, chunks, others) = read(&format!("--read-size {size}"));
        assert!(found == expected, "{size}");
        let too_large = chunks.iter().chain(&others).find(|range| bytes(range) > stated);
        assert_eq!(too_large, None, "{size}");
        // Of neighbours as many as fit, each of up to 512 KiB.
        let least = if stated > 512 << 10 { stated - (512 << 10) } else { stated };
        let whole = chunks.iter().filter(|range| bytes(range) >= least).count();
        assert!(2 * whole > chunks.len(), "{size}: {whole} of {}", chunks.len());
        assert!(chunks.iter().map(bytes).sum::<u64>() <= all + (all >> 4), "{size}");
        assert_eq!(report["plan"]["requests"]["read_bytes"], stated, "{size}");
    }
    let (found, report, _, _) = read("--read-size 64MiB");
    assert!(found == expected);
    assert_eq!(report["plan"]["requests"]["read_bytes"], 64 << 20);
    // In memory, too, and larger than what was measured best.
    let load = |more: &str| {
        server.take_requests();
        let run = "run pagerank s3://box/graph --iterations 2 -q --threads 1";
        must(&sandbox, &server, &format!("{run} {more}"));
        ranges(&server)
    };
    let largest = |of: &[Range<u64>]| of.iter().map(bytes).max().unwrap();
    let [chunks, others] = load("--read-size 32KiB");
    assert!(chunks.len() > 100, "{chunks:?}");
    assert!(largest(&chunks) <= 32 << 10 && largest(&others) <= 32 << 10, "{chunks:?} {others:?}");
    let [usual, large] = ["", "--read-size 64MiB"].map(|more| load(more)[0].clone());
    assert!(largest(&usual) <= 8 << 20, "{usual:?}");
    assert!(largest(&large) > 12 << 20, "{large:?}");
}

#[test]
fn numbers_that_are_stated_are_those_of_requests_in_flight() {
    let (sandbox, server) = wide_stripes();
    let at_once = |number: usize, more: &str| {
        server.take_most_at_once();
        // The first ones are slow, so that others are begun meanwhile.
        let mut slow = 2 * number;
        server.fail(move |request| {
            let is_of_chunks = request.path.contains("/edges-") && request.range != Some(0..1);
            slow -= usize::from(is_of_chunks && slow > 0);
            let long = if slow > 0 { 700 } else { 2 };
            is_of_chunks.then_some(Fault::Silent(Duration::from_millis(long)))
        });
        let run = "run pagerank s3://box/graph --iterations 2 --edge-memory 0 -q --report r.json";
        must(&sandbox, &server, &format!("{run} --in-flight {number} {more}"));
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        assert_eq!(report["plan"]["requests"]["reads_in_flight"], number);
        server.take_most_at_once()
    };
    assert_eq!(at_once(1, "--threads 1"), 1);
    assert_eq!(at_once(3, "--threads 1 --read-size 128KiB"), 3);
    assert_eq!(at_once(40, "--threads 1 --read-size 16KiB"), 40);
    // As many as what comes next has neighbours of 512 KiB.
    let all = at_once(24, "--threads 1");
    assert!((6..=24).contains(&all), "{all}");
    // Of each thread.
    let both = at_once(2, "--threads 2 --read-size 64KiB");
    assert!((2..=4).contains(&both), "{both}");
}

/// No request is counted twice, nor is a place taken for one.
#[test]
fn reports_have_the_requests_that_the_store_saw() {
    let (sandbox, server) = begin();
    sandbox.write("prices", "machine_hour = 0\ndisk_million_reads = 1000000\n");
    for more in ["", "--read-size 4KiB", "--read-size 64KiB --in-flight 24"] {
        server.take_requests();
        let line = "run pagerank s3://box/a/graph --iterations 3 --edge-memory 0 -q --threads 2";
        must(&sandbox, &server, &format!("{line} --report r.json --price prices {more}"));
        let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
        let [chunks, _] = ranges(&server);
        let seen = chunks.len() as u64;
        assert_eq!(report["storage"]["reads"], seen, "{more}: {report}");
        let read = report["storage"]["bytes_read"].as_u64().unwrap();
        assert_eq!(read, chunks.iter().map(bytes).sum::<u64>(), "{more}");
        // Heads, columns and the manifest are asked for too.
        assert!(report["objects"]["reads"].as_u64() > Some(seen), "{more}");
        // Reads of a disk cost one each here, and there are none.
        let objects = report["objects"]["reads"].as_f64().unwrap() * 0.4e-6;
        let price = report["price"]["requests"].as_f64().unwrap();
        assert!(price < objects + 1e-3, "{more}: {price}");
    }
    let explain = "explain pagerank s3://box/a/graph --edge-memory 0 --threads 1 --memory 1GiB";
    let plan = must(&sandbox, &server, explain);
    assert!(plan.contains(" 8.00 MiB  a read of edges at most, 8 at a time a thread"), "{plan}");
    let plan = must(&sandbox, &server, &format!("{explain} --read-size 16KiB --in-flight 9"));
    assert!(plan.contains(" 16.0 KiB  a read of edges at most, 9 at a time a thread"), "{plan}");
}

#[test]
fn faults_of_the_store_end_a_run_or_make_no_difference() {
    let (sandbox, server) = begin();
    let line = "run pagerank s3://box/a/graph --iterations 3 --edge-memory 0 -q -o r.csv";
    must(&sandbox, &server, line);
    let expected = sandbox.read("r.csv");
    let edges = object(&server, "edges-0");
    let whole = server.get(&edges).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 16;
    // Faults that pass, after which a request is made once more.
    for fault in [Fault::Status(500), Fault::Cut, Fault::Late(Duration::from_millis(300))] {
        let (path, mut left) = (edges.clone(), 2);
        server.fail(move |request| {
            let hit = request.path == path && left > 0;
            left -= i32::from(hit);
            hit.then(|| fault.clone())
        });
        must(&sandbox, &server, line);
        assert!(sandbox.read("r.csv") == expected);
    }
    // Faults that last.
    for (fault, code, message) in [
        (Fault::Status(500), 74, "the server answered 500"),
        (Fault::Status(403), 74, "access is denied"),
        (Fault::Short, 74, "bytes"),
        (Fault::Replaced(flipped.clone()), 74, "was replaced while it was read"),
        (Fault::Removed, 74, "was removed while it was read"),
    ] {
        server.put(&edges, whole.clone());
        let (path, mut seen) = (edges.clone(), 0);
        server.fail(move |request| {
            seen += i32::from(request.path == path);
            (request.path == path && seen > 1).then(|| fault.clone())
        });
        let stderr = refused(&sandbox, &server, line, code);
        assert!(stderr.contains(&format!("s3://{edges}")) && stderr.contains(message), "{stderr}");
    }
    server.fail(|_| None);
    server.put(&edges, flipped);
    let stderr = refused(&sandbox, &server, line, 70);
    assert!(stderr.contains(&format!("s3://{edges}: damaged")), "{stderr}");
    server.put(&edges, whole[..whole.len() / 2].to_vec());
    let stderr = refused(&sandbox, &server, line, 74);
    assert!(stderr.contains("bytes are expected of the object"), "{stderr}");
}

#[test]
fn without_a_manifest_there_is_no_graph() {
    let (sandbox, server) = begin();
    for (line, code, message) in [
        ("check s3://box/none", 66, "no graph is kept here"),
        ("run wcc s3://box/none", 66, "no such object"),
        ("ingest e.tsv -o s3://box/a/graph", 73, "a graph is kept there already"),
        ("ingest e.tsv -o https://box.example/g", 2, "nothing is written to a web server"),
    ] {
        let stderr = refused(&sandbox, &server, line, code);
        assert!(stderr.contains(message), "{line}: {stderr}");
    }
    // The manifest is damaged, or an object that it names is not there.
    let manifest = server.get("box/a/graph/manifest").unwrap();
    server.put("box/a/graph/manifest", manifest[..90].to_vec());
    refused(&sandbox, &server, "run wcc s3://box/a/graph", 70);
    server.put("box/a/graph/manifest", manifest);
    let degrees = object(&server, "degrees");
    server.fail(move |request| (request.path == degrees).then_some(Fault::Status(404)));
    let stderr = refused(&sandbox, &server, "run pagerank s3://box/a/graph", 70);
    assert!(stderr.contains("degrees: damaged at offset 0: it is missing"), "{stderr}");
}

#[test]
fn of_two_writers_one_wins_and_the_other_leaves_nothing() {
    let (sandbox, server) = begin();
    let all = server.paths();
    let manifest = server.get("box/a/graph/manifest").unwrap();
    // The other writer is done after this one has looked, and before it puts its manifest.
    let other = manifest.clone();
    server.fail(move |request| {
        let last = request.path == "box/b/manifest" && request.if_none;
        last.then(|| Fault::Replaced(other.clone()))
    });
    let stderr = refused(&sandbox, &server, "ingest e.tsv -q -o s3://box/b", 73);
    assert!(stderr.contains("a graph is kept there already"), "{stderr}");
    let mut left = server.paths();
    left.retain(|path| !all.contains(path));
    assert_eq!(left, ["box/b/manifest"]);
    assert_eq!(server.get("box/b/manifest").unwrap(), manifest);
    // One that cannot be put whole leaves nothing either, neither here nor there.
    server.fail(|request| {
        let last = request.path.ends_with("/degrees") && request.method == "PUT";
        last.then_some(Fault::Status(403))
    });
    let stderr = refused(&sandbox, &server, "ingest e.tsv -q -o s3://box/c", 74);
    assert!(stderr.contains("degrees: access is denied"), "{stderr}");
    assert_eq!(server.paths().len(), all.len() + 1);
    assert_eq!(sandbox.files(), ["e.tsv", "graph"]);
}

#[test]
fn other_clouds_keep_graphs_too() {
    let (sandbox, server) = begin();
    for bucket in ["box", "me"] {
        server.publish(bucket);
    }
    let (google, azure) = (as_google(&server), as_azure(&server));
    sandbox.must("run wcc graph -q -o expected.csv");
    for (url, variables) in [("gs://box/g", &google[..]), ("az://box/g", &azure)] {
        for line in [format!("ingest e.tsv -q -o {url}"), format!("run wcc {url} -q -o r.csv")] {
            let mut command = command(&sandbox, &server, &line);
            let ended = command.envs(variables.iter().cloned()).output().unwrap();
            let stderr = String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success(), "{line}: {stderr}");
        }
        assert!(sandbox.read("r.csv") == sandbox.read("expected.csv"), "{url}");
    }
}

#[test]
fn what_a_killed_ingest_left_in_a_bucket_is_removed() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(100));
    server.put("box/graph/notes.txt", "mine");
    let before = server.paths();
    let leave = || {
        for name in ["edges-0", "edges-1", "chunks"] {
            server.put(&format!("box/graph/gen-0-0123456789abcdef/{name}"), "left");
        }
    };
    leave();
    // An ingest may be at work on objects that are young.
    let young = refused(&sandbox, &server, "remove s3://box/graph", 66);
    assert!(young.contains("3 objects of an ingest are less than a day old"), "{young}");
    must(&sandbox, &server, "ingest e.tsv -q -o s3://box/graph");
    must(&sandbox, &server, "remove s3://box/graph");
    assert_eq!(server.paths().len(), before.len() + 3);
    server.all_written_at("2020-01-01T00:00:00.000Z");
    must(&sandbox, &server, "remove s3://box/graph");
    assert_eq!(server.paths(), before);
    refused(&sandbox, &server, "remove s3://box/graph", 66);
    // The next ingest removes them, and says so; never those of a graph that is there.
    leave();
    let ended = run(&sandbox, &server, "ingest e.tsv -o s3://box/graph");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("removed 3 objects there, which an ingest left"),
        "{}",
        ended.stderr
    );
    assert_eq!(must(&sandbox, &server, "check s3://box/graph").lines().count(), 1);
    leave();
    must(&sandbox, &server, "remove s3://box/graph");
    assert_eq!(server.paths(), before);
}

#[test]
fn what_a_killed_ingest_left_among_temporary_files_is_removed() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(100));
    let scratch = sandbox.path().join("scratch");
    // Like what is left, and not of ours.
    fs::create_dir_all(scratch.join("welter-graph-1-0")).unwrap();
    fs::write(scratch.join("welter-graph-1-0/notes.txt"), "mine").unwrap();
    let line = |name: &str| format!("ingest e.tsv -o s3://box/{name} --scratch scratch");
    let on_its_way = || {
        let mut paths = fs::read_dir(&scratch).unwrap().map(|entry| entry.unwrap().path());
        paths.any(|path| path.join("graph/manifest").exists())
    };
    // Of one graph the store takes nothing.
    server.fail(|request| {
        let is_slow = request.method == "PUT" && request.path.contains("/slow/");
        is_slow.then_some(Fault::Silent(Duration::from_mins(1)))
    });
    let mut child = command(&sandbox, &server, &line("slow")).spawn().unwrap();
    wait_until("a whole graph", on_its_way);
    // It is not taken for left over while its process lives,
    let other = run(&sandbox, &server, &line("other"));
    let was_there = on_its_way();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    assert!(!other.stderr.contains("which an ingest left"), "{}", other.stderr);
    assert!(was_there && on_its_way());
    // and is from then on.
    let ended = run(&sandbox, &server, &line("next"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("note: removed scratch/welter-graph-"), "{}", ended.stderr);
    assert!(ended.stderr.contains("not all in it is of ours"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 1);
    assert!(scratch.join("welter-graph-1-0/notes.txt").exists());
}

#[test]
fn plans_say_what_is_known_of_a_bucket() {
    let (sandbox, server) = begin();
    let plan = must(&sandbox, &server, "explain pagerank s3://box/a/graph --edge-memory 0");
    assert!(plan.contains("the limit is the "), "{plan}");
    // No one probed it, and nothing is written there.
    assert!(!plan.contains("probe found") && !plan.contains("and writes"), "{plan}");
}

#[test]
fn copies_on_a_web_server_are_run_and_never_written() {
    let (sandbox, server) = begin();
    server.publish("web");
    // One of the bucket, and one of the directory.
    for path in server.paths() {
        server.put(&path.replace("box/a/graph/", "web/of-bucket/"), server.get(&path).unwrap());
    }
    for name in ["manifest", "gen-0/edges-0", "gen-0/chunks", "gen-0/cuts", "gen-0/degrees"] {
        server.put(&format!("web/of-directory/{name}"), sandbox.read(&format!("graph/{name}")));
    }
    for name in ["vertices", "ids"] {
        let file = sandbox.path().join("graph/gen-0").join(name);
        if file.exists() {
            server.put(&format!("web/of-directory/gen-0/{name}"), fs::read(file).unwrap());
        }
    }
    // Rates that were copied along are of another place.
    server.put("web/of-directory/rates", "no rates");
    server.take_requests();
    let before = server.paths();
    for copy in ["of-bucket", "of-directory/"] {
        let url = format!("{}/web/{copy}", server.url());
        for more in ["", "--edge-memory 0 --threads 2", "--undirected"] {
            let of = |input: &str| {
                must(&sandbox, &server, &format!("run pagerank {input} -q -o - {more}"))
            };
            assert!(of(&url) == of("graph"), "{copy} {more}");
        }
        let checked = must(&sandbox, &server, &format!("check {url}"));
        assert!(checked.contains(": whole; 30,000 edges"), "{checked}");
        let cached = "--edge-memory 0 --edge-cache cache:1GiB";
        let line = format!("run wcc {url} -q -o - {cached}");
        assert!(must(&sandbox, &server, &line) == sandbox.must("run wcc graph -q -o -"));
        for line in [
            format!("remove {url}"),
            format!("ingest e.tsv -o {url}"),
            format!("run wcc graph --checkpoint {url}"),
        ] {
            let message = refused(&sandbox, &server, &line, 2);
            assert!(message.contains("nothing is written to a web server"), "{line}: {message}");
        }
    }
    assert!(server.take_requests().iter().all(|it| it.method == "GET" || it.method == "HEAD"));
    assert_eq!(server.paths(), before);
    // A server that answers with a page to everything keeps no graph, and damage is found.
    server.put("web/pages/manifest", "<!doctype html><p>not here</p>".repeat(9));
    server.put("web/pages", "0\t1\n");
    let url = format!("{}/web/pages", server.url());
    must(&sandbox, &server, &format!("run wcc {url} -q -o -"));
    let mut edges = server.get("web/of-directory/gen-0/edges-0").unwrap();
    let middle = edges.len() / 2;
    edges[middle] ^= 16;
    server.put("web/of-directory/gen-0/edges-0", edges);
    let url = format!("{}/web/of-directory", server.url());
    let message = refused(&sandbox, &server, &format!("run wcc {url}"), 70);
    assert!(message.contains("of-directory/gen-0/edges-0: damaged"), "{message}");
    let url = format!("{}/web/none", server.url());
    refused(&sandbox, &server, &format!("check {url}"), 66);
}
