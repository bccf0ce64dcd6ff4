//! Options of resources on a cluster: compression, encodings and requests change no answer, and do
//! what they say.

use serde_json::Value;
use welter_testing::bucket::BucketServer;

use crate::cluster::{Same, difference, rows, write_tables};
use crate::edge_cache::asked;
use crate::graphs::begin;
use crate::objects::{must, refused, text};
use crate::sandbox::Sandbox;

/// A graph with parallel edges and loops, and integers as weights, whose sums are exact.
const GRAPH: &str = "rmat:9,factor=9,weights=9";

/// Words of `run` of a program of each kind, and what of the result is the same.
const CASES: &[(&str, Same)] = &[
    ("pagerank G --iterations 4", Same::Within(1e-12)),
    ("sssp G --source 3 --parents", Same::Bits),
    ("wcc G", Same::Bits),
    ("mcst G", Same::Rows),
    ("scc G", Same::Bits),
    ("cdlp G --iterations 3", Same::Bits),
    ("triangles G", Same::Bits),
    ("bp G --priors-from priors.csv --states 3 --damping 0.5 --iterations 3", Same::Within(1e-4)),
];

/// Runs all cases with options in their turn, and with routes in theirs.
fn answers(options: &[&str]) {
    let sandbox = Sandbox::new();
    write_tables(&sandbox);
    for (number, (words, same)) in CASES.iter().enumerate() {
        let line = format!("run {} -q -o -", words.replace('G', GRAPH));
        let expected = sandbox.must(&line);
        for (turn, option) in options.iter().enumerate() {
            let waits = words.starts_with("triangles");
            let route = if waits || (number + turn) % 2 == 0 { "spill" } else { "fold" };
            let line = format!("{line} --cluster local:2 --route {route} {option}");
            let found = sandbox.must(&line);
            match same {
                Same::Bits => assert_eq!(found, expected, "{line}"),
                Same::Rows => assert_eq!(rows(&found), rows(&expected), "{line}"),
                Same::Within(most) => {
                    let error = difference(&found, &expected);
                    assert!(error <= *most, "{line}: {error:e}");
                }
            }
        }
    }
}

#[test]
fn compressed_chunks_have_the_answers_of_one_process() {
    answers(&["--compression zstd", "--compression lz4", "--compression snappy"]);
    answers(&["--compression zlib", "--compression auto"]);
}

#[test]
fn encodings_of_edges_change_no_answer() {
    answers(&["--encoding short", "--encoding compressed"]);
    answers(&["--encoding pairs", "--encoding pairs --compression zstd", "--encoding packed"]);
}

/// Sum of a figure over all machines of a report.
fn sum(sandbox: &Sandbox, figure: &str) -> u64 {
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    let machines = report["cluster"]["machines"].as_array().unwrap();
    machines.iter().map(|machine| machine[figure].as_u64().unwrap()).sum()
}

#[test]
fn compressed_chunks_are_fewer_bytes_on_disks_and_links() {
    let sandbox = Sandbox::new();
    // Edges as pairs, of a regular graph with few vertices: a codec finds much in them.
    let edge = |at: u32| format!("{}\t{}\n", at / 90, at % 7);
    let edges: String = (0..400_000).map(edge).collect();
    sandbox.write("e.tsv", edges);
    let line = "run pagerank e.tsv --iterations 3 -q -o r.csv --report r.json --cluster local:2 \
                --route spill --encoding pairs";
    let figures = |more: &str| {
        sandbox.must(&format!("{line} {more}"));
        ["bytes_written", "bytes_read", "bytes_sent"].map(|figure| sum(&sandbox, figure))
    };
    let (plain, none) = (figures(""), figures("--compression none"));
    assert!(plain[0].abs_diff(none[0]) < plain[0] / 10, "none is what is done: {plain:?} {none:?}");
    let zstd = figures("--compression zstd");
    // Chunks are so large here that there are few, most of which lie where they are read.
    for (less, all, share) in
        [(0, 2), (1, 2), (2, 1)].map(|(at, share)| (zstd[at], plain[at], share))
    {
        assert!(share * less < all, "{zstd:?} of {plain:?}");
    }
    // Without rates of the disk nothing is compressed; a probe that was kept there decides.
    let auto = figures("--compression auto --scratch .");
    assert!(auto[0].abs_diff(none[0]) < none[0] / 10, "{auto:?} {none:?}");
    sandbox.must("probe . --bytes 2MiB --seconds 1 -q");
    figures("--compression auto --scratch .");
    let plan = sandbox.must("explain pagerank e.tsv --cluster local:2 --compression zlib");
    assert!(plan.contains("codecs "), "{plan}");
}

