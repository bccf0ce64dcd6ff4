//! Iterations over small stripes of a graph in a bucket: as many requests are on their way as are
//! stated, of several stripes ahead.

use std::time::Duration;

use serde_json::Value;
use welter_testing::bucket::{BucketServer, Fault};

use crate::objects::must;
use crate::sandbox::Sandbox;

/// A graph in a bucket whose chunks take more than 12 MiB, in 16 stripes.
fn small_stripes() -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    let line = "ingest rmat:18 -q -o s3://box/graph --stripe-bits 14 --encoding packed \
                --compression none --threads 1";
    must(&sandbox, &server, line);
    (sandbox, server)
}

const RUN: &str = "run pagerank s3://box/graph --iterations 2 --edge-memory 0 -q -o r.csv";

/// The most requests for chunks that a run of `RUN` with these settings has on their way.
fn most_at_once(sandbox: &Sandbox, server: &BucketServer, number: usize, more: &str) -> usize {
    server.take_most_at_once();
    // Slow requests let others begin meanwhile; a look at the rate of the bucket has some of them.
    let mut slow = 2 * number + 100;
    server.fail(move |request| {
        let is_of_chunks = request.path.contains("/edges-") && request.range != Some(0..1);
        let long = if is_of_chunks && slow > 0 { 700 } else { 2 };
        slow -= usize::from(is_of_chunks && slow > 0);
        is_of_chunks.then_some(Fault::Silent(Duration::from_millis(long)))
    });
    let line = format!("{RUN} --report r.json --in-flight {number} {more}");
    must(sandbox, server, &line);
    let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
    assert_eq!(report["plan"]["requests"]["reads_in_flight"], number);
    server.take_most_at_once()
}

#[test]
fn stated_numbers_of_requests_are_reached_across_stripes() {
    let (sandbox, server) = small_stripes();
    must(&sandbox, &server, &format!("{RUN} --threads 1"));
    let expected = sandbox.read("r.csv");
    let most = |number, more: &str| {
        let most = most_at_once(&sandbox, &server, number, more);
        assert!(sandbox.read("r.csv") == expected, "{number} {more}");
        most
    };
    // Requests are for a slab each, of which two neighbouring stripes have fewer, and all 23.
    assert_eq!(most(20, "--threads 1"), 20);
    // Requests are of 32 slabs, of which each stripe fills one or two in part. A look has 16 slabs.
    let found = most(256, "--threads 1 --read-size 64KiB");
    assert!((136..=256).contains(&found), "{found}");
    // Numbers are those of each thread.
    let found = most(4, "--threads 2");
    assert!((5..=8).contains(&found), "{found}");
}
