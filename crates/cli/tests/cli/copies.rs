//! Copies of kept graphs: on web servers, which are only read, and in buckets.

use std::fs;

use welter_testing::bucket::BucketServer;

use crate::graphs::begin;
use crate::objects::{must, refused};
use crate::sandbox::Sandbox;

/// Copies the directory of the graph to a place on the server, as it lies.
fn copy(sandbox: &Sandbox, server: &BucketServer, to: &str) {
    for folder in ["", "gen-0/"] {
        for entry in fs::read_dir(sandbox.path().join("graph").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_str().unwrap();
                server.put(&format!("{to}/{folder}{name}"), fs::read(&path).unwrap());
            }
        }
    }
}

#[test]
fn copies_on_a_web_server_are_run_and_never_written() {
    let (sandbox, server) = begin();
    server.publish("web");
    // One of the bucket, and one of the directory.
    for path in server.paths() {
        server.put(&path.replace("box/a/graph/", "web/of-bucket/"), server.get(&path).unwrap());
    }
    copy(&sandbox, &server, "web/of-directory");
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
            let said = refused(&sandbox, &server, &line, 2);
            assert!(said.contains("nothing is written to a web server"), "{line}: {said}");
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
    let said = refused(&sandbox, &server, &format!("run wcc {url}"), 70);
    assert!(said.contains("of-directory/gen-0/edges-0: damaged"), "{said}");
    let url = format!("{}/web/none", server.url());
    refused(&sandbox, &server, &format!("check {url}"), 66);
}

#[test]
fn directories_that_were_copied_to_a_bucket_are_run_and_removed() {
    let (sandbox, server) = begin();
    let before = server.paths();
    copy(&sandbox, &server, "box/copy");
    // Rates that were copied along are of another place.
    server.put("box/copy/rates", "no rates");
    for more in ["", "--edge-memory 0 --threads 2", "--undirected"] {
        let of =
            |input: &str| must(&sandbox, &server, &format!("run pagerank {input} -q -o - {more}"));
        assert!(of("s3://box/copy") == of("graph"), "{more}");
    }
    let cached = "run wcc s3://box/copy/ -q -o - --edge-memory 0 --edge-cache cache:1GiB";
    assert!(must(&sandbox, &server, cached) == sandbox.must("run wcc graph -q -o -"));
    let checked = must(&sandbox, &server, "check s3://box/copy");
    assert!(checked.contains(": whole; 30,000 edges"), "{checked}");
    let said = refused(&sandbox, &server, "ingest e.tsv -o s3://box/copy", 73);
    assert!(said.contains("a graph is kept there already"), "{said}");
    must(&sandbox, &server, "remove s3://box/copy");
    assert_eq!(server.paths(), before);
}