#[test]
fn updates_wait_one_by_one_where_that_is_said() {
    let sandbox = Sandbox::new();
    let line = "run spmv rmat:9 --vector ones --no-weights -q -o r.csv --report r.json";
    sandbox.must(line);
    let expected = sandbox.read("r.csv");
    let written = |more: &str| {
        sandbox.must(&format!("{line} --cluster local:2 --route spill {more}"));
        assert!(sandbox.read("r.csv") == expected, "{more}");
        sum(&sandbox, "bytes_written")
    };
    assert!(written("--no-combine --no-fuse") > written("--no-fuse"));
}

#[test]
fn checkpoints_may_be_farther_apart() {
    let sandbox = Sandbox::new();
    let line = "run pagerank rmat:8 --iterations 7 -q -o -";
    let expected = sandbox.must(line);
    let line = format!("{line} --cluster local:2 --checkpoint kept --checkpoint-every 3");
    assert!(difference(&sandbox.must(&line), &expected) < 1e-12);
    assert!(!sandbox.path().join("kept").exists());
}

#[test]
fn stated_requests_are_those_of_inputs_and_results_in_buckets() {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(60_000));
    server.put("box/e.tsv", sandbox.read("e.tsv"));
    let line = "run wcc s3://box/e.tsv -q --threads 2 -o";
    must(&sandbox, &server, &format!("{line} one.csv"));
    let cluster = "--cluster local:2 --read-size 64KiB --in-flight 2 --write-size 8MiB";
    server.take_requests();
    must(&sandbox, &server, &format!("{line} s3://box/two.csv {cluster}"));
    assert!(server.get("box/two.csv").unwrap() == sandbox.read("one.csv"));
    let asked: Vec<_> = server.take_requests();
    let asked = asked.iter().filter(|it| it.path == "box/e.tsv");
    let bytes = asked.filter_map(|it| it.range.as_ref()).map(|range| range.end - range.start);
    assert!(bytes.filter(|bytes| *bytes == 64 << 10).count() >= 8, "usual ones are of megabytes");
    must(&sandbox, &server, &format!("{line} s3://box/many.csv/ {cluster}"));
    assert!(server.get("box/many.csv/_SUCCESS").is_some());
    let line = format!("{line} s3://box/two.csv {cluster} --in-flight 256 --memory 1GiB");
    let stderr = refused(&sandbox, &server, &line.replacen("--in-flight 2 ", "", 1), 78);
    assert!(stderr.contains("parts on their way to a bucket"), "{stderr}");
}

#[test]
fn machines_read_a_graph_in_a_bucket_through_a_disk_in_front() {
    let (sandbox, server) = begin();
    let line = "run pagerank s3://box/a/graph --iterations 4 -q -o";
    must(&sandbox, &server, &format!("{line} one.csv"));
    let expected = String::from_utf8(sandbox.read("one.csv")).unwrap();
    let line = format!("{line} two.csv --cluster local:2 --route fold --edge-cache disk:64MiB");
    for turn in 0..2 {
        server.take_requests();
        must(&sandbox, &server, &line);
        let found = String::from_utf8(sandbox.read("two.csv")).unwrap();
        assert!(difference(&found, &expected) < 1e-12);
        let (bytes, _) = asked(&server);
        assert_eq!(bytes == 0, turn > 0, "{bytes} bytes of edges came from the bucket");
    }
    let stderr = refused(&sandbox, &server, &line.replace("s3://box/a/", ""), 2);
    assert!(stderr.contains("--edge-cache"), "{stderr}");
}
