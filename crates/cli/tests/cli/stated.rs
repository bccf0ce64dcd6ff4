//! Stated sizes and numbers of requests for inputs in buckets, as the store saw them.

use std::ops::Range;
use std::time::Duration;

use serde_json::Value;
use welter_testing::bucket::{BucketServer, Fault};

use crate::objects::{must, text};
use crate::sandbox::Sandbox;

/// Formats that are read by parts, by one reader, by pages and by messages.
const NAMES: [&str; 5] = ["e.tsv", "e.csv.gz", "e.u32f32", "e.parquet", "e.arrow"];
/// Looks at what an input is have sizes of their own.
const LOOK_BYTES: u64 = 256 << 10;

fn begin(edges: u64) -> (Sandbox, BucketServer) {
    let (sandbox, server) = (Sandbox::new(), BucketServer::start().unwrap());
    sandbox.write("e.tsv", text(edges));
    for name in NAMES {
        if name != "e.tsv" {
            sandbox.must(&format!("convert e.tsv -o {name} -q"));
        }
        server.put(&format!("box/{name}"), sandbox.read(name));
    }
    (sandbox, server)
}

fn bytes(range: &Range<u64>) -> u64 {
    range.end - range.start
}

#[test]
fn sizes_that_are_stated_are_those_of_requests_for_inputs() {
    let (sandbox, server) = begin(700_000);
    let expected = sandbox.must("run wcc e.tsv -q -o -");
    for name in NAMES {
        let all = sandbox.read(name).len() as u64;
        let read = |more: &str| {
            server.take_requests();
            let run = format!("run wcc s3://box/{name} -q -o - --threads 1 --report r.json {more}");
            assert!(must(&sandbox, &server, &run) == expected, "{name} {more}");
            let ranges: Vec<_> = server.take_requests().into_iter().map(|it| it.range).collect();
            let report: Value = serde_json::from_slice(&sandbox.read("r.json")).unwrap();
            (ranges.into_iter().flatten().collect::<Vec<_>>(), report["input"]["requests"].clone())
        };
        let (usual, said) = read("");
        assert_eq!((&said["bytes"], &said["in_flight"]), (&(8 << 20).into(), &4.into()), "{name}");
        for (size, stated) in [("32KiB", 32 << 10), ("512KiB", 512 << 10)] {
            let (ranges, said) = read(&format!("--read-size {size}"));
            let largest = ranges.iter().map(bytes).max().unwrap();
            assert!(largest <= stated.max(LOOK_BYTES), "{name} {size}: {largest}");
            let whole = ranges.iter().filter(|range| bytes(range) == stated).count() as u64;
            assert!(whole >= all / stated / 2, "{name} {size}: {whole} of {ranges:?}");
            let over = ranges.iter().filter(|range| bytes(range) > stated).count();
            assert!(over <= 8, "{name} {size}: {over}");
            // Nothing is fetched twice for that.
            let sum = |ranges: &[Range<u64>]| ranges.iter().map(bytes).sum::<u64>();
            let most = sum(&usual).max(all) + all / 4 + 4 * LOOK_BYTES;
            assert!(sum(&ranges) <= most, "{name} {size}");
            assert_eq!(said["bytes"], stated, "{name}");
        }
    }
    let explain = "explain wcc s3://box/e.tsv --threads 1 --read-size 16KiB --in-flight 9";
    let plan = must(&sandbox, &server, explain);
    assert!(plan.contains(" 16.0 KiB a request for it at most, 9 at a time a reader"), "{plan}");
    assert!(!sandbox.must("explain wcc e.tsv").contains("a request for it"));
}

#[test]
fn numbers_that_are_stated_are_those_of_requests_for_inputs() {
    let (sandbox, server) = begin(1_400_000);
    for name in NAMES {
        let all = sandbox.read(name).len() as u64;
        for (number, more) in [(1, ""), (12, "--read-size 16KiB")] {
            server.take_most_at_once();
            // Others are begun meanwhile. Requests of a look at the beginning may be given up, and
            // are over at once.
            server.fail(move |request| {
                let is_read = request.range.as_ref().is_some_and(|range| range.start > all * 2 / 5);
                is_read.then_some(Fault::Silent(Duration::from_millis(20)))
            });
            let run = format!("run wcc s3://box/{name} -q --top 1 --threads 1");
            must(&sandbox, &server, &format!("{run} --in-flight {number} {more}"));
            let most = server.take_most_at_once();
            // Raw records are looked at in many places, each time with requests that are given up.
            let slack = if name == "e.u32f32" { number } else { 0 };
            // Pages of a Parquet file come one after another, and these are no larger than a block.
            let least = if name == "e.parquet" { 1 } else { number - number / 10 };
            assert!((least..=number + slack).contains(&most), "{name} {number} {more}: {most}");
        }
    }
}
